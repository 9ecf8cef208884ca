// SPDX-License-Identifier: GPL-2.0-only
/* Figures of a group and of its rivals, from an observation of their pool.  Pure. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/activity.h"
#include "observe/explanation.h"

static void measure_levels(const struct activity *activity, const struct ioband_group *group,
			   struct explanation *explanation)
{
	const struct groups *groups = activity->groups;
	size_t n = 0;

	for (const struct ioband_group *up = group; up; up = tree_parent(groups, up))
		n++;
	explanation->level = xcalloc(n, sizeof(*explanation->level));
	explanation->levels = n;
	explanation->entitled_pct = activity_part_pct(activity, group);
	for (; n; group = tree_parent(groups, group)) {
		struct explain_level *level = &explanation->level[--n];

		level->group = group;
		level->competing = activity_competing(activity, group, &level->rivals);
		level->yields = activity_yields(activity, group);
		explanation->rivals += level->rivals;
	}
}

/* Shares of the pool: the group with all groups below it, and each other group. */
static void measure_shares(const struct observation *pool, const struct ioband_group *group,
			   struct explanation *explanation)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;

	explanation->other = xcalloc(stats->n, sizeof(*explanation->other));
	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer = groups_find(groups, stats->v[i].seq);
		struct op_stats total = stats_total(&stats->v[i]);
		double share_pct = stats_share(stats, &stats->v[i], pool->speaker->table.measure);

		if (!doer || !total.ios)
			continue;
		if (tree_is_below(groups, doer, group)) {
			explanation->share_pct += share_pct;
			op_stats_add(&explanation->done, &total);
		} else {
			explanation->other[explanation->others++] = (struct explain_other){
					.group = doer, .share_pct = share_pct,
				};
		}
	}
	if (explanation->others)
		qsort(explanation->other, explanation->others,
		      sizeof(*explanation->other), explain_by_share);
}

/* Return: the number of I/Os that the group and those below it have in flight. */
static uint64_t measure_look(const struct groups *groups, const struct stats *look,
			     const struct ioband_group *group, struct explanation *explanation)
{
	uint64_t inflight = 0;
	bool held = false, below = false;

	for (size_t i = 0; i < look->n; i++) {
		const struct ioband_group *doer = groups_find(groups, look->v[i].seq);

		if (!doer || !tree_is_below(groups, doer, group))
			continue;
		held |= look->v[i].held[IOS];
		below |= look->v[i].below;
		inflight += look->v[i].inflight;
	}
	explanation->looks++;
	explanation->held_looks += held;
	explanation->busy_looks += inflight > 0;
	explanation->below_looks += below;
	return inflight;
}

/*
 * Samples alone say too little of a device: on a machine with one processor no
 * task submits while a sample is taken.  The service time of all I/Os, divided
 * by the elapsed time, is the mean number in flight (Little).  Divided by the
 * mean number in flight while there are any, it is the busy part of the time.
 */
static void measure_looks(const struct observation *pool, const struct ioband_group *group,
			  struct explanation *it)
{
	uint64_t inflight = 0;
	double busy, seen;

	for (size_t i = 0; i < pool->n; i++)
		inflight += measure_look(&pool->delta.groups, &pool->look[i], group, it);
	if (pool->delta.ns)
		it->inflight_avg = it->done.service_ns / (double)pool->delta.ns;
	if (!inflight)
		return;
	busy = it->inflight_avg * it->busy_looks / inflight;
	seen = it->busy_looks / (double)it->looks;
	it->busy_pct = 100 * (busy > 1 ? 1 : busy > seen ? busy : seen);
}

/*
 * Compute the figures of a group and of its rivals.
 * @group: a group of the pool, in @pool->delta
 * @explanation: the result, for explain_free()
 */
void explain_measure(const struct observation *pool, const struct ioband_group *group,
		     struct explanation *explanation)
{
	const struct groups *groups = &pool->delta.groups;
	struct activity activity __cleanup(activity_free);

	*explanation = (struct explanation){
		.seconds = pool->delta.ns / (double)NS_PER_S,
		.by_time = !strcmp(pool->speaker->table.measure, "time"),
	};
	activity_begin(groups, &activity);
	activity_add(&activity, &pool->delta.stats);
	for (size_t i = 0; i < pool->n; i++)
		activity_add_now(&activity, &pool->look[i]);
	activity_end(&activity);
	if (tree_is_sound(groups, group))
		measure_levels(&activity, group, explanation);
	measure_shares(pool, group, explanation);
	measure_looks(pool, group, explanation);
	explain_measure_bounds(pool, &activity, group, explanation);
	explain_measure_latency(pool, group, explanation);
}

void explain_free(struct explanation *explanation)
{
	free(explanation->level);
	for (int bound = 0; bound < RATE_BOUNDS; bound++)
		free(explanation->bound[bound].v);
	free(explanation->other);
	free(explanation->promised);
	free(explanation->target);
}
