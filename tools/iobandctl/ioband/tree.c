// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of a pool.  The children of its root are cgroups, users, processes, and the groups of
 * devices.  A device in mode device+cgroup has its own tree of cgroups below its group.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/query.h"
#include "ioband/tree.h"

/*
 * The parent of a group.
 * Return: the parent, or NULL at the top.  The I/O of the root cgroup itself competes with
 *	that of all others, so "root" is the parent of no group.
 */
const struct ioband_group *tree_parent(const struct groups *groups,
				       const struct ioband_group *group)
{
	const struct ioband_group *parent = groups_find(groups, group->parent);

	return parent && strcmp(parent->name, "root") ? parent : NULL;
}

/*
 * Check that the ancestors of a group end at the top.
 * Return: false if a malformed list makes a group its own ancestor.
 */
bool tree_is_sound(const struct groups *groups, const struct ioband_group *group)
{
	size_t levels = 0;

	while (group && levels++ <= groups->n)
		group = tree_parent(groups, group);
	return !group;
}

/* Check whether a group is the own group of a device. */
bool tree_is_device(const struct ioband_group *group)
{
	return text_after(group->name, "device:");
}

/* Check whether a group is that of a cgroup, which may have been removed. */
bool tree_is_cgroup(const struct ioband_group *group)
{
	return text_after(group->name, "cgroup#");
}

/* Check whether a group has a name that lasts: a removed cgroup has lost its path. */
bool tree_lasts(const struct ioband_group *group)
{
	return group->path || !tree_is_cgroup(group);
}

static const struct ioband_device *
device_named(const struct ioband_devices *devices, const char *name)
{
	unsigned int major, minor;

	if (sscanf(name, "device:%u:%u", &major, &minor) != 2)
		return NULL;
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];

		if (device->dm->major == major && device->dm->minor == minor)
			return device;
	}
	return NULL;
}

/*
 * Find the device with a group in its own tree.
 * Return: the device, or NULL if the group is in the tree of the pool.
 */
const struct ioband_device *tree_owner(const struct ioband_devices *devices,
				       const struct groups *groups,
				       const struct ioband_group *group)
{
	if (!tree_is_sound(groups, group))
		return NULL;
	while (group && !tree_is_device(group))
		group = tree_parent(groups, group);
	return group ? device_named(devices, group->name) : NULL;
}

/* The own group of a device; NULL if it has had neither I/O nor settings. */
const struct ioband_group *tree_own(const struct ioband_devices *devices,
				    const struct groups *groups, const struct ioband_device *device)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (tree_is_device(&groups->v[i]) &&
		    tree_owner(devices, groups, &groups->v[i]) == device)
			return &groups->v[i];
	}
	return NULL;
}

/* Check whether a group is another or one of its descendants. */
bool tree_is_below(const struct groups *groups, const struct ioband_group *group,
		   const struct ioband_group *top)
{
	if (!tree_is_sound(groups, group))
		return group == top;
	while (group && group != top)
		group = tree_parent(groups, group);
	return group;
}

/*
 * Check whether bios of a device can be charged to a group.
 * @device: the device; NULL stands for any of the pool
 */
bool tree_has(const struct ioband_devices *devices, const struct groups *groups,
	      const struct ioband_group *group, const struct ioband_device *device)
{
	const struct ioband_device *owner;

	if (!device)
		return true;
	owner = tree_owner(devices, groups, group);
	return ioband_has_group(device) ? owner == device : !owner;
}

/*
 * What the output calls a group, and what names it on a command line.  Return: the path of
 * a cgroup, device:NAME, or the kernel's name; to be freed.
 */
char *tree_name(const struct ioband_devices *devices,
		const struct groups *groups, const struct ioband_group *group)
{
	const struct ioband_device *owner = tree_owner(devices, groups, group);

	if (owner && tree_is_device(group))
		return xasprintf("device:%s", owner->dm->name);
	return xstrdup(group->path ? group->path : group->name);
}
