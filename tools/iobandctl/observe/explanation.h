/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_EXPLANATION_H
#define IOBANDCTL_EXPLANATION_H

#include <stdbool.h>

#include "observe/activity.h"
#include "observe/observe.h"

/* What limits a group. */
enum verdict {
	VERDICT_IDLE,	/* nothing: no I/O was done */
	VERDICT_DEMAND,	/* its own demand */
	VERDICT_DEVICE,	/* the device: its I/O is in flight there */
	VERDICT_MAXIMUM, /* a maximum, of the group or of an ancestor */
	VERDICT_UNMET,	/* the group gets less than its minimum */
	VERDICT_BELOW,	/* a policy below ioband, which delays its I/O */
	VERDICT_BRAKE,	/* the throttle, for another group's latency target or the pool's */
	VERDICT_MINIMUM, /* a minimum, which gives more than the weights */
	VERDICT_WEIGHT,	/* the weights: the group gets its share, or more */
	VERDICT_PROMISED, /* other groups' minima: it gets less than its share by weight */
	VERDICT_SHORT,	/* the group gets less than its share by weight */
	VERDICT_YIELDS,	/* the class idle, of the group or of an ancestor */
};

/* A level of the tree, from the top to a group. */
struct explain_level {
	/* The group of this level that contains the explained group. */
	const struct ioband_group *group;
	/* Sum of the weights at this level of the groups with I/O, and of @group. */
	uint64_t competing;
	size_t rivals;	/* number of groups in this sum besides @group */
	bool yields;	/* @group is idle, and some of the others are not */
};

/* A group with a share of the pool. */
struct explain_other {
	const struct ioband_group *group;	/* the group */
	double share_pct;	/* its share of the service of the pool */
	double entitled_pct;	/* its share by weight; only for a group with a minimum */
};

/* The measured rate beside a bound, as near as whole I/Os allow to say. */
enum reach { REACH_BELOW, REACH_AT, REACH_ABOVE };

/* One rate of a bound that applies to a group. */
struct explain_bound {
	/* The group with the bound: the explained one, or an ancestor. */
	const struct ioband_group *group;
	enum rate rate;	/* the rate */
	double per_s;	/* measured rate of @group and all groups below it */
	double used_pct;	/* @per_s in percent of the bound */
	enum reach reach;	/* the same, as a word */
	/*
	 * A maximum is reached while the explained group has queued I/O.  A minimum is missed while
	 * the explained group, and the group with the minimum, have queued I/O all the time.
	 */
	bool counts;
};

/* All rates of a kind of bound. */
struct explain_bounds {
	struct explain_bound *v;	/* the rates, first those with @counts, then by use */
	size_t n;	/* length of @v */
};

/* A latency target. */
struct explain_target {
	const struct ioband_group *group;	/* the group with the target */
	enum bound bound;	/* LATENCY or WRITE_LATENCY */
	/*
	 * Reads of @group and of all groups below it; for the root, of all groups. The reads of
	 * groups that are idle or have a maximum of reads on the way up do not count.  For
	 * WRITE_LATENCY, writes, of which writeback is not counted apart.
	 */
	uint64_t reads;
	uint64_t avg_ns;	/* their mean latency, queued and in flight */
	double used_pct;	/* @avg_ns in percent of the target; 0 if @capped */
	bool own;	/* the target of the explained group, or of an ancestor */
	bool of_pool;	/* the target of the pool, which throttles writes */
	/*
	 * A maximum of @group or of an ancestor delays the reads, or one of these is idle, so
	 * @avg_ns does not count.
	 */
	bool capped;
	bool late;	/* @avg_ns is above the target */
};

/* The figures of a group and of its rivals. */
struct explanation {
	double seconds;	/* length of the observation */
	struct op_stats done;	/* I/O of the group and of the groups below it */
	unsigned int looks;	/* number of samples of queued I/O and I/O in flight */
	unsigned int held_looks;	/* samples with I/O of the group queued in ioband */
	unsigned int busy_looks;	/* samples with I/O of the group in flight */
	unsigned int below_looks;	/* samples in which a policy below delayed its I/O */
	double inflight_avg;	/* mean number of I/Os in flight */
	double busy_pct;	/* part of the time with I/O of the group in flight, about */
	double share_pct;	/* share of the service of the pool */
	double entitled_pct;	/* share by weight, a lower bound */
	bool by_time;	/* @entitled_pct is of device time, which is not measured by group */
	struct explain_level *level;	/* the levels of the tree */
	size_t levels;	/* length of @level */
	/* The bounds that apply to the group, by kind. */
	struct explain_bounds bound[RATE_BOUNDS];
	/*
	 * Sum of the minima, at least, of the groups with queued I/O in the pool; for the rate of
	 * the first minimum with @counts.
	 */
	double due_per_s;
	double all_per_s;	/* measured rate of the whole pool, for the same rate */
	size_t rivals;	/* number of competing groups, at all levels */
	struct explain_other *other;	/* other groups with I/O, by share, the largest first */
	size_t others;	/* length of @other */
	/* Groups that a minimum gives more than their weights, the largest share first. */
	struct explain_other *promised;
	size_t n_promised;	/* length of @promised */
	/* Bytes/s that the throttle allows for a latency target; 0 without throttle. */
	uint64_t brake_per_s;
	struct explain_target *target;	/* all latency targets of the pool, the least met first */
	size_t n_targets;	/* length of @target */
	/* The element of @target that the throttle serves, by estimate; or NULL. */
	const struct explain_target *braking;
	bool braked;	/* the throttle limits the explained group */
};

void explain_measure(const struct observation *pool, const struct ioband_group *group,
		     struct explanation *explanation);
void explain_free(struct explanation *explanation);

/* explain-bounds.c */
int explain_by_share(const void *left, const void *right);
void explain_measure_bounds(const struct observation *pool, const struct activity *activity,
			    const struct ioband_group *group, struct explanation *it);
double explain_share(const struct observation *pool, const struct ioband_group *top);
bool explain_bounds_reads(const struct ioband_group *group);
bool explain_caps_reads(const struct observation *pool,
			const struct ioband_group *top, double seconds);

/* explain-latency.c */
void explain_measure_latency(const struct observation *pool, const struct ioband_group *group,
			     struct explanation *it);

/* explain-judge.c */
enum verdict explain_judge(const struct explanation *explanation);
bool explain_is_held(const struct explanation *explanation);
const struct explain_bound *explain_at_minimum(const struct explanation *it);
const struct ioband_group *explain_yielding(const struct explanation *it);
double explain_part_pct(const struct explain_level *level);

/* explain-say.c */
char *explain_say(const struct explanation *explanation, const char *measure);

#endif
