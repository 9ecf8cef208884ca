// SPDX-License-Identifier: GPL-2.0-only
/*
 * Competing groups of a pool, and their shares by weight.  Pure.
 *
 * At each level of the tree, a group competes with two kinds of entities.  The first are siblings
 * with I/O of their own or below them.  The second is the I/O of the parent itself, which has
 * weight 100.  Idle siblings get what all others leave.  Without others, they are equals.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/activity.h"
#include "observe/sample.h"

/* Begin to collect active groups. */
void activity_begin(const struct groups *groups, struct activity *activity)
{
	*activity = (struct activity){
		.groups = groups,
		.own = xcalloc(groups->n + 1, sizeof(*activity->own)),
		.any = xcalloc(groups->n + 1, sizeof(*activity->any)),
		.weights = xcalloc(groups->n + 1, sizeof(*activity->weights)),
		.idle = xcalloc(groups->n + 1, sizeof(*activity->idle)),
		.rivals = xcalloc(groups->n + 1, sizeof(*activity->rivals)),
	};
}

static void mark(struct activity *activity, uint64_t seq)
{
	const struct groups *groups = activity->groups;
	const struct ioband_group *group = groups_find(groups, seq);

	if (!group || !tree_is_sound(groups, group))
		return;
	activity->own[group - groups->v] = true;
	for (; group; group = tree_parent(groups, group))
		activity->any[group - groups->v] = true;
}

/* Add the groups with I/O queued or in flight. */
void activity_add_now(struct activity *activity, const struct stats *stats)
{
	for (size_t i = 0; i < stats->n; i++) {
		if (stats->v[i].held[IOS] || stats->v[i].inflight)
			mark(activity, stats->v[i].seq);
	}
}

/*
 * Add the groups that did I/O.
 * @stats: I/O done in an interval, and I/O queued and in flight at its end
 */
void activity_add(struct activity *activity, const struct stats *stats)
{
	activity_add_now(activity, stats);
	for (size_t i = 0; i < stats->n; i++) {
		if (stats_total(&stats->v[i]).ios)
			mark(activity, stats->v[i].seq);
	}
}

static size_t place_of_parent(const struct activity *activity, const struct ioband_group *group)
{
	const struct groups *groups = activity->groups;
	const struct ioband_group *parent = tree_parent(groups, group);

	return parent ? (size_t)(parent - groups->v) : groups->n;
}

/* Compute the weights after the last group was added. */
void activity_end(struct activity *activity)
{
	const struct groups *groups = activity->groups;

	for (size_t i = 0; i < groups->n; i++) {
		size_t above = place_of_parent(activity, &groups->v[i]);

		if (activity->own[i]) {
			activity->weights[i] += IOBAND_WEIGHT_DEFAULT;
			activity->rivals[i]++;
		}
		if (activity->any[i]) {
			activity->weights[above] += weight_number(groups->v[i].weight);
			activity->idle[above] += groups->v[i].weight == IOBAND_WEIGHT_IDLE;
			activity->rivals[above]++;
		}
	}
}

void activity_free(struct activity *activity)
{
	free(activity->own);
	free(activity->any);
	free(activity->weights);
	free(activity->idle);
	free(activity->rivals);
}

/*
 * Sum of the competing weights at a group's level.
 * @group: a sound group; it counts even without I/O
 * @rivals: number of competitors besides @group; may be NULL
 * Return: the sum of the weights; if all are idle, their number.
 */
uint64_t activity_competing(const struct activity *activity,
			    const struct ioband_group *group, size_t *rivals)
{
	size_t above = place_of_parent(activity, group);
	bool counted = activity->any[group - activity->groups->v];

	if (rivals)
		*rivals = activity->rivals[above] - counted;
	if (group->weight == IOBAND_WEIGHT_IDLE && !activity->weights[above])
		return activity->idle[above] + !counted;
	return activity->weights[above] + (counted ? 0 : weight_number(group->weight));
}

/*
 * Check whether a group is idle beside others that are not.
 * @group: a sound group
 * Return: true if so: it gets what the others leave.
 */
bool activity_yields(const struct activity *activity, const struct ioband_group *group)
{
	return group->weight == IOBAND_WEIGHT_IDLE &&
	       activity->weights[place_of_parent(activity, group)];
}

/* The share by weight of a group and the groups below it among its rivals. */
static double part_of(const struct activity *activity, const struct ioband_group *group)
{
	uint64_t weight = group->weight == IOBAND_WEIGHT_IDLE ?
			  !activity_yields(activity, group) : group->weight;

	return weight / (double)activity_competing(activity, group, NULL);
}

/* Share by weight of a group and the groups below it.  Return: percent of the pool. */
double activity_part_pct(const struct activity *activity, const struct ioband_group *group)
{
	double pct = 100;

	if (!tree_is_sound(activity->groups, group))
		return 0;
	for (; group; group = tree_parent(activity->groups, group))
		pct *= part_of(activity, group);
	return pct;
}

/* Share by weight of a group without the groups below it.  Return: percent of the pool. */
double activity_own_pct(const struct activity *activity, const struct ioband_group *group)
{
	size_t place = group - activity->groups->v;
	uint64_t weights = activity->weights[place];

	if (!activity->own[place])
		weights += IOBAND_WEIGHT_DEFAULT;
	return activity_part_pct(activity, group) * IOBAND_WEIGHT_DEFAULT /
	       weights;
}
