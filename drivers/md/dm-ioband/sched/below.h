/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: bios that only their own leaf has to wait for.
 *
 * Pure, like the scheduler.  Explained on top of sched/below.c.
 */
#ifndef DM_IOBAND_SCHED_BELOW_H
#define DM_IOBAND_SCHED_BELOW_H

#include "scheduler.h"

#include <linux/compiler.h>

u8 ioband_below_open(const struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs);
void ioband_below_begin(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
			u64 now_ns);
void ioband_below_count(struct ioband_core *core, const struct ioband_leaf *leaf,
			enum ioband_dir dir, u64 now_ns);
void ioband_below_end_trip(struct ioband_core *core, struct ioband_leaf *leaf,
			   enum ioband_dir dir, u64 now_ns);
void ioband_below_update(struct ioband_core *core, struct ioband_leaf *leaf);
void ioband_below_remove(struct ioband_core *core, struct ioband_leaf *leaf);
u32 ioband_below_counted(const struct ioband_leaf *leaf);
u32 ioband_below_busy(const struct ioband_core *core, const struct ioband_ent *ent);
void ioband_below_look(struct ioband_core *core, u64 now_ns);
bool ioband_below_hole(struct ioband_core *core, u64 now_ns, u64 *wake_ns);
struct ioband_leaf *ioband_below_probe(const struct ioband_core *core);
bool ioband_below_went_on(const struct ioband_core *core, u64 now_ns);

/* A bio is dispatched. */
static inline void ioband_below_launch(struct ioband_core *core, struct ioband_leaf *leaf,
				       enum ioband_dir dir, u64 now_ns)
{
	struct ioband_flow *flow = &leaf->flows[dir];

	if (unlikely(leaf->apart_dirs & 1 << dir))
		core->below.apart_ios++;
	if (!flow->inflight)
		ioband_below_begin(core, leaf, dir, now_ns);
	flow->inflight++;
	if (unlikely(core->below.probe == leaf))
		leaf->probes |= ioband_tree_counted_ios(core) > core->limit_ios;
}

/* A bio has completed. */
static inline void ioband_below_complete(struct ioband_core *core, struct ioband_leaf *leaf,
					 enum ioband_dir dir, u64 now_ns)
{
	struct ioband_flow *flow = &leaf->flows[dir];

	if (unlikely(core->below.apart_ios))
		ioband_below_count(core, leaf, dir, now_ns);
	flow->inflight--;
	flow->left--;
	if (likely(!leaf->probes))
		core->below.done_ns = now_ns;
	leaf->probes = false;
	if (!flow->inflight || !flow->left)
		ioband_below_end_trip(core, leaf, dir, now_ns);
	if (unlikely(leaf->full_dirs))
		ioband_below_update(core, leaf);
}

#endif /* DM_IOBAND_SCHED_BELOW_H */
