/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tree of groups with loads on a modelled device, and what their shares must be.
 */
#ifndef UNIT_SCENE_H
#define UNIT_SCENE_H

#include "job.h"

#define SCENE_GROUPS_MAX	64
#define SCENE_ROOT		-1

/* A node or a leaf; a parent comes before its children. */
struct scene_group {
	int up;			/* index, or SCENE_ROOT */
	bool used;
	bool leaf;
	bool busy;		/* its load always has bios waiting */
	bool steady;		/* and had, ever since scene_mark() */
	u32 weight;
	struct ioband_node node;
	struct sim_leaf sim;
	struct sim_job job;
	bool has_job;
	u64 marked;		/* @sim.charged at scene_mark() */
	/* of the check: the same for all below */
	double served;
	double largest;
	bool backlogged;
};

struct scene {
	struct sim_clock clock;
	struct sim_pool pool;
	u32 limit;
	double slack;		/* how many largest bios a share may be wrong by; usually 1 */
	int nr;
	struct scene_group groups[SCENE_GROUPS_MAX];
};

void scene_init(struct scene *scene, const char *device, u32 limit, enum ioband_measure measure);
void scene_free(struct scene *scene);
struct scene_group *scene_add_node(struct scene *scene, int up, u32 weight);
struct scene_group *scene_add_leaf(struct scene *scene, int up, u32 weight);
/* With a load. */
struct scene_group *scene_add_loaded(struct scene *scene, int up, u32 weight,
				     const struct sim_workload *work);
int scene_index(const struct scene *scene, const struct scene_group *group);
struct ioband_ent *scene_ent(struct scene_group *group);
void scene_set_weight(struct scene_group *group, u32 weight);

/* A load that always has bios waiting, of @bytes, or some of @large_bytes. */
void scene_backlog(struct scene *scene, struct scene_group *leaf, u32 bytes, u32 large_bytes);
void scene_load(struct scene *scene, struct scene_group *leaf, const struct sim_workload *work);
/* No more bios; those that wait still go. */
void scene_stop(struct scene *scene, struct scene_group *leaf);
bool scene_is_done(const struct scene_group *leaf);
/* Stopped and done: take it out of the tree. */
void scene_remove(struct scene *scene, struct scene_group *leaf);

/* Let time pass. */
void scene_run(struct scene *scene, u64 ns);
void scene_run_ios(struct scene *scene, u64 ios);

/* Count what is served from now on. */
void scene_mark(struct scene *scene);
/*
 * Assert that backlogged siblings, at every level, were served by their weights
 * since the mark, up to the slack; and returns the largest error of
 * a share that is large enough to be judged in per cent.
 */
double scene_check_shares(struct scene *scene);
/* Of all that was served since the mark, what a leaf got; and what is a group's due. */
double scene_share(const struct scene *scene, const struct scene_group *leaf);
double scene_due(struct scene *scene, const struct scene_group *group);

#endif /* UNIT_SCENE_H */
