// SPDX-License-Identifier: GPL-2.0-only
/* The future trees of groups, and the devices that receive messages about them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/plan-trees.h"
#include "ioband/query.h"
#include "ioband/tree.h"

static bool sorts_by(const struct future *future, const char *mode)
{
	return !strcmp(future->table.mode, mode);
}

static bool is_there(const struct future *future)
{
	return future->now && !future->moved;
}

/* The best device of a pool for messages: it should exist, and for cgroups sort by cgroup. */
static const struct future *best_of(const struct plan *plan, const char *pool, bool speaks)
{
	const struct future *best = NULL;
	int most = -1;

	for (size_t i = 0; i < plan->n_future; i++) {
		const struct future *future = &plan->future[i];
		int score = is_there(future);

		if (strcmp(future->table.pool, pool))
			continue;
		score += speaks && sorts_by(future, "cgroup") ? 2 : 0;
		if (score > most) {
			most = score;
			best = future;
		}
	}
	return best;
}

static int add_tree(struct trees *trees, const struct future *speaker, const struct future *owner)
{
	const char *pool = speaker->table.pool;
	struct tree *tree;
	int code;

	tree = XPUSH(trees->v, trees->n);
	*tree = (struct tree){ .speaker = speaker, .owner = owner };
	tree->asked = best_of(trees->plan, pool, false);
	if (!is_there(tree->asked))
		tree->asked = NULL;
	code = tree->asked ? query_groups(tree->asked->now, &tree->groups) : EXIT_OK;
	tree->seen = xcalloc(tree->groups.n, sizeof(*tree->seen));
	return code;
}

/* Add the future tree of a pool.  Messages to a device with its own tree would reach that tree. */
static int add_pool(struct trees *trees, const struct future *future)
{
	const struct future *speaker = best_of(trees->plan, future->table.pool, true);

	for (size_t i = 0; i < trees->n; i++) {
		if (!trees->v[i].owner && trees->v[i].speaker == speaker)
			return EXIT_OK;
	}
	return add_tree(trees, speaker, NULL);
}

/*
 * Find all future trees, and their present groups.
 * @trees: the result, also to be freed after a failure
 */
int plan_trees_find(struct plan *plan, struct trees *trees)
{
	int code = EXIT_OK;

	*trees = (struct trees){
		.plan = plan, .used = xcalloc(plan->conf->n, sizeof(bool)),
		.begin = plan->n,
	};
	for (size_t i = 0; i < plan->n_future && code == EXIT_OK; i++) {
		const struct future *future = &plan->future[i];

		code = add_pool(trees, future);
		if (code == EXIT_OK && !strcmp(future->table.mode, "device+cgroup"))
			code = add_tree(trees, future, future);
	}
	return code;
}

void plan_trees_free(struct trees *trees)
{
	for (size_t i = 0; i < trees->n; i++) {
		groups_free(&trees->v[i].groups);
		free(trees->v[i].seen);
	}
	free(trees->v);
	free(trees->used);
}

/* Find a group.  Return: the present group, or NULL. */
const struct ioband_group *plan_trees_group(const struct trees *trees, const struct tree *tree,
					    const char *name)
{
	for (size_t i = 0; i < tree->groups.n; i++) {
		const struct ioband_group *group = &tree->groups.v[i];
		const struct ioband_device *owner;

		if (strcmp(group->name, name))
			continue;
		owner = tree_owner(trees->plan->devices, &tree->groups, group);
		if (owner == (tree->owner ? tree->owner->now : NULL))
			return group;
	}
	return NULL;
}

/*
 * Check whether a tree will have groups of a kind.
 * @mode: the mode of sorting that makes such groups
 */
bool plan_tree_sorts_by(const struct trees *trees, const struct tree *tree, const char *mode)
{
	const struct plan *plan = trees->plan;

	if (tree->owner)
		return !strcmp(mode, "cgroup");
	for (size_t i = 0; i < plan->n_future; i++) {
		if (!strcmp(plan->future[i].table.pool, tree->speaker->table.pool) &&
		    sorts_by(&plan->future[i], mode))
			return true;
	}
	return false;
}
