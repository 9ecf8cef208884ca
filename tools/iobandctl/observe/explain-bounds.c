// SPDX-License-Identifier: GPL-2.0-only
/*
 * How near a group is to its maxima and minima, and which other groups benefit
 * from a minimum.  Pure.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/explanation.h"

/* A measurement over a second or two comes this near to a bound. */
#define BOUND_TOLERANCE 0.95

/* A discard counts with at most so many bytes. */
#define DISCARD_BYTES 1048576

/*
 * Compare two struct explain_other, for qsort().
 * Return: less than 0 if @left has the larger share.
 */
int explain_by_share(const void *left, const void *right)
{
	const struct explain_other *a = left, *b = right;

	return (a->share_pct < b->share_pct) - (a->share_pct > b->share_pct);
}

/* The I/O that counts for a bound of writes, discards included. */
static void count_writes(const struct op_stats op[OPS], struct op_stats *sum)
{
	struct op_stats discards = op[DISCARD];

	if (discards.bytes > discards.ios * DISCARD_BYTES)
		discards.bytes = discards.ios * DISCARD_BYTES;
	op_stats_add(sum, &op[WRITE]);
	op_stats_add(sum, &discards);
}

/* A bound of the root group covers only the root's own I/O. */
static bool is_bound_by(const struct groups *groups, const struct ioband_group *doer,
			const struct ioband_group *top)
{
	return doer == top || (top->parent && tree_is_below(groups, doer, top));
}

/* I/O that counts for a rate, by a group and all groups below it; by all groups if NULL. */
static struct op_stats rate_total(const struct observation *pool, const struct ioband_group *top,
				  enum rate rate)
{
	const struct groups *groups = &pool->delta.groups;
	const struct stats *stats = &pool->delta.stats;
	struct op_stats sum = { .ios = 0 };

	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer = groups_find(groups, stats->v[i].seq);

		if (!doer || (top && !is_bound_by(groups, doer, top)))
			continue;
		if (rate == RBPS || rate == RIOPS)
			op_stats_add(&sum, &stats->v[i].op[READ]);
		else
			count_writes(stats->v[i].op, &sum);
	}
	return sum;
}

static double amount_of(const struct op_stats *done, enum rate rate)
{
	return rate_is_bytes(rate) ? done->bytes : done->ios;
}

/*
 * Bounds count whole I/Os: at 1 MiB/s, three, four or five I/Os of 512 KiB
 * complete in two seconds.  So an error of one I/O of average size is allowed.
 */
static enum reach reach_of(const struct op_stats *done, enum rate rate, double bound)
{
	double amount = amount_of(done, rate);
	double one = done->ios ? amount / done->ios : 0;

	if (!done->ios || amount + one < bound * BOUND_TOLERANCE)
		return REACH_BELOW;
	return (amount - one) * BOUND_TOLERANCE > bound ? REACH_ABOVE : REACH_AT;
}

static bool counts_as_maximum(const struct explanation *it,
			      const struct op_stats *own, enum reach reach)
{
	return reach != REACH_BELOW && (explain_is_held(it) || own->held_ios * 2 > own->ios);
}

/*
 * A minimum applies to queued I/O only.  All samples saw queued I/O, but
 * perhaps in the other direction.  So the wait time of this direction, divided
 * by the elapsed time, gives the mean number of queued I/Os (Little).
 */
static bool counts_as_minimum(const struct explanation *it,
			      const struct op_stats *done, enum reach reach)
{
	return reach == REACH_BELOW && it->looks &&
	       it->held_looks == it->looks &&
	       done->wait_ns >= it->seconds * NS_PER_S * BOUND_TOLERANCE;
}

static void measure_rate(const struct observation *pool, const struct ioband_group *group,
			 const struct ioband_group *top, enum bound bound,
			 enum rate rate, struct explanation *it)
{
	struct explain_bounds *list = &it->bound[bound];
	struct op_stats done = rate_total(pool, top, rate);
	struct op_stats own = rate_total(pool, group, rate);
	double most = top->bounds.of[bound].rate[rate] * it->seconds;
	enum reach reach = reach_of(&done, rate, most);

	if (it->seconds <= 0)
		return;
	list->v[list->n++] = (struct explain_bound){
		.group = top,
		.rate = rate,
		.per_s = amount_of(&done, rate) / it->seconds,
		.used_pct = 100 * amount_of(&done, rate) / most,
		.reach = reach,
		.counts = bound == MAXIMUM ?
			  counts_as_maximum(it, &own, reach) :
			  counts_as_minimum(it, &done, reach),
	};
}

static int by_use(const void *left, const void *right)
{
	const struct explain_bound *a = left, *b = right;

	if (a->counts != b->counts)
		return b->counts - a->counts;
	return (a->used_pct < b->used_pct) - (a->used_pct > b->used_pct);
}

/* The bounds of a kind from the group upwards, and how near the group is to them. */
static void measure_kind(const struct observation *pool,
			 const struct ioband_group *group, enum bound bound, struct explanation *it)
{
	struct explain_bounds *list = &it->bound[bound];

	list->v = xcalloc(it->levels * RATES, sizeof(*list->v));
	for (size_t i = it->levels; i-- > 0;) {
		const struct ioband_group *top = it->level[i].group;

		if (!is_bound_by(&pool->delta.groups, group, top))
			continue;
		for (int rate = 0; rate < RATES; rate++) {
			if (top->bounds.of[bound].rate[rate])
				measure_rate(pool, group, top, bound, rate, it);
		}
	}
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_use);
}

/* Whether a group, or a group below it, had queued I/O in a sample. */
static bool was_held(const struct observation *pool, const struct ioband_group *top)
{
	const struct groups *groups = &pool->delta.groups;

	for (size_t i = 0; i < pool->n; i++) {
		const struct stats *look = &pool->look[i];

		for (size_t k = 0; k < look->n; k++) {
			const struct ioband_group *doer = groups_find(groups, look->v[k].seq);

			if (doer && look->v[k].held[IOS] && is_bound_by(groups, doer, top))
				return true;
		}
	}
	return false;
}

static bool has_promise(const struct ioband_group *group, enum rate rate)
{
	return group && group->bounds.of[MINIMUM].rate[rate];
}

/* Whether no ancestor has a minimum, which could include this one. */
static bool is_outermost(const struct groups *groups,
			 const struct ioband_group *group, enum rate rate)
{
	if (!tree_is_sound(groups, group))
		return true;
	do
		group = tree_parent(groups, group);
	while (group && !has_promise(group, rate));
	return !group;
}

/* Sum of the minima in the pool, for the rate of which the group gets too little. */
static void measure_due(const struct observation *pool, struct explanation *it)
{
	const struct groups *groups = &pool->delta.groups;
	const struct explain_bounds *minima = &it->bound[MINIMUM];
	struct op_stats all;
	enum rate rate;

	if (!minima->n || !minima->v[0].counts)
		return;
	rate = minima->v[0].rate;
	all = rate_total(pool, NULL, rate);
	it->all_per_s = amount_of(&all, rate) / it->seconds;
	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];

		if (has_promise(group, rate) &&
		    is_outermost(groups, group, rate) && was_held(pool, group))
			it->due_per_s += group->bounds.of[MINIMUM].rate[rate];
	}
}

/* Check whether a group has a maximum of reads.  Return: true if it has. */
bool explain_bounds_reads(const struct ioband_group *group)
{
	const struct rates *most = &group->bounds.of[MAXIMUM];

	return most->rate[RBPS] || most->rate[RIOPS];
}

/*
 * Check whether a group reached a maximum of its reads.
 * Return: true if it did, as near as whole I/Os allow to say.
 */
bool explain_caps_reads(const struct observation *pool,
			const struct ioband_group *top, double seconds)
{
	static const enum rate reads[] = { RBPS, RIOPS };

	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		uint64_t most = top->bounds.of[MAXIMUM].rate[reads[i]];
		struct op_stats done = rate_total(pool, top, reads[i]);

		if (most && reach_of(&done, reads[i], most * seconds) != REACH_BELOW)
			return true;
	}
	return false;
}

/*
 * Share of a group and the groups below it.
 * Return: their share of the service of the pool, in percent.
 */
double explain_share(const struct observation *pool, const struct ioband_group *top)
{
	const struct stats *stats = &pool->delta.stats;
	double share_pct = 0;

	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *doer = groups_find(&pool->delta.groups, stats->v[i].seq);

		if (doer && is_bound_by(&pool->delta.groups, doer, top))
			share_pct += stats_share(stats, &stats->v[i], pool->speaker->table.measure);
	}
	return share_pct;
}

/* Whether a minimum of a group is in effect: one of its rates is not above the minimum. */
static bool needs_promise(const struct observation *pool,
			  const struct ioband_group *group, double seconds)
{
	for (int rate = 0; rate < RATES; rate++) {
		uint64_t least = group->bounds.of[MINIMUM].rate[rate];
		struct op_stats done = rate_total(pool, group, rate);

		if (least && done.ios && reach_of(&done, rate, least * seconds) != REACH_ABOVE)
			return true;
	}
	return false;
}

/* The groups that a minimum gives more than their weights, at the cost of others. */
static void measure_promised(const struct observation *pool, const struct activity *activity,
			     const struct ioband_group *group, struct explanation *it)
{
	const struct groups *groups = &pool->delta.groups;

	it->promised = xcalloc(groups->n, sizeof(*it->promised));
	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *other = &groups->v[i];
		struct explain_other part = { .group = other };

		if (tree_is_below(groups, group, other) ||
		    tree_is_below(groups, other, group) ||
		    !needs_promise(pool, other, it->seconds))
			continue;
		part.share_pct = explain_share(pool, other);
		part.entitled_pct = activity_part_pct(activity, other);
		if (part.share_pct * BOUND_TOLERANCE > part.entitled_pct)
			it->promised[it->n_promised++] = part;
	}
	if (it->n_promised)
		qsort(it->promised, it->n_promised, sizeof(*it->promised), explain_by_share);
}

/*
 * Measure how near a group is to its maxima and minima.
 * @it: has the levels, the shares and the looks; gets the rest
 */
void explain_measure_bounds(const struct observation *pool, const struct activity *activity,
			    const struct ioband_group *group, struct explanation *it)
{
	for (int bound = 0; bound < RATE_BOUNDS; bound++)
		measure_kind(pool, group, bound, it);
	measure_due(pool, it);
	measure_promised(pool, activity, group, it);
}
