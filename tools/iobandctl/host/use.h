/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_USE_H
#define IOBANDCTL_USE_H

#include <stdbool.h>

#include "base/error.h"
#include "host/device.h"

struct udev_device;

bool use_of_device(const struct device *device, struct problem *use);
bool use_is_set(struct udev_device *found, const char *property);
bool use_as_path(struct udev_device *found, struct problem *use);
bool use_as_part(const struct device *device, struct problem *use);
bool use_by_process(const struct device *device, bool writes, struct problem *use);
bool use_by_root(const struct device *device, struct problem *use);
bool use_beside_root(const struct device *device, struct problem *use);
bool use_by_name(const struct device *device, struct problem *use);
bool use_by_link(const struct device *device, const char *link, struct problem *use);
bool use_by_partitions(const struct device *device, struct problem *use);
bool use_exclusive(const struct device *device, struct problem *use);
bool use_in_event(const struct device *device, bool first, bool synthetic, struct problem *use);

#endif
