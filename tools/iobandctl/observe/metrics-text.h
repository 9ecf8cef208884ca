/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_METRICS_TEXT_H
#define IOBANDCTL_METRICS_TEXT_H

#include <stdio.h>

#include "ioband/ioband.h"
#include "observe/sample.h"

/* A pool that metrics are of. */
struct metrics_pool {
	const struct ioband_device *speaker;
	struct sample sample;	/* what its groups did */
};

/* What there is to be told. */
struct metrics {
	struct ioband_devices devices;
	struct scope scope;	/* only these */
	struct metrics_pool *pool;	/* the pools in @scope */
	size_t n;
	bool openmetrics;	/* in the format of OpenMetrics */
	bool is_watched;	/* "watch" runs */
	uint64_t now_ns;	/* when they were read, since 1970 */
	char target_version[40];	/* of the kernel's target; empty if it has none */
};

void metrics_write(const struct metrics *metrics, FILE *stream);

#endif
