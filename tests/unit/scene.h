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
	bool busy;		/* its load is backlogged */
	bool steady;		/* and has been since scene_mark() */
	u32 weight;
	struct ioband_node node;
	struct sim_leaf sim;
	struct sim_job job;
	bool has_job;
	u64 marked;		/* @sim.charged at scene_mark() */
	/* of the check: sums below the group */
	double served;
	double largest;
	bool backlogged;
};

struct scene {
	struct sim_clock clock;
	struct sim_pool pool;
	u32 limit;
	double slack;		/* tolerance of a share in largest bios; usually 1 */
	int nr;
	struct scene_group groups[SCENE_GROUPS_MAX];
};

void scene_init(struct scene *scene, const char *device, u32 limit, enum ioband_measure measure);
/* The same with another control than SIM_FIXED. */
void scene_init_auto(struct scene *scene, const char *device, enum sim_control control);
void scene_free(struct scene *scene);
struct scene_group *scene_add_node(struct scene *scene, int up, u32 weight);
struct scene_group *scene_add_leaf(struct scene *scene, int up, u32 weight);
/* A leaf with a load. */
struct scene_group *scene_add_loaded(struct scene *scene, int up, u32 weight,
				     const struct sim_workload *work);
int scene_index(const struct scene *scene, const struct scene_group *group);
struct ioband_ent *scene_ent(struct scene_group *group);
void scene_set_weight(struct scene *scene, struct scene_group *group, u32 weight);

/* Add a load that is always backlogged, of @bytes, or some of @large_bytes. */
void scene_backlog(struct scene *scene, struct scene_group *leaf, u32 bytes, u32 large_bytes);
void scene_load(struct scene *scene, struct scene_group *leaf, const struct sim_workload *work);
/* End the load; queued bios are still served. */
void scene_stop(struct scene *scene, struct scene_group *leaf);
bool scene_is_done(const struct scene_group *leaf);
/* Remove a stopped and done leaf from the tree. */
void scene_remove(struct scene *scene, struct scene_group *leaf);

/* Let time pass. */
void scene_run(struct scene *scene, u64 ns);
void scene_run_ios(struct scene *scene, u64 ios);

/* Start to count the service. */
void scene_mark(struct scene *scene);
/*
 * Assert that backlogged siblings at every level were served by weight since the mark,
 * within the slack.
 * Return: the largest error of a share that is large enough for per cent.
 */
double scene_check_shares(struct scene *scene);
/* The share of a leaf in all service since the mark; and the due share of a group. */
double scene_share(const struct scene *scene, const struct scene_group *leaf);
double scene_due(struct scene *scene, const struct scene_group *group);

#endif /* UNIT_SCENE_H */
