/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_LAYER_H
#define IOBANDCTL_LAYER_H

#include <stdbool.h>

#include "base/error.h"
#include "host/device.h"

/* A layer above a device that has one queue for the bios of all its users. */
struct layer {
	struct problem what;	/* its name, with its kind */
	struct problem remedy;	/* how to put ioband above it */
};

extern const char layer_cost[];

bool layer_above(const struct device *device, struct layer *found);
bool layer_hides_key(const char *words);

#endif
