/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_GROUP_H
#define IOBANDCTL_GROUP_H

#include <stdbool.h>

#include "cgroup/cgroup.h"
#include "ioband/ioband.h"
#include "print/args.h"

/**
 * struct finder - the devices and cgroups in which groups are searched
 * @devices: all ioband devices
 * @hierarchy: valid if @has_hierarchy
 * @has_hierarchy: an earlier search has read @hierarchy
 */
struct finder {
	const struct ioband_devices *devices;
	struct hierarchy hierarchy;
	bool has_hierarchy;
};

/**
 * struct group_ref - a group from the command line
 * @name: its name in the kernel's lists
 * @message: its name in messages
 * @path: path of a cgroup, as in presets; empty if there is none
 * @mode: the mode of sorting that the group needs; NULL if every pool has the
 *	group
 * @device: the device with this group as its own; NULL for other groups
 */
struct group_ref {
	char name[IOBAND_GROUP_SIZE];
	char message[IOBAND_GROUP_SIZE];
	char path[CGROUP_PATH_SIZE];
	const char *mode;
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
					const struct groups *groups,
					const struct group_ref *ref,
					const struct ioband_device *device);

#endif
