// SPDX-License-Identifier: GPL-2.0-only
/* Iteration over all cgroups of a hierarchy, parents first. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cgroup/cgroup.h"

static int walk_below(const struct hierarchy *hierarchy, DIR *directory,
		      const char *path, cgroup_visit visit, void *data)
{
	struct dirent *entry;
	int code = EXIT_OK;

	while (code == EXIT_OK && (entry = readdir(directory))) {
		char *below __free = NULL;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		below = xasprintf("%s/%s", path[1] ? path : "", entry->d_name);
		code = cgroup_walk(hierarchy, below, visit, data);
	}
	return code;
}

/*
 * Visit a cgroup and all its descendants.
 * @path: of the cgroup, as from cgroup_path()
 * @visit: called with the path and the id of each; an exit code other than EXIT_OK ends the
 *	walk
 *
 * Cgroups that disappear during the walk are skipped.
 * Return: the exit code of the last visit.
 */
int cgroup_walk(const struct hierarchy *hierarchy, const char *path, cgroup_visit visit, void *data)
{
	char *name __free = xasprintf("%s%s", hierarchy->root, path[1] ? path : "");
	DIR *directory;
	struct stat info;
	int code = EXIT_OK;

	directory = opendir(name);
	if (!directory)
		return EXIT_OK;
	if (!fstat(dirfd(directory), &info))
		code = visit(path, info.st_ino, data);
	code = code ?: walk_below(hierarchy, directory, path, visit, data);
	closedir(directory);
	return code;
}
