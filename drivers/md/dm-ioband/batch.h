/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: bios that a task submits under one plug. */
#ifndef DM_IOBAND_BATCH_H
#define DM_IOBAND_BATCH_H

#include "io.h"

bool ioband_batch_join(struct ioband_target *target, struct ioband_io *io, struct bio *bio);
bool ioband_batch_add(struct ioband_io *io, struct bio *bio);

#endif /* DM_IOBAND_BATCH_H */
