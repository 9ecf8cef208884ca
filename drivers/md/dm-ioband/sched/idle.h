/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the idle class, below all weights. */
#ifndef DM_IOBAND_SCHED_IDLE_H
#define DM_IOBAND_SCHED_IDLE_H

#include "scheduler.h"

void ioband_idle_expire(struct ioband_core *core, u64 now_ns);
u64 ioband_idle_wake_ns(const struct ioband_core *core, u64 now_ns);
void ioband_idle_update(struct ioband_core *core, struct ioband_ent *ent);
void ioband_idle_count(struct ioband_core *core, struct ioband_leaf *leaf, bool dispatched,
		       u64 now_ns);
bool ioband_idle_yields(const struct ioband_leaf *leaf);

#endif /* DM_IOBAND_SCHED_IDLE_H */
