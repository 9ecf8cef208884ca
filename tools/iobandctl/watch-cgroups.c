// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cgroups, and what their files ask for.  One inotify watch a cgroup tells
 * of what comes, goes and is written in it: the kernel notes writes to cgroup
 * files as it does for others.  A watch is there before its cgroup is read, so
 * that nothing that happens meanwhile is missed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "watch.h"
#include "words.h"

#define EVENTS (IN_CREATE | IN_MODIFY | IN_ONLYDIR)
#define ROOM_US 1000000
#define CONTROL "cgroup.subtree_control"

static char *file_name(const struct watch *watch, const char *path,
		       const char *file)
{
	return xasprintf("%s%s%s%s", watch->hierarchy.root,
			 path[1] ? path : "", *file ? "/" : "", file);
}

static bool read_file(const struct watch *watch, const char *path,
		      const char *file, char *text, size_t size)
{
	char *name = file_name(watch, path, file);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	free(name);
	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = 0;
	return length >= 0;
}

static void read_files(const struct watch *watch, const char *path,
		       bool is_unit, struct asked asked[ASKED_KINDS])
{
	char text[4096];

	if (read_file(watch, path, "io.weight", text, sizeof(text)))
		asked_read(&asked[ASKED_WEIGHT], text, false, is_unit);
	if (read_file(watch, path, "io.bfq.weight", text, sizeof(text)))
		asked_read(&asked[ASKED_WEIGHT], text, true, is_unit);
	if (read_file(watch, path, "io.latency", text, sizeof(text)))
		asked_read_latency(&asked[ASKED_LATENCY], text);
}

static void keep_systemd(const struct node *node,
			 struct asked asked[ASKED_KINDS])
{
	for (int kind = 0; kind < ASKED_KINDS; kind++) {
		const struct asked *old = &node->asked[kind];

		for (size_t i = node->n_files[kind]; i < old->n; i++)
			asked_add(&asked[kind], old->v[i].major,
				  old->v[i].minor, old->v[i].weight);
	}
}

/*
 * What is asked for a cgroup: its files, and systemd where files refuse.  What
 * systemd said holds until it says something else.
 */
static void read_node(struct watch *watch, struct node *node)
{
	bool is_unit = watch_is_unit(node->path);
	struct asked asked[ASKED_KINDS] = { { .n = 0 } };
	size_t n_files[ASKED_KINDS];

	read_files(watch, node->path, is_unit, asked);
	for (int kind = 0; kind < ASKED_KINDS; kind++)
		n_files[kind] = asked[kind].n;
	if (is_unit && !watch_bus_ask(watch, node->path, asked))
		keep_systemd(node, asked);
	asked_end(&asked[ASKED_LATENCY], &node->asked[ASKED_LATENCY]);
	for (int kind = 0; kind < ASKED_KINDS; kind++) {
		asked_free(&node->asked[kind]);
		node->asked[kind] = asked[kind];
		node->n_files[kind] = n_files[kind];
	}
}

/*
 * Whether the configuration needs a cgroup to have I/O of its own.  Of the
 * slices systemd's own only: who is given cgroups may call his as he likes.
 */
static bool needs_io(const struct watch *watch, const char *path)
{
	struct conf_matches matches;
	bool needs;

	if (!fnmatch("*.slice", path, 0) && watch_is_unit(path))
		return true;
	conf_match(&watch->conf, path, &matches);
	needs = matches.n;
	conf_matches_free(&matches);
	return needs;
}

static bool write_io(const struct watch *watch, const char *path)
{
	char *name = file_name(watch, path, CONTROL), *shown;
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "+io", 3) == 3;
	int error = errno;

	if (fd >= 0)
		close(fd);
	shown = text_escape(name);
	if (!done)
		note("cannot enable the io controller in %s: %s", shown,
		     strerror(error));
	free(shown);
	free(name);
	return done;
}

/*
 * Enable io in each ancestor that does not yet, the root first.  A write that
 * changes nothing would be seen as a change all the same.
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
 * What was refused is not asked for again until something has changed: each
 * attempt may write to files that are watched, and so be a reason for the next.
 */
static void enable_io(struct watch *watch, struct node *node)
{
	if (!watch->enable || node->tried || !node->path[1] ||
	    !needs_io(watch, node->path) ||
	    cgroup_has_io(&watch->hierarchy, node->path))
		return;
	node->tried = true;
	if (!watch_is_unit(node->path) ||
	    !watch_bus_enable_io(watch, node->path))
		write_controller(watch, node->path);
}

/* Whether the controllers for the children of a cgroup are others than before. */
static bool read_control(const struct watch *watch, struct node *node)
{
	char text[1024];
	bool changed;

	read_file(watch, node->path, CONTROL, text, sizeof(text));
	changed = strcmp(text, node->control);
	if (changed) {
		free(node->control);
		node->control = xstrdup(text);
	}
	return changed;
}

static size_t place_of(const struct watch *watch, int wd)
{
	size_t low = 0, high = watch->n_nodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (watch->nodes[middle].wd < wd)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct node *find_node(struct watch *watch, int wd)
{
	size_t place = place_of(watch, wd);

	return place < watch->n_nodes && watch->nodes[place].wd == wd ?
	       &watch->nodes[place] : NULL;
}

static void drop_node(struct watch *watch, int wd)
{
	struct node *node = find_node(watch, wd);

	if (!node)
		return;
	free(node->path);
	free(node->control);
	free(node->sent);
	for (int kind = 0; kind < ASKED_KINDS; kind++)
		asked_free(&node->asked[kind]);
	memmove(node, node + 1,
		(--watch->n_nodes - (node - watch->nodes)) * sizeof(*node));
}

static struct node *insert_node(struct watch *watch, int wd, const char *path)
{
	size_t place = place_of(watch, wd);
	struct node *node;

	watch->nodes = xgrow(watch->nodes, watch->n_nodes,
			     sizeof(*watch->nodes));
	node = &watch->nodes[place];
	memmove(node + 1, node, (watch->n_nodes++ - place) * sizeof(*node));
	*node = (struct node){
		.wd = wd, .path = xstrdup(path), .control = xstrdup(""),
		.sent = xcalloc(watch->n_trees, sizeof(*node->sent)),
	};
	return node;
}

/* Anybody with cgroups of his own may have made many. */
static void lack_watch(struct watch *watch)
{
	if (!watch->full_noted)
		note("the weights of some cgroups are not followed, %s",
		     "as there are more than may be watched; raise sysctl fs.inotify.max_user_watches");
	watch->full = true;
	watch->full_noted = true;
}

/* A cgroup may be gone again before it is watched. */
static int add_node(const char *path, uint64_t id, void *data)
{
	struct watch *watch = data;
	char *directory = file_name(watch, path, "");
	struct node *node;
	int wd = inotify_add_watch(watch->inotify, directory, EVENTS);
	int error = errno;

	free(directory);
	if (wd < 0 && error == ENOSPC)
		lack_watch(watch);
	if (wd < 0)
		return EXIT_OK;
	node = find_node(watch, wd);
	if (node)
		return EXIT_OK;
	node = insert_node(watch, wd, path);
	node->id = id;
	read_control(watch, node);
	enable_io(watch, node);
	read_node(watch, node);
	watch_send(watch, node);
	return EXIT_OK;
}

static int add_below(struct watch *watch, const char *path)
{
	return cgroup_walk(&watch->hierarchy, path, add_node, watch);
}

static bool is_below(const char *path, const char *above)
{
	size_t length = above[1] ? strlen(above) : 0;

	return !strncmp(path, above, length) && path[length] == '/' &&
	       path[length + 1];
}

/* With the io controller a cgroup loses and gains its group, and its files. */
static void controller_changed(struct watch *watch, struct node *changed)
{
	bool anew = read_control(watch, changed);
	char *above = xstrdup(changed->path);

	for (size_t i = 0; i < watch->n_nodes; i++) {
		struct node *node = &watch->nodes[i];

		if (!is_below(node->path, above))
			continue;
		memset(node->sent, 0, watch->n_trees * sizeof(*node->sent));
		node->tried = node->tried && !anew;
		enable_io(watch, node);
		read_node(watch, node);
		watch_send(watch, node);
	}
	free(above);
}

static void node_changed(struct watch *watch, struct node *node,
			 const char *file)
{
	if (!strcmp(file, CONTROL)) {
		controller_changed(watch, node);
	} else if (!strcmp(file, "io.weight") ||
		   !strcmp(file, "io.bfq.weight") ||
		   !strcmp(file, "io.latency")) {
		read_node(watch, node);
		watch_send(watch, node);
	}
}

static void fill_room(struct watch *watch)
{
	if (!watch->full)
		return;
	watch->full = false;
	add_below(watch, "/");
}

static int on_room(sd_event_source *source, uint64_t now, void *data)
{
	(void)source;
	(void)now;
	fill_room(data);
	return 0;
}

/* A watch has gone.  To look at all cgroups takes long: once in a while only. */
static void gain_room(struct watch *watch)
{
	uint64_t now;
	int enabled;

	if (!watch->full ||
	    sd_event_source_get_enabled(watch->room, &enabled) < 0 ||
	    enabled != SD_EVENT_OFF ||
	    sd_event_now(watch->event, CLOCK_MONOTONIC, &now) < 0)
		return;
	sd_event_source_set_time(watch->room, now + ROOM_US);
	sd_event_source_set_enabled(watch->room, SD_EVENT_ONESHOT);
}

static int handle(struct watch *watch, const struct inotify_event *event)
{
	struct node *node = find_node(watch, event->wd);
	char *path;
	int code;

	if (event->mask & IN_IGNORED) {
		drop_node(watch, event->wd);
		gain_room(watch);
	}
	if (!node || event->mask & IN_IGNORED || !event->len)
		return EXIT_OK;
	if (event->mask & IN_CREATE && event->mask & IN_ISDIR) {
		path = xasprintf("%s/%s", node->path[1] ? node->path : "",
				 event->name);
		code = add_below(watch, path);
		free(path);
		return code;
	}
	if (event->mask & IN_MODIFY)
		node_changed(watch, node, event->name);
	return EXIT_OK;
}

/* Events were lost: of what came, changed and went nothing is known. */
static int start_anew(struct watch *watch)
{
	int code;

	watch_cgroups_free(watch);
	code = watch_cgroups_start(watch);
	if (code == EXIT_OK)
		watch_trees_load(watch);
	return code;
}

static int on_inotify(sd_event_source *source, int fd, uint32_t events,
		      void *data)
{
	char buffer[16384]
		__attribute((aligned(__alignof__(struct inotify_event))));
	struct watch *watch = data;
	int code = EXIT_OK;
	ssize_t length = read(fd, buffer, sizeof(buffer)), place = 0;

	(void)source;
	(void)events;
	while (place < length && code == EXIT_OK) {
		const struct inotify_event *event = (void *)(buffer + place);

		if (event->mask & IN_Q_OVERFLOW) {
			code = start_anew(watch);
			break;
		}
		code = handle(watch, event);
		place += sizeof(*event) + event->len;
	}
	return code == EXIT_OK ? 0 : sd_event_exit(watch->event, code);
}

/**
 * watch_cgroups_start() - watch all cgroups
 * @watch: with a loop, a hierarchy and trees
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int watch_cgroups_start(struct watch *watch)
{
	watch->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->inotify < 0 ||
	    sd_event_add_io(watch->event, &watch->changes, watch->inotify,
			    EPOLLIN, on_inotify, watch) < 0 ||
	    sd_event_add_time(watch->event, &watch->room, CLOCK_MONOTONIC, 0,
			      1, on_room, watch) < 0)
		return fail(EXIT_FAILED, "cannot watch the cgroups: %s",
			    strerror(errno));
	sd_event_source_set_enabled(watch->room, SD_EVENT_OFF);
	return add_below(watch, "/");
}

/**
 * watch_cgroups_all() - see what is asked for all cgroups, and to their weights
 * @watch: all
 */
void watch_cgroups_all(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_nodes; i++) {
		enable_io(watch, &watch->nodes[i]);
		read_node(watch, &watch->nodes[i]);
		watch_send(watch, &watch->nodes[i]);
	}
}

/**
 * watch_cgroups_retry() - let what was refused be tried once more
 * @watch: all
 */
void watch_cgroups_retry(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_nodes; i++)
		watch->nodes[i].tried = false;
	watch->full_noted = false;
	fill_room(watch);
}

/**
 * watch_cgroups_free() - forget all cgroups
 * @watch: all
 */
void watch_cgroups_free(struct watch *watch)
{
	while (watch->n_nodes)
		drop_node(watch, watch->nodes[watch->n_nodes - 1].wd);
	free(watch->nodes);
	watch->nodes = NULL;
	watch->full = false;
	watch->room = sd_event_source_unref(watch->room);
	watch->changes = sd_event_source_unref(watch->changes);
	if (watch->inotify >= 0)
		close(watch->inotify);
	watch->inotify = -1;
}
