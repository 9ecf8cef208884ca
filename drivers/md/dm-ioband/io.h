/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the structures of a bio, and what all parts of the target use.
 */
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
 * @due_bytes: of these, what a worker has to submit; while it is not 0 the bio is on a queue of
 *	its target, or a worker has it
 * @sent: what was submitted
 * @unfinished: bytes that have not completed; under the pool's lock
 * @queued: place on a queue of its target
 * @cpu: on which it arrived
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
	atomic_t due_bytes;
	u32 sent;
	u32 unfinished;
	struct llist_node queued;
	unsigned int cpu;
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

#endif /* DM_IOBAND_IO_H */
