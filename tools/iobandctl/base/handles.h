/* SPDX-License-Identifier: GPL-2.0-only */
/* Handles of libraries, for __cleanup(). */
#ifndef IOBANDCTL_HANDLES_H
#define IOBANDCTL_HANDLES_H

#include <libmount.h>
#include <libudev.h>

#include "base/defs.h"

static inline void close_mounts(struct libmnt_table **mounts)
{
	mnt_unref_table(*mounts);
}

static inline void close_udev(struct udev **udev)
{
	udev_unref(*udev);
}

static inline void close_udev_device(struct udev_device **device)
{
	udev_device_unref(*device);
}

#endif
