/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: minima.
 */
#ifndef DM_IOBAND_SCHED_MIN_H
#define DM_IOBAND_SCHED_MIN_H

#include "entity.h"

void ioband_floor_init(struct ioband_floor *floor);
void ioband_floor_set(struct ioband_core *core, struct ioband_ent *ent,
		      struct ioband_floor *floor, const struct ioband_rates *rates,
		      u32 inflight, u64 now_ns);
void ioband_floor_remove(struct ioband_core *core, struct ioband_ent *ent);
void ioband_floor_recount(struct ioband_core *core, u32 ios);
bool ioband_leaf_is_promised(const struct ioband_leaf *leaf);
void ioband_floor_charge(struct ioband_core *core, struct ioband_floor *floor,
			 const struct ioband_bill *bill, u64 now_ns);
void ioband_floor_return(struct ioband_core *core, struct ioband_floor *floor);
void ioband_floor_update(struct ioband_core *core, struct ioband_floor *floor);
struct ioband_ent *ioband_floor_pick(struct ioband_core *core, u64 now_ns, u32 *ios, u32 *limit);
u64 ioband_floor_wake_ns(const struct ioband_core *core, u64 now_ns);
bool ioband_floor_has_room(const struct ioband_core *core, const struct ioband_leaf *leaf);
struct ioband_ent *ioband_floor_serve(struct ioband_core *core, u64 now_ns);
u64 ioband_floor_left_ns(const struct ioband_core *core, u64 now_ns);
u64 ioband_floor_next_ns(const struct ioband_core *core, const struct ioband_leaf *leaf);

#endif /* DM_IOBAND_SCHED_MIN_H */
