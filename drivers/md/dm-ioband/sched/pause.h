/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: idling for writeback that pauses. */
#ifndef DM_IOBAND_SCHED_PAUSE_H
#define DM_IOBAND_SCHED_PAUSE_H

#include "scheduler.h"

bool ioband_pause_is_possible(const struct ioband_core *core, const struct ioband_leaf *leaf,
			      u64 now_ns);
u64 ioband_pause_lag(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns);
bool ioband_pause_may_idle(const struct ioband_core *core, const struct ioband_leaf *leaf);
bool ioband_pause_begins(const struct ioband_core *core, const struct ioband_leaf *leaf,
			 u64 now_ns);
void ioband_pause_begin_idle(struct ioband_core *core, u64 now_ns);
void ioband_pause_end_idle(struct ioband_core *core, u64 now_ns);

#endif /* DM_IOBAND_SCHED_PAUSE_H */
