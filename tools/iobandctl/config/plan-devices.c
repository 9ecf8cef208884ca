// SPDX-License-Identifier: GPL-2.0-only
/* Planning the creation of ioband devices, and changes of their settings. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/plan.h"
#include "host/blockage.h"
#include "host/use.h"
#include "ioband/name.h"
#include "ioband/pool.h"
#include "ioband/under.h"

/* The name with %n replaced by the label. */
static char *expand_name(const char *pattern, const char *label)
{
	char *name = xstrdup("");
	const char *star;

	while ((star = strstr(pattern, "%n"))) {
		xappend(&name, "%.*s%s", (int)(star - pattern), pattern, label);
		pattern = star + 2;
	}
	xappend(&name, "%s", pattern);
	return name;
}

static char *name_for(const struct choice *choice)
{
	const char *as = conf_text(choice->section, KEY_AS);
	char name[NAME_SIZE];

	if (as || !conf_may_be_several(choice->section))
		return expand_name(as ? as : choice->section->label, choice->label);
	name_wrapped(&choice->device, name);
	return xstrdup(name);
}

static bool in_use(const struct device *device, struct problem *use)
{
	return use_of_device(device, use) || use_exclusive(device, use) || use_as_part(device, use);
}

static int check_name_free(const struct plan *plan, const char *name)
{
	int code = make_check_name(name);

	for (size_t i = 0; i < plan->n_future && code == EXIT_OK; i++) {
		if (!strcmp(plan->future[i].name, name))
			code = fail(EXIT_IN_USE, "two ioband devices would be named %s", name);
	}
	if (code == EXIT_OK && mapper_exists(name, NULL))
		code = fail(EXIT_IN_USE,
			    "there is a dm device %s already; choose another name", name);
	return code;
}

/*
 * A device that matches only a pattern is skipped in four cases: it is in use, it does not answer,
 * it would count I/O twice, or it is a partition of root's disk.
 */
static bool is_left_alone(const struct plan *plan, const struct choice *choice)
{
	const char *path = choice->device.path;
	struct problem why;

	if (blockage_reason(&choice->device, &why))
		note("note: %s is left alone, as it does not answer: %s", path, why.text);
	else if (in_use(&choice->device, &why))
		note("note: %s is left alone, as it is in use: %s", path, why.text);
	else if (use_beside_root(&choice->device, &why) ||
		 make_is_twice(plan->devices, conf_pool(choice->section), &choice->device, &why))
		note("note: %s is left alone: %s", path, why.text);
	else
		return false;
	return true;
}

static int plan_new(struct plan *plan, const struct choice *choice)
{
	char *name __free = NULL;
	const struct conf_place *place = &choice->section->place;
	struct settings settings;
	struct ioband_table table;
	struct change *change;
	struct future *future;
	struct problem use;
	int code;

	if (!choice->named && is_left_alone(plan, choice))
		return EXIT_OK;
	code = blockage_check(&choice->device);
	if (code != EXIT_OK)
		return code;
	if (in_use(&choice->device, &use))
		return fail(EXIT_IN_USE, "%s is in use: %s", choice->device.path, use.text);
	name = name_for(choice);
	code = check_name_free(plan, name) ?: plan_settle(plan, choice, &settings, &table);
	if (code == EXIT_OK) {
		future = plan_future(plan, name);
		future->table = table;
		future->chosen = true;
		future->section = choice->section;
		change = plan_add(plan, CHANGE_CREATE, future, place);
		change->to = xstrdup(choice->device.path);
		change->choice = choice;
		change->settings = settings;
		code = plan_own_bounds(plan, future, choice->section);
	}
	return code;
}

static void plan_weight(struct plan *plan, struct future *future,
			const struct conf_section *section)
{
	static const struct conf_value none = { .text = "default" };
	const struct ioband_preset now = { .weight = future->table.weight };
	const struct conf_value *weight = &section->value[KEY_WEIGHT];
	struct change *change;
	uint64_t number;

	if (!weight->text && plan_gave_own(plan, future, GROUP_WEIGHT, &now))
		weight = &none;
	number = weight_of(weight->text);
	number = number ? number : IOBAND_WEIGHT_DEFAULT;
	if (!weight->text || number == future->table.weight)
		return;
	change = plan_add(plan, CHANGE_WEIGHT, future, &weight->place);
	plan_of_device(change, future);
	change->from = weight_text(future->table.weight);
	change->to = xstrdup(weight->text);
	future->table.weight = number;
}

/* A new pool has the kernel's defaults; plan_pools() sets its own later. */
static void join_pool(const struct plan *plan, struct future *future, const char *pool)
{
	struct ioband_table table = {
		.measure = "bytes", .depth = "auto",
		.writes_starved = IOBAND_WRITES_STARVED_DEFAULT,
	};

	strcpy(table.pool, pool);
	future->makes_pool = !plan_take_settings(plan, &table);
	strcpy(future->table.pool, pool);
	strcpy(future->table.measure, table.measure);
	strcpy(future->table.depth, table.depth);
	future->table.slice_ms = table.slice_ms;
	future->table.writes_starved = table.writes_starved;
	future->moved = true;
}

/* Plan the weight and the bounds of the device's own group. */
static int plan_own(struct plan *plan, struct future *future, const struct conf_section *section)
{
	if (!text_after(future->table.mode, "device"))
		return EXIT_OK;
	plan_weight(plan, future, section);
	return plan_own_bounds(plan, future, section);
}

/* The pool of a device without a setting in the configuration. */
static void default_pool(const struct choice *choice, char pool[IOBAND_POOL_SIZE])
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };

	device_disks(&choice->device, &disks, &passed);
	pool_name_of(&disks, pool);
}

static int plan_move(struct plan *plan, const struct choice *choice, struct future *future)
{
	const struct conf_value *value = &choice->section->value[KEY_POOL];
	int code = plan_check_pool(choice->section);
	char pool[IOBAND_POOL_SIZE];
	struct change *change;

	if (code != EXIT_OK)
		return plan_blame(plan, &value->place, code);
	if (value->text)
		snprintf(pool, sizeof(pool), "%s", conf_pool(choice->section));
	else if (plan_gave_device(plan, future, KEY_POOL, future->table.pool))
		default_pool(choice, pool);
	else
		return EXIT_OK;
	if (!strcmp(pool, future->table.pool))
		return EXIT_OK;
	change = plan_add(plan, CHANGE_MOVE, future, &value->place);
	change->setting = "pool";
	change->tree = xstrdup(future->name);
	change->from = xstrdup(future->table.pool);
	change->to = xstrdup(pool);
	join_pool(plan, future, pool);
	return EXIT_OK;
}

/* Settings of its own group are removed before a change to a mode without such a group. */
static int plan_mode(struct plan *plan, const struct choice *choice, struct future *future)
{
	const struct conf_value *value = &choice->section->value[KEY_MODE];
	const char *mode = value->text;
	int code = EXIT_OK;

	if (!mode && plan_gave_device(plan, future, KEY_MODE, future->table.mode))
		mode = "cgroup";
	if (!mode || !strcmp(mode, future->table.mode))
		return plan_own(plan, future, choice->section);
	if (!text_after(mode, "device"))
		code = plan_own(plan, future, choice->section);
	plan_set(plan, future, true, "mode", future->table.mode, mode, &value->place);
	strcpy(future->table.mode, mode);
	return code ?: plan_own(plan, future, choice->section);
}

static int plan_old(struct plan *plan, const struct choice *choice, struct future *future)
{
	future->chosen = true;
	future->section = choice->section;
	return plan_move(plan, choice, future) ?: plan_mode(plan, choice, future);
}

/*
 * Plan for devices that the configuration does not select any more.  The devices remain;
 * settings from the configuration are reverted.
 */
int plan_left(struct plan *plan)
{
	static const struct conf_section none = { .kind = CONF_DEVICE };
	int code = EXIT_OK;

	for (size_t i = 0; i < plan->n_future && code == EXIT_OK; i++) {
		if (!plan->future[i].chosen)
			code = plan_own(plan, &plan->future[i], &none);
	}
	return code;
}

static struct future *future_named(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_future; i++) {
		if (!strcmp(plan->future[i].name, name))
			return &plan->future[i];
	}
	return NULL;
}

/* Find an insertion by the device itself, or by the hidden device with its table. */
static const struct ioband_device *inserted_into(const struct plan *plan,
						 const struct device *device)
{
	for (size_t i = 0; i < plan->devices->n; i++) {
		const struct ioband_device *ioband = &plan->devices->v[i];
		const uint64_t *below = ioband->table.device;

		if (under_is_inserted(ioband) &&
		    ((ioband->dm->major == device->major &&
		      ioband->dm->minor == device->minor) ||
		     (below[0] == device->major && below[1] == device->minor)))
			return ioband;
	}
	return NULL;
}

/*
 * An insertion that the configuration requests is treated like any other ioband
 * device.  The hidden device is never one.
 */
static int plan_inserted(struct plan *plan, const struct choice *choice,
			 const struct ioband_device *inserted)
{
	const char *name = inserted->dm->name;

	if (conf_flag(choice->section, KEY_INSERT) && !strcmp(choice->label, name))
		return plan_old(plan, choice, future_named(plan, name));
	if (choice->named)
		return fail(EXIT_IN_USE,
			    "ioband was inserted into %s, so no ioband device can be over it; 'iobandctl extract %s' takes it out",
			    name, name);
	note("note: %s is left alone, as ioband was inserted into it ('iobandctl extract %s')",
	     choice->device.path, name);
	return EXIT_OK;
}

/* Plan new devices, and changes of existing devices. */
int plan_devices(struct plan *plan)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < plan->choices.n && code == EXIT_OK; i++) {
		const struct choice *choice = &plan->choices.v[i];
		const struct device *device = &choice->device;
		struct future *future = plan_over(plan, device);
		const struct ioband_device *inserted = inserted_into(plan, device);

		if (inserted)
			code = plan_blame(plan, &choice->section->place,
					  plan_inserted(plan, choice, inserted));
		else if (conf_flag(choice->section, KEY_INSERT))
			code = plan_blame(plan, &choice->section->value[KEY_INSERT].place,
					  plan_insert(plan, choice));
		else if (future)
			code = plan_old(plan, choice, future);
		else
			code = plan_blame(plan, &choice->section->place, plan_new(plan, choice));
	}
	return code;
}
