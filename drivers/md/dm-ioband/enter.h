/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: arrival of a bio. */
#ifndef DM_IOBAND_ENTER_H
#define DM_IOBAND_ENTER_H

#include "io.h"

void ioband_enter_throttle(struct ioband_target *target, struct ioband_io *io, struct bio *bio);
bool ioband_enter_throttle_flusher(struct ioband_target *target, struct cgroup_subsys_state *css);
void ioband_enter_flush(struct ioband_target *target, struct ioband_io *io, struct bio *bio);
int ioband_enter(struct ioband_target *target, struct ioband_io *io, struct bio *bio, bool direct);

#endif /* DM_IOBAND_ENTER_H */
