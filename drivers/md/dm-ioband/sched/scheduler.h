/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structure of a scheduler. */
#ifndef DM_IOBAND_SCHED_SCHEDULER_H
#define DM_IOBAND_SCHED_SCHEDULER_H

#include "entity.h"

#define IOBAND_NO_WAKEUP	U64_MAX

struct ioband_core;

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
 * @late: leaves are held back, whatever the limit, for a latency target; or @min_tries has risen,
 *	or the limit of flows has changed (sched/below.c); the caller clears it
 * @min_ios: bios of @inflight_ios that were dispatched for a minimum, without bios of flows that
 *	are apart
 * @masked_ios: most of them when a leaf with some of them was served by weight, while
 *	@min_is_kept; the caller clears it
 * @min_is_kept: at the last pick by weight, no late minimum had left one bio to the others
 * @others_have_one: at some pick by weight one had; the caller clears it
 * @min_tries: active minima of which the smaller limit of the others is tried, see sched/min.c
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
	bool min_is_kept;
	bool others_have_one;
	u32 min_tries;
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

#endif /* DM_IOBAND_SCHED_SCHEDULER_H */
