/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_CGROUP_H
#define IOBANDCTL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CGROUP_PATH_SIZE 4096

/* The cgroup hierarchy that block I/O is accounted in. */
struct hierarchy {
	int version;	/* 2, or 1 where the blkio controller is mounted */
	char root[CGROUP_PATH_SIZE];	/* where it is mounted */
};

/* mount.c */
bool hierarchy_look(struct hierarchy *hierarchy);
int hierarchy_find(struct hierarchy *hierarchy);
bool hierarchy_is_cgroup(const char *directory);

/* cgroup.c */
int cgroup_path(const char *root, const char *spelled,
		char path[CGROUP_PATH_SIZE], struct problem *problem);
bool hierarchy_is_whole(const struct hierarchy *hierarchy);
bool cgroup_exists(const struct hierarchy *hierarchy, const char *path);
bool cgroup_is(const struct hierarchy *hierarchy, const char *path, uint64_t id);
bool cgroup_has_io(const struct hierarchy *hierarchy, const char *path);
bool cgroup_is_populated(const struct hierarchy *hierarchy, const char *path);
int cgroup_id(const struct hierarchy *hierarchy, const char *path, uint64_t *id);

/* walk.c */
typedef int (*cgroup_visit)(const char *path, uint64_t id, void *data);

int cgroup_walk(const struct hierarchy *hierarchy, const char *path,
		cgroup_visit visit, void *data);

#endif
