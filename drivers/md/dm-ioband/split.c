// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: splits of large bios.
 *
 * A small bio behind a large one waits for its whole transfer.  Large bios also make the in-flight
 * limit too coarse.  So while groups compete, a large bio is dispatched in splits, and the
 * scheduler admits each split like a bio of its own.  The size of splits is found like the depth,
 * in sched/depth.c, as some devices need large ones.  With slices there are no trials.  The splits
 * have the size that was set, or 1 MiB, so that a slice can end in the middle of a bio.  Below a
 * small maximum a bio is split whether groups compete or not (ioband_limits_split_bytes()).  Bios
 * of a flusher even arrive in splits, of the largest size (throttle.c).
 *
 * A bio stays in its group's queue until its last split has been admitted.  Splits end at multiples
 * of their size on the device below, so they cross no stripe or page that the whole bio would not
 * cross.  A worker of the target makes them, as clones that share the bio's pages.  It allocates
 * them from the target's own bio set: when memory is short, an allocation succeeds as soon as an
 * earlier split has completed.  The bio completes with its last split, with an error if a split had
 * one.  The block layer may split bios in the same way at any time.
 */
#include "split.h"

#include "io.h"

/**
 * ioband_split_min_bytes() - the smallest size of splits that a bio allows
 * @bio: the bio
 *
 * Context: Any.
 *
 * Return: bytes, a power of two; 0: the bio must not be split.
 */
u32 ioband_split_min_bytes(struct bio *bio)
{
	if (bio->bi_opf & (REQ_ATOMIC | REQ_INTEGRITY) ||
	    (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE))
		return 0;
	return bdev_logical_block_size(bio->bi_bdev);
}

/**
 * ioband_split_bytes() - the size of the split at some offset
 * @io: per-bio data of a split bio
 * @bio: the bio
 * @offset: offset into the bio, bytes
 *
 * Context: Any.
 *
 * Return: bytes.
 */
u32 ioband_split_bytes(const struct ioband_io *io, const struct bio *bio, u32 offset)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;

	return ioband_depth_split_bytes(io->split_bytes, start + offset, io->bytes - offset);
}

/**
 * ioband_split_accept() - let only the first split of a bio arrive
 * @io: per-bio data; gets the size of the split
 * @bio: clone, in the target's map()
 *
 * The split has the largest size.  device-mapper maps the rest as a bio of its own, after this one.
 *
 * Context: Process, in the target's map().
 */
void ioband_split_accept(struct ioband_io *io, struct bio *bio)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	const u32 bytes = ioband_depth_split_bytes(IOBAND_SPLIT_MAX, start, io->bytes);

	if (io->bytes <= IOBAND_SPLIT_MAX || !ioband_split_min_bytes(bio))
		return;
	dm_accept_partial_bio(bio, bytes >> SECTOR_SHIFT);
	io->bytes = bytes;
}
