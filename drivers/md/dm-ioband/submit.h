/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: bios for a target's worker to submit.
 */
#ifndef DM_IOBAND_SUBMIT_H
#define DM_IOBAND_SUBMIT_H

#include "io.h"

void ioband_submit_bio(struct ioband_io *io, struct bio *bio);
void ioband_submit_piece(struct ioband_io *io);
void ioband_submit_flush(struct ioband_target *target);

#endif /* DM_IOBAND_SUBMIT_H */
