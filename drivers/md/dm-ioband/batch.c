// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: batches of bios that a task submits under one plug.
 *
 * While groups compete, each bio takes the pool's lock at arrival.  A task with many bios to submit
 * tells the block layer by a plug, which it ends after the last one.  io_uring, libaio, read-ahead
 * and large direct I/O do so.  Until the plug ends the bios are only gathered here.  Then all of
 * them enter under one lock, and are dispatched together.  They keep their order; a bio that is not
 * gathered may overtake them.
 *
 *	io_uring_enter, 32 reads	plug, 32 bios gathered, unplug: all 32 enter
 *	pread, 4 KiB			no plug, or the block layer's own: 1 enters
 *
 * A plug also ends when the task is about to sleep, from within schedule().  There the task must
 * not sleep for a request of the device: it would miss the wake-up for which it goes to sleep.  The
 * task may also lose the CPU.  Admitted bios, which count as in flight, must not wait with it.  So
 * a worker submits the admitted bios, unless it is a single bio and the task may sleep for it.
 *
 * Back-pressure is checked when a bio arrives.  A bio that would have to wait is not gathered, so a
 * group exceeds its bound by at most one batch for each task.  A gathered bio with REQ_NOWAIT is
 * not refused later: io_uring of 6.12 and before would not notice.
 */
#include "batch.h"

#include "admit.h"
#include "dispatch.h"
#include "gather.h"
#include "io.h"
#include "submit.h"

#include <linux/sizes.h>
#include <linux/slab.h>

/*
 * Largest size of a batch: as many bios as in the block layer's own plugs, and so many bytes that
 * the first bios do not wait for long.
 */
#define IOBAND_BATCH_IOS	32
#define IOBAND_BATCH_BYTES	SZ_1M

/* Bios of a task that enter together. */
struct ioband_batch {
	struct blk_plug_cb cb;		/* of the task's plug; its data is the pool */
	struct bio_list bios;
	u32 ios;
	bool nowait;			/* the task must not sleep for one of them */
	u64 bytes;
};

/* Not inlined, so that a test can count how often the lock is taken here. */
static noinline void batch_enter(struct ioband_batch *batch, bool from_schedule)
{
	struct ioband_pool *pool = batch->cb.data;
	const bool several = batch->ios > 1;
	const bool by_task = !several && !batch->nowait && !from_schedule;
	const u64 now_ns = ktime_get_ns();
	struct bio *bio, *going = NULL;
	struct ioband_found found = {};
	bool held = false;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	ioband_gather_pass(pool, now_ns);
	while ((bio = bio_list_pop(&batch->bios))) {
		struct ioband_io *io = ioband_io_of(bio);

		if (ioband_admit_late(io, bio, several, now_ns, &found))
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

/* The plug ends: the task has submitted its bios, or is about to sleep. */
static void batch_end(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ioband_batch *batch = container_of(cb, struct ioband_batch, cb);

	if (batch->ios)
		batch_enter(batch, from_schedule);
	kfree(batch);
}

/*
 * In the target's map(): gather a bio, with its device set, to enter with the next bios of the
 * task.  It is not urgent, and of a group that does not throttle its submitters.  Bios are gathered
 * only while groups compete without slices: for a disk that seeks, the cost of the lock does not
 * matter.  Polled bios are not gathered.  Return: false if the bio has to enter by itself.
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
