/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tree of the core with the queued bios and the bios in flight, and a checker that
 * computes all state anew from these.
 */
#ifndef UNIT_TREE_H
#define UNIT_TREE_H

#include "sched/core.h"

#define TREE_NODES_MAX	64
#define TREE_LEAVES_MAX	128
#define TREE_HELD_MAX	64
#define TREE_FLIGHT_MAX	4096

/* The checker's last view of an entity. */
struct tree_seen {
	u64 vtime;
	bool busy;
};

struct tree_node {
	struct ioband_node node;
	struct tree_node *up;	/* NULL: the core's root is above */
	bool used;
	struct tree_seen seen;
	u64 vnow_seen;
};

struct tree_leaf {
	struct ioband_leaf leaf;
	struct tree_node *up;
	bool used;
	struct tree_seen seen;
	struct ioband_bill held[TREE_HELD_MAX];	/* oldest first */
	u32 nr_held;
	u32 inflight;
};

struct tree_bio {
	struct tree_leaf *leaf;
	struct ioband_bill bill;
};

/*
 * All times are the test's: only tree_drain() advances @now_ns.  The core gets a time that is
 * @late_ns earlier.
 */
struct tree {
	struct ioband_core core;
	u64 now_ns;
	u64 late_ns;
	u64 vnow_first;		/* where virtual time starts, in every node */
	u64 root_vnow_seen;
	u32 charge_max;		/* largest seen */
	bool has_max;		/* maxima were set */
	bool has_min;		/* minima were set */
	bool sliced;		/* slices were set */
	bool async;		/* there was writeback */
	bool flushing;		/* the core has started a flush, which has not ended */
	bool stuck;		/* bios were reported as hung */
	u32 nr_idlers;		/* idle entities that the checker found */
	struct tree_node nodes[TREE_NODES_MAX];
	struct tree_leaf leaves[TREE_LEAVES_MAX];
	struct tree_bio flight[TREE_FLIGHT_MAX];
	u32 nr_flight;
	u32 nodes_end;		/* none from here on was ever used */
	u32 leaves_end;
};

/* Printed when a check fails, to repeat the run. */
extern u64 tree_seed;

void tree_init(struct tree *tree, u64 vnow_first);
/* @up NULL: below the root.  Return: NULL if the array is full. */
struct tree_node *tree_add_node(struct tree *tree, struct tree_node *up, u32 weight);
struct tree_leaf *tree_add_leaf(struct tree *tree, struct tree_node *up, u32 weight);
/* These remove a leaf, which must be idle, or an empty node. */
void tree_remove_leaf(struct tree *tree, struct tree_leaf *leaf);
void tree_remove_node(struct tree *tree, struct tree_node *node);
bool tree_leaf_is_idle(const struct tree_leaf *leaf);
bool tree_node_is_empty(const struct tree *tree, const struct tree_node *node);

/* Each of these is one call of the core. */
void tree_set_weight(struct tree *tree, struct ioband_ent *ent, u32 weight);
/* NULL: no maximum. */
void tree_set_max(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates);
/* NULL: no minimum. */
void tree_set_min(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates);
void tree_wait(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill);
u8 tree_dirs(const struct tree_leaf *leaf);
void tree_admit_now(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill);
void tree_withdraw(struct tree *tree, struct tree_leaf *leaf);
void tree_set_slice(struct tree *tree, u64 slice_ns, bool charge_time);
void tree_complete(struct tree *tree, u32 index);
void tree_end_flush(struct tree *tree);

/* Dispatch one bio, or begin a flush, or return NULL; @wake_ns as of ioband_core_pick(). */
struct tree_leaf *tree_serve(struct tree *tree, u64 *wake_ns);
/* Dispatch all eligible bios. */
void tree_dispatch(struct tree *tree);
/* Complete and dispatch until no bio is left; fails if that never ends. */
void tree_drain(struct tree *tree);
/* Drain the tree, and free all memory. */
void tree_end(struct tree *tree);

/* Abort, with a message, unless all state is consistent. */
void tree_check(struct tree *tree);

#endif /* UNIT_TREE_H */
