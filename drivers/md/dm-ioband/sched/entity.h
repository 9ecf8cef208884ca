/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the scheduler's structures: entities, leaves, nodes.
 */
#ifndef DM_IOBAND_SCHED_ENTITY_H
#define DM_IOBAND_SCHED_ENTITY_H

#include "policy.h"

#define IOBAND_NO_WAKEUP	U64_MAX

struct ioband_core;
struct ioband_node;

/**
 * struct ioband_ent - competitor among the children of a node
 * @rb: place among the live children of @parent, while live
 * @parent: node in which it competes; NULL for that of the root
 * @vtime: virtual time, units of charge << 16 divided by weight; may wrap, and is
 *	compared by signed difference
 * @past: bypass vtime: the same among siblings that bypass others, because the throttle
 *	holds these or no bio of these counts for the minimum above
 * @turn: advance of @vtime by its last pick
 * @pace: advance per unit of charge: 2^32 / @weight
 * @weight: IOBAND_WEIGHT_MIN..IOBAND_WEIGHT_MAX
 * @cap: maximum; NULL: none
 * @floor: minimum; NULL: none
 * @aim: latency target of its reads; NULL: none
 * @waiting: leaves at or below it with a queued read, in the low half, and with a queued
 *	write, in the high half; without leaves that are blocked below it
 * @thinking: anticipated leaves at or below it
 * @pausing: leaves of @thinking in writeback idle; unused in the root
 * @busy: leaves at or below it that are not idle
 * @leaf: entity of a leaf, else of a node
 */
struct ioband_ent {
	struct rb_node rb;
	struct ioband_node *parent;
	u64 vtime;
	u64 past;
	u64 turn;
	u64 pace;
	struct ioband_cap *cap;
	struct ioband_floor *floor;
	struct ioband_aim *aim;
	u64 waiting;
	u32 weight;
	u32 thinking;
	u32 pausing;
	u32 busy;
	bool leaf;
};

/**
 * struct ioband_node - inner node of the tree
 * @ent: entity of the node among the children of its parent
 * @live: children that are backlogged or have an anticipated leaf, least served first
 * @serving: with slices: child that has the device; NULL: none
 * @served_ns: elapsed part of its slice
 * @served_from: its &ioband_ent.vtime, or @past, at the start of the slice
 * @by_past: that slice began as a bypass
 * @streams: the children are leaves of one group, which with slices share device time, with
 *	any charge above
 * @to_and_fro: slices left in which runs go to and fro, see sched/ahead.c
 * @cold_turns: slices of these that began with a seek so far
 * @in_turn: slices left in which runs go in turn, even if these begin with a seek
 * @vnow: virtual time of the node, at which idle children restart
 * @past: bypass vtime of the node
 * @weighed_ns: last dispatch below the node by weight instead of a minimum
 * @weigh_until_ns: with slices: end of a period by weight, whatever minimum is due
 */
struct ioband_node {
	struct ioband_ent ent;
	struct rb_root_cached live;
	struct ioband_ent *serving;
	u64 served_ns;
	u64 served_from;
	bool by_past;
	bool streams;
	u32 to_and_fro;
	u32 cold_turns;
	u32 in_turn;
	u64 vnow;
	u64 past;
	u64 weighed_ns;
	u64 weigh_until_ns;
};

enum ioband_leaf_state {
	IOBAND_IDLE,		/* no bio queued or in flight */
	IOBAND_WAITING,		/* a bio is queued */
	IOBAND_INFLIGHT,	/* none queued, some in flight */
	IOBAND_THINKING,	/* the last one completed a moment ago */
};

/**
 * struct ioband_leaf - queue of bios
 * @ent: entity of the leaf among the children of its node
 * @state: see &enum ioband_leaf_state
 * @ways: directions with queued bios, as bits
 * @async: the last bio admitted in turn was asynchronous
 * @awaited: if anticipated: because of writeback idle
 * @was_idle: with slices: was idle at some time since it last had the device
 * @is_run: each bio continues where the one before ended
 * @inflight: bios admitted and not yet completed
 * @think: place among the anticipated leaves
 * @think_until_ns: end of the grace period
 * @think_ns: mean think time
 * @done_ns: time of the last completion
 * @turn_ns: with slices: when it last had the device
 * @run_ns: with slices: time of the last completion, if others were in flight then
 * @gap_ns: with slices: mean time between completions
 * @destage_ns: with slices: duration of the recent flushes of its writes
 * @destage_bytes: bytes of these flushes
 * @prepaid_ns: with slices: charge for the next flush so far; may be too much, by mistake
 * @flushes: &ioband_core.flushes at the last update of @prepaid_ns
 */
struct ioband_leaf {
	struct ioband_ent ent;
	enum ioband_leaf_state state;
	u8 ways;
	bool async;
	bool awaited;
	bool was_idle;
	bool is_run;
	u32 inflight;
	struct rb_node think;
	u64 think_until_ns;
	u64 think_ns;
	u64 done_ns;
	u64 turn_ns;
	u64 run_ns;
	u64 gap_ns;
	u64 destage_ns;
	u64 destage_bytes;
	u64 prepaid_ns;
	u32 flushes;
};

/**
 * struct ioband_hooks - calls from the tree to the policies above it
 * @floor_changed: the bios queued below an entity with a minimum have changed; bios
 *	blocked by its maximum do not count
 * @cap_changed: the bios queued below an entity with a maximum have changed
 *
 * Both are called after the counters of the entity have changed, and must not change the tree.
 */
struct ioband_hooks {
	void (*floor_changed)(struct ioband_core *core, struct ioband_floor *floor);
	void (*cap_changed)(const struct ioband_core *core, struct ioband_cap *cap);
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
 * @thinking: anticipated leaves, by the end of their grace period
 * @blocked: maxima that block a direction, by the end of the block
 * @floors: minima of active or anticipated entities, by due time
 * @capped: some entity has a maximum, or had one
 * @promising: number of minima
 * @aiming: number of latency targets
 * @brake_ways: directions in which the throttle holds the leaf of the last pick, as
 *	halves of &ioband_ent.waiting
 * @diverted: leaf that bypasses throttled leaves, with slices until its slice ends; NULL: none
 * @promised: entity served for a minimum, by weight below; NULL: service by weight
 * @promised_ways: directions of that minimum, as halves of &ioband_ent.waiting
 * @promise: that minimum, while @promised is set
 * @promised_ns: with slices: start of the slice of @promised
 * @promised_from_ns: its due time at the start of the slice, as far as it counts
 * @kept_ns: last dispatch for a minimum
 * @apart: for picks by weight, bios of leaves with a minimum do not count against the limit
 * @now_ns: time of the last call
 * @sync_ns: last arrival, or dispatch in turn, of a synchronous bio
 * @pauses: some leaf may lag because of a pause
 * @pausing: anticipated leaves in writeback idle
 * @idle_ns: start of idling while only writeback is active, as far as @patience_ns does
 *	not include it; 0: the device does not idle
 * @patience_ns: when that idling is compensated
 * @told_ns: time of the last ioband_core_begin()
 * @late: leaves are held back, whatever the depth of the device: for a minimum that is
 *	late although its limit is not reached, or for a late latency target; the caller
 *	clears it
 * @promised_ios: bios of @inflight_ios with a minimum at or above their leaf
 * @done_ns: time of the last completion
 * @gap_ns: mean time between completions
 * @slack_ns: delay of a wake-up that costs no group a part of its maximum
 * @inflight_ios: bios admitted and not yet completed
 * @inflight_bytes: bytes of these bios
 * @limit_ios: bound on @inflight_ios, at least 1
 * @stuck_ios: bios in flight for which the end of a slice does not wait
 * @stalled: no completion for long, so that no minimum is late because of others; set by
 *	the caller
 * @slice_ns: longest slice; 0: no slices
 * @charge_time: with slices: device time is charged
 * @owner: with slices: slice holder; NULL: none
 * @owned_ns: its device time is charged up to here
 * @began_ns: start of its slice while the first bio is measured; else 0
 * @first_ns: completion of the first bio; 0: outstanding
 * @first_bytes: size of the first bio
 * @flush: with slices: see &enum ioband_flush
 * @writer: with slices: leaf that wrote last; NULL: everything is flushed
 * @dirty_bytes: bytes written since the last flush began, with those of other leaves out of turn
 * @free_bytes: bytes of @dirty_bytes written while no other leaf, or no synchronous one,
 *	was active
 * @flushes: number of completed flushes
 * @flushed_bytes: bytes of the running flush
 * @flushing_ns: start of the running flush
 * @aims: latency targets
 * @brake: throttle for one of these
 */
struct ioband_core {
	const struct ioband_hooks *hooks;
	struct ioband_node root;
	struct rb_root_cached thinking;
	struct rb_root_cached blocked;
	struct rb_root_cached floors;
	bool capped;
	u32 promising;
	u32 aiming;
	u64 brake_ways;
	const struct ioband_leaf *diverted;
	struct ioband_ent *promised;
	u64 promised_ways;
	struct ioband_floor *promise;
	u64 promised_ns;
	u64 promised_from_ns;
	u64 kept_ns;
	bool apart;
	u64 now_ns;
	u64 sync_ns;
	bool pauses;
	u32 pausing;
	u64 idle_ns;
	u64 patience_ns;
	u64 told_ns;
	bool late;
	u32 promised_ios;
	u64 done_ns;
	u64 gap_ns;
	u64 slack_ns;
	u32 inflight_ios;
	u64 inflight_bytes;
	u32 limit_ios;
	u32 stuck_ios;
	bool stalled;
	u64 slice_ns;
	bool charge_time;
	struct ioband_leaf *owner;
	u64 owned_ns;
	u64 began_ns;
	u64 first_ns;
	u32 first_bytes;
	enum ioband_flush flush;
	struct ioband_leaf *writer;
	u64 dirty_bytes;
	u64 free_bytes;
	u32 flushes;
	u64 flushed_bytes;
	u64 flushing_ns;
	struct list_head aims;
	struct ioband_brake brake;
};

void ioband_node_init(struct ioband_node *node, struct ioband_node *parent, u32 weight);
void ioband_leaf_init(struct ioband_leaf *leaf, struct ioband_node *parent, u32 weight);
void ioband_leaf_follow(struct ioband_leaf *leaf, const struct ioband_leaf *other);
void ioband_ent_set_weight(struct ioband_ent *ent, u32 weight);
u8 ioband_leaf_may(const struct ioband_core *core, const struct ioband_leaf *leaf);
bool ioband_leaf_owes_much(const struct ioband_leaf *leaf);

#endif /* DM_IOBAND_SCHED_ENTITY_H */
