/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the tree of entities, for the files of the scheduler. */
#ifndef DM_IOBAND_SCHED_TREE_H
#define DM_IOBAND_SCHED_TREE_H

#include "live.h"
#include "math.h"
#include "scheduler.h"

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* Fraction bits of virtual time: at weight 10000, 512 bytes are still 3355. */
#define IOBAND_VTIME_SHIFT	16
#define IOBAND_PACE_SHIFT	32

/*
 * Device time of a unit of charge: that of one byte at 100 MB/s.  The bounds of leads and lags
 * thereby mean about the same as in bytes.
 */
#define IOBAND_NS_PER_CHARGE	10

/*
 * A call ends so many blocks or grace periods, moves so many leaves that lag, or looks at so many
 * idle classes, if more are due at once; the next call continues.
 */
#define IOBAND_CHUNK	64

/* First estimate of the time between completions: a seek and half a rotation of a disk. */
#define IOBAND_GAP_FIRST_NS	(8 * NSEC_PER_MSEC)

/*
 * First estimate of the time of a flush: GAP_FIRST for each 64 KiB.  A flush without anything to
 * do may take one GAP_FIRST, which does not count.
 */
#define IOBAND_DESTAGE_BYTES	(1024U << 10)
#define IOBAND_DESTAGE_FIRST_NS	(16 * IOBAND_GAP_FIRST_NS)

/*
 * Dirty throttling makes a task sleep for up to 200 ms at a time (MAX_PAUSE in
 * mm/page-writeback.c).  After that, it takes a while until the task has dirtied enough pages
 * for its flusher to begin: as much again.
 */
#define IOBAND_PAUSE_NS		(400 * NSEC_PER_MSEC)

/* The longest idling of the device for a flusher without bios, see sched/pause.c. */
#define IOBAND_PAUSE_WAIT_NS	(IOBAND_PAUSE_NS / 2)

/* Advance of the virtual time of an entity by a charge, less than 2^32. */
static inline u64 ent_vtime_of(const struct ioband_ent *ent, u64 charge)
{
	return charge * ent->pace >> (IOBAND_PACE_SHIFT - IOBAND_VTIME_SHIFT);
}

/*
 * Bios of a minimum bypass other queued bios.  They do not if an entity above that of the
 * minimum is served by weight, for the sake of its other children.
 */
static inline bool core_bypasses(const struct ioband_core *core)
{
	return core->min_ent && core->min_ent == core->min->ent;
}

/* End the service for a minimum. */
static inline void core_end_min(struct ioband_core *core)
{
	core->min_ent = NULL;
	core->min_ent_dirs = U64_MAX;
}

/* The entity of the node in which it competes; NULL for the root. */
static inline struct ioband_ent *ent_above(const struct ioband_ent *ent)
{
	return ent->parent ? &ent->parent->ent : NULL;
}

/*
 * Bypass vtime of an entity.  It leads the node by the advance of one pick at most, with slices
 * by that of one slice.  A larger lead is in truth a lag, or virtual time has wrapped.
 */
static inline u64 ent_bypass_vtime(const struct ioband_ent *ent)
{
	const u64 lead = ent->bypass_vtime - ent->parent->bypass_vtime;

	return lead > ent_vtime_of(ent, U32_MAX) ? ent->parent->bypass_vtime : ent->bypass_vtime;
}

/* Take a node out of its tree, if it is in one. */
static inline void tree_dequeue(struct rb_node *rb, struct rb_root_cached *root)
{
	if (RB_EMPTY_NODE(rb))
		return;
	rb_erase_cached(rb, root);
	RB_CLEAR_NODE(rb);
}

/* The least served live child of a node, or else @ent. */
static inline const struct ioband_ent *node_least(const struct ioband_node *node,
						  const struct ioband_ent *ent)
{
	const struct rb_node *first = rb_first_cached(&node->live);

	return first ? rb_to_ent(first) : ent;
}

/* The children of the node are charged device time. */
static inline bool node_shares_time(const struct ioband_core *core, const struct ioband_node *node)
{
	return core->slice_ns && (core->charge_time || node->streams);
}

/* Device time for which an entity advances by @vtime, if it is charged device time. */
static inline u64 ent_advance_ns(const struct ioband_ent *ent, u64 vtime)
{
	return (vtime >> IOBAND_VTIME_SHIFT) * ent->weight * IOBAND_NS_PER_CHARGE;
}

static inline struct ioband_leaf *ent_to_leaf(struct ioband_ent *ent)
{
	return container_of(ent, struct ioband_leaf, ent);
}

/* One leaf with queued bios of a direction, and the half of &ioband_ent.waiting. */
static inline u64 ioband_tree_dir_one(enum ioband_dir dir)
{
	return 1ULL << (32 * dir);
}

static inline u64 ioband_tree_dir_mask(enum ioband_dir dir)
{
	return ioband_tree_dir_one(dir) * U32_MAX;
}

/* For IOBAND_PAUSE_NS, all bios came from flushers: no task waits for its own I/O. */
static inline bool core_is_async(const struct ioband_core *core)
{
	return core->now_ns > core->sync_ns + IOBAND_PAUSE_NS &&
	       !(core->root.ent.waiting & ioband_tree_dir_mask(IOBAND_DIR_READ));
}

/* The entity is in the idle class, and gets no service because of its siblings. */
static inline bool ent_yields(const struct ioband_ent *ent)
{
	return unlikely(ent->idle_class) && ent->parent->yields;
}

/* The directions, as bits, of halves of &ioband_ent.waiting. */
static inline u8 dirs_of(u64 waiting)
{
	return (waiting & ioband_tree_dir_mask(IOBAND_DIR_READ) ? 1 : 0) |
	       (waiting & ioband_tree_dir_mask(IOBAND_DIR_WRITE) ? 2 : 0);
}

/* Virtual time of an entity, or bypass vtime. */
static inline u64 ent_position(const struct ioband_ent *ent, bool bypass)
{
	return bypass ? ent_bypass_vtime(ent) : ent->vtime;
}

/* Directions that are not blocked, as halves of &ioband_ent.waiting. */
static inline u64 ent_open(const struct ioband_ent *ent)
{
	if (ent_yields(ent))
		return 0;
	return ent->max ? ~ent->max->blocked : U64_MAX;
}

/* Queued bios at or below the entity that the entities above count. */
static inline u64 ent_shown(const struct ioband_ent *ent)
{
	return ent->waiting & ent_open(ent);
}

/* Directions that neither the entity nor an entity above blocks. */
static inline u64 ent_open_above(const struct ioband_core *core, const struct ioband_ent *ent)
{
	u64 open = U64_MAX;

	if (likely(!core->has_max && !core->nr_idlers))
		return open;
	for (; ent->parent; ent = &ent->parent->ent)
		open &= ent_open(ent);
	return open;
}

/* An entity is at or below another one. */
static inline bool ent_is_below(const struct ioband_ent *ent, const struct ioband_ent *above)
{
	while (ent && ent != above)
		ent = ent_above(ent);
	return ent;
}

/* The slice holder is at or below an entity. */
static inline bool ent_is_holder(const struct ioband_core *core, const struct ioband_ent *ent)
{
	return core->holder && ent_is_below(&core->holder->ent, ent);
}

struct ioband_ent *ioband_tree_least(const struct ioband_node *node, u64 open, bool bypass,
				     const struct ioband_ent *except);
bool ioband_tree_expects(const struct ioband_node *node, bool bypass);
struct ioband_leaf *ioband_tree_leaf_below(struct ioband_ent *ent, u64 open, bool bypass, u32 ios,
					   u32 limit);
void ioband_tree_charge(const struct ioband_core *core, struct ioband_leaf *leaf, u32 charge,
			bool by_time, bool in_turn);
void ioband_tree_block(struct ioband_core *core, struct ioband_ent *ent, u64 blocked);
void ioband_tree_yield(struct ioband_core *core, struct ioband_node *node, bool yields);
u64 ioband_tree_grace_ends(const struct ioband_core *core);
bool ioband_tree_catch_up(struct ioband_ent *ent, u64 pause_lag);
void ioband_tree_forget_lag(struct ioband_leaf *leaf);
void ioband_tree_change_state(struct ioband_core *core, struct ioband_leaf *leaf,
			      enum ioband_leaf_state state, u8 dirs);
void ioband_tree_begin_below(const struct ioband_core *core, struct ioband_ent *ent, bool bypass);
void ioband_tree_set_holder(const struct ioband_core *core, struct ioband_ent *ent, bool begin);

/* Most calls change nothing. */
static inline void ioband_tree_set_state(struct ioband_core *core, struct ioband_leaf *leaf,
					 enum ioband_leaf_state state, u8 dirs)
{
	if (state != leaf->state || dirs != leaf->dirs)
		ioband_tree_change_state(core, leaf, state, dirs);
}

/* A leaf has queued bios in these directions, or none. */
static inline void ioband_tree_show(struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs)
{
	ioband_tree_set_state(core, leaf, dirs ? IOBAND_LEAF_BACKLOGGED :
			      leaf->inflight ? IOBAND_LEAF_INFLIGHT : IOBAND_LEAF_IDLE, dirs);
}

#endif /* DM_IOBAND_SCHED_TREE_H */
