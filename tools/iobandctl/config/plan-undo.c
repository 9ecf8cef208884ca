// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings that a change of a device destroys, so that they can be restored.  A move to another
 * pool destroys the groups of the device's own tree.  If the device is the last of its pool, the
 * pool disappears with its settings and groups.  Another mode destroys the groups of the device's
 * own tree.  The settings of the device itself survive a move: its weight is in the table, and its
 * bounds are set again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"
#include "ioband/query.h"
#include "ioband/tree.h"

static bool is_alone(const struct ioband_devices *devices, const struct ioband_device *device)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *other = &devices->v[i];

		if (other != device && other->dm->table &&
		    !strcmp(other->table.pool, device->table.pool))
			return false;
	}
	return true;
}

static void keep_settings(struct kept *kept, const struct ioband_group *group)
{
	*XPUSH(kept->v, kept->n) = (struct kept_group){
		.group = xstrdup(tree_is_device(group) ? "device" : group->name),
		.weight = group->set ? group->weight : 0,
		.bounds = group->bounds,
	};
}

/*
 * A cgroup in the tree of the pool may have a weight or a bound, set through an
 * earlier device.  A device with its own tree cannot restore it.
 */
static void keep_group(struct kept *kept, const struct ioband_device *device,
		       const struct ioband_device *owner, const struct ioband_group *group)
{
	if ((!group->set && !bounds_are_set(&group->bounds)) || !tree_lasts(group))
		return;
	if (owner == device)
		keep_settings(kept, group);
	else if (!owner && kept->has_pool && tree_is_cgroup(group) && ioband_has_trees(device))
		kept->lost = true;
	else if (!owner && kept->has_pool)
		keep_settings(kept, group);
}

static int keep_of(struct kept *kept, const struct ioband_devices *devices,
		   const struct ioband_device *device)
{
	struct groups groups __cleanup(groups_free);
	int code = query_groups(device, &groups);

	kept->table = device->table;
	for (size_t i = 0; code == EXIT_OK && i < groups.n; i++) {
		const struct ioband_group *group = &groups.v[i];

		keep_group(kept, device, tree_owner(devices, &groups, group), group);
	}
	return code;
}

/*
 * Messages about presets to a device with its own group are about its own tree, even if presets
 * have no effect there.  It cannot restore presets in the tree of the pool.
 */
static int keep_presets(struct kept *kept, const struct ioband_device *device)
{
	bool own = ioband_has_group(device);
	struct preset_tree tree, of_pool;
	struct presets all;
	size_t n = 0;
	int code = query_presets(device, &all);

	presets_tree(&tree, device->table.pool, own ? device : NULL);
	presets_tree(&of_pool, device->table.pool, NULL);
	for (size_t i = 0; i < all.n; i++) {
		struct ioband_preset *preset = &all.v[i];

		if (own && kept->has_pool && !strcmp(preset->tree, of_pool.name))
			kept->lost = true;
		if ((own || kept->has_pool) && !strcmp(preset->tree, tree.name))
			all.v[n++] = *preset;
		else
			free(preset->path);
	}
	all.n = n;
	kept->presets = all;
	return code;
}

/* Before a change, save the settings that it destroys. */
int plan_keep(struct change *change)
{
	const struct ioband_device *device;
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	int code;

	if (change->kind != CHANGE_MOVE &&
	    (change->kind != CHANGE_SET || strcmp(change->setting, "mode")))
		return EXIT_OK;
	code = ioband_load(&devices);
	if (code != EXIT_OK)
		return code;
	device = ioband_named(&devices, change->device);
	if (device && device->dm->table) {
		change->kept.has_pool = change->kind == CHANGE_MOVE && is_alone(&devices, device);
		code = keep_of(&change->kept, &devices, device);
		if (code == EXIT_OK && change->kind == CHANGE_MOVE)
			code = keep_presets(&change->kept, device);
	}
	return code;
}

/*
 * The pool is new, so its value is the default.  A module without this setting
 * never has another value.
 */
static int give_writes_starved(const struct ioband_device *speaker, uint64_t writes_starved)
{
	char *reads __free = NULL;

	if (writes_starved == IOBAND_WRITES_STARVED_DEFAULT)
		return EXIT_OK;
	reads = xasprintf("%llu", (unsigned long long)writes_starved);
	return query_set(speaker, "writes_starved", reads);
}

/* Slices come before the measure, because time is shared only with slices. */
static int give_settings(const struct ioband_device *speaker, const struct ioband_table *table)
{
	char *slice __free = xasprintf("%llu", (unsigned long long)table->slice_ms);

	return query_set(speaker, "slice", slice) ?:
	       query_set(speaker, "measure", table->measure) ?:
	       query_set(speaker, "depth", table->depth) ?:
	       give_writes_starved(speaker, table->writes_starved);
}

static int give_group(const struct ioband_device *speaker, const struct kept_group *kept)
{
	int code = EXIT_OK;

	if (kept->weight)
		code = query_weight(speaker, kept->group, kept->weight);
	return first_failure(code, query_bounds(speaker, kept->group, &kept->bounds));
}

/* The path has no presets yet, so the maximum comes first.  It is the first bound. */
static int give_preset(const struct ioband_device *speaker, const struct ioband_preset *preset)
{
	int code = EXIT_OK;

	for (int bound = 0; bound < BOUNDS && code == EXIT_OK; bound++) {
		if (bound_is_set(&preset->bounds, bound))
			code = query_preset_bound(speaker, preset->path, bound, &preset->bounds);
	}
	if (preset->weight && code == EXIT_OK)
		code = query_preset_weight(speaker, preset->path, preset->weight);
	return code;
}

/* After a change was undone, restore the settings that it destroyed. */
int plan_give_back(const struct change *change, const struct ioband_device *speaker)
{
	const struct kept *kept = &change->kept;
	int code = EXIT_OK;

	if (kept->has_pool)
		code = give_settings(speaker, &kept->table);
	for (size_t i = 0; i < kept->n; i++)
		code = first_failure(code, give_group(speaker, &kept->v[i]));
	for (size_t i = 0; i < kept->presets.n; i++)
		code = first_failure(code, give_preset(speaker, &kept->presets.v[i]));
	if (kept->lost)
		code = fail(EXIT_FAILED,
			    "weights, bounds and presets of cgroups in the tree of pool %s itself are lost",
			    kept->table.pool);
	return code;
}

/* After a move to another pool, set the device's own bounds again. */
int plan_carry(const struct change *change)
{
	const struct kept *kept = &change->kept;
	struct mapped_device mapped;
	struct ioband_device device = { .dm = &mapped, .table = kept->table };

	snprintf(mapped.name, sizeof(mapped.name), "%s", change->device);
	for (size_t i = 0; i < kept->n && ioband_has_group(&device); i++) {
		const struct kept_group *group = &kept->v[i];

		if (!strcmp(group->group, "device"))
			return query_bounds(&device, group->group, &group->bounds);
	}
	return EXIT_OK;
}
