// SPDX-License-Identifier: GPL-2.0-only
/* Users of a block device, and the way to end each use. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libmount.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/handles.h"
#include "base/words.h"
#include "host/lvm.h"
#include "host/reach.h"
#include "host/use.h"
#include "kernel/dm.h"

static bool same(const struct device *device, dev_t number)
{
	return major(number) == device->major && minor(number) == device->minor;
}

/* Any user can mount a FUSE file system, with any source. */
static bool is_source_true(struct libmnt_fs *entry)
{
	const char *type = mnt_fs_get_fstype(entry);

	return !type || (strcmp(type, "fuse") && !text_after(type, "fuse."));
}

/* The number of the block device at a path; 0 if there is no such device. */
static dev_t number_at(const char *path)
{
	struct stat info;

	return path && *path == '/' && !reach_stat(path, &info) &&
	       S_ISBLK(info.st_mode) ? info.st_rdev : 0;
}

/*
 * File systems with anonymous device numbers (btrfs) and swap show their device only as the source.
 * The source of other entries may be a path that does not answer.
 */
static bool entry_is_on(struct libmnt_fs *entry, const struct device *device)
{
	dev_t number = mnt_fs_get_devno(entry);

	if (!major(number) && is_source_true(entry))
		number = number_at(mnt_fs_get_srcpath(entry));
	return same(device, number);
}

static struct libmnt_fs *find_entry(struct libmnt_table *entries, const struct device *device)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *entry = NULL;

	while (iter && !mnt_table_next_fs(entries, iter, &entry)) {
		if (entry_is_on(entry, device))
			break;
		entry = NULL;
	}
	mnt_free_iter(iter);
	return entry;
}

static bool is_mounted(const struct device *device, struct problem *use)
{
	struct libmnt_table *mounts __cleanup(close_mounts) = mnt_new_table();
	struct libmnt_fs *mount = NULL;

	if (mounts && !mnt_table_parse_mtab(mounts, NULL))
		mount = find_entry(mounts, device);
	if (mount)
		problem_set(use, "it is mounted on %s; 'umount' it first",
			    mnt_fs_get_target(mount));
	return mount;
}

static bool is_swap(const struct device *device, struct problem *use)
{
	struct libmnt_table *swaps __cleanup(close_mounts) = mnt_new_table();
	bool found = swaps && !mnt_table_parse_swaps(swaps, NULL) && find_entry(swaps, device);

	if (found)
		problem_set(use, "swap is on it; 'swapoff %s' first", device->path);
	return found;
}

static bool has_holder(const struct device *device, struct problem *use)
{
	struct names holders __cleanup(names_free) = { .n = 0 };
	struct device holder;
	char label[DEVICE_NAME_SIZE] = "";

	if (device_related(device, "holders", &holders)) {
		snprintf(label, sizeof(label), "%s", holders.v[0]);
		if (device_of_kernel_name(label, &holder))
			device_label(holder.major, holder.minor, label);
		problem_set(use,
			    "device %s lies on it; take that down first (lsblk shows it)",
			    label);
	}
	return *label;
}

/* The table of mounts has only one of the devices of a btrfs file system. */
static bool is_in_btrfs(const struct device *device, struct problem *use)
{
	struct device part;
	glob_t parts;
	bool is = false;

	if (glob("/sys/fs/btrfs/*/devices/*", GLOB_NOSORT, NULL, &parts))
		return false;
	for (size_t i = 0; i < parts.gl_pathc && !is; i++)
		is = device_of_kernel_name(strrchr(parts.gl_pathv[i], '/') + 1, &part) &&
		     same(device, makedev(part.major, part.minor));
	globfree(&parts);
	if (is)
		problem_set(use,
			    "a btrfs file system over several devices lies on it; 'umount' that first");
	return is;
}

static bool is_used(const struct device *device, struct problem *use)
{
	return has_holder(device, use) || is_mounted(device, use) ||
	       is_swap(device, use) || is_in_btrfs(device, use);
}

static bool has_used_partition(const struct device *device, struct problem *use)
{
	struct names partitions __cleanup(names_free) = { .n = 0 };
	struct problem inner;
	struct device partition;
	bool found = false;

	device_related(device, "", &partitions);
	for (size_t i = 0; i < partitions.n && !found; i++) {
		found = device_of_kernel_name(partitions.v[i], &partition) &&
			is_used(&partition, &inner);
		if (found)
			problem_set(use, "its partition %s is in use: %.400s",
				    partitions.v[i], inner.text);
	}
	return found;
}

/*
 * Check whether a device is in use.
 * @use: the user, and a remedy
 *
 * Finds mounts, swap and devices above it, and the same for its partitions.
 */
bool use_of_device(const struct device *device, struct problem *use)
{
	return is_used(device, use) || has_used_partition(device, use);
}

/* Check whether udev has set a property to 1. */
bool use_is_set(struct udev_device *found, const char *property)
{
	const char *value = udev_device_get_property_value(found, property);

	return value && !strcmp(value, "1");
}

/*
 * Check whether a device is a path of a multipath device.
 * @found: the device, with the properties that udev's rules have given it
 * @use: a remedy
 *
 * The rules of multipath-tools mark a path, and its partitions, when it appears.  multipathd makes
 * the device over it later, and could not use a path with ioband on it.  The rules of ioband hide a
 * disk by the same mark.
 */
bool use_as_path(struct udev_device *found, struct problem *use)
{
	bool is = use_is_set(found, "DM_MULTIPATH_DEVICE_PATH") &&
		  !use_is_set(found, "IOBAND_WRAP");

	if (is)
		problem_set(use,
			    "it is a path of a multipath device; wrap that device ('multipath -ll' lists it), or exclude the path in multipath.conf(5)");
	return is;
}

static bool is_lvm_part(const struct device *device, struct problem *use)
{
	char uuid[MAPPER_UUID_SIZE];
	bool is = device_attribute(device->major, device->minor, "dm/uuid",
				   uuid, sizeof(uuid)) && lvm_is_part(uuid);

	if (is)
		problem_set(use,
			    "it is a hidden part of a logical volume; 'iobandctl insert' is for such parts");
	return is;
}

/*
 * Check whether a device is a part of another one, which may not exist yet.
 * @use: a remedy
 *
 * Finds paths of multipath devices, and hidden parts of logical volumes.  A member of an array does
 * not count: the array can be assembled from ioband devices.
 */
bool use_as_part(const struct device *device, struct problem *use)
{
	struct udev_device *found __cleanup(close_udev_device) =
		udev_of(device->major, device->minor);

	return is_lvm_part(device, use) || (found && use_as_path(found, use));
}

/* A file system with anonymous device numbers (btrfs) lies on its source. */
static bool find_root(struct device *device)
{
	struct libmnt_table *mounts __cleanup(close_mounts) = mnt_new_table();
	struct libmnt_fs *root = NULL;
	char number[32];
	bool found = false;

	if (mounts && !mnt_table_parse_mtab(mounts, NULL))
		root = mnt_table_find_target(mounts, "/", MNT_ITER_BACKWARD);
	if (root) {
		dev_t devno = mnt_fs_get_devno(root);

		if (!major(devno))
			devno = number_at(mnt_fs_get_srcpath(root));
		snprintf(number, sizeof(number), "%u:%u", major(devno), minor(devno));
		found = device_find(number, device);
	}
	return found;
}

static bool is_below_root(const struct device *device)
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct device root;
	bool found = false;

	device_label(device->major, device->minor, label);
	if (find_root(&root)) {
		device_disks(&root, &disks, &passed);
		found = names_has(&passed, label);
	}
	return found;
}

/* Check whether the running root file system lies on a device. */
bool use_by_root(const struct device *device, struct problem *use)
{
	bool found = is_below_root(device);

	if (found)
		problem_set(use,
			    "the root file system that runs lies on it; 'iobandctl insert' can put ioband under that, if it is on a dm device");
	return found;
}

/*
 * Check whether a device is a partition of root's disk.
 * @use: the disk, and a remedy
 *
 * Boot loaders and systemd find /boot and the ESP on that disk without an entry in any
 * table, and do not know ioband devices.  Since root itself is never wrapped, little I/O on
 * that disk could be shared anyway.
 */
bool use_beside_root(const struct device *device, struct problem *use)
{
	struct device disk;
	bool found = device_whole_disk(device, &disk) && is_below_root(&disk);

	if (found)
		problem_set(use,
			    "it is a partition of %s, on which the root file system that runs lies; a section that names it under 'device' has it wrapped",
			    disk.path);
	return found;
}

static bool is_in_fstab(const char *path)
{
	struct libmnt_table *fstab __cleanup(close_mounts) = mnt_new_table();

	return fstab && !mnt_table_parse_fstab(fstab, NULL) &&
	       mnt_table_find_srcpath(fstab, path, MNT_ITER_FORWARD);
}

/* The device is the second word of a line, after the name of the volume. */
static bool is_in_crypttab(const char *path)
{
	FILE *file __cleanup(close_file) = fopen("/etc/crypttab", "re");
	char *line __free = NULL;
	char *rest, *word;
	bool found = false;
	size_t size = 0;

	while (file && !found && getline(&line, &size, file) > 0) {
		word = strtok_r(line, " \t\n", &rest);
		if (!word || *word == '#')
			continue;
		word = strtok_r(NULL, " \t\n", &rest);
		found = word && !strcmp(word, path);
	}
	return found;
}

static bool is_called(const char *path, struct problem *use)
{
	const char *table = is_in_fstab(path) ? "fstab" : is_in_crypttab(path) ? "crypttab" : NULL;

	if (table)
		problem_set(use,
			    "%s(5) calls it %s, which is never the name of an ioband device; write UUID=, /dev/disk/by-id or, of a volume, /dev/VG/LV there",
			    table, path);
	return table;
}

/* The path in udev's rules; the Makefile may define another. */
#ifndef KPARTX
#define KPARTX "/sbin/kpartx"
#endif

/*
 * Check whether wrapping a device would lose its partitions.
 * @use: the reason, and a remedy
 *
 * The kernel's partitions are hidden with the disk; only kpartx maps them on the ioband
 * device.  Without kpartx, no name in a table would find them.
 */
bool use_by_partitions(const struct device *device, struct problem *use)
{
	struct names parts __cleanup(names_free) = { .n = 0 };
	bool lost = device_related(device, "", &parts) && access(KPARTX, X_OK);

	if (lost)
		problem_set(use,
			    "it has partitions, which only kpartx(8) maps on an ioband device; install that");
	return lost;
}

/*
 * Check whether a table has a device by a name that does not move.
 * @device: the device; its partitions count
 * @use: the name, and a remedy
 *
 * fstab or crypttab could not find a wrapped device by such a name.  UUID=, LABEL=, PARTUUID= and
 * PARTLABEL= are safe: udev's rules make their links point to the ioband device.
 */
bool use_by_name(const struct device *device, struct problem *use)
{
	bool found = is_called(device->path, use);
	struct names parts __cleanup(names_free) = { .n = 0 };
	struct device part;

	device_related(device, "", &parts);
	for (size_t i = 0; i < parts.n && !found; i++)
		found = device_of_kernel_name(parts.v[i], &part) && is_called(part.path, use);
	return found;
}

/*
 * Check whether a table has a device by a link that does not move.
 * @device: the device; its partitions count
 * @use: the link found, and a remedy
 *
 * udev names the link of a partition after the link of its disk, followed by p and the
 * number.  The p is absent if the link of the disk does not end with a digit.
 */
bool use_by_link(const struct device *device, const char *link, struct problem *use)
{
	const char *p = isdigit((unsigned char)link[strlen(link) - 1]) ? "p" : "";
	bool found = is_called(link, use);
	struct names parts __cleanup(names_free) = { .n = 0 };
	char number[16], *path;
	struct device part;

	device_related(device, "", &parts);
	for (size_t i = 0; i < parts.n && !found; i++) {
		if (!device_of_kernel_name(parts.v[i], &part) ||
		    !device_attribute(part.major, part.minor, "partition",
				      number, sizeof(number)))
			continue;
		path = xasprintf("%s%s%s", link, p, number);
		found = is_called(path, use);
		free(path);
	}
	return found;
}

/*
 * Use cached attributes only: a file server may not answer.  The mode of a link in
 * /proc/PID/fd is that of its open file.
 */
static bool file_is(int files, const char *name, const struct device *device, bool writes)
{
	struct statx info;
	struct stat link;

	return !statx(files, name, AT_STATX_DONT_SYNC, STATX_TYPE, &info) &&
	       S_ISBLK(info.stx_mode) &&
	       same(device, makedev(info.stx_rdev_major, info.stx_rdev_minor)) &&
	       (!writes || (!fstatat(files, name, &link, AT_SYMLINK_NOFOLLOW) &&
			    link.st_mode & 0200));
}

static bool process_has_open(int process, const struct device *device, bool writes)
{
	struct dirent *entry;
	bool found = false;
	DIR *files;
	int fd;

	fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files = fd < 0 ? NULL : fdopendir(fd);
	while (files && !found && (entry = readdir(files)))
		found = file_is(dirfd(files), entry->d_name, device, writes);
	if (files)
		closedir(files);
	return found;
}

static void process_name(int process, char name[64])
{
	int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, name, 63);

	name[length < 0 ? 0 : length] = 0;
	name[strcspn(name, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

static bool check_process(DIR *processes, const char *pid, const struct device *device, bool writes,
			  struct problem *use)
{
	int process = openat(dirfd(processes), pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = process >= 0 && process_has_open(process, device, writes);
	char name[64];

	if (found) {
		process_name(process, name);
		found = !strstr(name, "udev");	/* udev opens devices only briefly */
		problem_set(use, "process %s (%s) has it open", pid, name);
	}
	if (process >= 0)
		close(process);
	return found;
}

/*
 * Check whether a process has a device open.
 * @writes: only files that are open for writing count
 * Return: true if so; udev's processes do not count.
 */
bool use_by_process(const struct device *device, bool writes, struct problem *use)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (processes && !found && (entry = readdir(processes)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			check_process(processes, entry->d_name, device, writes, use);
	if (processes)
		closedir(processes);
	return found;
}

/*
 * The only way to detect exclusive use is an open with O_EXCL.  While that open lasts, mkfs and
 * mount fail with EBUSY.  Two steps are slow: a driver may take long for the first open, and the
 * last close writes back the page cache of the device.  Therefore a shared open surrounds the
 * exclusive one, which lasts only microseconds.
 */
static int open_exclusive(const void *path, void *answer)
{
	int shared = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;

	(void)answer;
	if (fd >= 0)
		close(fd);
	if (shared >= 0)
		close(shared);
	return error;
}

/*
 * Check whether a device is in exclusive use.
 * @use: the user, and a remedy
 *
 * Finds users that use_of_device() cannot see: mounts in other namespaces, file systems
 * over several devices, processes that opened it with O_EXCL.  A device that cannot be
 * opened within a second also counts as in use.
 */
bool use_exclusive(const struct device *device, struct problem *use)
{
	int error = reach_run(open_exclusive, device->path, NULL, 0);

	if (error == -ETIMEDOUT) {
		problem_set(use, "it does not answer: opening it did not end within a second");
		return true;
	}
	if (error != -EBUSY)
		return false;
	if (!use_by_process(device, false, use))
		problem_set(use,
			    "the kernel holds it exclusively: a file system over several devices, a mount in another namespace or container, a RAID member, or an iSCSI or NVMe target; find and stop that first");
	return true;
}

/*
 * Check for users of a device in an event of udev, beyond use_of_device().
 * @first: it is the first event of the device since the boot
 * @synthetic: the event does not come from the driver, but from a request, or from udev after a
 *	process has written to the device
 * @use: the user, and a remedy
 *
 * O_EXCL could fail an mkfs, which opens the device in the same way.  It is safe only in the
 * first event, before which no program has seen the device.  A process that writes is a user,
 * except in events from the driver: these may come while a maker of the device, such as losetup
 * or mdadm, still has it open.  If the kernel uses the device, the table of ioband cannot be
 * loaded, and the unit leaves the device alone.
 */
bool use_in_event(const struct device *device, bool first, bool synthetic, struct problem *use)
{
	if (first)
		return use_exclusive(device, use);
	return synthetic && use_by_process(device, true, use);
}
