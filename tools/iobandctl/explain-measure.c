// SPDX-License-Identifier: GPL-2.0-only
/* What a group and those around it did, from what was seen of their pool.  Pure. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "explain.h"
#include "query.h"
#include "tree.h"

/**
 * struct activity - who did something
 * @own: by group: itself
 * @any: by group: itself, or one below it
 */
struct activity {
	bool *own;
	bool *any;
};

static bool does_something(const struct group_stats *stats)
{
	return stats_total(stats).ios || stats->held[IOS] || stats->inflight;
}

static void mark(const struct groups *groups, const struct stats *stats,
		 struct activity *activity)
{
	for (size_t i = 0; i < stats->n; i++) {
		const struct ioband_group *group =
			groups_find(groups, stats->v[i].seq);

		if (!group || !does_something(&stats->v[i]) ||
		    !tree_is_sound(groups, group))
			continue;
		activity->own[group - groups->v] = true;
		for (; group; group = tree_parent(groups, group))
			activity->any[group - groups->v] = true;
	}
}

/* Of looks only what waits: their counters are of all that was ever done. */
static void mark_look(const struct groups *groups, const struct stats *look,
		      struct activity *activity)
{
	for (size_t i = 0; i < look->n; i++) {
		struct group_stats now = look->v[i];

		memset(now.op, 0, sizeof(now.op));
		mark(groups, &(struct stats){ &now, 1 }, activity);
	}
}

static void find_activity(const struct observation *pool,
			  struct activity *activity)
{
	const struct groups *groups = &pool->delta.groups;

	activity->own = xcalloc(groups->n, sizeof(bool));
	activity->any = xcalloc(groups->n, sizeof(bool));
	mark(groups, &pool->delta.stats, activity);
	for (size_t i = 0; i < pool->n; i++)
		mark_look(groups, &pool->look[i], activity);
}

/* Its siblings, and the I/O of its parent's own, which is as one of weight 100. */
static struct explain_level measure_level(const struct groups *groups,
					  const struct activity *activity,
					  const struct ioband_group *group)
{
	const struct ioband_group *parent = tree_parent(groups, group);
	struct explain_level level = { group, group->weight, 0 };

	for (size_t i = 0; i < groups->n; i++) {
		if (&groups->v[i] == group || !activity->any[i] ||
		    tree_parent(groups, &groups->v[i]) != parent)
			continue;
		level.competing += groups->v[i].weight;
		level.rivals++;
	}
	if (parent && activity->own[parent - groups->v]) {
		level.competing += IOBAND_WEIGHT_DEFAULT;
		level.rivals++;
	}
	return level;
}

static void measure_levels(const struct groups *groups,
			   const struct activity *activity,
			   const struct ioband_group *group,
			   struct explanation *explanation)
{
	size_t n = 0;

	for (const struct ioband_group *up = group; up;
	     up = tree_parent(groups, up))
		n++;
	explanation->level = xcalloc(n, sizeof(*explanation->level));
	explanation->levels = n;
	explanation->entitled_pct = 100;
	for (; n; group = tree_parent(groups, group)) {
		struct explain_level *level = &explanation->level[--n];

		*level = measure_level(groups, activity, group);
		explanation->rivals += level->rivals;
		explanation->entitled_pct *=
			group->weight / (double)level->competing;
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

static void measure_look(const struct groups *groups, const struct stats *look,
			 const struct ioband_group *group,
			 struct explanation *explanation)
{
	bool held = false, busy = false;

	for (size_t i = 0; i < look->n; i++) {
		const struct ioband_group *doer =
			groups_find(groups, look->v[i].seq);

		if (!doer || !tree_is_below(groups, doer, group))
			continue;
		held |= look->v[i].held[IOS];
		busy |= look->v[i].inflight;
	}
	explanation->looks++;
	explanation->held_looks += held;
	explanation->busy_looks += busy;
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
	find_activity(pool, &activity);
	if (tree_is_sound(groups, group))
		measure_levels(groups, &activity, group, explanation);
	measure_shares(pool, group, explanation);
	for (size_t i = 0; i < pool->n; i++)
		measure_look(groups, &pool->look[i], group, explanation);
	free(activity.own);
	free(activity.any);
}

/**
 * explain_free() - free what was measured
 * @explanation: by explain_measure()
 */
void explain_free(struct explanation *explanation)
{
	free(explanation->level);
	free(explanation->other);
}
