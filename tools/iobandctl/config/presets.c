// SPDX-License-Identifier: GPL-2.0-only
/*
 * Presets: the settings of groups of future cgroups.  They contain all settings of cgroups that the
 * configuration names by path.  Patterns have none: the cgroups that match a pattern are known only
 * when they exist, so "watch" sets them.
 *
 * Each setting is a message of its own, and a cgroup may be created between two messages.  It keeps
 * the settings with which it was created.  Therefore no intermediate state may give it more than
 * the state before and the state after.  Settings that take resources precede settings that give
 * resources.  A maximum bounds the effect of all other settings.  A maximum that narrows therefore
 * precedes all other settings.  A maximum that only widens is "late", after all other settings.
 * The removal of presets from a path that is not named any more is also late: if an earlier change
 * fails, new cgroups get the same settings as before.  (A maximum with one rate that narrows and
 * another that widens is one message, and comes first.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/presets.h"
#include "ioband/query.h"

static const struct ioband_preset nothing = { .weight = 0 };

/* Presets, sorted by tree and path. */
struct sorted {
	const struct ioband_preset **v;
	size_t n;
};

/*
 * Describe a tree.
 * @owner: the device with the tree as its own; NULL for the pool's tree
 */
void presets_tree(struct preset_tree *tree, const char *pool, const struct ioband_device *owner)
{
	*tree = (struct preset_tree){
		.pool = pool, .owner = owner ? owner->dm->name : NULL,
		.name = "root",
	};
	if (owner)
		snprintf(tree->name, sizeof(tree->name), "device:%u:%u",
			 owner->dm->major, owner->dm->minor);
}

/* The preset of a path in a tree, or NULL. */
const struct ioband_preset *presets_find(const struct presets *presets,
					 const struct preset_tree *tree, const char *path)
{
	for (size_t i = 0; i < presets->n; i++) {
		if (!strcmp(presets->v[i].tree, tree->name) && !strcmp(presets->v[i].path, path))
			return &presets->v[i];
	}
	return NULL;
}

enum { OLDER, UNMOUNTED, PARTIAL };

static const char *const obstacles[] = {
	[OLDER] = "the module that is loaded is older than this iobandctl",
	[UNMOUNTED] = "no cgroup hierarchy is mounted",
	[PARTIAL] =
	"the cgroups that are mounted are a part of all, as in a cgroup namespace, and their paths are not the module's; run it outside",
};

/*
 * The reason for which presets are impossible.
 * @hierarchy: the mounted hierarchy of cgroups; NULL if there is none
 * Return: the reason, for messages to the user; NULL if presets are possible.
 */
const char *presets_obstacle(const struct hierarchy *hierarchy)
{
	if (!query_has_presets())
		return obstacles[OLDER];
	if (!hierarchy)
		return obstacles[UNMOUNTED];
	return hierarchy_is_whole(hierarchy) ? NULL : obstacles[PARTIAL];
}

/*
 * Report that new cgroups start without their settings.
 * @conf: the configuration; if it names no cgroup by path, nothing is reported
 * @obstacle: as from presets_obstacle()
 */
void presets_say_obstacle(const struct conf *conf, const char *obstacle)
{
	if (conf->n_named)
		note("note: %s: %s",
		     "what the configuration says of a path is not there with a cgroup's first I/O, but is set when the cgroup is seen",
		     obstacle);
}

static int by_tree_and_path(const void *left, const void *right)
{
	const struct ioband_preset *a = *(struct ioband_preset *const *)left;
	const struct ioband_preset *b = *(struct ioband_preset *const *)right;
	int order = strcmp(a->tree, b->tree);

	return order ? order : strcmp(a->path, b->path);
}

static void sort(const struct presets *presets, struct sorted *sorted)
{
	sorted->n = presets->n;
	sorted->v = xcalloc(sorted->n, sizeof(*sorted->v));
	for (size_t i = 0; i < sorted->n; i++)
		sorted->v[i] = &presets->v[i];
	qsort(sorted->v, sorted->n, sizeof(*sorted->v), by_tree_and_path);
}

static const struct ioband_preset *find(const struct sorted *sorted, const struct preset_tree *tree,
					const char *path)
{
	struct ioband_preset key = { .path = (char *)path };
	const struct ioband_preset *wanted = &key, **found;

	strcpy(key.tree, tree->name);
	found = sorted->n ? bsearch(&wanted, sorted->v, sorted->n,
				    sizeof(*sorted->v), by_tree_and_path) :
			    NULL;
	return found ? *found : &nothing;
}

bool presets_are_same(const struct ioband_preset *a, const struct ioband_preset *b, int setting)
{
	return setting == GROUP_WEIGHT ?
	       a->weight == b->weight :
	       bound_is(&a->bounds, &b->bounds, setting - GROUP_BOUNDS);
}

/* 0 means no bound. */
static bool is_tighter(uint64_t wanted, uint64_t now)
{
	return wanted && (!now || wanted < now);
}

/* The weight beside others; idle has less than any. */
static uint64_t strength(const struct ioband_preset *preset)
{
	return preset->weight ? weight_number(preset->weight) : IOBAND_WEIGHT_DEFAULT;
}

/* The phase in which a setting changes. */
int presets_phase(const struct ioband_preset *now, const struct ioband_preset *wanted, int setting)
{
	const struct bounds *was = &now->bounds, *is = &wanted->bounds;
	bool narrows = false, gives = false;

	if (setting == GROUP_WEIGHT)
		return strength(wanted) > strength(now) ? PRESET_GIVES : PRESET_TAKES;
	if (setting >= GROUP_BOUNDS + LATENCY)
		return is_tighter(is->latency_us[setting - GROUP_BOUNDS - LATENCY],
				  was->latency_us[setting - GROUP_BOUNDS - LATENCY]) ?
		       PRESET_GIVES : PRESET_TAKES;
	for (int rate = 0; rate < RATES; rate++) {
		narrows |= is_tighter(is->of[MAXIMUM].rate[rate], was->of[MAXIMUM].rate[rate]);
		gives |= is->of[MINIMUM].rate[rate] > was->of[MINIMUM].rate[rate];
	}
	if (setting == GROUP_BOUNDS + MAXIMUM)
		return narrows ? PRESET_NARROWS : PRESET_WIDENS;
	return gives ? PRESET_GIVES : PRESET_TAKES;
}

/* The configuration of a path in a tree. */
struct wish {
	struct ioband_preset wanted;	/* the settings for its group */
	/* Place of each setting in the configuration; NULL without one. */
	const struct conf_place *place[GROUP_SETTINGS];
};

/*
 * Read the settings in sections.
 * @sections: by setting; if one is NULL or lacks the key, the setting remains unchanged
 */
void presets_read(const struct conf_section *const sections[GROUP_SETTINGS],
		  struct ioband_preset *wanted)
{
	for (int i = 0; i < GROUP_SETTINGS; i++) {
		enum conf_key key = conf_group_keys[i];
		struct bounds bounds;

		if (!sections[i] || !conf_text(sections[i], key))
			continue;
		bounds = conf_bounds(sections[i]);
		if (i == GROUP_WEIGHT)
			wanted->weight = weight_of(conf_text(sections[i], key));
		else
			bound_copy(&wanted->bounds, &bounds, i - GROUP_BOUNDS);
	}
}

static void read_wish(const struct conf *conf, const struct preset_tree *tree,
		      const char *path, struct wish *wish)
{
	const struct conf_section *sections[GROUP_SETTINGS];
	struct conf_matches matches __cleanup(conf_matches_free);

	*wish = (struct wish){ .place = { NULL } };
	conf_match(conf, path, &matches);
	for (int i = 0; i < GROUP_SETTINGS; i++) {
		enum conf_key key = conf_group_keys[i];

		sections[i] = conf_setting_in(&matches, key, tree->pool, tree->owner);
		if (sections[i])
			wish->place[i] = &sections[i]->value[key].place;
	}
	presets_read(sections, &wish->wanted);
}

/*
 * Check whether a configuration has the present preset of a path.  Return: true if it names
 * the path with this value.
 */
bool presets_ask_for(const struct conf *conf, const struct preset_tree *tree, const char *path,
		     const struct ioband_preset *preset, int setting)
{
	struct wish wish;

	if (!conf_names(conf, path))
		return false;
	read_wish(conf, tree, path, &wish);
	return wish.place[setting] && presets_are_same(&wish.wanted, preset, setting);
}

/* The data of a comparison of presets. */
struct look {
	preset_visit visit;	/* called for each difference */
	void *data;	/* argument of @visit */
	struct preset_counts *counts;	/* the number of paths with presets */
};

static bool says_something(const struct ioband_preset *preset)
{
	return preset->weight || bounds_are_set(&preset->bounds);
}

static int visit_path(const struct look *look, const char *path, const struct ioband_preset *now,
		      const struct wish *wish, bool is_named)
{
	int code = EXIT_OK;

	look->counts->added += !says_something(now) && says_something(&wish->wanted);
	look->counts->dropped += says_something(now) && !says_something(&wish->wanted);
	for (int n = 0; n < PRESET_STEPS && code == EXIT_OK; n++) {
		int phase = n / GROUP_SETTINGS, setting = n % GROUP_SETTINGS;
		const struct preset_change change = {
			.path = path, .setting = setting, .now = now,
			.wanted = &wish->wanted, .place = wish->place[setting],
			.late = phase == PRESET_WIDENS || !is_named,
		};

		if (!presets_are_same(now, &wish->wanted, setting) &&
		    presets_phase(now, &wish->wanted, setting) == phase)
			code = look->visit(&change, look->data);
	}
	return code;
}

/*
 * Compare the presets of a tree with the configuration.
 * @now: the present presets, in all trees of the pool
 * @visit: called for each difference, until it returns another code than EXIT_OK
 * @counts: the number of paths with presets, and its changes
 * Return: the last result of @visit, or EXIT_OK.
 */
int presets_differ(const struct conf *conf, const struct preset_tree *tree,
		   const struct presets *now, preset_visit visit, void *data,
		   struct preset_counts *counts)
{
	const struct look look = { .visit = visit, .data = data, .counts = counts };
	const struct wish none = { .place = { NULL } };
	struct sorted sorted;
	struct wish wish;
	int code = EXIT_OK;

	*counts = (struct preset_counts){ .now = now->n };
	sort(now, &sorted);
	for (size_t i = 0; i < now->n && code == EXIT_OK; i++) {
		if (!strcmp(now->v[i].tree, tree->name) && !conf_names(conf, now->v[i].path))
			code = visit_path(&look, now->v[i].path, &now->v[i], &none, false);
	}
	for (size_t i = 0; i < conf->n_named && code == EXIT_OK; i = conf_next_named(conf, i)) {
		const char *path = conf->named[i]->path;

		read_wish(conf, tree, path, &wish);
		code = visit_path(&look, path, find(&sorted, tree, path), &wish, true);
	}
	free(sorted.v);
	return code;
}
