/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the order of a group's sequential runs. */
#ifndef DM_IOBAND_SCHED_AHEAD_H
#define DM_IOBAND_SCHED_AHEAD_H

#include "scheduler.h"

void ioband_ahead_begin(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns);
void ioband_ahead_complete(struct ioband_core *core, const struct ioband_leaf *leaf, u32 bytes,
			   u64 now_ns);
struct ioband_ent *ioband_ahead_choose(const struct ioband_core *core,
				       const struct ioband_node *node, struct ioband_ent *least,
				       u64 open);

#endif /* DM_IOBAND_SCHED_AHEAD_H */
