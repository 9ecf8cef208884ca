/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: maxima.
 */
#ifndef DM_IOBAND_SCHED_MAX_H
#define DM_IOBAND_SCHED_MAX_H

#include "entity.h"

void ioband_cap_init(struct ioband_cap *cap);
void ioband_cap_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_cap *cap,
		    const struct ioband_rates *rates, u64 now_ns);
void ioband_cap_remove(struct ioband_core *core, struct ioband_ent *ent);
void ioband_core_set_slack(struct ioband_core *core, u64 slack_ns);
bool ioband_leaf_is_far_ahead(const struct ioband_core *core, const struct ioband_leaf *leaf,
			      enum ioband_way way, u64 now_ns);
bool ioband_cap_is_for(const struct ioband_cap *cap, enum ioband_way way);
void ioband_cap_charge(struct ioband_core *core, struct ioband_cap *cap,
		       const struct ioband_bill *bill, bool in_turn, u64 now_ns);
void ioband_cap_note(const struct ioband_core *core, struct ioband_cap *cap);
void ioband_cap_expire(struct ioband_core *core, u64 now_ns);
u64 ioband_cap_wake_ns(const struct ioband_core *core);

#endif /* DM_IOBAND_SCHED_MAX_H */
