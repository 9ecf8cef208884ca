// SPDX-License-Identifier: GPL-2.0-only
/*
 * How LVM sees a physical volume on a device that is wrapped: it is on the device below
 * as well, and LVM's commands, which look at all devices, find it there too, unless they
 * are told otherwise in lvm.conf(5).
 */
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "dm.h"
#include "lvm.h"

/* The later of two that set a key goes. */
static const char *const files[] = {
	"/etc/lvm/lvm.conf",
	"/etc/lvm/lvmlocal.conf",
};

/**
 * lvm_owns() - see whether a device of device-mapper is one of LVM's
 * @uuid: its UUID
 *
 * Return: whether it is.
 */
bool lvm_owns(const char *uuid)
{
	return !strncmp(uuid, MAPPER_LVM_UUID_PREFIX,
			strlen(MAPPER_LVM_UUID_PREFIX));
}

/* Whether udev has this of a device; NULL is for any value. */
static bool is_property(struct udev *udev, const uint64_t number[2],
			const char *name, const char *value)
{
	struct udev_device *device =
		udev_device_new_from_devnum(udev, 'b',
					    makedev(number[0], number[1]));
	const char *its =
		device ? udev_device_get_property_value(device, name) : NULL;
	bool is = its && (!value || !strcmp(its, value));

	udev_device_unref(device);
	return is;
}

/* Where the value of a key begins in a line that sets it, else NULL. */
static const char *value_in(char *line, const char *key)
{
	const char *found = line;

	line[strcspn(line, "#\n")] = 0;
	while ((found = strstr(found, key))) {
		bool begins = found == line || strchr(" \t{/", found[-1]);

		found += strlen(key);
		found += strspn(found, " \t");
		if (begins && *found == '=')
			return found + 1 + strspn(found + 1, " \t");
	}
	return NULL;
}

/* Whether LVM's configuration sets a key, to a value that begins so. */
static bool is_set(const char *key, const char *value)
{
	char *line = NULL;
	bool set = false;
	size_t size = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *file = fopen(files[i], "re");

		while (file && getline(&line, &size, file) > 0) {
			const char *found = value_in(line, key);

			if (found)
				set = !strncmp(found, value, strlen(value));
		}
		if (file)
			fclose(file);
	}
	free(line);
	return set;
}

/**
 * lvm_sight() - see whether LVM takes a physical volume for two
 * @ioband: the ioband device that it may be on
 *
 * Volumes of LVM are passed over by it, so that those below do not count.  Who has set a
 * filter or uses a devices file is taken to know what he does.
 *
 * Return: what LVM sees.
 */
enum lvm_sight lvm_sight(const struct ioband_device *ioband)
{
	const uint64_t above[2] = { ioband->dm->major, ioband->dm->minor };
	const uint64_t *below = ioband->table.device;
	enum lvm_sight sight = LVM_ONCE;
	struct udev *udev = udev_new();
	bool hidden;

	if (!udev)
		return LVM_ONCE;
	hidden = is_property(udev, below, "DM_MULTIPATH_DEVICE_PATH", "1");
	if (is_property(udev, above, "ID_FS_TYPE", "LVM2_member") &&
	    !is_property(udev, below, "DM_VG_NAME", NULL) &&
	    !is_set("global_filter", "[") && !is_set("filter", "[") &&
	    !is_set("use_devicesfile", "1") &&
	    !(hidden && is_set("external_device_info_source", "\"udev\"")))
		sight = hidden ? LVM_TWICE_HIDDEN : LVM_TWICE;
	udev_unref(udev);
	return sight;
}
