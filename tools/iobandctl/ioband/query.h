/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_QUERY_H
#define IOBANDCTL_QUERY_H

#include "ioband/ioband.h"
#include "kernel/parse.h"

int query_status(const struct ioband_device *device, struct ioband_status *status);
int query_groups(const struct ioband_device *device, struct groups *groups);
bool query_has_presets(void);
int query_presets(const struct ioband_device *device, struct presets *presets);
int query_preset_weight(const struct ioband_device *device, const char *path, uint64_t weight);
int query_preset_bound(const struct ioband_device *device, const char *path,
		       enum bound bound, const struct bounds *bounds);
int query_stats(const struct ioband_device *device, struct stats *stats);
int query_latency(const struct ioband_device *device, struct latency *latency);
int query_set(const struct ioband_device *device, const char *key, const char *value);
int query_weight(const struct ioband_device *device, const char *group, uint64_t weight);
int query_bound(const struct ioband_device *device, const char *group, enum bound bound,
		const struct bounds *bounds, unsigned int given);
int query_bounds(const struct ioband_device *device, const char *group,
		 const struct bounds *bounds);
const struct ioband_group *groups_find(const struct groups *groups, uint64_t seq);
const struct group_stats *stats_find(const struct stats *stats, uint64_t seq);
const struct group_latency *latency_find(const struct latency *latency, uint64_t seq);

#endif
