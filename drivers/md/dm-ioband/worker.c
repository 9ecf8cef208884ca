// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: a target's worker submits released bios.
 *
 * A completion, a timer or the bio of another task releases a held bio, and may not submit it.
 * So the bio goes to its target's ready list, and a worker of the target submits it: each target
 * has its own, so that a device that blocks its worker does not hold up the others.  The worker
 * makes the pieces of large bios, too, and submits the flush at the end of a turn.
 *
 * The worker finds out how many bios may be in flight before the next one has to sleep for want of
 * a request, note_roomy(): its count of voluntary context switches tells whether it had to.
 */
#include "worker.h"

#include "complete.h"
#include "dispatch.h"
#include "flush.h"
#include "io.h"
#include "split.h"

#include <linux/sched.h>

/* The clone of a piece. */
struct ioband_piece {
	struct ioband_io *io;
	u32 bytes;
	struct bio bio;
};

#define PIECE_POOL	16

static void piece_end_io(struct bio *bio)
{
	struct ioband_piece *piece = container_of(bio, struct ioband_piece, bio);
	struct bio *whole = ioband_bio_of(piece->io);
	struct ioband_io *io = piece->io;
	const u32 bytes = piece->bytes;

	/* Which of two errors stays does not matter. */
	if (unlikely(bio->bi_status))
		whole->bi_status = bio->bi_status;
	bio_put(bio);
	if (ioband_complete_piece(io, bytes))
		bio_endio(whole);
}

/* Submit the next pieces of a bio, in all @bytes; with the last one the bio may be gone. */
static void submit_pieces(struct ioband_io *io, u32 bytes)
{
	struct bio *whole = ioband_bio_of(io);
	struct ioband_piece *piece;
	struct bio *bio;
	u32 offset, size;

	for (; bytes; bytes -= size) {
		offset = io->sent;
		size = ioband_piece_bytes(io, whole, offset);
		io->sent += size;
		bio = bio_alloc_clone(whole->bi_bdev, whole, GFP_NOIO, &io->target->pieces);
		piece = container_of(bio, struct ioband_piece, bio);
		piece->io = io;
		piece->bytes = size;
		bio_trim(bio, offset >> SECTOR_SHIFT, size >> SECTOR_SHIFT);
		bio->bi_end_io = piece_end_io;
		bio->bi_opf |= REQ_NOMERGE;	/* or the disk's queue would glue them */
		dm_submit_bio_remap(whole, bio);
	}
}

static void flush_end_io(struct bio *bio)
{
	struct ioband_target *target = container_of(bio, struct ioband_target, flush);
	const bool failed = bio->bi_status;
	struct ioband_pool *pool = target->pool;
	const u64 now_ns = ktime_get_ns();
	unsigned long flags;

	bio_uninit(bio);
	spin_lock_irqsave(&pool->lock, flags);
	if (ioband_flush_end(target, failed, now_ns))
		ioband_dispatch(pool, now_ns);
	wake_up_all(&target->flushed);
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Submit the target's flush if it is due. */
static void submit_flush(struct ioband_target *target)
{
	/* A flush that falls due from now on keeps the worker going. */
	if (!READ_ONCE(target->flush_due))
		return;
	spin_lock_irq(&target->pool->lock);
	WRITE_ONCE(target->flush_due, false);
	spin_unlock_irq(&target->pool->lock);
	bio_init(&target->flush, target->dev->bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	target->flush.bi_end_io = flush_end_io;
	submit_bio(&target->flush);
}

/*
 * So many of a device's bios have gone down: its worker had to sleep for the last of them,
 * or not.  That holds for a while only: with another load, or others on the device, a
 * request may be harder to get (the tick lets it fade).
 */
static void note_roomy(struct ioband_member *member, u32 sent, bool slept)
{
	if (slept)
		member->roomy_ios /= 2;
	else if (sent)
		member->roomy_ios = max(member->roomy_ios, sent - 1);
}

/* Return: false if there is nothing to send down, and the worker has ended. */
static bool take_ready(struct ioband_target *target, struct bio_list *ready, u32 sent, bool slept)
{
	bool more;

	spin_lock_irq(&target->pool->lock);
	note_roomy(target->member, sent, slept);
	*ready = target->ready;
	bio_list_init(&target->ready);
	WRITE_ONCE(target->ready_ios, 0);
	more = !bio_list_empty(ready) || !list_empty(&target->due) || target->flush_due;
	target->submitting = more;
	spin_unlock_irq(&target->pool->lock);
	return more;
}

/*
 * Submit the pieces that have been admitted so far.  Pieces that are admitted meanwhile wait until
 * others have had their turn with the worker.
 */
static void submit_due(struct ioband_target *target)
{
	struct ioband_io *io;
	LIST_HEAD(batch);
	u32 bytes;

	/* Pieces that are added from now on keep the worker going. */
	if (list_empty(&target->due))
		return;
	spin_lock_irq(&target->pool->lock);
	list_splice_init(&target->due, &batch);
	while ((io = list_first_entry_or_null(&batch, struct ioband_io, due))) {
		list_del(&io->due);
		bytes = io->due_bytes;
		io->due_bytes = 0;
		spin_unlock_irq(&target->pool->lock);
		submit_pieces(io, bytes);
		spin_lock_irq(&target->pool->lock);
	}
	spin_unlock_irq(&target->pool->lock);
}

/*
 * How many of a device's bios in flight are not with its worker any more; 0: not known,
 * for it has pieces to send.  A look, without the lock.
 */
static u32 count_sent(const struct ioband_target *target)
{
	const u32 ready = READ_ONCE(target->ready_ios);

	if (!list_empty(&target->due))
		return 0;
	return max(READ_ONCE(target->member->pulse.inflight_ios), ready) - ready;
}

/* A target's worker: send its released bios down. */
static void submit_ready(struct work_struct *work)
{
	struct ioband_target *target = container_of(work, struct ioband_target, submit);
	struct bio_list ready;
	struct blk_plug plug;
	bool slept = false;
	struct bio *bio;
	u32 sent = 0;

	while (take_ready(target, &ready, sent, slept)) {
		const unsigned long switches = current->nvcsw;
		const bool some = !bio_list_empty(&ready);

		blk_start_plug(&plug);
		while ((bio = bio_list_pop(&ready)))
			dm_submit_bio_remap(bio, NULL);
		/* As long as they are plugged each has a request. */
		sent = some ? count_sent(target) : 0;
		submit_due(target);
		blk_finish_plug(&plug);
		slept = current->nvcsw != switches;
		submit_flush(target);
		cond_resched();
	}
}

/**
 * ioband_worker_drain() - wait until a target's worker has nothing more to do
 * @target: suspended, with nothing held
 *
 * Context: Process; may sleep.
 */
void ioband_worker_drain(struct ioband_target *target)
{
	flush_work(&target->submit);
}

/**
 * ioband_worker_init_target() - make a target's worker
 * @target: new
 *
 * Its pool of pieces has one when memory is short as soon as an earlier one has completed.
 *
 * Return: 0 or -ENOMEM.
 */
int ioband_worker_init_target(struct ioband_target *target)
{
	int ret = bioset_init(&target->pieces, PIECE_POOL, offsetof(struct ioband_piece, bio), 0);

	if (ret)
		return ret;
	bio_list_init(&target->ready);
	INIT_LIST_HEAD(&target->due);
	INIT_WORK(&target->submit, submit_ready);
	ioband_flush_init_target(target);
	target->submit_wq = alloc_workqueue("ioband/%s", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU,
					    0, dm_device_name(dm_table_get_md(target->ti->table)));
	if (target->submit_wq)
		return 0;
	bioset_exit(&target->pieces);
	return -ENOMEM;
}

/**
 * ioband_worker_exit_target() - end a target's worker
 * @target: without bios
 */
void ioband_worker_exit_target(struct ioband_target *target)
{
	destroy_workqueue(target->submit_wq);
	ioband_flush_exit_target(target);
	bioset_exit(&target->pieces);
}
