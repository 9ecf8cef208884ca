/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_EXPLANATION_H
#define IOBANDCTL_EXPLANATION_H

#include <stdbool.h>

#include "observe/activity.h"
#include "observe/observe.h"

/* What keeps a group from more. */
enum verdict {
	VERDICT_IDLE,	/* nothing: it did no I/O */
	VERDICT_DEMAND,	/* itself: it asks for no more */
	VERDICT_DEVICE,	/* the device: what it asks for is there */
	VERDICT_MAXIMUM, /* a maximum: its own, or one above it */
	VERDICT_UNMET,	/* it gets less than it is promised */
	VERDICT_BRAKE,	/* another's latency target, or the pool's */
	VERDICT_MINIMUM, /* a minimum, which gives it more than its weights */
	VERDICT_WEIGHT,	/* its weights: it gets what they give, or more */
	VERDICT_PROMISED, /* others' minima: it gets less than its weights give */
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
 * @entitled_pct: of one with a promise: what its weights give it
 */
struct explain_other {
	const struct ioband_group *group;
	double share_pct;
	double entitled_pct;
};

/* What went, beside a bound, as near as whole I/Os allow to say. */
enum reach { REACH_BELOW, REACH_AT, REACH_ABOVE };

/**
 * struct explain_bound - a rate of a bound that a group has, its own or one above
 * @group: whose it is
 * @rate: which
 * @per_s: what went in a second, by @group and all below it
 * @used_pct: that is so much of the bound
 * @reach: the same, in a word
 * @counts: a maximum is reached while the explained group waits, or a minimum is
 *	not reached while it, and what the minimum is of, do so all the time
 */
struct explain_bound {
	const struct ioband_group *group;
	enum rate rate;
	double per_s;
	double used_pct;
	enum reach reach;
	bool counts;
};

/**
 * struct explain_bounds - all rates of a kind of bound
 * @v: those that count first, then those used most
 * @n: how many
 */
struct explain_bounds {
	struct explain_bound *v;
	size_t n;
};

/**
 * struct explain_target - a target for the latency of reads
 * @group: whose it is
 * @reads: how many were done, by @group and all below it; of the root, by all; but
 *	not by those that have a maximum of reads on the way
 * @avg_ns: what they took on average, held and at the device
 * @used_pct: that is so much of the target; 0 if @capped
 * @own: it is the explained group's, or one above it
 * @of_pool: it is that of the pool, for which writes are held back
 * @capped: a maximum, its own or one above, holds the reads, which tells nothing
 * @late: they took longer than the target
 */
struct explain_target {
	const struct ioband_group *group;
	uint64_t reads;
	uint64_t avg_ns;
	double used_pct;
	bool own;
	bool of_pool;
	bool capped;
	bool late;
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
 * @bound: its bounds, by kind
 * @due_per_s: of the first minimum that counts: what is promised, at least, of that
 *	rate to those in the pool that had I/O held
 * @all_per_s: of the same rate: what went in the pool
 * @rivals: how many groups it competes with, at all levels
 * @other: the other groups that did something, most first
 * @others: how many
 * @promised: groups that a minimum gives more than their weights, most first
 * @n_promised: how many
 * @brake_per_s: bytes, of those that are held back for a latency target; 0: nobody is
 * @target: all latency targets of the pool, the one furthest from its target first
 * @n_targets: how many
 * @braking: of @target, that which the brake is for, as far as one can tell; or NULL
 * @braked: the group is held back for it
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
	struct explain_bounds bound[RATE_BOUNDS];
	double due_per_s;
	double all_per_s;
	size_t rivals;
	struct explain_other *other;
	size_t others;
	struct explain_other *promised;
	size_t n_promised;
	uint64_t brake_per_s;
	struct explain_target *target;
	size_t n_targets;
	const struct explain_target *braking;
	bool braked;
};

void explain_measure(const struct observation *pool,
		     const struct ioband_group *group,
		     struct explanation *explanation);
void explain_free(struct explanation *explanation);

/* explain-bounds.c */
int explain_by_share(const void *left, const void *right);
void explain_measure_bounds(const struct observation *pool,
			    const struct activity *activity,
			    const struct ioband_group *group,
			    struct explanation *it);
double explain_share(const struct observation *pool,
		     const struct ioband_group *top);
bool explain_bounds_reads(const struct ioband_group *group);
bool explain_caps_reads(const struct observation *pool,
			const struct ioband_group *top, double seconds);

/* explain-latency.c */
void explain_measure_latency(const struct observation *pool,
			     const struct ioband_group *group,
			     struct explanation *it);

/* explain-judge.c */
enum verdict explain_judge(const struct explanation *explanation);
bool explain_is_held(const struct explanation *explanation);
const struct explain_bound *explain_at_minimum(const struct explanation *it);

/* explain-say.c */
char *explain_say(const struct explanation *explanation, const char *measure);

#endif
