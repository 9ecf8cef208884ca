/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: latency targets.
 */
#ifndef DM_IOBAND_SCHED_LATENCY_H
#define DM_IOBAND_SCHED_LATENCY_H

#include "entity.h"

void ioband_aim_init(struct ioband_aim *aim);
void ioband_aim_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_aim *aim,
		    u64 target_ns, u64 now_ns);
void ioband_aim_remove(struct ioband_core *core, struct ioband_ent *ent);
void ioband_brake_end(struct ioband_core *core, u64 now_ns);
void ioband_leaf_took(const struct ioband_leaf *leaf, u64 ns);
void ioband_core_look(struct ioband_core *core, u64 now_ns);
void ioband_brake_charge(struct ioband_core *core, const struct ioband_leaf *leaf,
			 const struct ioband_bill *bill, u64 now_ns);
void ioband_aim_return(const struct ioband_leaf *leaf, const struct ioband_bill *bill);
struct ioband_leaf *ioband_brake_divert(struct ioband_core *core, struct ioband_leaf *leaf,
					u32 ios, u32 limit, u64 now_ns, u64 *wake_ns);

#endif /* DM_IOBAND_SCHED_LATENCY_H */
