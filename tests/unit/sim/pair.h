/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two groups, 200:100, on a modelled device, as a rule with the same load.
 */
#ifndef SIM_PAIR_H
#define SIM_PAIR_H

#include "job.h"

#define PAIR_GROUPS	2

struct pair {
	struct sim_clock clock;
	struct sim_pool pool;
	struct sim_leaf leaves[PAIR_GROUPS];
	struct sim_job jobs[PAIR_GROUPS];
};

struct pair_result {
	double mbps;
	double ratio;
	double inflight;	/* mean, bios and pieces */
	double inflight_bytes;
};

void pair_start(struct pair *pair, const struct sim_spec *spec, const struct sim_workload *work,
		enum sim_control control, u64 seed);
void pair_start_mixed(struct pair *pair, const struct sim_spec *spec,
		      const struct sim_workload works[PAIR_GROUPS], enum sim_control control,
		      u64 seed);
void pair_free(struct pair *pair);
/* Once it has settled; @limit is for SIM_FIXED. */
struct pair_result pair_measure(const struct sim_spec *spec, const struct sim_workload *work,
				enum sim_control control, u32 limit, u64 seed);

#endif /* SIM_PAIR_H */
