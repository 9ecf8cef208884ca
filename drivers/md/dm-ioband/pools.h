/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the structure of a pool.
 *
 * Locks, in order:
 * 1. the registry's mutex: creation and removal of pools and members;
 * 2. the pool's reap mutex: freeing of counters, reads of them outside the I/O path, and presets;
 *    or its walk mutex: walks over the active groups that drop the spinlock, and the targets;
 * 3. the spinlock of the tasks that sleep for debt (debt.c);
 * 4. the pool's spinlock: everything else;
 * 5. the spinlock of a group's wait queue.
 *
 * The I/O path takes the pool's spinlock only while groups compete (the shared state), for bios
 * with a maximum, and when a group becomes active.
 *
 * With PREEMPT_RT these spinlocks sleep, and interrupts stay enabled under them.  So a section that
 * disables preemption or interrupts itself takes no lock, and allocates and frees no memory.  There
 * are two kinds: RCU-sched (enter.c), and the addition of a completion to a ring (gather.c).
 * Timers expire in a thread there.
 */
#ifndef DM_IOBAND_POOLS_H
#define DM_IOBAND_POOLS_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "groups.h"
#include "sched/depth.h"
#include "sched/discard.h"
#include "sched/lone.h"
#include "sched/stall.h"

#ifndef CONFIG_BLK_CGROUP
#error "dm-ioband finds its groups by block cgroup: it needs CONFIG_BLK_CGROUP"
#endif
#ifndef CONFIG_64BIT
#error "dm-ioband counts and divides in 64 bits: it is for 64-bit kernels"
#endif

struct ioband_ring;

/**
 * enum ioband_state - the state of a pool
 * @IOBAND_OPEN: bios of active groups are dispatched at once
 * @IOBAND_SHARED: groups compete, and the core decides
 */
enum ioband_state {
	IOBAND_OPEN,
	IOBAND_SHARED,
};

/**
 * struct ioband_pool - devices that contend for the same hardware
 * @name: name from the table line
 * @pools: link in the registry
 * @refs: number of targets; under the registry's mutex
 * @members: mapped devices in the pool; changed under the registry's mutex and @lock
 * @nr_members: number of @members
 * @targets: targets that refer to the pool; under @walk
 * @lock: protects the fields down to @calm_until, and the groups
 * @core: the scheduler
 * @depth: search for the in-flight limit
 * @fixed_depth: in-flight limit that was set, or 0
 * @fixed_split: with @fixed_depth, size of splits that was set, or 0
 * @limit_ios: in-flight limit of the shared state; U32_MAX: none
 * @split_bytes: size of the splits of large bios in the shared state, or 0
 * @slice_ms: length of a slice in the shared state, or 0
 * @writes_starved: reads of a stream that go before a write that waits longer
 * @stall: detection of devices that do not answer
 * @open_ios: in the shared state, bios of the open state that are still in flight;
 *	IOBAND_OPEN_UNKNOWN until the tick has counted them
 * @open_fell: when @open_ios last decreased, in jiffies
 * @open_shift: how often the limit is halved because @open_ios does not decrease
 * @measure: unit of the budget
 * @state: see &enum ioband_state
 * @root: root of the tree
 * @scope: groups found from the root
 * @groups: all groups by number; looked up under RCU
 * @next_seq: cursor of xa_alloc_cyclic()
 * @nr_groups: number of @groups
 * @presets: all presets by number; under @reap
 * @next_preset: cursor of xa_alloc_cyclic()
 * @nr_presets: number of @presets
 * @preset_index: presets by path; NULL until the first preset
 * @spare_stats: counters for new groups
 * @nr_spare: number of @spare_stats
 * @plain_stats: counters of groups without histograms
 * @stock_failed: allocation of spare counters failed, was too late, or the budget is used up;
 *	cleared when new counters are there
 * @stocked: tasks that wait for counters
 * @active: groups that did I/O lately
 * @nr_active: number of @active
 * @held_ios: queued bios of all groups
 * @held_bytes: bytes of these
 * @dirty: with slices, targets that were written to
 * @flushes: bios of the present flush that have not completed
 * @flush_round: number of the present flush
 * @sample: completions since the last tick
 * @sampled_ns: time of the last completion before that
 * @done_ns: time of the last completion; both are later by the time in which discards were in
 *	flight since
 * @lost: service that the devices lose to discards
 * @discarders: streams with queued bios without data that the core does not know of for now
 * @discards: bios without data that are dispatched out of turn, split by split
 * @looking: stream in which ioband_dispatch_take() looks for bios, maybe without @lock; NULL: none
 * @looked: last bio in its queue that was looked at, and is still there; NULL: none
 * @hold_ios: bios that a walk over @active has looked at since it took @lock
 * @has_rest: the last dispatch has left bios to @rest
 * @wbt_streams: streams with writes that wait for a worker, see &ioband_queue.waiting
 * @peak_ios: largest number of bios in flight since the last tick
 * @gather_cpus: rings of the CPUs that may gather completions (gather.c)
 * @nr_gather_cpus: number of them that count for @quantum
 * @sync_ios: since the last tick, a bio completed while it was submitted
 * @async_ios: since the last tick, a bio completed later, or failed
 * @sync_ticks: ticks with bios, since the last with @async_ios; up to IOBAND_SYNC_TICKS
 * @calm_ticks: consecutive ticks with capacity to spare
 * @lone: see &struct ioband_lone
 * @was_lone: the limit of a lone group was in force at the last tick
 * @calm_until: until when several groups may be open, in jiffies
 * @rings: completions that the CPUs have gathered
 * @quantum: largest number of completions that a CPU passes at once; written under the lock
 * @walk: held by walks over @active that drop @lock; protects @targets
 * @reap: held while counters are freed, or read from outside the I/O path, and while presets are
 *	changed or read
 * @dying_bytes: bytes that may be dispatched for dying tasks of groups with much debt; may be
 *	negative
 * @dying_at: when to look next for queued bios of dying tasks and deleted disks, in jiffies
 * @sleeps: the system is going to sleep, so that no bio is queued; written under @lock
 * @owed_ns: when a task was last found to owe, see debt.c
 * @wake: runs the core when a grace period ends, or a maximum or the throttle allows a bio
 * @rest: work that continues a dispatch
 * @stock: work that makes counters and histograms
 * @tick: updates state, depth and activity while groups are active
 * @sweep: finds groups to remove
 */
struct ioband_pool {
	char name[IOBAND_POOL_NAME_MAX + 1];
	struct list_head pools;
	unsigned int refs;
	struct list_head members;
	unsigned int nr_members;
	struct list_head targets;

	spinlock_t lock;	/* the fields down to @calm_until, and the groups */
	struct ioband_core core;
	struct ioband_depth depth;
	u32 fixed_depth;
	u32 fixed_split;
	u32 limit_ios;
	u32 split_bytes;
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
	struct ioband_lost lost;
	struct list_head discarders;
	struct bio_list discards;
	struct ioband_stream *looking;
	struct bio *looked;
	u32 hold_ios;
	bool has_rest;
	u32 wbt_streams;
	u32 peak_ios;
	struct list_head gather_cpus;
	unsigned int nr_gather_cpus;
	bool sync_ios;
	bool async_ios;
	u32 sync_ticks;
	unsigned int calm_ticks;
	struct ioband_lone lone;
	bool was_lone;
	unsigned long calm_until;

	struct ioband_ring __percpu *rings ____cacheline_aligned_in_smp;
	u32 quantum;

	struct mutex walk ____cacheline_aligned_in_smp; /* before @lock */
	struct mutex reap;	/* before @lock */
	s64 dying_bytes;
	unsigned long dying_at;
	bool sleeps;
	u64 owed_ns;
	struct hrtimer wake;
	struct work_struct rest;
	struct work_struct stock;
	struct delayed_work tick;
	struct delayed_work sweep;
};

#endif /* DM_IOBAND_POOLS_H */
