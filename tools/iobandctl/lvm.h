/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_LVM_H
#define IOBANDCTL_LVM_H

#include "ioband.h"

/**
 * enum lvm_sight - what LVM sees of a physical volume on an ioband device
 * @LVM_ONCE: it is one volume to it, or there is none
 * @LVM_TWICE: it is there twice, and nothing tells LVM which one counts
 * @LVM_TWICE_HIDDEN: the same, but udev could tell
 */
enum lvm_sight { LVM_ONCE, LVM_TWICE, LVM_TWICE_HIDDEN };

bool lvm_owns(const char *uuid);
enum lvm_sight lvm_sight(const struct ioband_device *ioband);

#endif
