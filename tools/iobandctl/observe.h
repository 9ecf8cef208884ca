/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_OBSERVE_H
#define IOBANDCTL_OBSERVE_H

#include "sample.h"

#define LOOKS 10

/**
 * struct observation - what a pool did in a while
 * @speaker: one of its devices
 * @before: what its groups had done
 * @after: what they had done in the end
 * @delta: what they did meanwhile
 * @look: what was held and in flight, now and then
 * @n: how many of them
 */
struct observation {
	const struct ioband_device *speaker;
	struct sample before;
	struct sample after;
	struct sample delta;
	struct stats look[LOOKS];
	size_t n;
};

int observe(const struct targets *speakers, double seconds,
	    struct observation *pools);
void observation_free(struct observation *pool);

#endif
