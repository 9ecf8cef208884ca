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

/* If both set a key, the later file wins. */
static const char *const files[] = { "/etc/lvm/lvm.conf", "/etc/lvm/lvmlocal.conf" };

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
static bool is_property(struct udev *udev, const struct device *device,
			const char *name, const char *value)
{
	struct udev_device *found =
		udev_device_new_from_devnum(udev, 'b', makedev(device->major, device->minor));
	const char *its = found ? udev_device_get_property_value(found, name) : NULL;
	bool is = its && (!value || !strcmp(its, value));

	udev_device_unref(found);
	return is;
}

/* Find the value of a key in a line that sets it; NULL otherwise. */
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

/* Check whether LVM's configuration sets a key to a value with this prefix. */
static bool is_set(const char *key, const char *value)
{
	char *line __free = NULL;
	bool set = false;
	size_t size = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *file __cleanup(close_file) = fopen(files[i], "re");

		while (file && getline(&line, &size, file) > 0) {
			const char *found = value_in(line, key);

			if (found)
				set = text_after(found, value);
		}
	}
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
 * udev knows about a physical volume, unless it hides the device or has not yet
 * scanned it.  In these cases the device is read, provided that it answers.
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

/*
 * Check whether a physical volume is on a device.  Return: 0, or a negative errno;
 * -ETIMEDOUT if the device does not answer.
 */
int lvm_is_member(const struct device *device, bool *is)
{
	struct udev *udev __cleanup(close_udev) = udev_new();

	return udev ? look_at(udev, device, is) : -ENOMEM;
}

/* Find the physical volume on the device, or on the first such partition. */
static int find_member(struct udev *udev, const struct device *device,
		       struct device *member, bool *found)
{
	int error = look_at(udev, device, found);
	struct names parts __cleanup(names_free) = { .n = 0 };

	*member = *device;
	if (!error && !*found)
		device_related(device, "", &parts);
	for (size_t i = 0; i < parts.n && !*found && !error; i++) {
		if (device_of_kernel_name(parts.v[i], member))
			error = look_at(udev, member, found);
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
	enum lvm_sight sight = LVM_ONCE;
	struct udev *udev __cleanup(close_udev) = udev_new();
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
	return sight;
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
