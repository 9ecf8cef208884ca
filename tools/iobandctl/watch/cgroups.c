// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following the cgroups.  One inotify watch a cgroup tells of cgroups that come and go in
 * it, and of writes to its files, which the kernel notes as it does for other files.  A
 * watch is there before its cgroup is read, so that no change in between is missed.
 *
 * Events mark cgroups.  A round, at most one in PAUSE_US, visits the marked ones.  So any
 * number of writes to a file costs one message with its last value.
 *
 * Users make and write delegated cgroups at any speed.  Those have rounds of their own, of
 * STEPS_MAX steps.  A visit is a step, and so is each of its messages.  The subtrees take
 * turns, one step each.  Marked cgroups wait for their subtree's turn, and none is left
 * out.  Example: one user writes to 1 000 cgroups over and over, another to one.  The
 * second waits for one step of the first, and the first has each of its cgroups
 * set every 6 s: 1 000 visits and 1 000 messages are 2 000 steps, of 320 a second.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/words.h"
#include "config/delegated.h"
#include "watch/state.h"

/* systemd and container tools write several files of a new cgroup within this time. */
#define PAUSE_US 50000

/*
 * Of a round in delegated cgroups: 320 steps a second.  A container takes about ten when
 * it starts.  A visit with a message takes 60 us: when each write had its own, 11 550 of
 * them took 36 % of a core for 2 s.  So the rounds take 1 % of a core.
 */
#define STEPS_MAX 16

/* On a slow machine a round in delegated cgroups is followed by so many times its length. */
#define REST 19

/* Cgroups that are looked through in a list in the time of a step. */
#define LISTED_A_STEP 64

#define POLL_US (WATCH_POLL_S * 1000000ULL)

/* Return: NULL if it has gone, even if another has its path now. */
static DIR *open_node(const struct watch *watch, const struct node *node)
{
	char *name __free = xasprintf("%s%s", watch->hierarchy.root,
				      node->path[1] ? node->path : "");
	DIR *directory = opendir(name);
	struct stat info;

	if (directory && (fstat(dirfd(directory), &info) || info.st_ino != node->id)) {
		closedir(directory);
		return NULL;
	}
	return directory;
}

static void add_child(struct watch *watch, struct node *parent, int directory, const char *name)
{
	char *path __free = NULL;
	struct stat info;

	if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) ||
	    watch_node_of_id(watch, info.st_ino))
		return;
	path = xasprintf("%s/%s", parent->path[1] ? parent->path : "", name);
	watch_node_add(watch, parent->subtree, path, info.st_ino);
}

static void find_children(struct watch *watch, struct node *node, DIR *directory)
{
	struct dirent *entry;
	unsigned int n;

	for (n = 0; (entry = readdir(directory)); n++) {
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, "..") &&
		    !watch_node_of_id(watch, entry->d_ino))
			add_child(watch, node, dirfd(directory), entry->d_name);
	}
	node->subtree->debt += n / LISTED_A_STEP;
}

/* With the io controller a cgroup loses and gains its group, and its files. */
static void control_changed(struct watch *watch, struct node *changed, bool is_other)
{
	struct subtree *subtree;
	struct node *node;
	unsigned int n = 0;

	TAILQ_FOREACH(subtree, &watch->subtrees, all) {
		if (changed->subtree->top && changed->subtree != subtree)
			continue;
		TAILQ_FOREACH(node, &subtree->nodes, all) {
			n++;
			if (!watch_node_is_below(node, changed->path))
				continue;
			node->tried = node->tried && !is_other;
			watch_mark(node, DUE_ASKED | DUE_ANEW);
		}
	}
	changed->subtree->debt += n / LISTED_A_STEP;
}

static void arm_poll(struct watch *watch)
{
	int enabled;

	if (sd_event_source_get_enabled(watch->poll, &enabled) < 0 || enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time(watch->poll, clock_ns(CLOCK_MONOTONIC) / 1000 + POLL_US);
	sd_event_source_set_enabled(watch->poll, SD_EVENT_ONESHOT);
}

/*
 * A group that may be another one lacks its weight and bounds.  If it is still the same,
 * it may have some that are asked for no more: these go first.
 */
static void send_asked(struct watch *watch, struct node *node, bool is_anew)
{
	watch_send(watch, node);
	if (!is_anew)
		return;
	memset(node->sent, 0, watch->n_trees * sizeof(*node->sent));
	watch_send(watch, node);
}

static void look(struct watch *watch, struct node *node, DIR *directory, unsigned int due)
{
	int fd = dirfd(directory);
	bool is_other;

	watch_node_follow(watch, node, fd);
	if (node->wd < 0)
		arm_poll(watch);
	if (due & (DUE_CONTROL | DUE_CHILDREN)) {
		is_other = watch_read_control(node, fd);
		if (is_other || due & DUE_CONTROL)
			control_changed(watch, node, is_other);
	}
	if (due & DUE_CHILDREN)
		find_children(watch, node, directory);
	if (due & DUE_ASKED) {
		watch_enable_io(watch, node);
		watch_read_asked(watch, node, fd);
		send_asked(watch, node, due & DUE_ANEW);
	}
}

/* The node may be gone afterwards, and its subtree, or be of another. */
static void visit(struct watch *watch, struct node *node)
{
	DIR *directory = open_node(watch, node);
	unsigned int due = node->due;

	TAILQ_REMOVE(&node->subtree->waiting, node, waiting);
	node->due = 0;
	if (!directory) {
		watch_node_drop(watch, node);
		return;
	}
	if (!node->subtree->top && node->path[1] && delegated_is(dirfd(directory))) {
		watch_mark(node, due);
		watch_delegate(watch, node);
	} else {
		look(watch, node, directory, due);
	}
	closedir(directory);
}

static void serve(struct watch *watch, struct part *part, unsigned int steps)
{
	struct subtree *subtree;

	for (; steps && (subtree = TAILQ_FIRST(&part->turns)); steps--) {
		TAILQ_REMOVE(&part->turns, subtree, turn);
		subtree->has_turn = subtree->debt || !TAILQ_EMPTY(&subtree->waiting);
		if (!subtree->has_turn)
			continue;
		TAILQ_INSERT_TAIL(&part->turns, subtree, turn);
		if (subtree->debt)
			subtree->debt--;
		else
			visit(watch, TAILQ_FIRST(&subtree->waiting));
	}
}

static unsigned int due_of(const struct inotify_event *event)
{
	if (!event->len)
		return 0;
	if (event->mask & IN_CREATE)
		return event->mask & IN_ISDIR ? DUE_CHILDREN : 0;
	if (!strcmp(event->name, "cgroup.subtree_control"))
		return DUE_CONTROL;
	return text_is(event->name, "io.weight", "io.bfq.weight", "io.prio.class", "io.latency",
		       "io.max") ? DUE_ASKED : 0;
}

static void handle(struct part *part, const struct inotify_event *event)
{
	struct node *node;

	/* Events were lost, with any change of any of the cgroups. */
	if (event->mask & IN_Q_OVERFLOW) {
		watch_mark_part(part->watch, part, DUE_ASKED | DUE_CHILDREN | DUE_ANEW);
		return;
	}
	node = watch_node_of_wd(part, event->wd);
	if (node && event->mask & IN_IGNORED)
		watch_node_drop(part->watch, node);
	else if (node)
		watch_mark(node, due_of(event));
}

/* More than one buffer wait for the next round, or are lost, and noticed as that. */
static void read_events(struct part *part)
{
	char buffer[65536]
		__attribute((aligned(__alignof__(struct inotify_event))));
	ssize_t length = read(part->inotify, buffer, sizeof(buffer)), place = 0;

	while (place < length) {
		const struct inotify_event *event = (void *)(buffer + place);

		handle(part, event);
		place += sizeof(*event) + event->len;
	}
}

static int on_round(sd_event_source *source, uint64_t now, void *data)
{
	struct part *part = data;
	bool is_own = part == &part->watch->parts[PART_OWN];
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000, rest;

	(void)now;
	read_events(part);
	serve(part->watch, part, is_own ? UINT_MAX : STEPS_MAX);
	rest = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000 - began) * REST;
	if (is_own || rest < PAUSE_US)
		rest = PAUSE_US;
	part->next_us = clock_ns(CLOCK_MONOTONIC) / 1000 + rest;
	sd_event_source_set_time(source, part->next_us);
	sd_event_source_set_enabled(source,
				    TAILQ_EMPTY(&part->turns) ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
	sd_event_source_set_enabled(part->changes, SD_EVENT_ON);
	return 0;
}

static int on_changes(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct part *part = data;

	(void)fd;
	(void)events;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	sd_event_source_set_time(part->round, part->next_us);
	sd_event_source_set_enabled(part->round, SD_EVENT_ONESHOT);
	return 0;
}

static int on_poll(sd_event_source *source, uint64_t now, void *data)
{
	struct watch *watch = data;
	struct subtree *subtree;
	struct node *node;

	(void)source;
	(void)now;
	TAILQ_FOREACH(subtree, &watch->subtrees, all) {
		TAILQ_FOREACH(node, &subtree->nodes, all) {
			if (node->wd < 0)
				watch_mark(node, DUE_ASKED | DUE_CHILDREN);
		}
	}
	return 0;
}

static int start_part(struct watch *watch, struct part *part)
{
	part->watch = watch;
	TAILQ_INIT(&part->turns);
	part->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (part->inotify < 0 ||
	    sd_event_add_io(watch->event, &part->changes, part->inotify,
			    EPOLLIN, on_changes, part) < 0 ||
	    sd_event_add_time(watch->event, &part->round, CLOCK_MONOTONIC, 0, 1,
			      on_round, part) < 0)
		return fail(EXIT_FAILED, "cannot watch the cgroups: %s", strerror(errno));
	return EXIT_OK;
}

/* Follow all cgroups. */
int watch_cgroups_start(struct watch *watch)
{
	struct subtree *own;
	struct stat info;
	int code = EXIT_OK;

	TAILQ_INIT(&watch->subtrees);
	for (size_t i = 0; i < PARTS && code == EXIT_OK; i++)
		code = start_part(watch, &watch->parts[i]);
	if (code != EXIT_OK)
		return code;
	if (stat(watch->hierarchy.root, &info) ||
	    sd_event_add_time(watch->event, &watch->poll, CLOCK_MONOTONIC, 0, 1,
			      on_poll, watch) < 0)
		return fail(EXIT_FAILED, "cannot watch the cgroups: %s", strerror(errno));
	sd_event_source_set_enabled(watch->poll, SD_EVENT_OFF);
	own = watch_subtree_add(watch, &watch->parts[PART_OWN], NULL);
	watch_node_add(watch, own, "/", info.st_ino);
	watch_cgroups_finish(watch);
	return EXIT_OK;
}

/* Visit all cgroups that are due now, however many. */
void watch_cgroups_finish(struct watch *watch)
{
	for (size_t i = 0; i < PARTS; i++)
		serve(watch, &watch->parts[i], UINT_MAX);
}

/* Let refused attempts be made once more. */
void watch_cgroups_retry(struct watch *watch)
{
	struct subtree *subtree;
	struct node *node;

	watch->full_noted = false;
	TAILQ_FOREACH(subtree, &watch->subtrees, all) {
		TAILQ_FOREACH(node, &subtree->nodes, all)
			node->tried = false;
	}
}

void watch_cgroups_free(struct watch *watch)
{
	struct subtree *subtree;

	while ((subtree = TAILQ_FIRST(&watch->subtrees)))
		watch_node_drop(watch, TAILQ_FIRST(&subtree->nodes));
	watch->poll = sd_event_source_unref(watch->poll);
	for (size_t i = 0; i < PARTS && watch->parts[i].watch; i++) {
		struct part *part = &watch->parts[i];

		part->round = sd_event_source_unref(part->round);
		part->changes = sd_event_source_unref(part->changes);
		if (part->inotify >= 0)
			close(part->inotify);
	}
}
