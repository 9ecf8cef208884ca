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

/* The settings of a cgroup in a tree. */
struct sent {
	uint32_t weight;	/* the weight, or IOBAND_WEIGHT_IDLE; 0 for the default */
	struct bounds bounds;	/* its maximum, minimum and latency target */
};

/* Reasons to visit a cgroup. */
enum due {
	DUE_ASKED = 1,	/* its files or systemd may have a new request */
	DUE_CHILDREN = 2,	/* it may have new children */
	DUE_CONTROL = 4,	/* its cgroup.subtree_control was written */
	DUE_ANEW = 8,	/* its group may have been replaced by one without weight and bounds */
};

/* A watched cgroup. */
struct node {
	TAILQ_ENTRY(node) all;	/* its entry in the nodes of its subtree, parents first */
	TAILQ_ENTRY(node) waiting;	/* its entry in the due nodes of its subtree */
	struct subtree *subtree;
	unsigned int due;	/* the reasons to visit it, of enum due */
	int wd;	/* its watch; -1 for a cgroup without one, which is polled */
	char *path;
	uint64_t id;	/* its number in the kernel */
	char *control;	/* the controllers of its children, as last read; NULL before */
	bool tried;	/* the attempt to enable io is over; its result is final for now */
	/*
	 * The requests for it, by kind, as last read; also earlier targets, until they are removed.
	 */
	struct asked asked[ASKED_KINDS];
	/*
	 * By kind: number of values on single devices in @asked from its files; values from
	 * systemd follow them.
	 */
	size_t n_files[ASKED_KINDS];
	struct sent *sent;
};

TAILQ_HEAD(node_list, node);

/* The cgroups that root has delegated to one user, or all others. */
struct subtree {
	TAILQ_ENTRY(subtree) all;	/* its entry in all subtrees */
	/* Its entry in the round-robin list of its part, if it has nodes or a debt. */
	TAILQ_ENTRY(subtree) turn;
	bool has_turn;	/* it is in that list */
	struct part *part;	/* holds the watches of its nodes */
	char *top;	/* path of the delegated cgroup; NULL for the system's own */
	struct node_list nodes;	/* its cgroups, including @top */
	struct node_list waiting;	/* the due cgroups */
	size_t n_watched;	/* number of cgroups with a watch */
	unsigned int debt;	/* work done ahead of its rounds, paid by skipping rounds */
	bool polls_noted;	/* the user has a message that the subtree is partly polled */
	bool latency_noted;	/* the user has a message that a latency target is ignored */
	bool max_noted;	/* the user has a message that a maximum is ignored */
};

TAILQ_HEAD(subtree_list, subtree);

/*
 * The system's own cgroups, or those of all delegated subtrees.  Each part has its own queue of
 * events, so that a flood in delegated cgroups loses no event of the system's cgroups.
 */
struct part {
	struct watch *watch;
	int inotify;	/* the watches of its cgroups */
	sd_event_source *changes;	/* reports pending events; disabled until they are read */
	sd_event_source *round;	/* reads the events, and visits due nodes */
	uint64_t next_us;	/* the earliest time of the next round */
	void *by_wd;	/* its nodes with a watch, for tsearch() */
	struct subtree_list turns;	/* its subtrees with work, the next first */
};

enum { PART_OWN, PART_DELEGATED, PARTS };

/* A tree of cgroups, of a pool or of a device. */
struct watched_tree {
	char *speaker;	/* the device that receives messages */
	char *pool;
	char *device;	/* the device with this tree; NULL for the tree of a pool */
	/*
	 * Numbers of the devices to which a request for this tree may refer: each ioband device,
	 * and the devices below it.  The weight is the ordinal of the ioband device.
	 */
	struct device_weight *v;
	size_t n;
	size_t n_devices;	/* number of ioband devices */
};

/* The state of iobandctl watch. */
struct watch {
	struct conf conf;
	struct past past;	/* the former requests while they are taken back; else empty */
	const char *config;	/* the configuration file, NULL for the installed ones */
	bool enable;	/* enable the io controller where the configuration needs it */
	struct hierarchy hierarchy;	/* of the cgroups */
	sd_event *event;	/* the event loop */
	struct part parts[PARTS];	/* the system's own cgroups, and the delegated ones */
	struct subtree_list subtrees;	/* of both parts, the system's own first */
	void *by_id;	/* the cgroups by their id, for tsearch() */
	sd_event_source *poll;	/* visits the cgroups without a watch */
	bool full_noted;	/* the user has a message that the kernel refused a watch */
	struct udev_monitor *monitor;
	sd_event_source *later;	/* loads the ioband devices again, shortly after a change */
	sd_bus *bus;	/* to systemd; NULL without */
	bool answers;	/* systemd has answered on the bus */
	sd_event_source *retry;	/* connects to the bus again */
	/*
	 * The reason why no presets were sent; NULL without an obstacle, or before there
	 * were trees.
	 */
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
void watch_mark_part(struct watch *watch, const struct part *part, unsigned int due);
struct subtree *watch_subtree_add(struct watch *watch, struct part *part, const char *top);
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
bool watch_bus_ask(struct watch *watch, const char *path, struct asked asked[ASKED_KINDS]);
bool watch_bus_enable_io(struct watch *watch, const char *path);

#endif
