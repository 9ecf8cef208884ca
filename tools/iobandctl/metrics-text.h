/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_METRICS_TEXT_H
#define IOBANDCTL_METRICS_TEXT_H

#include <stdio.h>

#include "ioband.h"
#include "sample.h"

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
 */
struct metrics {
	struct ioband_devices devices;
	struct scope scope;
	struct metrics_pool *pool;
	size_t n;
};

void metrics_write(const struct metrics *metrics, FILE *stream);

#endif
