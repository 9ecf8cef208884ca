// SPDX-License-Identifier: GPL-2.0-only
/*
 * How LVM sees a physical volume on a device that is wrapped: it is on the device below
 * as well, and LVM's commands, which look at all devices, find it there too, unless they
 * are told otherwise in lvm.conf(5).
 */
#include <blkid.h>
#include <errno.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/blockage.h"
#include "host/lvm.h"
#include "host/reach.h"
#include "kernel/dm.h"

#define MEMBER "LVM2_member"	/* as blkid and udev call it */

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

/**
 * lvm_is_part() - see whether a device of device-mapper is a part of a volume of LVM's
 * @uuid: its UUID
 *
 * Return: whether it is: those of volumes end with what names the volume.
 */
bool lvm_is_part(const char *uuid)
{
	return lvm_owns(uuid) &&
	       strlen(uuid) > strlen(MAPPER_LVM_UUID_PREFIX) + 2 * LVM_ID;
}

/* What LVM needs for a disk that udev hides, and for one that it does not. */
#define ASK_UDEV							\
	"have them ask udev, once: "					\
	"echo 'devices/external_device_info_source=\"udev\"' >>/etc/lvm/lvmlocal.conf"
#define FILTER								\
	"name the disk in ioband.conf(5), so that udev's rules hide it; "	\
	"until then give each of them: --config 'devices/global_filter=[\"r|^%s$|\"]'"

/* Whether udev has this of a device; NULL is for any value. */
static bool is_property(struct udev *udev, const struct device *device,
			const char *name, const char *value)
{
	struct udev_device *found =
		udev_device_new_from_devnum(udev, 'b',
					    makedev(device->major,
						    device->minor));
	const char *its =
		found ? udev_device_get_property_value(found, name) : NULL;
	bool is = its && (!value || !strcmp(its, value));

	udev_device_unref(found);
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

static int probe(const void *path, void *answer)
{
	blkid_probe probe = blkid_new_probe_from_filename(path);
	const char *type;

	*(bool *)answer = probe && !blkid_do_safeprobe(probe) &&
			  !blkid_probe_lookup_value(probe, "TYPE", &type, NULL) &&
			  !strcmp(type, MEMBER);
	blkid_free_probe(probe);
	return 0;
}

/*
 * udev has seen a physical volume, unless the device is hidden, or udev is not done with
 * it.  Then the device is read, if it answers.
 */
static int look_at(struct udev *udev, const struct device *device, bool *is)
{
	struct blockage blockage;

	*is = is_property(udev, device, "ID_FS_TYPE", MEMBER);
	if (*is)
		return 0;
	return blockage_below(device, &blockage) ? -ETIMEDOUT :
	       reach_run(probe, device->path, is, sizeof(*is));
}

/**
 * lvm_is_member() - see whether a physical volume is on a device
 * @device: the device
 * @is: the result
 *
 * Return: 0, or a negative errno; -ETIMEDOUT if the device does not answer.
 */
int lvm_is_member(const struct device *device, bool *is)
{
	struct udev *udev = udev_new();
	int error = udev ? look_at(udev, device, is) : -ENOMEM;

	udev_unref(udev);
	return error;
}

/* The device, or the first partition of it, that a physical volume is on. */
static int find_member(struct udev *udev, const struct device *device,
		       struct device *member, bool *found)
{
	int error = look_at(udev, device, found);
	struct names parts = { .n = 0 };

	*member = *device;
	if (!error && !*found)
		device_related(device, "", &parts);
	for (size_t i = 0; i < parts.n && !*found && !error; i++) {
		if (device_of_kernel_name(parts.v[i], member))
			error = look_at(udev, member, found);
	}
	names_free(&parts);
	return error;
}

/**
 * lvm_sight() - see whether LVM takes a physical volume for two
 * @below: the device below an ioband device
 * @member: the result unless LVM sees one: what that is on, which may be a partition
 *
 * Volumes of LVM are passed over by it, so that those below do not count.  Who has set a
 * filter or uses a devices file is taken to know what he does.
 *
 * Return: what LVM sees; LVM_UNKNOWN if @member does not answer.
 */
enum lvm_sight lvm_sight(const struct device *below, struct device *member)
{
	enum lvm_sight sight = LVM_ONCE;
	struct udev *udev = udev_new();
	bool hidden, found;

	if (!udev)
		return LVM_ONCE;
	hidden = is_property(udev, below, "DM_MULTIPATH_DEVICE_PATH", "1");
	if (!is_property(udev, below, "DM_VG_NAME", NULL) &&
	    !is_set("global_filter", "[") && !is_set("filter", "[") &&
	    !is_set("use_devicesfile", "1") &&
	    !(hidden && is_set("external_device_info_source", "\"udev\""))) {
		if (find_member(udev, below, member, &found))
			sight = LVM_UNKNOWN;
		else if (found)
			sight = hidden ? LVM_TWICE_HIDDEN : LVM_TWICE;
	}
	udev_unref(udev);
	return sight;
}

/**
 * lvm_remedy() - what makes LVM see one
 * @sight: what it sees
 * @member: what lvm_sight() found
 *
 * Nothing that lasts may speak of a disk that udev does not hide: it is wrapped until the
 * next boot only, and LVM needs it then.
 *
 * Return: a sentence, to be freed.
 */
char *lvm_remedy(enum lvm_sight sight, const struct device *member)
{
	return sight == LVM_TWICE_HIDDEN ? xstrdup(ASK_UDEV) :
					   xasprintf(FILTER, member->path);
}

/**
 * lvm_tell() - say what commands of LVM need from now on
 * @below: the device below a new ioband device
 */
void lvm_tell(const struct device *below)
{
	struct device member;
	enum lvm_sight sight = lvm_sight(below, &member);
	char *remedy;

	if (sight == LVM_ONCE || sight == LVM_UNKNOWN)
		return;
	remedy = lvm_remedy(sight, &member);
	note("note: LVM's commands see the physical volume on %s twice, and refuse work: %s",
	     member.path, remedy);
	free(remedy);
}
