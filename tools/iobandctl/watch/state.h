/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_STATE_H
#define IOBANDCTL_STATE_H

#include <libudev.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cgroup/cgroup.h"
#include "config/conf.h"
#include "config/past.h"
#include "ioband/ioband.h"
#include "watch/weigh.h"

/* A cgroup without a watch is looked at so often. */
#define WATCH_POLL_S 10

/**
 * struct sent - what is set for a cgroup in a tree
 * @weight: 0 for the default
 * @bounds: its maximum, its minimum and its latency target
 */
struct sent {
	uint32_t weight;
	struct bounds bounds;
};

/**
 * enum due - reasons to visit a cgroup
 * @DUE_ASKED: its files, or systemd, may ask for something else
 * @DUE_CHILDREN: it may have cgroups that are not known
 * @DUE_CONTROL: its file of the children's controllers was written
 * @DUE_ANEW: its group may be another one, without weight and bounds
 */
enum due {
	DUE_ASKED = 1,
	DUE_CHILDREN = 2,
	DUE_CONTROL = 4,
	DUE_ANEW = 8,
};

/**
 * struct node - a cgroup that is followed
 * @all: its place among the nodes of its subtree, parents first
 * @waiting: its place among those of its subtree that are due
 * @subtree: of the hierarchy
 * @due: the reasons to visit it, of enum due
 * @wd: its watch; -1 without, and it is polled
 * @path: in the hierarchy
 * @id: as the kernel knows it
 * @control: the controllers that its children have, as read last; NULL before
 * @tried: io was to be enabled for it; the result is final for now
 * @asked: for it, by kind, as read last; and targets that were asked for before, until
 *	they are taken away
 * @n_files: by kind: how many of those on devices in @asked are from its files,
 *	and not from systemd, which come after them
 * @sent: by tree: what is set
 */
struct node {
	TAILQ_ENTRY(node) all;
	TAILQ_ENTRY(node) waiting;
	struct subtree *subtree;
	unsigned int due;
	int wd;
	char *path;
	uint64_t id;
	char *control;
	bool tried;
	struct asked asked[ASKED_KINDS];
	size_t n_files[ASKED_KINDS];
	struct sent *sent;
};

TAILQ_HEAD(node_list, node);

/**
 * struct subtree - the cgroups that root has delegated to one user, or all others
 * @all: its place among all subtrees
 * @turn: its place among those of its part that have nodes or a debt
 * @has_turn: it has such a place
 * @part: has the watches of its nodes
 * @top: path of the cgroup that is delegated; NULL for the system's own
 * @nodes: its cgroups, with @top
 * @waiting: those that are due
 * @n_watched: how many have a watch
 * @debt: work done ahead of its turns, which it passes for it
 * @polls_noted: the user was told that not all of it is watched
 * @latency_noted: the user was told that a latency target is ignored
 * @max_noted: the user was told that a maximum is ignored
 */
struct subtree {
	TAILQ_ENTRY(subtree) all;
	TAILQ_ENTRY(subtree) turn;
	bool has_turn;
	struct part *part;
	char *top;
	struct node_list nodes;
	struct node_list waiting;
	size_t n_watched;
	unsigned int debt;
	bool polls_noted;
	bool latency_noted;
	bool max_noted;
};

TAILQ_HEAD(subtree_list, subtree);

/**
 * struct part - the system's own cgroups, or those of all delegated subtrees
 * @watch: all
 * @inotify: of its cgroups
 * @changes: tells that there are events; off until they are read
 * @round: reads them, and visits the nodes that are due
 * @next_us: the earliest time of the next round
 * @by_wd: its nodes with a watch, for tsearch()
 * @turns: its subtrees with work, the next first
 *
 * Each has its own queue of events, so that a flood in delegated cgroups loses none of
 * the system's.
 */
struct part {
	struct watch *watch;
	int inotify;
	sd_event_source *changes;
	sd_event_source *round;
	uint64_t next_us;
	void *by_wd;
	struct subtree_list turns;
};

enum { PART_OWN, PART_DELEGATED, PARTS };

/**
 * struct watched_tree - a tree of cgroups, a pool's or a device's own
 * @speaker: the device that messages go to
 * @pool: the pool
 * @device: whose own tree it is; NULL for the pool's
 * @v: numbers of the devices whose weights are meant for it: of each ioband device, and of
 *	what lies below it, with the ordinal of the ioband device as their weight
 * @n: how many
 * @n_devices: how many ioband devices
 */
struct watched_tree {
	char *speaker;
	char *pool;
	char *device;
	struct device_weight *v;
	size_t n;
	size_t n_devices;
};

/**
 * struct watch - all that is watched
 * @conf: the configuration
 * @past: what was asked for before, while it is taken back; empty else
 * @config: its file, NULL for the installed ones
 * @enable: enable the io controller where the configuration needs it
 * @hierarchy: of the cgroups
 * @event: the loop
 * @parts: the system's own cgroups, and the delegated ones
 * @subtrees: of both, the system's own first
 * @by_id: the cgroups by their id, for tsearch()
 * @poll: visits the cgroups without a watch
 * @full_noted: the user was told that the kernel refused a watch
 * @monitor: of block devices
 * @later: looks at the ioband devices again, a moment after they changed
 * @bus: to systemd; NULL without
 * @answers: systemd has answered on the bus
 * @retry: tries to reach the bus again
 * @obstacle: why nothing was said of cgroups that are yet to come; NULL if nothing is
 *	in the way, or there were no trees so far
 * @trees: what has weights
 * @n_trees: how many
 */
struct watch {
	struct conf conf;
	struct past past;
	const char *config;
	bool enable;
	struct hierarchy hierarchy;
	sd_event *event;
	struct part parts[PARTS];
	struct subtree_list subtrees;
	void *by_id;
	sd_event_source *poll;
	bool full_noted;
	struct udev_monitor *monitor;
	sd_event_source *later;
	sd_bus *bus;
	bool answers;
	sd_event_source *retry;
	const char *obstacle;
	struct watched_tree *trees;
	size_t n_trees;
};

/* cgroups.c */
int watch_cgroups_start(struct watch *watch);
void watch_cgroups_finish(struct watch *watch);
void watch_cgroups_retry(struct watch *watch);
void watch_cgroups_free(struct watch *watch);

/* nodes.c */
struct node *watch_node_of_id(struct watch *watch, uint64_t id);
struct node *watch_node_of_wd(struct part *part, int wd);
struct node *watch_node_add(struct watch *watch, struct subtree *subtree,
			    const char *path, uint64_t id);
void watch_node_drop(struct watch *watch, struct node *node);
bool watch_node_is_below(const struct node *node, const char *path);
bool watch_node_is_lent(const struct node *node);
void watch_node_follow(struct watch *watch, struct node *node, int directory);
void watch_mark(struct node *node, unsigned int due);
void watch_mark_part(struct watch *watch, const struct part *part,
		     unsigned int due);
struct subtree *watch_subtree_add(struct watch *watch, struct part *part,
				  const char *top);
void watch_delegate(struct watch *watch, struct node *top);

/* asked.c */
void watch_read_asked(struct watch *watch, struct node *node, int directory);
bool watch_read_control(struct node *node, int directory);
void watch_enable_io(struct watch *watch, struct node *node);

/* trees.c */
int watch_trees_start(struct watch *watch);
void watch_trees_load(struct watch *watch);
void watch_trees_free(struct watch *watch);
void watch_trees_stop(struct watch *watch);
void watch_send(struct watch *watch, struct node *node);

/* bus.c */
void watch_bus_start(struct watch *watch);
void watch_bus_free(struct watch *watch);
bool watch_is_unit(const struct node *node);
bool watch_bus_ask(struct watch *watch, const char *path,
		   struct asked asked[ASKED_KINDS]);
bool watch_bus_enable_io(struct watch *watch, const char *path);

#endif
