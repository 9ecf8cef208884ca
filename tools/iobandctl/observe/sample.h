/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SAMPLE_H
#define IOBANDCTL_SAMPLE_H

#include "base/clock.h"
#include "ioband/ioband.h"
#include "kernel/parse.h"

/* The counters of a pool at one moment. */
struct sample {
	uint64_t ns;	/* the time, of the monotonic clock; in a difference, the time between */
	struct groups groups;	/* the groups, for their paths */
	struct stats stats;	/* the counters */
	/* The histograms; their sums are those of the moment, in a difference too. */
	struct latency latency;
};

uint64_t sample_clock(void);
int sample_take(const struct ioband_device *device, struct sample *sample);
void sample_free(struct sample *sample);
void sample_delta(const struct sample *before, const struct sample *now, struct sample *delta);
void sample_delta_free(struct sample *delta);
void op_stats_add(struct op_stats *sum, const struct op_stats *part);
struct op_stats stats_total(const struct group_stats *group);
double stats_share(const struct stats *stats, const struct group_stats *group, const char *measure);

#endif
