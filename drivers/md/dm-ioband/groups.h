/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of groups. */
#ifndef DM_IOBAND_GROUPS_H
#define DM_IOBAND_GROUPS_H

#include <linux/bio.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "args.h"
#include "counters.h"
#include "sched/core.h"

struct ioband_member;
struct ioband_pool;

/**
 * struct ioband_key - the key by which a bio finds its group
 * @kind: below IOBAND_NR_KEYED
 * @id: css id, uid, gid, pid or process group
 * @object: struct cgroup_subsys_state * or struct pid *, by @kind, or NULL
 */
struct ioband_key {
	enum ioband_kind kind;
	u32 id;
	void *object;
};

/* Real-time 0 to 7, best-effort 0 to 7, idle. */
#define IOBAND_NR_LEVELS	17

/* Best-effort 4, the default of a task. */
#define IOBAND_LEVEL_USUAL	12

/**
 * struct ioband_place - a position on a mapped device
 * @member: the device, for comparison only: it may be gone
 * @sector: sector of the device below its target
 */
struct ioband_place {
	const struct ioband_member *member;
	sector_t sector;
};

/**
 * enum ioband_kept - queues of a stream: one for each &enum ioband_dir, and one more
 * @IOBAND_KEPT_NO_DATA: bios without data, which the core counts as writes
 * @IOBAND_NR_KEPT: number of queues
 */
enum ioband_kept {
	IOBAND_KEPT_NO_DATA = IOBAND_NR_DIRS,
	IOBAND_NR_KEPT,
};

/**
 * struct ioband_stream - a queue of bios of a group
 * @leaf: its leaf, in the group's node or among the group's streams
 * @group: the group
 * @streams: link in the list of the group's other streams, the most recently used last; in the
 *	group's own queue, the head of that list
 * @held: queued bios by direction, those without data apart, oldest first
 * @parked: the last of the bios at the head of each of @held that are skipped because their devices
 *	are blocked; NULL: none
 * @wbt_wait: link in &ioband_queue.waiting, while writes of the stream wait for the worker of that
 *	queue
 * @discard_wait: link in &ioband_pool.discarders, while bios without data wait for others
 * @discard_ns: last dispatch of a bio or split without data
 * @next: of a sequential run, where its next read begins; otherwise without a member
 * @level: see ioband_stream_level()
 * @reads_ahead: consecutive reads dispatched while a write was queued; at most the present or an
 *	earlier &ioband_pool.writes_starved
 */
struct ioband_stream {
	struct ioband_leaf leaf;
	struct ioband_group *group;
	struct list_head streams;
	struct bio_list held[IOBAND_NR_KEPT];
	struct bio *parked[IOBAND_NR_KEPT];
	struct list_head wbt_wait;
	struct list_head discard_wait;
	u64 discard_ns;
	struct ioband_place next;
	u8 level;
	u8 reads_ahead;
};

#define IOBAND_RECENT	64

/* Largest ratio of the groups, or counters, of a subtree to the number that is left above it. */
#define IOBAND_SUBTREE_ALPHA	7

/**
 * struct ioband_scope - a part of the tree with groups of its own
 * @group: its root: the pool's root, or a device's group
 * @index: groups by kind and id; looked up under RCU, changed under the pool's lock
 * @recent: cache of @index: recently active groups, by the low bits of their id; under RCU likewise
 * @nr_presets: number of presets
 */
struct ioband_scope {
	struct ioband_group *group;
	struct xarray index[IOBAND_NR_KEYED];
	struct ioband_group __rcu *recent[IOBAND_RECENT];
	unsigned int nr_presets;
};

/**
 * struct ioband_config - the initial settings of a group
 * @weight: weight, or IOBAND_WEIGHT_IDLE; 0: the default
 * @latency_us: latency targets, by direction; 0: none
 * @max: maximum; 0 for each rate that is not bounded
 * @min: minimum, likewise
 */
struct ioband_config {
	u32 weight;
	u32 latency_us[IOBAND_NR_DIRS];
	struct ioband_rates max;
	struct ioband_rates min;
};

/* Are there initial settings other than a weight, which need a &struct ioband_limits? */
static inline bool ioband_config_has_limits(const struct ioband_config *config)
{
	return config->latency_us[IOBAND_DIR_READ] || config->latency_us[IOBAND_DIR_WRITE] ||
	       ioband_args_any_rate(&config->max) || ioband_args_any_rate(&config->min);
}

/**
 * struct ioband_preset - the initial settings of the group of a path
 * @node: link in the hash chain of the path
 * @scope: the part of the tree
 * @seq: number in messages
 * @config: the settings; changed under the pool's reap mutex and its lock
 * @path: path of the cgroup from the root of the hierarchy
 */
struct ioband_preset {
	struct hlist_node node;
	struct ioband_scope *scope;
	u32 seq;
	struct ioband_config config;
	char path[];
};

/**
 * struct ioband_limits - the settings of a group other than its weight
 * @max: the maximum, while its entity has one
 * @min: the minimum, likewise
 * @latency: the latency targets, likewise, by direction
 */
struct ioband_limits {
	struct ioband_max max;
	struct ioband_min min;
	struct ioband_latency latency[IOBAND_NR_DIRS];
};

/**
 * struct ioband_group - a group of a pool
 * @node: its node in the tree; its children compete there
 * @own: queue of its own bios, which competes in @node with the children
 * @streams: streams for its own bios, or NULL; with streams, @own has only urgent bios, and bios
 *	for which a stream could not be allocated
 * @pool: the pool
 * @scope: the scope that indexes it
 * @parent: the group above; NULL for the root
 * @key: its key in the index
 * @devno: device number, for IOBAND_KIND_DEVICE
 * @kind: see &enum ioband_kind
 * @weight_set: its weight was set by a message or a preset
 * @unindexed: new bios do not find the group; it is freed after its last bio
 * @doomed: was unindexed a grace period ago; for the sweep
 * @touched: a bio took the lock since the last tick
 * @open: bios may be dispatched without the lock; written under the lock
 * @preset: its path had a preset when the group was made, or when a message took a setting from it;
 *	such a group is kept while idle: a new one would begin with the preset again
 * @seq: number in messages
 * @below: number of groups below, at any depth
 * @nr_stats: number of counters of this group and all groups below, by &ioband_stats.kind
 * @stats: counters and histograms; NULL after this group and all below were idle for long; under
 *	RCU
 * @retired: former @stats that bios in flight may still use
 * @totals: sums of retired counters; NULL until the first
 * @limits: its maximum, minimum and latency target; NULL: none
 * @held: queued bios of all its streams, by &enum ioband_op
 * @held_of_tasks: queued bios that may make their submitters sleep
 * @held_of_flushers: queued bytes of writeback that may make flushers sleep
 * @flusher_has_waited: a flusher slept for the longest time, and does not sleep again until little
 *	writeback is queued
 * @released_ios: number of @held_of_tasks that have left the queue; wraps
 * @check_ios: value of @released_ios at which the next sleeping submitter may continue
 * @waiters: wait queue of submitters, until fewer bios are queued, or as many as were queued have
 *	left
 * @active: link in the pool's list of active groups
 * @seen_ios: completed bios at the last tick
 * @busy_at: when the tick last saw activity, in jiffies
 * @idle_since: when the group ceased to be active, in jiffies
 */
struct ioband_group {
	struct ioband_node node;
	struct ioband_stream own;
	struct ioband_streams *streams;
	struct ioband_pool *pool;
	struct ioband_scope *scope;
	struct ioband_group *parent;
	struct ioband_key key;
	dev_t devno;
	u8 kind;
	bool weight_set;
	bool unindexed;
	bool doomed;
	bool touched;
	bool open;
	bool preset;
	bool flusher_has_waited;
	u32 seq;
	u32 below;
	u32 nr_stats[IOBAND_NR_STATS_KINDS];
	struct ioband_stats __rcu *stats;
	struct ioband_stats *retired;
	struct ioband_counters *totals;
	struct ioband_limits *limits;
	struct ioband_held held[IOBAND_NR_OPS];
	struct ioband_held held_of_tasks;
	u64 held_of_flushers;
	u32 released_ios;
	u32 check_ios;
	wait_queue_head_t waiters;
	struct list_head active;
	u64 seen_ios;
	unsigned long busy_at;
	unsigned long idle_since;
};

/*
 * Was a weight, maximum, minimum or latency target set?  Under the pool's lock.  Settings come from
 * users that may configure devices.  iobandctl watch also passes on settings of users that may
 * write io.weight or io.latency.  A user that may create the cgroup of a preset can obtain such a
 * group each time that it creates the cgroup: groups of removed cgroups exist until the next sweep.
 */
static inline bool ioband_group_is_set(const struct ioband_group *group)
{
	return group->weight_set || group->limits;
}

/* The entity with a group's weight, maximum and minimum; of the root, that of its own bios. */
static inline struct ioband_ent *ioband_group_ent(const struct ioband_group *group)
{
	return (struct ioband_ent *)(group->parent ? &group->node.ent : &group->own.leaf.ent);
}

/* Any context.  The value is exact only under the pool's lock. */
static inline u32 ioband_group_held_ios(const struct ioband_group *group)
{
	u32 ios = 0;
	int op;

	for (op = 0; op < IOBAND_NR_OPS; op++)
		ios += READ_ONCE(group->held[op].ios);
	return ios;
}

#endif /* DM_IOBAND_GROUPS_H */
