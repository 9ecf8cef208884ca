// SPDX-License-Identifier: GPL-2.0-only
/*
 * LVM and a physical volume on a wrapped device.  The physical volume is also
 * visible on the device below.  LVM's commands scan all devices and find it
 * there too, unless lvm.conf(5) excludes that device.
 */
#include <blkid.h>
#include <errno.h>
#include <libudev.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handles.h"
#include "base/words.h"
#include "host/blockage.h"
#include "host/lvm.h"
#include "host/reach.h"
#include "kernel/dm.h"

#define MEMBER "LVM2_member"	/* the name in blkid and udev */

/* If both set a key, the first file wins. */
static const char *const files[] = { "/etc/lvm/lvmlocal.conf", "/etc/lvm/lvm.conf" };

/* Check whether a dm device belongs to LVM. */
bool lvm_owns(const char *uuid)
{
	return text_after(uuid, MAPPER_LVM_UUID_PREFIX);
}

/*
 * Check whether a dm device is a hidden part of an LVM volume.
 * @uuid: its UUID; for a part it has a suffix after the ID of the volume
 */
bool lvm_is_part(const char *uuid)
{
	return lvm_owns(uuid) && strlen(uuid) > strlen(MAPPER_LVM_UUID_PREFIX) + 2 * LVM_ID;
}

/* The remedies for a disk that udev hides, and for a disk that it does not hide. */
#define ASK_UDEV							\
	"have them ask udev, once: "					\
	"echo 'devices/external_device_info_source=\"udev\"' >>/etc/lvm/lvmlocal.conf"
#define FILTER								\
	"name the disk in ioband.conf(5), so that udev's rules hide it; "	\
	"until then give each of them: --config 'devices/global_filter=[\"r|^%s$|\"]'"

/* Check whether udev has a property of a device; NULL matches any value. */
static bool is_property(const struct device *device, const char *name, const char *value)
{
	struct udev_device *found __cleanup(close_udev_device) =
		udev_of(device->major, device->minor);
	const char *its = found ? udev_device_get_property_value(found, name) : NULL;

	return its && (!value || !strcmp(its, value));
}

/* Check whether LVM's configuration sets a key to a value; NULL matches any value. */
static bool is_set(const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *its __free = mapper_config_value(files[i], key);

		if (its)
			return !value || !strcmp(its, value);
	}
	return false;
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
 * Check whether a physical volume is on a device.  udev knows, unless it hides the device or has
 * not yet scanned it.  In these cases the device is read, provided that it answers.
 * Return: 0, or a negative errno; -ETIMEDOUT if the device does not answer.
 */
int lvm_is_member(const struct device *device, bool *is)
{
	struct blockage blockage;

	*is = is_property(device, "ID_FS_TYPE", MEMBER);
	if (*is)
		return 0;
	return blockage_below(device, &blockage) ? -ETIMEDOUT :
	       reach_run(probe, device->path, is, sizeof(*is));
}

/* Find the physical volume on the device, or on the first such partition. */
static int find_member(const struct device *device, struct device *member, bool *found)
{
	int error = lvm_is_member(device, found);
	struct names parts __cleanup(names_free) = { .n = 0 };

	*member = *device;
	if (!error && !*found)
		device_related(device, "", &parts);
	for (size_t i = 0; i < parts.n && !*found && !error; i++) {
		if (device_of_kernel_name(parts.v[i], member))
			error = lvm_is_member(member, found);
	}
	return error;
}

/*
 * Check whether LVM sees a physical volume twice.
 * @below: the device below an ioband device
 * @member: the device or partition with the physical volume, unless LVM sees only one
 *
 * LVM skips its own logical volumes, so a @below of that kind does not count.  A filter or
 * a devices file in LVM's configuration is assumed to be right.
 * Return: the kind of duplicate; LVM_UNKNOWN if @member does not answer.
 */
enum lvm_sight lvm_sight(const struct device *below, struct device *member)
{
	bool hidden = is_property(below, "DM_MULTIPATH_DEVICE_PATH", "1"), found;

	if (is_property(below, "DM_VG_NAME", NULL) ||
	    is_set("devices/global_filter", NULL) || is_set("devices/filter", NULL) ||
	    is_set("devices/use_devicesfile", "1") ||
	    (hidden && is_set("devices/external_device_info_source", "udev")))
		return LVM_ONCE;
	if (find_member(below, member, &found))
		return LVM_UNKNOWN;
	if (!found)
		return LVM_ONCE;
	return hidden ? LVM_TWICE_HIDDEN : LVM_TWICE;
}

/*
 * The remedy for a duplicate physical volume.
 *
 * A disk that udev does not hide is wrapped only until the next boot, and LVM needs it
 * after that.  The remedy for it must therefore not be permanent.
 * Return: a sentence, to be freed.
 */
char *lvm_remedy(enum lvm_sight sight, const struct device *member)
{
	return sight == LVM_TWICE_HIDDEN ? xstrdup(ASK_UDEV) : xasprintf(FILTER, member->path);
}

/*
 * Note the options that LVM's commands need from now on.
 * @below: the device below a new ioband device
 */
void lvm_tell(const struct device *below)
{
	char *remedy __free = NULL;
	struct device member;
	enum lvm_sight sight = lvm_sight(below, &member);

	if (sight == LVM_ONCE || sight == LVM_UNKNOWN)
		return;
	remedy = lvm_remedy(sight, &member);
	note("note: LVM's commands see the physical volume on %s twice, and refuse work: %s",
	     member.path, remedy);
}
