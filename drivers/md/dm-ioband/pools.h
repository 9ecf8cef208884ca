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
#include "sched/overhead.h"
#include "sched/stall.h"

#ifndef CONFIG_BLK_CGROUP
#error "dm-ioband finds its groups by block cgroup: it needs CONFIG_BLK_CGROUP"
#endif
#ifndef CONFIG_64BIT
#error "dm-ioband counts and divides in 64 bits: it is for 64-bit kernels"
#endif

struct ioband_ring;

/* The state of a pool. */
enum ioband_state {
	IOBAND_OPEN,			/* bios of active groups are dispatched at once */
	IOBAND_SHARED,			/* groups compete, and the core decides */
};

/* Devices that contend for the same hardware. */
struct ioband_pool {
	char name[IOBAND_POOL_NAME_MAX + 1];
	struct list_head pools;		/* in the registry */
	unsigned int refs;		/* targets; under the registry's mutex */
	struct list_head members;	/* changed under the registry's mutex and @lock */
	unsigned int nr_members;
	struct list_head targets;	/* under @walk */

	spinlock_t lock;		/* the fields down to @calm_until, and the groups */
	struct ioband_core core;
	struct ioband_depth depth;
	u32 fixed_depth;		/* set by the user, or 0 */
	u32 fixed_split;		/* with @fixed_depth, likewise */
	u32 limit_ios;			/* of the shared state; U32_MAX: none */
	u32 split_bytes;		/* of large bios in the shared state, or 0 */
	u32 slice_ms;			/* in the shared state, or 0 */
	u32 writes_starved;		/* reads before a write that waits longer */
	struct ioband_stall stall;
	u32 open_ios;			/* left of the open state, or IOBAND_OPEN_UNKNOWN */
	unsigned long open_fell;	/* when it last decreased, in jiffies */
	u8 open_shift;			/* how often the limit is halved because it does not */
	enum ioband_measure measure;
	enum ioband_state state;
	bool passes;		/* bios of open groups take no lock; written under @lock */
	struct ioband_group *root;
	struct ioband_scope scope;	/* groups found from the root */
	struct xarray groups;		/* by number; looked up under RCU */
	u32 next_seq;
	unsigned int nr_groups;
	struct xarray presets;		/* by number; under @reap */
	u32 next_preset;
	unsigned int nr_presets;
	struct ioband_preset_index *preset_index;	/* NULL until the first preset */
	struct list_head spare_stats;	/* counters for new groups */
	unsigned int nr_spare;
	struct list_head plain_stats;	/* of groups without histograms yet */
	bool stock_failed;	/* no spare counters: no memory, too late, or beyond the budget */
	wait_queue_head_t stocked;	/* tasks that wait for counters */
	struct list_head active;	/* groups that did I/O lately */
	unsigned int nr_active;
	u32 held_ios;			/* queued bios of all groups */
	u64 held_bytes;
	struct list_head dirty;		/* with slices, targets that were written to */
	u32 flushes;			/* of the present round, not completed */
	u32 flush_round;
	struct ioband_sample sample;	/* completions since the last tick */
	u64 sampled_ns;			/* last completion before that, */
	u64 done_ns;			/* and of all: both later by the time of discards since */
	struct ioband_lost lost;
	/* streams with bios without data that the core does not know of */
	struct list_head discarders;
	struct list_head parked;	/* streams with bios that are skipped */
	struct list_head unparked;	/* streams of which these are not skipped any more, soon */
	struct bio_list discards;	/* out of turn, split by split */
	/* ioband_dispatch_take() looks for bios there, maybe without @lock */
	struct ioband_stream *looking;
	struct bio *looked;		/* last bio that it has looked at, and left; NULL: none */
	u32 hold_ios;		/* bios that a walk over @active has seen since it took @lock */
	bool has_rest;			/* the last dispatch has left bios to @rest */
	u32 wbt_streams;		/* with writes in &ioband_queue.waiting */
	u32 peak_ios;			/* most bios in flight since the last tick */
	struct list_head gather_cpus;	/* rings of CPUs that may gather completions (gather.c) */
	unsigned int nr_gather_cpus;	/* of them, as far as they count for @quantum */
	u32 idle_ios;		/* completions since the last tick that came to an idle CPU */
	u32 busy_ticks;		/* in a row with few of these; up to IOBAND_OVERHEAD_TICKS */
	struct ioband_overhead overhead;
	u64 work;			/* completed in scans so far, for @overhead */
	unsigned int calm_ticks;	/* in a row with capacity to spare */
	struct ioband_lone lone;
	bool was_lone;			/* its limit was in force at the last tick */
	unsigned long calm_until;	/* several groups may be open, in jiffies */

	/* gathered completions */
	struct ioband_ring __percpu *rings ____cacheline_aligned_in_smp;
	u32 quantum;	/* completions that a busy CPU passes at once; written under @lock */
	u32 burst;	/* the same within an interrupt, at the end of which it passes fewer */

	/* held by walks over @active that drop @lock, before it; protects @targets */
	struct mutex walk ____cacheline_aligned_in_smp;
	/* held, before @lock, to free counters, to read them outside of I/O, and for presets */
	struct mutex reap;
	s64 dying_bytes;		/* left for dying tasks of groups with much debt; signed */
	/* when to look for bios of dying tasks and deleted disks, in jiffies */
	unsigned long dying_at;
	bool sleeps;		/* the system goes to sleep: queue no bio; written under @lock */
	u64 owed_ns;			/* a task was last found to owe, see debt.c */
	struct hrtimer wake;	/* a grace period, a block by a maximum or the throttle ends */
	struct work_struct rest;	/* continues a dispatch */
	struct work_struct stock;	/* makes counters and histograms */
	struct delayed_work tick;	/* updates state, depth and activity */
	struct delayed_work sweep;	/* finds groups to remove */
};

#endif /* DM_IOBAND_POOLS_H */
