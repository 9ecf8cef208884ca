/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of the tree: entities, leaves, nodes. */
#ifndef DM_IOBAND_SCHED_ENTITY_H
#define DM_IOBAND_SCHED_ENTITY_H

#include "policy.h"

#include <linux/list.h>

struct ioband_node;

/* Directions of queued bios, and anticipation (sched/live.h). */
#define IOBAND_NR_KINDS		(IOBAND_NR_DIRS + 1)

/* Sum of a subtree of live children, see sched/live.c. */
struct ioband_span {
	u64 bypass_vtime[IOBAND_NR_KINDS];	/* the least one of each kind, if there is some */
	u8 kinds;			/* of the children there, as bits */
};

/*
 * The minimum that is due first, of those at or below an entity with bios queued in a direction
 * that no maximum there blocks, see sched/min.c.
 */
struct ioband_claim {
	struct rb_node rb;		/* place in &ioband_node.claims of the parent, with @min */
	struct ioband_min *min;		/* NULL: none */
	u64 due_ns;			/* when it is due in that direction */
	u64 order;			/* among equals, its &ioband_min.order */
};

/* Competitor among the children of a node. */
struct ioband_ent {
	struct rb_node rb;		/* place among the live children of @parent, while live */
	struct ioband_node *parent;	/* node in which it competes; NULL for that of the root */
	/* virtual time: charge << 16 / weight; wraps, compared by signed difference */
	u64 vtime;
	/* the same among siblings that bypass others, for a minimum or the throttle */
	u64 bypass_vtime;
	struct ioband_span span;	/* while live: of the children at and below its place */
	u64 advance;			/* advance of @vtime by its last pick */
	u64 pace;			/* advance per unit of charge: 2^32 / @weight */
	struct ioband_max *max;		/* NULL: none */
	struct ioband_min *min;		/* NULL: none */
	struct ioband_latency *latency[IOBAND_NR_DIRS];	/* latency targets; NULL: none */
	/* leaves at or below with queued reads (low half) and writes (high half) that count */
	u64 waiting;
	u32 weight;			/* IOBAND_WEIGHT_DEFAULT in the idle class */
	u32 ready;		/* leaves at or below it with all bios in flight, or anticipated */
	u32 anticipated;		/* anticipated leaves at or below it */
	u32 pausing;		/* leaves of @anticipated in writeback idle; unused in the root */
	u32 busy;			/* leaves at or below it that are not idle */
	bool leaf;			/* entity of a leaf, else of a node */
	bool idle_class;		/* in the class below all weights */
	u8 kinds;			/* the reasons why it is live, as bits (sched/live.h) */
	struct list_head idlers;	/* place in @idlers of @parent, while in the idle class */
	struct ioband_claim claims[IOBAND_NR_DIRS];	/* by direction */
};

/* Inner node of the tree. */
struct ioband_node {
	struct ioband_ent ent;		/* its place among the children of its parent */
	/* children with queued bios or an anticipated leaf, least served first */
	struct rb_root_cached live;
	struct ioband_ent *serving;	/* with slices: child that has the device; NULL: none */
	u64 served_ns;			/* elapsed part of its slice */
	u64 served_from;		/* its (bypass) vtime at the start of the slice */
	bool by_bypass;			/* that slice began as a bypass */
	bool streams;		/* the children are leaves of one group, which share device time */
	u32 to_and_fro;		/* slices left in which runs go to and fro, see sched/ahead.c */
	u32 cold_slices;		/* slices of these that began with a seek so far */
	u32 in_turn;			/* slices left in which runs go in turn, even if cold */
	u64 vnow;		/* virtual time of the node, at which idle children restart */
	u64 bypass_vtime;
	bool bypasses;		/* some child had another bypass vtime, else it is 0 for all */
	struct rb_root_cached claims[IOBAND_NR_DIRS];	/* of its children, by due time */
	u64 by_weight_ns;		/* last dispatch below by weight instead of a minimum */
	/* with slices: end of a period by weight, whatever minimum is due */
	u64 by_weight_until_ns;
	struct list_head idlers;	/* children in the idle class */
	struct list_head idle_nodes;	/* place among the nodes of the scheduler that have some */
	bool yields;			/* @idlers get no service */
	bool idle_due;	/* @idlers are served beside the others, until one bio is dispatched */
	u64 idle_waiting;	/* part of its &ioband_ent.waiting that comes from @idlers */
	u32 idle_ready;			/* part of its &ioband_ent.ready that comes from @idlers */
	u32 idle_inflight;		/* bios of @idlers in flight, at least */
	u32 usual_ios;			/* bios of other children dispatched since @idle_ns */
	u64 idle_ns;			/* last dispatch of a bio of @idlers */
	u64 usual_ns;			/* last dispatch or completion of a bio of other children */
};

enum ioband_leaf_state {
	IOBAND_LEAF_IDLE,	/* no bio may be dispatched, none in flight */
	IOBAND_LEAF_BACKLOGGED,	/* a bio is queued that may be dispatched */
	IOBAND_LEAF_INFLIGHT,	/* none queued, some in flight */
	IOBAND_LEAF_ANTICIPATED,	/* the last one completed a moment ago */
};

/* Trips counted, by direction, see sched/below.c. */
struct ioband_trips {
	u32 dir[IOBAND_NR_DIRS];
};

/* Bios of a leaf in one direction, see sched/below.c. */
struct ioband_flow {
	u32 inflight;			/* bios admitted and not yet completed */
	u32 min_ios;			/* those of them that were dispatched for a minimum */
	u32 left;		/* completions until its trip ends, unless @inflight becomes 0 */
	struct ioband_trips from;	/* &ioband_below.trips when its trip began */
	u64 since_ns;			/* first trip since few were counted; 0: the next one */
	u32 trips;		/* sum of the trips counted during its own ended trips since */
};

/* Queue of bios. */
struct ioband_leaf {
	struct ioband_ent ent;		/* its place among the children of its node */
	enum ioband_leaf_state state;
	u8 dirs;		/* directions with queued bios, as bits; without @full_dirs */
	u8 full_dirs;		/* the same, where a flow that is apart has reached its limit */
	u8 apart_dirs;			/* directions in which its flow is apart, as bits */
	bool probes;			/* its bio in flight is beyond the limit */
	bool async;			/* the last bio admitted in turn was asynchronous */
	/* was idle before a write out of turn, and nothing was dispatched in turn since */
	bool only_urgent;
	bool pause_anticipated;		/* if anticipated: because of writeback idle */
	bool was_idle;			/* with slices: at some time since it last had the device */
	bool is_run;			/* each bio continues where the one before ended */
	u32 inflight;			/* bios admitted and not yet completed */
	u32 swap_ios;			/* those of them that are writes to swap */
	struct rb_node grace;		/* place among the anticipated leaves */
	u64 grace_until_ns;		/* end of the grace period */
	u64 think_ns;			/* mean think time */
	u64 done_ns;			/* last completion; 0: the time since is no think time */
	u64 last_slice_ns;		/* with slices: when it last had the device */
	/* with slices: dispatch of the first bio in flight; 0: a stretch has ended since */
	u64 first_ns;
	u64 run_ns;			/* with slices: begin of the stretch for @gap_ns; 0: none */
	u64 gap_ns;			/* with slices: mean time between completions */
	struct list_head below;		/* place in &ioband_below.leaves */
	struct ioband_flow flows[IOBAND_NR_DIRS];	/* by direction */
	u64 destage_ns;		/* with slices: duration of the recent flushes of its writes */
	u64 destage_bytes;		/* bytes of these flushes */
	u64 prepaid_ns;		/* with slices: charge for the next flush so far, maybe too much */
	u32 flushes;			/* &ioband_core.flushes at the last update of @prepaid_ns */
	u32 run_ios;			/* completions since the one at @run_ns */
};

#endif /* DM_IOBAND_SCHED_ENTITY_H */
