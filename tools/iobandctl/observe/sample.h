/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SAMPLE_H
#define IOBANDCTL_SAMPLE_H

#include "ioband/ioband.h"
#include "kernel/parse.h"

#define NS_PER_S 1000000000ULL

/**
 * struct sample - what the groups of a pool did until a moment
 * @ns: the moment, of the monotonic clock; of a difference, the time between
 * @groups: the groups, for their paths
 * @stats: what they did
 * @latency: how long it took; the sums of histograms are those of the moment, of a
 *	difference too
 */
struct sample {
	uint64_t ns;
	struct groups groups;
	struct stats stats;
	struct latency latency;
};

uint64_t sample_clock(void);
int sample_take(const struct ioband_device *device, struct sample *sample);
void sample_free(struct sample *sample);
void sample_delta(const struct sample *before, const struct sample *now,
		  struct sample *delta);
void sample_delta_free(struct sample *delta);
void op_stats_add(struct op_stats *sum, const struct op_stats *part);
struct op_stats stats_total(const struct group_stats *group);
double stats_share(const struct stats *stats, const struct group_stats *group,
		   const char *measure);

#endif
