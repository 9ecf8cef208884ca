/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_LVM_H
#define IOBANDCTL_LVM_H

#include <stdbool.h>

#include "host/device.h"

#define LVM_ID 32	/* bytes in the UUID of a volume group or of a volume */

/**
 * enum lvm_sight - what LVM sees of a physical volume on an ioband device, or on a partition
 * @LVM_ONCE: it is one volume to it, or there is none
 * @LVM_TWICE: it is there twice, and nothing tells LVM which one counts
 * @LVM_TWICE_HIDDEN: the same, but udev could tell
 * @LVM_UNKNOWN: the device did not answer when it was read
 */
enum lvm_sight { LVM_ONCE, LVM_TWICE, LVM_TWICE_HIDDEN, LVM_UNKNOWN };

bool lvm_owns(const char *uuid);
bool lvm_is_part(const char *uuid);
int lvm_is_member(const struct device *device, bool *is);
enum lvm_sight lvm_sight(const struct device *below, struct device *member);
char *lvm_remedy(enum lvm_sight sight, const struct device *member);
void lvm_tell(const struct device *below);

#endif
