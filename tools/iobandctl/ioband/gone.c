// SPDX-License-Identifier: GPL-2.0-only
/* Removal of the devices above a disk that is gone, and notice to their users. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/handles.h"
#include "base/words.h"
#include "ioband/gone.h"
#include "ioband/ioband.h"
#include "ioband/under.h"
#include "kernel/dm.h"
#include "kernel/kmsg.h"

/*
 * Check whether any device below exists, at any depth.  An array without members has lost its
 * devices.  The paths of a multipath device may return, so it counts as existing.
 */
static bool is_there(const struct device *device)
{
	struct names below __cleanup(names_free) = { .n = 0 };
	char text[MAPPER_UUID_SIZE];
	struct device next;
	bool there;

	if (device_whole_disk(device, &next))
		return is_there(&next);
	if (device_attribute(device->major, device->minor, "dm/uuid", text, sizeof(text)) &&
	    text_after(text, "mpath-"))
		return true;
	device_related(device, "slaves", &below);
	there = !below.n && !device_attribute(device->major, device->minor,
					      "md/array_state", NULL, 0);
	for (size_t i = 0; i < below.n && !there; i++)
		there = device_of_kernel_name(below.v[i], &next) && is_there(&next);
	return there;
}

/*
 * Check whether an ioband device lies over the removed device.  The number of the device below is
 * then unknown to sysfs, and its name decides if udev has recorded it.
 */
static bool is_orphan(const struct ioband_device *ioband, const char *gone)
{
	const struct device below = { .major = ioband->table.device[0],
				      .minor = ioband->table.device[1] };
	struct udev_device *found __cleanup(close_udev_device) = NULL;
	const char *over;

	if (!ioband->dm->table || under_is_inserted(ioband))
		return false;
	if (device_attribute(below.major, below.minor, "dev", NULL, 0))
		return !is_there(&below);
	found = udev_of(ioband->dm->major, ioband->dm->minor);
	over = found ? udev_device_get_property_value(found, GONE_OVER) : NULL;
	return !over || !strcmp(over, gone);
}

/* If the device still exists, udev's rules fail it in arrays and notify systemd. */
static void announce(const struct device *device)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", device->major, device->minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "change");
	close(fd);
}

/*
 * Remove a device at its last close, and notify its users that the disk is lost.  The disk and each
 * of its partitions have a cleaner, so another cleaner may have removed the device.
 */
static int drop_named(const struct device *device, const char *name)
{
	int error;

	kmsg_mark();
	error = mapper_remove(name, true);
	if (error == -ENXIO)
		return EXIT_OK;
	if (error)
		return fail(exit_code_of(-error), "cannot remove %s: %s", name,
			    kmsg_reason(-error));
	announce(device);
	return EXIT_OK;
}

static int drop(const struct ioband_device *ioband)
{
	const struct device device = { .major = ioband->dm->major, .minor = ioband->dm->minor };
	char uuid[MAPPER_UUID_SIZE], name[MAPPER_NAME_SIZE];
	struct names parts __cleanup(names_free) = { .n = 0 };
	int code = EXIT_OK;
	struct device part;

	device_related(&device, "holders", &parts);
	for (size_t i = 0; i < parts.n; i++) {
		if (device_of_kernel_name(parts.v[i], &part) &&
		    device_attribute(part.major, part.minor, "dm/uuid", uuid, sizeof(uuid)) &&
		    text_after(uuid, "part") &&
		    device_attribute(part.major, part.minor, "dm/name", name, sizeof(name)))
			code = first_failure(code, drop_named(&part, name));
	}
	return first_failure(code, drop_named(&device, ioband->dm->name));
}

/*
 * Check whether all devices below a device are gone, at any depth.  Return: true if so;
 * false if the device itself does not exist.
 */
bool gone_is_lost(const char *name)
{
	struct device device;

	return device_of_kernel_name(name, &device) && !is_there(&device);
}

/*
 * Remove the devices above a device that is gone.  This includes an ioband device over a
 * device that exists but has lost all devices below it, as a LUKS volume or an array.
 */
int gone_drop(const char *gone)
{
	struct ioband_devices devices __cleanup(ioband_free);
	int code = ioband_load(&devices);

	for (size_t i = 0; i < devices.n; i++) {
		if (is_orphan(&devices.v[i], gone))
			code = first_failure(code, drop(&devices.v[i]));
	}
	return code;
}
