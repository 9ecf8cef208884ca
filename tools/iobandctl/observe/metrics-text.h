/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_METRICS_TEXT_H
#define IOBANDCTL_METRICS_TEXT_H

#include <stdio.h>

#include "ioband/ioband.h"
#include "observe/sample.h"

/**
 * struct metrics_pool - a pool that metrics are of
 * @speaker: one of its devices
 * @sample: what its groups did
 */
struct metrics_pool {
	const struct ioband_device *speaker;
	struct sample sample;
};

/**
 * struct metrics - what there is to be told
 * @devices: all
 * @scope: only these
 * @pool: the pools in @scope
 * @n: how many
 * @openmetrics: in the format of OpenMetrics
 * @is_watched: "watch" runs
 * @now_ns: when they were read, since 1970
 * @target_version: of the kernel's target; empty if it has none
 */
struct metrics {
	struct ioband_devices devices;
	struct scope scope;
	struct metrics_pool *pool;
	size_t n;
	bool openmetrics;
	bool is_watched;
	uint64_t now_ns;
	char target_version[40];
};

void metrics_write(const struct metrics *metrics, FILE *stream);

#endif
