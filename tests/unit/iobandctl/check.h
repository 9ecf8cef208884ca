/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

extern int failures;

#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: not so: %s\n",		\
				__FILE__, __LINE__, #condition);	\
			failures++;					\
		}							\
	} while (0)

static inline int same(const char *left, const char *right)
{
	return !strcmp(left, right);
}

/* In test-parse.c. */
void test_words(void);
void test_table(void);
void test_depth(void);
void test_status(void);
void test_groups(void);
void test_groups_with_bounds(void);
void test_stats(void);
void test_latency(void);
void test_pages(void);
void test_saved_weights(void);
void test_weight(void);
void test_pool_name(void);
void test_kernel_log(void);
void test_unknown_message(void);
void test_has_path(void);

/* In test-reach.c. */
void test_reach_run(void);
void test_reach_closes(void);
void test_reach_stat(void);

/* In test-rest.c. */
void test_histogram(void);
void test_histogram_since(void);
void test_format(void);
void test_args(void);
void test_cgroup_path(void);
void test_pool_of_disks(void);
void test_kernels_names(void);
void test_disk_that_seeks(void);
void test_lasting_names(void);
void test_sample(void);
void test_tree(void);
void test_make_is_twice(void);

/* In test-explain.c. */
void test_explain_measures(void);
void test_explain_judges(void);
void test_explain_below(void);
void test_explain_maxima(void);
void test_explain_held_by_maximum(void);
void test_explain_minima(void);
void test_explain_minimum(void);
void test_explain_promised(void);

/* In test-record.c. */
void test_recording(void);
void test_plot_points(void);
void test_plot_script(void);

/* In test-conf.c. */
void test_conf_faults(void);
void test_conf_files(void);
void test_conf_weights(void);
void test_conf_pools(void);
void test_conf_bounds(void);
void test_conf_escape(void);
void test_conf_open(void);
void test_conf_long_paths(void);
void test_conf_many(void);
void test_conf_selects(void);

/* In test-rates.c. */
void test_rates_read(void);
void test_maximum_faults(void);
void test_minimum_faults(void);
void test_rates_forms(void);
void test_rates_units(void);
void test_rates_explicit(void);
void test_rates_lists(void);
void test_bounds(void);
void test_latency_read(void);
void test_latency_faults(void);
void test_latency_forms(void);
void test_bound_kinds(void);
void test_bound_read(void);

/* In test-weigh.c. */
void test_weigh_files(void);
void test_weigh_bfq(void);
void test_weigh_devices(void);
void test_weigh_class(void);
void test_weigh_latency(void);
void test_weigh_max(void);
void test_weigh_below_all(void);
void test_units(void);

/* In test-explain-latency.c. */
void test_explain_targets(void);
void test_explain_brake(void);
void test_lvm_config(void);
void test_explain_capped(void);
void test_explain_behind(void);

/* In test-use.c. */
void test_use_exclusive(void);
void test_use_in_event(void);
void test_use_by_fuse(void);

#endif
