// SPDX-License-Identifier: GPL-2.0-only
/* Planning changes of presets of cgroups that sections name by path. */
#include "base/alloc.h"
#include "config/plan.h"
#include "ioband/query.h"

/* The data of a visit. */
struct planner {
	struct plan *plan;
	struct preset_tree tree;
	const struct future *speaker;	/* the device that receives messages about the tree */
};

static char *setting_text(const struct ioband_preset *preset, int setting)
{
	if (setting != GROUP_WEIGHT)
		return bound_text(&preset->bounds, setting - GROUP_BOUNDS);
	return weight_text(preset->weight);
}

/* Check the bounds of the configuration alone; those of an existing cgroup are checked later. */
static int check(const struct planner *planner, const char *path)
{
	const struct conf_section *sections[BOUNDS];

	for (int bound = 0; bound < BOUNDS; bound++)
		sections[bound] =
			conf_setting_of(planner->plan->conf, conf_group_keys[GROUP_BOUNDS + bound],
					path, planner->tree.pool, planner->tree.owner);
	return plan_check_bounds(planner->plan, sections, &bounds_none, path);
}

static int add_change(const struct preset_change *preset, void *data)
{
	struct planner *planner = data;
	bool is_weight = preset->setting == GROUP_WEIGHT;
	int code = preset->place ? check(planner, preset->path) : EXIT_OK;
	struct change *change;

	if (code != EXIT_OK)
		return code;
	change = plan_add(planner->plan, CHANGE_PRESET, planner->speaker, preset->place);
	change->bound = is_weight ? BOUNDS : preset->setting - GROUP_BOUNDS;
	change->tree = planner->tree.owner ? xstrdup(planner->tree.owner) : NULL;
	change->group = xstrdup(preset->path);
	change->setting = is_weight ? "weight" : bound_kinds[change->bound].noun;
	change->from = setting_text(preset->now, preset->setting);
	change->to = setting_text(preset->wanted, preset->setting);
	change->late = preset->late;
	return EXIT_OK;
}

/*
 * Plan changes of the presets of a tree.
 * @speaker: the device that receives messages about the tree
 * @asked: a present device of the pool; NULL if there is none
 * @owner: the device with the tree as its own; NULL for the pool's tree
 * @counts: the number of paths with presets, and its changes
 */
int plan_presets(struct plan *plan, const struct future *speaker, const struct future *asked,
		 const struct future *owner, struct preset_counts *counts)
{
	struct planner planner = { .plan = plan, .speaker = speaker };
	struct presets now __cleanup(presets_free) = { .n = 0 };
	int code = EXIT_OK;

	presets_tree(&planner.tree, speaker->table.pool, owner ? owner->now : NULL);
	/* A future device has no presets. */
	if (owner)
		planner.tree.owner = owner->name;
	if (asked && (!owner || owner->now))
		code = query_presets(asked->now, &now);
	return code ?: presets_differ(plan->conf, &planner.tree, &now, add_change, &planner,
				      counts);
}

/* Report that the module, loaded with the first device, takes no presets. */
void plan_say_untold(const struct plan *plan)
{
	if (query_has_presets())
		return;
	for (size_t i = 0; i < plan->n; i++) {
		if (plan->v[i].kind != CHANGE_PRESET)
			continue;
		presets_say_obstacle(plan->conf, presets_obstacle(NULL));
		return;
	}
}
