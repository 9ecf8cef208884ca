/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLAN_TREES_H
#define IOBANDCTL_PLAN_TREES_H

#include "config/plan.h"

/**
 * struct tree - the groups of a pool, or of the own tree of a device
 * @speaker: the device that receives messages about the tree
 * @asked: a present device of the pool, which lists its groups; NULL if there
 *	is none
 * @owner: the device with the tree as its own; NULL for the pool's tree
 * @groups: the present groups of the whole pool; empty for a future pool
 * @counts: the number of paths with presets
 * @seen: by group: its settings have been planned
 */
struct tree {
	const struct future *speaker;
	const struct future *asked;
	const struct future *owner;
	struct groups groups;
	struct preset_counts counts;
	bool *seen;
};

/**
 * struct trees - all trees of a plan
 * @plan: the plan
 * @v: the trees
 * @n: their number
 * @used: by section: a present cgroup matches it
 * @begin: the first change of a group
 * @is_full: new presets have no room until old presets are removed
 */
struct trees {
	struct plan *plan;
	struct tree *v;
	size_t n;
	bool *used;
	size_t begin;
	bool is_full;
};

int plan_trees_find(struct plan *plan, struct trees *trees);
void plan_trees_free(struct trees *trees);
const struct ioband_group *plan_trees_group(const struct trees *trees,
					    const struct tree *tree,
					    const char *name);
bool plan_tree_sorts_by(const struct trees *trees, const struct tree *tree,
			const char *mode);

#endif
