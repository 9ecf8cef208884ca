/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the per-bio data, and definitions that all parts of the target use. */
#ifndef DM_IOBAND_IO_H
#define DM_IOBAND_IO_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/stringify.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "devices.h"
#include "sched/cost.h"

/* For allocations in the I/O path: memory reclaim may wait for this I/O. */
#define IOBAND_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/* The sweep.  A group is freed within two seconds after its cgroup or process is gone. */
#define IOBAND_SWEEP_INTERVAL	HZ

/* Period of a pool's tick while groups are active. */
#define IOBAND_TICK	max(HZ / 100, 1)

/* Bios of the open state are not counted yet: more than any limit. */
#define IOBAND_OPEN_UNKNOWN	(U32_MAX / 2)

/* Longest time for which a bio waits for its group's counters, in jiffies. */
#define IOBAND_STATS_WAIT	DIV_ROUND_UP(HZ, 100)

/**
 * struct ioband_io - the target's per-bio data
 * @target: target that received the bio in map()
 * @group: group that is charged; NULL: the bio is not accounted
 * @stream: its stream, while the bio is queued or known to the core
 * @stats: counters of the group, pinned by the bio
 * @start_ns: time of arrival, later of dispatch
 * @bill: cost of the bio, or of its latest split
 * @task: the submitter, with a reference, while the bio is queued; NULL: a kernel thread
 * @covers: of an empty flush, see ioband_flush_covers()
 * @sender: the task that submits the bio, or its latest split, to the device below; for comparison
 *	only: it may be gone
 * @bytes: bytes covered
 * @wait_us: how long the bio was queued
 * @op: see &enum ioband_op
 * @level: see ioband_stream_level()
 * @open: dispatched in the open state, unknown to the core
 * @swap: counts in &ioband_member.swap_bytes
 * @shared: the core counts the bio, as a whole
 * @split_min_bytes: the smallest size of splits that the bio allows; 0: it must not be split
 * @split_bytes: size of its splits; without data, of the present one; 0: it is dispatched as a
 *	whole, or not yet
 * @admitted: of a split bio, bytes that the core has admitted
 * @due_bytes: of these, bytes that a worker has to submit; while it is not 0 the bio is on a queue
 *	of its target, or a worker has it
 * @sent: bytes submitted
 * @unfinished: bytes not completed; under the pool's lock
 * @min_splits: of its splits in flight, those dispatched for a minimum; under the pool's lock
 * @queued: link in a queue of its target
 * @cpu: CPU on which the bio arrived
 * @expect_us: of a split without data, the device time that it was expected to take
 * @of_task: the submitter submits the bio for itself, and may sleep for its group; not known of a
 *	bio of the open state
 * @of_flusher: the flusher of one cgroup submitted the bio, and may sleep likewise
 * @atomic: an atomic write; the flag is removed on the hidden disk
 * @nowait: the bio arrived with REQ_NOWAIT, which device-mapper's own bio still has
 */
struct ioband_io {
	struct ioband_target *target;
	struct ioband_group *group;
	struct ioband_stream *stream;
	struct ioband_stats *stats;
	u64 start_ns;
	struct ioband_bill bill;
	union {
		struct task_struct *task;
		u64 covers;
	};
	const struct task_struct *sender;
	u32 bytes;
	u32 wait_us;
	u8 op;
	u8 level;
	bool open;
	bool swap;
	bool shared;
	bool of_task;
	bool of_flusher;
	bool atomic;
	bool nowait;
	u32 split_min_bytes;
	u32 split_bytes;
	u32 admitted;
	atomic_t due_bytes;
	u32 sent;
	u32 unfinished;
	u32 min_splits;
	struct llist_node queued;
	unsigned int cpu;
	u32 expect_us;
};

/**
 * struct ioband_waiter - a task that sleeps because of back-pressure
 * @entry: entry in the group's wait queue, or in that of the mapped device for writes to swap
 * @target: target that received the bio in map()
 * @queue: request queue of the mapped device, which cannot be frozen meanwhile
 * @group: the group; NULL: the task waits for writes to swap
 * @stats: counters of the group, pinned by the task
 * @until: the task continues when &ioband_group.released_ios reaches this value
 * @flusher: the task is a flusher, and continues when little of its writeback is queued
 */
struct ioband_waiter {
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

/* All but reads and writes: discards, write-zeroes, secure erases. */
static inline bool ioband_io_has_no_data(const struct bio *bio)
{
	return bio->bi_opf & (REQ_OP_MASK ^ REQ_OP_WRITE);
}

static inline struct bio *ioband_bio_of(struct ioband_io *io)
{
	return dm_bio_from_per_bio_data(io, sizeof(struct ioband_io));
}

/* The part of the tree that has the groups of a device: the pool's, or the device's own. */
static inline struct ioband_scope *ioband_scope_of(struct ioband_member *member,
						   enum ioband_mode mode)
{
	if (mode == IOBAND_MODE_DEVICE || mode == IOBAND_MODE_DEVICE_CGROUP)
		return &member->scope;
	return &member->pool->scope;
}

/* Ticks with bios that all completed while they were submitted, until the pool opens. */
#define IOBAND_SYNC_TICKS	16

/*
 * Did all bios complete while they were submitted (gather.c), before the pool opened?  Under the
 * pool's lock.
 */
static inline bool ioband_pool_is_sync(const struct ioband_pool *pool)
{
	return pool->sync_ticks >= IOBAND_SYNC_TICKS;
}

/* The in-flight limit is found by trials. */
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
	return a->object == b->object && a->id == b->id && a->kind == b->kind;
}

/* Look up a recently active group.  Under RCU-sched or the pool's lock. */
static inline struct ioband_group *ioband_scope_recent(struct ioband_scope *scope,
						       const struct ioband_key *key)
{
	struct ioband_group *group =
		rcu_dereference_check(scope->recent[ioband_recent_slot(key->id)],
				      rcu_read_lock_sched_held());

	return group && ioband_key_equal(&group->key, key) ? group : NULL;
}

/* Warn of objects that were not freed, when no pool is left. */
static inline void ioband_warn_lost(const atomic_long_t *nr, const char *what)
{
	const long lost = atomic_long_read(nr);

	WARN(lost, "ioband: %ld %s were not freed\n", lost, what);
}

#endif /* DM_IOBAND_IO_H */
