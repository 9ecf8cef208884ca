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
 * As a rule all bios of a batch are of one kind.  So the properties of a bio that is like the one
 * before are copied, and such bios are counted together.
 *
 * Back-pressure is checked when the first bio of a kind arrives.  A bio that would have to wait is
 * not gathered, so a group exceeds its bound by at most one batch for each task.  A gathered bio
 * with REQ_NOWAIT is not refused later: io_uring of 6.12 and before would not notice.
 */
#include "batch.h"

#include "admit.h"
#include "blkcg.h"
#include "dispatch.h"
#include "gather.h"
#include "io.h"
#include "submit.h"
#include "throttle.h"

#include <linux/blk-crypto.h>
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
	/* the last one, if others may be like it; its flags on arrival, and those of the task */
	const struct ioband_io *last;
	blk_opf_t opf;
	u16 ioprio;
	unsigned int flags;
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
	ioband_admit_alike(&found);
	batch->last = NULL;
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
 * Bios are gathered only while groups compete without slices: for a disk that seeks, the cost of
 * the lock does not matter.  Polled bios are not gathered.
 */
static bool gathers(const struct ioband_pool *pool, const struct bio *bio)
{
	return READ_ONCE(pool->state) == IOBAND_SHARED && !READ_ONCE(pool->slice_ms) &&
	       !(bio->bi_opf & REQ_POLLED);
}

static bool is_full(const struct ioband_batch *batch)
{
	return batch->ios == IOBAND_BATCH_IOS || batch->bytes >= IOBAND_BATCH_BYTES;
}

static void add(struct ioband_batch *batch, struct ioband_io *io, struct bio *bio)
{
	batch->last = io;
	batch->nowait |= io->nowait;
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_list_add(&batch->bios, bio);
	batch->ios++;
	batch->bytes += io->bytes;
}

/*
 * In the target's map(): gather a bio, prepared and with its device set, to enter with the next
 * bios of the task.  It is not urgent, and of a group that does not throttle its submitters.
 * Return: false if the bio has to enter by itself.
 */
bool ioband_batch_add(struct ioband_io *io, struct bio *bio)
{
	struct ioband_pool *pool = io->target->pool;
	struct ioband_batch *batch;
	struct blk_plug_cb *cb;

	if (!gathers(pool, bio))
		return false;
	cb = blk_check_plugged(batch_end, pool, sizeof(*batch));
	if (!cb)
		return false;
	batch = container_of(cb, struct ioband_batch, cb);
	if (is_full(batch))
		batch_enter(batch, false);
	batch->opf = bio->bi_opf;
	batch->ioprio = bio->bi_ioprio;
	batch->flags = current->flags;
	add(batch, io, bio);
	/* Of other bios, more than the flags decides. */
	if (!io->of_task || !ioband_blkcg_is_direct(bio) || bio_has_crypt_ctx(bio))
		batch->last = NULL;
	return true;
}

/* The batch of the current task's plug; NULL: none, or another callback comes first. */
static struct ioband_batch *batch_of_task(const struct ioband_pool *pool)
{
	struct blk_plug_cb *cb;

	if (!current->plug)
		return NULL;
	cb = list_first_entry_or_null(&current->plug->cb_list, struct blk_plug_cb, list);
	if (!cb || cb->callback != batch_end || cb->data != pool)
		return NULL;
	return container_of(cb, struct ioband_batch, cb);
}

/*
 * In the target's map(), at first: gather a bio that differs from the last one of the batch only by
 * its place and size, so that the decisions for that one hold.  Return: false if it does, or there
 * is none.
 */
bool ioband_batch_join(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	struct ioband_batch *batch = batch_of_task(target->pool);
	const struct ioband_io *last = batch ? batch->last : NULL;
	const u32 bytes = bio->bi_iter.bi_size;

	if (!last || last->target != target || bio->bi_opf != batch->opf || !bytes ||
	    bio->bi_ioprio != batch->ioprio || bio_has_crypt_ctx(bio) || is_full(batch) ||
	    !gathers(target->pool, bio) || current->flags != batch->flags ||
	    current->journal_info || fatal_signal_pending(current) ||
	    ioband_throttle_reserve_is_low(bio))
		return false;
	bio->bi_iter.bi_sector += target->shift;
	bio_set_dev(bio, target->dev->bdev);
	io->target = target;
	io->group = NULL;
	io->open = false;
	io->swap = false;
	io->op = last->op;
	io->bytes = bytes;
	io->bill = last->bill;
	io->bill.bytes = bytes;
	io->bill.charge = ioband_cost(READ_ONCE(target->pool->measure), bytes, true).charge;
	io->level = last->level;
	io->of_task = true;
	io->of_flusher = false;
	io->nowait = last->nowait;
	io->split_min_bytes = last->split_min_bytes;
	ioband_admit_begin(io);
	io->alike = true;
	add(batch, io, bio);
	return true;
}
