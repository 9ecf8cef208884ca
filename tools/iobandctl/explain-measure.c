// SPDX-License-Identifier: GPL-2.0-only
/* What a group and those around it did, from what was seen of their pool.  Pure. */
#include <stdlib.h>
#include <string.h>

#include "activity.h"
#include "alloc.h"
#include "explain.h"
#include "query.h"
#include "tree.h"

/* What goes in a second or two comes this near to a bound. */
#define LIMIT_TOLERANCE 0.95

static void measure_levels(const struct activity *activity,
			   const struct ioband_group *group,
			   struct explanation *explanation)
{
	const struct groups *groups = activity->groups;
	size_t n = 0;

	for (const struct ioband_group *up = group; up;
	     up = tree_parent(groups, up))
		n++;
	explanation->level = xcalloc(n, sizeof(*explanation->level));
	explanation->levels = n;
	explanation->entitled_pct = activity_part_pct(activity, group);
	for (; n; group = tree_parent(groups, group)) {
		struct explain_level *level = &explanation->level[--n];

		level->group = group;
		level->competing = activity_competing(activity, group,
						      &level->rivals);
		explanation->rivals += level->rivals;
	}
}

static void add(struct op_stats *sum, const struct op_stats *part)
{
	sum->ios += part->ios;
	sum->bytes += part->bytes;
	sum->held_ios += part->held_ios;
	sum->wait_ns += part->wait_ns;
	sum->service_ns += part->service_ns;
}

static int by_share(const void *left, const void *right)
{
	const struct explain_other *a = left, *b = right;

	return (a->share_pct < b->share_pct) - (a->share_pct > b->share_pct);
}

/* Who had which part: the group with those below it, and each of the others. */
static void measure_shares(const struct observation *pool,
			   const struct ioband_group *group,
			   struct explanation *explanation)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;

	explanation->other = xcalloc(stats->n, sizeof(*explanation->other));
	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer =
			groups_find(groups, stats->v[i].seq);
		struct op_stats total = stats_total(&stats->v[i]);
		double share_pct = stats_share(stats, &stats->v[i],
					       pool->speaker->table.measure);

		if (!doer || !total.ios)
			continue;
		if (tree_is_below(groups, doer, group)) {
			explanation->share_pct += share_pct;
			add(&explanation->done, &total);
		} else {
			explanation->other[explanation->others++] =
				(struct explain_other){ doer, share_pct };
		}
	}
	if (explanation->others)
		qsort(explanation->other, explanation->others,
		      sizeof(*explanation->other), by_share);
}

/* Return: how many I/Os it has at the device. */
static uint64_t measure_look(const struct groups *groups,
			     const struct stats *look,
			     const struct ioband_group *group,
			     struct explanation *explanation)
{
	uint64_t inflight = 0;
	bool held = false;

	for (size_t i = 0; i < look->n; i++) {
		const struct ioband_group *doer =
			groups_find(groups, look->v[i].seq);

		if (!doer || !tree_is_below(groups, doer, group))
			continue;
		held |= look->v[i].held[IOS];
		inflight += look->v[i].inflight;
	}
	explanation->looks++;
	explanation->held_looks += held;
	explanation->busy_looks += inflight > 0;
	return inflight;
}

/*
 * Looks alone would say too little of a device: on a machine with one processor
 * nobody submits while they are taken.  The time that all I/Os took, over the
 * time there was, is how many were there on average (Little); over how many
 * there are when there are any, it is the part of the time that there were.
 */
static void measure_looks(const struct observation *pool,
			  const struct ioband_group *group,
			  struct explanation *it)
{
	uint64_t inflight = 0;
	double busy, seen;

	for (size_t i = 0; i < pool->n; i++)
		inflight += measure_look(&pool->delta.groups, &pool->look[i],
					 group, it);
	if (pool->delta.ns)
		it->inflight_avg = it->done.service_ns / (double)pool->delta.ns;
	if (!inflight)
		return;
	busy = it->inflight_avg * it->busy_looks / inflight;
	seen = it->busy_looks / (double)it->looks;
	it->busy_pct = 100 * (busy > 1 ? 1 : busy > seen ? busy : seen);
}

/* Of discards no more than this counts of each. */
#define DISCARD_BYTES 1048576

/* What counts in a maximum of writes: discards do as well. */
static void count_writes(const struct op_stats op[OPS], struct op_stats *sum)
{
	struct op_stats discards = op[DISCARD];

	if (discards.bytes > discards.ios * DISCARD_BYTES)
		discards.bytes = discards.ios * DISCARD_BYTES;
	add(sum, &op[WRITE]);
	add(sum, &discards);
}

/* The topmost group's maximum is for its own I/Os only. */
static bool is_bound_by(const struct groups *groups,
			const struct ioband_group *doer,
			const struct ioband_group *top)
{
	return doer == top ||
	       (top->parent && tree_is_below(groups, doer, top));
}

/* What went that way, by a group and all below it. */
static struct op_stats way_total(const struct observation *pool,
				 const struct ioband_group *top, int way)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;
	struct op_stats sum = { .ios = 0 };

	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer =
			groups_find(groups, stats->v[i].seq);

		if (!doer || !is_bound_by(groups, doer, top))
			continue;
		if (way == READ)
			add(&sum, &stats->v[i].op[READ]);
		else
			count_writes(stats->v[i].op, &sum);
	}
	return sum;
}

/*
 * A bound lets whole I/Os through: at 1 MiB/s those of 512 KiB are three, four or
 * five in two seconds.  So one more is added, of the average size.
 */
static bool is_reached(const struct op_stats *done, bool of_bytes, double bound)
{
	double amount = of_bytes ? done->bytes : done->ios;

	if (!done->ios)
		return false;
	return amount + amount / done->ios >= bound * LIMIT_TOLERANCE;
}

static void measure_limit(const struct observation *pool,
			  const struct ioband_group *group,
			  const struct ioband_group *top, enum rate rate,
			  struct explanation *it)
{
	bool of_bytes = rate_is_bytes(rate);
	int way = rate == RBPS || rate == RIOPS ? READ : WRITE;
	struct op_stats done = way_total(pool, top, way);
	struct op_stats own = way_total(pool, group, way);
	double bound = top->max.rate[rate] * it->seconds;
	double amount = of_bytes ? done.bytes : done.ios;

	if (it->seconds <= 0)
		return;
	it->limit[it->limits++] = (struct explain_limit){
		.group = top,
		.rate = rate,
		.per_s = amount / it->seconds,
		.used_pct = 100 * amount / bound,
		.reached = is_reached(&done, of_bytes, bound) &&
			   (explain_is_held(it) || own.held_ios * 2 > own.ios),
	};
}

static int by_use(const void *left, const void *right)
{
	const struct explain_limit *a = left, *b = right;

	if (a->reached != b->reached)
		return b->reached - a->reached;
	return (a->used_pct < b->used_pct) - (a->used_pct > b->used_pct);
}

/* Which bounds there are, from the group up, and how near to them it is. */
static void measure_limits(const struct observation *pool,
			   const struct ioband_group *group,
			   struct explanation *it)
{
	it->limit = xcalloc(it->levels * RATES, sizeof(*it->limit));
	for (size_t i = it->levels; i-- > 0;) {
		const struct ioband_group *top = it->level[i].group;

		if (!is_bound_by(&pool->delta.groups, group, top))
			continue;
		for (int rate = 0; rate < RATES; rate++) {
			if (top->max.rate[rate])
				measure_limit(pool, group, top, rate, it);
		}
	}
	if (it->limits)
		qsort(it->limit, it->limits, sizeof(*it->limit), by_use);
}

/**
 * explain_measure() - what a group and those around it did
 * @pool: what was seen of the pool
 * @group: of its groups, in @pool->delta
 * @explanation: the result, for explain_free()
 */
void explain_measure(const struct observation *pool,
		     const struct ioband_group *group,
		     struct explanation *explanation)
{
	const struct groups *groups = &pool->delta.groups;
	struct activity activity;

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
	measure_limits(pool, group, explanation);
	activity_free(&activity);
}

/**
 * explain_free() - free what was measured
 * @explanation: by explain_measure()
 */
void explain_free(struct explanation *explanation)
{
	free(explanation->level);
	free(explanation->limit);
	free(explanation->other);
}
