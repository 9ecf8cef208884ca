// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: completion of bios.
 */
#include "complete.h"

#include "dispatch.h"
#include "io.h"
#include "state.h"
#include "stats.h"

/* Note the latency of a whole bio; the pool's tick acts on it.  Under the pool's lock. */
static void note_latency(const struct ioband_io *io, u64 now_ns)
{
	if (unlikely(io->group->pool->core.nr_latencies) && io->bill.awaited)
		ioband_latency_sample(&io->stream->leaf, io->bill.dir,
				      io->wait_us * (u64)NSEC_PER_USEC +
				      now_ns - min(now_ns, io->start_ns));
}

/* Return: true if the whole bio has completed; otherwise it may be gone now. */
static noinline bool complete_shared(struct ioband_io *io, const struct ioband_bill *bill,
				     u64 now_ns)
{
	struct ioband_pool *pool = io->group->pool;
	unsigned long flags;
	bool last = true;

	spin_lock_irqsave(&pool->lock, flags);
	if (io->split_bytes) {
		io->unfinished -= bill->bytes;
		last = !io->unfinished;
	}
	if (last)
		note_latency(io, now_ns);
	ioband_core_complete(&pool->core, &io->stream->leaf, bill, now_ns);
	if (unlikely(ioband_stall_complete(&io->target->member->stall_dev, &pool->stall, now_ns)))
		ioband_state_apply(pool, now_ns);
	pool->done_ns = max(pool->done_ns, now_ns);
	pool->sample.ios++;
	pool->sample.bytes += bill->bytes;
	pool->sample.work += ioband_depth_work(bill->bytes,
					       io->split_bytes ? io->bytes : bill->bytes);
	if (io->split_min_bytes)
		pool->sample.max_bytes = max(pool->sample.max_bytes, io->bytes);
	if (ioband_core_has_waiting(&pool->core)) {
		pool->sample.held_ios++;
		ioband_dispatch(pool, now_ns);
	} else {
		if (!pool->core.inflight_ios)
			pool->sample.drained_ios++;
		if (pool->held_ios)	/* by a maximum: update the timer */
			ioband_dispatch(pool, now_ns);
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return last;
}

/**
 * ioband_complete() - account for a completed bio
 * @io: per-bio data; not accounted any more on return
 *
 * Context: Any.
 */
void ioband_complete(struct ioband_io *io)
{
	const u64 now_ns = ktime_get_ns();

	ioband_stats_completed(io, now_ns);
	if (likely(io->open)) {
		ioband_stats_unpin_open(io->stats, io->op);
	} else {
		if (io->shared)
			complete_shared(io, &io->bill, now_ns);
		ioband_stats_unpin_io(io->stats, io->op);
	}
	io->group = NULL;
}

/**
 * ioband_complete_flush() - report the latency of an empty flush
 * @io: per-bio data, from ioband_enter_flush(); not accounted any more on return
 *
 * Context: Any.
 */
void ioband_complete_flush(struct ioband_io *io)
{
	struct ioband_pool *pool = io->group->pool;
	const u64 now_ns = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	ioband_latency_sample(&io->group->own.leaf, IOBAND_DIR_WRITE,
			      now_ns - min(now_ns, io->start_ns));
	spin_unlock_irqrestore(&pool->lock, flags);
	ioband_stats_unpin_io(io->stats, io->op);
	io->group = NULL;
}

/**
 * ioband_complete_split() - account for a completed split of a bio
 * @io: per-bio data
 * @bytes: size of the split
 *
 * Context: Any.
 *
 * Return: true if it was the last one; otherwise the bio may be gone.
 */
bool ioband_complete_split(struct ioband_io *io, u32 bytes)
{
	/* @io->bill is that of a later split by now. */
	const struct ioband_bill bill = {
		.bytes = bytes,
		.dir = ioband_dispatch_dir(ioband_bio_of(io)),
		.awaited = io->bill.awaited,
	};

	return complete_shared(io, &bill, ktime_get_ns());
}

/**
 * ioband_complete_with() - complete a bio that is refused or returned
 * @io: per-bio data; not accounted any more on return
 * @bio: the bio
 * @status: the reason
 *
 * Context: Any; without the pool's lock.
 */
void ioband_complete_with(struct ioband_io *io, struct bio *bio, blk_status_t status)
{
	io->group = NULL;
	ioband_stats_unpin_io(io->stats, io->op);
	bio->bi_status = status;
	bio_endio(bio);
}
