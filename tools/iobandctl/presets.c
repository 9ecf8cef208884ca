// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the groups of cgroups are to begin with that are yet to come: all that the
 * configuration says of those that it names by path, and no more.  Which cgroups a
 * pattern fits is known only when they are there: they are for "watch".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "device.h"
#include "presets.h"

#define NESTING_MAX 128
#define NAME_LENGTH_MAX 255

static const struct ioband_preset nothing = { .weight = 0 };

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

/* No cgroup can have another path, or no group; the kernel refuses it. */
static bool may_come(const char *path)
{
	size_t levels = 0;

	if (strlen(path) >= CGROUP_PATH_SIZE || !path[1] || strchr(path, '\n'))
		return false;
	while (*path == '/') {
		size_t length = strcspn(++path, "/");

		if (!length || length > NAME_LENGTH_MAX ||
		    (length <= 2 && !strncmp(path, "..", length)))
			return false;
		path += length;
		levels++;
	}
	return levels <= NESTING_MAX;
}

static void find_named(const struct conf *conf, struct names *paths)
{
	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];
		char *path;

		if (section->kind != CONF_GROUP || !conf_is_cgroup(section))
			continue;
		path = conf_literal(conf_group(section));
		if (path && may_come(path))
			names_add(paths, path);
		free(path);
	}
}

static const struct ioband_preset *find_now(const struct presets *now,
					    const struct preset_tree *tree,
					    const char *path)
{
	for (size_t i = 0; i < now->n; i++) {
		if (!strcmp(now->v[i].tree, tree->name) &&
		    !strcmp(now->v[i].path, path))
			return &now->v[i];
	}
	return &nothing;
}

static bool is_same(const struct ioband_preset *a, const struct ioband_preset *b,
		    int setting)
{
	return setting == GROUP_WEIGHT ?
	       a->weight == b->weight :
	       bound_is(&a->bounds, &b->bounds, setting - GROUP_BOUNDS);
}

/* The weight 100 is the default. */
static void read_section(const struct conf_section *section, int setting,
			 struct ioband_preset *wanted)
{
	struct bounds bounds = conf_bounds(section);

	if (setting != GROUP_WEIGHT) {
		bound_copy(&wanted->bounds, &bounds, setting - GROUP_BOUNDS);
		return;
	}
	wanted->weight = strtoull(conf_text(section, KEY_WEIGHT), NULL, 10);
	if (wanted->weight == IOBAND_WEIGHT_DEFAULT)
		wanted->weight = 0;
}

static int visit_path(const struct conf *conf, const struct preset_tree *tree,
		      const struct ioband_preset *now, const char *path,
		      preset_visit visit, void *data)
{
	int code = EXIT_OK;

	for (int i = 0; i < GROUP_SETTINGS && code == EXIT_OK; i++) {
		enum conf_key key = conf_group_keys[i];
		const struct conf_section *section =
			conf ? conf_setting_of(conf, key, path, tree->pool,
					       tree->owner) : NULL;
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
	struct names named = { .n = 0 };
	int code = EXIT_OK;

	find_named(conf, &named);
	for (size_t i = 0; i < now->n && code == EXIT_OK; i++) {
		if (!strcmp(now->v[i].tree, tree->name) &&
		    !names_has(&named, now->v[i].path))
			code = visit_path(NULL, tree, &now->v[i],
					  now->v[i].path, visit, data);
	}
	for (size_t i = 0; i < named.n && code == EXIT_OK; i++)
		code = visit_path(conf, tree,
				  find_now(now, tree, named.v[i]), named.v[i],
				  visit, data);
	names_free(&named);
	return code;
}
