// SPDX-License-Identifier: GPL-2.0-only
/* Planning changes of weights and bounds of groups. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/plan-trees.h"
#include "ioband/tree.h"

/* A group with settings in the configuration. */
struct wish {
	const struct ioband_group *group;	/* the present group; NULL if it does not exist */
	const char *name;
	const char *shown;	/* its name in messages to the user; of a cgroup, its path */
};

static void name_group(struct change *change, const struct tree *tree, const struct wish *wish)
{
	if (tree->owner)
		change->tree = xstrdup(tree->owner->name);
	change->group = xstrdup(text_after(wish->name, "cgroup#") ? wish->shown : wish->name);
	change->message = xstrdup(wish->name);
}

static bool is_asked(const struct conf_section *section, int setting)
{
	return section && conf_text(section, conf_group_keys[setting]);
}

static struct change *want_weight(struct trees *trees, const struct tree *tree,
				  const struct conf_section *section,
				  const struct ioband_group *group)
{
	const struct conf_value *value = &section->value[KEY_WEIGHT];
	uint64_t wanted = weight_of(value->text);
	uint64_t now = group && group->set ? group->weight : 0;
	struct change *change;

	if (wanted == now || (!now && wanted == IOBAND_WEIGHT_DEFAULT))
		return NULL;
	change = plan_add(trees->plan, CHANGE_WEIGHT, tree->speaker, &value->place);
	change->from = weight_text(now);
	change->to = xstrdup(value->text);
	return change;
}

static const struct bounds *bounds_of(const struct ioband_group *group)
{
	return group ? &group->bounds : &bounds_none;
}

/* Return a setting of a group to its default. */
static struct change *want_none(struct trees *trees, const struct tree *tree,
				int setting, const struct ioband_preset *now)
{
	struct change *change;

	if (setting != GROUP_WEIGHT)
		return plan_no_bound(trees->plan, tree->speaker,
				     setting - GROUP_BOUNDS, &now->bounds);
	change = plan_add(trees->plan, CHANGE_WEIGHT, tree->speaker, NULL);
	change->from = weight_text(now->weight);
	change->to = weight_text(0);
	return change;
}

/* Plan the setting of a group from a section; NULL if nothing changes. */
static struct change *want_one(struct trees *trees, const struct tree *tree,
			       const struct conf_section *section, int setting,
			       const struct ioband_group *group)
{
	int bound = setting - GROUP_BOUNDS;

	if (!is_asked(section, setting))
		return NULL;
	if (setting == GROUP_WEIGHT)
		return want_weight(trees, tree, section, group);
	return plan_bound(trees->plan, tree->speaker, section, bound, bounds_of(group));
}

/* Read the present settings of a group, and the rest after reverting old settings. */
static void look_at(struct trees *trees, const struct tree *tree,
		    const struct conf_section *const sections[GROUP_SETTINGS],
		    const struct wish *wish, struct ioband_preset *now, struct ioband_preset *rest)
{
	const struct ioband_group *group = wish->group;
	const char *path = text_after(wish->name, "cgroup#") ? wish->shown : NULL;

	*now = (struct ioband_preset){ .bounds = *bounds_of(group) };
	now->weight = group && group->set ? group->weight : 0;
	*rest = *now;
	if (group)
		tree->seen[group - tree->groups.v] = true;
	for (int i = 0; i < GROUP_SETTINGS; i++) {
		if (is_asked(sections[i], i) ||
		    !plan_gave_group(trees->plan, tree->speaker, tree->owner,
				     wish->name, path, i, now))
			continue;
		if (i == GROUP_WEIGHT)
			rest->weight = 0;
		else
			bound_copy(&rest->bounds, &bounds_none, i - GROUP_BOUNDS);
	}
}

/* Plan all changes of a group, in the order of presets; @sections contain its settings. */
static int want(struct trees *trees, const struct tree *tree,
		const struct conf_section *const sections[GROUP_SETTINGS],
		const char *name, const char *shown)
{
	const struct wish wish = {
		.group = plan_trees_group(trees, tree, name), .name = name,
		.shown = shown,
	};
	struct ioband_preset now, rest, wanted;
	int code;

	look_at(trees, tree, sections, &wish, &now, &rest);
	code = plan_check_bounds(trees->plan, sections + GROUP_BOUNDS, &rest.bounds, shown);
	wanted = rest;
	presets_read(sections, &wanted);
	for (int n = 0; n < PRESET_STEPS && code == EXIT_OK; n++) {
		int phase = n / GROUP_SETTINGS, i = n % GROUP_SETTINGS;
		struct change *change = NULL;

		if (presets_phase(&now, &wanted, i) != phase)
			continue;
		if (presets_are_same(&now, &rest, i))
			change = want_one(trees, tree, sections[i], i, wish.group);
		else
			change = want_none(trees, tree, i, &now);
		if (change)
			name_group(change, tree, &wish);
	}
	return code;
}

static int want_in_tree(struct trees *trees, const struct tree *tree,
			const struct conf_matches *matches, const char *path, const char *name)
{
	const char *owner = tree->owner ? tree->owner->name : NULL;
	const struct conf_section *sections[GROUP_SETTINGS];
	bool any = false;

	if (!plan_tree_sorts_by(trees, tree, "cgroup"))
		return EXIT_OK;
	for (int i = 0; i < GROUP_SETTINGS; i++) {
		sections[i] = conf_setting_in(matches, conf_group_keys[i],
					      tree->speaker->table.pool, owner);
		any = any || sections[i];
	}
	return any ? want(trees, tree, sections, name, path) : EXIT_OK;
}

static void say_without_io(const struct trees *trees,
			   const struct conf_section *section, const char *path)
{
	const struct conf_value *value = conf_group_value(section);
	char where[256];

	conf_where(trees->plan->conf, &value->place, where, sizeof(where));
	note("note: %s: cgroup %s has no I/O of its own, as it lacks the io controller; %s",
	     where, path,
	     "for a unit of systemd 'systemctl set-property UNIT IOAccounting=yes' enables it");
}

/* Mark matching sections as used, and return the last of them in the configuration. */
static const struct conf_section *note_used(const struct trees *trees,
					    const struct conf_matches *matches)
{
	const struct conf_section *last = matches->v[0];

	for (size_t i = 0; i < matches->n; i++) {
		trees->used[matches->v[i] - trees->plan->conf->v] = true;
		if (matches->v[i] > last)
			last = matches->v[i];
	}
	return last;
}

static int want_everywhere(struct trees *trees, const struct conf_matches *matches,
			   const char *path, uint64_t id)
{
	const struct hierarchy *hierarchy = &trees->plan->finder.hierarchy;
	const struct conf_section *last = note_used(trees, matches);
	char name[IOBAND_GROUP_SIZE];
	int code = EXIT_OK;

	if (hierarchy->version == 2 && !cgroup_has_io(hierarchy, path)) {
		say_without_io(trees, last, path);
		return EXIT_OK;
	}
	snprintf(name, sizeof(name), "cgroup#%llu", (unsigned long long)id);
	for (size_t i = 0; i < trees->n && code == EXIT_OK; i++)
		code = want_in_tree(trees, &trees->v[i], matches, path, name);
	return code;
}

static int visit(const char *path, uint64_t id, void *data)
{
	struct trees *trees = data;
	struct conf_matches matches __cleanup(conf_matches_free);
	int code = EXIT_OK;

	conf_match(trees->plan->conf, path, &matches);
	if (matches.n && path[1])
		code = want_everywhere(trees, &matches, path, id);
	return code;
}

/* The last section with a setting of a group other than a cgroup in a pool. */
static const struct conf_section *find_other(const struct conf *conf, const char *pool,
					     const char *name, int setting)
{
	for (size_t i = conf->n; i-- > 0;) {
		const struct conf_section *section = &conf->v[i];
		const char *its = conf_pool(section);

		if (section->kind == CONF_GROUP && !conf_is_cgroup(section) &&
		    is_asked(section, setting) &&
		    (!its || !strcmp(its, pool)) &&
		    group_is(conf_group(section), name))
			return section;
	}
	return NULL;
}

/* Plan all settings of the group when its last section is reached, so that this happens once. */
static int plan_other_in(struct trees *trees, const struct tree *tree,
			 const struct conf_section *section, const char *name)
{
	const struct conf_section *sections[GROUP_SETTINGS], *last = NULL;

	for (int i = 0; i < GROUP_SETTINGS; i++) {
		sections[i] = find_other(trees->plan->conf, tree->speaker->table.pool, name, i);
		if (sections[i] > last)
			last = sections[i];
	}
	return last == section ? want(trees, tree, sections, name, conf_group(section)) : EXIT_OK;
}

/* Plan for users, processes, and the I/O of the root itself. */
static int plan_other(struct trees *trees, const struct conf_section *section)
{
	const char *pool = conf_pool(section);
	const struct scope nowhere = { .device = NULL };
	struct group_ref group;
	int code = group_find(&trees->plan->finder, conf_group(section), &nowhere, &group);

	plan_blame(trees->plan, &section->place, code);
	for (size_t i = 0; i < trees->n && code == EXIT_OK; i++) {
		struct tree *tree = &trees->v[i];

		if (tree->owner ||
		    (pool && strcmp(pool, tree->speaker->table.pool)) ||
		    (group.mode && !plan_tree_sorts_by(trees, tree, group.mode)))
			continue;
		code = plan_other_in(trees, tree, section, group.message);
	}
	return code;
}

static int plan_others(struct trees *trees)
{
	const struct conf *conf = trees->plan->conf;
	int code = EXIT_OK;

	for (size_t i = 0; i < conf->n && code == EXIT_OK; i++) {
		if (conf->v[i].kind != CONF_GROUP || conf_is_cgroup(&conf->v[i]))
			continue;
		code = plan_other(trees, &conf->v[i]);
	}
	return code;
}

/* Note cgroups that do not exist; "watch" handles cgroups that appear later. */
static void say_missing(const struct trees *trees)
{
	const struct conf *conf = trees->plan->conf;
	char where[256];

	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];

		if (!section->path || section->is_pattern || trees->used[i])
			continue;
		conf_where(conf, &section->place, where, sizeof(where));
		note("note: %s: there is no cgroup %s now", where, section->path);
	}
}

static bool can_say_of_paths(const struct plan *plan)
{
	struct hierarchy hierarchy;
	const char *obstacle = presets_obstacle(hierarchy_look(&hierarchy) ? &hierarchy : NULL);

	if (obstacle)
		presets_say_obstacle(plan->conf, obstacle);
	return !obstacle;
}

/* Sum the counts of all trees of a pool. */
static void count_paths(const struct trees *trees, const char *pool, struct preset_counts *counts)
{
	*counts = (struct preset_counts){ .now = 0 };
	for (size_t i = 0; i < trees->n; i++) {
		const struct preset_counts *its = &trees->v[i].counts;

		if (strcmp(trees->v[i].speaker->table.pool, pool))
			continue;
		if (its->now > counts->now)
			counts->now = its->now;
		counts->added += its->added;
		counts->dropped += its->dropped;
	}
}

/*
 * Detect a lack of room for presets before the first change.  If there is room
 * only after the removals, the removals are made first.
 */
static int check_room(struct trees *trees)
{
	for (size_t i = 0; i < trees->n; i++) {
		const char *pool = trees->v[i].speaker->table.pool;
		struct preset_counts counts;
		size_t most;

		count_paths(trees, pool, &counts);
		most = counts.now + counts.added;
		if (most > IOBAND_PRESETS_MAX)
			trees->is_full = true;
		if (most > IOBAND_PRESETS_MAX + counts.dropped)
			return fail(EXIT_USAGE,
				    "pool %s: what cgroups begin with would be kept for %zu paths, and %d are the most; write patterns for some, which 'iobandctl watch' is for; nothing was changed",
				    pool, most - counts.dropped, IOBAND_PRESETS_MAX);
	}
	return EXIT_OK;
}

static int plan_to_come(struct trees *trees)
{
	int code = EXIT_OK;

	if (!trees->n || !can_say_of_paths(trees->plan))
		return EXIT_OK;
	for (size_t i = 0; i < trees->n && code == EXIT_OK; i++) {
		struct tree *tree = &trees->v[i];

		if (plan_tree_sorts_by(trees, tree, "cgroup"))
			code = plan_presets(trees->plan, tree->speaker, tree->asked, tree->owner,
					    &tree->counts);
	}
	return code ?: check_room(trees);
}

static int plan_cgroups(struct trees *trees)
{
	const struct conf *conf = trees->plan->conf;
	struct hierarchy *hierarchy = &trees->plan->finder.hierarchy;
	int code = EXIT_OK;

	if ((!conf->n_named && !conf->n_patterns) || !trees->n)
		return EXIT_OK;
	if (!trees->plan->finder.has_hierarchy)
		code = hierarchy_find(hierarchy);
	if (code != EXIT_OK)
		return code;
	trees->plan->finder.has_hierarchy = true;
	code = cgroup_walk(hierarchy, "/", visit, trees);
	if (code == EXIT_OK)
		say_missing(trees);
	return code;
}

/* Check whether the tree has groups of this kind. */
static bool is_in_use(const struct trees *trees, const struct tree *tree,
		      const struct ioband_group *group)
{
	size_t length = strcspn(group->name, "#:");
	char mode[IOBAND_WORD_SIZE];

	if (tree_is_device(group) || !tree_lasts(group))
		return false;
	if (!group->name[length])
		return !tree->owner;
	snprintf(mode, sizeof(mode), "%.*s", (int)length, group->name);
	return plan_tree_sorts_by(trees, tree, mode);
}

/* Revert settings that are not in the configuration any more. */
static int plan_rest(struct trees *trees, const struct tree *tree)
{
	const struct ioband_device *owner = tree->owner ? tree->owner->now : NULL;
	const struct conf_section *none[GROUP_SETTINGS] = { NULL };
	int code = EXIT_OK;

	for (size_t i = 0; i < tree->groups.n && code == EXIT_OK; i++) {
		const struct ioband_group *group = &tree->groups.v[i];

		if (!tree->seen[i] && is_in_use(trees, tree, group) &&
		    tree_owner(trees->plan->devices, &tree->groups, group) ==
		    owner)
			code = want(trees, tree, none, group->name, group->path ?: group->name);
	}
	return code;
}

static int plan_back(struct trees *trees)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < trees->n && code == EXIT_OK; i++) {
		if (trees->plan->past.n)
			code = plan_rest(trees, &trees->v[i]);
	}
	return code;
}

/*
 * Move late changes to the end, or to the start if there is no room.  The order
 * is otherwise stable.
 */
static void put_off(const struct trees *trees)
{
	const struct plan *plan = trees->plan;
	struct change *sorted __free = xcalloc(plan->n, sizeof(*sorted));
	size_t n = trees->begin;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = trees->begin; i < plan->n; i++) {
			if (plan->v[i].late == (trees->is_full == !pass))
				sorted[n++] = plan->v[i];
		}
	}
	for (size_t i = trees->begin; i < plan->n; i++)
		plan->v[i] = sorted[i];
}

/* Plan changes of weights and bounds of groups. */
int plan_groups(struct plan *plan)
{
	struct trees trees __cleanup(plan_trees_free);
	int code = plan_trees_find(plan, &trees);

	/* Presets come first: a cgroup that appears after the walk gets its settings from them. */
	code = code ?: plan_to_come(&trees) ?:
	       plan_others(&trees) ?:
	       plan_cgroups(&trees) ?:
	       plan_back(&trees);
	put_off(&trees);
	return code;
}
