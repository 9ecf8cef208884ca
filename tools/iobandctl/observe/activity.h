/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ACTIVITY_H
#define IOBANDCTL_ACTIVITY_H

#include <stdbool.h>

#include "kernel/parse.h"

/* Groups with I/O, and their competing weights. */
struct activity {
	/* The groups of the pool; the arrays below have the same index. */
	const struct groups *groups;
	bool *own;	/* the group itself did I/O */
	bool *any;	/* the group, or a group below it, did I/O */
	/*
	 * Sum of the weights of its children with @any, plus 100 with @own; the element
	 * after the last group is for the top level.
	 */
	uint64_t *weights;
	size_t *idle;	/* number of its idle children with @any */
	size_t *rivals;	/* number of entities in @weights and @idle */
};

void activity_begin(const struct groups *groups, struct activity *activity);
void activity_add(struct activity *activity, const struct stats *stats);
void activity_add_now(struct activity *activity, const struct stats *stats);
void activity_end(struct activity *activity);
void activity_free(struct activity *activity);
uint64_t activity_competing(const struct activity *activity,
			    const struct ioband_group *group, size_t *rivals);
bool activity_yields(const struct activity *activity, const struct ioband_group *group);
double activity_part_pct(const struct activity *activity, const struct ioband_group *group);
double activity_own_pct(const struct activity *activity, const struct ioband_group *group);

#endif
