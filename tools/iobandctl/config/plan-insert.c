// SPDX-License-Identifier: GPL-2.0-only
/* Which devices of device-mapper ioband has to be inserted into, and inserting it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"
#include "host/lvm.h"
#include "ioband/extract.h"
#include "ioband/insert.h"
#include "ioband/under.h"

/* Only the device itself will do: of changes of what is below it udev tells others. */
static int find_place(const struct choice *choice)
{
	struct names places = { .n = 0 };
	const char *path = choice->device.path;
	int code = under_places(path, &places);

	if (code == EXIT_OK &&
	    (places.n != 1 || strcmp(places.v[0], choice->label)))
		code = fail(EXIT_FAILED,
			    "ioband cannot go into %s itself, but into %s below it: name that",
			    path, places.n ? places.v[0] : "what is");
	names_free(&places);
	return code;
}

/* Once is enough, though the pools be others. */
static int check_twice(const struct plan *plan, const struct choice *choice)
{
	const struct future *over = plan_over(plan, &choice->device);
	struct problem why;

	if (over)
		return fail(EXIT_IN_USE, "ioband device %s is over %s already",
			    over->name, choice->device.path);
	if (!make_is_twice(plan->devices, conf_pool(choice->section),
			   &choice->device, &why))
		return EXIT_OK;
	return fail(EXIT_IN_USE, "%s: %s", choice->device.path, why.text);
}

/* What others made for themselves, as the parts of a volume, fits patterns and is not meant. */
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
	change = plan_add(plan, CHANGE_INSERT, future,
			  &choice->section->value[KEY_INSERT].place);
	change->to = xstrdup(choice->device.path);
	change->settings = settings;
	return plan_own_bounds(plan, future, choice->section);
}

/* Without a word. */
static bool is_place(const char *name)
{
	struct problem ignored;
	bool is;

	fail_into(&ignored);
	is = under_is_place(name);
	fail_into(NULL);
	return is;
}

/**
 * plan_may_insert() - see whether ioband is meant to go into a device, or only a pattern fits it
 * @choice: a device of which the configuration says "insert = yes"
 *
 * Where it cannot go is a mistake if the device is named, else it is left alone.
 *
 * Return: whether it is.
 */
bool plan_may_insert(const struct choice *choice)
{
	return choice->named || (!is_others(choice) && is_place(choice->label));
}

/**
 * plan_insert() - plan that ioband is in a device
 * @plan: the plan
 * @choice: the device, in which it is not
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int plan_insert(struct plan *plan, const struct choice *choice)
{
	int code;

	if (!choice->named && is_others(choice))
		return EXIT_OK;
	code = find_place(choice);
	if (code == EXIT_OK)
		code = check_twice(plan, choice);
	if (code == EXIT_OK)
		return add_insertion(plan, choice);
	if (choice->named)
		return code;
	note("note: %s is left alone", choice->device.path);
	return EXIT_OK;
}

/**
 * plan_run_insert() - insert ioband, or take it out again
 * @change: where
 * @undo: take it out
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int plan_run_insert(const struct change *change, bool undo)
{
	bool had_it = false;
	int code;

	if (undo)
		return extract_from(change->device, &had_it);
	code = insert_into(&change->settings, change->device, &had_it);
	if (code != EXIT_OK || !had_it)
		return code;
	/* As it is not ours, it is not ours to undo, and may not be as it is to be. */
	return fail(EXIT_IN_USE,
		    "another program has inserted ioband into %s meanwhile; try again",
		    change->device);
}
