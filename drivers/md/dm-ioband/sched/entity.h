/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the scheduler's structures: entities, leaves, nodes.
 */
#ifndef DM_IOBAND_SCHED_ENTITY_H
#define DM_IOBAND_SCHED_ENTITY_H

#include "policy.h"

#include <linux/list.h>

#define IOBAND_NO_WAKEUP	U64_MAX

struct ioband_core;
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
 * struct ioband_below - flows of which the bios do not count in the limit
 * @leaves: leaves with bios queued or in flight, at least
 * @trips: trips counted
 * @told: the same at ioband_core_begin()
 * @flows: number of flows in flight that are not apart
 * @apart: number of flows that are apart
 * @apart_ios: bios of these in flight
 * @slow_looks: consecutive looks at which flows that may be apart had all bios in flight but one
 * @others: bios completed of flows that are not apart, since a slot was left empty
 * @hole_until_ns: a slot is empty until then; 0: none is
 * @done_ns: last completion of a bio that was not beyond the limit
 * @probe: leaf that may have one bio beyond the limit; NULL: none
 */
struct ioband_below {
	struct list_head leaves;
	struct ioband_trips trips;
	struct ioband_trips told;
	u32 flows;
	u32 apart;
	u32 apart_ios;
	u32 slow_looks;
	u32 others;
	u64 hole_until_ns;
	u64 done_ns;
	struct ioband_leaf *probe;
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

/**
 * struct ioband_hooks - calls from the tree to the policies above it
 * @min_changed: the bios queued below an entity with a minimum have changed; bios
 *	blocked by its maximum do not count
 * @max_changed: the bios queued below an entity with a maximum have changed
 * @idle_changed: counters of an entity, and of those above, have changed; some entity is in the
 *	idle class
 *
 * The first two are called after the counters of the entity have changed, and must not change the
 * tree.  The last one may let entities of the idle class yield, or serve them again.
 */
struct ioband_hooks {
	void (*min_changed)(struct ioband_core *core, struct ioband_min *min);
	void (*max_changed)(const struct ioband_core *core, struct ioband_max *max);
	void (*idle_changed)(struct ioband_core *core, struct ioband_ent *ent);
};

enum ioband_flush {
	IOBAND_FLUSH_NONE,	/* no need */
	IOBAND_FLUSH_DUE,	/* the caller is to flush the devices' write caches */
	IOBAND_FLUSH_RUNNING,	/* the caller flushes them */
};

/**
 * struct ioband_core - one scheduler
 * @hooks: calls to the policies
 * @root: root of the tree
 * @anticipated: anticipated leaves, by the end of their grace period
 * @blocked: maxima that block a direction, by the end of the block
 * @minima: minima of active or anticipated entities, by due time: [1] of entities with queued bios
 * @has_max: some entity has a maximum, or had one
 * @nr_minima: number of minima
 * @nr_latencies: number of latency targets
 * @nr_idlers: number of entities in the idle class
 * @idle_nodes: nodes with such children
 * @idle_until_ns: when one of these nodes may cease to yield without a call; IOBAND_NO_WAKEUP: none
 * @throttle_dirs: directions in which the throttle holds the leaf of the last pick, as
 *	halves of &ioband_ent.waiting
 * @bypass_leaf: leaf that bypasses throttled leaves, with slices until its slice ends; NULL: none
 * @min_ent: entity served for a minimum, by weight below; NULL: service by weight
 * @min_ent_dirs: directions of that minimum, as halves of &ioband_ent.waiting
 * @min: that minimum, while @min_ent is set
 * @min_begin_ns: with slices: start of the slice of @min_ent
 * @min_from_ns: its due time at the start of the slice, as far as it counts
 * @now_ns: time of the last call
 * @sync_ns: last arrival, or dispatch in turn, of a synchronous bio
 * @pauses: some leaf may lag because of a pause
 * @pausing: anticipated leaves in writeback idle
 * @idle_ns: start of idling while only writeback is active, as far as @patience_ns does
 *	not include it; 0: the device does not idle
 * @patience_ns: when that idling is compensated
 * @told_ns: time of the last ioband_core_begin()
 * @late: leaves are held back, whatever the limit, for a latency target or a try of a small
 *	limit beside a minimum; or the limit of flows has changed (sched/below.c); the caller
 *	clears it
 * @min_ios: bios of @inflight_ios that were dispatched for a minimum, without those that are apart
 * @masked_ios: most of them when a leaf with a minimum was served by weight; the caller clears it
 * @done_ns: time of the last completion
 * @held_since_ns: time of the last arrival, or end of a block by a maximum, before which no bio
 *	was queued
 * @busy_since_ns: time of the last dispatch before which no bio was in flight
 * @gap_ns: mean time between completions
 * @slack_ns: delay of a wake-up that costs no group a part of its maximum
 * @inflight_ios: bios admitted and not yet completed
 * @inflight_bytes: bytes of these bios
 * @inflight_cached: of these, bytes that may be in a cache when they complete
 * @limit_ios: bound on ioband_tree_counted_ios(), at least 1
 * @stuck_ios: bios in flight for which the end of a slice does not wait
 * @extra_ios: bios of @inflight_ios without data, and writes to swap; @limit_ios is higher by as
 *	many
 * @extra_bytes: bytes of these bios
 * @swap_ios: those of these bios that are writes to swap
 * @stuck_extra: bios of both @stuck_ios and @extra_ios
 * @stalled: no completion for long, so that no minimum is late because of others; set by
 *	the caller
 * @slice_ns: longest slice; 0: no slices
 * @charge_time: with slices: device time is charged
 * @holder: with slices: slice holder; NULL: none
 * @charged_until_ns: its device time is charged up to here
 * @began_ns: start of its slice while the first bio is measured; else 0
 * @first_ns: completion of the first bio; 0: outstanding
 * @first_bytes: size of the first bio
 * @flush: with slices: see &enum ioband_flush
 * @writer: with slices: leaf that wrote last; NULL: everything is flushed
 * @cached_until: position of the last byte written to a cache, counted from the first one on
 * @clean_until: position up to which the medium has all bytes, or has after the running flush
 * @free_until: position up to which no other leaf, or no synchronous one, was active
 * @flushes: number of completed flushes, with those from above that covered something
 * @flushed_bytes: bytes of the running flush
 * @flushing_ns: start of the running flush
 * @latencies: latency targets
 * @throttle: throttle for one of these
 * @below: flows that do not count in the limit
 */
struct ioband_core {
	const struct ioband_hooks *hooks;
	struct ioband_node root;
	struct rb_root_cached anticipated;
	struct rb_root_cached blocked;
	struct rb_root_cached minima[2];
	bool has_max;
	u32 nr_minima;
	u32 nr_latencies;
	u32 nr_idlers;
	struct list_head idle_nodes;
	u64 idle_until_ns;
	u64 throttle_dirs;
	const struct ioband_leaf *bypass_leaf;
	struct ioband_ent *min_ent;
	u64 min_ent_dirs;
	struct ioband_min *min;
	u64 min_begin_ns;
	u64 min_from_ns;
	u64 now_ns;
	u64 sync_ns;
	bool pauses;
	u32 pausing;
	u64 idle_ns;
	u64 patience_ns;
	u64 told_ns;
	bool late;
	u32 min_ios;
	u32 masked_ios;
	u64 done_ns;
	u64 held_since_ns;
	u64 busy_since_ns;
	u64 gap_ns;
	u64 slack_ns;
	u32 inflight_ios;
	u64 inflight_bytes;
	u64 inflight_cached;
	u32 limit_ios;
	u32 stuck_ios;
	u32 extra_ios;
	u64 extra_bytes;
	u32 swap_ios;
	u32 stuck_extra;
	bool stalled;
	u64 slice_ns;
	bool charge_time;
	struct ioband_leaf *holder;
	u64 charged_until_ns;
	u64 began_ns;
	u64 first_ns;
	u32 first_bytes;
	enum ioband_flush flush;
	struct ioband_leaf *writer;
	u64 cached_until;
	u64 clean_until;
	u64 free_until;
	u32 flushes;
	u64 flushed_bytes;
	u64 flushing_ns;
	struct list_head latencies;
	struct ioband_latency_throttle throttle;
	struct ioband_below below;
};

/* Bios in flight that count in the limit. */
static inline u32 ioband_tree_counted_ios(const struct ioband_core *core)
{
	return core->inflight_ios - core->below.apart_ios;
}

void ioband_tree_init_node(struct ioband_node *node, struct ioband_node *parent, u32 weight);
void ioband_tree_init_leaf(struct ioband_leaf *leaf, struct ioband_node *parent, u32 weight);
void ioband_tree_follow(struct ioband_leaf *leaf, const struct ioband_leaf *other);
void ioband_tree_set_weight(struct ioband_core *core, struct ioband_ent *ent, u32 weight);
u8 ioband_tree_dirs(const struct ioband_core *core, const struct ioband_leaf *leaf);
bool ioband_tree_is_in_debt(const struct ioband_leaf *leaf, bool rivals);

#endif /* DM_IOBAND_SCHED_ENTITY_H */
