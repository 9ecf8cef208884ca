/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: splits of large bios. */
#ifndef DM_IOBAND_SPLIT_H
#define DM_IOBAND_SPLIT_H

#include "io.h"

u32 ioband_split_min_bytes(struct bio *bio);
void ioband_split_accept(struct ioband_io *io, struct bio *bio, u32 split_bytes);
u32 ioband_split_bytes(const struct ioband_io *io, const struct bio *bio, u32 offset);
u64 ioband_split_discards_us(const struct ioband_pool *pool);
u64 ioband_split_expect_us(const struct ioband_io *io, const struct bio *bio);
bool ioband_split_may_discard(const struct ioband_io *io, const struct bio *bio, u64 us);
void ioband_split_begin_discard(struct ioband_io *io, const struct bio *bio, u64 now_ns);
void ioband_split_end_discard(struct ioband_io *io, const struct bio *bio, u32 bytes,
			      blk_status_t status, u64 now_ns);

#endif /* DM_IOBAND_SPLIT_H */
