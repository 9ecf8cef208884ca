// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: large bios in pieces.
 *
 * A small bio behind a large one waits for its whole transfer, and what is in
 * flight cannot be measured out finely in large bios.  So while groups compete a
 * large bio is sent down in pieces, each of which is admitted by the scheduler
 * like a bio of its own.  How large they are is found like the depth, in
 * sched/depth.c: a device may need large ones.  With slices nothing is tried: they are
 * of the size that was set, or of 1 MiB, so that a turn can end in the midst of a bio.
 * Below a small maximum it goes in pieces whether groups compete or not
 * (ioband_bound_piece()).  What a flusher writes back even arrives piece by piece, in the
 * largest ones (throttle.c).
 *
 * The bio stays in its group's queue until its last piece has been admitted.
 * Pieces end at multiples of their size on the device below, so they cross no
 * stripe or page that the whole would not cross.  A worker of the target makes them,
 * as clones that share the bio's pages; it takes them from a pool of the target's
 * own, so it gets one when memory is short as soon as an earlier one has
 * completed.  The bio completes with its last piece, with an error if one had
 * one: as if the block layer had split it, which it may do at any time.
 */
#include "split.h"

#include "io.h"

/**
 * ioband_piece_least() - the smallest pieces that a bio may be sent down in
 * @bio: the bio
 *
 * Return: bytes, a power of two; 0: it has to go whole.
 */
u32 ioband_piece_least(struct bio *bio)
{
	if (bio->bi_opf & (REQ_ATOMIC | REQ_INTEGRITY) ||
	    (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE))
		return 0;
	return bdev_logical_block_size(bio->bi_bdev);
}

/**
 * ioband_piece_bytes() - size of the piece that begins at some offset
 * @io: of a bio that is cut
 * @bio: the bio
 * @offset: into it, bytes
 *
 * Return: its bytes.
 */
u32 ioband_piece_bytes(const struct ioband_io *io, const struct bio *bio, u32 offset)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;

	return ioband_pipe_piece(io->piece, start + offset, io->bytes - offset);
}

/**
 * ioband_piece_accept() - have no more than the first piece of a bio arrive
 * @io: the bio's; its size is that of the piece then
 * @bio: clone, in the target's map()
 *
 * Of the largest size.  Device-mapper maps the rest as a bio of its own, after this one has
 * gone its way.
 */
void ioband_piece_accept(struct ioband_io *io, struct bio *bio)
{
	const u32 start = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	const u32 bytes = ioband_pipe_piece(IOBAND_PIECE_MAX, start, io->bytes);

	if (io->bytes <= IOBAND_PIECE_MAX || !ioband_piece_least(bio))
		return;
	dm_accept_partial_bio(bio, bytes >> SECTOR_SHIFT);
	io->bytes = bytes;
}
