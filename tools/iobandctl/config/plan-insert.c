// SPDX-License-Identifier: GPL-2.0-only
/* Planning and making insertions of ioband into dm devices. */
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"
#include "host/blockage.h"
#include "host/lvm.h"
#include "ioband/under.h"

/*
 * Require a place in the device itself: a change of a device below causes no event of this device.
 */
static int find_place(const struct choice *choice)
{
	struct names places __cleanup(names_free) = { .n = 0 };
	const char *path = choice->device.path;
	int code = under_places(path, &places);

	if (code == EXIT_OK && (places.n != 1 || strcmp(places.v[0], choice->label)))
		code = fail(EXIT_FAILED,
			    "ioband cannot go into %s itself, but into %s below it: name that",
			    path, places.n ? places.v[0] : "a device");
	return code;
}

/* Refuse a second ioband on the device, even in another pool. */
static int check_twice(const struct plan *plan, const struct choice *choice)
{
	const struct future *over = plan_over(plan, &choice->device);
	struct problem why;

	if (over)
		return fail(EXIT_IN_USE, "ioband device %s is over %s already",
			    over->name, choice->device.path);
	if (!make_is_twice(plan->devices, conf_pool(choice->section), &choice->device, &why))
		return EXIT_OK;
	return fail(EXIT_IN_USE, "%s: %s", choice->device.path, why.text);
}

/*
 * Check for a device that another program made for itself, as a part of a
 * volume.  Patterns do not select it.
 */
static bool is_others(const struct choice *choice)
{
	char uuid[MAPPER_UUID_SIZE];

	return choice->passed_over ||
	       (device_attribute(choice->device.major, choice->device.minor,
				 "dm/uuid", uuid, sizeof(uuid)) &&
		lvm_is_part(uuid));
}

static int add_insertion(struct plan *plan, const struct choice *choice)
{
	struct settings settings;
	struct ioband_table table;
	struct change *change;
	struct future *future;
	int code = plan_settle(plan, choice, &settings, &table);

	if (code != EXIT_OK)
		return code;
	future = plan_future(plan, choice->label);
	future->table = table;
	future->chosen = true;
	future->section = choice->section;
	change = plan_add(plan, CHANGE_INSERT, future, &choice->section->value[KEY_INSERT].place);
	change->to = xstrdup(choice->device.path);
	change->settings = settings;
	return plan_own_bounds(plan, future, choice->section);
}

/* under_is_place() without error messages. */
static bool is_place(const char *name)
{
	struct problem ignored;
	bool is;

	fail_into(&ignored);
	is = under_is_place(name);
	fail_into(NULL);
	return is;
}

/*
 * Check whether a selected device is for an insertion.
 * @choice: a device with "insert = yes" in the configuration
 *
 * If ioband cannot be inserted, this is an error for a listed device.  A device that
 * matches only a pattern is skipped.
 */
bool plan_may_insert(const struct choice *choice)
{
	return choice->named || (!is_others(choice) && is_place(choice->label));
}

/*
 * Plan an insertion.
 * @choice: the device, without an insertion
 */
int plan_insert(struct plan *plan, const struct choice *choice)
{
	int code;

	if (!choice->named && is_others(choice))
		return EXIT_OK;
	code = blockage_check(&choice->device) ?: find_place(choice) ?: check_twice(plan, choice);
	if (code == EXIT_OK)
		return add_insertion(plan, choice);
	if (choice->named)
		return code;
	note("note: %s is left alone", choice->device.path);
	return EXIT_OK;
}

/*
 * Insert ioband, or extract it again.
 * @undo: extract it
 */
int plan_run_insert(const struct change *change, bool undo)
{
	bool had_it = false;
	int code;

	if (undo)
		return extract_from(change->device, &had_it);
	/* The layer above may be opened before or after this: the configuration decides. */
	code = insert_into(&change->settings, change->device, true, &had_it);
	if (code != EXIT_OK || !had_it)
		return code;
	/* Another program's insertion may have other settings, and is not ours to undo. */
	return fail(EXIT_IN_USE, "another program has inserted ioband into %s meanwhile; try again",
		    change->device);
}
