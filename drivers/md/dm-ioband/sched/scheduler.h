/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structure of a scheduler. */
#ifndef DM_IOBAND_SCHED_SCHEDULER_H
#define DM_IOBAND_SCHED_SCHEDULER_H

#include "entity.h"

#define IOBAND_NO_WAKEUP	U64_MAX

struct ioband_core;

/* Flows of which the bios do not count in the limit. */
struct ioband_below {
	struct list_head leaves;	/* leaves with bios queued or in flight, at least */
	struct ioband_trips trips;	/* trips counted */
	struct ioband_trips told;	/* the same at ioband_core_begin() */
	u32 flows;			/* number of flows in flight that are not apart */
	u32 apart;			/* number of flows that are apart */
	u32 apart_ios;			/* bios of these in flight */
	u32 slow_looks;	/* in a row, at which flows that may be apart had all in flight but one */
	u32 others;		/* bios completed of other flows since a slot was left empty */
	u64 hole_until_ns;		/* a slot is empty until then; 0: none is */
	u64 done_ns;			/* last completion of a bio that was not beyond the limit */
	struct ioband_leaf *probe;	/* may have one bio beyond the limit; NULL: none */
};

/* Calls from the tree to the policies above it.  The first three must not change the tree. */
struct ioband_hooks {
	/* the bios queued below the entity, without bios that its maximum blocks, have changed */
	void (*min_changed)(struct ioband_core *core, struct ioband_min *min);
	/* the directions in which bios queued below the entity may be dispatched have changed */
	void (*min_gated)(struct ioband_ent *ent);
	/* all bios queued below the entity have changed */
	void (*max_changed)(const struct ioband_core *core, struct ioband_max *max);
	/* counters of an entity and above have changed; may let an idle class yield, or serve it */
	void (*idle_changed)(struct ioband_core *core, struct ioband_ent *ent);
};

enum ioband_flush {
	IOBAND_FLUSH_NONE,	/* no need */
	IOBAND_FLUSH_DUE,	/* the caller is to flush the devices' write caches */
	IOBAND_FLUSH_RUNNING,	/* the caller flushes them */
};

/* One scheduler. */
struct ioband_core {
	const struct ioband_hooks *hooks;
	struct ioband_node root;
	/* leaves, by the end of their grace period; [1]: in writeback idle */
	struct rb_root_cached anticipated[2];
	struct rb_root_cached blocked;	/* maxima, by the end of the block */
	struct rb_root_cached flying;	/* due minima without queued bios, by due time */
	u64 min_order;			/* the last &ioband_min.order */
	bool has_max;			/* some entity has a maximum, or had one */
	u32 nr_minima;
	u32 nr_latencies;
	u32 nr_idlers;			/* entities in the idle class */
	struct list_head idle_nodes;	/* nodes with such children */
	u32 nr_idle_nodes;
	u32 idle_left;	/* of these, left to look at since @idle_until_ns was over */
	u64 idle_until_ns;		/* when one of these may cease to yield without a call */
	/* in which the throttle holds the last picked leaf, as in @waiting */
	u64 throttle_dirs;
	/* bypasses throttled leaves, with slices until its slice ends */
	const struct ioband_leaf *bypass_leaf;
	/* served for a minimum, by weight below; NULL: service by weight */
	struct ioband_ent *min_ent;
	u64 min_ent_dirs;		/* directions of that minimum, as in @waiting */
	struct ioband_min *min;		/* that minimum, while @min_ent is set */
	u64 min_begin_ns;		/* with slices: start of the slice of @min_ent */
	u64 min_from_ns;		/* its due time then, as far as it counts */
	u64 now_ns;			/* time of the last call */
	u64 sync_ns;		/* last arrival, or dispatch in turn, of a synchronous bio */
	bool pauses;			/* some leaf may lag because of a pause */
	u32 pausing;			/* anticipated leaves in writeback idle */
	u64 idle_ns;		/* since when the device idles for writeback only; 0: it does not */
	u64 patience_ns;		/* when that idling is compensated */
	u64 told_ns;			/* time of the last ioband_core_begin() */
	/* set for the caller: a latency target holds leaves, or a limit has changed */
	bool late;
	u32 min_ios;		/* bios in flight for a minimum, without those of flows apart */
	/* most of them when such a leaf was served by weight, if kept; the caller clears it */
	u32 masked_ios;
	/* at the last pick by weight, no late minimum left one bio to the others */
	bool min_is_kept;
	bool others_have_one;		/* at some pick by weight one did; the caller clears it */
	u32 min_tries;	/* active minima that try the smaller limit of the others (sched/min.c) */
	u64 done_ns;			/* time of the last completion */
	u64 held_since_ns;	/* last arrival, or end of a block, before which none was queued */
	u64 busy_since_ns;		/* last dispatch before which no bio was in flight */
	u64 gap_ns;			/* mean time between completions */
	u64 slack_ns;		/* delay of a wake-up that costs no group a part of its maximum */
	u32 inflight_ios;		/* bios admitted and not yet completed */
	u64 inflight_bytes;		/* bytes of these bios */
	u64 inflight_cached;		/* of these, bytes that may complete in a cache */
	u32 limit_ios;			/* bound on ioband_tree_counted_ios(), at least 1 */
	u32 stuck_ios;		/* bios in flight for which the end of a slice does not wait */
	u32 extra_ios;	/* those of @inflight_ios beyond the limit: without data, or to swap */
	u64 extra_bytes;		/* bytes of these bios */
	u32 swap_ios;			/* those of these bios that are writes to swap */
	u32 stuck_extra;		/* bios of both @stuck_ios and @extra_ios */
	bool stalled;		/* set by the caller: no completion for long, no minimum is late */
	u64 slice_ns;			/* longest slice; 0: no slices */
	bool charge_time;		/* with slices: device time is charged */
	struct ioband_leaf *holder;	/* with slices: slice holder; NULL: none */
	u64 charged_until_ns;		/* its device time is charged up to here */
	u64 began_ns;		/* start of its slice while the first bio is measured; else 0 */
	u64 first_ns;			/* completion of the first bio; 0: outstanding */
	u32 first_bytes;		/* size of the first bio */
	enum ioband_flush flush;
	struct ioband_leaf *writer;	/* leaf that wrote last; NULL: everything is flushed */
	u64 cached_until;		/* bytes written to caches since the first one */
	u64 clean_until;	/* of these, up to here on the medium, or after the running flush */
	u64 free_until;		/* up to here no other leaf, or no synchronous one, was active */
	u32 flushes;			/* completed flushes that covered something */
	u64 flushed_bytes;		/* bytes of the running flush */
	u64 flushing_ns;		/* start of the running flush */
	struct list_head latencies;
	struct ioband_latency_round round;
	struct ioband_latency_throttle throttle;	/* for one of @latencies */
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
