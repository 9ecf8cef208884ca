// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cgroups: from a path on the command line to the id in the kernel.
 *
 * A path in the hierarchy begins with a slash and does not end with one.  It
 * has no empty parts and no dotted parts.  The root is "/".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/infile.h"
#include "base/words.h"
#include "cgroup/cgroup.h"

/* The rest of @path after @root; NULL if @path is elsewhere. */
static const char *strip_root(const char *root, const char *path)
{
	size_t length = strlen(root);

	while (length && root[length - 1] == '/')
		length--;
	if (!strncmp(path, root, length) && (!path[length] || path[length] == '/'))
		return path + length;
	return path;
}

/*
 * The path of a cgroup in its hierarchy.
 * @root: where the hierarchy is mounted
 * @spelled: the directory, or the path in the hierarchy with or without a leading slash
 *
 * Only the text is examined, not the file system.
 */
int cgroup_path(const char *root, const char *spelled,
		char path[CGROUP_PATH_SIZE], struct problem *problem)
{
	struct span rest, part;
	size_t length = 0;

	if (!*spelled)
		return problem_set(problem, "the path of a cgroup is empty");
	rest = span_of(strip_root(root, spelled));
	strcpy(path, "/");
	while (rest.length) {
		span_item(&rest, '/', &part);
		if (!part.length || span_is(part, "."))
			continue;
		if (span_is(part, ".."))
			return problem_set(problem, "'%.256s' has a '..' in it", spelled);
		if (length + part.length + 2 > CGROUP_PATH_SIZE)
			return problem_set(problem, "the path of a cgroup is too long");
		path[length++] = '/';
		memcpy(path + length, part.start, part.length);
		length += part.length;
		path[length] = 0;
	}
	return 0;
}

static char *file_in(const struct hierarchy *hierarchy, const char *path, const char *file)
{
	return xasprintf("%s%s%s%s", hierarchy->root,
			 strcmp(path, "/") ? path : "", *file ? "/" : "", file);
}

/*
 * Check whether a cgroup exists.
 * @path: as from cgroup_path()
 */
bool cgroup_exists(const struct hierarchy *hierarchy, const char *path)
{
	char *directory __free = file_in(hierarchy, path, "");

	return hierarchy_is_cgroup(directory);
}

/*
 * Check whether paths begin at the root of all cgroups.  In a cgroup namespace, or with a part of
 * the hierarchy mounted, paths begin elsewhere, and the kernel does not report where.
 * Return: true if the mounted directory is the root of all cgroups.
 */
bool hierarchy_is_whole(const struct hierarchy *hierarchy)
{
	/* Every cgroup but the root has the first file, only the root has the second. */
	bool is_v2 = hierarchy->version == 2;
	char *name = file_in(hierarchy, "/", is_v2 ? "cgroup.events" : "release_agent");
	bool exists = !access(name, F_OK);

	free(name);
	return exists != is_v2;
}

/*
 * Check whether a path still names the same cgroup.
 * @path: as from cgroup_path()
 * @id: its earlier id
 * Return: true if so; false if the cgroup was removed, even if a new one has the path.
 */
bool cgroup_is(const struct hierarchy *hierarchy, const char *path, uint64_t id)
{
	char *directory __free = file_in(hierarchy, path, "");
	struct stat info;

	return !stat(directory, &info) && info.st_ino == id;
}

/*
 * Check whether the io controller is enabled for a cgroup.
 * @hierarchy: its hierarchy, of version 2
 * @path: as from cgroup_path()
 *
 * The parent enables it.
 */
bool cgroup_has_io(const struct hierarchy *hierarchy, const char *path)
{
	char *name __free = file_in(hierarchy, path, "cgroup.controllers");
	char controllers[1024] = "";
	struct span rest, word;
	bool found = false;

	infile_line(name, controllers, sizeof(controllers));
	rest = span_of(controllers);
	while (!found && span_word(&rest, &word))
		found = span_is(word, "io");
	return found;
}

/*
 * Check whether a cgroup or its descendants have processes.
 * @hierarchy: its hierarchy, of version 2
 * @path: as from cgroup_path()
 */
bool cgroup_is_populated(const struct hierarchy *hierarchy, const char *path)
{
	char *name __free = file_in(hierarchy, path, "cgroup.events");
	FILE *file __cleanup(close_file) = fopen(name, "re");
	char line[64];
	bool populated = false;

	while (file && !populated && fgets(line, sizeof(line), file))
		populated = !strcmp(line, "populated 1\n");
	return populated;
}

/* Append to @how the command that enables io for the first @length bytes of a path. */
static void explain_part(const struct hierarchy *hierarchy, const char *path, size_t length,
			 char **how)
{
	char *part __free = xstrndup(path, length);

	if (!cgroup_has_io(hierarchy, part))
		xappend(how, "%secho +io > %s%.*s/cgroup.subtree_control", **how ? " && " : "",
			hierarchy->root, (int)(strrchr(part, '/') - part), part);
}

/* The commands that enable io for a cgroup, from the first ancestor without it. */
static char *explain_io(const struct hierarchy *hierarchy, const char *path)
{
	const char *end = path;
	char *how = xstrdup("");

	while (end) {
		end = strchr(end + 1, '/');
		explain_part(hierarchy, path, end ? (size_t)(end - path) : strlen(path), &how);
	}
	return how;
}

static void nearest_with_io(const struct hierarchy *hierarchy, char *path)
{
	while (!cgroup_has_io(hierarchy, path) && path[1]) {
		char *slash = strrchr(path, '/');

		slash[slash == path] = 0;
	}
}

static int refuse_without_io(const struct hierarchy *hierarchy, const char *path)
{
	char *how __free = explain_io(hierarchy, path);
	char *owner __free = xstrdup(path);

	nearest_with_io(hierarchy, owner);
	return fail(EXIT_MISSING,
		    "the io controller is not enabled for cgroup %s, so its I/O belongs to %s; enable it with '%s', or for a unit of systemd with 'systemctl set-property UNIT IOAccounting=yes' (Delegate=io for what a unit manages itself)",
		    path, owner, how);
}

/*
 * The id of a cgroup that has block I/O of its own.
 * @path: as from cgroup_path()
 */
int cgroup_id(const struct hierarchy *hierarchy, const char *path, uint64_t *id)
{
	char *directory __free = file_in(hierarchy, path, "");
	struct stat info;
	int error = stat(directory, &info) ? errno : 0;

	if (!error && !hierarchy_is_cgroup(directory))
		error = ENOENT;
	if (error == ENOENT)
		return fail(EXIT_MISSING,
			    "there is no cgroup %s in %s: %s; a unit has one while it runs ('systemctl show -P ControlGroup UNIT' prints it), and iobandctl-watch sets what ioband.conf(5) says of it whenever it starts",
			    path, hierarchy->root, strerror(error));
	if (error)
		return fail(exit_code_of(error), "there is no cgroup %s in %s: %s", path,
			    hierarchy->root, strerror(error));
	if (hierarchy->version == 2 && path[1] && !cgroup_has_io(hierarchy, path))
		return refuse_without_io(hierarchy, path);
	*id = info.st_ino;
	return EXIT_OK;
}
