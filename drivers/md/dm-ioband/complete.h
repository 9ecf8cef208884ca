/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: completion of bios. */
#ifndef DM_IOBAND_COMPLETE_H
#define DM_IOBAND_COMPLETE_H

#include "io.h"

void ioband_complete(struct ioband_io *io);
void ioband_complete_flush(struct ioband_io *io, blk_status_t status);
bool ioband_complete_split(struct ioband_io *io, u32 bytes, blk_status_t status);
void ioband_complete_with(struct ioband_io *io, struct bio *bio, blk_status_t status);

#endif /* DM_IOBAND_COMPLETE_H */
