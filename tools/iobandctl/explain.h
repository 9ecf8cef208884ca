/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_EXPLAIN_H
#define IOBANDCTL_EXPLAIN_H

#include <stdbool.h>

#include "observe.h"

/* What keeps a group from more. */
enum verdict {
	VERDICT_IDLE,	/* nothing: it did no I/O */
	VERDICT_DEMAND,	/* itself: it asks for no more */
	VERDICT_DEVICE,	/* the device: what it asks for is there */
	VERDICT_MAXIMUM, /* a maximum: its own, or one above it */
	VERDICT_WEIGHT,	/* its weights: it gets what they give, or more */
	VERDICT_SHORT,	/* it gets less than its weights give */
};

/**
 * struct explain_level - a level of the tree, from the top to a group
 * @group: which of this level has the group in it
 * @competing: weights at this level of those that did I/O, and of @group
 * @rivals: how many of those there are besides @group
 */
struct explain_level {
	const struct ioband_group *group;
	uint64_t competing;
	size_t rivals;
};

/**
 * struct explain_other - a group that had a part
 * @group: the group
 * @share_pct: its part of what was done in the pool
 */
struct explain_other {
	const struct ioband_group *group;
	double share_pct;
};

/**
 * struct explain_limit - a bound that a group has, by its maximum or one above
 * @group: whose maximum it is
 * @rate: which of its bounds
 * @per_s: what went in a second, by @group and all below it
 * @used_pct: that is so much of the bound
 * @reached: so near to it as whole I/Os allow, and the explained group waited
 */
struct explain_limit {
	const struct ioband_group *group;
	enum rate rate;
	double per_s;
	double used_pct;
	bool reached;
};

/**
 * struct explanation - what a group and those around it did in a while
 * @seconds: how long that was
 * @done: by it and the groups below it
 * @looks: how often what waits was looked at
 * @held_looks: of @looks, those with I/O of its in ioband
 * @busy_looks: of @looks, those with I/O of its at the device
 * @inflight_avg: I/Os at the device, on average
 * @busy_pct: part of the time that it had any there, about
 * @share_pct: its part of what was done in the pool
 * @entitled_pct: what its weights give it, at least
 * @by_time: @entitled_pct is of time, of which nobody knows who had it
 * @level: the levels
 * @levels: how many
 * @limit: its bounds, those that were reached and used most first
 * @limits: how many
 * @rivals: how many groups it competes with, at all levels
 * @other: the other groups that did something, most first
 * @others: how many
 */
struct explanation {
	double seconds;
	struct op_stats done;
	unsigned int looks;
	unsigned int held_looks;
	unsigned int busy_looks;
	double inflight_avg;
	double busy_pct;
	double share_pct;
	double entitled_pct;
	bool by_time;
	struct explain_level *level;
	size_t levels;
	struct explain_limit *limit;
	size_t limits;
	size_t rivals;
	struct explain_other *other;
	size_t others;
};

void explain_measure(const struct observation *pool,
		     const struct ioband_group *group,
		     struct explanation *explanation);
void explain_free(struct explanation *explanation);
enum verdict explain_judge(const struct explanation *explanation);
bool explain_is_held(const struct explanation *explanation);
char *explain_say(const struct explanation *explanation, const char *measure);

#endif
