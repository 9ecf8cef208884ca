// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit of a group that is left alone.
 */
#include "cases.h"
#include "sched/lone.h"

#define MSEC	((u64)NSEC_PER_MSEC)

/* Ticks of so many milliseconds, with so many completions each. */
static void run(struct ioband_lone *lone, u32 ticks, u64 ms, u64 ios)
{
	const struct ioband_sample sample = { .ns = ms * MSEC, .ios = ios };

	while (ticks--)
		ioband_lone_tick(lone, &sample, false, 0);
}

static void limit_is_what_completes_in_10_ms(void **state)
{
	struct ioband_lone lone = {};

	(void)state;
	run(&lone, 1, 10, 61);
	assert_int_equal(ioband_lone_limit(&lone, 4), 61);
	assert_int_equal(ioband_lone_limit(&lone, 62), 62);	/* at least the estimate */
	run(&lone, 1, 10, 0);
	assert_int_equal(ioband_lone_limit(&lone, 4), 30);
	ioband_lone_begin(&lone);
	assert_int_equal(ioband_lone_limit(&lone, 4), 4);
}

/* It is not what completes in a tick, which may be late. */
static void late_ticks_raise_no_limit(void **state)
{
	struct ioband_lone lone = {};

	(void)state;
	run(&lone, 3, 50, 500);
	assert_int_equal(ioband_lone_limit(&lone, 4), 100);
	run(&lone, 100, 4, 40);
	assert_in_range(ioband_lone_limit(&lone, 4), 98, 102);
}

/* Another load: after 200 ms, nine tenths of the limit are of it. */
static void limit_follows_the_load(void **state)
{
	struct ioband_lone lone = {};

	(void)state;
	run(&lone, 100, 10, 10000);
	assert_in_range(ioband_lone_limit(&lone, 4), 9900, 10100);
	run(&lone, 20, 10, 10);
	assert_in_range(ioband_lone_limit(&lone, 4), 10, 1000);
	run(&lone, 1000, 10, 10);
	assert_in_range(ioband_lone_limit(&lone, 4), 10, 18);
	run(&lone, 100, 10, 0);
	assert_int_equal(ioband_lone_limit(&lone, 4), 4);
}

static void it_ends_two_seconds_after_the_last_competitor(void **state)
{
	const struct ioband_sample sample = {};
	struct ioband_lone lone = {};

	(void)state;
	assert_true(ioband_lone_ends(&lone, true, 5));	/* there was none */
	ioband_lone_tick(&lone, &sample, true, 100 * MSEC);
	ioband_lone_tick(&lone, &sample, false, 110 * MSEC);
	assert_false(ioband_lone_ends(&lone, true, 110 * MSEC));
	assert_true(ioband_lone_ends(&lone, false, 110 * MSEC));	/* the limit suffices */
	assert_false(ioband_lone_ends(&lone, true, 2099 * MSEC));
	assert_true(ioband_lone_ends(&lone, true, 2100 * MSEC));
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(limit_is_what_completes_in_10_ms),
		TEST(late_ticks_raise_no_limit),
		TEST(limit_follows_the_load),
		TEST(it_ends_two_seconds_after_the_last_competitor),
	};

	return run_cases(cases, argc, argv);
}
