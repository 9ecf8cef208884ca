// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what a task submits in one go.
 *
 * While groups compete each bio takes the pool's lock when it comes, and when it has
 * completed.  A task that has many bios to submit says so to the block layer, and when it has
 * submitted the last one, by a plug: io_uring and libaio do, read-ahead, and writeback.  Until
 * then its bios are only gathered here, and all of them enter under one lock, with one look
 * what may go, in the order in which they came.
 *
 *	io_uring_enter, 32 reads	plug, 32 bios gathered, unplug: all 32 enter
 *	pread, 4 KiB			plug by the block layer itself: 1 enters
 *
 * A task that goes to sleep is unplugged before.  Then it must not wait for a request of
 * the device, for it would not be woken for what it sleeps for: the worker sends down what
 * may go.  Nor does it wait here for room in its group; if there is none when a bio comes, the
 * bio is not gathered, and so a group holds at most a batch of each task too much.
 */
#include "dm-ioband.h"

#include <linux/slab.h>

/* So many bios wait for each other at most, as many as the block layer's own plugs have. */
#define IOBAND_BATCH_MAX	32

/**
 * struct ioband_batch - bios of a task which enter together
 * @cb: in the task's plug; its data is the pool
 * @bios: the bios
 * @nr: how many
 */
struct ioband_batch {
	struct blk_plug_cb cb;
	struct bio_list bios;
	unsigned int nr;
};

static void turn_away(struct bio_list *bios, blk_status_t status)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		ioband_queue_turn_away(ioband_io_of(bio), bio, status);
}

static void batch_enter(struct ioband_batch *batch, bool from_schedule)
{
	struct bio_list by_verdict[] = {
		[IOBAND_GO] = BIO_EMPTY_LIST,
		[IOBAND_REFUSED] = BIO_EMPTY_LIST,
		[IOBAND_GIVEN_BACK] = BIO_EMPTY_LIST,
	};
	struct ioband_pool *pool = batch->cb.data;
	const u64 now_ns = ktime_get_ns();
	unsigned long flags;
	struct bio *bio;

	batch->nr = 0;
	spin_lock_irqsave(&pool->lock, flags);
	while ((bio = bio_list_pop(&batch->bios))) {
		struct ioband_io *io = ioband_io_of(bio);
		const enum ioband_verdict verdict = ioband_queue_enter_late(io, bio, now_ns);

		if (verdict == IOBAND_GO && from_schedule)
			ioband_submit_bio(io, bio);
		else if (verdict != IOBAND_HELD)
			bio_list_add(&by_verdict[verdict], bio);
	}
	ioband_queue_dispatch(pool, now_ns);
	spin_unlock_irqrestore(&pool->lock, flags);

	turn_away(&by_verdict[IOBAND_REFUSED], BLK_STS_AGAIN);
	turn_away(&by_verdict[IOBAND_GIVEN_BACK], BLK_STS_DM_REQUEUE);
	while ((bio = bio_list_pop(&by_verdict[IOBAND_GO])))
		dm_submit_bio_remap(bio, NULL);
}

/* The task has submitted what it had, or is about to sleep. */
static void batch_end(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ioband_batch *batch = container_of(cb, struct ioband_batch, cb);

	if (batch->nr)
		batch_enter(batch, from_schedule);
	kfree(batch);
}

/**
 * ioband_batch_add() - have a bio enter with what the task submits next
 * @io: the bio's; says what it covers
 * @bio: clone, given its device, that the task submits for itself, and that is not urgent
 *
 * Only while groups compete without slices: a disk that seeks does not feel the lock.  Not
 * one that is polled for.
 *
 * Context: Process, in the target's map(); sleeps no more than to submit bios.
 *
 * Return: false if it has to enter by itself.
 */
bool ioband_batch_add(struct ioband_io *io, struct bio *bio)
{
	struct ioband_pool *pool = io->target->pool;
	struct ioband_batch *batch;
	struct blk_plug_cb *cb;

	if (READ_ONCE(pool->state) != IOBAND_SHARED || READ_ONCE(pool->slice_ms) ||
	    bio->bi_opf & REQ_POLLED)
		return false;
	cb = blk_check_plugged(batch_end, pool, sizeof(*batch));
	if (!cb)
		return false;
	batch = container_of(cb, struct ioband_batch, cb);
	if (batch->nr == IOBAND_BATCH_MAX)
		batch_enter(batch, false);
	bio_list_add(&batch->bios, bio);
	batch->nr++;
	return true;
}
