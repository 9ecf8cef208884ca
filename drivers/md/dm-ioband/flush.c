// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what the devices' write caches hold at the end of a turn.
 *
 * With slices each group has the device to itself for a while.  What it writes is
 * complete when the device's own cache has it, and would be put onto the medium in
 * the next group's turn.  So when the core says so (sched/slice.c tells why and
 * when) the devices that were written to are sent an empty flush, and the next
 * turn begins when all have completed.  Devices without a volatile cache are not.
 *
 * A device may tell an error of its cache once only.  If it tells it to a flush of
 * ours, the next flush from above and the next write with FUA are told it.
 */
#include "flush.h"

#include "io.h"
#include "submit.h"

/**
 * ioband_flush_init_target() - a target that has not written anything
 * @target: new
 */
void ioband_flush_init_target(struct ioband_target *target)
{
	INIT_LIST_HEAD(&target->dirty);
	init_waitqueue_head(&target->flushed);
}

/**
 * ioband_flush_exit_target() - the end of it
 * @target: suspended, or never resumed
 */
void ioband_flush_exit_target(struct ioband_target *target)
{
	WARN_ON_ONCE(target->flushing || !list_empty(&target->dirty));
}

/**
 * ioband_flush_is_needed() - may a bio complete before the medium has it
 * @target: target
 * @bio: the bio
 *
 * Return: true if only a flush puts it there.
 */
bool ioband_flush_is_needed(const struct ioband_target *target, const struct bio *bio)
{
	return READ_ONCE(target->pool->slice_ms) && bio_op(bio) == REQ_OP_WRITE &&
	       !(bio->bi_opf & REQ_FUA) && bdev_write_cache(target->dev->bdev);
}

/**
 * ioband_flush_start() - flush what was written to
 * @pool: pool
 *
 * Context: Under the pool's lock, interrupts off.
 *
 * Return: false if there is nothing to flush any more; the core knows.
 */
bool ioband_flush_start(struct ioband_pool *pool)
{
	struct ioband_target *target, *next;

	pool->flush_round++;
	pool->flushes = 0;
	list_for_each_entry_safe(target, next, &pool->dirty, dirty) {
		if (target->flushing)	/* of a round that was given up */
			continue;
		target->flush_round = pool->flush_round;
		pool->flushes++;
		list_del_init(&target->dirty);
		target->flushing = true;
		ioband_submit_flush(target);
	}
	if (!pool->flushes)
		ioband_core_drop_flush(&pool->core);
	return pool->flushes;
}

/**
 * ioband_flush_give_up() - do not wait for a flush any longer
 * @pool: pool
 * @now_ns: time
 *
 * A device that does not answer must not stop the others.
 *
 * Context: Under the pool's lock.
 */
void ioband_flush_give_up(struct ioband_pool *pool, u64 now_ns)
{
	pool->flush_round++;
	ioband_core_end_flush(&pool->core, now_ns);
}

/**
 * ioband_flush_end() - the flush of a target has completed
 * @target: target
 * @failed: with an error
 * @now_ns: time
 *
 * Context: Under the pool's lock.
 *
 * Return: true if it was the last one that the core waits for: the caller dispatches.
 */
bool ioband_flush_end(struct ioband_target *target, bool failed, u64 now_ns)
{
	struct ioband_pool *pool = target->pool;

	if (failed) {
		set_bit(IOBAND_UNTOLD_FLUSH, &target->member->untold);
		set_bit(IOBAND_UNTOLD_FUA, &target->member->untold);
	}
	target->flushing = false;
	if (target->flush_round != pool->flush_round || --pool->flushes)
		return false;
	ioband_core_end_flush(&pool->core, now_ns);
	return true;
}

static bool flush_is_over(struct ioband_target *target)
{
	bool over;

	spin_lock_irq(&target->pool->lock);
	over = !target->flushing;
	spin_unlock_irq(&target->pool->lock);
	return over;
}

/**
 * ioband_flush_suspend() - no more flushes of a target, and none in flight
 * @target: suspended, with nothing in flight
 *
 * Waits for as long as the device takes, as device-mapper does for bios in flight.
 *
 * Context: Process; may sleep.
 */
void ioband_flush_suspend(struct ioband_target *target)
{
	spin_lock_irq(&target->pool->lock);
	list_del_init(&target->dirty);
	spin_unlock_irq(&target->pool->lock);
	wait_event(target->flushed, flush_is_over(target));
}

/**
 * ioband_flush_tell() - a flush from above has completed, or a write with FUA
 * @target: target
 * @bio: the clone
 * @error: its status; changed if a flush of ours has failed
 *
 * A device may tell an error of its cache once only, and has told it to ours.
 * device-mapper makes an empty flush and a write of one that has data, and drops
 * the status of that flush, so both kinds are told.
 *
 * Context: Any.
 */
void ioband_flush_tell(struct ioband_target *target, const struct bio *bio, blk_status_t *error)
{
	const enum ioband_untold whom = bio->bi_opf & REQ_PREFLUSH ? IOBAND_UNTOLD_FLUSH :
								     IOBAND_UNTOLD_FUA;
	unsigned long *untold = &target->member->untold;

	if (unlikely(READ_ONCE(*untold)) && test_and_clear_bit(whom, untold) && !*error)
		*error = BLK_STS_IOERR;
}
