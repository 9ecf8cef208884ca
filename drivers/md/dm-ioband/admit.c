// SPDX-License-Identifier: GPL-2.0-only
/* dm-ioband: admission of bios under the pool's lock. */
#include "admit.h"

#include "blkcg.h"
#include "complete.h"
#include "debt.h"
#include "dispatch.h"
#include "flush.h"
#include "gather.h"
#include "group.h"
#include "io.h"
#include "limits.h"
#include "split.h"
#include "state.h"
#include "stats.h"
#include "stream.h"
#include "submit.h"
#include "throttle.h"

#include <linux/oom.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "trace.h"

/*
 * The urgency of a bio of the current task, at its arrival; takes no lock.  Some bios delay other
 * tasks: swap, memory reclaim, metadata of a file system, and reads in one of its transactions.
 * They are dispatched at once, and the task pays later (debt.c).  A task that reads metadata often
 * holds the lock of a directory.  Tasks that die, and workers that do not return to user space, do
 * not pay.  So all bios of the former, and metadata that the latter read, are dispatched at once
 * only up to a debt.  Otherwise a group with no other I/O would get the whole device.  Discards may
 * occupy the device for long.  Discards of a dying task wait for their turn.  Discards that the
 * system waits for are dispatched out of turn, split by split.
 *
 * A transaction commits after all tasks in it have left it, and each fsync waits for the commit.
 * So with ext4 a truncate that reads the last block of its file delays the whole file system.
 * Newer xfs marks a transaction by PF_MEMALLOC_NOFS alone, which read-ahead of data has as well.
 * But in its transactions xfs reads only metadata.
 *
 * Without memory, queued bios would use up the reserve of clones, for which all bios of the device
 * wait.  So while half of it is in use, bios are dispatched at once.
 */
enum ioband_urgency ioband_admit_urgency(const struct bio *bio)
{
	const blk_opf_t marked = bio->bi_opf & (REQ_META | REQ_PRIO);
	const bool dying = ioband_throttle_task_is_dying(current);

	if (bio->bi_opf & REQ_SWAP || current->flags & PF_MEMALLOC ||
	    tsk_is_oom_victim(current) || ioband_throttle_reserve_is_low(bio))
		return IOBAND_AT_ONCE;
	if (marked && (op_is_write(bio_op(bio)) || (ioband_debt_task_pays() && !dying) ||
		       current->flags & (PF_KTHREAD | PF_MEMALLOC_NOFS)))
		return IOBAND_AT_ONCE;
	if (current->journal_info && bio_op(bio) == REQ_OP_READ)
		return IOBAND_AT_ONCE;
	if (marked || dying)
		return ioband_io_has_no_data(bio) ? IOBAND_IN_TURN : IOBAND_AS_DEBT;
	return IOBAND_IN_TURN;
}

/* REQ_NOWAIT has no purpose for a bio that waits already.  Queued bios are not polled. */
static void let_wait(struct bio *bio)
{
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_clear_polled(bio);
}

/* Add a bio to the queue of its stream.  Under the pool's lock. */
static __always_inline void enqueue(struct ioband_io *io, struct bio *bio, int kept)
{
	io->task = current->flags & PF_KTHREAD ? NULL : get_task_struct(current);
	bio_list_add(&io->stream->held[kept], bio);
	trace_ioband_hold(io, bio);
}

/* Queue a bio.  The caller dispatches.  Under the pool's lock. */
static void hold(struct ioband_io *io, struct bio *bio)
{
	let_wait(bio);
	ioband_throttle_add(io);
	enqueue(io, bio, io->bill.no_data ? IOBAND_KEPT_NO_DATA : io->bill.dir);
}

/*
 * Does a suspend return bios to device-mapper?  A cancelled suspend accepts bios again before it
 * calls presuspend_undo().  Without the pool's lock a false answer may be outdated.  In that case
 * decide() returns the bio to device-mapper.
 */
bool ioband_admit_gives_back(const struct ioband_target *target)
{
	return READ_ONCE(target->suspended) && READ_ONCE(target->requeue) &&
	       dm_noflush_suspending(target->ti);
}

enum verdict {
	GO,		/* the caller submits the bio */
	HELD,		/* the bio is queued in its group */
	REFUSED,	/* the bio must not wait, and would have to */
	GIVEN_BACK,	/* the device is being suspended */
};

/*
 * May the task have to sleep in the device, as far as is known?  Bios that wait for a worker have
 * no request yet.  Bios that a policy below delays count, as in the estimate of the workers.  Under
 * the pool's lock.
 */
static bool may_sleep_below(struct ioband_io *io)
{
	const struct ioband_pool *pool = io->group->pool;
	const struct ioband_target *target = io->target;

	if (io->bill.dir == IOBAND_DIR_WRITE &&
	    (!list_empty(&io->stream->wbt_wait) || ioband_submit_wbt_waiting(io)))
		return true;
	return pool->state == IOBAND_SHARED &&
	       pool->core.inflight_ios + pool->open_ios >
	       READ_ONCE(target->member->nosleep_ios) + atomic_read(&target->ready_ios);
}

/* Let the core know of a bio that is going to be queued, or dispatched in turn. */
static __always_inline void announce(struct ioband_io *io, u64 now_ns)
{
	struct ioband_core *core = &io->group->pool->core;

	if (!io->bill.async)
		ioband_core_note_sync(core, now_ns);
	ioband_core_wait(core, &io->stream->leaf, io->bill.dir, now_ns);
}

/*
 * Decide on a bio with a group, and queue or launch it.  A bio that is one of @several is queued:
 * the caller dispatches all of them at once.  Under the pool's lock.
 */
static enum verdict decide(struct ioband_io *io, struct bio *bio, enum ioband_urgency urgency,
			   bool several)
{
	struct ioband_group *group = io->group;
	struct ioband_pool *pool = group->pool;
	struct ioband_core *core = &pool->core;
	const bool nowait = bio->bi_opf & REQ_NOWAIT;
	/*
	 * device-mapper resubmits a refused bio from a worker if the bio is polled.  No submitter
	 * would retry it if it was refused again.  So neither polled bios nor bios of kernel
	 * threads are refused.
	 */
	const bool refuse = nowait && !(bio->bi_opf & REQ_POLLED) &&
			    !(current->flags & PF_KTHREAD) && ioband_throttle_is_over(group, 1);
	const u64 now_ns = io->start_ns;
	struct ioband_leaf *leaf;
	bool first;
	u64 wake_ns;

	if (io->target->suspended)
		return nowait || !ioband_admit_gives_back(io->target) ? GO : GIVEN_BACK;
	if (unlikely(pool->sleeps))
		return GO;
	if (unlikely(io->bill.no_data)) {
		if (pool->state == IOBAND_OPEN && pool->nr_active > 1)
			ioband_state_share(pool);
	} else if (pool->state == IOBAND_OPEN && !pool->has_rest &&
		   !ioband_limits_has_max(group)) {
		ioband_stats_pin_open(io->stats, io->op);	/* replaces the other pin */
		ioband_stats_unpin_io(io->stats, io->op);
		io->open = true;
		return GO;
	}
	if (refuse && urgency == IOBAND_IN_TURN)
		return REFUSED;
	io->stream = urgency == IOBAND_AT_ONCE ? &group->own : ioband_stream_of(group, io, bio);
	leaf = &io->stream->leaf;
	if (unlikely(io->bill.no_data) && urgency == IOBAND_AT_ONCE) {
		let_wait(bio);
		bio_list_add(&pool->discards, bio);
		return HELD;
	}
	if (urgency == IOBAND_AT_ONCE ||
	    (urgency == IOBAND_AS_DEBT && !ioband_tree_is_in_debt(leaf, false) &&
	     !ioband_max_is_far_ahead(core, leaf, io->bill.dir, now_ns))) {
		ioband_core_admit_now(core, leaf, &io->bill, now_ns);
		goto go;
	}
	if (refuse)
		return REFUSED;
	first = leaf->state != IOBAND_LEAF_BACKLOGGED && !leaf->full_dirs;
	announce(io, now_ns);
	if (several || !first || unlikely(io->bill.no_data) || ioband_dispatch_split_bytes(io) ||
	    may_sleep_below(io) || io->target->member->stall_dev.blocked ||
	    ioband_core_pick(core, now_ns, &wake_ns) != leaf) {
		hold(io, bio);
		return HELD;
	}
	io->bill.for_min = ioband_core_admit(core, leaf, &io->bill, 0, now_ns);
go:
	ioband_dispatch_launch(io, bio, now_ns);
	ioband_dispatch_note_inflight(pool);
	return GO;
}

/*
 * Find and pin the bio's group, or one above it that has counters.  Under the pool's lock, which
 * ensures that the group exists.  Return: NULL, or the bio's own group if it has no counters and
 * one above stands in.
 */
static struct ioband_group *find_group(struct ioband_io *io, enum ioband_mode mode,
				       const struct ioband_key *key)
{
	struct ioband_scope *scope = ioband_scope_of(io->target->member, mode);
	struct ioband_group *group = scope->group;
	struct ioband_group *wanted;

	if (mode != IOBAND_MODE_DEVICE) {
		group = ioband_scope_recent(scope, key) ?: ioband_group_get(scope, key);
		if (ioband_key_equal(&group->key, key))
			rcu_assign_pointer(scope->recent[ioband_recent_slot(key->id)], group);
	}
	wanted = group;
	group = ioband_stats_ready(wanted);
	io->group = group;
	io->stats = rcu_dereference_protected(group->stats, lockdep_is_held(&group->pool->lock));
	ioband_stats_pin_io(io->stats, io->op);
	return wanted == group ? NULL : wanted;
}

/*
 * Lock the pool, with the bio's group found and pinned.  Counters for a new group may have to be
 * allocated first, which takes a moment.  The task sleeps for it if it may.  Otherwise the bio is
 * charged to the group above, where it may be queued for long because of a different weight.
 * Return: the interrupt flags.
 */
unsigned long ioband_admit_lock_group(struct ioband_pool *pool, struct ioband_io *io,
				      struct bio *bio, enum ioband_mode mode, bool direct,
				      bool may_wait)
	__acquires(&pool->lock)
{
	struct cgroup_subsys_state *css = NULL;
	long left = IOBAND_STATS_WAIT;
	struct ioband_group *wanting;
	struct ioband_key key;
	unsigned long flags;

	for (;;) {
		rcu_read_lock();
		if (mode != IOBAND_MODE_DEVICE)
			ioband_blkcg_key(&key, mode, bio);
		if (direct && ioband_mode_is_cgroup(mode))
			css = ioband_blkcg_correct(&key);
		spin_lock_irqsave(&pool->lock, flags);
		wanting = find_group(io, mode, &key);
		rcu_read_unlock();
		if (unlikely(css))
			css_put(css);
		if (likely(!wanting) || !may_wait || !ioband_stats_may_come(wanting, left))
			return flags;
		ioband_stats_unpin_io(io->stats, io->op);
		spin_unlock_irqrestore(&pool->lock, flags);
		left = ioband_stats_wait(pool, left);
	}
}

/*
 * The limit of queued bios at which the current task sleeps, as a multiple of the usual one.  A
 * killed task reads and writes little more, but on older kernels it continues to discard.
 */
unsigned int ioband_admit_times(const struct bio *bio)
{
	if (likely(!ioband_throttle_task_is_dying(current)) || ioband_blkcg_is_direct(bio))
		return 1;
	return IOBAND_THROTTLE_DYING;
}

/*
 * Set the properties of a bio of the current task before the pool is locked.  @direct: the task
 * submits it for itself.
 */
void ioband_admit_prepare(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
			  bool direct)
{
	if (direct) {
		io->of_task = ioband_blkcg_may_wait(bio);
		io->of_flusher = false;
	}
	io->bill = ioband_cost(READ_ONCE(target->pool->measure), io->bytes, bio_has_data(bio));
	io->bill.dir = ioband_dispatch_dir(bio);
	io->bill.ios = 1;
	io->bill.swap = io->swap;
	io->level = ioband_stream_level(bio);
	io->bill.cached = ioband_flush_is_needed(target, bio);
	io->bill.async = bio_op(bio) == REQ_OP_WRITE && !op_is_sync(bio->bi_opf);
	io->bill.awaited = bio_op(bio) == REQ_OP_READ ||
			   (bio_op(bio) == REQ_OP_WRITE && !io->bill.async);
	ioband_admit_begin(io);
	io->alike = false;
	io->split_min_bytes = ioband_split_min_bytes(bio);
	io->nowait = bio->bi_opf & REQ_NOWAIT;
}

/* Admit, queue or refuse a prepared bio.  May sleep if @direct.  Return: as ioband_enter(). */
int ioband_admit(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
		 enum ioband_mode mode, enum ioband_urgency urgency, bool direct)
{
	struct ioband_pool *pool = target->pool;
	const unsigned int times = ioband_admit_times(bio);
	struct ioband_group *group;
	struct ioband_stats *stats;
	enum verdict verdict;
	unsigned long flags;
	struct ioband_waiter waiter;
	bool may_wait, wait, owes;
	u64 now_ns;

	may_wait = direct && io->of_task && !(bio->bi_opf & REQ_NOWAIT);
	flags = ioband_admit_lock_group(pool, io, bio, mode, direct,
					may_wait && urgency == IOBAND_IN_TURN);
	group = io->group;
	stats = io->stats;
	now_ns = ktime_get_ns();
	io->start_ns = now_ns;
	ioband_gather_pass(pool, now_ns);
	ioband_state_activate(group);
	verdict = decide(io, bio, urgency, false);
	if (verdict == HELD)
		ioband_dispatch(pool, now_ns);
	/* From here on a queued bio may be dispatched, and freed. */
	wait = may_wait && verdict == HELD && ioband_throttle_is_over(group, times);
	owes = urgency == IOBAND_AT_ONCE && verdict == GO && io->shared &&
	       ioband_debt_is_due(io, now_ns);
	if (wait)
		ioband_throttle_prepare(&waiter, target, group, stats, false);
	spin_unlock_irqrestore(&pool->lock, flags);

	if (wait)
		ioband_throttle_wait(&waiter, times > 1);
	if (owes)
		ioband_debt_delay(io, bio);
	if (verdict == REFUSED)
		ioband_complete_with(io, bio, BLK_STS_AGAIN);
	if (verdict == GIVEN_BACK)
		ioband_complete_with(io, bio, BLK_STS_DM_REQUEUE);
	return verdict == GO ? DM_MAPIO_REMAPPED : DM_MAPIO_SUBMITTED;
}

/*
 * Find and pin the group of a gathered bio, and let the group be active.  As a rule it is the group
 * of the batch's last bio.  Under the pool's lock.
 */
static void find_again(struct ioband_io *io, struct bio *bio, struct ioband_found *found)
{
	const enum ioband_mode mode = READ_ONCE(io->target->member->mode);
	struct cgroup_subsys_state *css = NULL;
	struct ioband_key key;

	if (likely(found->group && found->target == io->target && found->mode == mode &&
		   found->blkg == bio->bi_blkg)) {
		io->group = found->group;
		io->stats = found->stats;
		ioband_stats_pin_io(io->stats, io->op);
		return;
	}
	rcu_read_lock();
	if (mode != IOBAND_MODE_DEVICE)
		ioband_blkcg_key(&key, mode, bio);
	if (ioband_mode_is_cgroup(mode))
		css = ioband_blkcg_correct(&key);
	find_group(io, mode, &key);
	rcu_read_unlock();
	if (unlikely(css))
		css_put(css);
	ioband_state_activate(io->group);
	*found = (struct ioband_found) {
		.target = io->target,
		.mode = mode,
		.blkg = bio->bi_blkg,
		.group = io->group,
		.stats = io->stats,
		.queues = io->group->pool->state == IOBAND_SHARED &&
			  !io->group->pool->sleeps && !io->target->suspended,
	};
}

/* Count bios that were queued because they are alike.  Under the pool's lock. */
void ioband_admit_alike(struct ioband_found *found)
{
	if (!found->ios)
		return;
	ioband_stats_pin_ios(found->stats, found->op, found->ios);
	ioband_throttle_add_alike(found->group, found->op, found->ios, found->bytes);
	found->ios = 0;
	found->bytes = 0;
}

/*
 * Admit or queue a bio that ioband_batch_add() has taken, under the pool's lock.  The caller calls
 * ioband_admit_alike() and ioband_dispatch() later.  A suspend waits for the bio and does not
 * return it: device-mapper may fail a bio that is returned outside of map().  Return: true if it is
 * queued in its group; otherwise the caller submits it.
 */
bool ioband_admit_late(struct ioband_io *io, struct bio *bio, bool several, u64 now_ns,
		       struct ioband_found *found)
{
	io->start_ns = now_ns;
	if (likely(io->alike && found->stream && found->blkg == bio->bi_blkg)) {
		io->group = found->group;
		io->stats = found->stats;
		io->stream = found->stream;
		enqueue(io, bio, io->bill.dir);
		found->ios++;
		found->bytes += io->bytes;
		return true;
	}
	ioband_admit_alike(found);
	find_again(io, bio, found);
	found->stream = NULL;
	if (unlikely(!several || !found->queues))
		return decide(io, bio, IOBAND_IN_TURN, several) == HELD;
	io->stream = ioband_stream_of(io->group, io, bio);
	announce(io, now_ns);
	hold(io, bio);
	if (!io->group->pool->core.slice_ns)	/* or it may belong to a run */
		found->stream = io->stream;
	found->op = io->op;
	return true;
}
