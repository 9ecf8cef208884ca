// SPDX-License-Identifier: GPL-2.0-only
/* Block devices: their names, and their attributes in sysfs. */
#define _GNU_SOURCE
#include <blkid.h>
#include <dirent.h>
#include <errno.h>
#include <libmount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handles.h"
#include "base/infile.h"
#include "host/device.h"
#include "host/reach.h"
#include "kernel/dm.h"

#define SYSFS_SIZE 512

static void sysfs_path(unsigned int major, unsigned int minor,
		       const char *name, char path[SYSFS_SIZE])
{
	snprintf(path, SYSFS_SIZE, "/sys/dev/block/%u:%u/%s", major, minor, name);
}

/*
 * Read an attribute from sysfs.
 * @value: its text, without the newline; may be NULL
 * Return: whether the device has it.
 */
bool device_attribute(unsigned int major, unsigned int minor, const char *name,
		      char *value, size_t size)
{
	char path[SYSFS_SIZE];

	sysfs_path(major, minor, name, path);
	return infile_line(path, value, size);
}

static bool is_block_device(const char *path, struct device *device)
{
	struct stat info;

	if (reach_stat(path, &info) || !S_ISBLK(info.st_mode))
		return false;
	device->major = major(info.st_rdev);
	device->minor = minor(info.st_rdev);
	snprintf(device->path, sizeof(device->path), "%s", path);
	return true;
}

/* The usual name of a device, or its number if udev made no node of that name. */
static void find_path(struct device *device)
{
	unsigned int major = device->major, minor = device->minor;
	bool is_mapped = device_attribute(major, minor, "dm/name", NULL, 0);
	char label[DEVICE_NAME_SIZE];
	struct stat info;

	device_label(major, minor, label);
	for (char *slash = label; !is_mapped && *slash; slash++)
		*slash = *slash == '!' ? '/' : *slash;
	snprintf(device->path, sizeof(device->path), "/dev/%s%s",
		 is_mapped ? "mapper/" : "", label);
	if (!is_mapped && (stat(device->path, &info) || info.st_rdev != makedev(major, minor)))
		snprintf(device->path, sizeof(device->path), "/dev/block/%u:%u", major, minor);
}

static bool is_number(const char *spelled, struct device *device)
{
	int end = 0;

	if (sscanf(spelled, "%u:%u%n", &device->major, &device->minor, &end) != 2 || spelled[end] ||
	    !device_attribute(device->major, device->minor, "dev", NULL, 0))
		return false;
	find_path(device);
	return true;
}

static bool below(const char *directory, const char *name, struct device *device)
{
	char *path __free = xasprintf("%s/%s", directory, name);

	return is_block_device(path, device);
}

static bool is_volume(const char *spelled, struct device *device)
{
	char *group __free = NULL;
	char *name __free = NULL;
	const char *slash = strchr(spelled, '/');

	if (!slash || slash == spelled || !slash[1] || strchr(slash + 1, '/'))
		return false;
	group = xstrndup(spelled, slash - spelled);
	name = mapper_volume_name(group, slash + 1);
	return below("/dev/mapper", name, device);
}

/*
 * Find a block device by any of its names.
 * @spelled: a path, a mapper name, vg/lv, a name below /dev, or <major>:<minor>
 */
bool device_find(const char *spelled, struct device *device)
{
	if (*spelled == '/' || *spelled == '.')
		return is_block_device(spelled, device);
	return *spelled && (is_number(spelled, device) ||
			    below("/dev/mapper", spelled, device) ||
			    below("/dev", spelled, device) ||
			    is_volume(spelled, device));
}

/* A file system with anonymous device numbers (btrfs) lies on its source. */
static bool find_source(const char *path, struct device *device)
{
	struct libmnt_table *mounts __cleanup(close_mounts) = mnt_new_table();
	struct libmnt_fs *mount = NULL;
	const char *source = NULL;

	if (mounts && !mnt_table_parse_mtab(mounts, NULL))
		mount = mnt_table_find_mountpoint(mounts, path, MNT_ITER_BACKWARD);
	if (mount && !strcmp(mnt_fs_get_fstype(mount), "btrfs"))
		source = mnt_fs_get_srcpath(mount);
	return source && is_block_device(source, device);
}

/*
 * Find the block device that a file or directory lies on.
 * @path: an absolute path
 * Return: true if it was found.
 */
bool device_of_file(const char *path, struct device *device)
{
	struct stat info;
	char number[32];

	if (*path != '/' || reach_stat(path, &info))
		return false;
	if (!major(info.st_dev))
		return find_source(path, device);
	snprintf(number, sizeof(number), "%u:%u", major(info.st_dev), minor(info.st_dev));
	return device_find(number, device);
}

/*
 * Find a block device, and report an error if it does not exist.
 * @spelled: as for device_find()
 */
int device_resolve(const char *spelled, struct device *device)
{
	struct stat info;
	int error = ENOENT;

	if (device_find(spelled, device))
		return EXIT_OK;
	if (*spelled == '/')
		error = reach_stat(spelled, &info) ? errno : 0;
	if (error == EACCES)
		return fail(EXIT_DENIED, "%s: %s; run iobandctl as root", spelled, strerror(error));
	if (error == ETIMEDOUT)
		return fail(EXIT_FAILED, "%s: its file system does not answer", spelled);
	if (!error)
		return fail(EXIT_MISSING, "%s is not a block device%s", spelled,
			    S_ISREG(info.st_mode) ?
			    "; give a file a loop device with losetup" : "");
	return fail(EXIT_MISSING,
		    "there is no block device '%s'; name one by its path, as vg/lv, by its name below /dev or /dev/mapper, or as major:minor (lsblk lists them)",
		    spelled);
}

/*
 * The size of a device, and whether it is read-only.
 * @device: the device, which may not answer and is therefore not opened
 * @sectors: its size in sectors of 512 bytes
 * @read_only: true if it is read-only
 */
int device_size(const struct device *device, uint64_t *sectors, bool *read_only)
{
	char size[32], locked[8];

	if (!device_attribute(device->major, device->minor, "size", size, sizeof(size)) ||
	    !device_attribute(device->major, device->minor, "ro", locked, sizeof(locked)))
		return fail(EXIT_MISSING, "there is no device behind %s any more", device->path);
	*sectors = strtoull(size, NULL, 10);
	*read_only = strcmp(locked, "0");
	if (*sectors)
		return EXIT_OK;
	return fail(EXIT_FAILED, "%s has no size; is its medium or its backing file there?",
		    device->path);
}

/*
 * The name of a device in tables.
 * @label: the mapper name of a dm device, the kernel's name of another device, or the
 *	number of a device that does not exist
 */
void device_label(unsigned int major, unsigned int minor, char label[DEVICE_NAME_SIZE])
{
	char path[SYSFS_SIZE], target[SYSFS_SIZE];
	const char *name;
	ssize_t length;

	if (device_attribute(major, minor, "dm/name", label, DEVICE_NAME_SIZE))
		return;
	sysfs_path(major, minor, "", path);
	path[strlen(path) - 1] = 0;
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0) {
		snprintf(label, DEVICE_NAME_SIZE, "%u:%u", major, minor);
		return;
	}
	target[length] = 0;
	name = strrchr(target, '/');
	snprintf(label, DEVICE_NAME_SIZE, "%.127s", name ? name + 1 : target);
}

/* Add a name to a list unless the list has it. */
void names_add(struct names *names, const char *name)
{
	size_t place = names->n;

	for (size_t i = 0; i < names->n; i++) {
		int order = strverscmp(name, names->v[i]);

		if (!order)
			return;
		if (order < 0) {
			place = i;
			break;
		}
	}
	names->v = xgrow(names->v, names->n, sizeof(*names->v));
	memmove(&names->v[place + 1], &names->v[place], (names->n++ - place) * sizeof(*names->v));
	names->v[place] = xstrdup(name);
}

bool names_has(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (!strcmp(names->v[i], name))
			return true;
	}
	return false;
}

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct names){ .n = 0 };
}

/*
 * Find a device by the kernel's name.
 * @name: as in sysfs
 * @device: the result; its node may not exist
 */
bool device_of_kernel_name(const char *name, struct device *device)
{
	char *path __free = xasprintf("/sys/class/block/%s/dev", name);
	char number[64];
	bool found = infile_line(path, number, sizeof(number));

	return found && is_number(number, device);
}

/*
 * The devices directly below or above a device, or its partitions.
 * @relation: "slaves" (below), "holders" (above), or "" for its partitions
 * @names: receives the kernel's names
 * Return: the number of names in @names now.
 */
int device_related(const struct device *device, const char *relation, struct names *names)
{
	char path[SYSFS_SIZE], partition[SYSFS_SIZE / 2];
	struct dirent *entry;
	DIR *directory;

	sysfs_path(device->major, device->minor, relation, path);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(partition, sizeof(partition), "%.200s/partition", entry->d_name);
		if (*relation || device_attribute(device->major, device->minor, partition, NULL, 0))
			names_add(names, entry->d_name);
	}
	if (directory)
		closedir(directory);
	return names->n;
}

/*
 * Find the disk of a partition.
 * @disk: the result; its node may not exist
 * Return: whether @part is a partition.
 */
bool device_whole_disk(const struct device *part, struct device *disk)
{
	char name[DEVICE_NAME_SIZE];
	dev_t number;

	if (!device_attribute(part->major, part->minor, "partition", NULL, 0) ||
	    blkid_devno_to_wholedisk(makedev(part->major, part->minor), name,
				     sizeof(name), &number))
		return false;
	*disk = (struct device){ .major = major(number), .minor = minor(number) };
	snprintf(disk->path, sizeof(disk->path), "/dev/%s", name);
	return true;
}

/*
 * Find the physical disks below a device.
 * @disks: receives the labels of the disks
 * @passed: receives the labels of all devices on the way
 * Return: the number of names in @disks now.
 */
int device_disks(const struct device *device, struct names *disks, struct names *passed)
{
	struct names below __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct device next;

	device_label(device->major, device->minor, label);
	names_add(passed, label);
	device_related(device, "slaves", &below);
	for (size_t i = 0; i < below.n; i++) {
		if (device_of_kernel_name(below.v[i], &next))
			device_disks(&next, disks, passed);
	}
	if (!below.n) {
		if (device_whole_disk(device, &next))
			device_disks(&next, disks, passed);
		else
			names_add(disks, label);
	}
	return disks->n;
}

/*
 * Find all devices below a device.
 * @numbers: receives "<major>:<minor>" of it and of each device below, including the disks
 *	of partitions
 */
void device_stack(const struct device *device, struct names *numbers)
{
	struct names below __cleanup(names_free) = { .n = 0 };
	struct device next;
	char number[32];

	snprintf(number, sizeof(number), "%u:%u", device->major, device->minor);
	names_add(numbers, number);
	device_related(device, "slaves", &below);
	for (size_t i = 0; i < below.n; i++) {
		if (device_of_kernel_name(below.v[i], &next))
			device_stack(&next, numbers);
	}
	if (!below.n && device_whole_disk(device, &next))
		device_stack(&next, numbers);
}
