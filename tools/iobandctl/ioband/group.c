// SPDX-License-Identifier: GPL-2.0-only
/* Groups: from names on the command line to names in the kernel. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/group.h"
#include "ioband/tree.h"

static int found(struct group_ref *group, const char *name, const char *mode)
{
	snprintf(group->name, sizeof(group->name), "%s", name);
	snprintf(group->message, sizeof(group->message), "%s", name);
	*group->path = 0;
	group->mode = mode;
	return EXIT_OK;
}

static int find_hierarchy(struct finder *finder)
{
	int code = EXIT_OK;

	if (!finder->has_hierarchy)
		code = hierarchy_find(&finder->hierarchy);
	finder->has_hierarchy = code == EXIT_OK;
	return code;
}

static int find_cgroup(struct finder *finder, const char *spelled, struct group_ref *group)
{
	const struct hierarchy *hierarchy = &finder->hierarchy;
	char path[CGROUP_PATH_SIZE], name[IOBAND_GROUP_SIZE];
	struct problem problem;
	uint64_t id;
	int code = find_hierarchy(finder);

	if (code != EXIT_OK)
		return code;
	if (cgroup_path(hierarchy->root, spelled, path, &problem))
		return fail(EXIT_USAGE, "%s", problem.text);
	if (!path[1])
		return found(group, "root", NULL);
	if (!cgroup_exists(hierarchy, path) && *spelled == '/' && hierarchy_is_cgroup(spelled))
		return fail(EXIT_MISSING,
			    "%s is a cgroup of a hierarchy without block I/O; use its path in %s",
			    spelled, hierarchy->root);
	code = cgroup_id(hierarchy, path, &id);
	if (code != EXIT_OK)
		return code;
	snprintf(name, sizeof(name), "cgroup#%llu", (unsigned long long)id);
	found(group, name, "cgroup");
	if (hierarchy_is_whole(hierarchy))
		strcpy(group->path, path);
	return EXIT_OK;
}

static int found_device(const struct ioband_device *device,
			const struct scope *scope, struct group_ref *group)
{
	char name[IOBAND_GROUP_SIZE];

	if (scope->device && scope->device != device)
		return fail(EXIT_USAGE,
			    "group device:%s is not of the --device %s; leave out --device",
			    device->dm->name, scope->device->dm->name);
	if (scope->pool && strcmp(scope->pool, device->table.pool))
		return fail(EXIT_MISSING, "device %s is in pool %s, not %s",
			    device->dm->name, device->table.pool, scope->pool);
	if (!ioband_has_group(device))
		return fail(EXIT_MISSING,
			    "device %s has no group of its own, as its mode is %s; that takes mode device or device+cgroup",
			    device->dm->name, device->table.mode);
	snprintf(name, sizeof(name), "device:%u:%u", device->dm->major, device->dm->minor);
	found(group, name, device->table.mode);
	strcpy(group->message, "device");
	group->device = device;
	return EXIT_OK;
}

static int find_device(const struct finder *finder, const char *spelled,
		       const struct scope *scope, struct group_ref *group)
{
	const struct ioband_device *device;

	return ioband_find(finder->devices, spelled, &device) ?: found_device(device, scope, group);
}

/* Convert the name of a user or group to its number; false if it does not exist. */
static bool number_of(const char *mode, const char *name, uint64_t *number)
{
	const struct passwd *user;
	const struct group *users;

	if (span_u64(span_of(name), UINT32_MAX, number))
		return true;
	if (!strcmp(mode, "uid")) {
		user = getpwnam(name);
		if (user)
			*number = user->pw_uid;
		return user;
	}
	if (!strcmp(mode, "gid")) {
		users = getgrnam(name);
		if (users)
			*number = users->gr_gid;
		return users;
	}
	return false;
}

/*
 * Check whether a name on the command line is that of a listed group.
 * @spelled: root, uid:<user>, gid:<group>, pid:<n> or pgrp:<n>
 * @name: the group in the kernel's list; not a cgroup
 */
bool group_is(const char *spelled, const char *name)
{
	size_t length = strcspn(spelled, ":");
	uint64_t number, listed;
	char mode[8];

	if (!strcmp(spelled, name) || (!strcmp(spelled, "/") && !strcmp(name, "root")))
		return true;
	if (length >= sizeof(mode) || !spelled[length] || strncmp(spelled, name, length + 1))
		return false;
	snprintf(mode, sizeof(mode), "%.*s", (int)length, spelled);
	return number_of(mode, spelled + length + 1, &number) &&
	       span_u64(span_of(name + length + 1), UINT32_MAX, &listed) &&
	       number == listed;
}

static int find_number(const char *mode, const char *spelled, struct group_ref *group)
{
	char name[IOBAND_GROUP_SIZE];
	uint64_t number;

	if (!number_of(mode, spelled, &number))
		return fail(EXIT_MISSING, "%s:%s names nothing; give a number%s", mode,
			    spelled, mode[1] == 'i' && mode[0] != 'p' ?
			    " or a name that is known here" : "");
	snprintf(name, sizeof(name), "%s:%llu", mode, (unsigned long long)number);
	return found(group, name, mode);
}

/* A name without a prefix is that of a device or of a cgroup. */
static int find_either(struct finder *finder, const char *spelled,
		       const struct scope *scope, struct group_ref *group)
{
	const struct ioband_device *device = ioband_look(finder->devices, spelled);
	char path[CGROUP_PATH_SIZE];
	struct problem problem;
	bool is_cgroup;

	if (text_after(spelled, "/dev/"))
		return find_device(finder, spelled, scope, group);
	if (!device)
		return find_cgroup(finder, spelled, group);
	is_cgroup = find_hierarchy(finder) == EXIT_OK &&
		    !cgroup_path(finder->hierarchy.root, spelled, path, &problem) &&
		    cgroup_exists(&finder->hierarchy, path);
	if (is_cgroup)
		return fail(EXIT_USAGE,
			    "'%s' is a cgroup and a device; write cgroup:%s or device:%s",
			    spelled, spelled, spelled);
	return find_device(finder, spelled, scope, group);
}

/*
 * Find a group by its name on the command line.
 * @finder: the devices and cgroups to search
 * @spelled: root, device, device:<device>, cgroup:<path>, cgroup#<id>, uid:<user>,
 *	gid:<group>, pid:<n>, pgrp:<n>, or the path of a cgroup or a device without a prefix
 * @scope: the device for the name "device", and the limits of the search
 */
int group_find(struct finder *finder, const char *spelled,
	       const struct scope *scope, struct group_ref *group)
{
	static const char *const numbered[] = { "uid", "gid", "pid", "pgrp" };
	const char *rest;
	uint64_t id;

	*group = (struct group_ref){ .device = NULL };
	if (!strcmp(spelled, "root"))
		return found(group, "root", NULL);
	if (!strcmp(spelled, "device") && !scope->device)
		return fail(EXIT_USAGE,
			    "group 'device' needs --device DEVICE, or write device:DEVICE");
	if (!strcmp(spelled, "device"))
		return found_device(scope->device, scope, group);
	rest = text_after(spelled, "cgroup:");
	if (rest)
		return find_cgroup(finder, rest, group);
	rest = text_after(spelled, "device:");
	if (rest)
		return find_device(finder, rest, scope, group);
	rest = text_after(spelled, "cgroup#");
	if (rest && span_u64(span_of(rest), UINT64_MAX, &id))
		return found(group, spelled, "cgroup");
	for (size_t i = 0; i < ARRAY_SIZE(numbered); i++) {
		rest = text_after(spelled, numbered[i]);
		if (rest && *rest == ':')
			return find_number(numbered[i], rest + 1, group);
	}
	return find_either(finder, spelled, scope, group);
}

/*
 * What the output calls a group that a command line names.  Return: as from tree_name(); to
 * be freed.
 */
char *group_name(const struct group_ref *group)
{
	if (group->device)
		return xasprintf("device:%s", group->device->dm->name);
	return xstrdup(*group->path ? group->path : group->name);
}

/* The devices that have a group. */
int group_targets(const struct finder *finder, const struct group_ref *group,
		  const struct scope *scope, struct targets *targets)
{
	*targets = (struct targets){ .n = 0 };
	if (group->device) {
		targets_add(targets, group->device);
		return EXIT_OK;
	}
	if (group->mode)
		return ioband_sorting(finder->devices, scope, group->mode, targets);
	ioband_pools(finder->devices, scope, targets);
	return EXIT_OK;
}

/*
 * Call a function for each device with a group.
 * @args: a command line with the group as its first operand, and the options --device and
 *	--pool
 * @visit: called for each device that receives messages about the group
 * Return: an exit code, that of the first failure, which has been reported.
 */
int group_visit(const struct ioband_devices *devices, const struct args *args,
		group_visitor visit, void *data)
{
	struct finder finder = { .devices = devices };
	struct targets targets __cleanup(targets_free) = { .n = 0 };
	struct group_ref group;
	struct scope scope;
	int code = ioband_scope(devices, args, &scope) ?:
		   group_find(&finder, args->operand[0], &scope, &group) ?:
		   group_targets(&finder, &group, &scope, &targets);

	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < targets.n; i++)
		code = first_failure(code, visit(targets.v[i], &group, data));
	return code;
}

/*
 * Find a group in the list of a pool.
 * @device: the device that receives messages about the group
 * Return: the group, or NULL if it has had neither I/O nor settings.
 */
const struct ioband_group *group_listed(const struct ioband_devices *devices,
					const struct groups *groups, const struct group_ref *ref,
					const struct ioband_device *device)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (!strcmp(groups->v[i].name, ref->name) &&
		    (!ref->mode || tree_has(devices, groups, &groups->v[i], device)))
			return &groups->v[i];
	}
	return NULL;
}
