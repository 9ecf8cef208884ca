// SPDX-License-Identifier: GPL-2.0-only
/*
 * The changes that lead from the present state to the configuration: which devices and
 * settings have to change.
 *
 * The plan is complete before the first change is made.
 */
#include "config/plan.h"

static void know_present(struct plan *plan)
{
	for (size_t i = 0; i < plan->devices->n; i++) {
		const struct ioband_device *device = &plan->devices->v[i];
		struct future *future;

		if (!device->dm->table)
			continue;
		future = plan_future(plan, device->dm->name);
		future->table = device->table;
		future->now = device;
	}
}

/*
 * Find the changes that a configuration needs.
 * @plan: the result, also to be freed after a failure
 * @conf: the configuration; must outlive the plan
 * @devices: all there are; must outlive the plan
 * @only: only these devices below, and the pools of the ioband devices over them; the
 *	weights of groups in any case
 * @n_only: how many; 0 for all there are
 */
int plan_make(struct plan *plan, const struct conf *conf, const struct ioband_devices *devices,
	      char *const *only, int n_only)
{
	int code;

	*plan = (struct plan){
		.conf = conf, .devices = devices,
		.finder = { .devices = devices },
	};
	know_present(plan);
	plan_load_past(plan);
	code = select_devices(conf, only, n_only, &plan->choices) ?: plan_devices(plan);
	if (code == EXIT_OK && !n_only)
		code = plan_left(plan);
	return code ?: plan_pools(plan, !n_only) ?: plan_groups(plan);
}
