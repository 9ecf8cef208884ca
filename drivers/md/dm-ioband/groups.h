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

/* The key by which a bio finds its group. */
struct ioband_key {
	enum ioband_kind kind;		/* below IOBAND_NR_KEYED */
	u32 id;				/* css id, uid, gid, pid or process group */
	void *object;			/* cgroup_subsys_state or pid, by @kind, or NULL */
};

/* Real-time 0 to 7, best-effort 0 to 7, idle. */
#define IOBAND_NR_LEVELS	17

/* Best-effort 4, the default of a task. */
#define IOBAND_LEVEL_USUAL	12

/* A position on a mapped device. */
struct ioband_place {
	const struct ioband_member *member;	/* for comparison only: it may be gone */
	sector_t sector;		/* of the device below its target */
};

/* Queues of a stream: one for each &enum ioband_dir, and one more. */
enum ioband_kept {
	IOBAND_KEPT_NO_DATA = IOBAND_NR_DIRS,	/* for the core, writes */
	IOBAND_NR_KEPT,
};

/* A queue of bios of a group. */
struct ioband_stream {
	struct ioband_leaf leaf;	/* in the group's node or among its streams */
	struct ioband_group *group;
	/* least recently used first; in &ioband_group.own, the head */
	struct list_head streams;
	struct bio_list held[IOBAND_NR_KEPT];	/* queued bios, oldest first */
	/* last of the bios at the head of each that are skipped: their devices are blocked */
	struct bio *parked[IOBAND_NR_KEPT];
	struct list_head park;		/* in a list of the pool, at least while bios are skipped */
	/* in &ioband_queue.waiting, while writes wait for its worker */
	struct list_head wbt_wait;
	/* in &ioband_pool.discarders, while bios without data wait */
	struct list_head discard_wait;
	u64 discard_ns;			/* last dispatch of a bio or split without data */
	struct ioband_place next;	/* begin of a run's next read; otherwise without a member */
	u8 level;			/* see ioband_stream_level() */
	u8 reads_ahead;	/* in a row before a queued write, up to &ioband_pool.writes_starved */
};

#define IOBAND_RECENT	64

/* Largest ratio of the groups, or counters, of a subtree to the number that is left above it. */
#define IOBAND_SUBTREE_ALPHA	7

/* A part of the tree with groups of its own. */
struct ioband_scope {
	struct ioband_group *group;	/* the pool's root, or a device's group */
	/* groups by kind and id, under RCU or the pool's lock */
	struct xarray index[IOBAND_NR_KEYED];
	/* active groups of @index, by the low bits of their id */
	struct ioband_group __rcu *recent[IOBAND_RECENT];
	unsigned int nr_presets;
};

/* The initial settings of a group. */
struct ioband_config {
	u32 weight;			/* or IOBAND_WEIGHT_IDLE; 0: the default */
	u32 latency_us[IOBAND_NR_DIRS];	/* 0: none */
	struct ioband_rates max;	/* 0: not bounded */
	struct ioband_rates min;
};

/* Are there initial settings other than a weight, which need a &struct ioband_limits? */
static inline bool ioband_config_has_limits(const struct ioband_config *config)
{
	return config->latency_us[IOBAND_DIR_READ] || config->latency_us[IOBAND_DIR_WRITE] ||
	       ioband_args_any_rate(&config->max) || ioband_args_any_rate(&config->min);
}

/* The initial settings of the group of a path. */
struct ioband_preset {
	struct hlist_node node;		/* in the hash chain of the path */
	struct ioband_scope *scope;
	u32 seq;			/* number in messages */
	struct ioband_config config;	/* changed under the pool's reap mutex and its lock */
	char path[];			/* from the root of the hierarchy */
};

/* Memory for the settings of a group other than its weight. */
struct ioband_limits {
	struct ioband_max max;
	struct ioband_min min;
	struct ioband_latency latency[IOBAND_NR_DIRS];
};

/* A group of a pool. */
struct ioband_group {
	struct ioband_node node;	/* its children compete there */
	struct ioband_stream own;	/* queue of its own bios, which competes in @node too */
	/* for its own bios, or NULL; with streams, @own has the urgent ones */
	struct ioband_streams *streams;
	struct ioband_pool *pool;
	struct ioband_scope *scope;	/* that indexes it */
	struct ioband_group *parent;	/* NULL for the root */
	struct ioband_key key;
	dev_t devno;			/* of IOBAND_KIND_DEVICE */
	u8 kind;
	bool weight_set;		/* by a message or a preset */
	bool unindexed;			/* new bios do not find it; freed after its last bio */
	bool doomed;			/* was unindexed a grace period ago; for the sweep */
	bool touched;			/* a bio took the lock since the last tick */
	/* its path had one when it was made or set: it is kept, as a new one would begin with it */
	bool preset;
	bool flusher_has_waited;	/* as long as it may, until little writeback is queued */
	u32 seq;			/* number in messages */
	u32 below;			/* number of groups below, at any depth */
	u32 nr_stats[IOBAND_NR_STATS_KINDS];	/* of this group and all below */
	struct ioband_stats __rcu *stats;	/* NULL after all were idle for long; under RCU */
	/*
	 * @stats while bios may be dispatched without the pool's lock, if &ioband_pool.passes, or
	 * NULL; written under it
	 */
	struct ioband_stats __rcu *open;
	struct ioband_stats *retired;	/* former @stats that bios in flight may still use */
	struct ioband_counters *totals;	/* sums of retired counters; NULL until the first */
	struct ioband_limits *limits;	/* NULL: none */
	struct ioband_held held[IOBAND_NR_OPS];	/* queued bios of all its streams */
	/* of these, bios that may make their submitters sleep */
	struct ioband_held held_of_tasks;
	u64 held_of_flushers;		/* queued bytes of writeback that may make flushers sleep */
	u32 released_ios;	/* number of @held_of_tasks that have left the queue; wraps */
	u32 check_ios;		/* value of it at which the next sleeping submitter may continue */
	wait_queue_head_t waiters;	/* until fewer bios are queued, or earlier ones have left */
	struct list_head active;	/* in &ioband_pool.active */
	/* &ioband_progress.work at the last scan since it became active; U64_MAX: none yet */
	u64 seen_work;
	u64 works[2];	/* in the last measurement of each state of the pool (sched/overhead.h) */
	unsigned long busy_at;		/* when the tick last saw activity, in jiffies */
	unsigned long idle_since;	/* when the group ceased to be active, in jiffies */
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

	for (int op = 0; op < IOBAND_NR_OPS; op++)
		ios += READ_ONCE(group->held[op].ios);
	return ios;
}

#endif /* DM_IOBAND_GROUPS_H */
