/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: maxima. */
#ifndef DM_IOBAND_SCHED_MAX_H
#define DM_IOBAND_SCHED_MAX_H

#include "scheduler.h"

void ioband_max_init(struct ioband_max *maximum);
void ioband_max_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_max *maximum,
		    const struct ioband_rates *rates, u64 now_ns);
void ioband_max_remove(struct ioband_core *core, struct ioband_ent *ent);
void ioband_max_set_slack(struct ioband_core *core, u64 slack_ns);
bool ioband_max_is_far_ahead(const struct ioband_core *core, const struct ioband_leaf *leaf,
			     enum ioband_dir dir, u64 now_ns);
bool ioband_max_is_for(const struct ioband_max *maximum, enum ioband_dir dir);
void ioband_max_charge(struct ioband_core *core, struct ioband_max *maximum,
		       const struct ioband_bill *bill, bool in_turn, u64 now_ns);
void ioband_max_note(const struct ioband_core *core, struct ioband_max *maximum);
void ioband_max_expire(struct ioband_core *core, u64 now_ns);
u64 ioband_max_wake_ns(const struct ioband_core *core);

#endif /* DM_IOBAND_SCHED_MAX_H */
