/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OBSERVE_H
#define IOBANDCTL_OBSERVE_H

#include "observe/sample.h"

#define LOOKS 10

/**
 * struct observation - the I/O of a pool in an interval
 * @speaker: a device of the pool
 * @before: the counters at the start
 * @after: the counters at the end
 * @delta: their difference
 * @look: samples of queued I/O and I/O in flight, at equal distances
 * @n: length of @look
 * @brake_bytes_per_s: last rate of the throttle for a latency target that a
 *	sample saw; 0 without any
 */
struct observation {
	const struct ioband_device *speaker;
	struct sample before;
	struct sample after;
	struct sample delta;
	struct stats look[LOOKS];
	size_t n;
	uint64_t brake_bytes_per_s;
};

int observe(const struct targets *speakers, double seconds,
	    struct observation *pools);
void observation_free(struct observation *pool);

#endif
