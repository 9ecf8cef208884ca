// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pool's two states, open and shared, and its tick, as the module has them
 * in state.c and pool.c.
 */
#include "pool.h"

#include <linux/minmax.h>
#include <linux/time64.h>

#define IDLE_NS		(20 * NSEC_PER_MSEC)
#define OPEN_STEP_NS	(50 * NSEC_PER_MSEC)
#define OPEN_TIME_NS	(500 * NSEC_PER_MSEC)
#define CALM_TICKS	50
#define CALM_NS		(5 * NSEC_PER_SEC)

/* The pool has the limit of a lone group. */
static bool state_is_lone(const struct sim_pool *pool)
{
	return pool->nr_active <= 1 && pool->depth.found &&
	       ioband_lone_limit(&pool->lone, pool->depth.limit.ios) > pool->depth.limit.ios;
}

u32 state_limit(const struct sim_pool *pool)
{
	const u32 limit_ios = pool->slice_ns ? U32_MAX : pool->depth.limit.ios;

	return state_is_lone(pool) ? ioband_lone_limit(&pool->lone, limit_ios) : limit_ios;
}

/* Tell the scheduler what holds in the pool's state. */
void state_apply(struct sim_pool *pool)
{
	const u64 now_ns = pool->clock->now_ns;
	u32 limit_ios = pool->open ? U32_MAX : state_limit(pool);

	pool_look(pool, limit_ios, pool->open ? 0 : pool->slice_ns);
	if (limit_ios < U32_MAX && pool->open_ios)
		limit_ios = (limit_ios - min(pool->open_ios, limit_ios / 2)) >> pool->open_shift;
	ioband_stall_apply(&pool->stall, &pool->core, limit_ios);
	ioband_core_set_slice(&pool->core, pool->open ? 0 : pool->slice_ns,
			      pool->measure == IOBAND_MEASURE_TIME, now_ns);
	if (pool->open)
		ioband_latency_end_throttle(&pool->core, now_ns);
	ioband_max_set_slack(&pool->core, 2 * NSEC_PER_MSEC + pool->slice_ns / 2);
}

static void begin_core(struct sim_pool *pool)
{
	const u64 now_ns = pool->clock->now_ns;

	pool->tick = ioband_depth_begin_sample(&pool->depth);
	pool->tick.peak_ios = ioband_tree_counted_ios(&pool->core);
	pool->sampled_ns = now_ns;
	pool->done_ns = now_ns;
	ioband_lone_begin(&pool->lone);
	ioband_core_begin(&pool->core, now_ns);
}

static void state_share(struct sim_pool *pool)
{
	pool->open = false;
	begin_core(pool);
	pool->calm_ticks = 0;
	pool->open_ios = pool->slice_ns ? 0 : U32_MAX / 2;
	pool->open_fell_ns = pool->clock->now_ns;
	pool->open_shift = 0;
	state_apply(pool);
}

static void state_open(struct sim_pool *pool)
{
	pool->open = true;
	ioband_core_note_sync(&pool->core, pool->clock->now_ns);
	state_apply(pool);
	pool_pump(pool);
	pool->calm_until_ns = pool->clock->now_ns + CALM_NS;
}

/* A group has an I/O: it is active, and may be one of several. */
void state_touch(struct sim_pool *pool, struct sim_group *group)
{
	const u64 now_ns = pool->clock->now_ns;

	group->touched = true;
	if (!group->active) {
		if (!pool->nr_active && !pool->open && !pool->slice_ns)
			begin_core(pool);
		group->active = true;
		group->busy_ns = now_ns;
		group->next_active = pool->active;
		pool->active = group;
		pool->nr_active++;
		if (!pool->open && pool->nr_active <= 2)
			state_apply(pool);
	}
	if (pool->open &&
	    (pool->slice_ns ||
	     (pool->nr_active > 1 && (ioband_core_has_guarantees(&pool->core) ||
				      !ioband_depth_is_settled(&pool->depth)))))
		state_share(pool);
}

/* Which groups have done nothing for a while. */
static void state_scan(struct sim_pool *pool)
{
	struct sim_group **link = &pool->active, *group;

	while ((group = *link)) {
		if (group->touched || group->outstanding)
			group->busy_ns = pool->clock->now_ns;
		group->touched = false;
		if (pool->clock->now_ns > group->busy_ns + IDLE_NS) {
			*link = group->next_active;
			group->active = false;
			pool->nr_active--;
		} else {
			link = &group->next_active;
		}
	}
}

/* What went in the open state and is still in flight takes its part of the limit. */
static void state_note_open(struct sim_pool *pool)
{
	u64 waited_ns;

	if (!pool->open_ios)
		return;
	if (pool->open_inflight < pool->open_ios)
		pool->open_fell_ns = pool->clock->now_ns;
	waited_ns = pool->clock->now_ns - pool->open_fell_ns;
	pool->open_shift = max_t(u32, pool->open_shift,
				 min_t(u64, waited_ns, OPEN_TIME_NS) / OPEN_STEP_NS);
	pool->open_ios = waited_ns < OPEN_TIME_NS &&
			 !ioband_below_went_on(&pool->core, pool->clock->now_ns) ?
			 pool->open_inflight : 0;
}

/* @reduced: I/Os of the open state took a part of the limit since the last tick. */
static void state_learn(struct sim_pool *pool, bool reduced)
{
	const bool lone = state_is_lone(pool);

	pool->tick.ns = pool->done_ns - pool->sampled_ns;
	pool->tick.quiet_ns = pool->clock->now_ns - pool->done_ns;
	pool->tick.min_ios = pool->core.masked_ios;
	pool->core.masked_ios = 0;
	pool->tick.no_effect = pool->core.others_have_one;
	pool->core.others_have_one = false;
	ioband_lone_tick(&pool->lone, &pool->tick, pool->nr_active > 1, pool->clock->now_ns);
	if (pool->core.late || pool->core.min_tries || reduced || lone || pool->was_lone ||
	    pool->stall.silent_ns > pool->sampled_ns)
		ioband_depth_stop(&pool->depth);
	else if (!pool->slice_ns)
		ioband_depth_sample(&pool->depth, &pool->tick);
	pool->was_lone = lone;
	pool->core.late = false;
	pool->sampled_ns = pool->done_ns;
	state_apply(pool);
}

/* There has been room to spare, whenever the limit was not one on trial. */
static bool state_is_calm(struct sim_pool *pool)
{
	if (!ioband_depth_in_trial(&pool->depth)) {
		const bool spare = !ioband_core_has_waiting(&pool->core) && !pool->open_ios &&
				   pool->tick.peak_ios <= pool->depth.limit.ios / 2;

		pool->calm_ticks = spare ? pool->calm_ticks + 1 : 0;
	}
	return pool->calm_ticks >= CALM_TICKS && !ioband_core_has_guarantees(&pool->core) &&
	       ioband_depth_is_settled(&pool->depth);
}

static bool state_is_alone(const struct sim_pool *pool)
{
	const bool waiting = ioband_core_has_waiting(&pool->core) ||
			     ioband_depth_in_trial(&pool->depth);

	return !pool->nr_active ||
	       (pool->nr_active == 1 &&
		ioband_lone_ends(&pool->lone, waiting, pool->clock->now_ns));
}

static void tick_shared(struct sim_pool *pool)
{
	const u64 now_ns = pool->clock->now_ns;
	const bool reduced = pool->open_ios;

	state_note_open(pool);
	state_scan(pool);
	if (pool->nr_active > 1)
		ioband_latency_look(&pool->core, now_ns);
	else
		ioband_latency_end_throttle(&pool->core, now_ns);
	state_learn(pool, reduced);
	ioband_below_look(&pool->core, now_ns);
	if (!pool->slice_ns && !pool->core.below.apart && !ioband_stall_is_silent(&pool->stall) &&
	    (state_is_alone(pool) || state_is_calm(pool))) {
		ioband_depth_stop(&pool->depth);
		state_open(pool);
	} else {
		pool_pump(pool);
	}
	pool->tick = ioband_depth_begin_sample(&pool->depth);
	pool->tick.peak_ios = ioband_tree_counted_ios(&pool->core);
}

static void tick_open(struct sim_pool *pool)
{
	state_scan(pool);
	if (pool->nr_active > 1 &&
	    (pool->open_inflight + pool->core.inflight_ios > pool->depth.limit.ios / 2 ||
	     ioband_core_has_guarantees(&pool->core) || pool->clock->now_ns >= pool->calm_until_ns))
		state_share(pool);
}

void state_tick(struct sim_pool *pool)
{
	if (pool->open)
		tick_open(pool);
	else
		tick_shared(pool);
}
