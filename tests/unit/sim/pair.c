// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two groups, 200:100, on a modelled device, as a rule with the same load.
 */
#include "pair.h"

#include <linux/time64.h>

#include <string.h>

static const u32 weights[PAIR_GROUPS] = { 200, 100 };

void pair_start(struct pair *pair, const struct sim_spec *spec, const struct sim_workload *work,
		enum sim_control control, u64 seed)
{
	const struct sim_workload works[PAIR_GROUPS] = { *work, *work };

	pair_start_mixed(pair, spec, works, control, seed);
}

void pair_start_mixed(struct pair *pair, const struct sim_spec *spec,
		      const struct sim_workload works[PAIR_GROUPS], enum sim_control control,
		      u64 seed)
{
	int i;

	memset(pair, 0, sizeof(*pair));
	clock_init(&pair->clock);
	pool_init(&pair->pool, &pair->clock, spec, control, IOBAND_MEASURE_BYTES);
	pair->pool.device.random.state = seed;
	for (i = 0; i < PAIR_GROUPS; i++) {
		ioband_tree_init_leaf(&pair->leaves[i].leaf, &pair->pool.core.root, weights[i]);
		job_start(&pair->jobs[i], &pair->pool, &pair->leaves[i], &works[i], seed + i * 30);
	}
}

void pair_free(struct pair *pair)
{
	int i;

	pool_free(&pair->pool);	/* looks at the I/O in hand, which is a job's */
	for (i = 0; i < PAIR_GROUPS; i++)
		job_free(&pair->jobs[i]);
	clock_free(&pair->clock);
}

/* A disk needs longer, to settle and to give a mean. */
static u64 warm_ns(const struct sim_spec *spec)
{
	return (spec->model == SIM_DISK ? 20 : 2) * (u64)NSEC_PER_SEC;
}

static u64 run_ns(const struct sim_spec *spec)
{
	return (spec->model == SIM_DISK ? 60 : 4) * (u64)NSEC_PER_SEC;
}

struct pair_result pair_measure(const struct sim_spec *spec, const struct sim_workload *work,
				enum sim_control control, u32 limit, u64 seed)
{
	struct pair_result result;
	u64 bytes[PAIR_GROUPS];
	struct pair pair;
	double area, bytes_area;
	int i;

	pair_start(&pair, spec, work, control, seed);
	if (control == SIM_FIXED)
		ioband_core_set_limit(&pair.pool.core, limit, 0);
	clock_run(&pair.clock, warm_ns(spec));
	area = pair.pool.inflight_area;
	bytes_area = pair.pool.inflight_bytes_area;
	for (i = 0; i < PAIR_GROUPS; i++)
		bytes[i] = pair.leaves[i].bytes;
	clock_run(&pair.clock, warm_ns(spec) + run_ns(spec));
	for (i = 0; i < PAIR_GROUPS; i++)
		bytes[i] = pair.leaves[i].bytes - bytes[i];
	result.mbps = (bytes[0] + bytes[1]) * 1e3 / run_ns(spec);
	result.ratio = (double)bytes[0] / bytes[1];
	result.inflight = (pair.pool.inflight_area - area) / run_ns(spec);
	result.inflight_bytes = (pair.pool.inflight_bytes_area - bytes_area) / run_ns(spec);
	pair_free(&pair);
	return result;
}
