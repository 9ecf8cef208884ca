/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the structures of pools, mapped devices and targets.
 *
 * Locks, in order: the registry's mutex (pools and members come and go), the
 * pool's reap mutex (counters of groups are freed, or read from outside the I/O
 * path; presets come and go, or are read) or its walk mutex (the active groups are gone
 * through one by one), then the pool's spinlock (everything else), then that of a group's
 * line of tasks.  The pool's lock is taken in the I/O path only while groups compete (state
 * "shared"), for bios that have a maximum, and when a group starts or stops to be active.
 */
#ifndef DM_IOBAND_DEVICES_H
#define DM_IOBAND_DEVICES_H

#include <linux/atomic.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "groups.h"
#include "sched/depth.h"
#include "sched/stall.h"

#ifndef CONFIG_BLK_CGROUP
#error "dm-ioband finds its groups by block cgroup: it needs CONFIG_BLK_CGROUP"
#endif
#ifndef CONFIG_64BIT
#error "dm-ioband counts and divides in 64 bits: it is for 64-bit kernels"
#endif

struct ioband_queue;

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
 * @targets: targets that refer to it; under @walk
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
 * @plain_stats: counters of groups without histograms
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
 * @walk: held while @active is gone through and the lock dropped in between; guards @targets
 * @reap: held while counters are freed, or read from outside the I/O path, and while presets
 *	come and go, or are read
 * @dying_bytes: what may go then for those of groups that owe much; may be negative
 * @dying_at: when to look next for held bios of dying tasks and deleted disks, in jiffies
 * @dirty: targets that something was written to, with slices
 * @flushes: of the flush that the core waits for, bios that have not completed
 * @flush_round: its number
 * @wake: asks the core again when a grace ends, or a maximum or the brake lets go
 * @stock: makes counters for groups to come, and histograms
 * @tick: looks after state, depth and activity while groups are active
 * @sweep: finds groups to remove
 */
struct ioband_pool {
	char name[IOBAND_POOL_NAME_MAX + 1];
	struct list_head pools;
	unsigned int refs;
	struct list_head members;
	unsigned int nr_members;
	struct list_head targets;

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
	struct list_head spare_stats;
	unsigned int nr_spare;
	struct list_head plain_stats;
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

/**
 * enum ioband_lane - the bios of a target that one worker submits
 * @IOBAND_LANE_PROMPT: reads and direct writes
 * @IOBAND_LANE_THROTTLED: bios with which writeback throttling below may put the submitter to
 *	sleep
 */
enum ioband_lane {
	IOBAND_LANE_PROMPT,
	IOBAND_LANE_THROTTLED,
	IOBAND_NR_LANES,
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
 *	workers have seen of late; an estimate, changed without a lock
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
 * @targets: place among the pool's targets
 * @queues: released bios, by CPU, for workers to submit
 * @ready_ios: how many bios and pieces wait there
 * @submit_wq: of the workers, for this target alone: when memory is short, one target must not
 *	wait for the rescuer that another blocks
 * @late_wq: of the workers that may run on any CPU, and of @flush_work
 * @pieces: what pieces are made of
 * @dirty: place among the pool's dirty targets
 * @flush: an empty flush
 * @flush_work: submits @flush
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
	struct list_head targets;
	struct ioband_queue __percpu *queues[IOBAND_NR_LANES];
	atomic_t ready_ios;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *late_wq;
	struct bio_set pieces;
	struct list_head dirty;
	struct bio flush;
	struct work_struct flush_work;
	bool flushing;
	u32 flush_round;
	wait_queue_head_t flushed;
};

#endif /* DM_IOBAND_DEVICES_H */
