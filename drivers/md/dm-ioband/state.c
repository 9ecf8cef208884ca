// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the two states of a pool.
 *
 * In the open state no bio has to be queued: one group is active, or all groups together do not
 * fill the device, or the CPUs limit them (sched/overhead.h).  A bio finds its group, sees that the
 * group is open, is counted on its CPU, and is dispatched.  It takes no lock, and writes no cache
 * line that another CPU writes.  In the shared state groups compete.  Every bio passes the
 * scheduler under the pool's lock, and may be queued in its group.
 *
 * A pool with slices has no open state.  A lone group's I/O at a disk that seeks, and in its write
 * cache, would delay the next group, and no group would be charged for it.  The cost of the lock
 * does not matter for such a disk.
 *
 * A bio of a group with a maximum, its own or one above, passes the scheduler in the open state
 * too.  It is queued until the maximum allows it.
 *
 * A group that becomes active takes the lock once, so the pool knows the number of active groups.
 * With one, the pool opens at once or after some time, see sched/lone.h.  With more than one, the
 * pool is shared until two conditions hold: the groups do not fill the device, and no group is idle
 * or has a minimum or a latency target.  Then the pool is open for a few seconds, after which the
 * load may have changed.  It returns to the shared state earlier if more than half of the limit is
 * in flight (the pool's tick checks), or if a group discards.  If the CPUs limit the groups, the
 * throughput decides instead.  Bios without data pass the scheduler in the open state too
 * (split.c).  Service in the open state is not charged, as no other group wanted it.  Bios of the
 * open state that are in flight when groups begin to compete count from then on, see
 * ioband_state_apply().
 */
#include "state.h"

#include "dispatch.h"
#include "io.h"
#include "limits.h"

/* Schedule the next tick of a pool with active groups. */
void ioband_state_arm_tick(struct ioband_pool *pool)
{
	queue_delayed_work(ioband_dispatch_wq, &pool->tick, IOBAND_TICK);
}

/*
 * Let bios of a device look for an open group, while the pool has some.  After each change of
 * &ioband_pool.passes or of the mode of the device, under the pool's lock.
 */
void ioband_state_set_recent(struct ioband_member *member)
{
	const bool passes = ioband_mode_is_cgroup(member->mode) && member->pool->passes;

	WRITE_ONCE(member->recent, passes ? ioband_scope_of(member, member->mode)->recent : NULL);
}

/* Let bios of open groups pass without the lock, or no bio.  Does not visit the groups. */
static void set_passes(struct ioband_pool *pool, bool passes)
{
	struct ioband_member *member;

	lockdep_assert_held(&pool->lock);
	if (pool->passes == passes)
		return;
	WRITE_ONCE(pool->passes, passes);
	list_for_each_entry(member, &pool->members, members)
		ioband_state_set_recent(member);
}

/* A bio of an active group took the lock in the open state: open the group if it may be. */
static void set_open(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	if (pool->has_rest || group->unindexed || ioband_limits_has_max(group)) {
		RCU_INIT_POINTER(group->open, NULL);
		return;
	}
	rcu_assign_pointer(group->open, rcu_dereference_protected(group->stats,
								  lockdep_is_held(&pool->lock)));
	set_passes(pool, true);
}

/*
 * In the shared state: is at most one group active, and the limit of a lone group wider than the
 * estimated one?  Under the pool's lock.
 */
bool ioband_state_is_lone(const struct ioband_pool *pool)
{
	return pool->nr_active <= 1 && (!ioband_pool_finds_depth(pool) || pool->depth.found) &&
	       ioband_lone_limit(&pool->lone, pool->limit_ios) > pool->limit_ios;
}

/**
 * ioband_state_apply() - pass limits and slices of the pool's state to the scheduler
 * @pool: pool
 * @now_ns: time
 *
 * In the open state only maxima apply.  In the shared state the in-flight limit is adjusted:
 *
 * - Bios at a device that hangs do not count: as many more may be dispatched to others.
 * - While the pool probes, one bio more may be dispatched to a device that is not silent.
 * - Bios of the open state lower the limit, by up to half: the device returns them soon.  Some of
 *   their submitters may sleep in the device for a request.  They are not woken while the next
 *   dispatched bio always takes the free one.  So the limit is halved again for each 50 ms in
 *   which none of these bios completes.
 *
 * Bios for a device that is no longer blocked are not skipped any more.
 *
 * Context: Under the pool's lock, or before the pool has targets.  The caller dispatches.
 */
void ioband_state_apply(struct ioband_pool *pool, u64 now_ns)
{
	const bool shared = pool->state == IOBAND_SHARED;
	const u64 slice_ns = shared ? pool->slice_ms * (u64)NSEC_PER_MSEC : 0;
	u32 limit_ios = shared ? pool->limit_ios : U32_MAX;

	if (shared && ioband_state_is_lone(pool))
		limit_ios = ioband_lone_limit(&pool->lone, limit_ios);
	if (unlikely(ioband_stall_look(&pool->stall, limit_ios, slice_ns, pool->lost.inflight,
				       now_ns)))
		ioband_dispatch_unpark(pool);
	if (shared && pool->open_ios && limit_ios < U32_MAX)
		limit_ios = (limit_ios - min(pool->open_ios, limit_ios / 2)) >> pool->open_shift;
	ioband_stall_apply(&pool->stall, &pool->core, limit_ios);
	ioband_core_set_slice(&pool->core, slice_ns, pool->measure == IOBAND_MEASURE_TIME, now_ns);
	if (!shared)
		ioband_latency_end_throttle(&pool->core, now_ns);
	/* 2 % of 100 ms, for a late timer, or because another group has the device. */
	ioband_max_set_slack(&pool->core, 2 * NSEC_PER_MSEC + hrtimer_resolution + slice_ns / 2);
}

/* The scheduler may have missed bios until now.  Under the pool's lock. */
static void begin_core(struct ioband_pool *pool, u64 now_ns)
{
	pool->sample = ioband_depth_begin_sample(&pool->depth);
	pool->sampled_ns = now_ns;
	pool->done_ns = now_ns;
	ioband_lone_begin(&pool->lone);
	ioband_core_begin(&pool->core, now_ns);
}

/* Enter the shared state from the open state, under the pool's lock. */
void ioband_state_share(struct ioband_pool *pool)
{
	const u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_SHARED);	/* pairs with READ_ONCE() in ioband_batch_add() */
	begin_core(pool, now_ns);
	pool->lost.began_ns = now_ns;
	pool->peak_ios = ioband_dispatch_inflight(pool);
	pool->calm_ticks = 0;
	pool->idle_ios = 0;
	pool->busy_ticks = 0;
	pool->open_ios = pool->limit_ios < U32_MAX ? IOBAND_OPEN_UNKNOWN : 0;
	pool->open_fell = jiffies;
	pool->open_shift = 0;
	ioband_state_apply(pool, now_ns);
	set_passes(pool, false);
}

/*
 * Enter the open state, in which only a maximum throttles bios.  Queued bios are dispatched, here
 * or soon by a work, except bios that wait for a maximum, a blocked device or a worker, and bios
 * without data.  After that, the next bio lets open groups pass.  Under the pool's lock.
 */
void ioband_state_open(struct ioband_pool *pool, u64 now_ns)
{
	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_OPEN);
	/*
	 * Stop idling for throttled writeback: the core does not learn of bios of the open state.
	 */
	ioband_core_note_sync(&pool->core, now_ns);
	ioband_state_apply(pool, now_ns);
	ioband_dispatch(pool, now_ns);
}

/* Mark a group that has a bio, and was not open, as active.  Under the pool's lock. */
void ioband_state_activate(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	group->touched = true;
	if (list_empty(&group->active)) {
		if (!pool->nr_active && pool->state == IOBAND_SHARED && !pool->slice_ms)
			begin_core(pool, ktime_get_ns());
		group->busy_at = jiffies;
		group->seen_work = U64_MAX;
		group->works[IOBAND_OPEN] = 0;
		group->works[IOBAND_SHARED] = 0;
		list_add_tail(&group->active, &pool->active);
		pool->nr_active++;
		if (pool->state == IOBAND_SHARED && pool->nr_active <= 2)
			ioband_state_apply(pool, ktime_get_ns());
		ioband_state_arm_tick(pool);
	}
	if (pool->state == IOBAND_SHARED)
		return;
	if (pool->slice_ms ||
	    (pool->nr_active > 1 &&
	     (ioband_core_has_guarantees(&pool->core) || !ioband_pool_finds_depth(pool) ||
	      !(ioband_depth_is_settled(&pool->depth) ||
		ioband_overhead_opens(&pool->overhead, ktime_get_ns())) ||
	      ioband_discard_is_recent(&pool->lost, ktime_get_ns()))))
		ioband_state_share(pool);
	else
		set_open(group);
}

/*
 * Mark an active group without queued bios, and without bios in flight for some time, as not
 * active.  Under the pool's lock.
 */
void ioband_state_deactivate(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	RCU_INIT_POINTER(group->open, NULL);
	list_del_init(&group->active);
	group->pool->nr_active--;
	group->idle_since = jiffies;
}

/*
 * Walk over the active groups, of which there is one: called as often as there are such groups, it
 * returns each of them once.  The caller may drop the lock in between; a group that becomes active
 * meanwhile may be missed.  Under the pool's walk mutex and its lock, in the pool's tick, a
 * suspend or a message.
 */
struct ioband_group *ioband_state_next_active(struct ioband_pool *pool)
{
	struct ioband_group *group =
		list_first_entry(&pool->active, struct ioband_group, active);

	lockdep_assert_held(&pool->walk);
	list_move_tail(&group->active, &pool->active);
	return group;
}

/*
 * A weight, maximum, minimum or latency target has changed.  If it may be a maximum, all groups are
 * closed; a group opens again with its next bio.  A group that becomes active meanwhile knows of
 * the change.  May sleep.
 */
void ioband_state_update(struct ioband_pool *pool)
{
	u32 left;

	mutex_lock(&pool->walk);
	spin_lock_irq(&pool->lock);
	ioband_overhead_forget(&pool->overhead);
	ioband_dispatch(pool, ktime_get_ns());
	left = pool->core.has_max ? pool->nr_active : 0;
	for (; left && !list_empty(&pool->active); left--) {
		RCU_INIT_POINTER(ioband_state_next_active(pool)->open, NULL);
		ioband_dispatch_yield(pool);
	}
	spin_unlock_irq(&pool->lock);
	mutex_unlock(&pool->walk);
}
