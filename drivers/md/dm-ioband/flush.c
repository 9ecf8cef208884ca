// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: flushes of the devices' write caches at the end of a slice.
 *
 * With slices each group has the device to itself for a while.  A write completes when the device's
 * own cache has it.  The device would put it onto the medium in the slice of the next group.  So
 * when the core requests it, the devices that were written to get an empty flush (sched/slice.c
 * explains why and when).  The next slice begins when all of these have completed.  Devices without
 * a volatile cache get no flush.  Writes that a flush from above has covered need none.
 *
 * A device may report an error of its cache only once.  If it reports the error to ioband's own
 * flush, the next flush from above and the next write with FUA fail.
 */
#include "flush.h"

#include "io.h"
#include "submit.h"

/**
 * ioband_flush_init_target() - initialise the flush of a target
 * @target: new
 */
void ioband_flush_init_target(struct ioband_target *target)
{
	INIT_LIST_HEAD(&target->dirty);
	init_waitqueue_head(&target->flushed);
}

/**
 * ioband_flush_exit_target() - check that no flush of a target is left
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
 * Context: Any; without a lock.
 *
 * Return: true if only a flush puts it there.
 */
bool ioband_flush_is_needed(const struct ioband_target *target, const struct bio *bio)
{
	return READ_ONCE(target->pool->slice_ms) && bio_op(bio) == REQ_OP_WRITE &&
	       !(bio->bi_opf & REQ_FUA) && bdev_write_cache(target->dev->bdev);
}

/**
 * ioband_flush_start() - flush the devices that were written to
 * @pool: pool
 *
 * Context: Under the pool's lock.
 *
 * Return: false if there is no device to flush; the core has been told.
 */
bool ioband_flush_start(struct ioband_pool *pool)
{
	struct ioband_target *target, *next;

	pool->flush_round++;
	pool->flushes = 0;
	list_for_each_entry_safe(target, next, &pool->dirty, dirty) {
		if (target->flushing)	/* of an abandoned round */
			continue;
		target->flush_round = pool->flush_round;
		pool->flushes++;
		list_del_init(&target->dirty);
		target->flushing = true;
		ioband_submit_flush(target);
	}
	if (!pool->flushes)
		ioband_slice_drop_flush(&pool->core);
	return pool->flushes;
}

/**
 * ioband_flush_give_up() - abandon the present round of flushes
 * @pool: pool
 * @now_ns: time
 *
 * A device that does not answer must not stop the other devices.
 *
 * Context: Under the pool's lock.
 */
void ioband_flush_give_up(struct ioband_pool *pool, u64 now_ns)
{
	pool->flush_round++;
	ioband_slice_end_flush(&pool->core, now_ns);
}

/**
 * ioband_flush_end() - account for the completion of a target's flush
 * @target: target
 * @failed: the flush had an error
 * @now_ns: time
 *
 * Context: Under the pool's lock.
 *
 * Return: true if it was the last flush for which the core waits: the caller dispatches.
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
	ioband_slice_end_flush(&pool->core, now_ns);
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
 * ioband_flush_suspend() - cancel or await the flush of a target
 * @target: suspended, with nothing in flight
 *
 * It waits for as long as the device takes, as device-mapper does for bios in flight.
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
 * ioband_flush_covers() - position up to which a flush from above puts bytes onto the medium
 * @target: target of the flush, which is to be submitted
 *
 * A flush of one disk says nothing of others.  So it counts only if no other disk of the pool has
 * been written to.  Logical volumes are disks here.
 *
 * Context: Under the pool's lock.
 *
 * Return: for ioband_flush_note_from_above(); 0: nothing.
 */
u64 ioband_flush_covers(const struct ioband_target *target)
{
	const struct ioband_target *other;

	list_for_each_entry(other, &target->pool->dirty, dirty)
		if (other->dev->bdev->bd_disk != target->dev->bdev->bd_disk)
			return 0;
	return ioband_slice_completed_until(&target->pool->core);
}

/**
 * ioband_flush_note_from_above() - a flush from above has completed
 * @target: its target
 * @covers: result of ioband_flush_covers()
 * @ns: duration of the flush
 *
 * Context: Under the pool's lock.
 */
void ioband_flush_note_from_above(struct ioband_target *target, u64 covers, u64 ns)
{
	struct ioband_pool *pool = target->pool;
	struct ioband_target *clean, *next;

	if (ioband_slice_note_flush(&pool->core, covers, ns))
		list_for_each_entry_safe(clean, next, &pool->dirty, dirty)
			list_del_init(&clean->dirty);
}

/**
 * ioband_flush_tell() - report a past flush error to a flush or a write with FUA
 * @target: target
 * @bio: the completed clone
 * @error: its status; changed if ioband's own flush had failed
 *
 * device-mapper splits a flush with data into an empty flush and a write, and drops the status of
 * that flush.  So the error is reported to both kinds of bio.
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
