/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of mapped devices and targets. */
#ifndef DM_IOBAND_DEVICES_H
#define DM_IOBAND_DEVICES_H

#include <linux/atomic.h>
#include <linux/device-mapper.h>

#include "pools.h"

struct ioband_queue;

/* Classes of bios that have a worker of their own. */
enum ioband_lane {
	IOBAND_LANE_PROMPT,		/* reads and direct writes */
	IOBAND_LANE_WBT,	/* writeback throttling below may put the submitter to sleep */
	IOBAND_NR_LANES,
};

enum ioband_untold {
	IOBAND_UNTOLD_FLUSH,	/* the next flush */
	IOBAND_UNTOLD_FUA,	/* the next write that has to be on the medium */
};

/* Operations without data. */
enum ioband_no_data {
	IOBAND_DISCARD,
	IOBAND_SECURE_ERASE,
	IOBAND_WRITE_ZEROES,
	IOBAND_NR_NO_DATA,
};

/* A mapped device in a pool, across table reloads. */
struct ioband_member {
	struct ioband_pool *pool;
	struct list_head members;	/* in &ioband_pool.members */
	dev_t devno;
	unsigned int refs;		/* targets of its tables; under the registry's mutex */
	enum ioband_mode mode;		/* written under the pool's lock */
	/* &ioband_scope.recent for submitters' cgroups, while groups may be open, or NULL */
	struct ioband_group __rcu **recent;	/* written under the pool's lock */
	struct ioband_stall_dev stall_dev;
	/* device time of bios without data */
	struct ioband_discard discard[IOBAND_NR_NO_DATA];
	u64 discard_us;			/* expected time of these in flight, as splits; 0: none */
	/* in flight, with which another does not sleep for a request; an estimate */
	u32 nosleep_ios;
	unsigned long untold;	/* flush errors still to be reported, bits of &enum ioband_untold */
	/* groups below the device's own; its @group is NULL if not needed */
	struct ioband_scope scope;
	/* of writes to swap in flight; on a cache line of its own */
	atomic_long_t swap_bytes ____cacheline_aligned_in_smp;
	wait_queue_head_t swap_waiters;	/* submitters of more of them, until fewer are in flight */
	unsigned long swap_moved;	/* last completion, or first dispatch, in jiffies */
};

/* A table's target. */
struct ioband_target {
	struct dm_target *ti;
	struct dm_dev *dev;		/* the device below */
	sector_t start;			/* first sector on it */
	sector_t shift;		/* sector on it less sector of the mapped device; may be negative */
	struct ioband_pool *pool;
	struct ioband_member *member;
	struct ioband_settings settings;	/* of the table, adopted at the first resume */
	bool applied;			/* they were adopted */
	bool suspended;			/* no bio is queued; written under the pool's lock */
	bool requeue;			/* while suspended, bios are returned to device-mapper */
	struct list_head targets;	/* in &ioband_pool.targets */
	/* dispatched bios for workers to submit */
	struct ioband_queue __percpu *queues[IOBAND_NR_LANES];
	atomic_t ready_ios;		/* bios and splits in @queues */
	/* of this target alone, so that it waits for no other's rescuer */
	struct workqueue_struct *submit_wq;
	/* workers that may run on any CPU, and @flush_work */
	struct workqueue_struct *late_wq;
	struct bio_set splits;
	struct list_head dirty;		/* in &ioband_pool.dirty */
	struct bio flush;		/* an empty flush */
	struct work_struct flush_work;	/* submits @flush */
	bool flushing;			/* @flush is due or in flight; under the pool's lock */
	u32 flush_round;		/* the round to which @flush belongs */
	wait_queue_head_t flushed;	/* wakes the task that waits for the end of @flush */
};

#endif /* DM_IOBAND_DEVICES_H */
