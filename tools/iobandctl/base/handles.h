/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_HANDLES_H
#define IOBANDCTL_HANDLES_H

#include <libmount.h>
#include <libudev.h>

#include "base/defs.h"

struct udev *udev_shared(void);
struct udev_device *udev_of(unsigned int major, unsigned int minor);

/* For __cleanup(). */
void close_mounts(struct libmnt_table **mounts);
void close_udev_device(struct udev_device **device);

#endif
