/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ACTIVITY_H
#define IOBANDCTL_ACTIVITY_H

#include <stdbool.h>

#include "kernel/parse.h"

/**
 * struct activity - who did something in a while, and so competes with whom
 * @groups: of the pool; the rest is by their places
 * @own: it did something itself
 * @any: it did, or one below it
 * @weights: of its children that did something, and 100 if it did so itself;
 *	after the last group, of those at the top
 * @rivals: how many these are
 */
struct activity {
	const struct groups *groups;
	bool *own;
	bool *any;
	uint64_t *weights;
	size_t *rivals;
};

void activity_begin(const struct groups *groups, struct activity *activity);
void activity_add(struct activity *activity, const struct stats *stats);
void activity_add_now(struct activity *activity, const struct stats *stats);
void activity_end(struct activity *activity);
void activity_free(struct activity *activity);
uint64_t activity_competing(const struct activity *activity,
			    const struct ioband_group *group, size_t *rivals);
double activity_part_pct(const struct activity *activity,
			 const struct ioband_group *group);
double activity_own_pct(const struct activity *activity,
			const struct ioband_group *group);

#endif
