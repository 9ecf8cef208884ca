/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_GROUP_H
#define IOBANDCTL_GROUP_H

#include <stdbool.h>

#include "cgroup/cgroup.h"
#include "ioband/ioband.h"
#include "print/args.h"

/**
 * struct finder - what is needed to know which group is meant
 * @devices: all ioband devices
 * @hierarchy: valid if @has_hierarchy
 * @has_hierarchy: it was needed before
 */
struct finder {
	const struct ioband_devices *devices;
	struct hierarchy hierarchy;
	bool has_hierarchy;
};

/**
 * struct group_ref - a group that somebody named
 * @name: as the kernel lists it
 * @message: as it is written in messages
 * @path: of a cgroup, as presets have it; empty if there is no such path
 * @mode: devices must sort so for the group to exist; NULL if every pool has
 *	the group
 * @device: whose own group it is; NULL if it is no device's
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
