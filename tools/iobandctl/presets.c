// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the groups of cgroups are to begin with that are yet to come: all that the
 * configuration says of those that it names by path, and no more.  Which cgroups a
 * pattern fits is known only when they are there: they are for "watch".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "presets.h"

static const struct ioband_preset nothing = { .weight = 0 };

/**
 * struct sorted - presets by tree and path
 * @v: they
 * @n: how many
 */
struct sorted {
	const struct ioband_preset **v;
	size_t n;
};

/**
 * presets_tree() - say which tree is meant
 * @tree: the result
 * @pool: its pool
 * @owner: whose own tree it is; NULL for the pool's
 */
void presets_tree(struct preset_tree *tree, const char *pool,
		  const struct ioband_device *owner)
{
	*tree = (struct preset_tree){
		.pool = pool, .owner = owner ? owner->dm->name : NULL,
		.name = "root",
	};
	if (owner)
		snprintf(tree->name, sizeof(tree->name), "device:%u:%u",
			 owner->dm->major, owner->dm->minor);
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

static const struct ioband_preset *find(const struct sorted *sorted,
					const struct preset_tree *tree,
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

static bool is_same(const struct ioband_preset *a, const struct ioband_preset *b,
		    int setting)
{
	return setting == GROUP_WEIGHT ?
	       a->weight == b->weight :
	       bound_is(&a->bounds, &b->bounds, setting - GROUP_BOUNDS);
}

static void read_section(const struct conf_section *section, int setting,
			 struct ioband_preset *wanted)
{
	struct bounds bounds = conf_bounds(section);

	if (setting != GROUP_WEIGHT) {
		bound_copy(&wanted->bounds, &bounds, setting - GROUP_BOUNDS);
		return;
	}
	wanted->weight = strtoull(conf_text(section, KEY_WEIGHT), NULL, 10);
}

static int visit_path(const struct conf *conf, const struct preset_tree *tree,
		      const struct ioband_preset *now, const char *path,
		      preset_visit visit, void *data)
{
	struct conf_matches matches = { .n = 0 };
	int code = EXIT_OK;

	if (conf)
		conf_match(conf, path, &matches);
	for (int i = 0; i < GROUP_SETTINGS && code == EXIT_OK; i++) {
		enum conf_key key = conf_group_keys[i];
		const struct conf_section *section =
			conf_setting_in(&matches, key, tree->pool, tree->owner);
		struct ioband_preset wanted = nothing;
		const struct preset_change change = {
			.path = path, .setting = i, .now = now,
			.wanted = &wanted,
			.place = section ? &section->value[key].place : NULL,
		};

		if (section)
			read_section(section, i, &wanted);
		if (!is_same(now, &wanted, i))
			code = visit(&change, data);
	}
	conf_matches_free(&matches);
	return code;
}

/**
 * presets_differ() - find what the groups of paths in a tree do not begin with yet
 * @conf: what they are to begin with
 * @tree: the tree
 * @now: what they begin with, in all trees of the pool
 * @visit: called for each difference, until it returns another than EXIT_OK
 * @data: for @visit
 *
 * Return: what @visit returned last, or EXIT_OK.
 */
int presets_differ(const struct conf *conf, const struct preset_tree *tree,
		   const struct presets *now, preset_visit visit, void *data)
{
	struct sorted sorted;
	int code = EXIT_OK;

	sort(now, &sorted);
	for (size_t i = 0; i < now->n && code == EXIT_OK; i++) {
		if (!strcmp(now->v[i].tree, tree->name) &&
		    !conf_names(conf, now->v[i].path))
			code = visit_path(NULL, tree, &now->v[i],
					  now->v[i].path, visit, data);
	}
	for (size_t i = 0; i < conf->n_named && code == EXIT_OK;
	     i = conf_next_named(conf, i)) {
		const char *path = conf->named[i]->path;

		code = visit_path(conf, tree, find(&sorted, tree, path), path,
				  visit, data);
	}
	free(sorted.v);
	return code;
}
