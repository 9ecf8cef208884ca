/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_BLOCKAGE_H
#define IOBANDCTL_BLOCKAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "host/device.h"

/**
 * struct blockage - why a device takes no I/O for now
 * @why: the reason, with the name of the device that it is about
 * @remedy: what to do
 */
struct blockage {
	struct problem why;
	struct problem remedy;
};

bool blockage_at(const struct device *device, struct blockage *found);
bool blockage_below(const struct device *device, struct blockage *found);
int blockage_check(const struct device *device);

#endif
