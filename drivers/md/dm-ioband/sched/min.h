/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: minima. */
#ifndef DM_IOBAND_SCHED_MIN_H
#define DM_IOBAND_SCHED_MIN_H

#include "scheduler.h"

void ioband_min_init(struct ioband_min *minimum);
void ioband_min_set(struct ioband_core *core, struct ioband_ent *ent,
		    struct ioband_min *minimum, const struct ioband_rates *rates,
		    u32 inflight, u64 now_ns);
void ioband_min_remove(struct ioband_core *core, struct ioband_ent *ent);

bool ioband_min_is_due(const struct ioband_min *minimum, enum ioband_dir dir, u64 now_ns);
void ioband_min_charge(struct ioband_core *core, struct ioband_min *minimum,
		       const struct ioband_bill *bill, bool counts, u64 now_ns);
void ioband_min_count(struct ioband_core *core, struct ioband_min *minimum, int ios);
void ioband_min_update(struct ioband_core *core, struct ioband_min *minimum);
void ioband_min_gate(struct ioband_ent *ent);
struct ioband_ent *ioband_min_pick(struct ioband_core *core, u64 now_ns, u32 *ios, u32 *limit);
u64 ioband_min_wake_ns(const struct ioband_core *core, u64 now_ns);
struct ioband_ent *ioband_min_serve(struct ioband_core *core, u64 now_ns);
u64 ioband_min_left_ns(const struct ioband_core *core, u64 now_ns);
u64 ioband_min_next_ns(const struct ioband_core *core, const struct ioband_leaf *leaf);

#endif /* DM_IOBAND_SCHED_MIN_H */
