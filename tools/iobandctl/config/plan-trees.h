/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLAN_TREES_H
#define IOBANDCTL_PLAN_TREES_H

#include "config/plan.h"

/* The groups of a pool, or of the own tree of a device. */
struct tree {
	const struct future *speaker;	/* the device that receives messages about the tree */
	/* A present device of the pool, which lists its groups; NULL if there is none. */
	const struct future *asked;
	/* The device with the tree as its own; NULL for the pool's tree. */
	const struct future *owner;
	/* The present groups of the whole pool; empty for a future pool. */
	struct groups groups;
	struct preset_counts counts;	/* the number of paths with presets */
	bool *seen;	/* by group: its settings have been planned */
};

/* All trees of a plan. */
struct trees {
	struct plan *plan;
	struct tree *v;
	size_t n;
	bool *used;	/* by section: a present cgroup matches it */
	size_t begin;
	bool is_full;	/* new presets have no room until old presets are removed */
};

int plan_trees_find(struct plan *plan, struct trees *trees);
void plan_trees_free(struct trees *trees);
const struct ioband_group *plan_trees_group(const struct trees *trees, const struct tree *tree,
					    const char *name);
bool plan_tree_sorts_by(const struct trees *trees, const struct tree *tree, const char *mode);

#endif
