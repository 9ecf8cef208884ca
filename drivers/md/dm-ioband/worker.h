/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: workers submit dispatched bios. */
#ifndef DM_IOBAND_WORKER_H
#define DM_IOBAND_WORKER_H

#include "io.h"

int ioband_worker_init_target(struct ioband_target *target);
void ioband_worker_exit_target(struct ioband_target *target);
void ioband_worker_drain(struct ioband_target *target);
void ioband_worker_look(struct ioband_target *target);

#endif /* DM_IOBAND_WORKER_H */
