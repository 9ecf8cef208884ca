/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OBSERVE_H
#define IOBANDCTL_OBSERVE_H

#include "observe/sample.h"

#define LOOKS 10

/**
 * struct observation - what a pool did in a while
 * @speaker: one of its devices
 * @before: what its groups had done
 * @after: what they had done in the end
 * @delta: what they did meanwhile
 * @look: what was held and in flight, now and then
 * @n: how many of them
 * @brake_bytes_per_s: of those who were held back for a latency target, when it was
 *	looked at last that somebody might be; 0: at no time
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
