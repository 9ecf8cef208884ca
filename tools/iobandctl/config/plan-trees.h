/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLAN_TREES_H
#define IOBANDCTL_PLAN_TREES_H

#include "config/plan.h"

/**
 * struct tree - the groups of a pool, or those in the own tree of a device
 * @speaker: the device that messages go to
 * @asked: a device of the pool that lists its groups; NULL if it is to be made
 * @owner: whose own tree it is; NULL for the pool's
 * @groups: of the whole pool, as they are; none if it is to be made
 * @counts: of paths that have something
 * @seen: by group: all that it is to have was looked at
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
 * struct trees - all of them
 * @plan: the plan
 * @v: they
 * @n: how many
 * @used: by section: it is about a cgroup that is there
 * @begin: the first change of a group
 * @is_full: there is no room for what is new before what is old has gone
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
