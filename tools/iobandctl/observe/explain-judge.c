// SPDX-License-Identifier: GPL-2.0-only
/* The limit of a group, judged by its figures.  Pure. */
#include "observe/explanation.h"

/* A share over a second or two comes this near to the weight. */
#define SHARE_TOLERANCE 0.95

/* Use of a maximum, in percent, from which a group below its share is limited by it. */
#define MAXIMUM_MOSTLY_PCT 75

/*
 * Check whether a group had queued I/O most of the time.
 * Return: true if it had, in at least half of the samples.
 */
bool explain_is_held(const struct explanation *it)
{
	return it->looks && it->held_looks * 2 >= it->looks;
}

/* Whether a maximum is reached, or a minimum is missed while the group has queued I/O. */
static bool counts(const struct explanation *it, enum bound bound)
{
	return it->bound[bound].n && it->bound[bound].v[0].counts;
}

/*
 * After the delay of a maximum, the next I/O also competes for a busy device.
 * So a group with rivals may stay some way below its maximum.
 */
static bool is_mostly_used(const struct explanation *it)
{
	return it->bound[MAXIMUM].n && it->bound[MAXIMUM].v[0].used_pct >= MAXIMUM_MOSTLY_PCT;
}

/*
 * Find a minimum that a group gets without any surplus.
 * Return: the first such minimum, or NULL.
 */
const struct explain_bound *explain_at_minimum(const struct explanation *it)
{
	for (size_t i = 0; i < it->bound[MINIMUM].n; i++) {
		if (it->bound[MINIMUM].v[i].reach == REACH_AT)
			return &it->bound[MINIMUM].v[i];
	}
	return NULL;
}

/*
 * Find the level at which a group yields to others.
 * Return: the group that is idle there: the explained one, or an ancestor; or NULL.
 */
const struct ioband_group *explain_yielding(const struct explanation *it)
{
	for (size_t i = it->levels; i-- > 0;) {
		if (it->level[i].yields)
			return it->level[i].group;
	}
	return NULL;
}

/* The share by weight at a level.  Return: percent of the group above. */
double explain_part_pct(const struct explain_level *level)
{
	uint64_t weight = level->group->weight;

	if (level->yields)
		return 0;
	return 100 * (weight == IOBAND_WEIGHT_IDLE ? 1 : weight) /
	       (double)level->competing;
}

/* For a group with queued I/O while others were served. */
static enum verdict judge_held(const struct explanation *it)
{
	if (explain_yielding(it))
		return VERDICT_YIELDS;
	if (counts(it, MINIMUM))
		return VERDICT_UNMET;
	if (it->braked)
		return VERDICT_BRAKE;
	if (it->by_time)
		return VERDICT_WEIGHT;
	if (it->share_pct * SHARE_TOLERANCE > it->entitled_pct && explain_at_minimum(it))
		return VERDICT_MINIMUM;
	if (it->share_pct >= it->entitled_pct * SHARE_TOLERANCE)
		return VERDICT_WEIGHT;
	if (is_mostly_used(it))
		return VERDICT_MAXIMUM;
	return it->n_promised ? VERDICT_PROMISED : VERDICT_SHORT;
}

/*
 * Judge the limit of a group.
 *
 * Without rivals, only two things hold back I/O.  A maximum is one, however little I/O completed in
 * a short time; the throttle for the pool's target is the other.  A policy below ioband holds back
 * I/O with or without rivals, and no setting here changes that.  A share of device time is not
 * judged, as it is not measured by group.
 *
 * Return: the verdict.
 */
enum verdict explain_judge(const struct explanation *it)
{
	if (!it->done.ios && !it->held_looks && !it->busy_looks)
		return VERDICT_IDLE;
	if (counts(it, MAXIMUM) || (it->bound[MAXIMUM].n && explain_is_held(it) && !it->rivals))
		return VERDICT_MAXIMUM;
	if (it->looks && it->below_looks * 2 >= it->looks)
		return VERDICT_BELOW;
	if (it->held_looks * 2 >= it->looks && (it->rivals || it->braked))
		return judge_held(it);
	return it->busy_pct >= 50 ? VERDICT_DEVICE : VERDICT_DEMAND;
}
