// SPDX-License-Identifier: GPL-2.0-only
/* dm-ioband: arrival of bios that do not take the lockless path (open.h). */
#include "enter.h"

#include "admit.h"
#include "batch.h"
#include "blkcg.h"
#include "flush.h"
#include "group.h"
#include "io.h"
#include "open.h"
#include "split.h"
#include "state.h"
#include "stats.h"
#include "throttle.h"

/* The group of a cgroup, or NULL.  Under RCU-sched. */
static __always_inline struct ioband_group *find_group_of_css(struct ioband_scope *scope,
							      struct cgroup_subsys_state *css)
{
	struct ioband_group *group = ioband_open_recent(scope->recent, css);

	if (group)
		return group;
	css = ioband_blkcg_css(css);
	if (!css->parent)
		return scope->group;
	/* The css is the key: its id is not reused while the caller or RCU keeps the css. */
	return xa_load(&scope->index[IOBAND_KIND_CGROUP], css->id);
}

static noinline struct ioband_group *find_group_of_task(struct ioband_scope *scope,
							enum ioband_mode mode, struct bio *bio)
{
	struct ioband_key key;

	if (mode == IOBAND_MODE_DEVICE)
		return scope->group;
	ioband_blkcg_key(&key, mode, bio);
	return ioband_scope_recent(scope, &key) ?: ioband_group_find(scope, &key);
}

/* The group of a bio, or NULL.  Under RCU-sched. */
static struct ioband_group *find_group_of_bio(struct ioband_target *target, enum ioband_mode mode,
					      struct bio *bio, bool direct)
{
	struct ioband_scope *scope = ioband_scope_of(target->member, mode);

	if (unlikely(!ioband_mode_is_cgroup(mode)))
		return find_group_of_task(scope, mode, bio);
	return find_group_of_css(scope, direct ? ioband_blkcg_of_task() : bio_blkcg_css(bio));
}

/*
 * Is the key of a bio valid only while the bio is submitted?  A task may change its credentials for
 * some bios, and have its own again when its batch enters.  (Bios that are gathered while a message
 * sets such a mode get the credentials at the time of entry.)
 */
static bool mode_is_of_moment(enum ioband_mode mode)
{
	return mode == IOBAND_MODE_UID || mode == IOBAND_MODE_GID;
}

/*
 * Accept a bio, with operation, size and device, that is charged to the current task.  May sleep,
 * except with REQ_NOWAIT.  Return: DM_MAPIO_REMAPPED: the caller submits the bio;
 * DM_MAPIO_SUBMITTED: ioband has taken it.
 */
int ioband_enter(struct ioband_target *target, struct ioband_io *io, struct bio *bio, bool direct)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	enum ioband_urgency urgency;
	struct ioband_group *group;
	bool passed, soon;

	if (ioband_throttle_is_swap(bio)) {
		if (direct)
			ioband_split_accept(io, bio, ioband_throttle_wait_swap(target, bio));
		ioband_throttle_add_swap(io);
	}
	rcu_read_lock_sched();
	group = find_group_of_bio(target, mode, bio, direct);
	passed = likely(group) && likely(!ioband_io_has_no_data(bio)) &&
		 READ_ONCE(target->pool->passes) && ioband_open_pin(io, group, io->op);
	/* The task would not have to sleep for counters or for back-pressure. */
	soon = !passed && direct && !mode_is_of_moment(mode) && group &&
	       rcu_access_pointer(group->stats) && !ioband_throttle_is_over(group, 1);
	rcu_read_unlock_sched();
	if (passed) {
		io->start_ns = ktime_get_ns();
		return DM_MAPIO_REMAPPED;
	}
	ioband_admit_prepare(target, io, bio, direct);
	urgency = ioband_admit_urgency(bio);
	if (soon && urgency == IOBAND_IN_TURN && ioband_batch_add(io, bio))
		return DM_MAPIO_SUBMITTED;
	return ioband_admit(target, io, bio, mode, urgency, direct);
}

/* Without the lock: does a group exist that does not throttle its submitters? */
static bool is_below_limit(struct ioband_target *target, enum ioband_mode mode, struct bio *bio,
			   unsigned int times)
{
	struct ioband_group *group;
	bool below;

	rcu_read_lock_sched();
	group = find_group_of_bio(target, mode, bio, true);
	below = group && rcu_access_pointer(group->stats) && !ioband_throttle_is_over(group, times);
	rcu_read_unlock_sched();
	return below;
}

/*
 * Make the submitter of a bio, not known to the pool yet, sleep before it arrives: while its group
 * has as many queued bios as it may have, at most until as many bios as were queued have left.  It
 * does not sleep for a bio for which the system waits, or for one with REQ_NOWAIT.  A killed task
 * sleeps only if a multiple of the usual amount is queued.  The bio keeps the target alive.  In the
 * target's map(), not on the detour: a task that sleeps there blocks a change of the hidden disk's
 * limits, which in turn blocks all other submitters.
 */
void ioband_enter_throttle(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	const unsigned int times = ioband_admit_times(bio);
	struct ioband_pool *pool = target->pool;
	unsigned long flags;
	struct ioband_waiter waiter;
	bool wait;

	if (ioband_admit_urgency(bio) == IOBAND_AT_ONCE || bio->bi_opf & REQ_NOWAIT ||
	    is_below_limit(target, mode, bio, times))
		return;
	flags = ioband_admit_lock_group(pool, io, bio, mode, true, true);
	wait = ioband_throttle_is_over(io->group, times);
	if (wait)
		ioband_throttle_prepare(&waiter, target, io->group, io->stats, false);
	ioband_stats_unpin_io(io->stats, io->op);
	io->group = NULL;
	spin_unlock_irqrestore(&pool->lock, flags);
	if (wait)
		ioband_throttle_wait(&waiter, times > 1);
}

/*
 * The group that a bio of a cgroup's flusher will get, if it exists and is not open.  Under
 * RCU-sched.
 */
static struct ioband_group *find_group_of_flusher(struct ioband_target *target,
						  struct cgroup_subsys_state *css)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	struct ioband_scope *scope = ioband_scope_of(target->member, mode);
	struct ioband_group *group =
		ioband_mode_is_cgroup(mode) ? find_group_of_css(scope, css) : NULL;

	return group && rcu_access_pointer(group->stats) &&
	       !(READ_ONCE(target->pool->passes) && rcu_access_pointer(group->open)) ? group : NULL;
}

/*
 * Make the flusher of a cgroup sleep before its bio arrives: while much of its earlier writeback is
 * still queued, for IOBAND_FLUSHER_WAIT at most.  Not on the detour, as in ioband_enter_throttle().
 * Return: true if the bio may be queued: it should arrive in splits, so that the group does not
 * exceed its bound.
 */
bool ioband_enter_throttle_flusher(struct ioband_target *target, struct cgroup_subsys_state *css)
{
	struct ioband_pool *pool = target->pool;
	struct ioband_group *group;
	struct ioband_stats *stats;
	struct ioband_waiter waiter;
	bool waits;

	rcu_read_lock_sched();
	group = find_group_of_flusher(target, css);
	waits = group && ioband_throttle_flusher_is_over(group);
	rcu_read_unlock_sched();
	if (likely(!waits))
		return group;
	spin_lock_irq(&pool->lock);
	rcu_read_lock_sched();
	group = find_group_of_flusher(target, css);
	waits = group && ioband_throttle_flusher_is_over(group);
	stats = waits ? rcu_dereference_sched(group->stats) : NULL;
	rcu_read_unlock_sched();
	/* The pool's lock keeps both.  The lock of the wait queue sleeps in a PREEMPT_RT kernel. */
	if (waits)
		ioband_throttle_prepare(&waiter, target, group, stats, true);
	spin_unlock_irq(&pool->lock);
	if (waits)
		ioband_throttle_wait_flusher(&waiter);
	return group;
}

/*
 * Accept an empty flush.  Other tasks may wait for it, and it has no size, so it is neither charged
 * nor queued.  Its latency counts for the group of the submitter, if the pool has a latency target.
 * With slices, it may spare the device a flush at the end of a slice.  Does not sleep.
 */
void ioband_enter_flush(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	struct ioband_pool *pool = target->pool;
	unsigned long flags;

	io->covers = 0;
	if (likely(!READ_ONCE(pool->core.nr_latencies))) {
		if (!READ_ONCE(pool->slice_ms))
			return;
		spin_lock_irqsave(&pool->lock, flags);
	} else {
		io->op = IOBAND_OP_WRITE;
		flags = ioband_admit_lock_group(pool, io, bio, mode, true, false);
		ioband_state_activate(io->group);
	}
	io->start_ns = ktime_get_ns();
	io->covers = ioband_flush_covers(target);
	spin_unlock_irqrestore(&pool->lock, flags);
}
