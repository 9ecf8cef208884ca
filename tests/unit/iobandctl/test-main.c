// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the tests of iobandctl's pure parts that are named, in the order of this file, up to the
 * first failure; or lists them all.
 */
#include "base/defs.h"
#include "check.h"

int failures;

#define TEST(name) { #name, test_##name }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(words), TEST(table), TEST(depth), TEST(status), TEST(groups), TEST(stats),
	TEST(latency), TEST(pages), TEST(saved_weights), TEST(weight),
	TEST(pool_name), TEST(kernel_log), TEST(histogram),
	TEST(histogram_since), TEST(format), TEST(args), TEST(cgroup_path),
	TEST(pool_of_disks), TEST(disk_that_seeks), TEST(lasting_names),
	TEST(sample), TEST(tree), TEST(make_is_twice),
	TEST(explain_measures), TEST(explain_judges), TEST(explain_below),
	TEST(recording), TEST(plot_points), TEST(plot_script),
	TEST(conf_faults), TEST(conf_files), TEST(conf_weights),
	TEST(conf_escape), TEST(conf_open), TEST(conf_long_paths), TEST(conf_selects),
	TEST(conf_pools), TEST(kernels_names), TEST(lvm_config),
	TEST(weigh_files),
	TEST(rates_read), TEST(maximum_faults), TEST(minimum_faults),
	TEST(rates_forms), TEST(rates_units), TEST(rates_explicit),
	TEST(rates_lists), TEST(bounds), TEST(groups_with_bounds),
	TEST(latency_read), TEST(latency_faults), TEST(latency_forms),
	TEST(bound_kinds), TEST(bound_read),
	TEST(unknown_message),
	TEST(explain_maxima), TEST(explain_held_by_maximum), TEST(explain_minima),
	TEST(explain_minimum), TEST(explain_promised), TEST(conf_bounds),
	TEST(weigh_bfq), TEST(weigh_devices), TEST(weigh_latency), TEST(weigh_max),
	TEST(weigh_below_all),
	TEST(units),
	TEST(explain_targets), TEST(explain_capped),
	TEST(explain_brake), TEST(explain_behind), TEST(has_path),
	TEST(use_exclusive), TEST(use_in_event), TEST(use_by_fuse),
	TEST(reach_run), TEST(reach_closes), TEST(reach_stat),
	TEST(conf_many), /* takes longest */
};

int main(int argc, char **argv)
{
	int found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		if (argc < 2)
			puts(tests[i].name);
		for (int named = 1; named < argc && !failures; named++) {
			if (same(argv[named], tests[i].name)) {
				tests[i].run();
				found++;
			}
		}
	}
	return failures || found < argc - 1;
}
