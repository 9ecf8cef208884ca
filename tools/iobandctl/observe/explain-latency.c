// SPDX-License-Identifier: GPL-2.0-only
/* Latency targets: whether reads are late, and which groups are throttled for them.  Pure. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/explanation.h"

/* A share over a second or two comes this near to the weight. */
#define SHARE_TOLERANCE 0.95

/* The target of the root is the pool's. */
static bool is_aimed(const struct groups *groups, const struct ioband_group *group,
		     const struct ioband_group *top)
{
	return !top->parent || tree_is_below(groups, group, top);
}

/*
 * Delay by a maximum, or by the class idle, is not lateness.  So reads of a group
 * with a maximum of reads do not count for the targets above that group.  A maximum of the root
 * covers only the root's own reads.
 */
static bool is_counted(const struct groups *groups, const struct ioband_group *doer,
		       const struct ioband_group *top)
{
	if (!is_aimed(groups, doer, top))
		return false;
	if (doer == top)
		return top->parent || !explain_bounds_reads(top);
	if (!tree_is_sound(groups, doer))
		return true;
	for (; doer && doer != top; doer = tree_parent(groups, doer)) {
		if (explain_bounds_reads(doer) || doer->weight == IOBAND_WEIGHT_IDLE)
			return false;
	}
	return true;
}

static struct op_stats ios_of(const struct observation *pool,
			      const struct ioband_group *top, int op)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;
	struct op_stats sum = { .ios = 0 };

	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer = groups_find(groups, stats->v[i].seq);

		if (doer && is_counted(groups, doer, top))
			op_stats_add(&sum, &stats->v[i].op[op]);
	}
	return sum;
}

/* Whether a maximum or the class idle has delayed the reads, there or above. */
static bool is_capped(const struct observation *pool,
		      const struct ioband_group *top, double seconds)
{
	const struct groups *groups = &pool->delta.groups;

	if (!top->parent || !tree_is_sound(groups, top))
		return false;
	for (; top; top = tree_parent(groups, top)) {
		if (top->weight == IOBAND_WEIGHT_IDLE || explain_caps_reads(pool, top, seconds))
			return true;
	}
	return false;
}

static void measure_target(const struct observation *pool, const struct ioband_group *group,
			   const struct ioband_group *top, enum bound bound,
			   double seconds, struct explain_target *target)
{
	struct op_stats reads = ios_of(pool, top, bound == LATENCY ? READ : WRITE);
	uint64_t due_ns = top->bounds.latency_us[bound - LATENCY] * 1000;

	*target = (struct explain_target){
		.group = top,
		.bound = bound,
		.reads = reads.ios,
		.own = is_aimed(&pool->delta.groups, group, top),
		.of_pool = bound == LATENCY && !top->parent,
		.capped = is_capped(pool, top, seconds),
	};
	if (reads.ios)
		target->avg_ns = (reads.wait_ns + reads.service_ns) / reads.ios;
	if (target->capped)
		return;
	target->late = target->avg_ns > due_ns;
	target->used_pct = 100.0 * target->avg_ns / due_ns;
}

static int by_lateness(const void *left, const void *right)
{
	const struct explain_target *a = left, *b = right;

	return (a->used_pct < b->used_pct) - (a->used_pct > b->used_pct);
}

/* Whether a group, or a group below it, wrote; the target of the pool throttles writes. */
static bool has_written(const struct observation *pool, const struct ioband_group *top)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;

	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer = groups_find(groups, stats->v[i].seq);

		if (doer && tree_is_below(groups, doer, top) &&
		    (stats->v[i].op[WRITE].ios || stats->v[i].op[DISCARD].ios))
			return true;
	}
	return false;
}

/*
 * Whether a group has more service by weight than another one, at the level at which they compete.
 * Device time is not measured by group.  An ancestor of the other group is compared with itself and
 * counts as ahead, as a part of it may be.
 */
static bool is_ahead(const struct observation *pool, const struct ioband_group *group,
		     const struct ioband_group *other)
{
	const struct groups *groups = &pool->delta.groups;
	const struct ioband_group *up;

	if (!strcmp(pool->speaker->table.measure, "time") ||
	    !tree_is_sound(groups, group) || !tree_is_sound(groups, other))
		return true;
	for (; (up = tree_parent(groups, group)); group = up) {
		if (tree_is_below(groups, other, up))
			break;
	}
	while (tree_parent(groups, other) != up)
		other = tree_parent(groups, other);
	return explain_share(pool, group) * weight_number(other->weight) >=
	       explain_share(pool, other) * weight_number(group->weight) *
	       SHARE_TOLERANCE;
}

/*
 * The throttle serves one target, the least met; it also limits groups that
 * have another target.  In the end the target is met about as often as not.
 * The kernel measures over shorter times, so this is an estimate.
 */
static void measure_brake(const struct observation *pool, const struct ioband_group *group,
			  struct explanation *it)
{
	const struct explain_target *worst = it->n_targets ? it->target : NULL;

	if (!it->brake_per_s || !worst || !worst->used_pct)
		return;
	it->braking = worst;
	it->braked = worst->of_pool ? has_written(pool, group) :
		     !worst->own && is_ahead(pool, group, worst->group);
}

/*
 * Find late reads, and whether a group is throttled for them.
 * @it: has the length of the observation; gets the rest
 */
void explain_measure_latency(const struct observation *pool, const struct ioband_group *group,
			     struct explanation *it)
{
	const struct groups *groups = &pool->delta.groups;

	it->brake_per_s = pool->brake_bytes_per_s;
	it->target = xcalloc(2 * groups->n, sizeof(*it->target));
	for (size_t i = 0; i < 2 * groups->n; i++) {
		enum bound bound = LATENCY + i % 2;

		if (bound_is_set(&groups->v[i / 2].bounds, bound))
			measure_target(pool, group, &groups->v[i / 2], bound, it->seconds,
				       &it->target[it->n_targets++]);
	}
	if (it->n_targets)
		qsort(it->target, it->n_targets, sizeof(*it->target), by_lateness);
	measure_brake(pool, group, it);
}
