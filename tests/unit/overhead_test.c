// SPDX-License-Identifier: GPL-2.0-only
/*
 * The overhead of the shared state: a pool that is faster in one of its two states.
 */
#include "cases.h"
#include "sched/overhead.h"

#define TICK_NS		(10 * (u64)NSEC_PER_MSEC)
#define TICKS_S		100U	/* in a second */
#define FIRST_NS	(1000 * (u64)NSEC_PER_SEC)

/* A pool, the work of a tick in each state, and how often it was open. */
struct pool {
	struct ioband_overhead overhead;
	struct ioband_overhead_look look;
	u64 shared_work;
	u64 open_work;
	u32 open_ticks;
	u32 changes;
};

static const struct pool fast = {
	.look = { .now_ns = FIRST_NS, .shared = true, .possible = true, .busy = true,
		  .inflight_ios = 100 },
	.shared_work = 800,
	.open_work = 1000,
};

/* A tick; the state changes as it says. */
static bool tick(struct pool *pool)
{
	bool open;

	pool->look.now_ns += TICK_NS;
	pool->look.work += pool->look.shared ? pool->shared_work : pool->open_work;
	open = ioband_overhead_tick(&pool->overhead, &pool->look);
	pool->changes += open == pool->look.shared;
	pool->open_ticks += open;
	pool->look.shared = !open;
	return open;
}

static u32 run(struct pool *pool, u32 ticks)
{
	pool->open_ticks = 0;
	pool->changes = 0;
	while (ticks--)
		tick(pool);
	return pool->open_ticks;
}

/* A pool that was found to be faster in the open state. */
static struct pool found(void)
{
	struct pool pool = fast;

	run(&pool, 50);
	assert_true(ioband_overhead_opens(&pool.overhead, pool.look.now_ns));
	return pool;
}

static void it_is_open_if_that_is_faster(void **state)
{
	struct pool pool = fast;

	(void)state;
	assert_in_range(run(&pool, 20), 9, 12);		/* the trial */
	assert_in_range(run(&pool, 30 * TICKS_S), 29 * TICKS_S, 30 * TICKS_S);
	assert_in_range(pool.changes, 20, 26);		/* three or four for each 5 s */
}

static void it_is_shared_if_that_is_as_fast(void **state)
{
	struct pool pool = fast;

	(void)state;
	pool.open_work = 900;
	assert_in_range(run(&pool, 200 * TICKS_S), 40, 100);
	assert_in_range(pool.changes, 2 * 5, 2 * 9);	/* ever rarer trials */
	assert_in_range(run(&pool, 200 * TICKS_S), 20, 40);
}

/* Bios of the other state are left: the first tick of a phase says nothing. */
static void first_tick_of_a_phase_does_not_count(void **state)
{
	struct pool pool = fast;
	u32 i;

	(void)state;
	pool.open_work = 900;
	for (i = 0; i < 20; i++) {
		const bool shared = pool.look.shared;

		if (tick(&pool) == shared)
			pool.look.work += 4 * pool.open_work;
	}
	assert_int_equal(pool.open_ticks, 9);
	assert_false(tick(&pool));
}

/* Nor do ticks with bios of the open state in flight. */
static void late_ticks_do_not_count(void **state)
{
	struct pool pool = fast;

	(void)state;
	pool.look.late = true;
	assert_int_equal(run(&pool, 10 * TICKS_S), 0);
	pool.look.late = false;
	assert_in_range(run(&pool, 10 * TICKS_S), 9 * TICKS_S, 10 * TICKS_S);
}

/* A phase of the shared state that is slow by chance decides nothing. */
static void both_shared_phases_have_to_be_slower(void **state)
{
	struct pool pool = fast;
	u32 i;

	(void)state;
	pool.open_work = 800;
	pool.shared_work = 400;
	for (i = 0; i < 3 * TICKS_S; i++)
		if (tick(&pool))
			pool.shared_work = 800;
	assert_in_range(pool.open_ticks, 9, 20);
	assert_false(ioband_overhead_opens(&pool.overhead, pool.look.now_ns));
}

static void there_is_no_trial(struct pool pool)
{
	assert_int_equal(run(&pool, 10 * TICKS_S), 0);
}

static void a_trial_needs_busy_cpus(void **state)
{
	struct pool pool = fast;

	(void)state;
	pool.look.busy = false;
	there_is_no_trial(pool);
	pool = fast;
	pool.look.possible = false;
	there_is_no_trial(pool);
}

/* The device has become the limit. */
static void it_is_shared_once_it_is_slow(void **state)
{
	struct pool pool = found();

	(void)state;
	pool.open_work = pool.shared_work - 1;
	assert_in_range(run(&pool, TICKS_S / 2), 1, 40);
	assert_int_equal(pool.changes, 1);
	assert_int_equal(run(&pool, TICKS_S / 2), 0);
}

static void it_is_shared_once_many_are_in_flight(void **state)
{
	struct pool pool = found();

	(void)state;
	pool.look.inflight_ios = 200;
	assert_int_equal(run(&pool, 10), 10);
	pool.look.inflight_ios = 201;
	assert_false(tick(&pool));
	assert_int_equal(run(&pool, TICKS_S / 2), 0);
}

/* The open state divides the throughput in another way. */
static void it_is_shared_where_that_divides_otherwise(void **state)
{
	struct pool pool = fast;

	(void)state;
	pool.look.moved = IOBAND_OVERHEAD_MOVED + 1;
	assert_in_range(run(&pool, 200 * TICKS_S), 27, 45);	/* one a minute */
	pool = found();
	pool.look.moved = IOBAND_OVERHEAD_MOVED_LATER;
	assert_int_equal(run(&pool, 10), 10);
	pool.look.moved++;
	assert_in_range(run(&pool, TICKS_S), 1, 20);
	assert_in_range(run(&pool, 100 * TICKS_S), 9, 30);
}

/* Few bios in flight are not many, however few there were in the trial. */
static void few_in_flight_are_not_many(void **state)
{
	struct pool pool = fast;

	(void)state;
	pool.look.inflight_ios = 1;
	run(&pool, 50);
	pool.look.inflight_ios = 2 * IOBAND_OVERHEAD_FEW;
	assert_int_equal(run(&pool, 10), 10);
}

/* While one group is active, or something asks for the shared state, nothing is forgotten. */
static void what_was_found_is_kept_for_seconds(void **state)
{
	struct pool pool = found();

	(void)state;
	pool.look.possible = false;
	pool.open_work = 0;
	pool.shared_work = 0;
	assert_int_equal(run(&pool, TICKS_S), 0);
	pool.look.possible = true;
	pool.open_work = fast.open_work;
	pool.shared_work = fast.shared_work;
	assert_int_equal(run(&pool, TICKS_S), TICKS_S);
	pool.look.possible = false;
	run(&pool, 4 * TICKS_S);
	assert_false(ioband_overhead_opens(&pool.overhead, pool.look.now_ns));
}

/* Work that was done in the other state is not measured. */
static void a_trial_ends_with_its_state(void **state)
{
	struct pool pool = fast;
	u32 i;

	(void)state;
	for (i = 0; i < 4 * TICKS_S; i++) {
		tick(&pool);
		pool.look.shared = true;	/* something else keeps it shared */
	}
	assert_in_range(pool.open_ticks, 1, 3);		/* ever rarer trials */
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(it_is_open_if_that_is_faster),
		TEST(it_is_shared_if_that_is_as_fast),
		TEST(first_tick_of_a_phase_does_not_count),
		TEST(late_ticks_do_not_count),
		TEST(both_shared_phases_have_to_be_slower),
		TEST(a_trial_needs_busy_cpus),
		TEST(it_is_shared_once_it_is_slow),
		TEST(it_is_shared_once_many_are_in_flight),
		TEST(it_is_shared_where_that_divides_otherwise),
		TEST(few_in_flight_are_not_many),
		TEST(what_was_found_is_kept_for_seconds),
		TEST(a_trial_ends_with_its_state),
	};

	return run_cases(cases, argc, argv);
}
