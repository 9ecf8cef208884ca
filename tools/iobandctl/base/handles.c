// SPDX-License-Identifier: GPL-2.0-only
/* Handles of libraries. */
#include <sys/sysmacros.h>

#include "base/handles.h"

/* The one handle of libudev, or NULL; it lasts until the program ends. */
struct udev *udev_shared(void)
{
	static struct udev *udev;

	if (!udev)
		udev = udev_new();
	return udev;
}

/* A block device in udev's database, or NULL. */
struct udev_device *udev_of(unsigned int major, unsigned int minor)
{
	struct udev *udev = udev_shared();

	return udev ? udev_device_new_from_devnum(udev, 'b', makedev(major, minor)) : NULL;
}

void close_mounts(struct libmnt_table **mounts)
{
	mnt_unref_table(*mounts);
}

void close_udev_device(struct udev_device **device)
{
	udev_device_unref(*device);
}
