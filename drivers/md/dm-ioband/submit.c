// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: bios for a target's worker to submit (worker.c).
 */
#include "submit.h"

#include "io.h"

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
