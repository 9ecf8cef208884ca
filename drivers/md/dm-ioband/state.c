// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the two states of a pool.
 *
 * Two states.  In the open state nothing has to be held: one group is active,
 * or all of them together do not fill the device.  A bio finds its group, sees
 * that the group is open, is counted on its CPU, and goes: no lock, no cache
 * line written that another CPU writes.  In the shared state groups compete:
 * every bio goes through the scheduler, under the pool's lock, and may be held
 * in its group.
 *
 * With slices there is no open state.  What one group alone has sent to a disk that seeks,
 * and to its write cache, the next one would wait for, for nobody to be charged; and the
 * lock is nothing to such a disk.
 *
 * What has a maximum, itself or above it, goes through the scheduler in the open
 * state too, and is held until the maximum lets it go.
 *
 * A group that becomes active takes the lock once, so the pool knows how many
 * there are.  With more than one the state is shared, until it turns out that
 * they do not fill the device, and nobody has a minimum or a latency target.  That holds for
 * a few seconds, for another load may, and for as long as no more than half of
 * the limit is in flight (the pool's tick looks).  Service taken past the
 * scheduler is not charged: it was nobody else's.  What of it is still in flight
 * when groups begin to compete counts there, see ioband_state_apply().
 */
#include "state.h"

#include "dispatch.h"
#include "io.h"
#include "limits.h"

/*
 * Of the ticks of all pools.  They run on any CPU, and when memory is short: a tick sees to
 * devices that do not answer and CPUs that run no worker.
 */
static struct workqueue_struct *tick_wq;

/**
 * ioband_state_init() - make what ticks run on
 *
 * Return: 0 or -ENOMEM.
 */
int __init ioband_state_init(void)
{
	tick_wq = alloc_workqueue("ioband", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return tick_wq ? 0 : -ENOMEM;
}

/**
 * ioband_state_exit() - with no pool left, undo ioband_state_init()
 */
void ioband_state_exit(void)
{
	destroy_workqueue(tick_wq);
}

/**
 * ioband_state_arm_tick() - have the pool look after itself in a moment
 * @pool: pool with active groups
 *
 * Context: Any.
 */
void ioband_state_arm_tick(struct ioband_pool *pool)
{
	queue_delayed_work(tick_wq, &pool->tick, IOBAND_TICK);
}

static bool group_may_be_open(const struct ioband_group *group)
{
	return group->pool->state == IOBAND_OPEN && !group->unindexed &&
	       !ioband_bound_is_capped(group);
}

/* The state has changed, or who has a maximum, a minimum or a latency target. */
static void update_open(struct ioband_pool *pool)
{
	struct ioband_group *group;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(group, &pool->active, active)
		WRITE_ONCE(group->open, group_may_be_open(group));
}

/**
 * ioband_state_apply() - tell the scheduler what holds in the pool's state
 * @pool: pool
 * @now_ns: time
 *
 * In the open state there is nothing but maxima.  In flight at a device that hangs: more than
 * the limit may go, to others.  While the pool probes: a single bio may, to a device that is
 * not silent.  In flight from the open state: less, by up to half; those that the device has
 * are soon back.  It may also have put to sleep tasks that came while it had no request left,
 * and would not wake them for as long as what is sent next always found the one that is free:
 * so, if nothing comes back, by half of that, and so on.
 *
 * Bios for a device that is not blocked any more are not passed over any more.
 *
 * Context: Under the pool's lock, or before anybody knows of it.  The caller dispatches.
 */
void ioband_state_apply(struct ioband_pool *pool, u64 now_ns)
{
	const bool shared = pool->state == IOBAND_SHARED;
	const u64 slice_ns = shared ? pool->slice_ms * (u64)NSEC_PER_MSEC : 0;
	u32 limit_ios = shared ? pool->limit_ios : U32_MAX;

	if (unlikely(ioband_stall_look(&pool->stall, limit_ios, slice_ns, now_ns)))
		ioband_dispatch_unpark(pool, now_ns);
	if (shared && pool->open_ios && limit_ios < U32_MAX)
		limit_ios = (limit_ios - min(pool->open_ios, limit_ios / 2)) >> pool->open_shift;
	ioband_stall_apply(&pool->stall, &pool->core, limit_ios);
	ioband_core_set_slice(&pool->core, slice_ns, pool->measure == IOBAND_MEASURE_TIME, now_ns);
	if (!shared)
		ioband_brake_end(&pool->core, now_ns);
	/* 2 % of 100 ms: a timer is late, or the device is another group's. */
	ioband_core_set_slack(&pool->core, 2 * NSEC_PER_MSEC + hrtimer_resolution + slice_ns / 2);
}

/**
 * ioband_state_share() - groups compete from now on
 * @pool: pool in the open state
 *
 * Context: Under the pool's lock.
 */
void ioband_state_share(struct ioband_pool *pool)
{
	const u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_SHARED);	/* pairs with that of a batch */
	pool->sample = (struct ioband_sample) {};
	pool->sampled_ns = now_ns;
	pool->done_ns = now_ns;
	pool->peak_ios = pool->core.inflight_ios;
	pool->calm_ticks = 0;
	pool->open_ios = pool->limit_ios < U32_MAX ? IOBAND_OPEN_UNKNOWN : 0;
	pool->open_fell = jiffies;
	pool->open_shift = 0;
	ioband_core_begin(&pool->core, now_ns);
	ioband_state_apply(pool, now_ns);
	update_open(pool);
}

/**
 * ioband_state_open() - nothing needs to be held any more, but by a maximum
 * @pool: pool in the shared state; what it holds is released
 * @now_ns: time
 *
 * Context: Under the pool's lock.
 */
void ioband_state_open(struct ioband_pool *pool, u64 now_ns)
{
	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_OPEN);
	/* Who pauses is not waited for any longer, and what comes now the core is not told of. */
	ioband_core_note_sync(&pool->core, now_ns);
	ioband_state_apply(pool, now_ns);
	ioband_dispatch(pool, now_ns);
	update_open(pool);
}

/**
 * ioband_state_activate() - note that a group is active
 * @group: group that has a bio, and was not open
 *
 * Context: Under the pool's lock.
 */
void ioband_state_activate(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	group->touched = true;
	if (list_empty(&group->active)) {
		if (!pool->nr_active && pool->state == IOBAND_SHARED && !pool->slice_ms)
			ioband_core_begin(&pool->core, ktime_get_ns());
		group->busy_at = jiffies;
		list_add_tail(&group->active, &pool->active);
		pool->nr_active++;
		ioband_state_arm_tick(pool);
	}
	if (pool->state == IOBAND_SHARED)
		return;
	if (pool->slice_ms ||
	    (pool->nr_active > 1 &&
	     (ioband_core_has_wishes(&pool->core) || !ioband_pool_finds_depth(pool) ||
	      !ioband_depth_is_settled(&pool->depth))))
		ioband_state_share(pool);
	else
		WRITE_ONCE(group->open, group_may_be_open(group));
}

/**
 * ioband_state_deactivate() - a group has done nothing for a while
 * @group: active, with nothing held and nothing in flight
 *
 * Context: Under the pool's lock.
 */
void ioband_state_deactivate(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	WRITE_ONCE(group->open, false);
	list_del_init(&group->active);
	group->pool->nr_active--;
	group->idle_since = jiffies;
}

/**
 * ioband_state_update() - groups have got, lost or changed a bound
 * @pool: pool
 *
 * Context: Process.
 */
void ioband_state_update(struct ioband_pool *pool)
{
	spin_lock_irq(&pool->lock);
	update_open(pool);
	ioband_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
}

/**
 * ioband_state_next_active() - go through the active groups
 * @pool: pool
 *
 * For as many as there are, each comes once, and the lock may be dropped in
 * between.  One that becomes active meanwhile may not come.
 *
 * Context: Under the pool's walk mutex and its lock; there is an active group.
 *
 * Return: the next.
 */
struct ioband_group *ioband_state_next_active(struct ioband_pool *pool)
{
	struct ioband_group *group =
		list_first_entry(&pool->active, struct ioband_group, active);

	lockdep_assert_held(&pool->walk);
	list_move_tail(&group->active, &pool->active);
	return group;
}
