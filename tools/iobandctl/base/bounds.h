/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_BOUNDS_H
#define IOBANDCTL_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rates.h"

#define LATENCY_MAX_US 10000000	/* ten seconds */

/* All bounds of a group. */
struct bounds {
	struct rates of[RATE_BOUNDS];	/* its maximum and its minimum */
	/*
	 * What its reads, and its writes for which a task waits, are to take on average at
	 * most, from LATENCY on; 0 for no target.
	 */
	uint64_t latency_us[BOUNDS - LATENCY];
};

extern const struct bounds bounds_none;

int latency_read(const char *text, uint64_t *us, struct problem *problem);
char *latency_text(uint64_t us);
bool bound_is_set(const struct bounds *bounds, enum bound bound);
bool bound_is(const struct bounds *bounds, const struct bounds *other, enum bound bound);
void bound_copy(struct bounds *to, const struct bounds *from, enum bound bound);
int bound_read(const char *text, enum bound bound, struct bounds *bounds,
	       unsigned int *given, struct problem *problem);
char *bound_text(const struct bounds *bounds, enum bound bound);
char *bound_list(const struct bounds *bounds, enum bound bound);
char *bound_words(const struct bounds *bounds, enum bound bound, unsigned int given);
bool bounds_are_set(const struct bounds *bounds);
enum rate bounds_conflict(const struct bounds *bounds);
int bounds_check(const struct bounds *bounds, struct problem *problem);

#endif
