/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the live children of a node. */
#ifndef DM_IOBAND_SCHED_LIVE_H
#define DM_IOBAND_SCHED_LIVE_H

#include "entity.h"

#include <linux/bits.h>

/* The reasons why a child is live, as bits: a bio queued in a direction (BIT(dir)), and this. */
#define IOBAND_LIVE_ANTICIPATED	BIT(IOBAND_NR_DIRS)

static inline struct ioband_ent *rb_to_ent(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_ent, rb);
}

static inline bool ent_is_live(const struct ioband_ent *ent)
{
	return !RB_EMPTY_NODE(&ent->rb);
}

void ioband_live_set(struct ioband_ent *ent, u8 kinds);
void ioband_live_move(struct ioband_ent *ent, u64 vtime);
void ioband_live_update(struct ioband_ent *ent);
struct ioband_ent *ioband_live_first(const struct ioband_node *node, u8 kinds, const u64 *until);
struct ioband_ent *ioband_live_next(const struct ioband_ent *ent, u8 kinds, const u64 *until);
bool ioband_live_least_bypass(const struct ioband_node *node, u8 kinds,
			      const struct ioband_ent *except, u64 *least);

#endif /* DM_IOBAND_SCHED_LIVE_H */
