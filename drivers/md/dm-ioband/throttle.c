// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: back-pressure: the bound on the queued bios of a group.
 *
 * A task can submit far more bios than the weight of its group allows.  So the queued bios of a
 * group's tasks are bounded.  At the bound the tasks of this group sleep, and no others.  A task
 * sleeps after a bio of its own, which is queued, or before a bio that discards or zeroes, see
 * ioband_enter_throttle().
 *
 * Writeback does not count there.  The kernel's limit on dirty memory bounds it.  It would keep a
 * group at its bound, and the group's readers asleep, for as long as there are dirty pages.  But a
 * flusher that has handed over all its pages is done.  It returns only after the kernel has
 * measured the rate of writeback and has let its cgroup dirty more pages: 200 ms later or more.
 * Until then no bio is queued here, and another group has the device.  So a flusher sleeps for its
 * own group as well, but counted apart.  It does so only if it writes back for one cgroup alone,
 * and is in no transaction of a file system (wbt and io.cost make it sleep even there).  A sleeping
 * flusher keeps other tasks from remounting or freezing the file system.  So it sleeps for a second
 * at most, and does not sleep again until most of its writeback is dispatched.  The pages that it
 * has not handed over stay dirty, within the same limit.
 *
 * Pages in a bio count within that limit until the whole bio has completed, and file systems make
 * bios of 12 MiB and more.  With one of these queued and the next one in map(), two groups would
 * have 48 MiB in bios.  Where 64 MiB may be dirty, their flushers would seldom have more to write,
 * and while one has no bio, another group has the device.  So while its group is not open, a
 * flusher's bio arrives in splits of IOBAND_SPLIT_MAX.  Each split arrives when the group is below
 * its bound.  The file system makes the next bio when most of this one is dispatched.
 *
 *	64 MiB may be dirty, and two groups write back.
 *	whole bios, one queued and one in map() each:	48 MiB in bios, 16 MiB left to dirty
 *	splits, 12 MiB of one bio on its way each:	24 MiB in bios, 40 MiB left to dirty
 *
 * Other tasks may keep the group at its bound while a task sleeps.  So a task continues at the
 * latest when as many bios have left the queue as were there, or as many as reach the bound.  Only
 * tasks that may continue are woken.  So a group with many tasks has the bound queued, and beyond
 * it about one bio for each task, or one batch (batch.c).
 *
 * Writes to swap are never queued, as memory reclaim waits for them.  But a task can submit many
 * MiB of them at once, and the device completes these before the next read of another group.  So a
 * task sleeps before it submits more while many are in flight on the mapped device.  Without ioband
 * it would sleep likewise, for a request of the device.  It waits for the device, whatever the
 * weights and maxima, but not for a device that completes none for IOBAND_SWAP_WAIT.  The bound is
 * IOBAND_SWAP_IO for each slot of the in-flight limit, or the bytes of the other bios in flight, if
 * these are more.  So reclaim has half of the device beside large bios.  For a lone group the bound
 * is IOBAND_SWAP_MAX at least.  Larger bios arrive in splits.  Writes to swap do not use up the
 * limit.
 *
 *	25 MB/s, limit 4; a task swaps out 16 MiB, another one reads 4 KiB at a time
 *	no bound:	up to 16 MiB in front of each read: 640 ms
 *	with it:	64 KiB: 2.6 ms
 *
 * Kernel threads do not sleep, as some submit for layers above (dm-crypt's); kswapd does.
 */
#include "throttle.h"

#include "io.h"
#include "stats.h"

#include <linux/log2.h>
#include <linux/oom.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>
#include <linux/wait.h>

/*
 * Queued writeback of a group at which its flushers sleep; they continue at half of it.  It is as
 * small as possible with a split always queued: at 2 GB/s the rest lasts half a millisecond, longer
 * than it takes to wake a task.
 */
#define IOBAND_THROTTLE_FLUSHER	(2U << 20)

/*
 * Longest sleep of a flusher, which holds locks of its file system and occupies a worker.  It is
 * short enough for tasks that wait for these, and long enough for an eighth of a slow disk.
 */
#define IOBAND_FLUSHER_WAIT	HZ

/*
 * Swap in flight for each slot of the limit: as much as in the usual splits.  Reclaim writes pages
 * that are adjacent on the device, so the block layer merges them into requests of that size.
 */
#define IOBAND_SWAP_IO		(16U << 10)

/* A limit found for a light load says nothing of what reclaim needs. */
#define IOBAND_SWAP_SLOTS_MIN	4U

/* Most of it by slots; half of it is 130 us at 2 GB/s, longer than it takes to wake a task. */
#define IOBAND_SWAP_MAX		(512U << 10)

/*
 * A device that completes no write to swap for so long hangs, or a policy below delays one group.
 * With many tasks, each may wait for longer: for those before it.
 */
#define IOBAND_SWAP_WAIT	HZ

/* The size that a bio counts as: bounded if it transfers no data. */
static u32 size_of(const struct ioband_io *io)
{
	return likely(!io->bill.no_data) ? io->bytes : min(io->bytes, IOBAND_NO_DATA_MAX);
}

static __always_inline void add_held(struct ioband_held *held, int ios, s64 bytes)
{
	WRITE_ONCE(held->ios, held->ios + ios);
	WRITE_ONCE(held->bytes, held->bytes + bytes);
}

static __always_inline void count(struct ioband_group *group, u8 op, int ios, s64 bytes)
{
	struct ioband_pool *pool = group->pool;

	lockdep_assert_held(&pool->lock);
	add_held(&group->held[op], ios, bytes);
	pool->held_ios += ios;
	pool->held_bytes += bytes;
}

/* Count a bio that is going to be queued, under the pool's lock. */
void ioband_throttle_add(const struct ioband_io *io)
{
	count(io->group, io->op, 1, io->bytes);
	if (io->of_task)
		add_held(&io->group->held_of_tasks, 1, size_of(io));
	else if (io->of_flusher)
		WRITE_ONCE(io->group->held_of_flushers,
			   io->group->held_of_flushers + io->bytes);
}

/* The same for reads or direct writes of a task. */
void ioband_throttle_add_alike(struct ioband_group *group, u8 op, u32 ios, u64 bytes)
{
	count(group, op, ios, bytes);
	add_held(&group->held_of_tasks, ios, bytes);
}

/* Less writeback is queued.  Sleeping flushers are woken once, and not with each bio. */
static void remove_flusher(struct ioband_group *group, u32 bytes)
{
	const u64 before = group->held_of_flushers;

	WRITE_ONCE(group->held_of_flushers, before - bytes);
	if (before <= IOBAND_THROTTLE_FLUSHER / 2 || before - bytes > IOBAND_THROTTLE_FLUSHER / 2)
		return;
	WRITE_ONCE(group->flusher_has_waited, false);
	ioband_throttle_check(group);
}

/*
 * Count a bio that has left the queue, under the pool's lock.  Return: its size in bytes; at most
 * IOBAND_NO_DATA_MAX if it transfers no data.
 */
u32 ioband_throttle_remove(const struct ioband_io *io)
{
	struct ioband_group *group = io->group;
	const u32 size = size_of(io);
	bool was_full;

	count(group, io->op, -1, -(s64)io->bytes);
	if (io->of_flusher)
		remove_flusher(group, io->bytes);
	if (!io->of_task)
		return size;
	/* Tasks are added under the lock. */
	was_full = unlikely(waitqueue_active(&group->waiters)) && ioband_throttle_is_over(group, 1);
	add_held(&group->held_of_tasks, -1, -(s64)size);
	WRITE_ONCE(group->released_ios, group->released_ios + 1);
	if (was_full && (!ioband_throttle_is_over(group, 1) ||
			 (s32)(group->released_ios - group->check_ios) >= 0))
		ioband_throttle_wake(group);
	return size;
}

/*
 * Is so much writeback queued that flushers sleep?  Without the pool's lock the answer may be
 * outdated.
 */
bool ioband_throttle_flusher_is_over(const struct ioband_group *group)
{
	return READ_ONCE(group->held_of_flushers) >= IOBAND_THROTTLE_FLUSHER &&
	       !READ_ONCE(group->flusher_has_waited);
}

/*
 * Does a suspend or a freeze wait for the task in map()?  A suspend of the device does, so the task
 * must not sleep for bios of another device then.  A freeze of the device's queue does as well, as
 * a task in map() has raised the usage counter.  Newer kernels freeze the queue to change a setting
 * in sysfs, and all groups wait meanwhile.  Each task then queues one bio beyond the bound, and not
 * a second one: a frozen queue accepts none.  A freeze of the queue of a device above is not seen
 * here.  Before the system sleeps, all tasks have to leave the kernel.
 */
static bool must_go_on(const struct ioband_waiter *waiter)
{
	return READ_ONCE(waiter->target->suspended) || READ_ONCE(waiter->target->pool->sleeps) ||
	       percpu_ref_is_dying(&waiter->queue->q_usage_counter);
}

/*
 * Swap in flight at which submitters of more sleep, in bytes; they continue at half of it.  Other
 * CPUs change the values meanwhile: a wrong bound holds for one bio, or until the next look.
 */
static u64 swap_bound(const struct ioband_pool *pool)
{
	const s64 others = READ_ONCE(pool->core.inflight_bytes) - READ_ONCE(pool->core.extra_bytes);
	const u32 most = IOBAND_SWAP_MAX / IOBAND_SWAP_IO;
	const u32 slots = READ_ONCE(pool->nr_active) <= 1 ? most :
			  clamp(READ_ONCE(pool->limit_ios), IOBAND_SWAP_SLOTS_MIN, most);

	return max_t(s64, slots * IOBAND_SWAP_IO, others);
}

static bool swap_is_low(const struct ioband_target *target)
{
	return atomic_long_read(&target->member->swap_bytes) <= swap_bound(target->pool) / 2;
}

/* Has no write to swap completed for long, with some in flight? */
static bool swap_hangs(const struct ioband_target *target)
{
	return time_after_eq(jiffies,
			     READ_ONCE(target->member->swap_moved) + IOBAND_SWAP_WAIT);
}

/* The group is below its bound, or as many bios have left the queue as were there. */
static bool may_go_on(const struct ioband_waiter *waiter)
{
	if (!waiter->group)
		return swap_is_low(waiter->target) || must_go_on(waiter) ||
		       swap_hangs(waiter->target);
	if (waiter->flusher)
		return READ_ONCE(waiter->group->held_of_flushers) <= IOBAND_THROTTLE_FLUSHER / 2 ||
		       must_go_on(waiter);
	return !ioband_throttle_is_over(waiter->group, 1) || must_go_on(waiter) ||
	       (s32)(READ_ONCE(waiter->group->released_ios) - waiter->until) >= 0;
}

/* Wake a task at the latest when &ioband_group.released_ios is @until.  Under the pool's lock. */
static void check_by(struct ioband_group *group, u32 until)
{
	if ((s32)(until - group->check_ios) < 0)
		group->check_ios = until;
}

/*
 * Wake function of the wait queues; that of a group is under the pool's lock.  Return: whether the
 * task continues.
 */
static int wake_one(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	const struct ioband_waiter *waiter = container_of(entry, struct ioband_waiter, entry);

	/*
	 * The entry stays in the wait queue until the task itself sees that it may continue: other
	 * tasks may be faster.
	 */
	if (waiter->group && !waiter->flusher &&
	    (s32)(waiter->group->released_ios - waiter->until) < 0)
		check_by(waiter->group, waiter->until);
	return may_go_on(waiter) ? default_wake_function(entry, mode, flags, key) : 0;
}

/* Wake the sleeping tasks that may continue, under the pool's lock. */
void ioband_throttle_wake(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	group->check_ios = group->released_ios + IOBAND_THROTTLE_IOS;
	wake_up_all(&group->waiters);
}

/*
 * The same, if there are any.  A freeze of a queue wakes no task here: the pool's tick has to look.
 */
void ioband_throttle_check(struct ioband_group *group)
{
	if (waitqueue_active(&group->waiters))	/* tasks are added under the lock */
		ioband_throttle_wake(group);
}

static void init_waiter(struct ioband_waiter *waiter, const struct ioband_target *target)
{
	waiter->target = target;
	waiter->queue = dm_disk(dm_table_get_md(target->ti->table))->queue;
	waiter->group = NULL;
	init_wait_entry(&waiter->entry, 0);
	waiter->entry.func = wake_one;
}

/*
 * Add the current task to the wait queue of its group.  Under the pool's lock; the caller sleeps
 * after it has dropped the lock, in ioband_throttle_wait() or ioband_throttle_wait_flusher().
 */
void ioband_throttle_prepare(struct ioband_waiter *waiter, const struct ioband_target *target,
			     struct ioband_group *group, struct ioband_stats *stats, bool flusher)
{
	/*
	 * At its bound the group has at least one bio queued.  The value is rounded to eighths, so
	 * that the wait queue is walked seldom.
	 */
	const u32 ahead = min_t(u32, group->held_of_tasks.ios, IOBAND_THROTTLE_IOS);
	const u32 step = rounddown_pow_of_two(max(ahead / 8, 1U));

	lockdep_assert_held(&group->pool->lock);
	init_waiter(waiter, target);
	waiter->group = group;
	waiter->stats = stats;
	waiter->flusher = flusher;
	waiter->until = round_down(group->released_ios + ahead, step);
	ioband_stats_pin(stats);
	/* No task is added meanwhile, as that takes the pool's lock. */
	if (!waitqueue_active(&group->waiters))
		group->check_ios = waiter->until;
	if (!flusher)
		check_by(group, waiter->until);
	add_wait_queue(&group->waiters, &waiter->entry);
}

/*
 * Sleep until the task may continue, or a signal of @state comes, for @left jiffies at most.  Not
 * all reasons to continue wake the task, so it looks again after each tick.  Return: false if the
 * time is over.
 */
static bool sleep_for_a_while(const struct ioband_waiter *waiter, unsigned int state, long left)
{
	while (left > 0) {
		set_current_state(state);
		if (may_go_on(waiter) || signal_pending_state(state, current))
			return true;
		left -= IOBAND_TICK - io_schedule_timeout(IOBAND_TICK);
	}
	return false;
}

/* Sleep until little writeback is queued, for IOBAND_FLUSHER_WAIT at most. */
void ioband_throttle_wait_flusher(struct ioband_waiter *waiter)
{
	struct ioband_group *group = waiter->group;

	if (!sleep_for_a_while(waiter, TASK_UNINTERRUPTIBLE, IOBAND_FLUSHER_WAIT)) {
		spin_lock_irq(&group->pool->lock);
		/* If little is queued by now, there is no later moment that ends it. */
		if (group->held_of_flushers > IOBAND_THROTTLE_FLUSHER / 2)
			WRITE_ONCE(group->flusher_has_waited, true);
		spin_unlock_irq(&group->pool->lock);
	}
	finish_wait(&group->waiters, &waiter->entry);
	ioband_stats_unpin(waiter->stats);
}

/*
 * Sleep until the group is below its bound, or enough bios have left.  @dying: the task was killed,
 * and sleeps anyway, unless it is a victim of the OOM killer.  Without it a killed task continues,
 * as its bios are dispatched at once.
 */
void ioband_throttle_wait(struct ioband_waiter *waiter, bool dying)
{
	for (;;) {
		set_current_state(dying ? TASK_UNINTERRUPTIBLE : TASK_KILLABLE);
		if (may_go_on(waiter))
			break;
		if (dying ? tsk_is_oom_victim(current) : fatal_signal_pending(current))
			break;
		/*
		 * A task that cannot be killed wakes up every second, so that it is not reported as
		 * hung.
		 */
		io_schedule_timeout(dying ? HZ : MAX_SCHEDULE_TIMEOUT);
	}
	finish_wait(&waiter->group->waiters, &waiter->entry);
	ioband_stats_unpin(waiter->stats);
}

/* Count a write to swap that is going to be dispatched. */
void ioband_throttle_add_swap(struct ioband_io *io)
{
	struct ioband_member *member = io->target->member;

	io->swap = true;
	if (atomic_long_add_return(io->bytes, &member->swap_bytes) == io->bytes)
		WRITE_ONCE(member->swap_moved, jiffies);
}

/*
 * A write to swap has completed; it may have been returned to device-mapper before it was counted.
 * One sleeping submitter is woken if little is left.  Without the pool's lock.
 */
void ioband_throttle_remove_swap(struct ioband_io *io)
{
	struct ioband_member *member = io->target->member;

	if (!io->swap)
		return;
	WRITE_ONCE(member->swap_moved, jiffies);
	atomic_long_sub(io->bytes, &member->swap_bytes);
	/* The barrier in wq_has_sleeper() pairs with that in set_current_state(). */
	if (wq_has_sleeper(&member->swap_waiters) && swap_is_low(io->target))
		wake_up(&member->swap_waiters);
}

static bool may_wait_for_swap(const struct bio *bio)
{
	return !(bio->bi_opf & REQ_NOWAIT) && !current->journal_info &&
	       (!(current->flags & PF_KTHREAD) || current_is_kswapd()) &&
	       !ioband_throttle_reserve_is_low(bio);
}

/*
 * Make the submitter of a write to swap sleep before it arrives, while much swap is in flight on
 * the mapped device.  The task does not sleep if it is killed, submits for others, has a journal's
 * transaction open, or clones run short.  Once none has completed for IOBAND_SWAP_WAIT, no task
 * sleeps until one does.  Not on the detour, as in ioband_enter_throttle().  Return: the size of
 * splits in which the bio should arrive, a power of two.
 */
u32 ioband_throttle_wait_swap(struct ioband_target *target, struct bio *bio)
{
	struct ioband_member *member = target->member;
	const u64 bound = swap_bound(target->pool);
	struct ioband_waiter waiter;

	if (atomic_long_read(&member->swap_bytes) >= bound && may_wait_for_swap(bio)) {
		init_waiter(&waiter, target);
		add_wait_queue_exclusive(&member->swap_waiters, &waiter.entry);
		sleep_for_a_while(&waiter, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
		finish_wait(&member->swap_waiters, &waiter.entry);
	}
	return rounddown_pow_of_two(min_t(u64, bound, IOBAND_SPLIT_MAX));
}
