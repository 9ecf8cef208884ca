/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: dispatch of the bios of dying tasks, for deleted disks, at a suspend, and before the
 * system sleeps.
 */
#ifndef DM_IOBAND_RELEASE_H
#define DM_IOBAND_RELEASE_H

#include "io.h"

void ioband_release_dying(struct ioband_pool *pool);
void ioband_release_suspend(struct ioband_target *target, bool requeue);
void ioband_release_resume(struct ioband_target *target);
void ioband_release_sleep(struct ioband_pool *pool, bool sleeps);

#endif /* DM_IOBAND_RELEASE_H */
