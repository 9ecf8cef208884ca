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

/* Period of visits to a cgroup without a watch. */
#define WATCH_POLL_S 10

/**
 * struct sent - the settings of a cgroup in a tree
 * @weight: the weight, or IOBAND_WEIGHT_IDLE; 0 for the default
 * @bounds: its maximum, minimum and latency target
 */
struct sent {
	uint32_t weight;
	struct bounds bounds;
};

/**
 * enum due - reasons to visit a cgroup
 * @DUE_ASKED: its files or systemd may have a new request
 * @DUE_CHILDREN: it may have new children
 * @DUE_CONTROL: its cgroup.subtree_control was written
 * @DUE_ANEW: its group may have been replaced by one without weight and bounds
 */
enum due {
	DUE_ASKED = 1,
	DUE_CHILDREN = 2,
	DUE_CONTROL = 4,
	DUE_ANEW = 8,
};

/**
 * struct node - a watched cgroup
 * @all: its entry in the nodes of its subtree, parents first
 * @waiting: its entry in the due nodes of its subtree
 * @subtree: its subtree of the hierarchy
 * @due: the reasons to visit it, of enum due
 * @wd: its watch; -1 for a cgroup without one, which is polled
 * @path: in the hierarchy
 * @id: its number in the kernel
 * @control: the controllers of its children, as last read; NULL before
 * @tried: the attempt to enable io is over; its result is final for now
 * @asked: the requests for it, by kind, as last read; also earlier targets,
 *	until they are removed
 * @n_files: by kind: number of values on single devices in @asked from its
 *	files; values from systemd follow them
 * @sent: its settings, by tree
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
 * @all: its entry in all subtrees
 * @turn: its entry in the round-robin list of its part, if it has nodes or a
 *	debt
 * @has_turn: it is in that list
 * @part: holds the watches of its nodes
 * @top: path of the delegated cgroup; NULL for the system's own
 * @nodes: its cgroups, including @top
 * @waiting: the due cgroups
 * @n_watched: number of cgroups with a watch
 * @debt: work done ahead of its rounds, paid by skipping rounds
 * @polls_noted: the user has a message that the subtree is partly polled
 * @latency_noted: the user has a message that a latency target is ignored
 * @max_noted: the user has a message that a maximum is ignored
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
 * @watch: the watch
 * @inotify: the watches of its cgroups
 * @changes: reports pending events; disabled until they are read
 * @round: reads the events, and visits due nodes
 * @next_us: the earliest time of the next round
 * @by_wd: its nodes with a watch, for tsearch()
 * @turns: its subtrees with work, the next first
 *
 * Each part has its own queue of events, so that a flood in delegated cgroups
 * loses no event of the system's cgroups.
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
 * struct watched_tree - a tree of cgroups, of a pool or of a device
 * @speaker: the device that receives messages
 * @pool: the pool
 * @device: the device with this tree; NULL for the tree of a pool
 * @v: numbers of the devices to which a request for this tree may refer: each
 *	ioband device, and the devices below it.  The weight is the ordinal of
 *	the ioband device.
 * @n: length of @v
 * @n_devices: number of ioband devices
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
 * struct watch - the state of iobandctl watch
 * @conf: the configuration
 * @past: the former requests while they are taken back; else empty
 * @config: the configuration file, NULL for the installed ones
 * @enable: enable the io controller where the configuration needs it
 * @hierarchy: of the cgroups
 * @event: the event loop
 * @parts: the system's own cgroups, and the delegated ones
 * @subtrees: of both parts, the system's own first
 * @by_id: the cgroups by their id, for tsearch()
 * @poll: visits the cgroups without a watch
 * @full_noted: the user has a message that the kernel refused a watch
 * @monitor: of block devices
 * @later: loads the ioband devices again, shortly after a change
 * @bus: to systemd; NULL without
 * @answers: systemd has answered on the bus
 * @retry: connects to the bus again
 * @obstacle: the reason why no presets were sent; NULL without an obstacle, or
 *	before there were trees
 * @trees: the trees with weights
 * @n_trees: length of @trees
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
