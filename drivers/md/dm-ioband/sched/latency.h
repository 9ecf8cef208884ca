/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: latency targets. */
#ifndef DM_IOBAND_SCHED_LATENCY_H
#define DM_IOBAND_SCHED_LATENCY_H

#include "scheduler.h"

void ioband_latency_init(struct ioband_latency *latency, enum ioband_dir dir);
void ioband_latency_set(struct ioband_core *core, struct ioband_ent *ent,
			struct ioband_latency *latency, u64 target_ns, u64 now_ns);
void ioband_latency_remove(struct ioband_core *core, struct ioband_ent *ent, enum ioband_dir dir);
void ioband_latency_end_throttle(struct ioband_core *core, u64 now_ns);
void ioband_latency_sample(const struct ioband_leaf *leaf, enum ioband_dir dir, u64 ns);
void ioband_latency_look(struct ioband_core *core, u64 now_ns);
void ioband_latency_charge(struct ioband_core *core, const struct ioband_leaf *leaf,
			   const struct ioband_bill *bill, u64 now_ns);
void ioband_latency_complete(const struct ioband_leaf *leaf, const struct ioband_bill *bill);
struct ioband_leaf *ioband_latency_divert(struct ioband_core *core, struct ioband_leaf *leaf,
					  u32 ios, u32 limit, u64 now_ns, u64 *wake_ns);

#endif /* DM_IOBAND_SCHED_LATENCY_H */
