/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: what the parts of the scheduler share.
 *
 *	core	whose bio is next, and how much may be at the device
 *	slice	who has the device to itself, and when its write cache is flushed
 *
 * For these alone; dm-ioband-core.h is for their caller.
 */
#ifndef DM_IOBAND_TREE_H
#define DM_IOBAND_TREE_H

#include "dm-ioband-core.h"

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* Time between completions until it is known: a seek and half a turn of a disk. */
#define IOBAND_GAP_FIRST_NS	(8 * NSEC_PER_MSEC)

/*
 * What a flush takes until it is known: that of GAP_FIRST for 64 KiB at a time.  A flush
 * that has nothing to do may take as long as one of these, which is not counted.
 */
#define IOBAND_DESTAGE_BYTES	(1024U << 10)
#define IOBAND_DESTAGE_FIRST_NS	(16 * IOBAND_GAP_FIRST_NS)

static inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline u64 vtime_max(u64 a, u64 b)
{
	return vtime_before(a, b) ? b : a;
}

static inline u64 vtime_min(u64 a, u64 b)
{
	return vtime_before(a, b) ? a : b;
}

static inline struct ioband_ent *rb_to_ent(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_ent, rb);
}

static inline bool ent_is_live(const struct ioband_ent *ent)
{
	return !RB_EMPTY_NODE(&ent->rb);
}

/* The least served of a node's live children, or else one of them. */
static inline const struct ioband_ent *node_least(const struct ioband_node *node,
						  const struct ioband_ent *ent)
{
	const struct rb_node *first = rb_first_cached(&node->live);

	return first ? rb_to_ent(first) : ent;
}

/* dm-ioband-core.c */
void ioband_leaf_charge(const struct ioband_core *core, struct ioband_leaf *leaf, u32 charge,
			bool in_turn);
u64 ioband_core_grace_ends(const struct ioband_core *core);

/* dm-ioband-slice.c */
void ioband_slice_charge(struct ioband_core *core, u64 now_ns);
u32 ioband_slice_charge_urgent(const struct ioband_leaf *leaf);
void ioband_slice_soil(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
		       bool in_turn);
void ioband_slice_learn_gap(struct ioband_leaf *leaf, u64 now_ns);
struct ioband_leaf *ioband_slice_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns);

#endif /* DM_IOBAND_TREE_H */
