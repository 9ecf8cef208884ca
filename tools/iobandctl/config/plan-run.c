// SPDX-License-Identifier: GPL-2.0-only
/*
 * The changes of a plan, made in sequence.  If one fails, the earlier changes
 * are undone in reverse order.
 */
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "config/plan.h"
#include "ioband/query.h"
#include "ioband/reload.h"

static int reload(const struct ioband_device *device, const char *pool)
{
	struct problem problem;
	int error = reload_device(device, pool, device->dm->sectors, &problem);

	return error ? fail(exit_code_of(-error), "cannot move %s to pool %s: %s",
			    device->dm->name, pool, problem.text) : EXIT_OK;
}

static int create(const struct change *change)
{
	struct ioband_devices devices __cleanup(ioband_free);

	return ioband_load(&devices) ?:
	       make_device(&devices, &change->settings, change->device,
			   &change->choice->device);
}

static int uncreate(const struct change *change)
{
	int error = mapper_remove(change->device, false);

	if (!error)
		return EXIT_OK;
	return fail(exit_code_of(-error), "cannot remove %s: %s", change->device, strerror(-error));
}

static int move_to(const char *name, const char *pool)
{
	const struct ioband_device *device;
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	device = ioband_named(&devices, name);
	if (device && device->dm->table)
		code = reload(device, pool);
	else
		code = fail(EXIT_MISSING, "ioband device %s is gone", name);
	return code;
}

/* Change a bound of a group, or a preset. */
static int run_bound(const struct change *change, const struct ioband_device *speaker,
		     const char *to)
{
	struct problem problem;
	struct bounds bounds;
	unsigned int given;

	if (change->bound == BOUNDS)
		return query_preset_weight(speaker, change->group, weight_of(to));
	if (bound_read(to, change->bound, &bounds, &given, &problem))
		return fail(EXIT_FAILED, "%s", problem.text);
	if (change->kind == CHANGE_PRESET)
		return query_preset_bound(speaker, change->group, change->bound, &bounds);
	return query_bound(speaker, change->message, change->bound, &bounds, RATES_ALL);
}

/* Make a change, or with @undo the opposite. */
static int run_change(const struct change *change, bool undo)
{
	const char *to = undo ? change->from : change->to;
	struct mapped_device mapped;
	struct ioband_device speaker = { .dm = &mapped };

	snprintf(mapped.name, sizeof(mapped.name), "%s", change->device);
	switch (change->kind) {
	case CHANGE_CREATE:
		return undo ? uncreate(change) : create(change);
	case CHANGE_INSERT:
		return plan_run_insert(change, undo);
	case CHANGE_MOVE:
		return move_to(change->device, to);
	case CHANGE_SET:
		return query_set(&speaker, change->setting, to);
	case CHANGE_WEIGHT:
		return query_weight(&speaker, change->message, weight_of(to));
	case CHANGE_BOUND:
	case CHANGE_PRESET:
		return run_bound(change, &speaker, to);
	}
	return EXIT_FAILED;
}

static int undo_change(const struct change *change)
{
	struct mapped_device mapped;
	struct ioband_device speaker = { .dm = &mapped };
	int code = run_change(change, true);

	snprintf(mapped.name, sizeof(mapped.name), "%s", change->device);
	return code ?: plan_give_back(change, &speaker);
}

static void undo(const struct plan *plan, size_t n)
{
	bool complete = true;

	mapper_wait();	/* udev must have processed a device before it is removed */
	for (size_t i = n; i-- > 0;) {
		if (undo_change(&plan->v[i]) == EXIT_OK)
			continue;
		complete = false;
		note("... so that a change of %s could not be undone", plan->v[i].device);
	}
	if (complete)
		note("%zu change%s undone: all is as it was before", n, n == 1 ? " was" : "s were");
}

static int run_one(const struct plan *plan, struct change *change)
{
	char where[256];
	int code = interrupt_check();

	if (code != EXIT_OK)
		return code;
	code = plan_keep(change) ?: run_change(change, false);
	if (code == EXIT_OK && change->kind == CHANGE_MOVE) {
		code = plan_carry(change);
		if (code != EXIT_OK)
			undo_change(change);
	}
	conf_where(plan->conf, &change->place, where, sizeof(where));
	if (code != EXIT_OK)
		note("... which is asked for at %s", where);
	return code;
}

/*
 * Make all changes, or none.  Signals stay blocked until the end of a change.  A pending
 * signal then has the earlier changes undone.
 */
int plan_run(struct plan *plan)
{
	int code = EXIT_OK;
	sigset_t before;

	interrupt_hold(&before);
	for (size_t i = 0; i < plan->n && code == EXIT_OK; i++) {
		code = run_one(plan, &plan->v[i]);
		if (code != EXIT_OK)
			undo(plan, i);
	}
	interrupt_release(&before);
	if (code == EXIT_OK)
		plan_say_untold(plan);
	return code;
}
