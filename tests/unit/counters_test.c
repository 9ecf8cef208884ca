// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters of a group.
 */
#include <linux/list.h>
#include <linux/types.h>

#include "cases.h"
#include "counters.h"

/* A day of 500 000 bios a second, all in one bucket. */
#define DAY_BIOS	(86400ULL * 500000)

static void a_bucket_counts_for_days(void **state)
{
	struct ioband_cpu_hist hist = {};
	int op, i;

	(void)state;
	for (op = 0; op < IOBAND_NR_OPS; op++) {
		for (i = 0; i < IOBAND_NR_BUCKETS; i++) {
			hist.wait[op].bios[i] += DAY_BIOS;
			hist.service[op].bios[i] += DAY_BIOS;
			assert_true(hist.wait[op].bios[i] == DAY_BIOS);
			assert_true(hist.service[op].bios[i] == DAY_BIOS);
		}
	}
}

/* Documentation/dm-ioband.rst says how many bytes they take. */
static void counters_take_so_much(void **state)
{
	const size_t bytes = sizeof(struct ioband_cpu_stats) + sizeof(struct ioband_cpu_hist);

	(void)state;
	assert_in_range(bytes, 1440, 1450);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(a_bucket_counts_for_days),
		TEST(counters_take_so_much),
	};

	return run_cases(cases, argc, argv);
}
