/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the structures of groups.
 */
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
 * struct ioband_key - what a bio is sorted by
 * @kind: below IOBAND_NR_KEYED
 * @id: css id, uid, gid, pid or process group
 * @owner: struct cgroup_subsys_state * or struct pid *, by @kind, or NULL
 */
struct ioband_key {
	enum ioband_kind kind;
	u32 id;
	void *owner;
};

/* Real-time 0 to 7, best-effort 0 to 7, idle. */
#define IOBAND_NR_LEVELS	17

/* Best-effort 4: of a task that nobody gave another one. */
#define IOBAND_LEVEL_USUAL	12

/**
 * struct ioband_place - a place on a mapped device
 * @member: the device, for comparison only: it may have gone
 * @sector: of what is below its target
 */
struct ioband_place {
	const struct ioband_member *member;
	sector_t sector;
};

/**
 * struct ioband_stream - a queue of bios of a group
 * @leaf: where it competes: in the group's node, or among the group's streams
 * @group: the group
 * @streams: place in the list of the group's other streams, those that were used
 *	last at the end; of the group's own queue, that list
 * @held: bios that wait, by way, oldest first
 * @parked: by way, the last of those at the head of @held that are passed over, as their
 *	devices were blocked; NULL: none is
 * @next: of a run, where it goes on; else without a member
 * @level: see ioband_stream_level()
 * @reads_ahead: reads that have gone while a write waited, in a row; no more than
 *	&ioband_pool.writes_starved, or what that was
 */
struct ioband_stream {
	struct ioband_leaf leaf;
	struct ioband_group *group;
	struct list_head streams;
	struct bio_list held[IOBAND_NR_WAYS];
	struct bio *parked[IOBAND_NR_WAYS];
	struct ioband_place next;
	u8 level;
	u8 reads_ahead;
};

#define IOBAND_RECENT	64

/* A subtree has at most so many times the groups, and the counters, that are left above it. */
#define IOBAND_SUBTREE_ALPHA	7

/**
 * struct ioband_scope - a part of the tree with groups of its own
 * @group: top of it: the pool's root, or a device's group
 * @index: groups by kind and id; looked up under RCU, changed under the lock
 * @recent: groups that were lately active, by the low bits of their id: the
 *	index at a glance.  Under RCU likewise.
 * @nr_presets: how many paths something was given to
 */
struct ioband_scope {
	struct ioband_group *group;
	struct xarray index[IOBAND_NR_KEYED];
	struct ioband_group __rcu *recent[IOBAND_RECENT];
	unsigned int nr_presets;
};

/**
 * struct ioband_wishes - what a group begins with
 * @weight: its weight; 0: the default
 * @latency_us: how long its reads are to take; 0: no target
 * @max: what it may have at most; 0 for each that is not bounded
 * @min: what it is promised, likewise
 */
struct ioband_wishes {
	u32 weight;
	u32 latency_us;
	struct ioband_rates max;
	struct ioband_rates min;
};

/**
 * ioband_wishes_bound() - does a group begin with more than a weight
 * @wishes: what it begins with
 *
 * Return: true if so: it takes a &struct ioband_bounds.
 */
static inline bool ioband_wishes_bound(const struct ioband_wishes *wishes)
{
	return wishes->latency_us || ioband_rates_any(&wishes->max) ||
	       ioband_rates_any(&wishes->min);
}

/**
 * struct ioband_preset - what the group of a path begins with
 * @node: place among those whose paths have the same hash
 * @scope: the part of the tree
 * @seq: its number in messages
 * @wishes: what it begins with; changed under the pool's reap mutex and its lock
 * @path: of the cgroup, from the root of the hierarchy
 */
struct ioband_preset {
	struct hlist_node node;
	struct ioband_scope *scope;
	u32 seq;
	struct ioband_wishes wishes;
	char path[];
};

/**
 * struct ioband_bounds - what is wished of a group, but for its weight
 * @cap: what it may have at most, while its entity has it
 * @floor: what it is promised, likewise
 * @aim: what its reads are to take, likewise
 */
struct ioband_bounds {
	struct ioband_cap cap;
	struct ioband_floor floor;
	struct ioband_aim aim;
};

/**
 * struct ioband_group - a group of a pool
 * @node: its place in the tree; its children compete in it
 * @own: its own bios, which compete in @node with the children
 * @streams: what it has for streams of its own, while it has some; their bios are its
 *	own too, and to @own come only what is urgent then, or has no memory for a stream
 * @pool: the pool
 * @scope: where it is indexed
 * @parent: the group above; NULL for the root
 * @key: what it is found by
 * @devno: of the device, for IOBAND_KIND_DEVICE
 * @kind: what it stands for
 * @weight_set: somebody set its weight
 * @unindexed: no longer found by new bios; goes with its last bio
 * @doomed: was unindexed a grace period ago; the sweep's
 * @touched: a bio came by way of the lock since the last tick
 * @open: bios may go without the lock; written under the lock
 * @preset: its path was given something when it was made, or when a message took something
 *	from it: it is not forgotten, or would have that again
 * @seq: its number in messages
 * @below: groups below, at any depth
 * @nr_stats: counters that it and all groups below have, by &ioband_stats.kind
 * @stats: counters and histograms; NULL while it is idle for long, and all below it.  Under RCU.
 * @retired: @stats that bios in flight may still use
 * @totals: what retired counters had counted; NULL until then
 * @bounds: its maximum, minimum and latency target; NULL: none of them
 * @held: bios that wait, in all its streams, by direction
 * @held_of_tasks: of those, the bios whose tasks may be made to wait, with what they cost
 * @held_of_flushers: bytes of those that flushers write back, who may be made to wait
 * @flusher_has_waited: long enough, and does not again until little of that is left
 * @released_ios: how many of @held_of_tasks have waited, and do not any more; wraps
 * @look_ios: when that is so many, the next of those who wait may go on
 * @room: tasks that wait until the group holds less, or what was there before has gone
 * @active: place among the pool's active groups, while active
 * @seen_ios: what had completed at the last tick
 * @busy_at: when the tick last saw that it did something, in jiffies
 * @idle_since: when it ceased to be active, in jiffies
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
	struct ioband_bounds *bounds;
	struct ioband_held held[IOBAND_NR_DIRS];
	struct ioband_held held_of_tasks;
	u64 held_of_flushers;
	u32 released_ios;
	u32 look_ios;
	wait_queue_head_t room;
	struct list_head active;
	u64 seen_ios;
	unsigned long busy_at;
	unsigned long idle_since;
};

/**
 * ioband_group_is_set() - has somebody given it something of its own
 * @group: group
 *
 * Only who may configure devices can, and iobandctl watch does for who may write io.weight
 * or io.latency.  Who may make the cgroup of a path that something was given to can have it
 * again and again, each time that the cgroup is made: the groups of those that were removed are
 * there until the sweep has come.
 *
 * Context: Under the pool's lock.
 *
 * Return: true if it has a weight, maximum, minimum or latency target that was set.
 */
static inline bool ioband_group_is_set(const struct ioband_group *group)
{
	return group->weight_set || group->bounds;
}

/* The entity with a group's weight, maximum and minimum; of the root, that of its own bios. */
static inline struct ioband_ent *ioband_group_ent(const struct ioband_group *group)
{
	return (struct ioband_ent *)(group->parent ? &group->node.ent : &group->own.leaf.ent);
}

/* Context: any; under the pool's lock it is what it says, else a look. */
static inline u32 ioband_group_held_ios(const struct ioband_group *group)
{
	u32 ios = 0;
	int dir;

	for (dir = 0; dir < IOBAND_NR_DIRS; dir++)
		ios += READ_ONCE(group->held[dir].ios);
	return ios;
}

#endif /* DM_IOBAND_GROUPS_H */
