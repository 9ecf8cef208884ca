// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wishes in a cgroup's files, and the io controller that they need.
 *
 * A cgroup's files divide the part of its parent among it and its siblings.  A weight,
 * or the class idle of io.prio.class, below a delegated cgroup is therefore harmless: it
 * divides the part of that cgroup only.  Those of the delegated cgroup itself compete with
 * other users', so they count in root's file only.  A latency target throttles all other
 * groups of the pool, wherever it stands.  It counts in root's files outside of delegated
 * cgroups only.  A maximum throttles only its own cgroup, but it replaces root's maximum of
 * that cgroup.  So it counts in root's files only, and not below a cgroup of another user.
 * libvirt's files below a delegated cgroup are root's.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/roots.h"
#include "watch/state.h"

#define CONTROL "cgroup.subtree_control"

/*
 * All of a file: with a line for each disk it can be longer than a page, and a number
 * that is cut is another number.
 *
 * Return: the text, to be freed; empty if there is none.  @is_roots: whether only root may
 * write the file, or make it.
 */
static char *read_file(int directory, const char *file, bool *is_roots)
{
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	struct stat info;
	size_t size = 0;

	*is_roots = !stream || (!fstat(fd, &info) && roots_is(&info));
	if (!stream || getdelim(&text, &size, 0, stream) < 0) {
		free(text);
		text = xstrdup("");
	}
	if (stream)
		fclose(stream);
	return text;
}

static void note_ignored(const struct node *node, const char *file, const char *reason, bool *noted)
{
	if (!*noted)
		note("%s of cgroup %s is ignored, as a user may write it and %s",
		     file, node->path, reason);
	*noted = true;
}

/*
 * Whether all cgroups above are root's.  Then no user can make a cgroup anew in this place;
 * the owner of the cgroup itself can make cgroups only below it.
 */
static bool is_roots_place(const struct node *node, int directory)
{
	int above = directory, next;
	struct stat info;
	bool is = true;

	for (const char *at = node->path; is && at[0] && at[1]; at++) {
		if (*at != '/')
			continue;
		next = openat(above, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (above != directory)
			close(above);
		above = next;
		is = above >= 0 && !fstat(above, &info) && roots_is(&info);
	}
	if (above != directory && above >= 0)
		close(above);
	return is;
}

static bool has_max(const struct node *node)
{
	for (int kind = ASKED_MAX; kind < ASKED_KINDS; kind++) {
		if (node->asked[kind].n)
			return true;
	}
	return false;
}

/*
 * From a file that a user may write nothing is taken over, not even the end of a maximum:
 * root may have set it before the file was given away.
 */
static void ignore_max(const struct node *node, const char *text, struct asked asked[ASKED_KINDS])
{
	for (int kind = ASKED_MAX; kind < ASKED_KINDS; kind++)
		asked_copy(&asked[kind], &node->asked[kind]);
	if (*text)
		note_ignored(node, "io.max", "it could replace a maximum that root has set",
			     &node->subtree->max_noted);
}

/* Most cgroups have no maximum and had none; of these the ones above are not looked at. */
static void read_max(const struct node *node, int directory, struct asked asked[ASKED_KINDS])
{
	char *text __free = NULL;
	bool is_roots;

	text = read_file(directory, "io.max", &is_roots);
	if (*text || has_max(node)) {
		if (is_roots && is_roots_place(node, directory))
			asked_read_values(asked, text);
		else
			ignore_max(node, text, asked);
	}
}

static void read_files(const struct node *node, int directory, bool is_unit,
		       struct asked asked[ASKED_KINDS])
{
	static const char *const weights[] = { "io.weight", "io.bfq.weight" };
	bool is_lent = watch_node_is_lent(node), is_roots;
	char *text;

	text = read_file(directory, "io.prio.class", &is_roots);
	if (is_roots || is_lent)
		asked_read_class(&asked[ASKED_WEIGHT], text);
	free(text);
	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		text = read_file(directory, weights[i], &is_roots);
		if (is_roots || is_lent)
			asked_read(&asked[ASKED_WEIGHT], text, i, is_unit);
		free(text);
	}
	text = read_file(directory, "io.latency", &is_roots);
	if (is_roots && !is_lent)
		asked_read_values(asked, text);
	else if (*text)
		note_ignored(node, "io.latency", "a target throttles others",
			     &node->subtree->latency_noted);
	free(text);
	read_max(node, directory, asked);
}

static void keep_systemd(const struct node *node, struct asked asked[ASKED_KINDS])
{
	for (int kind = 0; kind < ASKED_KINDS; kind++) {
		const struct asked *old = &node->asked[kind];

		for (size_t i = node->n_files[kind]; i < old->n; i++)
			asked_add(&asked[kind], old->v[i].major, old->v[i].minor, old->v[i].weight);
	}
}

/*
 * Read the wishes for a cgroup.  They are in its files, and systemd's answers come after
 * them.  An answer holds until the next.
 */
void watch_read_asked(struct watch *watch, struct node *node, int directory)
{
	bool is_unit = watch_is_unit(node);
	struct asked asked[ASKED_KINDS] = { { .n = 0 } };
	size_t n_files[ASKED_KINDS];

	read_files(node, directory, is_unit, asked);
	for (int kind = 0; kind < ASKED_KINDS; kind++)
		n_files[kind] = asked[kind].n;
	if (is_unit && !watch_bus_ask(watch, node->path, asked))
		keep_systemd(node, asked);
	for (int kind = 0; kind < ASKED_KINDS; kind++) {
		if (kind != ASKED_WEIGHT)
			asked_end(&asked[kind], &node->asked[kind]);
		asked_free(&node->asked[kind]);
		node->asked[kind] = asked[kind];
		node->n_files[kind] = n_files[kind];
	}
}

/*
 * Whether the configuration needs a cgroup to have I/O of its own.  Of slices only
 * systemd's own count: a user may name delegated cgroups at will.
 */
static bool needs_io(const struct watch *watch, const struct node *node)
{
	struct conf_matches matches __cleanup(conf_matches_free) = { .n = 0 };

	if (!fnmatch("*.slice", node->path, 0) && watch_is_unit(node))
		return true;
	conf_match(&watch->conf, node->path, &matches);
	return matches.n;
}

static bool write_io(const struct watch *watch, const char *path)
{
	char *name __free = xasprintf("%s%s/" CONTROL, watch->hierarchy.root, path[1] ? path : "");
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "+io", 3) == 3;
	int error = errno;

	if (fd >= 0)
		close(fd);
	if (!done)
		note("cannot enable the io controller in %s: %s", name, strerror(error));
	return done;
}

/*
 * Enable io in each ancestor without it, the root first.  A write would be seen as a
 * change even if it changed nothing.
 */
static void write_controller(const struct watch *watch, const char *path)
{
	char *above = xstrdup(""), *below;
	const char *slash = path;
	bool done = true;

	while (slash && done) {
		slash = strchr(slash + 1, '/');
		below = slash ? xstrndup(path, slash - path) : xstrdup(path);
		done = cgroup_has_io(&watch->hierarchy, below) ||
		       write_io(watch, *above ? above : "/");
		free(above);
		above = below;
	}
	free(above);
}

/*
 * Enable the io controller for a cgroup, if that is configured.  After a refusal a change
 * has to come before the next attempt: each attempt may write to files that are watched,
 * and so be a reason for the next.
 */
void watch_enable_io(struct watch *watch, struct node *node)
{
	if (!watch->enable || node->tried || !node->path[1] ||
	    !needs_io(watch, node) ||
	    cgroup_has_io(&watch->hierarchy, node->path))
		return;
	node->tried = true;
	if (!watch_is_unit(node) || !watch_bus_enable_io(watch, node->path))
		write_controller(watch, node->path);
}

/*
 * See which controllers the children of a cgroup have.  Return: whether they are others
 * than before; false at the first time.
 */
bool watch_read_control(struct node *node, int directory)
{
	char *before __free = node->control;
	bool is_roots;

	node->control = read_file(directory, CONTROL, &is_roots);
	return before && strcmp(node->control, before);
}
