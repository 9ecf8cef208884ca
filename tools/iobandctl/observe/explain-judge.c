// SPDX-License-Identifier: GPL-2.0-only
/* What keeps a group from more, by its figures.  Pure. */
#include "observe/explanation.h"

/* Shares over a second or two come this near to the weights. */
#define SHARE_TOLERANCE 0.95

/* What is left of a maximum by a group that could have more by its weights. */
#define MAXIMUM_MOSTLY_PCT 75

/**
 * explain_is_held() - see whether a group mostly had I/O held
 * @it: its figures
 *
 * Return: whether it had.
 */
bool explain_is_held(const struct explanation *it)
{
	return it->looks && it->held_looks * 2 >= it->looks;
}

/* Whether a maximum is reached, or a minimum is not though the group waits for it. */
static bool counts(const struct explanation *it, enum bound bound)
{
	return it->bound[bound].n && it->bound[bound].v[0].counts;
}

/*
 * Past a maximum the next I/O waits for its turn at a busy device besides, so that
 * a group that has competitors may stay some way below.
 */
static bool is_mostly_used(const struct explanation *it)
{
	return it->bound[MAXIMUM].n &&
	       it->bound[MAXIMUM].v[0].used_pct >= MAXIMUM_MOSTLY_PCT;
}

/**
 * explain_at_minimum() - find the minimum that a group gets, and no more
 * @it: its figures
 *
 * Return: the first of them, or NULL.
 */
const struct explain_bound *explain_at_minimum(const struct explanation *it)
{
	for (size_t i = 0; i < it->bound[MINIMUM].n; i++) {
		if (it->bound[MINIMUM].v[i].reach == REACH_AT)
			return &it->bound[MINIMUM].v[i];
	}
	return NULL;
}

/* Of a group that had I/O held while others were served. */
static enum verdict judge_held(const struct explanation *it)
{
	if (counts(it, MINIMUM))
		return VERDICT_UNMET;
	if (it->braked)
		return VERDICT_BRAKE;
	if (it->by_time)
		return VERDICT_WEIGHT;
	if (it->share_pct * SHARE_TOLERANCE > it->entitled_pct &&
	    explain_at_minimum(it))
		return VERDICT_MINIMUM;
	if (it->share_pct >= it->entitled_pct * SHARE_TOLERANCE)
		return VERDICT_WEIGHT;
	if (is_mostly_used(it))
		return VERDICT_MAXIMUM;
	return it->n_promised ? VERDICT_PROMISED : VERDICT_SHORT;
}

/**
 * explain_judge() - say what keeps a group from more
 * @it: its figures
 *
 * Without others that do I/O nothing holds a group's I/O but a maximum, however
 * little of it went in a short while, or the brake, for the pool's target.  Nothing
 * is said of a share of time, as it is not known who had how much.
 *
 * Return: the judgement.
 */
enum verdict explain_judge(const struct explanation *it)
{
	if (!it->done.ios && !it->held_looks && !it->busy_looks)
		return VERDICT_IDLE;
	if (counts(it, MAXIMUM) ||
	    (it->bound[MAXIMUM].n && explain_is_held(it) && !it->rivals))
		return VERDICT_MAXIMUM;
	if (it->held_looks * 2 >= it->looks && (it->rivals || it->braked))
		return judge_held(it);
	return it->busy_pct >= 50 ? VERDICT_DEVICE : VERDICT_DEMAND;
}
