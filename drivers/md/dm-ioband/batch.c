// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what a task submits in one go.
 *
 * While groups compete each bio takes the pool's lock when it comes, and when it has
 * completed.  A task that has many bios to submit says so to the block layer, and when it has
 * submitted the last one, by a plug: io_uring and libaio do, read-ahead, and large direct I/O.
 * Until then its bios are only gathered here, and all of them enter under one lock, with one
 * look what may go.  They keep their order; one that is not gathered may overtake them.
 *
 *	io_uring_enter, 32 reads	plug, 32 bios gathered, unplug: all 32 enter
 *	pread, 4 KiB			no plug, or the block layer's own: 1 enters
 *
 * A task is unplugged before it sleeps, too, from within schedule().  Then it must not wait for
 * a request of the device, for it would not be woken for what it sleeps for.  And it may be kept
 * from the CPU: what has been admitted, and counts as being at the device, must not stay with
 * it.  So the worker sends down what may go, unless it is a single bio and the task may sleep
 * for it.
 *
 * Whether a bio has to wait for room in its group is looked at when it comes: it is not gathered
 * then, and so a group holds at most a batch of each task too much.  Nor is one
 * refused later that must not wait (REQ_NOWAIT): io_uring of 6.12 and before would not see it.
 */
#include "batch.h"

#include "admit.h"
#include "dispatch.h"
#include "io.h"
#include "submit.h"

#include <linux/sizes.h>
#include <linux/slab.h>

/*
 * So many bios wait for each other at most, as many as in the block layer's own plugs, and
 * so many bytes: those that are first need not wait for much.
 */
#define IOBAND_BATCH_IOS	32
#define IOBAND_BATCH_BYTES	SZ_1M

/**
 * struct ioband_batch - bios of a task which enter together
 * @cb: in the task's plug; its data is the pool
 * @bios: the bios
 * @ios: how many
 * @nowait: the task must not wait for one of them
 * @bytes: how large they are
 */
struct ioband_batch {
	struct blk_plug_cb cb;
	struct bio_list bios;
	u32 ios;
	bool nowait;
	u64 bytes;
};

/* Not inlined: so it can be counted how often the lock is taken here. */
static noinline void batch_enter(struct ioband_batch *batch, bool from_schedule)
{
	struct ioband_pool *pool = batch->cb.data;
	const bool by_task = batch->ios == 1 && !batch->nowait && !from_schedule;
	const u64 now_ns = ktime_get_ns();
	struct bio *bio, *going = NULL;
	bool held = false;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	while ((bio = bio_list_pop(&batch->bios))) {
		struct ioband_io *io = ioband_io_of(bio);

		if (ioband_admit_late(io, bio, now_ns))
			held = true;
		else if (by_task)
			going = bio;
		else
			ioband_submit_bio(io);
	}
	batch->ios = 0;
	batch->nowait = false;
	batch->bytes = 0;
	if (held)
		ioband_dispatch(pool, now_ns);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (going)
		dm_submit_bio_remap(going, NULL);
}

/* The task has submitted what it had, or is about to sleep. */
static void batch_end(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ioband_batch *batch = container_of(cb, struct ioband_batch, cb);

	if (batch->ios)
		batch_enter(batch, from_schedule);
	kfree(batch);
}

/**
 * ioband_batch_add() - have a bio enter with what the task submits next
 * @io: the bio's, ready to enter
 * @bio: clone, given its device, that the current task submits, and that is not urgent; its
 *	group has room
 *
 * Only while groups compete without slices: a disk that seeks does not feel the lock.  Not
 * one that is polled for.
 *
 * Context: Process, in the target's map(); does not sleep.
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
	if (batch->ios == IOBAND_BATCH_IOS || batch->bytes >= IOBAND_BATCH_BYTES)
		batch_enter(batch, false);
	if (io->nowait)
		batch->nowait = true;
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_list_add(&batch->bios, bio);
	batch->ios++;
	batch->bytes += io->bytes;
	return true;
}
