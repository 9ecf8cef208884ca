/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OBSERVE_H
#define IOBANDCTL_OBSERVE_H

#include "observe/sample.h"

#define LOOKS 10

/* The I/O of a pool in an interval. */
struct observation {
	const struct ioband_device *speaker;
	struct sample before;	/* the counters at the start */
	struct sample after;	/* the counters at the end */
	struct sample delta;	/* their difference */
	/* Samples of queued I/O and I/O in flight, at equal distances. */
	struct stats look[LOOKS];
	size_t n;
	/* Last rate of the throttle for a latency target that a sample saw; 0 without any. */
	uint64_t brake_bytes_per_s;
};

int observe(const struct targets *speakers, double seconds, struct observation *pools);
void observation_free(struct observation *pool);

#endif
