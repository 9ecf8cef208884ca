// SPDX-License-Identifier: GPL-2.0-only
/* dm-ioband: completion of bios. */
#include "complete.h"

#include "dispatch.h"
#include "flush.h"
#include "gather.h"
#include "io.h"
#include "split.h"
#include "stats.h"

/* All but the latency.  Each field is set once, where the caller needs it. */
static __always_inline void describe(struct ioband_done *done, struct ioband_io *io,
				     const struct ioband_bill *bill, u64 now_ns)
{
	done->stream = io->stream;
	done->member = io->target->member;
	done->stats = io->stats;
	done->now_ns = now_ns;
	done->bill = *bill;
	done->whole_bytes = io->split_bytes ? io->bytes : bill->bytes;
	done->op = io->op;
	done->splittable = io->split_min_bytes;
	done->idle = is_idle_task(current);
}

/* The whole bio has completed. */
static void note_latency(struct ioband_done *done, const struct ioband_io *io)
{
	done->latency_ns = io->wait_us * (u64)NSEC_PER_USEC +
			   done->now_ns - min(done->now_ns, io->start_ns);
}

/* Pass a bio of the shared state to the scheduler.  Takes the pool's lock. */
static noinline void complete_shared(struct ioband_io *io, u64 now_ns)
{
	struct ioband_pool *pool = io->group->pool;
	struct ioband_done done;
	unsigned long flags;

	describe(&done, io, &io->bill, now_ns);
	note_latency(&done, io);
	spin_lock_irqsave(&pool->lock, flags);
	ioband_gather_pass_with(pool, &done);
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Let a bio of the shared state be passed later; return: false if the CPU may not gather it. */
static __always_inline bool gather_shared(struct ioband_io *io, u64 now_ns)
{
	struct ioband_pool *pool = io->group->pool;
	struct ioband_done *done;
	unsigned long flags;

	done = ioband_gather_begin(pool, &flags);
	if (!done)
		return false;
	describe(done, io, &io->bill, now_ns);
	note_latency(done, io);
	ioband_gather_end(pool, flags);
	return true;
}

/* Account for a completed bio, for the last time. */
void ioband_complete(struct ioband_io *io)
{
	const u64 now_ns = ktime_get_ns();

	ioband_stats_count(io->stats, io->op, io->bytes, now_ns - io->start_ns);
	if (io->shared && likely(gather_shared(io, now_ns))) {
		io->group = NULL;
		return;
	}
	if (io->shared)
		complete_shared(io, now_ns);
	ioband_stats_unpin_io(io->stats, io->op);
	io->group = NULL;
}

/* An empty flush from above, from ioband_enter_flush(), has completed. */
void ioband_complete_flush(struct ioband_io *io, blk_status_t status)
{
	struct ioband_pool *pool = io->target->pool;
	const u64 now_ns = ktime_get_ns();
	unsigned long flags;
	u64 ns;

	if (likely(!io->group && !io->covers))
		return;
	spin_lock_irqsave(&pool->lock, flags);
	ns = now_ns - min(now_ns, io->start_ns);
	if (io->covers && !status)
		ioband_flush_note_from_above(io->target, io->covers, ns);
	if (io->group)
		ioband_latency_sample(&io->group->own.leaf, IOBAND_DIR_WRITE, ns);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (!io->group)
		return;
	ioband_stats_unpin_io(io->stats, io->op);
	io->group = NULL;
}

/*
 * Account for a completed split.  Return: true if it was the last one; otherwise the bio may be
 * gone.
 */
bool ioband_complete_split(struct ioband_io *io, u32 bytes, blk_status_t status)
{
	/* @io->bill is that of a later split by now, unless the bio has no data. */
	const struct ioband_bill bill = io->bill.no_data ? io->bill : (struct ioband_bill) {
		.bytes = bytes,
		.dir = ioband_dispatch_dir(ioband_bio_of(io)),
		.awaited = io->bill.awaited,
		.cached = io->bill.cached,
	};
	struct ioband_pool *pool = io->group->pool;
	struct ioband_done done;
	unsigned long flags;
	bool last;

	describe(&done, io, &bill, ktime_get_ns());
	done.latency_ns = 0;
	spin_lock_irqsave(&pool->lock, flags);
	if (unlikely(bill.no_data)) {
		/* Gathered bios were in flight beside it.  Its next split begins after its end. */
		ioband_gather_pass(pool, done.now_ns);
		ioband_split_end_discard(io, ioband_bio_of(io), bytes, status, done.now_ns);
	}
	if (unlikely(io->min_splits)) {		/* which of them does not matter */
		io->min_splits--;
		done.bill.for_min = true;
	}
	io->unfinished -= bytes;
	last = !io->unfinished;
	if (last)
		note_latency(&done, io);
	ioband_gather_pass_with(pool, &done);
	spin_unlock_irqrestore(&pool->lock, flags);
	return last;
}

/* Complete a bio that is refused or returned.  Without the pool's lock. */
void ioband_complete_with(struct ioband_io *io, struct bio *bio, blk_status_t status)
{
	io->group = NULL;
	ioband_stats_unpin_io(io->stats, io->op);
	bio->bi_status = status;
	bio_endio(bio);
}
