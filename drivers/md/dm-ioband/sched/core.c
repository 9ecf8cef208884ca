// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the scheduler.  The target calls it, under the pool's lock.
 *
 * Why it is hard
 * --------------
 * A block device serves many I/Os at once, in its own order, and a submitter with more I/Os in
 * flight gets more of it.  If every bio is dispatched on arrival, the queue of the device decides,
 * and weights have no effect.  If too few bios are dispatched, the device idles.  So for each bio
 * the scheduler decides how much may be in flight, and which leaf is served next.
 *
 * 1. Which leaf is next: weighted virtual time, in a tree
 * -------------------------------------------------------
 * Every entity (a group, or a leaf with bios of the group itself) has a virtual time: the service
 * that it received, divided by its weight.  At each level of the tree, the child with the least
 * virtual time is next: start-time fair queueing (Goyal, Vin & Cheng, SIGCOMM'96).  The service of
 * a leaf is charged to the leaf and to each entity above it.
 *
 *	Two groups have weights 200 and 100, bios of 64 KiB, and are always backlogged.  A bio
 *	advances the first group by 65536/200 = 328, the second by 65536/100 = 655:
 *
 *	served	a   b   a   a   b   a   a   b ...
 *	a at    328     655 983     1311 ...		(a wins ties)
 *	b at        655             1311 ...
 *
 * Group a gets two bios for each bio of b.  Sizes do not matter: a bio of 128 KiB advances a group
 * twice as far.  The error is one bio, and does not grow.
 *
 * Service is counted in tokens when it is spent: bytes, I/Os or nanoseconds of device time, by the
 * measure of the pool (sched/cost.h).  Tokens are not issued in advance: this would need the rate
 * of the device, and those of idle groups would be lost.  Only a configured rate, a maximum
 * (sched/max.c) or a minimum (sched/min.c), has a token bucket, kept as the time at which its I/O
 * is paid for.
 *
 * Each node compares only its backlogged children, so the share of an idle group goes to its
 * siblings first.
 *
 *	root -- A (200) -- A1 (100)		all busy:  A1 1/3  A2 1/3  B 1/3
 *	     |          `- A2 (100)		A2 idle:   A1 2/3          B 1/3
 *	     `- B (100)				A idle:                    B all
 *
 * A node has a virtual time too, which follows the child that is served.  Idle time earns no
 * service: an entity that was idle restarts at the virtual time of its node, unless it leads.  An
 * entity that kept bios in flight but took less than its share may lag by IOBAND_LAG_MAX at most,
 * so that it does not starve its siblings afterwards.  A flusher may lag by far more while dirty
 * throttling makes its tasks sleep, and the device idles for it (sched/pause.c).
 *
 * Bios on which other tasks depend are dispatched out of turn (ioband_core_admit_now()), and become
 * a debt, bounded by IOBAND_DEBT_MAX.  The entity advances, the virtual time of its node does not,
 * and the entity is not served until its siblings catch up.  While no sibling is busy, the node
 * follows, and no debt remains.
 *
 *	a writes 1 MiB of journal out of turn: it advances by 5243, the node by nothing.  8 bios of
 *	b (8 * 655) are served before the next bio of a.
 *
 * When a weight changes, the lead or lag of the entity is scaled to the new weight, which has
 * effect from the next bio on.
 *
 * 2. How much at once: the in-flight limit
 * ----------------------------------------
 * The least served backlogged leaf may dispatch a bio while less than the limit is in flight
 * (SFQ(D): Jin, Chase & Kaur, SIGMETRICS'04).  The limit is the depth at which the device reaches
 * full throughput; sched/depth.c finds it.  The test precedes the addition of the bio, so a bio of
 * any size can be dispatched.
 *
 * One bio also counts for each *anticipated* leaf with less service than the candidate: its last
 * bio completed a moment ago, and its recent think times predict the next bio soon.  A synchronous
 * reader, which never has more than one bio, thus keeps its place while it computes.  Otherwise
 * other leaves would fill the limit in each gap, and its weight would have no effect (the deceptive
 * idleness of Iyer & Druschel, SOSP'01).  A leaf is anticipated for its grace period: twice its
 * mean think time, plus IOBAND_GRACE_MIN_NS.
 *
 *	limit 2 bios; a (vtime 100) is anticipated; b (vtime 200) has 8 bios queued, 1 in flight: 1
 *	+ 1 = 2 count, b stays queued.  After 20 us a has a bio: 1 < 2, a is served.  Without a bio
 *	of a within 70 us, b would have been served.
 *
 * Anticipation costs a slot that stays empty, and saves the next bio of the leaf the wait for a
 * free one.  That can be worth it only if the think time is no longer than the time until a slot is
 * free, about the mean time between two completions (core_patience(); cost and benefit are from
 * Iyer & Druschel too).  The next bio of a leaf with a longer think time soon finds a slot, and is
 * the first to get it.
 *
 *	NVMe, 3200 MB/s; one leaf reads 64 KiB with 64 outstanding, 20 us between completions; 8
 *	leaves read 4 KiB with a think time of 800 us.  With anticipation these took 8 slots of any
 *	limit: with 8 or fewer, 62 MB/s in all.  Without anticipation it is 3190 MB/s, and each of
 *	the 8 has 0.94 of its throughput alone.  On a device of 100 MB/s, with 655 us between
 *	completions, the same leaves are anticipated.
 *
 * A leaf is not anticipated either if it was idle before writes out of turn, such as those of a
 * journal: its next write of this kind does not wait for a slot.  A reader is still anticipated
 * after metadata that it reads.
 *
 *	A disk that takes a millisecond for each bio, with a limit of 1; a task writes 4 KiB and
 *	waits for fsync: data, the journal's block, a flush, the commit's block, 4.1 ms.  With
 *	anticipation of the journal's thread, the data of the next round waited for 1.9 ms.
 *
 * A flusher in writeback idle occupies the whole limit.  Bios that a policy below ioband delays
 * (io.max of the disk below) do not count for long (sched/below.c).
 *
 * A disk with a head needs another rule: each leaf has the disk to itself for a slice
 * (sched/slice.c).  Maxima (sched/max.c) and minima (sched/min.c) precede all these decisions.  The
 * idle class gets service while other siblings have no bios (sched/idle.c).  Latency targets follow
 * all of these: a late target holds back other leaves (sched/latency.c).  Discards have rules of
 * their own (sched/discard.c).
 *
 * 3. The duties of the caller
 * ---------------------------
 * The caller reports when the scheduler starts to see all bios (ioband_core_begin()), and each bio
 * that it queues (ioband_core_wait()).  It asks for the next leaf (ioband_core_pick()) until none
 * is returned, and reports each dispatched bio (ioband_core_admit()) and each completion
 * (ioband_core_complete()).  If only anticipation prevents a dispatch, ioband_core_pick() returns
 * the time of the next call.  With slices, the caller also asks for flushes of the devices' write
 * caches (ioband_slice_start_flush()).  For latency targets, it reports the latency of each read
 * (ioband_latency_sample()).  It calls ioband_latency_look() and ioband_below_look() every few
 * milliseconds.  It may read the clock before it takes its lock: times may go back a little between
 * calls.
 */
#include "core.h"

#include "tree.h"

/*
 * On an idle CPU, wake-up and scheduling of a reader take some 10 us.  A shorter think time
 * cannot be measured.
 */
#define IOBAND_GRACE_MIN_NS	(30 * NSEC_PER_USEC)

/* The longest think time with anticipation, however slow the device. */
#define IOBAND_GRACE_MAX_NS	(2 * NSEC_PER_MSEC)

/*
 * Without slices, anticipation ends at a think time of this many gaps between completions.  In
 * the simulator 1, 2 and 4 do equally well.
 */
#define IOBAND_GRACE_GAPS	2

/*
 * The sample of a think time is clamped to this many times core_patience(): after a longer gap,
 * the leaf was idle.  A fifth of a sample enters the mean.  So one idle period does not end the
 * anticipation of a leaf with a think time of a quarter of core_patience() or less.  Otherwise
 * each of its first bios after that would lose its place.
 */
#define IOBAND_THINK_LIMIT	4

/* Called when the bios of an entity change. */
static const struct ioband_hooks core_hooks = {
	.min_changed	= ioband_min_update,
	.min_gated	= ioband_min_gate,
	.max_changed	= ioband_max_note,
	.idle_changed	= ioband_idle_update,
};

/* An empty tree without a limit. */
void ioband_core_init(struct ioband_core *core)
{
	*core = (struct ioband_core) {
		.hooks = &core_hooks,
		.anticipated = { RB_ROOT_CACHED, RB_ROOT_CACHED },
		.blocked = RB_ROOT_CACHED,
		.flying = RB_ROOT_CACHED,
		.min_ent_dirs = U64_MAX,
		.idle_until_ns = IOBAND_NO_WAKEUP,
	};
	INIT_LIST_HEAD(&core->latencies);
	INIT_LIST_HEAD(&core->idle_nodes);
	INIT_LIST_HEAD(&core->below.leaves);
	ioband_tree_init_node(&core->root, NULL, IOBAND_WEIGHT_DEFAULT);
	ioband_core_set_limit(core, U32_MAX, 0);
}

/*
 * Bound the bios in flight to @ios, at least 1, and @stuck_ios at devices that do not answer.  Bios
 * without data do not count either.  In force from the next ioband_core_pick() on.
 */
void ioband_core_set_limit(struct ioband_core *core, u32 ios, u32 stuck_ios)
{
	const u32 more = stuck_ios + core->extra_ios - core->stuck_extra;

	core->limit_ios = ios < U32_MAX - more ? max(ios, 1U) + more : U32_MAX;
	core->stuck_ios = stuck_ios;
}

/* The longest think time with anticipation, ns. */
static u64 core_patience(const struct ioband_core *core)
{
	const u64 turnover_ns = IOBAND_GRACE_GAPS * core->gap_ns + IOBAND_GRACE_MIN_NS;

	return core->slice_ns ? IOBAND_GRACE_MAX_NS : min_t(u64, turnover_ns, IOBAND_GRACE_MAX_NS);
}

/*
 * Update the mean think time, over about the last five gaps.  A gap that began before
 * ioband_core_begin() does not count: the scheduler may have missed bios.  A gap in writeback
 * idle counts as 0.
 */
static void leaf_learn_think(const struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	u64 gap = now_ns > leaf->done_ns ? now_ns - leaf->done_ns : 0;

	if (gap <= IOBAND_PAUSE_WAIT_NS && ioband_pause_may_idle(core, leaf))
		gap = 0;
	gap = min(gap, IOBAND_THINK_LIMIT * core_patience(core));
	if (leaf->done_ns > core->told_ns)
		leaf->think_ns = (leaf->think_ns * 4 + gap) / 5;
}

/* A leaf without queued bios gets one. */
static void leaf_arrive(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	const u64 pause_lag = ioband_pause_lag(core, leaf, now_ns);

	if (!leaf->inflight)
		leaf_learn_think(core, leaf, now_ns);
	ioband_tree_catch_up(&leaf->ent, pause_lag);
	core->pauses |= pause_lag;
	if (list_empty(&leaf->below))
		list_add_tail(&leaf->below, &core->below.leaves);
}

/* The directions of queued bios in which the leaf may have more in flight. */
static u8 leaf_open(const struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs)
{
	return likely(!leaf->apart_dirs) ? dirs : ioband_below_open(core, leaf, dirs);
}

/* The leaf of which the grace period, or the writeback idle, ends first, or NULL. */
static struct ioband_leaf *first_anticipated(const struct ioband_core *core, bool pausing)
{
	const struct rb_node *first = rb_first_cached(&core->anticipated[pausing]);

	return first ? rb_entry(first, struct ioband_leaf, grace) : NULL;
}

static void core_end_graces(struct ioband_core *core, u64 now_ns)
{
	u32 some = IOBAND_CHUNK;

	for (int pausing = 0; pausing < 2; pausing++) {
		struct ioband_leaf *leaf;

		while (some && (leaf = first_anticipated(core, pausing))) {
			if (leaf->grace_until_ns > now_ns)
				break;
			ioband_tree_set_state(core, leaf, IOBAND_LEAF_IDLE, 0);
			some--;
		}
	}
}

/* End grace periods that are over.  Called before each charge, which depends on the idle leaves. */
static void core_expire(struct ioband_core *core, u64 now_ns)
{
	if (unlikely(core->holder))
		ioband_slice_charge(core, now_ns);
	if (rb_first_cached(&core->anticipated[false]) || rb_first_cached(&core->anticipated[true]))
		core_end_graces(core, now_ns);
}

/* End the idling for throttled writeback; leaves in normal anticipation keep their grace period. */
void ioband_core_end_pauses(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf;

	for (u32 some = IOBAND_CHUNK; some && (leaf = first_anticipated(core, true)); some--) {
		if (core->holder == leaf)
			ioband_slice_charge(core, now_ns);
		ioband_tree_set_state(core, leaf, IOBAND_LEAF_IDLE, 0);
	}
}

/* Take a leaf without bios, queued or in flight, out of its tree for good. */
void ioband_core_remove_leaf(struct ioband_core *core, struct ioband_leaf *leaf)
{
	ioband_tree_set_state(core, leaf, IOBAND_LEAF_IDLE, 0);
	ioband_below_remove(core, leaf);
	if (core->writer == leaf)
		core->writer = NULL;
	if (core->bypass_leaf == leaf)
		core->bypass_leaf = NULL;
}

/* The caller reports all bios from now on.  It may have dispatched others before. */
void ioband_core_begin(struct ioband_core *core, u64 now_ns)
{
	core->told_ns = now_ns;
	core->below.told = core->below.trips;
	core->pauses = false;
	ioband_core_note_sync(core, now_ns);
}

/* The first bio in a direction is queued, or may be dispatched again. */
void ioband_core_wait_first(struct ioband_core *core, struct ioband_leaf *leaf,
			    enum ioband_dir dir, u64 now_ns)
{
	const u8 dirs = leaf_open(core, leaf, leaf->dirs | leaf->full_dirs | 1 << dir);

	if (dirs == leaf->dirs)
		return;
	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {
		if (core->slice_ns)
			core_expire(core, now_ns);
		leaf_arrive(core, leaf, now_ns);
		if (core->slice_ns && dir == IOBAND_DIR_READ)
			ioband_slice_arrive(core, leaf);
	}
	if (!ioband_core_has_waiting(core))
		core->held_since_ns = now_ns;
	ioband_tree_show(core, leaf, dirs);
}

/* ---- questions and reports of the caller ---------------------------------- */

static struct ioband_leaf *core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	u32 ios = ioband_tree_counted_ios(core), limit = core->limit_ios;
	struct ioband_ent *ent = &core->root.ent;
	struct ioband_leaf *leaf;
	u64 open = U64_MAX;

	*wake_ns = IOBAND_NO_WAKEUP;
	if (unlikely(core->below.hole_until_ns))
		ios += ioband_below_hole(core, now_ns, wake_ns);
	if (!ent->waiting || (ios >= limit && (core->slice_ns || likely(!core->nr_minima)))) {
		if (likely(!core->below.probe))
			return NULL;
		core_expire(core, now_ns);
		return ioband_below_probe(core);
	}
	core_expire(core, now_ns);
	if (unlikely(core->idle_ns))
		ioband_pause_end_idle(core, now_ns);
	if (unlikely(core->pausing) && ent->waiting & ioband_tree_dir_mask(IOBAND_DIR_READ))
		ioband_core_end_pauses(core, now_ns);
	if (core->slice_ns)
		return ioband_slice_pick(core, now_ns, wake_ns);
	if (unlikely(core->nr_minima)) {
		ent = ioband_min_pick(core, now_ns, &ios, &limit);
		if (!ent)
			return ioband_below_probe(core);
		open = core->min_ent_dirs;
	}
	leaf = ioband_tree_leaf_below(ent, open, core_bypasses(core), ios, limit);
	if (!leaf) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = min(*wake_ns, ioband_tree_grace_ends(core));
		return NULL;
	}
	if (unlikely(core->nr_latencies))
		leaf = ioband_latency_divert(core, leaf, ios, limit, now_ns, wake_ns);
	return leaf;
}

/* The same with maxima, pauses or the idle class. */
static noinline struct ioband_leaf *core_pick_open(struct ioband_core *core, u64 now_ns,
						   u64 *wake_ns)
{
	u32 some = IOBAND_CHUNK;
	struct ioband_leaf *leaf;

	ioband_max_expire(core, now_ns);
	if (core->nr_idlers) {	/* all queued bios may be theirs, until a grace period ends */
		core_expire(core, now_ns);
		ioband_idle_expire(core, now_ns);
	}
	/* Time under a maximum earns no service, nor does a pause before a synchronous bio. */
	do
		leaf = core_pick(core, now_ns, wake_ns);
	while (leaf && ioband_tree_catch_up(&leaf->ent, ioband_pause_lag(core, leaf, now_ns)) &&
	       --some);
	if (leaf)
		return leaf;
	*wake_ns = min(*wake_ns, ioband_max_wake_ns(core));
	if (core->nr_idlers) {
		*wake_ns = min(*wake_ns, ioband_idle_wake_ns(core, now_ns));
		*wake_ns = min(*wake_ns, ioband_tree_grace_ends(core));
	}
	return NULL;
}

/*
 * Choose the leaf that is served next.  The caller dispatches its next bio, in a direction of
 * ioband_tree_dirs(), and calls ioband_core_admit().  If it is NULL, @wake_ns is the time of the
 * next call, or IOBAND_NO_WAKEUP if only an arrival, a completion or ioband_latency_look() can
 * change the answer.
 */
struct ioband_leaf *ioband_core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	core->now_ns = now_ns;
	if (likely(!core->has_max && !core->pauses && !core->nr_idlers))
		return core_pick(core, now_ns, wake_ns);
	return core_pick_open(core, now_ns, wake_ns);
}

static void leaf_charge_maxima(struct ioband_core *core, struct ioband_leaf *leaf,
			       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->max)
			ioband_max_charge(core, ent->max, bill, in_turn, now_ns);
}

/* Does the bio not count in the limit?  The bound is in sched/discard.c, or that of the caller. */
static bool bill_is_extra(const struct ioband_bill *bill)
{
	return unlikely(bill->no_data || bill->swap);
}

/* A policy below decides when the bio completes (sched/below.c). */
static bool bill_is_apart(const struct ioband_leaf *leaf, const struct ioband_bill *bill)
{
	return leaf->apart_dirs & 1 << bill->dir && !bill_is_extra(bill);
}

static void leaf_charge_minima(struct ioband_core *core, struct ioband_leaf *leaf,
			       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	bool by_weight = in_turn;

	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		by_weight &= ent != core->min_ent;
		if (by_weight)
			ent->parent->by_weight_ns = now_ns;
		if (ent->min)
			ioband_min_charge(core, ent->min, bill, !bill_is_apart(leaf, bill), now_ns);
	}
}

/* Some entity has a limit or a minimum. */
static bool core_has_limits(const struct ioband_core *core)
{
	return core->has_max || core->nr_minima || core->nr_latencies;
}

static void leaf_charge_limits(struct ioband_core *core, struct ioband_leaf *leaf,
			       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	if (core->has_max)
		leaf_charge_maxima(core, leaf, bill, in_turn, now_ns);
	if (core->nr_minima)
		leaf_charge_minima(core, leaf, bill, in_turn, now_ns);
	if (core->nr_latencies)
		ioband_latency_charge(core, leaf, bill, now_ns);
}

static void leaf_complete_minima(struct ioband_core *core, struct ioband_leaf *leaf,
				 const struct ioband_bill *bill, u64 now_ns)
{
	core->now_ns = now_ns;
	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->min)
			ioband_min_count(core, ent->min, -!bill_is_apart(leaf, bill));
}

/* Those of a flow that is apart do not count in any limit of the pool. */
static void flow_count_min(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
			   int ios)
{
	leaf->flows[dir].min_ios += ios;
	if (likely(!(leaf->apart_dirs & 1 << dir)))
		core->min_ios += ios;
}

/* Bios without data, and writes to swap, do not use up the limit. */
static void core_count_extra(struct ioband_core *core, struct ioband_leaf *leaf,
			     const struct ioband_bill *bill, int ios)
{
	leaf->swap_ios += bill->swap ? ios : 0;
	core->swap_ios += bill->swap ? ios : 0;
	core->extra_ios += ios;
	core->extra_bytes += ios * (s64)bill->bytes;
	if (core->limit_ios < U32_MAX)
		core->limit_ios += ios;
}

static __always_inline void core_launch(struct ioband_core *core, struct ioband_leaf *leaf,
					const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	if (unlikely(core_has_limits(core)))
		leaf_charge_limits(core, leaf, bill, in_turn, now_ns);
	if (!core->inflight_ios++)
		core->busy_since_ns = now_ns;
	core->inflight_bytes += bill->bytes;
	core->inflight_cached += bill->cached ? bill->bytes : 0;
	leaf->inflight++;
	if (bill_is_extra(bill))
		core_count_extra(core, leaf, bill, 1);
	else
		ioband_below_launch(core, leaf, bill->dir, now_ns);
	if (in_turn) {
		leaf->async = bill->async;
		leaf->only_urgent = false;
	}
	if (in_turn && !bill->async)
		ioband_core_note_sync(core, now_ns);
	if (core->slice_ns) {
		ioband_slice_admit(leaf, in_turn && !bill->no_data, now_ns);
		if (bill->cached)
			ioband_slice_dirty(core, leaf, bill->bytes, in_turn);
	}
	ioband_tree_charge(core, leaf, bill->charge, false, in_turn);
	if (core->slice_ns && !in_turn)		/* no slice measures its device time */
		ioband_tree_charge(core, leaf, ioband_slice_charge_urgent(leaf), true, false);
	if (unlikely(core->nr_idlers))
		ioband_idle_count(core, leaf, true, now_ns);
}

/*
 * The next bio of the picked leaf is dispatched; @dirs still have queued bios, as bits.  Return:
 * &ioband_bill.for_min of the bio, for its completion.
 */
bool ioband_core_admit(struct ioband_core *core, struct ioband_leaf *leaf,
		       const struct ioband_bill *bill, u8 dirs, u64 now_ns)
{
	const bool for_min = core->min_ent && !bill_is_extra(bill);

	core_launch(core, leaf, bill, true, now_ns);
	if (unlikely(for_min))
		flow_count_min(core, leaf, bill->dir, 1);
	else if (unlikely(leaf->flows[bill->dir].min_ios) && core->min_is_kept)
		core->masked_ios = max(core->masked_ios, core->min_ios);
	ioband_tree_show(core, leaf, leaf_open(core, leaf, dirs));
	return for_min;
}

/*
 * A bio on which other tasks depend is dispatched out of turn.  The charge is a debt in the virtual
 * time of the leaf and of the groups above it, and delays their next bios.
 */
void ioband_core_admit_now(struct ioband_core *core, struct ioband_leaf *leaf,
			   const struct ioband_bill *bill, u64 now_ns)
{
	core->now_ns = now_ns;
	core_expire(core, now_ns);
	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {
		leaf->only_urgent |= leaf->state == IOBAND_LEAF_IDLE &&
				     bill->dir == IOBAND_DIR_WRITE;
		leaf_arrive(core, leaf, now_ns);
		ioband_tree_set_state(core, leaf, IOBAND_LEAF_INFLIGHT, 0);
	}
	core_launch(core, leaf, bill, false, now_ns);
}

/*
 * Queued bios of a leaf were removed, or may not be dispatched for now: the device is blocked, or a
 * worker sleeps.  Only those in @dirs, as bits, may be.  The others count again from
 * ioband_core_wait() on; the leaf is not compensated for that time.
 */
void ioband_core_withdraw(struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs)
{
	if (leaf->state != IOBAND_LEAF_BACKLOGGED) {
		leaf->full_dirs &= dirs;	/* the next completion shows the rest */
		return;
	}
	ioband_tree_show(core, leaf, leaf_open(core, leaf, dirs));
}

/*
 * Update the mean time between completions, over about the last 16.  @ios, at least 1, have
 * completed since the last call, the latest of them at @now_ns.
 */
void ioband_core_learn_gap(struct ioband_core *core, u32 ios, u64 now_ns)
{
	const u64 gap_ns = now_ns > core->done_ns ? div_u64(now_ns - core->done_ns, ios) : 0;

	/* After 64 of them, 2 % of the former mean is left. */
	for (u32 i = 0; i < min(ios, 64U); i++)
		core->gap_ns = (15 * core->gap_ns + min_t(u64, gap_ns, IOBAND_GRACE_MAX_NS)) / 16;
	core->done_ns = max(core->done_ns, now_ns);
}

/* The last bio of a leaf has completed: the leaf is anticipated, or idle. */
static void leaf_begin_grace(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	u64 grace_ns = min(2 * leaf->think_ns + IOBAND_GRACE_MIN_NS, (u64)IOBAND_GRACE_MAX_NS);

	if (leaf->only_urgent || leaf->think_ns > core_patience(core) ||
	    (unlikely(core->nr_idlers) && ioband_idle_yields(leaf))) {
		if (core->holder == leaf)
			ioband_slice_charge(core, now_ns);
		ioband_tree_set_state(core, leaf, IOBAND_LEAF_IDLE, 0);
		return;
	}
	leaf->pause_anticipated = ioband_pause_begins(core, leaf, now_ns);
	if (leaf->pause_anticipated)
		grace_ns = IOBAND_PAUSE_WAIT_NS;
	leaf->grace_until_ns = now_ns + grace_ns;
	ioband_tree_set_state(core, leaf, IOBAND_LEAF_ANTICIPATED, 0);
}

static void leaf_complete_guarantees(struct ioband_core *core, struct ioband_leaf *leaf,
				     const struct ioband_bill *bill, u64 now_ns)
{
	if (core->nr_minima)
		leaf_complete_minima(core, leaf, bill, now_ns);
	if (core->nr_latencies)
		ioband_latency_complete(leaf, bill);
	if (core->nr_idlers)
		ioband_idle_count(core, leaf, false, now_ns);
}

/* A bio has completed; ioband_core_learn_gap() follows after several, in any order. */
void ioband_core_complete_one(struct ioband_core *core, struct ioband_leaf *leaf,
			      const struct ioband_bill *bill, u64 now_ns)
{
	core->inflight_ios--;
	core->inflight_bytes -= bill->bytes;
	core->inflight_cached -= bill->cached ? bill->bytes : 0;
	if (unlikely(ioband_core_has_guarantees(core)))
		leaf_complete_guarantees(core, leaf, bill, now_ns);
	leaf->inflight--;
	if (unlikely(bill->for_min))
		flow_count_min(core, leaf, bill->dir, -1);
	if (bill_is_extra(bill))
		core_count_extra(core, leaf, bill, -1);
	else
		ioband_below_complete(core, leaf, bill->dir, now_ns);
	if (unlikely(bill->no_data)) {	/* it tells nothing about the next bio */
		leaf->run_ns = 0;
		leaf->run_ios = 0;
		leaf->first_ns = 0;
		core->done_ns = max(core->done_ns, now_ns);
	} else {
		if (core->slice_ns)
			ioband_slice_complete(core, leaf, bill->bytes, now_ns);
		else
			leaf->run_ns = 0;
	}
	leaf->done_ns = now_ns;
	if (!leaf->inflight && leaf->state == IOBAND_LEAF_INFLIGHT)
		leaf_begin_grace(core, leaf, now_ns);
}

/* Does an entity compete?  Siblings that a policy below delays say nothing about the device. */
static bool ent_has_rivals(const struct ioband_core *core, const struct ioband_ent *ent)
{
	const struct ioband_ent *above = &ent->parent->ent;
	u32 busy = above->busy - ent->busy;

	if (busy && unlikely(core->below.apart))
		busy -= ioband_below_busy(core, above) - ioband_below_busy(core, ent);
	return busy;
}

/*
 * May a bio without data be dispatched?  It may occupy the whole device.  So its leaf, and each
 * group above, must not lead the siblings that have bios queued or in flight, or are anticipated,
 * by more than its last bio.  That does not hold for a leaf with a minimum that is due, nor with
 * slices.  Where a device does not answer, the lead of others may never change.  The next dispatch
 * of a sibling, or the end of a grace period (ioband_core_discard_wake()), may change the answer.
 */
bool ioband_core_may_discard(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	if (core->slice_ns || core->min_ent || core->stalled || core->stuck_ios)
		return true;
	core_expire(core, now_ns);
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->min && ioband_min_is_due(ent->min, IOBAND_DIR_WRITE, now_ns))
			return true;
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (vtime_before(ent->parent->vnow + ent->advance, ent->vtime) &&
		    ent_has_rivals(core, ent))
			return false;
	return true;
}

/* ioband_core_may_discard() may be true now.  The time of the wait is no think time of the leaf. */
void ioband_core_wait_again(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	leaf->done_ns = 0;
	ioband_core_wait(core, leaf, IOBAND_DIR_WRITE, now_ns);
}

/* When ioband_core_may_discard() may change without another call, or IOBAND_NO_WAKEUP. */
u64 ioband_core_discard_wake(const struct ioband_core *core)
{
	return ioband_tree_grace_ends(core);
}

/*
 * Charge a bio without data that is about to complete, by the result of ioband_discard_end().  It
 * is a debt, as it was not known at the dispatch.
 */
void ioband_core_charge_discard(struct ioband_core *core, struct ioband_leaf *leaf, u32 charge)
{
	ioband_tree_charge(core, leaf, charge, false, false);
}

/* A bio has completed, with the bill of ioband_core_admit(). */
void ioband_core_complete(struct ioband_core *core, struct ioband_leaf *leaf,
			  const struct ioband_bill *bill, u64 now_ns)
{
	ioband_core_learn_gap(core, 1, now_ns);
	ioband_core_complete_one(core, leaf, bill, now_ns);
}

/*
 * Give each leaf the device to itself for up to @slice_ns (0: no slices), and with @charge_time
 * charge device time instead of the cost of bios.  In force from the next ioband_core_pick() on.
 * Bios in flight are not affected.
 */
void ioband_core_set_slice(struct ioband_core *core, u64 slice_ns, bool charge_time, u64 now_ns)
{
	ioband_slice_charge(core, now_ns);
	if (slice_ns != core->slice_ns) {
		core_end_min(core);
		ioband_core_end_pauses(core, now_ns);
	}
	ioband_slice_set(core, slice_ns, charge_time);
}
