// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of groups with loads on a modelled device, and what their shares must be.
 */
#include "scene.h"

#include <linux/time64.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* Error by fixed point: paces have 32 bits less the bits of the weight. */
#define ROUNDING	0.00001

void scene_init_auto(struct scene *scene, const char *device, enum sim_control control)
{
	memset(scene, 0, sizeof(*scene));
	clock_init(&scene->clock);
	pool_init(&scene->pool, &scene->clock, sim_spec_find(device), control,
		  IOBAND_MEASURE_BYTES);
	scene->slack = 1;
}

void scene_init(struct scene *scene, const char *device, u32 limit, enum ioband_measure measure)
{
	scene_init_auto(scene, device, SIM_FIXED);
	scene->pool.measure = measure;
	scene->limit = limit;
	ioband_core_set_limit(&scene->pool.core, limit, 0);
}

void scene_free(struct scene *scene)
{
	int i;

	pool_free(&scene->pool);
	for (i = 0; i < scene->nr; i++)
		if (scene->groups[i].has_job)
			job_free(&scene->groups[i].job);
	clock_free(&scene->clock);
}

static struct scene_group *add(struct scene *scene, int up, u32 weight, bool leaf)
{
	struct scene_group *group = &scene->groups[scene->nr];

	assert_in_range(scene->nr++, 0, SCENE_GROUPS_MAX - 1);
	memset(group, 0, sizeof(*group));
	group->up = up;
	group->used = true;
	group->leaf = leaf;
	group->weight = weight;
	return group;
}

static struct ioband_node *node_of(struct scene *scene, int index)
{
	return index == SCENE_ROOT ? &scene->pool.core.root : &scene->groups[index].node;
}

struct scene_group *scene_add_node(struct scene *scene, int up, u32 weight)
{
	struct scene_group *group = add(scene, up, weight, false);

	ioband_tree_init_node(&group->node, node_of(scene, up), weight);
	return group;
}

struct scene_group *scene_add_leaf(struct scene *scene, int up, u32 weight)
{
	struct scene_group *group = add(scene, up, weight, true);

	ioband_tree_init_leaf(&group->sim.leaf, node_of(scene, up), weight);
	return group;
}

struct scene_group *scene_add_loaded(struct scene *scene, int up, u32 weight,
				     const struct sim_workload *work)
{
	struct scene_group *leaf = scene_add_leaf(scene, up, weight);

	scene_load(scene, leaf, work);
	return leaf;
}

int scene_index(const struct scene *scene, const struct scene_group *group)
{
	return group - scene->groups;
}

struct ioband_ent *scene_ent(struct scene_group *group)
{
	return group->leaf ? &group->sim.leaf.ent : &group->node.ent;
}

void scene_set_weight(struct scene *scene, struct scene_group *group, u32 weight)
{
	group->weight = weight;
	ioband_tree_set_weight(&scene->pool.core, scene_ent(group), weight);
}

void scene_load(struct scene *scene, struct scene_group *leaf, const struct sim_workload *work)
{
	job_start(&leaf->job, &scene->pool, &leaf->sim, work, scene_index(scene, leaf) + 1);
	leaf->has_job = true;
}

/* Some bios are queued even if all bios in flight are the leaf's own, and complete at once. */
void scene_backlog(struct scene *scene, struct scene_group *leaf, u32 bytes, u32 large_bytes)
{
	const struct sim_workload work = {
		.depth = 2 * scene->limit + 2,
		.bytes = bytes,
		.large_bytes = large_bytes,
		.large_pct = large_bytes ? 20 : 0,
	};

	leaf->busy = true;
	scene_load(scene, leaf, &work);
}

void scene_stop(struct scene *scene, struct scene_group *leaf)
{
	leaf->job.stop_ns = scene->clock.now_ns;
	leaf->busy = false;
	leaf->steady = false;
}

bool scene_is_done(const struct scene_group *leaf)
{
	return !leaf->busy && !leaf->sim.head && !leaf->sim.leaf.inflight;
}

void scene_remove(struct scene *scene, struct scene_group *leaf)
{
	ioband_core_remove_leaf(&scene->pool.core, &leaf->sim.leaf);
	/* A stale pointer finds this pattern. */
	memset(&leaf->sim.leaf, 0xa5, sizeof(leaf->sim.leaf));
	leaf->used = false;
}

void scene_run(struct scene *scene, u64 ns)
{
	clock_run(&scene->clock, scene->clock.now_ns + ns);
}

void scene_run_ios(struct scene *scene, u64 ios)
{
	const u64 end = scene->pool.ios + ios;

	while (scene->pool.ios < end)
		scene_run(scene, NSEC_PER_MSEC);
}

void scene_mark(struct scene *scene)
{
	int i;

	for (i = 0; i < scene->nr; i++) {
		scene->groups[i].marked = scene->groups[i].sim.charged;
		scene->groups[i].steady = scene->groups[i].busy;
	}
}

/* The service below each group. */
static void add_up(struct scene *scene)
{
	const bool ios = scene->pool.measure == IOBAND_MEASURE_IOS;
	int i;

	for (i = 0; i < scene->nr; i++) {
		struct scene_group *group = &scene->groups[i];
		const struct sim_workload *work = &group->job.work;

		group->served = group->sim.charged - group->marked;
		group->largest = ios ? IOBAND_IO_CHARGE :
				 fmax(work->bytes, work->large_bytes);
		group->backlogged = group->steady;
	}
	for (i = scene->nr - 1; i >= 0; i--) {
		const struct scene_group *group = &scene->groups[i];
		struct scene_group *up = &scene->groups[group->up];

		if (group->up == SCENE_ROOT)
			continue;
		up->served += group->served;
		up->largest = fmax(up->largest, group->largest);
		up->backlogged |= group->backlogged;
	}
}

/* Start-time fair queueing's bound on two siblings (Goyal, Vin & Cheng). */
static void check_pair(const struct scene_group *a, const struct scene_group *b, double slack)
{
	const double error = fabs(a->served / a->weight - b->served / b->weight);
	const double bound = slack * (a->largest / a->weight + b->largest / b->weight) +
			     ROUNDING * (a->served / a->weight + b->served / b->weight);

	if (error > bound)
		fail_msg("weights %u and %u were served %.0f and %.0f", a->weight, b->weight,
			 a->served, b->served);
}

/* In per cent, of groups with enough service that one largest bio does not matter. */
static double share_error(const struct scene *scene, int up)
{
	double served = 0, weight = 0, largest = 0, worst = 0;
	int i, siblings = 0;

	for (i = 0; i < scene->nr; i++) {
		const struct scene_group *group = &scene->groups[i];

		if (group->up != up || !group->backlogged)
			continue;
		served += group->served;
		weight += group->weight;
		largest = fmax(largest, group->largest);
		siblings++;
	}
	for (i = 0; i < scene->nr; i++) {
		const struct scene_group *group = &scene->groups[i];
		const double due = served * group->weight / weight;

		if (group->up == up && group->backlogged && due >= 100 * largest &&
		    served >= 100 * largest * siblings)
			worst = fmax(worst, 100 * fabs(group->served / due - 1));
	}
	return worst;
}

double scene_check_shares(struct scene *scene)
{
	double worst;
	int i, j;

	add_up(scene);
	worst = share_error(scene, SCENE_ROOT);
	for (i = 0; i < scene->nr; i++) {
		if (!scene->groups[i].leaf)
			worst = fmax(worst, share_error(scene, i));
		for (j = 0; j < i; j++)
			if (scene->groups[i].up == scene->groups[j].up &&
			    scene->groups[i].backlogged && scene->groups[j].backlogged)
				check_pair(&scene->groups[i], &scene->groups[j],
					   scene->slack);
	}
	return worst;
}

double scene_share(const struct scene *scene, const struct scene_group *leaf)
{
	double sum = 0;
	int i;

	for (i = 0; i < scene->nr; i++)
		sum += scene->groups[i].sim.charged - scene->groups[i].marked;
	return (leaf->sim.charged - leaf->marked) / sum;
}

double scene_due(struct scene *scene, const struct scene_group *group)
{
	double due = 1;

	add_up(scene);
	for (;;) {
		double weight = 0;
		int i;

		for (i = 0; i < scene->nr; i++)
			if (scene->groups[i].up == group->up && scene->groups[i].backlogged)
				weight += scene->groups[i].weight;
		due *= group->weight / weight;
		if (group->up == SCENE_ROOT)
			return due;
		group = &scene->groups[group->up];
	}
}
