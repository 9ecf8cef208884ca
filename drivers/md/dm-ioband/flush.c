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

#include "submit.h"

void ioband_flush_init_target(struct ioband_target *target)
{
	INIT_LIST_HEAD(&target->dirty);
	init_waitqueue_head(&target->flushed);
}

/* The target is suspended, or was never resumed. */
void ioband_flush_exit_target(struct ioband_target *target)
{
	WARN_ON_ONCE(target->flushing || !list_empty(&target->dirty));
}

/* Flush the dirty devices, under the pool's lock; false if there are none, as the core is told. */
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

/* Under the pool's lock: a device that does not answer must not stop the others. */
void ioband_flush_give_up(struct ioband_pool *pool, u64 now_ns)
{
	pool->flush_round++;
	ioband_slice_end_flush(&pool->core, now_ns);
}

/*
 * A target's flush has completed.  Under the pool's lock.  Return: true if it was the last one for
 * which the core waits: the caller dispatches.
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

/*
 * Cancel or await the flush of a suspended target with nothing in flight.  It waits for as long as
 * the device takes, as device-mapper does for bios in flight.
 */
void ioband_flush_suspend(struct ioband_target *target)
{
	spin_lock_irq(&target->pool->lock);
	list_del_init(&target->dirty);
	spin_unlock_irq(&target->pool->lock);
	wait_event(target->flushed, flush_is_over(target));
}

/*
 * Position up to which a flush from above, about to be submitted, puts bytes onto the medium; 0:
 * none.  A flush of one disk says nothing of others.  So it counts only if no other disk of the
 * pool has been written to.  Logical volumes are disks here.  Under the pool's lock.
 */
u64 ioband_flush_covers(const struct ioband_target *target)
{
	const struct ioband_target *other;

	list_for_each_entry(other, &target->pool->dirty, dirty)
		if (other->dev->bdev->bd_disk != target->dev->bdev->bd_disk)
			return 0;
	return ioband_slice_completed_until(&target->pool->core);
}

/* A flush from above has completed; @covers is of ioband_flush_covers().  Under the pool's lock. */
void ioband_flush_note_from_above(struct ioband_target *target, u64 covers, u64 ns)
{
	struct ioband_pool *pool = target->pool;
	struct ioband_target *clean, *next;

	if (ioband_slice_note_flush(&pool->core, covers, ns))
		list_for_each_entry_safe(clean, next, &pool->dirty, dirty)
			list_del_init(&clean->dirty);
}

/*
 * Report a past error of ioband's own flush to a completed flush or write with FUA.  device-mapper
 * splits a flush with data into an empty flush and a write, and drops the status of that flush.  So
 * the error is reported to both kinds of bio.
 */
void ioband_flush_tell(struct ioband_target *target, const struct bio *bio, blk_status_t *error)
{
	const enum ioband_untold whom = bio->bi_opf & REQ_PREFLUSH ? IOBAND_UNTOLD_FLUSH :
								     IOBAND_UNTOLD_FUA;
	unsigned long *untold = &target->member->untold;

	if (unlikely(READ_ONCE(*untold)) && test_and_clear_bit(whom, untold) && !*error)
		*error = BLK_STS_IOERR;
}
