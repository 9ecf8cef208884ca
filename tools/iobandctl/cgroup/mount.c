// SPDX-License-Identifier: GPL-2.0-only
/* Where the cgroup hierarchy is mounted that accounts block I/O. */
#include <libmount.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>

#include "base/handles.h"
#include "base/words.h"
#include "cgroup/cgroup.h"
#include "host/reach.h"

/* A mount of the whole hierarchy is better than one of a part of it. */
static bool better(struct libmnt_fs *mount, struct libmnt_fs *best)
{
	const char *root = mnt_fs_get_root(mount);

	return !best || (root && !strcmp(root, "/") && strcmp(mnt_fs_get_root(best), "/"));
}

static bool is_blkio(struct libmnt_fs *mount)
{
	const char *options = mnt_fs_get_fs_options(mount);

	return !strcmp(mnt_fs_get_fstype(mount), "cgroup") && options &&
	       mnt_match_options(options, "blkio");
}

static bool is_v2(struct libmnt_fs *mount)
{
	return !strcmp(mnt_fs_get_fstype(mount), "cgroup2");
}

static struct libmnt_fs *find(struct libmnt_table *mounts, bool (*wanted)(struct libmnt_fs *mount))
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount, *best = NULL;

	while (iter && !mnt_table_next_fs(mounts, iter, &mount)) {
		if (wanted(mount) && better(mount, best))
			best = mount;
	}
	mnt_free_iter(iter);
	return best;
}

/*
 * Look for the hierarchy that block I/O is accounted in.  The controller is in one place
 * only: in version 1 where that is mounted with blkio, else in version 2.
 */
bool hierarchy_look(struct hierarchy *hierarchy)
{
	struct libmnt_table *mounts __cleanup(close_mounts) = mnt_new_table();
	struct libmnt_fs *mount = NULL;

	if (mounts && !mnt_table_parse_mtab(mounts, NULL)) {
		hierarchy->version = 1;
		mount = find(mounts, is_blkio);
		if (!mount) {
			hierarchy->version = 2;
			mount = find(mounts, is_v2);
		}
	}
	if (mount)
		snprintf(hierarchy->root, sizeof(hierarchy->root), "%s", mnt_fs_get_target(mount));
	return mount;
}

/* Find the hierarchy that block I/O is accounted in. */
int hierarchy_find(struct hierarchy *hierarchy)
{
	if (hierarchy_look(hierarchy))
		return EXIT_OK;
	return fail(EXIT_MISSING,
		    "no cgroup hierarchy is mounted; 'mount -t cgroup2 none /sys/fs/cgroup'");
}

/* See whether a directory is a cgroup. */
bool hierarchy_is_cgroup(const char *directory)
{
	struct statfs info;

	return !reach_statfs(directory, &info) &&
	       (info.f_type == CGROUP2_SUPER_MAGIC || info.f_type == CGROUP_SUPER_MAGIC);
}
