/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WATCH_H
#define IOBANDCTL_WATCH_H

#include <libudev.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cgroup.h"
#include "conf.h"
#include "ioband.h"
#include "past.h"
#include "weigh.h"

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
 * struct node - a cgroup that is watched
 * @wd: its watch; nodes are sorted by it
 * @path: in the hierarchy
 * @id: as the kernel knows it
 * @control: the controllers that its children have, as read last
 * @tried: io was to be enabled for it; whatever came of it is final for now
 * @asked: for it, by kind, as read last; and targets that were asked for before, until
 *	they are taken away
 * @n_files: by kind: how many of those on devices in @asked are from its files,
 *	and not from systemd, which come after them
 * @sent: by tree: what is set
 */
struct node {
	int wd;
	char *path;
	uint64_t id;
	char *control;
	bool tried;
	struct asked asked[ASKED_KINDS];
	size_t n_files[ASKED_KINDS];
	struct sent *sent;
};

/**
 * struct watched_tree - a tree of cgroups, a pool's or a device's own
 * @speaker: the device that messages go to
 * @pool: the pool
 * @device: whose own tree it is; NULL for the pool's
 * @v: numbers of the devices whose weights are meant for it
 * @n: how many
 */
struct watched_tree {
	char *speaker;
	char *pool;
	char *device;
	struct device_weight *v;
	size_t n;
};

/**
 * struct watch - all that is watched
 * @conf: the configuration
 * @past: what was asked for before, while it is taken back; empty else
 * @config: its file, NULL for the installed ones
 * @enable: enable the io controller where the configuration needs it
 * @hierarchy: of the cgroups
 * @event: the loop
 * @inotify: of the cgroups
 * @changes: reads from it
 * @full: some cgroups could not be watched
 * @full_noted: the user was told
 * @room: looks for them again, a moment after others have gone
 * @monitor: of block devices
 * @later: looks at the ioband devices again, a moment after they changed
 * @bus: to systemd; NULL without
 * @retry: tries to reach the bus again
 * @nodes: the cgroups
 * @n_nodes: how many
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
	int inotify;
	sd_event_source *changes;
	bool full;
	bool full_noted;
	sd_event_source *room;
	struct udev_monitor *monitor;
	sd_event_source *later;
	sd_bus *bus;
	sd_event_source *retry;
	struct node *nodes;
	size_t n_nodes;
	const char *obstacle;
	struct watched_tree *trees;
	size_t n_trees;
};

/* watch-cgroups.c */
int watch_cgroups_start(struct watch *watch);
void watch_cgroups_all(struct watch *watch);
void watch_cgroups_retry(struct watch *watch);
void watch_cgroups_free(struct watch *watch);

/* watch-trees.c */
int watch_trees_start(struct watch *watch);
void watch_trees_load(struct watch *watch);
void watch_trees_free(struct watch *watch);
void watch_trees_stop(struct watch *watch);
void watch_send(struct watch *watch, struct node *node);

/* watch-bus.c */
void watch_bus_start(struct watch *watch);
void watch_bus_free(struct watch *watch);
bool watch_is_unit(const char *path);
bool watch_bus_ask(struct watch *watch, const char *path,
		   struct asked asked[ASKED_KINDS]);
bool watch_bus_enable_io(struct watch *watch, const char *path);

#endif
