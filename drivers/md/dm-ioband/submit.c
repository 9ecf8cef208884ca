// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what may go is sent down.
 *
 * A bio that was held is released by whatever makes room, which may not submit it: a
 * completion, a timer, another task's bio.  So it goes to its target's ready list, and a worker
 * of the target sends it down: each target has its own, so that a device that blocks its
 * worker does not hold up the others.  The worker makes the pieces of large bios, too, and
 * sends the flush at the end of a turn.
 *
 * It is the worker that finds out how many bios may be in flight before the next one has to
 * sleep for want of a request, note_roomy(): whether it had to its count of voluntary
 * context switches says.
 */
#include "dm-ioband.h"

#include <linux/sched.h>

/* There is something to do for a target's worker. */
static void kick(struct ioband_target *target)
{
	if (target->submitting)
		return;
	target->submitting = true;
	queue_work(target->submit_wq, &target->submit);
}

/**
 * ioband_submit_bio() - send a bio down
 * @io: the bio's, which may go
 * @bio: the bio
 *
 * Context: Under the pool's lock.
 */
void ioband_submit_bio(struct ioband_io *io, struct bio *bio)
{
	bio_list_add(&io->target->ready, bio);
	WRITE_ONCE(io->target->ready_ios, io->target->ready_ios + 1);
	kick(io->target);
}

/**
 * ioband_submit_piece() - send a piece of a bio down
 * @io: the bio's; its bill is the piece's
 *
 * Context: Under the pool's lock.
 */
void ioband_submit_piece(struct ioband_io *io)
{
	if (!io->due_bytes)
		list_add_tail(&io->due, &io->target->due);
	io->due_bytes += io->bill.bytes;
	kick(io->target);
}

/**
 * ioband_submit_flush() - send a target's own flush down
 * @target: target, whose flush is due
 *
 * Context: Under the pool's lock.
 */
void ioband_submit_flush(struct ioband_target *target)
{
	kick(target);
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
 * Send down the pieces that have been admitted so far.  Those that are while this
 * goes on have to wait until others have had their turn with the worker.
 */
static void submit_due(struct ioband_target *target)
{
	struct ioband_io *io;
	LIST_HEAD(batch);
	u32 bytes;

	/* What comes from now on keeps the worker going. */
	if (list_empty(&target->due))
		return;
	spin_lock_irq(&target->pool->lock);
	list_splice_init(&target->due, &batch);
	while ((io = list_first_entry_or_null(&batch, struct ioband_io, due))) {
		list_del(&io->due);
		bytes = io->due_bytes;
		io->due_bytes = 0;
		spin_unlock_irq(&target->pool->lock);
		ioband_piece_submit(io, bytes);
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
		ioband_flush_submit(target);
		cond_resched();
	}
}

/**
 * ioband_submit_drain() - wait until a target's worker has nothing more to do
 * @target: suspended, with nothing held
 *
 * Context: Process; may sleep.
 */
void ioband_submit_drain(struct ioband_target *target)
{
	flush_work(&target->submit);
}

/**
 * ioband_submit_init_target() - make a target's worker
 * @target: new
 *
 * Return: 0 or -ENOMEM.
 */
int ioband_submit_init_target(struct ioband_target *target)
{
	int ret = ioband_piece_init_target(target);

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
	ioband_piece_exit_target(target);
	return -ENOMEM;
}

/**
 * ioband_submit_exit_target() - end a target's worker
 * @target: without bios
 */
void ioband_submit_exit_target(struct ioband_target *target)
{
	destroy_workqueue(target->submit_wq);
	ioband_flush_exit_target(target);
	ioband_piece_exit_target(target);
}
