/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_BLOCKAGE_H
#define IOBANDCTL_BLOCKAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "host/device.h"

/* Why a device takes no I/O for now. */
struct blockage {
	struct problem why;	/* the reason, with the name of the device that it is about */
	struct problem remedy;	/* what to do */
};

bool blockage_at(const struct device *device, struct blockage *found);
bool blockage_below(const struct device *device, struct blockage *found);
bool blockage_reason(const struct device *device, struct problem *reason);
int blockage_check(const struct device *device);
int blockage_try(const struct device *device);

#endif
