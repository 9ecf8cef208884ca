// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: dispatch of the bios of dying tasks, for deleted disks, at a suspend, and before the
 * system sleeps.
 */
#include "release.h"

#include "complete.h"
#include "dispatch.h"
#include "io.h"
#include "state.h"
#include "stream.h"
#include "throttle.h"
#include <linux/oom.h>

/*
 * Bytes dispatched in each scan, on average, for dying tasks of groups with much debt.  All that a
 * group can have queued is dispatched within a minute, so that the tasks end.  A group that kills
 * its tasks all the time gains 1 MB/s.
 */
#define IOBAND_DYING_BYTES	(256U << 10)

/* Bios without data, which may occupy the device for long, stay in turn. */
static bool io_is_of_dying(const struct ioband_io *io, const void *of)
{
	return io->task && !io->bill.no_data && ioband_throttle_task_is_dying(io->task);
}

/*
 * Was the disk below deleted?  GD_DEAD is set before the bios in flight there complete, and stays
 * set.  Unlike the end of the disk's queue it does not depend on the disk's driver.  Unlike the
 * error of a bio it needs no bio in flight.
 */
static bool is_deleted(const struct ioband_target *target)
{
	return unlikely(test_bit(GD_DEAD, &target->dev->bdev->bd_disk->state));
}

/* Under the pool's walk mutex. */
static bool any_is_deleted(const struct ioband_pool *pool)
{
	const struct ioband_target *target;

	list_for_each_entry(target, &pool->targets, targets)
		if (is_deleted(target))
			return true;
	return false;
}

/* A bio of which splits were submitted has to complete with them. */
static bool io_fails(const struct ioband_io *io, const void *of)
{
	return is_deleted(io->target) && !io->split_bytes;
}

static bool io_goes_at_once(const struct ioband_io *io, const void *of)
{
	return (io->task && tsk_is_oom_victim(io->task)) || is_deleted(io->target);
}

/*
 * Dispatch the bios of dying tasks of one stream.  Bios for a deleted disk are moved to @failed.
 * Under the pool's lock, which may be dropped meanwhile.
 */
static void release_dying(struct ioband_stream *stream, bool deleted, struct bio_list *failed)
{
	struct ioband_pool *pool = stream->group->pool;

	if (deleted)
		ioband_dispatch_take(stream, failed, U64_MAX, io_fails, NULL);
	ioband_dispatch_take(stream, NULL, U64_MAX, io_goes_at_once, NULL);
	if (!ioband_tree_is_in_debt(&stream->leaf, false))
		ioband_dispatch_take(stream, NULL, U64_MAX, io_is_of_dying, NULL);
	else if (pool->dying_bytes > 0)
		pool->dying_bytes -= ioband_dispatch_take(stream, NULL, pool->dying_bytes,
							  io_is_of_dying, NULL);
}

/* Complete bios that are not dispatched.  Without the pool's lock. */
static void turn_all_away(struct bio_list *bios, blk_status_t status)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		ioband_complete_with(ioband_io_of(bio), bio, status);
		cond_resched();
	}
}

/*
 * Remove queued bios of dying tasks, which are dispatched, and for deleted disks.  These fail,
 * whatever the weights and maxima; later ones fail below, or here the next time.  Under the pool's
 * walk mutex; may sleep.
 */
void ioband_release_dying(struct ioband_pool *pool)
{
	struct bio_list failed = BIO_EMPTY_LIST;
	const bool deleted = any_is_deleted(pool);
	struct ioband_stream *stream;
	struct ioband_group *group;
	unsigned int left;

	spin_lock_irq(&pool->lock);
	pool->dying_bytes = min_t(s64, pool->dying_bytes + IOBAND_DYING_BYTES, IOBAND_DYING_BYTES);
	for (left = pool->nr_active; left && pool->held_ios && !list_empty(&pool->active);
	     left--) {
		group = ioband_state_next_active(pool);
		for (stream = &group->own; stream; stream = ioband_stream_next(stream))
			release_dying(stream, deleted, &failed);
		ioband_throttle_check(group);
		ioband_dispatch_yield(pool);
	}
	spin_unlock_irq(&pool->lock);
	turn_all_away(&failed, BLK_STS_IOERR);
}

/* Without a target: true for any. */
static bool io_is_of_target(const struct ioband_io *io, const void *of)
{
	return !of || io->target == of;
}

/*
 * Bios that a suspend may return.  It must dispatch bios with a dispatched split, and bios that
 * arrived with REQ_NOWAIT.  device-mapper would resubmit the latter from a worker, with the flag.
 * The device below refuses such a bio if it must split it, or has no free request.  io_uring of
 * 6.12 and before takes that for an error.
 */
static bool io_of_target_may_return(const struct ioband_io *io, const void *of)
{
	return io->target == of && !io->split_bytes && !io->nowait;
}

/*
 * Remove the queued bios for a target, or for all, from a stream.  With @requeue, bios that may be
 * returned are moved to @taken; the others are dispatched, those without data split by split.
 * Under the pool's lock, which may be dropped meanwhile: a bio of which a split is dispatched then
 * must not be returned any more.
 */
static void suspend_stream(struct ioband_stream *stream, const struct ioband_target *target,
			   bool requeue, struct bio_list *taken)
{
	if (requeue)
		ioband_dispatch_take(stream, taken, U64_MAX, io_of_target_may_return, target);
	ioband_dispatch_take(stream, NULL, U64_MAX, io_is_of_target, target);
}

/*
 * The same for all streams of a pool, of one @target or all.  Groups with queued bios are active,
 * and from now on no more bios are queued.  One group at a time, so that interrupts are off only
 * for a short time.  Under the pool's walk mutex and its lock, which is dropped meanwhile.
 */
static void empty_queues(struct ioband_pool *pool, const struct ioband_target *target,
			 bool requeue, struct bio_list *taken)
{
	struct ioband_stream *stream;
	struct ioband_group *group;
	unsigned int left;

	for (left = pool->nr_active; left && !list_empty(&pool->active); left--) {
		group = ioband_state_next_active(pool);
		for (stream = &group->own; stream; stream = ioband_stream_next(stream))
			suspend_stream(stream, target, requeue, taken);
		ioband_throttle_wake(group);
		ioband_dispatch_yield(pool);
	}
	ioband_dispatch(pool, ktime_get_ns());
}

/*
 * Empty the queues of a target that is being suspended.  @requeue: return bios to device-mapper
 * instead of dispatching them.  May sleep.
 */
void ioband_release_suspend(struct ioband_target *target, bool requeue)
{
	struct bio_list taken = BIO_EMPTY_LIST;
	struct ioband_pool *pool = target->pool;

	mutex_lock(&pool->walk);
	spin_lock_irq(&pool->lock);
	WRITE_ONCE(target->requeue, requeue);
	WRITE_ONCE(target->suspended, true);
	empty_queues(pool, target, requeue, &taken);
	spin_unlock_irq(&pool->lock);
	mutex_unlock(&pool->walk);
	turn_all_away(&taken, BLK_STS_DM_REQUEUE);
}

/* Allow the bios of a target that is being resumed to be queued again. */
void ioband_release_resume(struct ioband_target *target)
{
	spin_lock_irq(&target->pool->lock);
	WRITE_ONCE(target->suspended, false);
	spin_unlock_irq(&target->pool->lock);
}

/*
 * The system is going to sleep: dispatch all bios, and queue none until it has woken up, which is
 * told here, too.  The kernel freezes all tasks first, and gives up after 20 s if one waits for I/O
 * all the time.  Bios without data are still dispatched split by split: the rest of large ones
 * stays queued.  May sleep.
 */
void ioband_release_sleep(struct ioband_pool *pool, bool sleeps)
{
	mutex_lock(&pool->walk);
	spin_lock_irq(&pool->lock);
	WRITE_ONCE(pool->sleeps, sleeps);
	if (sleeps)
		empty_queues(pool, NULL, false, NULL);
	spin_unlock_irq(&pool->lock);
	mutex_unlock(&pool->walk);
}
