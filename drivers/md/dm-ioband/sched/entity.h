/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of the tree: entities, leaves, nodes. */
#ifndef DM_IOBAND_SCHED_ENTITY_H
#define DM_IOBAND_SCHED_ENTITY_H

#include "policy.h"

#include <linux/list.h>

struct ioband_node;

/**
 * struct ioband_ent - competitor among the children of a node
 * @rb: place among the live children of @parent, while live
 * @parent: node in which it competes; NULL for that of the root
 * @vtime: virtual time, units of charge << 16 divided by weight; may wrap, and is
 *	compared by signed difference
 * @bypass_vtime: bypass vtime: the same among siblings that bypass others, because the throttle
 *	holds these or no bio of these counts for the minimum above
 * @advance: advance of @vtime by its last pick
 * @pace: advance per unit of charge: 2^32 / @weight
 * @weight: IOBAND_WEIGHT_MIN..IOBAND_WEIGHT_MAX; IOBAND_WEIGHT_DEFAULT in the idle class
 * @max: maximum; NULL: none
 * @min: minimum; NULL: none
 * @latency: latency targets, by direction; NULL: none
 * @waiting: leaves at or below it with a queued read, in the low half, and with a queued
 *	write, in the high half.  Leaves that are blocked or yield below it do not count
 * @ready: leaves at or below it with all bios in flight, or anticipated
 * @anticipated: anticipated leaves at or below it
 * @pausing: leaves of @anticipated in writeback idle; unused in the root
 * @busy: leaves at or below it that are not idle
 * @leaf: entity of a leaf, else of a node
 * @idle_class: in the class below all weights
 * @idlers: place among the children of @parent in the idle class, while in it
 */
struct ioband_ent {
	struct rb_node rb;
	struct ioband_node *parent;
	u64 vtime;
	u64 bypass_vtime;
	u64 advance;
	u64 pace;
	struct ioband_max *max;
	struct ioband_min *min;
	struct ioband_latency *latency[IOBAND_NR_DIRS];
	u64 waiting;
	u32 weight;
	u32 ready;
	u32 anticipated;
	u32 pausing;
	u32 busy;
	bool leaf;
	bool idle_class;
	struct list_head idlers;
};

/**
 * struct ioband_node - inner node of the tree
 * @ent: entity of the node among the children of its parent
 * @live: children that are backlogged or have an anticipated leaf, least served first
 * @serving: with slices: child that has the device; NULL: none
 * @served_ns: elapsed part of its slice
 * @served_from: its &ioband_ent.vtime, or &ioband_ent.bypass_vtime, at the start of the slice
 * @by_bypass: that slice began as a bypass
 * @streams: the children are leaves of one group, which with slices share device time, with
 *	any charge above
 * @to_and_fro: slices left in which runs go to and fro, see sched/ahead.c
 * @cold_slices: slices of these that began with a seek so far
 * @in_turn: slices left in which runs go in turn, even if these begin with a seek
 * @vnow: virtual time of the node, at which idle children restart
 * @bypass_vtime: bypass vtime of the node
 * @by_weight_ns: last dispatch below the node by weight instead of a minimum
 * @by_weight_until_ns: with slices: end of a period by weight, whatever minimum is due
 * @idlers: children in the idle class
 * @idle_nodes: place among the nodes of the scheduler that have some
 * @yields: @idlers get no service
 * @idle_due: @idlers are served beside the others, until one bio is dispatched
 * @idle_waiting: part of its &ioband_ent.waiting that comes from @idlers
 * @idle_ready: part of its &ioband_ent.ready that comes from @idlers
 * @idle_inflight: bios of @idlers in flight, except bios dispatched before these were in the class
 * @idle_ns: last dispatch of a bio of @idlers
 * @usual_ios: bios of other children dispatched since then
 * @usual_ns: last dispatch or completion of a bio of other children
 */
struct ioband_node {
	struct ioband_ent ent;
	struct rb_root_cached live;
	struct ioband_ent *serving;
	u64 served_ns;
	u64 served_from;
	bool by_bypass;
	bool streams;
	u32 to_and_fro;
	u32 cold_slices;
	u32 in_turn;
	u64 vnow;
	u64 bypass_vtime;
	u64 by_weight_ns;
	u64 by_weight_until_ns;
	struct list_head idlers;
	struct list_head idle_nodes;
	bool yields;
	bool idle_due;
	u64 idle_waiting;
	u32 idle_ready;
	u32 idle_inflight;
	u32 usual_ios;
	u64 idle_ns;
	u64 usual_ns;
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

/**
 * struct ioband_flow - bios of a leaf in one direction, see sched/below.c
 * @inflight: bios admitted and not yet completed
 * @min_ios: those of them that were dispatched for a minimum
 * @left: completions until its trip ends, if @inflight does not become 0 before
 * @from: &ioband_below.trips when its trip began
 * @since_ns: begin of its first trip after the last one during which few were counted; 0: it begins
 *	with the next one
 * @trips: sum of the trips counted during its own trips that have ended since @since_ns
 */
struct ioband_flow {
	u32 inflight;
	u32 min_ios;
	u32 left;
	struct ioband_trips from;
	u64 since_ns;
	u32 trips;
};

/**
 * struct ioband_leaf - queue of bios
 * @ent: entity of the leaf among the children of its node
 * @state: see &enum ioband_leaf_state
 * @dirs: directions with queued bios, as bits; without @full_dirs
 * @full_dirs: the same, where a flow that is apart has reached its limit
 * @apart_dirs: directions in which its flow is apart, as bits
 * @probes: its bio in flight is beyond the limit
 * @async: the last bio admitted in turn was asynchronous
 * @only_urgent: was idle before a write out of turn, and no bio was dispatched in turn since
 * @pause_anticipated: if anticipated: because of writeback idle
 * @was_idle: with slices: was idle at some time since it last had the device
 * @is_run: each bio continues where the one before ended
 * @inflight: bios admitted and not yet completed
 * @swap_ios: those of them that are writes to swap
 * @grace: place among the anticipated leaves
 * @grace_until_ns: end of the grace period
 * @think_ns: mean think time
 * @done_ns: time of the last completion; 0: the time since then is no think time
 * @last_slice_ns: with slices: when it last had the device
 * @first_ns: with slices: dispatch of the first of the bios in flight; 0: a stretch has ended since
 * @run_ns: with slices: begin of the present stretch for @gap_ns; 0: none
 * @gap_ns: with slices: mean time between completions
 * @below: place in &ioband_below.leaves
 * @flows: its bios by direction
 * @destage_ns: with slices: duration of the recent flushes of its writes
 * @destage_bytes: bytes of these flushes
 * @prepaid_ns: with slices: charge for the next flush so far; may be too much, by mistake
 * @flushes: &ioband_core.flushes at the last update of @prepaid_ns
 * @run_ios: completions since the one at @run_ns
 */
struct ioband_leaf {
	struct ioband_ent ent;
	enum ioband_leaf_state state;
	u8 dirs;
	u8 full_dirs;
	u8 apart_dirs;
	bool probes;
	bool async;
	bool only_urgent;
	bool pause_anticipated;
	bool was_idle;
	bool is_run;
	u32 inflight;
	u32 swap_ios;
	struct rb_node grace;
	u64 grace_until_ns;
	u64 think_ns;
	u64 done_ns;
	u64 last_slice_ns;
	u64 first_ns;
	u64 run_ns;
	u64 gap_ns;
	struct list_head below;
	struct ioband_flow flows[IOBAND_NR_DIRS];
	u64 destage_ns;
	u64 destage_bytes;
	u64 prepaid_ns;
	u32 flushes;
	u32 run_ios;
};

#endif /* DM_IOBAND_SCHED_ENTITY_H */
