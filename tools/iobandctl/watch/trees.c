// SPDX-License-Identifier: GPL-2.0-only
/* The trees of groups in the kernel, and their weights and bounds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/handles.h"
#include "base/words.h"
#include "config/presets.h"
#include "host/device.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "watch/state.h"

/* Devices change in bursts; one load after the last change is enough. */
#define SETTLE_US 50000

static void add_number(struct watched_tree *tree, unsigned int major,
		       unsigned int minor, size_t ordinal)
{
	*XPUSH(tree->v, tree->n) = (struct device_weight){ major, minor, ordinal };
}

/* The device, and all devices below it: a request may name any of them. */
static void add_numbers(struct watched_tree *tree, const struct ioband_device *device)
{
	const struct device below = {
		.major = device->table.device[0],
		.minor = device->table.device[1],
	};
	struct names numbers __cleanup(names_free) = { .n = 0 };
	unsigned int major, minor;

	add_number(tree, device->dm->major, device->dm->minor, 0);
	tree->n_devices++;
	device_stack(&below, &numbers);
	for (size_t i = 0; i < numbers.n; i++) {
		if (sscanf(numbers.v[i], "%u:%u", &major, &minor) == 2)
			add_number(tree, major, minor, tree->n_devices);
	}
}

static void add_tree(struct watch *watch, const struct ioband_devices *devices,
		     const struct ioband_device *speaker)
{
	bool own = ioband_has_trees(speaker);
	struct watched_tree *tree = XPUSH(watch->trees, watch->n_trees);

	*tree = (struct watched_tree){
		.speaker = xstrdup(speaker->dm->name),
		.pool = xstrdup(speaker->table.pool),
		.device = own ? xstrdup(speaker->dm->name) : NULL,
	};
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];

		if (own ? device == speaker :
		    device->dm->table && !ioband_has_trees(device) &&
		    !strcmp(device->table.pool, speaker->table.pool))
			add_numbers(tree, device);
	}
}

static void know_group(struct watch *watch, size_t tree, const struct ioband_group *group)
{
	struct node *found;
	unsigned long long id;

	if (sscanf(group->name, "cgroup#%llu", &id) != 1)
		return;
	found = watch_node_of_id(watch, id);
	if (found)
		found->sent[tree] = (struct sent){
			.weight = group->set ? group->weight : 0,
			.bounds = group->bounds,
		};
}

/* Read the weights and bounds in effect, so that only changes are sent. */
static void know_groups(struct watch *watch, const struct ioband_devices *devices, size_t tree)
{
	const struct ioband_device *speaker = ioband_named(devices, watch->trees[tree].speaker);
	const struct ioband_device *owner = watch->trees[tree].device ? speaker : NULL;
	struct groups groups __cleanup(groups_free);

	if (query_groups(speaker, &groups) == EXIT_OK) {
		for (size_t i = 0; i < groups.n; i++) {
			if (tree_owner(devices, &groups, &groups.v[i]) == owner)
				know_group(watch, tree, &groups.v[i]);
		}
	}
}

static void know_nothing(struct watch *watch)
{
	struct subtree *subtree;
	struct node *node;

	TAILQ_FOREACH(subtree, &watch->subtrees, all) {
		TAILQ_FOREACH(node, &subtree->nodes, all) {
			free(node->sent);
			node->sent = xcalloc(watch->n_trees, sizeof(struct sent));
		}
	}
}

/* Context of send_preset(). */
struct sender {
	const struct watch *watch;
	struct preset_tree tree;
	/* The device that receives messages for the tree. */
	const struct ioband_device *speaker;
};

/* Whether a former configuration asked for this; other presets are left alone. */
static bool is_ours(const struct sender *sender, const struct preset_change *change)
{
	const struct past *past = &sender->watch->past;

	for (size_t i = 0; i < past->n; i++) {
		if (presets_ask_for(&past->v[i], &sender->tree, change->path,
				    change->now, change->setting))
			return true;
	}
	return false;
}

static int send_preset(const struct preset_change *change, void *data)
{
	const struct sender *sender = data;

	if (!change->place && !is_ours(sender, change))
		return EXIT_OK;
	/* A refused preset has been reported; the other presets can still be sent. */
	if (change->setting == GROUP_WEIGHT)
		query_preset_weight(sender->speaker, change->path, change->wanted->weight);
	else
		query_preset_bound(sender->speaker, change->path, change->setting - GROUP_BOUNDS,
				   &change->wanted->bounds);
	return EXIT_OK;
}

/* Presets for future cgroups with a path in the configuration. */
static void send_presets(const struct watch *watch,
			 const struct ioband_devices *devices, size_t number)
{
	const struct watched_tree *watched = &watch->trees[number];
	struct sender sender = {
		.watch = watch,
		.speaker = ioband_named(devices, watched->speaker),
	};
	struct preset_counts counts;
	struct presets now __cleanup(presets_free);

	if (query_presets(sender.speaker, &now) == EXIT_OK) {
		presets_tree(&sender.tree, watched->pool, watched->device ? sender.speaker : NULL);
		presets_differ(&watch->conf, &sender.tree, &now, send_preset, &sender, &counts);
	}
}

/* An obstacle is reported once. */
static void send_all_presets(struct watch *watch, const struct ioband_devices *devices)
{
	const char *obstacle = presets_obstacle(&watch->hierarchy);

	if (!watch->n_trees)
		return;
	if (obstacle && obstacle != watch->obstacle)
		presets_say_obstacle(&watch->conf, obstacle);
	watch->obstacle = obstacle;
	for (size_t i = 0; i < watch->n_trees && !obstacle; i++)
		send_presets(watch, devices, i);
}

static bool has_pool(const struct watch *watch, const char *pool)
{
	for (size_t i = 0; i < watch->n_trees; i++) {
		if (!watch->trees[i].device && !strcmp(watch->trees[i].pool, pool))
			return true;
	}
	return false;
}

/*
 * Load the ioband devices again.
 * @watch: the watch; marks all cgroups, so that their settings are sent
 */
void watch_trees_load(struct watch *watch)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };

	if (ioband_load(&devices) != EXIT_OK)
		return;
	watch_trees_free(watch);
	conf_find_pools(&watch->conf);	/* a disk may have been added */
	for (size_t i = 0; i < devices.n; i++) {
		const struct ioband_device *device = &devices.v[i];

		if (device->dm->table &&
		    (ioband_has_trees(device) || (!strcmp(device->table.mode, "cgroup") &&
						  !has_pool(watch, device->table.pool))))
			add_tree(watch, &devices, device);
	}
	know_nothing(watch);
	send_all_presets(watch, &devices);
	for (size_t i = 0; i < watch->n_trees; i++)
		know_groups(watch, &devices, i);
	/* Requests may name a device that is new. */
	watch_mark_part(watch, NULL, DUE_ASKED);
}

void watch_trees_free(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_trees; i++) {
		free(watch->trees[i].speaker);
		free(watch->trees[i].pool);
		free(watch->trees[i].device);
		free(watch->trees[i].v);
	}
	free(watch->trees);
	watch->trees = NULL;
	watch->n_trees = 0;
}

static uint32_t wanted(const struct watch *watch, const struct node *node,
		       const struct watched_tree *tree)
{
	const struct conf_section *section =
		conf_setting_of(&watch->conf, KEY_WEIGHT, node->path, tree->pool, tree->device);

	if (section)
		return weight_of(conf_text(section, KEY_WEIGHT));
	return asked_on(&node->asked[ASKED_WEIGHT], tree->v, tree->n);
}

/* The cgroup may have been replaced by another one, without an event so far. */
static bool has_group(const struct watch *watch, const struct node *node)
{
	return cgroup_is(&watch->hierarchy, node->path, node->id) &&
	       cgroup_has_io(&watch->hierarchy, node->path);
}

static struct hand_key key_of(const struct watched_tree *tree, const char *group, int setting)
{
	return (struct hand_key){
		.pool = tree->pool, .device = tree->device, .group = group,
		.key = conf_key_name(conf_group_keys[setting]),
	};
}

static void forget_hand(const struct watched_tree *tree, const char *group, int setting)
{
	const struct hand_key key = key_of(tree, group, setting);

	hand_clear(&key);
}

static void send_weight(const struct watch *watch, size_t tree, const struct ioband_device *speaker,
			const char *group, struct node *node)
{
	uint32_t weight = wanted(watch, node, &watch->trees[tree]);
	struct sent *sent = &node->sent[tree];

	if (weight == sent->weight ||
	    (weight == IOBAND_WEIGHT_DEFAULT && !sent->weight) ||
	    !has_group(watch, node))
		return;
	node->subtree->debt++;
	if (query_weight(speaker, group, weight) != EXIT_OK)
		return;
	sent->weight = weight;
	forget_hand(&watch->trees[tree], group, GROUP_WEIGHT);
}

/* The kernel accepts a minimum above the maximum; the maximum takes precedence. */
static void check_bounds(const struct node *node, const struct sent *sent, const char *pool)
{
	struct problem problem;

	if (!bounds_check(&sent->bounds, &problem))
		return;
	note("note: cgroup %s in pool %s: %s, which wins", node->path, pool, problem.text);
}

static bool is_by_hand(const struct node *node, const struct watched_tree *tree, int setting)
{
	char group[IOBAND_GROUP_SIZE];
	const struct hand_key key = key_of(tree, group, setting);

	snprintf(group, sizeof(group), "cgroup#%llu", (unsigned long long)node->id);
	return hand_has(&key);
}

/* Whether a former configuration set the bound, unchanged by hand since. */
static bool gave_bound(const struct watch *watch, const struct node *node,
		       const struct watched_tree *tree, enum bound bound)
{
	const struct ioband_preset now = { .bounds = node->sent[tree - watch->trees].bounds };
	int setting = GROUP_BOUNDS + bound;

	return watch->past.n && bound_is_set(&now.bounds, bound) &&
	       past_asked_path(&watch->past, tree->pool, tree->device, node->path, setting, &now) &&
	       !is_by_hand(node, tree, setting);
}

/*
 * The rates of io.max on devices below ioband.  There the kernel throttles bios that ioband has
 * dispatched, and the throttled bios fill the in-flight limit of all groups.  A maximum on the
 * ioband device itself throttles above ioband, and does no harm.
 *
 * Return: true if there is a maximum, or was one.
 */
static bool asked_max(const struct node *node, const struct watched_tree *tree,
		      struct bounds *wanted)
{
	struct bounds bounds = bounds_none;
	bool found = false;

	for (int rate = 0; rate < RATES; rate++)
		found |= asked_below_all(&node->asked[ASKED_MAX + rate], tree->v, tree->n,
					 tree->n_devices, &bounds.of[MAXIMUM].rate[rate]);
	if (found)
		*wanted = bounds;
	return found;
}

/*
 * The root user of a container may write root's files below the cgroup
 * delegated to it.  So a maximum that was set by hand is kept there.
 */
static bool keeps_max(const struct node *node, const struct watched_tree *tree)
{
	return watch_node_is_lent(node) && is_by_hand(node, tree, GROUP_BOUNDS + MAXIMUM);
}

/* Return: false without a request for a bound of this kind, which is then kept. */
static bool wanted_bound(const struct watch *watch, const struct node *node,
			 const struct watched_tree *tree, enum bound bound, struct bounds *wanted)
{
	const struct conf_section *section =
		conf_setting_of(&watch->conf, conf_group_keys[GROUP_BOUNDS + bound], node->path,
				tree->pool, tree->device);
	const struct device_weight *target =
		bound == LATENCY ?
		asked_find(&node->asked[ASKED_LATENCY], tree->v, tree->n) : NULL;

	if (section)
		*wanted = conf_bounds(section);
	else if (target)
		*wanted = (struct bounds){ .latency_us = { target->weight } };
	else if (bound == MAXIMUM && asked_max(node, tree, wanted) && !keeps_max(node, tree))
		return true;
	else if (gave_bound(watch, node, tree, bound))
		*wanted = bounds_none;
	else
		return false;
	return true;
}

/* Return: true if the bound was set. */
static bool send_bound(const struct watch *watch, size_t tree, const struct ioband_device *speaker,
		       const char *group, struct node *node, enum bound bound)
{
	struct bounds *sent = &node->sent[tree].bounds;
	struct bounds wanted;

	if (!wanted_bound(watch, node, &watch->trees[tree], bound, &wanted) ||
	    bound_is(&wanted, sent, bound) ||
	    !has_group(watch, node))
		return false;
	node->subtree->debt++;
	if (query_bound(speaker, group, bound, &wanted, RATES_ALL) != EXIT_OK)
		return false;
	bound_copy(sent, &wanted, bound);
	forget_hand(&watch->trees[tree], group, GROUP_BOUNDS + bound);
	return true;
}

static void send_bounds(const struct watch *watch, size_t tree, const struct ioband_device *speaker,
			const char *group, struct node *node)
{
	bool changed = false;

	for (int bound = 0; bound < BOUNDS; bound++)
		changed |= send_bound(watch, tree, speaker, group, node, bound);
	if (changed)
		check_bounds(node, &node->sent[tree], watch->trees[tree].pool);
}

static bool has_ended(const struct watch *watch, const struct node *node, enum bound bound)
{
	struct bounds wanted;

	for (size_t i = 0; i < watch->n_trees; i++) {
		if (wanted_bound(watch, node, &watch->trees[i], bound, &wanted) &&
		    !bound_is_set(&wanted, bound) &&
		    bound_is_set(&node->sent[i].bounds, bound) &&
		    has_group(watch, node))
			return false;
	}
	return true;
}

/* Later changes of the target or the maximum by hand are kept. */
static void forget_ended(const struct watch *watch, struct node *node)
{
	if (has_ended(watch, node, LATENCY))
		asked_forget(&node->asked[ASKED_LATENCY]);
	for (int rate = 0; rate < RATES && has_ended(watch, node, MAXIMUM); rate++)
		asked_forget(&node->asked[ASKED_MAX + rate]);
}

/*
 * Send the changed settings of a cgroup.  A cgroup without the io controller has no group;
 * a weight of 100 is the default. Only the configuration asks for minima.  Latency targets
 * and maxima also come from io.latency and io.max.  Bounds without a request are left
 * alone.  Each message adds to the debt of the subtree.
 */
void watch_send(struct watch *watch, struct node *node)
{
	struct mapped_device mapped;
	struct ioband_device speaker = { .dm = &mapped };
	char group[IOBAND_GROUP_SIZE];

	snprintf(group, sizeof(group), "cgroup#%llu", (unsigned long long)node->id);
	for (size_t i = 0; i < watch->n_trees && node->path[1]; i++) {
		snprintf(mapped.name, sizeof(mapped.name), "%s", watch->trees[i].speaker);
		send_weight(watch, i, &speaker, group, node);
		send_bounds(watch, i, &speaker, group, node);
	}
	forget_ended(watch, node);
}

static int on_settled(sd_event_source *source, uint64_t now, void *data)
{
	(void)source;
	(void)now;
	watch_trees_load(data);
	return 0;
}

static int on_device(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct watch *watch = data;
	struct udev_device *device __cleanup(close_udev_device);
	const char *name;
	uint64_t now;
	bool lost;

	(void)source;
	(void)fd;
	(void)events;
	errno = 0;
	device = udev_monitor_receive_device(watch->monitor);
	lost = !device && errno == ENOBUFS;
	name = device ? udev_device_get_sysname(device) : "";
	if ((lost || text_after(name, "dm-")) &&
	    sd_event_now(watch->event, CLOCK_MONOTONIC, &now) >= 0) {
		sd_event_source_set_time(watch->later, now + SETTLE_US);
		sd_event_source_set_enabled(watch->later, SD_EVENT_ONESHOT);
	}
	return 0;
}

/* Watch the ioband devices. */
int watch_trees_start(struct watch *watch)
{
	struct udev *udev = udev_shared();
	struct udev_monitor *monitor = udev ? udev_monitor_new_from_netlink(udev, "kernel") : NULL;

	watch->monitor = monitor;
	if (!monitor ||
	    udev_monitor_filter_add_match_subsystem_devtype(monitor, "block", "disk") < 0 ||
	    udev_monitor_enable_receiving(monitor) < 0 ||
	    sd_event_add_io(watch->event, NULL, udev_monitor_get_fd(monitor),
			    EPOLLIN, on_device, watch) < 0 ||
	    sd_event_add_time(watch->event, &watch->later, CLOCK_MONOTONIC, 0,
			      1, on_settled, watch) < 0)
		return fail(EXIT_FAILED, "cannot watch the block devices");
	sd_event_source_set_enabled(watch->later, SD_EVENT_OFF);
	return EXIT_OK;
}

/* Stop watching the ioband devices. */
void watch_trees_stop(struct watch *watch)
{
	watch_trees_free(watch);
	watch->later = sd_event_source_unref(watch->later);
	watch->monitor = udev_monitor_unref(watch->monitor);
}
