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

/* The target's per-bio data. */
struct ioband_io {
	struct ioband_target *target;	/* that received the bio in map() */
	struct ioband_group *group;	/* group that is charged; NULL: the bio is not accounted */
	struct ioband_stream *stream;	/* while the bio is queued or known to the core */
	struct ioband_stats *stats;	/* of the group, pinned by the bio */
	u64 start_ns;			/* time of arrival, later of dispatch */
	struct ioband_bill bill;	/* of the bio, or of its latest split */
	union {
		/* submitter, referenced while queued; NULL: a kernel thread */
		struct task_struct *task;
		u64 covers;		/* of an empty flush, see ioband_flush_covers() */
	};
	u32 bytes;			/* covered */
	u32 wait_us;			/* how long the bio was queued */
	u8 op;
	u8 level;			/* see ioband_stream_level() */
	bool open;			/* dispatched in the open state, unknown to the core */
	bool swap;			/* counts in &ioband_member.swap_bytes */
	bool shared;			/* the core counts the bio, as a whole */
	/* by the submitter for itself: may sleep for its group; unknown in the open state */
	bool of_task;
	bool of_flusher;		/* by the flusher of one cgroup, which may sleep likewise */
	bool atomic;			/* atomic write; the flag is removed on the hidden disk */
	bool alike;	/* as the bio before it in its batch, but for its place and size */
	bool nowait;		/* REQ_NOWAIT on arrival; device-mapper's own bio still has it */
	u32 split_min_bytes;		/* the smallest size that the bio allows; 0: no splits */
	u32 split_bytes;	/* of its (without data, present) splits; 0: whole, or not yet */
	u32 admitted;			/* of a split bio, bytes that the core has admitted */
	atomic_t due_bytes;	/* of these, to submit; not 0 while the bio is with a worker */
	u32 sent;			/* bytes submitted */
	u32 unfinished;			/* bytes not completed; under the pool's lock */
	u32 min_splits;		/* in flight, dispatched for a minimum; under the pool's lock */
	struct llist_node queued;	/* in a queue of its target */
	unsigned int cpu;		/* of the arrival */
	u32 expect_us;			/* of a split without data, its expected device time */
};

/* A task that sleeps because of back-pressure. */
struct ioband_waiter {
	/* in &ioband_group.waiters or &ioband_member.swap_waiters */
	struct wait_queue_entry entry;
	const struct ioband_target *target;	/* that received the bio in map() */
	struct request_queue *queue;	/* of the mapped device; cannot be frozen meanwhile */
	struct ioband_group *group;	/* NULL: the task waits for writes to swap */
	struct ioband_stats *stats;	/* of the group, pinned by the task */
	u32 until;		/* value of &ioband_group.released_ios at which it continues */
	bool flusher;			/* it continues when little of its writeback is queued */
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
