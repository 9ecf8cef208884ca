// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl dump: print the present devices and settings as a configuration. */
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/conf.h"
#include "config/presets.h"
#include "config/select.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "ioband/under.h"
#include "print/print.h"
#include "verbs/verbs.h"

/* The contents of a pool. */
struct found {
	const struct ioband_device *speaker;	/* the device of the pool that answers messages */
	struct groups groups;
	struct presets presets;	/* the initial settings of groups that do not exist yet */
};

static void dump_bounds(const struct bounds *bounds)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		char *text __free = bound_text(bounds, bound);

		if (bound_is_set(bounds, bound))
			print_line("%s = %s", bound_kinds[bound].noun, text);
	}
}

static void dump_weight(uint64_t weight)
{
	char *text __free = weight_text(weight);

	print_line("weight = %s", text);
}

static void dump_device(const struct ioband_devices *devices, const struct ioband_device *device,
			const struct groups *groups)
{
	char *below __free = device_lasting_name(device->table.device[0], device->table.device[1]);
	const struct ioband_table *table = &device->table;
	const struct ioband_group *own;

	print_line("%s", "");
	print_line("[device %s]", device->dm->name);
	print_line("device = %s", below);
	print_line("pool = %s", table->pool);
	print_line("mode = %s", table->mode);
	if (!ioband_has_group(device))
		return;
	dump_weight(table->weight);
	own = tree_own(devices, groups, device);
	if (own)
		dump_bounds(&own->bounds);
}

/* An inserted device has no section: with one, 'apply' would wrap a device. */
static void dump_inserted(const struct ioband_device *device)
{
	print_line("%s", "");
	print_line("# ioband was inserted into %s, in pool %s: that is for 'iobandctl insert'.",
		   device->dm->name, device->table.pool);
}

static void dump_pool(const struct ioband_device *speaker)
{
	const struct ioband_table *table = &speaker->table;

	print_line("%s", "");
	print_line("[pool %s]", table->pool);
	print_line("measure = %s", table->measure);
	print_line("depth = %s", table->depth);
	print_line("slice = %llu", (unsigned long long)table->slice_ms);
	print_line("writes_starved = %llu", (unsigned long long)table->writes_starved);
}

static bool has_mode(const struct ioband_devices *devices, const char *pool, const char *mode)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_table *table = &devices->v[i].table;

		if (devices->v[i].dm->table && !strcmp(table->pool, pool) &&
		    !strcmp(table->mode, mode))
			return true;
	}
	return false;
}

/* Titles are numbers, because paths that differ only in case would be one section. */
static void dump_section(const char *group, const char *pool, const char *tree, uint64_t weight,
			 const struct bounds *bounds, size_t *number)
{
	char *path __free = text_escape_pattern(group);

	print_line("%s", "");
	print_line("[group %zu]", ++*number);
	print_line("group = %s", path);
	print_line("pool = %s", pool);
	if (tree)
		print_line("device = %s", tree);
	if (weight)
		dump_weight(weight);
	dump_bounds(bounds);
}

/* Groups with settings and a persistent name; a device's own settings are in its section. */
static bool lasts(const struct ioband_group *group)
{
	return (group->set || bounds_are_set(&group->bounds)) &&
	       !tree_is_device(group) && tree_lasts(group);
}

static const struct ioband_preset *
preset_of(const struct found *found, const struct ioband_group *group,
	  const struct ioband_device *owner)
{
	struct preset_tree tree;

	presets_tree(&tree, found->speaker->table.pool, owner);
	return group->path ? presets_find(&found->presets, &tree, group->path) : NULL;
}

/*
 * A section applies to the present cgroup and to later cgroups with its path.  It
 * has the group's settings, and the preset of the path for all others.
 */
static void dump_group(const struct found *found, const struct ioband_group *group,
		       const struct ioband_device *owner, const char *tree, size_t *number)
{
	const struct ioband_preset *preset = preset_of(found, group, owner);
	uint64_t weight = group->set ? group->weight : 0;
	struct bounds bounds = group->bounds;

	for (int bound = 0; preset && bound < BOUNDS; bound++) {
		if (!bound_is_set(&bounds, bound))
			bound_copy(&bounds, &preset->bounds, bound);
	}
	if (!weight && preset)
		weight = preset->weight;
	dump_section(group->path ? group->path : group->name,
		     found->speaker->table.pool, tree, weight, &bounds, number);
}

/* A cgroup can have settings in the pool's tree, in the tree of a device, or in both. */
static void dump_one(const struct ioband_devices *devices, const struct found *found,
		     const struct ioband_group *group, size_t *number)
{
	const struct ioband_device *owner = tree_owner(devices, &found->groups, group);

	if (owner)
		dump_group(found, group, owner, owner->dm->name, number);
	else if (!group->path)
		dump_group(found, group, NULL, NULL, number);
	else if (has_mode(devices, found->speaker->table.pool, "cgroup"))
		dump_group(found, group, NULL, CONF_POOL_TREE, number);
}

static void dump_groups(const struct ioband_devices *devices,
			const struct found *found, size_t *number)
{
	for (size_t i = 0; i < found->groups.n; i++) {
		if (lasts(&found->groups.v[i]))
			dump_one(devices, found, &found->groups.v[i], number);
	}
}

/* Whether dump_groups() wrote a section for an existing cgroup with this path. */
static bool is_written(const struct ioband_devices *devices, const struct groups *groups,
		       const char *path, const struct ioband_device *owner)
{
	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];

		if (lasts(group) && group->path && !strcmp(group->path, path) &&
		    tree_owner(devices, groups, group) == owner)
			return true;
	}
	return false;
}

/* Dump the presets of one tree for paths without a section. */
static void dump_presets(const struct ioband_devices *devices, const struct found *found,
			 const struct ioband_device *owner, size_t *number)
{
	const char *pool = found->speaker->table.pool;
	struct preset_tree tree;

	presets_tree(&tree, pool, owner);
	for (size_t i = 0; i < found->presets.n; i++) {
		const struct ioband_preset *preset = &found->presets.v[i];

		if (!strcmp(preset->tree, tree.name) &&
		    !is_written(devices, &found->groups, preset->path, owner))
			dump_section(preset->path, pool, owner ? owner->dm->name : CONF_POOL_TREE,
				     preset->weight, &preset->bounds, number);
	}
}

static void dump_to_come(const struct ioband_devices *devices,
			 const struct found *found, size_t *number)
{
	const char *pool = found->speaker->table.pool;

	if (has_mode(devices, pool, "cgroup"))
		dump_presets(devices, found, NULL, number);
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];

		if (device->dm->table && ioband_has_trees(device) &&
		    !strcmp(device->table.pool, pool))
			dump_presets(devices, found, device, number);
	}
}

static void dump_devices(const struct ioband_devices *devices, const struct found *found)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];
		size_t pool = 0;

		if (under_is_inserted(device)) {
			dump_inserted(device);
		} else if (device->dm->table) {
			while (strcmp(found[pool].speaker->table.pool, device->table.pool))
				pool++;
			dump_device(devices, device, &found[pool].groups);
		}
	}
}

static void dump_found(const struct ioband_devices *devices, const struct found *found, size_t n)
{
	struct hierarchy hierarchy;
	size_t number = 0;

	print_line("# What 'iobandctl dump' found; ioband.conf(5) explains it.");
	if (hierarchy_look(&hierarchy) && !hierarchy_is_whole(&hierarchy))
		print_line("# Paths are from the root of all cgroups, not as they are here.");
	dump_devices(devices, found);
	for (size_t i = 0; i < n; i++)
		dump_pool(found[i].speaker);
	for (size_t i = 0; i < n; i++) {
		dump_groups(devices, &found[i], &number);
		dump_to_come(devices, &found[i], &number);
	}
}

static int dump_all(const struct ioband_devices *devices)
{
	const struct scope everywhere = { .device = NULL };
	struct targets pools __cleanup(targets_free);
	struct found *found __free = NULL;
	int code = EXIT_OK;

	ioband_pools(devices, &everywhere, &pools);
	found = xcalloc(pools.n, sizeof(*found));
	for (size_t i = 0; i < pools.n && code == EXIT_OK; i++) {
		found[i].speaker = pools.v[i];
		code = query_groups(pools.v[i], &found[i].groups) ?:
		       query_presets(pools.v[i], &found[i].presets);
	}
	if (code == EXIT_OK)
		dump_found(devices, found, pools.n);
	for (size_t i = 0; i < pools.n; i++) {
		groups_free(&found[i].groups);
		presets_free(&found[i].presets);
	}
	return code ?: print_flush();
}

static int run(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free);
	int code = ioband_load(&devices) ?: dump_all(&devices);

	(void)args;
	return code;
}

const struct verb verb_dump = {
	.name = "dump",
	.args = "",
	.summary = "Print devices, settings, weights and bounds as a configuration",
	.run = run,
};
