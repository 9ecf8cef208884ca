// SPDX-License-Identifier: GPL-2.0-only
/*
 * The name of the ioband device over another device: "io-" and a persistent name of that device.
 * The kernel's names of disks and arrays change between boots, so they are the last choice.
 */
#include <libudev.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/handles.h"
#include "base/words.h"
#include "ioband/make.h"
#include "ioband/name.h"

#define BY_ID "/dev/disk/by-id/"

/*
 * Check whether a link of udev's is a persistent name.  Links that contain only numbers, or
 * depend on the contents of the device, are excluded: such names are for programs.
 */
bool name_is_lasting(const char *link)
{
	const char *name = text_after(link, BY_ID);

	return name && !text_begins(name, "dm-", "lvm-pv-uuid-", "md-uuid-", "nvme-eui.",
				    "nvme-nvme.", "nvme-uuid.", "wwn-");
}

/* Find the first of the device's links by id. */
static bool find_link(struct udev_device *device, char core[NAME_SIZE])
{
	struct names links __cleanup(names_free) = { .n = 0 };
	struct udev_list_entry *entry = udev_device_get_devlinks_list_entry(device);

	for (; entry; entry = udev_list_entry_get_next(entry)) {
		const char *link = udev_list_entry_get_name(entry);

		if (name_is_lasting(link))
			names_add(&links, link + strlen(BY_ID));
	}
	if (links.n)
		snprintf(core, NAME_SIZE, "%s", links.v[0]);
	return *core;
}

static bool ask_udev(const struct device *device, char core[NAME_SIZE])
{
	struct udev_device *found __cleanup(close_udev_device) =
		udev_of(device->major, device->minor);

	*core = 0;
	return found && find_link(found, core);
}

/*
 * Make the name of an ioband device.
 * @core: the name of the device below
 */
void name_join(const char *core, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "io-%s", core);
	for (char *odd = name; *odd; odd++) {
		if (!strchr(MAKE_NAME_CHARACTERS, *odd))
			*odd = '_';
	}
}

/*
 * Choose the name of the ioband device over a device.
 * @device: the device below
 * @name: the result, of valid characters, but perhaps too long
 */
void name_wrapped(const struct device *device, char name[NAME_SIZE])
{
	char label[DEVICE_NAME_SIZE], core[NAME_SIZE];

	device_label(device->major, device->minor, label);
	if (device_attribute(device->major, device->minor, "dm/name", NULL, 0) ||
	    !ask_udev(device, core))
		name_join(label, name);
	else
		name_join(core, name);
}
