/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: back-pressure: the bound on the queued bios of a group. */
#ifndef DM_IOBAND_THROTTLE_H
#define DM_IOBAND_THROTTLE_H

#include "io.h"

/* A killed task must not sleep: its memory is to be freed. */
static inline bool ioband_throttle_task_is_dying(struct task_struct *task)
{
	return task->flags & PF_EXITING || fatal_signal_pending(task);
}

/* Multiple of the bound for a killed task: its bios are dispatched at once as a rule. */
#define IOBAND_THROTTLE_DYING	4

#define IOBAND_THROTTLE_IOS	1024
#define IOBAND_THROTTLE_BYTES	(64U << 20)

/*
 * Are the queued bios of a group's tasks at @times their bound, or above?  Without the pool's lock
 * the answer may be outdated.
 */
static inline bool ioband_throttle_is_over(const struct ioband_group *group, unsigned int times)
{
	return READ_ONCE(group->held_of_tasks.ios) >= times * (u64)IOBAND_THROTTLE_IOS ||
	       READ_ONCE(group->held_of_tasks.bytes) >= times * (u64)IOBAND_THROTTLE_BYTES;
}

/* Is the bio a write to swap, which is never queued? */
static inline bool ioband_throttle_is_swap(const struct bio *bio)
{
	return unlikely(bio->bi_opf & REQ_SWAP) && bio_op(bio) == REQ_OP_WRITE;
}

/*
 * Is half of the reserve of clones of the mapped device in use?  There is no memory for more clones
 * then.  All further bios of the device, also swap that would free memory, need one of the reserve.
 */
static inline bool ioband_throttle_reserve_is_low(const struct bio *bio)
{
	const mempool_t *reserve = &bio->bi_pool->bio_pool;

	return unlikely(READ_ONCE(reserve->curr_nr) < reserve->min_nr / 2);
}

void ioband_throttle_add(const struct ioband_io *io);
void ioband_throttle_add_alike(struct ioband_group *group, u8 op, u32 ios, u64 bytes);
u32 ioband_throttle_remove(const struct ioband_io *io);
bool ioband_throttle_flusher_is_over(const struct ioband_group *group);
void ioband_throttle_wake(struct ioband_group *group);
void ioband_throttle_check(struct ioband_group *group);
void ioband_throttle_prepare(struct ioband_waiter *waiter, const struct ioband_target *target,
			     struct ioband_group *group, struct ioband_stats *stats, bool flusher);
void ioband_throttle_wait(struct ioband_waiter *waiter, bool dying);
void ioband_throttle_wait_flusher(struct ioband_waiter *waiter);
void ioband_throttle_add_swap(struct ioband_io *io);
void ioband_throttle_remove_swap(struct ioband_io *io);
u32 ioband_throttle_wait_swap(struct ioband_target *target, struct bio *bio);

#endif /* DM_IOBAND_THROTTLE_H */
