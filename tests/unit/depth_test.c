// SPDX-License-Identifier: GPL-2.0-only
/*
 * The estimator keeps to its range, whatever it is told.
 */
#include "cases.h"
#include "dm-ioband-depth.h"
#include "random.h"
#include "scale.h"

#define TICK_NS	10000000ULL

static void starts_with_a_limit(void **state)
{
	struct ioband_depth depth;

	(void)state;
	ioband_depth_init(&depth);
	assert_in_range(depth.limit_ios, 1, IOBAND_DEPTH_MAX);
}

static void stays_in_range(void **state)
{
	struct sim_random random = { .state = 1 };
	struct ioband_depth depth;
	u64 i, j;

	(void)state;
	for (i = 0; i < scaled(200); i++) {
		ioband_depth_init(&depth);
		for (j = 0; j < 1000; j++) {
			/* From a device that is stuck to 10 million bios a second. */
			const struct ioband_sample sample = {
				.ns = 1 + random_below(&random, 100 * TICK_NS),
				.ios = random_below(&random, 1ULL << random_below(&random, 24)),
				.bytes = random_below(&random, 1ULL << random_below(&random, 38)),
			};

			ioband_depth_sample(&depth, &sample, random_below(&random, 2));
			assert_in_range(depth.limit_ios, 1, IOBAND_DEPTH_MAX);
		}
	}
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(starts_with_a_limit),
		TEST(stays_in_range),
	};

	return run_cases(cases, argc, argv);
}
