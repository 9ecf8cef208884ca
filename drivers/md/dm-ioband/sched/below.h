/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: bios that only their own leaf has to wait for.
 *
 * Pure, like the scheduler.  Explained on top of sched/below.c.
 */
#ifndef DM_IOBAND_SCHED_BELOW_H
#define DM_IOBAND_SCHED_BELOW_H

#include "scheduler.h"

u8 ioband_below_open(const struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs);
void ioband_below_launch(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
			 u64 now_ns);
void ioband_below_complete(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
			   u64 now_ns);
void ioband_below_remove(struct ioband_core *core, struct ioband_leaf *leaf);
u32 ioband_below_counted(const struct ioband_leaf *leaf);
u32 ioband_below_busy(const struct ioband_core *core, const struct ioband_ent *ent);
void ioband_below_look(struct ioband_core *core, u64 now_ns);
bool ioband_below_hole(struct ioband_core *core, u64 now_ns, u64 *wake_ns);
struct ioband_leaf *ioband_below_probe(const struct ioband_core *core);
bool ioband_below_went_on(const struct ioband_core *core, u64 now_ns);

#endif /* DM_IOBAND_SCHED_BELOW_H */
