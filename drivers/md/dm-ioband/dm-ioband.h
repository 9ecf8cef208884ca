/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: what the parts of the kernel side share.
 *
 *	target	 device-mapper's callbacks
 *	message	 the text interface, by way of args
 *	pool	 devices that share a scheduler, and its clockwork
 *	queue	 may a bio go: holds and releases bios, asks the core
 *	room	 how much may be held of a group, and who waits then
 *	piece	 large bios in pieces
 *	flush	 what the devices' write caches hold at the end of a turn
 *	owner	 whose bio is it: finds the group
 *	group	 the tree of groups, their life and death
 *	preset	 what cgroups that are yet to come will have
 *	bound	 what a group may have at most, what it is promised, its latency target
 *	stream	 a group's own bios, in streams
 *	stats	 per-CPU counters and histograms
 *	core	 the scheduler, its slices, maxima, minima and latency targets: pure, as are
 *		 cost, depth, stall, args
 *
 * Each calls only those below it.
 *
 * Locks, in order: the registry's mutex (pools and members come and go), the
 * pool's reap mutex (counters of groups are freed, or read from outside the I/O
 * path; presets come and go, or are read) or its walk mutex (the active groups are gone
 * through one by one), then the pool's spinlock (everything else), then that of a group's
 * line of tasks.  The pool's lock is taken in the I/O path only while groups compete (state
 * "shared"), for bios that have a maximum, and when a group starts or stops to be active.
 */
#ifndef DM_IOBAND_H
#define DM_IOBAND_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/stringify.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "args.h"
#include "compat.h"
#include "sched/core.h"
#include "sched/cost.h"
#include "sched/depth.h"
#include "sched/stall.h"

#ifndef CONFIG_BLK_CGROUP
#error "dm-ioband finds its groups by block cgroup: it needs CONFIG_BLK_CGROUP"
#endif
#ifndef CONFIG_64BIT
#error "dm-ioband counts and divides in 64 bits: it is for 64-bit kernels"
#endif

struct ioband_group;
struct ioband_pool;

/* ---- statistics ---------------------------------------------------------- */

/**
 * enum ioband_dir - what is counted apart
 * @IOBAND_READ: reads
 * @IOBAND_WRITE: writes, write-zeroes among them
 * @IOBAND_DISCARD: discards and secure erases
 * @IOBAND_NR_DIRS: how many there are
 */
enum ioband_dir {
	IOBAND_READ,
	IOBAND_WRITE,
	IOBAND_DISCARD,
	IOBAND_NR_DIRS,
};

/* Bucket 0 is below 1 us, bucket i below 2^i us, the last takes the rest. */
#define IOBAND_NR_BUCKETS	26

/**
 * struct ioband_counters - what completed, in one direction
 * @ios: bios
 * @bytes: their bytes
 * @held: bios that had been held
 * @wait_ns: how long they were, in all
 * @service_ns: time of all bios at the device below, in all
 */
struct ioband_counters {
	u64 ios;
	u64 bytes;
	u64 held;
	u64 wait_ns;
	u64 service_ns;
};

/**
 * struct ioband_cpu_stats - the counters of a group on one CPU, without the times
 * that are in its histograms
 * @dir: counters
 * @inflight: bios of the group on this CPU: submitted less completed; only the
 *	sum over all CPUs has a meaning.  Pins the counters and the group.
 * @open: likewise, and apart, of those that went in the open state; pins as well
 * @users: likewise, who looks at the group, or waits for it
 */
struct ioband_cpu_stats {
	struct ioband_counters dir[IOBAND_NR_DIRS];
	int inflight[IOBAND_NR_DIRS];
	int open[IOBAND_NR_DIRS];
	int users;
};

/**
 * struct ioband_histogram - how long bios took
 * @sum_ns: all of them
 * @bios: by bucket; those in use are mostly in the cache line of the sum
 */
struct ioband_histogram {
	u64 sum_ns;
	u32 bios[IOBAND_NR_BUCKETS];
};

/**
 * struct ioband_cpu_hist - the histograms of a group on one CPU
 * @wait: time held in ioband, of bios that were held
 * @service: time below ioband
 */
struct ioband_cpu_hist {
	struct ioband_histogram wait[IOBAND_NR_DIRS];
	struct ioband_histogram service[IOBAND_NR_DIRS];
};

/**
 * struct ioband_sum - what a group did, and has to do
 * @dir: what completed
 * @inflight: bios held or in flight, by direction
 */
struct ioband_sum {
	struct ioband_counters dir[IOBAND_NR_DIRS];
	int inflight[IOBAND_NR_DIRS];
};

/**
 * struct ioband_held - bios that wait
 * @ios: how many
 * @bytes: of all of them
 */
struct ioband_held {
	u32 ios;
	u64 bytes;
};

/**
 * enum ioband_stats_kind - whose counters they are
 * @IOBAND_STATS_UNSET: of a group that has been given nothing, or of one for which those of
 *	its kind were too many
 * @IOBAND_STATS_SET: of one that had a weight or a latency target of its own, or of one
 *	above such a group
 * @IOBAND_STATS_BOUND: likewise, a maximum or a minimum
 * @IOBAND_NR_STATS_KINDS: how many there are
 *
 * Each has a larger budget, with those before.
 */
enum ioband_stats_kind {
	IOBAND_STATS_UNSET,
	IOBAND_STATS_SET,
	IOBAND_STATS_BOUND,
	IOBAND_NR_STATS_KINDS,
};

/**
 * struct ioband_stats - what is counted of a group
 * @cpu: counters
 * @hist: histograms; NULL until the pool's tick has made them
 * @spare: next of the pool's spare ones
 * @kind: whose they are
 */
struct ioband_stats {
	struct ioband_cpu_stats __percpu *cpu;
	struct ioband_cpu_hist __percpu *hist;
	struct ioband_stats *spare;
	enum ioband_stats_kind kind;
};

/* ---- groups -------------------------------------------------------------- */

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
 * @children: groups below
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
	u32 children;
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

/* Context: any; under the pool's lock it is what it says, else a look. */
static inline u32 ioband_group_held_ios(const struct ioband_group *group)
{
	u32 ios = 0;
	int dir;

	for (dir = 0; dir < IOBAND_NR_DIRS; dir++)
		ios += READ_ONCE(group->held[dir].ios);
	return ios;
}

/* In the I/O path, which reclaim may wait for. */
#define IOBAND_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/* A group goes within two seconds of what it stood for. */
#define IOBAND_SWEEP_INTERVAL	HZ

/* How often a pool looks at itself while groups are active. */
#define IOBAND_TICK	max(HZ / 100, 1)

/* Bios of the open state that nobody has counted yet: more than any limit. */
#define IOBAND_OPEN_UNKNOWN	(U32_MAX / 2)

/* How long a bio waits at most for its group's counters, in jiffies. */
#define IOBAND_STATS_WAIT	DIV_ROUND_UP(HZ, 100)

/* ---- pools, members, targets --------------------------------------------- */

/**
 * enum ioband_state - how bios get through
 * @IOBAND_OPEN: nothing has to be held: bios of active groups go at once
 * @IOBAND_SHARED: groups compete: the core decides
 */
enum ioband_state {
	IOBAND_OPEN,
	IOBAND_SHARED,
};

/**
 * struct ioband_pool - devices that contend for the same hardware
 * @name: from the table line
 * @pools: place in the registry
 * @refs: targets; under the registry's mutex
 * @members: mapped devices in the pool; changed under the registry's mutex and
 *	the lock
 * @nr_members: how many
 * @lock: guards what is below, and the groups
 * @core: the scheduler
 * @depth: finds its limit
 * @fixed_depth: limit that was set, or 0
 * @fixed_piece: with it, the size of pieces that was set, or 0
 * @limit_ios: what may be in flight in the shared state; U32_MAX: any number
 * @piece_bytes: size of the pieces in which large bios go then, or 0
 * @slice_ms: how long a leaf has the device to itself in the shared state, or 0
 * @writes_starved: how many reads of a stream go before a write that waits longer
 * @stall: which devices do not answer
 * @open_ios: in the shared state, bios still in flight of those that went in the open
 *	one; IOBAND_OPEN_UNKNOWN until the tick has counted them
 * @open_fell: when they last became fewer, in jiffies
 * @open_shift: how often the limit is halved because they do not
 * @measure: what is shared
 * @state: see &enum ioband_state
 * @root: top of the tree
 * @scope: groups found from the root
 * @groups: all groups by seq; looked up under RCU
 * @next_seq: for xa_alloc_cyclic()
 * @nr_groups: how many
 * @presets: all presets by seq; under @reap
 * @next_preset: for xa_alloc_cyclic()
 * @nr_presets: how many
 * @preset_index: the same by path; NULL until there is one
 * @spare_stats: counters for groups to come
 * @nr_spare: how many
 * @stock_failed: there was no memory for more, or not in time, or enough is taken; until
 *	there are new ones
 * @stocked: tasks that wait for some
 * @active: groups that did I/O lately
 * @nr_active: how many
 * @held_ios: bios that wait, in all groups
 * @held_bytes: their bytes
 * @sample: what completed since the last tick
 * @sampled_ns: when the last one before that had completed
 * @done_ns: when the last one has
 * @peak_ios: most that was in flight since the last tick
 * @calm_ticks: ticks with room to spare, so far
 * @calm_until: several groups may be open till then, in jiffies
 * @walk: held by who goes through @active and drops the lock in between
 * @reap: held while counters are freed, or read from outside the I/O path, and while presets
 *	come and go, or are read
 * @dying_bytes: what may go then for those of groups that owe much; may be negative
 * @dying_at: when to look next for held bios of dying tasks and deleted disks, in jiffies
 * @dirty: targets that something was written to, with slices
 * @flushes: of the flush that the core waits for, bios that have not completed
 * @flush_round: its number
 * @wake: asks the core again when a grace ends, or a maximum or the brake lets go
 * @stock: makes counters for groups to come
 * @tick: looks after state, depth and activity while groups are active
 * @sweep: finds groups to remove
 */
struct ioband_pool {
	char name[IOBAND_POOL_NAME_MAX + 1];
	struct list_head pools;
	unsigned int refs;
	struct list_head members;
	unsigned int nr_members;

	spinlock_t lock;	/* down to @peak_ios, and the groups */
	struct ioband_core core;
	struct ioband_depth depth;
	u32 fixed_depth;
	u32 fixed_piece;
	u32 limit_ios;
	u32 piece_bytes;
	u32 slice_ms;
	u32 writes_starved;
	struct ioband_stall stall;
	u32 open_ios;
	unsigned long open_fell;
	u8 open_shift;
	enum ioband_measure measure;
	enum ioband_state state;
	struct ioband_group *root;
	struct ioband_scope scope;
	struct xarray groups;
	u32 next_seq;
	unsigned int nr_groups;
	struct xarray presets;
	u32 next_preset;
	unsigned int nr_presets;
	struct ioband_preset_index *preset_index;
	struct ioband_stats *spare_stats;
	unsigned int nr_spare;
	bool stock_failed;
	wait_queue_head_t stocked;
	struct list_head active;
	unsigned int nr_active;
	u32 held_ios;
	u64 held_bytes;
	struct list_head dirty;
	u32 flushes;
	u32 flush_round;
	struct ioband_sample sample;
	u64 sampled_ns;
	u64 done_ns;
	u32 peak_ios;
	unsigned int calm_ticks;
	unsigned long calm_until;

	struct mutex walk;	/* before @lock */
	struct mutex reap;	/* before @lock */
	s64 dying_bytes;
	unsigned long dying_at;
	struct hrtimer wake;
	struct work_struct stock;
	struct delayed_work tick;
	struct delayed_work sweep;
};

enum ioband_untold {
	IOBAND_UNTOLD_FLUSH,	/* the next flush */
	IOBAND_UNTOLD_FUA,	/* the next write that has to be on the medium */
};

/**
 * struct ioband_member - a mapped device in a pool, across table reloads
 * @pool: the pool
 * @members: place in it
 * @devno: of the mapped device
 * @refs: targets of its tables; under the registry's mutex
 * @mode: how its bios are sorted; written under the pool's lock
 * @pulse: does it answer
 * @roomy_ios: with so many of them another bio goes down without sleep, as far as its
 *	workers have seen of late; under the pool's lock
 * @untold: a flush of ours has failed: which bios from above have still to be told,
 *	a bit for each &enum ioband_untold
 * @scope: groups below the device's own; its @group is NULL while none is needed
 */
struct ioband_member {
	struct ioband_pool *pool;
	struct list_head members;
	dev_t devno;
	unsigned int refs;
	enum ioband_mode mode;
	struct ioband_pulse pulse;
	u32 roomy_ios;
	unsigned long untold;
	struct ioband_scope scope;
};

/**
 * struct ioband_target - a table's target
 * @ti: device-mapper's side of it
 * @dev: the device below
 * @start: first sector on it
 * @pool: its pool
 * @member: its mapped device
 * @settings: from the table; taken over at the first resume
 * @applied: they were
 * @suspended: nothing is held; written under the pool's lock
 * @requeue: while suspended, bios are given back to device-mapper
 * @ready: released bios that @submit has to send down; under the pool's lock
 * @ready_ios: how many; under the pool's lock
 * @due: bios of which it has to send pieces down; under the pool's lock
 * @submitting: @submit is queued or at work, and will see what is added to
 *	@ready and @due; under the pool's lock
 * @submit_wq: for @submit alone: when memory is short, one target must not
 *	wait for the rescuer that another blocks
 * @submit: sends them down
 * @pieces: what pieces are made of
 * @dirty: place among the pool's dirty targets
 * @flush: an empty flush, sent down by @submit
 * @flush_due: it has to; under the pool's lock
 * @flushing: @flush is due or in flight; under the pool's lock
 * @flush_round: which one it is part of
 * @flushed: wakes who waits for the end of @flush
 */
struct ioband_target {
	struct dm_target *ti;
	struct dm_dev *dev;
	sector_t start;
	struct ioband_pool *pool;
	struct ioband_member *member;
	struct ioband_settings settings;
	bool applied;
	bool suspended;
	bool requeue;
	struct bio_list ready;
	u32 ready_ios;
	struct list_head due;
	bool submitting;
	struct workqueue_struct *submit_wq;
	struct work_struct submit;
	struct bio_set pieces;
	struct list_head dirty;
	struct bio flush;
	bool flush_due;
	bool flushing;
	u32 flush_round;
	wait_queue_head_t flushed;
};

/**
 * struct ioband_io - what goes with each bio
 * @target: whose map() took it
 * @group: that it is charged to; NULL: not accounted
 * @stream: of the group, while it waits, or the core knows of it
 * @stats: the group's counters that it pins
 * @start_ns: when it arrived, then when it was released
 * @bill: what it costs; of a bio in pieces, its latest piece
 * @task: who submitted it, while it is held, if a task did for itself
 * @wait_us: how long it was held
 * @bytes: that it covers
 * @dir: see &enum ioband_dir
 * @level: see ioband_stream_level()
 * @open: it went in the open state, past the core
 * @shared: the core knows of it, as a whole
 * @piece_least: the smallest pieces that it may go in; 0: as a whole only
 * @piece: size of its pieces; 0: it goes as a whole
 * @admitted: of a bio in pieces, the bytes that the core has admitted
 * @due_bytes: of these, what the worker has to send down; under the pool's lock
 * @sent: what it has sent
 * @unfinished: bytes that have not completed; under the pool's lock
 * @due: place on its target's list, while @due_bytes is not 0
 * @of_task: a task submitted it for itself, and may be made to wait for its group; not
 *	known of a bio of the open state
 * @of_flusher: the flusher of one cgroup submitted it, and may be made to wait likewise
 * @atomic: it is an atomic write, which the hidden disk is not told
 * @nowait: it came with REQ_NOWAIT, which device-mapper's own bio still has
 */
struct ioband_io {
	struct ioband_target *target;
	struct ioband_group *group;
	struct ioband_stream *stream;
	struct ioband_stats *stats;
	u64 start_ns;
	struct ioband_bill bill;
	struct task_struct *task;
	u32 bytes;
	u32 wait_us;
	u8 dir;
	u8 level;
	bool open;
	bool shared;
	bool of_task;
	bool of_flusher;
	bool atomic;
	bool nowait;
	u32 piece_least;
	u32 piece;
	u32 admitted;
	u32 due_bytes;
	u32 sent;
	u32 unfinished;
	struct list_head due;
};

/**
 * struct ioband_line - a task that waits for its full group
 * @entry: place among those who wait
 * @target: in whose map() it is
 * @queue: of the mapped device, which cannot be frozen meanwhile
 * @group: the group
 * @stats: its counters, which the task has pinned
 * @until: it goes on when &ioband_group.released_ios is that
 * @flusher: it writes back, and goes on when little of that is held
 */
struct ioband_line {
	struct wait_queue_entry entry;
	const struct ioband_target *target;
	struct request_queue *queue;
	struct ioband_group *group;
	struct ioband_stats *stats;
	u32 until;
	bool flusher;
};

static inline struct ioband_io *ioband_io_of(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct ioband_io));
}

static inline struct bio *ioband_bio_of(struct ioband_io *io)
{
	return dm_bio_from_per_bio_data(io, sizeof(struct ioband_io));
}

/**
 * ioband_scope_of() - where the bios of a mapped device find their groups
 * @member: mapped device
 * @mode: how they are sorted
 *
 * Return: the pool's scope or the device's own.
 */
static inline struct ioband_scope *ioband_scope_of(struct ioband_member *member,
						   enum ioband_mode mode)
{
	if (mode == IOBAND_MODE_DEVICE || mode == IOBAND_MODE_DEVICE_CGROUP)
		return &member->scope;
	return &member->pool->scope;
}

/* The limit on what is in flight is found by trials. */
static inline bool ioband_pool_finds_depth(const struct ioband_pool *pool)
{
	return !pool->fixed_depth && !pool->slice_ms;
}

static inline bool ioband_mode_is_cgroup(enum ioband_mode mode)
{
	return mode == IOBAND_MODE_CGROUP || mode == IOBAND_MODE_DEVICE_CGROUP;
}

static inline unsigned int ioband_recent_slot(u32 id)
{
	return id % IOBAND_RECENT;
}

static inline bool ioband_key_equal(const struct ioband_key *a, const struct ioband_key *b)
{
	return a->owner == b->owner && a->id == b->id && a->kind == b->kind;
}

/* A group that was active lately. */
static inline struct ioband_group *ioband_scope_recent(struct ioband_scope *scope,
						       const struct ioband_key *key)
{
	struct ioband_group *group =
		rcu_dereference_check(scope->recent[ioband_recent_slot(key->id)],
				      rcu_read_lock_sched_held());

	return group && ioband_key_equal(&group->key, key) ? group : NULL;
}

/**
 * ioband_warn_lost() - with no pool left, complain of what was not freed
 * @nr: how many there are
 * @what: of what
 */
static inline void ioband_warn_lost(const atomic_long_t *nr, const char *what)
{
	const long lost = atomic_long_read(nr);

	WARN(lost, "ioband: %ld %s were not freed\n", lost, what);
}

/* blkcg.c: whose bio is it */
/* What a task submits for itself.  Direct writes are marked so; writeback by a task is not. */
static inline bool ioband_owner_is_direct(const struct bio *bio)
{
	const blk_opf_t direct = REQ_SYNC | REQ_IDLE;

	return bio_op(bio) == REQ_OP_READ || (bio->bi_opf & direct) == direct ||
	       bio->bi_opf & REQ_ATOMIC;
}

/**
 * ioband_owner_is_known() - can the owner of a bio be told as it is
 * @mode: of the device
 * @bio: clone, not yet given a device
 *
 * Return: true if the submitter is the owner, or counts as such.
 */
static inline bool ioband_owner_is_known(enum ioband_mode mode, const struct bio *bio)
{
	return !ioband_mode_is_cgroup(mode) ||
	       (!(current->flags & PF_KTHREAD) && ioband_owner_is_direct(bio));
}

/* Groups are nested no deeper: who may make cgroups must not make long ways for others. */
#define IOBAND_NESTING_MAX	128

#define IOBAND_TOO_DEEP \
	"it is more than " __stringify(IOBAND_NESTING_MAX) \
	" cgroups deep, and its bios are those of the one above that is not: name that one"

/**
 * ioband_owner_css() - whose group a cgroup's bios go to
 * @css: of the cgroup
 *
 * Context: Any; @css is valid.
 *
 * Return: @css, or of the nearest one above that is not nested too deep.
 */
static inline struct cgroup_subsys_state *ioband_owner_css(struct cgroup_subsys_state *css)
{
	while (unlikely(css->cgroup->level > IOBAND_NESTING_MAX))
		css = css->parent;
	return css;
}

bool ioband_owner_may_wait(struct bio *bio);
struct cgroup_subsys_state *ioband_owner_of_flusher(struct bio *bio);
void ioband_owner_key(struct ioband_key *key, enum ioband_mode mode, struct bio *bio);
struct cgroup_subsys_state *ioband_owner_correct(struct ioband_key *key);

/**
 * ioband_owner_of_task() - whose a bio is that the current task submits for itself
 *
 * Context: Under RCU of any kind, which keeps it valid.
 *
 * Return: the task's; as a rule also the bio's, see ioband_owner_correct().
 */
static inline struct cgroup_subsys_state *ioband_owner_of_task(void)
{
	return task_css_check(current, io_cgrp_id, rcu_read_lock_sched_held());
}

/* throttle.c: how much may be held */

/* What it waits for must not wait: who killed it wants its memory back. */
static inline bool ioband_task_is_dying(struct task_struct *task)
{
	return task->flags & PF_EXITING || fatal_signal_pending(task);
}

/* How many times as much for a task that is killed: what it submits goes at once as a rule. */
#define IOBAND_ROOM_DYING	4

void ioband_room_take(const struct ioband_io *io, struct bio *bio);
u32 ioband_room_give(const struct ioband_io *io, struct bio *bio);
bool ioband_room_is_over(const struct ioband_group *group, unsigned int times);
bool ioband_room_has_plenty(const struct ioband_group *group);
void ioband_room_wake(struct ioband_group *group);
void ioband_room_look(struct ioband_group *group);
void ioband_line_stand(struct ioband_line *line, const struct ioband_target *target,
		       struct ioband_group *group, struct ioband_stats *stats, bool flusher);
void ioband_line_wait(struct ioband_line *line, bool dying);
void ioband_line_wait_flusher(struct ioband_line *line);

/* dispatch.c: held bios, and their release */
typedef bool (*ioband_wanted_fn)(const struct ioband_io *io, const void *of);

void ioband_dispatch_unpark(struct ioband_pool *pool, u64 now_ns);
void ioband_dispatch_launch(struct ioband_io *io, struct bio *bio, u64 now_ns);
u32 ioband_dispatch_piece(const struct ioband_io *io);
void ioband_dispatch(struct ioband_pool *pool, u64 now_ns);
enum hrtimer_restart ioband_dispatch_wake(struct hrtimer *timer);
u64 ioband_dispatch_take(struct ioband_stream *stream, struct bio_list *taken, u64 most,
			 ioband_wanted_fn wanted, const void *of);
void ioband_dispatch_now(struct bio_list *taken);

static inline void ioband_dispatch_note_inflight(struct ioband_pool *pool)
{
	pool->peak_ios = max(pool->peak_ios, pool->core.inflight_ios);
}

static inline enum ioband_way ioband_bio_way(const struct bio *bio)
{
	return op_is_write(bio_op(bio)) ? IOBAND_WAY_WRITE : IOBAND_WAY_READ;
}

/* state.c: the two states of a pool, and its active groups */
void ioband_state_apply(struct ioband_pool *pool, u64 now_ns);
void ioband_state_share(struct ioband_pool *pool);
void ioband_state_open(struct ioband_pool *pool, u64 now_ns);
void ioband_state_update(struct ioband_pool *pool);
void ioband_state_activate(struct ioband_group *group);
void ioband_state_deactivate(struct ioband_group *group);
struct ioband_group *ioband_state_next_active(struct ioband_pool *pool);

/* complete.c: completion of bios */
void ioband_complete(struct ioband_io *io);
bool ioband_complete_piece(struct ioband_io *io, u32 bytes);
void ioband_complete_with(struct ioband_io *io, struct bio *bio, blk_status_t status);

/* release.c: bios of dying tasks, for deleted disks, and at a suspend */
void ioband_release_dying(struct ioband_pool *pool);
void ioband_release_suspend(struct ioband_target *target, bool requeue);
void ioband_release_resume(struct ioband_target *target);

/* admit.c: admission under the pool's lock */
enum ioband_urgency {
	IOBAND_IN_TURN,	/* as the scheduler says */
	IOBAND_OWED,	/* at once, unless its group owes much already */
	IOBAND_AT_ONCE,	/* the whole system may wait for it */
};

enum ioband_urgency ioband_admit_urgency(const struct bio *bio);
unsigned int ioband_admit_times(const struct bio *bio);
bool ioband_admit_gives_back(const struct ioband_target *target);
unsigned long ioband_admit_lock_group(struct ioband_pool *pool, struct ioband_io *io,
				      struct bio *bio, enum ioband_mode mode, bool direct,
				      bool may_wait) __acquires(&pool->lock);
void ioband_admit_prepare(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
			  bool direct);
int ioband_admit(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
		 enum ioband_mode mode, bool direct);
bool ioband_admit_late(struct ioband_io *io, struct bio *bio, u64 now_ns);

/* enter.c: arrival of a bio */
void ioband_enter_make_room(struct ioband_target *target, struct ioband_io *io, struct bio *bio);
bool ioband_enter_pace(struct ioband_target *target, struct cgroup_subsys_state *css);
int ioband_enter(struct ioband_target *target, struct ioband_io *io, struct bio *bio);
int ioband_enter_known(struct ioband_target *target, struct ioband_io *io, struct bio *bio);

/* detour.c: the hidden disk */
int ioband_detour_init(void);
void ioband_detour_exit(void);
void ioband_detour_ask(struct bio *bio);

/* batch.c: bios that a task submits under one plug */
bool ioband_batch_add(struct ioband_io *io, struct bio *bio);

/* submit.c: bios for a target's worker to submit */
void ioband_submit_bio(struct ioband_io *io, struct bio *bio);
void ioband_submit_piece(struct ioband_io *io);
void ioband_submit_flush(struct ioband_target *target);

/* worker.c: a target's worker submits them */
int ioband_worker_init_target(struct ioband_target *target);
void ioband_worker_exit_target(struct ioband_target *target);
void ioband_worker_drain(struct ioband_target *target);

/* split.c: large bios in pieces */
u32 ioband_piece_least(struct bio *bio);
void ioband_piece_accept(struct ioband_io *io, struct bio *bio);
u32 ioband_piece_bytes(const struct ioband_io *io, const struct bio *bio, u32 offset);

/* flush.c: what the devices' write caches hold */
void ioband_flush_init_target(struct ioband_target *target);
void ioband_flush_exit_target(struct ioband_target *target);
bool ioband_flush_is_needed(const struct ioband_target *target, const struct bio *bio);
bool ioband_flush_end(struct ioband_target *target, bool failed, u64 now_ns);
bool ioband_flush_start(struct ioband_pool *pool);
void ioband_flush_give_up(struct ioband_pool *pool, u64 now_ns);
void ioband_flush_suspend(struct ioband_target *target);
void ioband_flush_tell(struct ioband_target *target, const struct bio *bio,
		       blk_status_t *error);

/* Under the pool's lock: something goes down that may stay in the device's cache. */
static inline void ioband_flush_note(struct ioband_target *target)
{
	if (list_empty(&target->dirty))
		list_add_tail(&target->dirty, &target->pool->dirty);
}

/* pool.c: devices that share a scheduler */
int ioband_pool_join(struct ioband_target *target, const char *name,
		     struct ioband_error *error);
void ioband_pool_leave(struct ioband_target *target);
int ioband_pool_set(struct ioband_target *target, const struct ioband_settings *settings,
		    struct ioband_error *error);
void ioband_pool_resume(struct ioband_target *target);
void ioband_pool_settings(struct ioband_target *target, struct ioband_settings *settings);
void ioband_pool_status(struct ioband_target *target, const struct ioband_settings *settings,
			char *result, unsigned int maxlen);

/* group.c: the tree of groups */
int ioband_groups_init(void);
void ioband_groups_exit(void);
struct ioband_group *ioband_group_new_root(struct ioband_pool *pool);
struct ioband_group *ioband_group_new_device(struct ioband_pool *pool,
					     struct ioband_member *member, u32 weight);
struct ioband_group *ioband_group_find(struct ioband_scope *scope, const struct ioband_key *key);
struct ioband_group *ioband_group_get(struct ioband_scope *scope, const struct ioband_key *key);
int ioband_group_set(struct ioband_target *target, const struct ioband_message *message,
		     struct ioband_error *error);
void ioband_group_set_weight(struct ioband_group *group, u32 weight);
u32 ioband_group_weight(const struct ioband_group *group);
void ioband_group_unindex(struct ioband_group *group);
void ioband_group_sweep(struct work_struct *work);
void ioband_group_free_all(struct ioband_pool *pool);

/* preset.c: what cgroups that are yet to come will have */
const struct ioband_wishes *ioband_preset_find(const struct ioband_scope *scope,
					       const struct ioband_key *key);
int ioband_preset_set(struct ioband_target *target, const struct ioband_message *message,
		      struct ioband_error *error);
void ioband_preset_forget(struct ioband_pool *pool, struct ioband_scope *scope);
void ioband_preset_end(struct ioband_pool *pool);
void ioband_presets_exit(void);

/* limits.c: maxima, minima and latency targets */
u32 ioband_bound_latency(struct ioband_group *group);
bool ioband_bound_rates(struct ioband_group *group, enum ioband_verb verb,
			struct ioband_rates *rates);
bool ioband_bound_is_set(struct ioband_group *group);
bool ioband_bound_is_capped(const struct ioband_group *group);
u32 ioband_bound_piece(const struct ioband_group *group, enum ioband_way way);
struct ioband_bounds *ioband_bounds_new(gfp_t gfp);
void ioband_bounds_free(struct ioband_bounds *bounds);
void ioband_bounds_exit(void);
void ioband_bound_set(struct ioband_group *group, const struct ioband_message *message,
		      struct ioband_bounds **spare);
void ioband_bound_begin(struct ioband_group *group, const struct ioband_wishes *wishes,
			struct ioband_bounds *bounds);
void ioband_bound_end(struct ioband_group *group);

/* stats.c: counters and histograms */
struct ioband_stats *ioband_stats_new(gfp_t gfp);
void ioband_stats_free(struct ioband_stats *stats);
void ioband_stats_exit(void);
static inline unsigned int ioband_stats_bucket(u64 ns)
{
	return min_t(unsigned int, fls64(ns >> 10), IOBAND_NR_BUCKETS - 1);
}

/*
 * A time is counted once: in the histogram, or where there is none in a counter.
 * So the sum of a histogram is that of what is in it, and costs nothing.
 */
static inline void ioband_stats_count_time(struct ioband_histogram __percpu *histogram,
					   u64 ns)
{
	this_cpu_add(histogram->sum_ns, ns);
	this_cpu_inc(histogram->bios[ioband_stats_bucket(ns)]);
}

/**
 * ioband_stats_completed() - count a completed bio
 * @io: the bio's
 * @now_ns: time
 *
 * Context: Any; the caller has pinned the group.
 */
static inline void ioband_stats_completed(struct ioband_io *io, u64 now_ns)
{
	const struct ioband_stats *stats = io->stats;
	/* Pairs with the release of who made them. */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&stats->hist);
	const u8 dir = io->dir;
	struct ioband_counters __percpu *counters = &stats->cpu->dir[dir];
	const u64 service_ns = now_ns - io->start_ns;

	this_cpu_inc(counters->ios);
	this_cpu_add(counters->bytes, io->bytes);
	if (likely(hist))
		ioband_stats_count_time(&hist->service[dir], service_ns);
	else
		this_cpu_add(counters->service_ns, service_ns);
}

/**
 * struct ioband_progress - what a group has done and is doing
 * @ios: bios completed
 * @inflight: bios held or in flight
 * @open: those that went in the open state, counted a moment before
 */
struct ioband_progress {
	u64 ios;
	u32 inflight;
	u32 open;
};

static inline void ioband_stats_pin(struct ioband_stats *stats)
{
	this_cpu_inc(stats->cpu->users);
}

/* The last access to the group: what was done to it before stays before. */
static inline void ioband_stats_unpin(struct ioband_stats *stats)
{
	smp_mb__before_atomic();	/* pairs with that of whoever adds up */
	this_cpu_dec(stats->cpu->users);
}

/* The same for a bio. */
static inline void ioband_stats_pin_io(struct ioband_stats *stats, u8 dir)
{
	this_cpu_inc(stats->cpu->inflight[dir]);
}

static inline void ioband_stats_unpin_io(struct ioband_stats *stats, u8 dir)
{
	smp_mb__before_atomic();	/* pairs with that of whoever adds up */
	this_cpu_dec(stats->cpu->inflight[dir]);
}

/* The same for a bio of the open state. */
static inline void ioband_stats_pin_open(struct ioband_stats *stats, u8 dir)
{
	this_cpu_inc(stats->cpu->open[dir]);
}

static inline void ioband_stats_unpin_open(struct ioband_stats *stats, u8 dir)
{
	smp_mb__before_atomic();	/* pairs with that of whoever adds up */
	this_cpu_dec(stats->cpu->open[dir]);
}

void ioband_stats_progress(struct ioband_stats *stats, struct ioband_progress *progress);
void ioband_stats_stock(struct ioband_pool *pool);
void ioband_stats_unstock(struct ioband_pool *pool);
bool ioband_stats_may_come(struct ioband_group *group, long left);
long ioband_stats_wait(struct ioband_pool *pool, long left);
bool ioband_stats_in_use(struct ioband_group *group);
void ioband_stats_give(struct ioband_group *group, struct ioband_stats *stats,
		       enum ioband_stats_kind kind);
void ioband_stats_sort(struct ioband_group *group);
struct ioband_group *ioband_stats_ready(struct ioband_group *group);
bool ioband_stats_are_below(struct ioband_group *group);
void ioband_stats_make_hist(struct ioband_pool *pool);
u64 ioband_stats_released(struct ioband_io *io, u64 now_ns);
void ioband_stats_retire(struct ioband_group *group);
bool ioband_stats_reap(struct ioband_group *group);
void ioband_stats_drop(struct ioband_group *group);
void ioband_stats_end(struct ioband_group *group);
void ioband_stats_sum(struct ioband_group *group, struct ioband_sum *sum);
bool ioband_stats_sum_hist(struct ioband_group *group, struct ioband_cpu_hist *total);

/* message.c: the text interface */
int ioband_message(struct ioband_target *target, unsigned int argc, char **argv,
		   char *result, unsigned int maxlen, struct ioband_error *error);

#endif /* DM_IOBAND_H */
