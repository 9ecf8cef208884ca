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
 * struct ioband_ent - what competes among the children of a node
 * @rb: place among the parent's live children, while live
 * @parent: the node it competes in; NULL for the root's own
 * @vtime: service received divided by weight (units of charge << 16); compared
 *	by signed difference, so that it may wrap
 * @past: the same among those that go past others, while these wait for the brake or have
 *	nothing waiting of what is promised above
 * @turn: by how much its last turn advanced it
 * @pace: what a unit of charge advances it by: 2^32 / @weight
 * @weight: IOBAND_WEIGHT_MIN..IOBAND_WEIGHT_MAX
 * @cap: what it may have at most; NULL: as much as there is
 * @floor: what it is promised; NULL: its share
 * @aim: what its reads are to take; NULL: as long as it is
 * @waiting: leaves at or below that have a read waiting, in the low half, and those
 *	that have a write, in the high one; without those that are blocked below
 * @thinking: leaves at or below that are expected back within their grace
 * @pausing: of those, the ones that are waited for as they pause; unused in the root
 * @busy: leaves at or below that are not idle
 * @leaf: a leaf's entity (else a node's)
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
 * struct ioband_node - an inner node of the tree
 * @ent: itself, among the children of its parent
 * @live: children with a bio waiting or a leaf thinking, least served first
 * @serving: the child that has the device, with slices; NULL: none
 * @served_ns: of its slice, what is over
 * @served_from: &ioband_ent.vtime of that child, or @past, when its turn began
 * @by_past: that turn began among those that go past others
 * @streams: its children are leaves of one owner: with slices they share time, whatever
 *	is charged above it
 * @to_and_fro: for so many turns more its runs do not go in turn, see sched/ahead.c
 * @cold_turns: how many of these have begun with a seek up to now
 * @in_turn: for so many turns more they do, whatever these begin with
 * @vnow: virtual time of the node, which is where a child starts that was idle
 * @past: the same of what goes past others
 * @weighed_ns: when something of it last went by weight, and not as promised
 * @weigh_until_ns: with slices: until when it goes by weight whatever is promised
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
	IOBAND_IDLE,		/* nothing waits, nothing in flight */
	IOBAND_WAITING,		/* a bio waits */
	IOBAND_INFLIGHT,	/* nothing waits, something is in flight */
	IOBAND_THINKING,	/* the last one completed a moment ago */
};

/**
 * struct ioband_leaf - where bios come from: a queue
 * @ent: itself, among the children of its node
 * @state: see &enum ioband_leaf_state
 * @ways: in which bios wait, as bits
 * @async: what was admitted last was such a write
 * @awaited: if it thinks: it is waited for as it pauses
 * @was_idle: nothing waited and nothing was in flight at some time since it last had the device,
 *	with slices
 * @is_run: each of its bios reads on where the one before has ended
 * @inflight: bios admitted and not yet completed
 * @think: place among the thinking leaves
 * @think_until_ns: when the grace ends
 * @think_ns: how long it has lately taken to come back, averaged
 * @done_ns: when the last bio completed
 * @turn_ns: with slices: when it last had the device
 * @run_ns: with slices: when the last one completed, if others were in flight then
 * @gap_ns: with slices: time from one completion to the next, averaged
 * @destage_ns: with slices: what flushes of what it had written have lately taken
 * @destage_bytes: for so many bytes
 * @prepaid_ns: with slices: of the flush to come, what it has been charged for, or
 *	more, by mistake
 * @flushes: what &ioband_core.flushes was when @prepaid_ns was last brought up to date
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
 * @floor_changed: bios wait below an entity with a minimum, or no longer; without those
 *	that its maximum blocks
 * @cap_changed: the same below an entity with a maximum
 *
 * Both are called with the counters of the entity already changed.  They change nothing in the
 * tree.
 */
struct ioband_hooks {
	void (*floor_changed)(struct ioband_core *core, struct ioband_floor *floor);
	void (*cap_changed)(const struct ioband_core *core, struct ioband_cap *cap);
};

enum ioband_flush {
	IOBAND_FLUSH_NONE,	/* no need */
	IOBAND_FLUSH_DUE,	/* the caller is to flush the devices' write caches */
	IOBAND_FLUSH_RUNNING,	/* it does */
};

/**
 * struct ioband_core - one scheduler
 * @hooks: calls to the policies
 * @root: the tree
 * @thinking: thinking leaves by the end of their grace
 * @blocked: what has had its maximum, by the time until when
 * @floors: who is promised something and is here, or thinks, by when it is due
 * @capped: some entity has a maximum, or had one
 * @promising: how many entities have a minimum
 * @aiming: how many have a latency target
 * @brake_ways: in which ways the brake holds the leaf that was picked last, as halves of
 *	&ioband_ent.waiting
 * @diverted: the leaf that goes past others who wait for the brake, with slices for as long
 *	as it has the turn for that; NULL: none
 * @promised: whose turn it is by what is promised, by weight below; NULL: by weight
 * @promised_ways: in which ways, as halves of &ioband_ent.waiting
 * @promise: what is, while there is @promised
 * @promised_ns: with slices: when that turn began
 * @promised_from_ns: and when something was due then, or what counts of that
 * @kept_ns: when a bio last went for that
 * @apart: by weight, what is promised does not count on the pipe now
 * @now_ns: the time that it was told last
 * @sync_ns: when something that somebody waits for last came to have its turn, or went
 * @pauses: some leaf may be behind by what it missed in a pause
 * @pausing: leaves that are waited for as they pause
 * @idle_ns: since when others have waited for somebody who pauses, or thinks while only
 *	writeback goes, as far as that is not in @patience_ns yet; 0: nobody waits
 * @patience_ns: when it is made up for that the device was idle then
 * @told_ns: when ioband_core_begin() said that it is told of all bios, the last time
 * @late: others are held back, whatever the device could take: for somebody who did not get
 *	what he is promised, although the pipe was not full, or whose reads are late.  For
 *	the caller to clear
 * @promised_ios: of @inflight_ios, those of leaves that are promised something, or below
 *	one that is
 * @done_ns: when a bio last completed
 * @gap_ns: from one completion to the next, averaged
 * @slack_ns: how late a wake-up may be without anybody getting less than a maximum
 * @inflight_ios: bios admitted and not yet completed
 * @inflight_bytes: their bytes
 * @limit_ios: bound on what is in flight, bios; at least 1
 * @stuck_ios: of these, how many nobody waits for when a slice ends
 * @stalled: nothing has completed for long, so that no minimum is late for the sake of others;
 *	the caller's
 * @slice_ns: how long a leaf has the device to itself at most; 0: no slices
 * @charge_time: with slices: what is charged is the time that a leaf had it
 * @owner: with slices: the leaf that has the device; NULL: none
 * @owned_ns: until when it has been charged for that
 * @began_ns: when its turn began, if it is to be seen how long its first bio takes; else 0
 * @first_ns: when that had completed; 0: it has not
 * @first_bytes: and how large it was
 * @flush: with slices: see &enum ioband_flush
 * @writer: with slices: the leaf that has written last; NULL: all of it was flushed
 * @dirty_bytes: what it has written since the last flush began, others' that went out
 *	of turn included
 * @free_bytes: of these, what was written while nobody else was there, or nobody who waits
 * @flushes: how many have ended
 * @flushed_bytes: what the flush that is running is for
 * @flushing_ns: when it began
 * @aims: latency targets
 * @brake: holds back others for one of these
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
