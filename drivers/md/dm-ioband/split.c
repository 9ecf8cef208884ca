// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: splits of large bios.
 *
 * A small bio behind a large one waits for its whole transfer.  Large bios also make the in-flight
 * limit too coarse.  So in the shared state, a large bio is dispatched in splits, and the
 * scheduler admits each split like a bio of its own.  The size of splits is found like the depth,
 * in sched/depth.c, as some devices need large ones.  With slices there are no trials.  The splits
 * have the size that was set, or 1 MiB, so that a slice can end in the middle of a bio.  Below a
 * small maximum a bio is split in the open state, too (ioband_limits_split_bytes()).  Bios
 * of a flusher even arrive in splits, of the largest size (throttle.c).
 *
 * A bio stays in its group's queue until its last split has been admitted.  Splits end at multiples
 * of their size on the device below, so they cross no stripe or page that the whole bio would not
 * cross.  A worker of the target makes them, as clones that share the bio's pages.  It allocates
 * them from the target's own bio set: when memory is short, an allocation succeeds as soon as an
 * earlier split has completed.  The bio completes with its last split, with an error if a split had
 * one.  The block layer may split bios in the same way at any time.
 *
 * A bio without data is always dispatched in this way, whether groups compete or not: otherwise a
 * group that becomes active would wait for all of it.  The size of its splits is found in
 * sched/discard.c, and each of its splits may have another one.  One split is in flight at a time.
 */
#include "split.h"

#include <linux/blk-crypto.h>

/* The size of the data units of inline encryption, bytes; 0: the bio or the kernel has none. */
static u32 crypt_bytes(const struct bio *bio)
{
#ifdef CONFIG_BLK_INLINE_ENCRYPTION
	if (bio->bi_crypt_context)
		return bio->bi_crypt_context->bc_key->crypto_cfg.data_unit_size;
#endif
	return 0;
}

/* The smallest size of splits that a bio allows, a power of two; 0: it must not be split. */
u32 ioband_split_min_bytes(struct bio *bio)
{
	const u32 unit = crypt_bytes(bio);

	if (bio->bi_opf & (REQ_ATOMIC | REQ_INTEGRITY) || ioband_io_has_no_data(bio))
		return 0;
	/* Inline encryption needs whole units, and splits end at multiples of their size. */
	if (unit && ((bio->bi_iter.bi_sector << SECTOR_SHIFT) & (unit - 1) ||
		     unit > IOBAND_SPLIT_MAX))
		return 0;
	return max_t(u32, bdev_logical_block_size(bio->bi_bdev), unit);
}

/* The size of the split at some offset into a split bio. */
u32 ioband_split_bytes(const struct ioband_io *io, const struct bio *bio, u32 offset)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;

	return ioband_depth_split_bytes(io->split_bytes, start + offset, io->bytes - offset);
}

/*
 * In the target's map(): let only the first split of a clone arrive.  device-mapper maps the rest
 * as a bio of its own, after this one.
 */
void ioband_split_accept(struct ioband_io *io, struct bio *bio, u32 split_bytes)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	const u32 bytes = ioband_depth_split_bytes(split_bytes, start, io->bytes);
	const u32 min_bytes = ioband_split_min_bytes(bio);

	if (io->bytes <= split_bytes || !min_bytes || split_bytes < min_bytes)
		return;
	dm_accept_partial_bio(bio, bytes >> SECTOR_SHIFT);
	io->bytes = bytes;
}

/* The estimate for the operation of a bio without data. */
static struct ioband_discard *discard_of(const struct ioband_io *io, const struct bio *bio)
{
	struct ioband_discard *discard = io->target->member->discard;

	switch (bio_op(bio)) {
	case REQ_OP_DISCARD:
		return &discard[IOBAND_DISCARD];
	case REQ_OP_SECURE_ERASE:
		return &discard[IOBAND_SECURE_ERASE];
	default:
		return &discard[IOBAND_WRITE_ZEROES];
	}
}

static u32 granularity_of(const struct ioband_io *io)
{
	struct block_device *bdev = io->target->dev->bdev;

	return max_t(u32, bdev_discard_granularity(bdev), bdev_logical_block_size(bdev));
}

/* The size of the next split of a bio without data. */
static u32 discard_bytes(const struct ioband_io *io, const struct bio *bio, u32 done)
{
	const u32 size = ioband_discard_bytes(discard_of(io, bio), granularity_of(io));
	const u64 start = (bio->bi_iter.bi_sector << SECTOR_SHIFT) + done;
	u32 over;

	div_u64_rem(start + size - bdev_discard_alignment(io->target->dev->bdev) % size, size,
		    &over);
	return min(size - over, io->bytes - done);
}

/* Bytes of which a split was dispatched. */
static u32 discard_begun(const struct ioband_io *io)
{
	return io->split_bytes ? io->admitted : 0;
}

/*
 * The time that the bios without data in flight are expected to take; 0: none is.  Devices that are
 * blocked do not count: they complete nothing, and the others go on.  Under the pool's lock.
 */
u64 ioband_split_discards_us(const struct ioband_pool *pool)
{
	const struct ioband_member *member;
	u64 us = 0;

	list_for_each_entry(member, &pool->members, members)
		if (!member->stall_dev.blocked)
			us += member->discard_us;
	return us;
}

/* Time, at least 1, that the next split without data should take.  Under the pool's lock. */
u64 ioband_split_expect_us(const struct ioband_io *io, const struct bio *bio)
{
	return ioband_discard_expect_us(discard_of(io, bio), granularity_of(io),
					discard_bytes(io, bio, discard_begun(io)));
}

/*
 * May the next split of a bio without data be dispatched: is none in flight, or are all together,
 * with @us of ioband_split_discards_us(), expected to take little time?  Under the pool's lock.
 */
bool ioband_split_may_discard(const struct ioband_io *io, const struct bio *bio, u64 us)
{
	if (io->split_bytes && io->admitted != io->bytes - io->unfinished)
		return false;
	return !us || us + ioband_split_expect_us(io, bio) <= IOBAND_DISCARD_US;
}

/* Dispatch the next split of a bio without data, under the pool's lock. */
void ioband_split_begin_discard(struct ioband_io *io, const struct bio *bio, u64 now_ns)
{
	struct ioband_member *member = io->target->member;

	io->expect_us = ioband_split_expect_us(io, bio);
	io->split_bytes = discard_bytes(io, bio, discard_begun(io));
	member->discard_us += io->expect_us;
	member->stall_dev.extra_ios++;
	ioband_discard_begin(&member->pool->lost, now_ns);
}

/*
 * A split of a bio without data has completed: charge it, under the pool's lock.  An error says
 * nothing about the device time of others.
 */
void ioband_split_end_discard(struct ioband_io *io, const struct bio *bio, u32 bytes,
			      blk_status_t status, u64 now_ns)
{
	struct ioband_member *member = io->target->member;
	struct ioband_pool *pool = member->pool;
	struct ioband_lost *lost = &pool->lost;
	u64 lost_ns, disturbed_ns;
	u32 charge;

	member->discard_us -= io->expect_us;
	member->stall_dev.extra_ios--;
	charge = ioband_discard_end(lost, now_ns, &lost_ns);
	if (likely(!status))
		ioband_discard_learn(discard_of(io, bio), granularity_of(io), bytes,
				     bytes == io->bytes, lost_ns);
	ioband_core_charge_discard(&pool->core, &io->stream->leaf, charge);
	if (lost->inflight)
		return;
	disturbed_ns = lost->since_ns - lost->began_ns;
	pool->sampled_ns += disturbed_ns;
	pool->done_ns += disturbed_ns;
}
