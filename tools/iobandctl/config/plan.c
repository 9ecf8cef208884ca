// SPDX-License-Identifier: GPL-2.0-only
/* The parts of a plan: changes, and future ioband devices. */
#include <stdlib.h>

#include "base/alloc.h"
#include "config/plan.h"

/*
 * Add a change.
 * @future: the device that is made, or receives the message
 * @place: the place in the configuration that requests it; NULL if it requests it no more
 * Return: the change, for the caller to fill in; valid until the next plan_add().
 */
struct change *plan_add(struct plan *plan, enum change_kind kind, const struct future *future,
			const struct conf_place *place)
{
	struct change *change = XPUSH(plan->v, plan->n);

	*change = (struct change){
		.kind = kind,
		.device = xstrdup(future->name),
		.pool = xstrdup(future->table.pool),
		.place = place ? *place : (struct conf_place){ .line = 0 },
	};
	return change;
}

/* Mark a change as one of a device's own group. */
void plan_of_device(struct change *change, const struct future *future)
{
	change->tree = xstrdup(future->name);
	change->group = xasprintf("device:%s", future->name);
	change->message = xstrdup("device");
}

/*
 * Plan a setting of a pool or of a device.
 * @of_device: a setting of the device, not of the pool
 * @place: the place in the configuration that requests it
 */
void plan_set(struct plan *plan, const struct future *future, bool of_device, const char *key,
	      const char *from, const char *to, const struct conf_place *place)
{
	struct change *change = plan_add(plan, CHANGE_SET, future, place);

	change->tree = of_device ? xstrdup(future->name) : NULL;
	change->setting = key;
	change->from = xstrdup(from);
	change->to = xstrdup(to);
}

/*
 * Report the place in the configuration that caused a failure.
 * @code: an exit code; EXIT_OK reports nothing
 */
int plan_blame(const struct plan *plan, const struct conf_place *place, int code)
{
	char where[256];

	conf_where(plan->conf, place, where, sizeof(where));
	if (code != EXIT_OK)
		note("... which is asked for at %s; nothing was changed", where);
	return code;
}

/*
 * Add a future ioband device.  Return: the device, for the caller to fill in; valid until
 * the next plan_future().
 */
struct future *plan_future(struct plan *plan, const char *name)
{
	struct future *future = XPUSH(plan->future, plan->n_future);

	*future = (struct future){ .name = xstrdup(name) };
	return future;
}

/* Find the future ioband device over a device.  Return: the ioband device, or NULL. */
struct future *plan_over(const struct plan *plan, const struct device *device)
{
	for (size_t i = 0; i < plan->n_future; i++) {
		const struct ioband_table *table = &plan->future[i].table;

		if (plan->future[i].now && table->device[0] == device->major &&
		    table->device[1] == device->minor)
			return &plan->future[i];
	}
	return NULL;
}

/* Free the saved settings of a change. */
static void forget(struct change *change)
{
	for (size_t i = 0; i < change->kept.n; i++)
		free(change->kept.v[i].group);
	free(change->kept.v);
	presets_free(&change->kept.presets);
	change->kept = (struct kept){ .n = 0 };
}

void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		struct change *change = &plan->v[i];

		free(change->device);
		free(change->pool);
		free(change->tree);
		free(change->group);
		free(change->message);
		free(change->from);
		free(change->to);
		forget(change);
	}
	for (size_t i = 0; i < plan->n_future; i++)
		free(plan->future[i].name);
	free(plan->future);
	free(plan->v);
	choices_free(&plan->choices);
	past_free(&plan->past);
	*plan = (struct plan){ .n = 0 };
}
