/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: slices, for disks that seek. */
#ifndef DM_IOBAND_SCHED_SLICE_H
#define DM_IOBAND_SCHED_SLICE_H

#include "scheduler.h"

void ioband_slice_arrive(const struct ioband_core *core, struct ioband_leaf *leaf);
void ioband_slice_charge(struct ioband_core *core, u64 now_ns);
u32 ioband_slice_charge_urgent(const struct ioband_leaf *leaf);
void ioband_slice_dirty(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
			bool in_turn);
void ioband_slice_admit(struct ioband_leaf *leaf, bool counts, u64 now_ns);
void ioband_slice_complete(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
			   u64 now_ns);
struct ioband_leaf *ioband_slice_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns);
void ioband_slice_set(struct ioband_core *core, u64 slice_ns, bool charge_time);
u64 ioband_slice_completed_until(const struct ioband_core *core);
bool ioband_slice_note_flush(struct ioband_core *core, u64 until, u64 ns);
bool ioband_slice_start_flush(struct ioband_core *core, u64 now_ns);
void ioband_slice_end_flush(struct ioband_core *core, u64 now_ns);
void ioband_slice_drop_flush(struct ioband_core *core);

#endif /* DM_IOBAND_SCHED_SLICE_H */
