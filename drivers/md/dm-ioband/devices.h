/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of mapped devices and targets. */
#ifndef DM_IOBAND_DEVICES_H
#define DM_IOBAND_DEVICES_H

#include <linux/atomic.h>
#include <linux/device-mapper.h>

#include "pools.h"

struct ioband_queue;

/**
 * enum ioband_lane - classes of bios that have a worker of their own
 * @IOBAND_LANE_PROMPT: reads and direct writes
 * @IOBAND_LANE_WBT: bios with which writeback throttling below may put the submitter to sleep
 */
enum ioband_lane {
	IOBAND_LANE_PROMPT,
	IOBAND_LANE_WBT,
	IOBAND_NR_LANES,
};

enum ioband_untold {
	IOBAND_UNTOLD_FLUSH,	/* the next flush */
	IOBAND_UNTOLD_FUA,	/* the next write that has to be on the medium */
};

/**
 * enum ioband_no_data - operations without data
 * @IOBAND_DISCARD: discard
 * @IOBAND_SECURE_ERASE: secure erase
 * @IOBAND_WRITE_ZEROES: write-zeroes
 * @IOBAND_NR_NO_DATA: number of operations
 */
enum ioband_no_data {
	IOBAND_DISCARD,
	IOBAND_SECURE_ERASE,
	IOBAND_WRITE_ZEROES,
	IOBAND_NR_NO_DATA,
};

/**
 * struct ioband_member - a mapped device in a pool, across table reloads
 * @pool: the pool
 * @members: link in the pool's list
 * @devno: number of the mapped device
 * @refs: targets of its tables; under the registry's mutex
 * @mode: how its bios are sorted into groups; written under the pool's lock
 * @stall_dev: whether the device answers
 * @discard: device time of its bios without data, by operation
 * @discard_us: time that these in flight, as splits, were expected to take; 0: none is
 * @nosleep_ios: number of bios in flight with which another one does not sleep for a request, as
 *	seen by the workers; an estimate, changed without a lock
 * @untold: bios from above to which the error of ioband's own flush is still to be reported, a bit
 *	for each &enum ioband_untold
 * @scope: groups below the device's own; its @group is NULL while none is needed
 * @swap_bytes: bytes of writes to swap in flight; on a cache line that other bios do not read
 * @swap_waiters: submitters of more of them, until fewer are in flight
 * @swap_moved: when one last completed, or was the first in flight; in jiffies
 */
struct ioband_member {
	struct ioband_pool *pool;
	struct list_head members;
	dev_t devno;
	unsigned int refs;
	enum ioband_mode mode;
	struct ioband_stall_dev stall_dev;
	struct ioband_discard discard[IOBAND_NR_NO_DATA];
	u64 discard_us;
	u32 nosleep_ios;
	unsigned long untold;
	struct ioband_scope scope;
	atomic_long_t swap_bytes ____cacheline_aligned_in_smp;
	wait_queue_head_t swap_waiters;
	unsigned long swap_moved;
};

/**
 * struct ioband_target - a table's target
 * @ti: device-mapper's structure
 * @dev: the device below
 * @start: first sector on it
 * @pool: its pool
 * @member: its mapped device
 * @settings: settings of the table, adopted at the first resume
 * @applied: they were adopted
 * @suspended: no bio is queued for the target; written under the pool's lock
 * @requeue: while suspended, bios are returned to device-mapper
 * @targets: link in the pool's list of targets
 * @queues: dispatched bios, by CPU, for workers to submit
 * @ready_ios: number of bios and splits in @queues
 * @submit_wq: workqueue of the workers, for this target alone: when memory is short, a target must
 *	not wait for the rescuer of another target
 * @late_wq: workqueue of the workers that may run on any CPU, and of @flush_work
 * @splits: bio set of the splits
 * @dirty: link in the pool's list of dirty targets
 * @flush: an empty flush
 * @flush_work: submits @flush
 * @flushing: @flush is due or in flight; under the pool's lock
 * @flush_round: number of the round to which @flush belongs
 * @flushed: wakes the task that waits for the end of @flush
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
	struct bio_set splits;
	struct list_head dirty;
	struct bio flush;
	struct work_struct flush_work;
	bool flushing;
	u32 flush_round;
	wait_queue_head_t flushed;
};

#endif /* DM_IOBAND_DEVICES_H */
