/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_GROUP_H
#define IOBANDCTL_GROUP_H

#include <stdbool.h>

#include "cgroup/cgroup.h"
#include "ioband/ioband.h"
#include "print/args.h"

/* The devices and cgroups in which groups are searched. */
struct finder {
	const struct ioband_devices *devices;
	struct hierarchy hierarchy;	/* valid if @has_hierarchy */
	bool has_hierarchy;	/* an earlier search has read @hierarchy */
};

/* A group from the command line. */
struct group_ref {
	char name[IOBAND_GROUP_SIZE];
	char message[IOBAND_GROUP_SIZE];
	/* Path of a cgroup, as in presets; empty if there is none. */
	char path[CGROUP_PATH_SIZE];
	/* The mode of sorting that the group needs; NULL if every pool has the group. */
	const char *mode;
	/* The device with this group as its own; NULL for other groups. */
	const struct ioband_device *device;
};

char *group_name(const struct group_ref *group);
bool group_is(const char *spelled, const char *name);
int group_find(struct finder *finder, const char *spelled,
	       const struct scope *scope, struct group_ref *group);
typedef int (*group_visitor)(const struct ioband_device *device,
			     const struct group_ref *group, void *data);

int group_targets(const struct finder *finder, const struct group_ref *group,
		  const struct scope *scope, struct targets *targets);
int group_visit(const struct ioband_devices *devices, const struct args *args,
		group_visitor visit, void *data);
const struct ioband_group *group_listed(const struct ioband_devices *devices,
					const struct groups *groups, const struct group_ref *ref,
					const struct ioband_device *device);

#endif
