/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the lockless path of a bio in the open state.
 *
 * It is the cost of a group alone.  So it is inlined into device-mapper's callbacks, and uses few
 * fields of the per-bio data: @stats, @start_ns, @bytes, @op, @open and @swap.
 */
#ifndef DM_IOBAND_OPEN_H
#define DM_IOBAND_OPEN_H

#include "blkcg.h"
#include "io.h"
#include "stats.h"

/* The group of a cgroup, if it was active recently.  Under RCU-sched. */
static __always_inline struct ioband_group *
ioband_open_recent(struct ioband_group __rcu **recent, const struct cgroup_subsys_state *css)
{
	struct ioband_group *group = rcu_dereference_sched(recent[ioband_recent_slot(css->id)]);

	return likely(group && group->key.object == css) ? group : NULL;
}

/**
 * ioband_open_pin() - pin the counters of a group for a bio, if the group is open
 * @io: per-bio data
 * @group: the group
 * @op: see &enum ioband_op
 *
 * Context: Under RCU-sched, after a look at &ioband_pool.passes or &ioband_member.recent there.
 *
 * Return: true if so: the bio may be dispatched.
 */
static __always_inline bool ioband_open_pin(struct ioband_io *io, struct ioband_group *group,
					    unsigned int op)
{
	struct ioband_stats *stats;

	stats = rcu_dereference_sched(group->open);
	if (!stats)
		return false;
	ioband_stats_pin_open(stats, op);
	io->stats = stats;
	io->op = op;
	io->open = true;
	return true;
}

/**
 * ioband_open_enter() - pass a bio to the device without the pool's lock
 * @target: target that received the bio in map()
 * @io: per-bio data
 * @bio: clone, without a device yet
 *
 * Only for reads and direct writes of a task, if the cgroup of the task has an open group.
 *
 * Context: Process; does not sleep.
 *
 * Return: false if the bio has to enter in another way; nothing has happened then.
 */
static __always_inline bool ioband_open_enter(const struct ioband_target *target,
					      struct ioband_io *io, const struct bio *bio)
{
	const blk_opf_t opf = bio->bi_opf;
	const u32 bytes = bio->bi_iter.bi_size;
	struct ioband_group __rcu **recent;
	struct ioband_group *group;
	bool passed;

	if (unlikely(!bytes || !ioband_blkcg_is_of_task(bio)))
		return false;
	/*
	 * RCU-sched is cheaper than rcu_read_lock(), and suffices for so few instructions.  In the
	 * shared state, groups may still be open, so @recent alone keeps a bio out.  It is read
	 * here, where the task is not preempted: a bio that passes was at most that late.
	 */
	rcu_read_lock_sched();
	recent = READ_ONCE(target->member->recent);
	group = likely(recent) ? ioband_open_recent(recent, ioband_blkcg_of_task()) : NULL;
	passed = likely(group) &&
		 ioband_open_pin(io, group, op_is_write(opf) ? IOBAND_OP_WRITE : IOBAND_OP_READ);
	if (passed) {
		io->bytes = bytes;
		io->swap = false;
	}
	rcu_read_unlock_sched();
	return passed;
}

/**
 * ioband_open_complete() - account for a bio that was dispatched in the open state
 * @io: per-bio data, with @open set
 *
 * Context: Any.
 */
static __always_inline void ioband_open_complete(const struct ioband_io *io)
{
	const u64 now_ns = ktime_get_ns();
	struct ioband_stats *stats = io->stats;
	const u8 op = io->op;

	ioband_stats_count(stats, op, io->bytes, now_ns - io->start_ns);
	ioband_stats_unpin_open(stats, op);
}

#endif /* DM_IOBAND_OPEN_H */
