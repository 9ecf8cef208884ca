// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the scheduler.
 *
 * Why it is hard
 * --------------
 * A block device serves many I/Os at once and in an order of its own.  Whoever
 * has more of them at the device gets more of it: if all bios go down as they
 * come, the device's queue decides, and a weight means nothing.  If too few go
 * down, the device idles.  So two things have to be decided for every bio: how
 * much may be at the device, and whose bio is next.
 *
 * 1. Whose is next: weighted virtual time, in a tree
 * --------------------------------------------------
 * Every entity (a group, or a queue of its own bios) carries the service it has
 * received divided by its weight, its virtual time.  The child of least virtual
 * time is served next, and so on down the tree: start-time fair queueing
 * (Goyal, Vin & Cheng, SIGCOMM'96), at every level.  When a leaf is served,
 * each entity on its way up is charged.
 *
 * Two groups, weights 200 and 100, bios of 64 KiB, both always waiting.  A bio
 * advances the first by 65536/200 = 328, the second by 65536/100 = 655:
 *
 *	served	a   b   a   a   b   a   a   b ...
 *	a at    328     655 983     1311 ...		(before a tie, a first)
 *	b at        655             1311 ...
 *
 * Two of a for one of b, whatever the sizes: a bio of 128 KiB advances a group
 * twice as far.  An error of one bio remains, and never grows.
 *
 * Service is counted in tokens: bytes, I/Os or nanoseconds of the device's time, as the
 * pool measures (sched/cost.h).  They are counted as they are spent, and not handed
 * out beforehand: for that one would have to know how many a second the device is good
 * for, and what is handed to those who do not come would be lost.  Only where a rate is
 * given is there a bucket, kept as the time at which it is used up: for maxima
 * (sched/max.c) and minima (sched/min.c).
 *
 * The tree makes an idle group's share go to its siblings first: only children
 * that have something to serve are compared, inside each node.
 *
 *	root -- A (200) -- A1 (100)		all busy:  A1 1/3  A2 1/3  B 1/3
 *	     |          `- A2 (100)		A2 idle:   A1 2/3          B 1/3
 *	     `- B (100)				A idle:                    B all
 *
 * A node has a virtual time too: it follows that of the child being served.
 * Idling earns nothing: an entity that comes back after having been idle
 * starts at its node's, not at its own of long ago.  One that kept something
 * in flight, but took less than its share, may be behind by a little
 * (IOBAND_LAG_MAX), so that it cannot starve the rest afterwards.
 *
 * So may a flusher that has nothing for a moment because dirty throttling made it pause, by far
 * more; and it is waited for (sched/pause.c).
 *
 * Bios that others wait for go out of turn (see ioband_core_admit_now()), and
 * are owed: the entity moves ahead while its node's virtual time stays, and it
 * waits until its siblings have come as far.  Nothing is owed to nobody: while
 * no sibling is busy, the node follows.  A debt is bounded (IOBAND_DEBT_MAX).
 *
 *	a writes 1 MiB of journal out of turn: it advances by 5243, the node by
 *	nothing.  Of b's bios, 8 go (8 * 655) before the next one of a.
 *
 * When a weight changes, what an entity is ahead or behind is charged anew by
 * the new weight, so that the change shows with the very next bio.
 *
 * 2. How much at once: the pipe
 * -----------------------------
 * The least-served leaf that waits may go while what is on the pipe is less
 * than the limit (SFQ(D): Jin, Chase & Kaur, SIGMETRICS'04).  The limit is what
 * the device needs for full throughput; sched/depth.c finds it.  The test
 * is made before the bio is added, so that a bio of any size can go.
 *
 * On the pipe is what is in flight, and also the last bio of every leaf that
 * is *thinking*: its bio completed a moment ago and, as its recent past says,
 * the next one will be here shortly.  Only leaves that have been served less
 * than the candidate count.  So a synchronous reader, which has never more than
 * one bio here, keeps its place while it computes; with no such rule, the others
 * would fill the pipe in each of these gaps and the weight of the reader would
 * mean nothing (the deceptive idleness of Iyer & Druschel, SOSP'01).
 *
 * How long a leaf counts as thinking follows from how long it has lately
 * taken (twice the average, plus IOBAND_GRACE_MIN_NS).
 *
 *	limit 2 bios; a (vtime 100) thinks; b (vtime 200) waits with 8 bios, 1 in
 *	flight: on the pipe are 1 + 1 = 2, b waits.  a is back after 20 us: 1 < 2,
 *	a goes.  Had it not come back for 70 us, b would have gone.
 *
 * Waiting has a cost, the slot that is empty meanwhile, and a benefit: the leaf's next
 * bio need not wait until a slot comes free.  A leaf is waited for only where the benefit
 * can be the larger: while it thinks for no longer than a slot takes to come free, which
 * is about the mean time from one completion to the next (core_patience(); cost and
 * benefit are from Iyer & Druschel too).  The next bio of a leaf that thinks for longer
 * finds a slot soon after it has come, and is the first in line for it.
 *
 *	NVMe, 3200 MB/s; one leaf reads 64 KiB with 64 outstanding, 20 us from one
 *	completion to the next; 8 leaves read 4 KiB and think for 800 us.  While they
 *	were waited for they took 8 slots of any pipe: with 8 or fewer, 62 MB/s in all.
 *	Without waiting it is 3190 MB/s, and each of the 8 has 0.94 of what it has
 *	alone.  On a device of 100 MB/s, 655 us from one completion to the next, the
 *	same leaves are waited for.
 *
 * What a flusher that pauses keeps on the pipe is all of it.
 *
 * A disk with a head wants something else: each leaf has it to itself for a while
 * (sched/slice.c).  Before all this comes what an entity may have at most
 * (sched/max.c), and what it is promised (sched/min.c); and after it whether
 * somebody's reads take too long for another one to go (sched/latency.c).
 *
 * 3. What the caller does
 * -----------------------
 * It says from when on it tells of all bios (ioband_core_begin()).
 * It queues a bio in its group and says so (ioband_core_wait()); asks who may
 * go (ioband_core_pick()) until nobody may, and tells what it sent down
 * (ioband_core_admit()); tells completions (ioband_core_complete()).  When
 * pick() says that somebody waits only for thinkers it also says until when,
 * and the caller asks again then.  With slices it also asks whether the devices'
 * write caches are to be flushed (ioband_core_start_flush()).  The caller's clock
 * may be read before the caller gets its turn: times may go back a little from call
 * to call.  For latency targets it tells what reads took (ioband_leaf_took()), and has
 * that looked at every few milliseconds (ioband_core_look()).
 */
#include "core.h"

#include "tree.h"

/*
 * Wake-up and scheduling of a reader on an idle CPU take some 10 us; less than
 * that cannot be told from not thinking at all.
 */
#define IOBAND_GRACE_MIN_NS	(30 * NSEC_PER_USEC)

/* A leaf that thinks for longer is never waited for, however slow the device. */
#define IOBAND_GRACE_MAX_NS	(2 * NSEC_PER_MSEC)

/*
 * Nor is one that thinks for longer than so many completions take, without slices.  In the
 * simulator 1, 2 and 4 do equally well.
 */
#define IOBAND_GRACE_GAPS	2

/*
 * A gap of more than so many times what is waited for says that the leaf was idle, not how it
 * thinks.  One alone, a fifth of which goes into the average, must not make one that thinks for
 * a quarter of what is waited for, or less, one that is not waited for: it would lose its turn
 * with each of its first bios after the pause.
 */
#define IOBAND_THINK_CAP	4

/* Where something changes below a minimum or a maximum. */
static const struct ioband_hooks core_hooks = {
	.floor_changed	= ioband_floor_update,
	.cap_changed	= ioband_cap_note,
};

/**
 * ioband_core_init() - make a scheduler with an empty tree and no limit
 * @core: to initialise
 */
void ioband_core_init(struct ioband_core *core)
{
	*core = (struct ioband_core) {
		.hooks = &core_hooks,
		.thinking = RB_ROOT_CACHED,
		.blocked = RB_ROOT_CACHED,
		.floors = RB_ROOT_CACHED,
		.promised_ways = U64_MAX,
	};
	INIT_LIST_HEAD(&core->aims);
	ioband_node_init(&core->root, NULL, IOBAND_WEIGHT_DEFAULT);
	ioband_core_set_limit(core, U32_MAX, 0);
}

/**
 * ioband_core_set_limit() - bound what is in flight
 * @core: scheduler
 * @ios: bios, at least 1
 * @stuck_ios: in flight at devices that do not answer: they do not count
 *
 * Holds from the next ioband_core_pick() on.
 */
void ioband_core_set_limit(struct ioband_core *core, u32 ios, u32 stuck_ios)
{
	core->limit_ios = ios < U32_MAX - stuck_ios ? max(ios, 1U) + stuck_ios : U32_MAX;
	core->stuck_ios = stuck_ios;
}

/* For how long a leaf may think to be worth waiting for. */
static u64 core_patience(const struct ioband_core *core)
{
	const u64 turnover_ns = IOBAND_GRACE_GAPS * core->gap_ns + IOBAND_GRACE_MIN_NS;

	return core->slice_ns ? IOBAND_GRACE_MAX_NS : min_t(u64, turnover_ns, IOBAND_GRACE_MAX_NS);
}

/*
 * How long it took to come back, averaged over the last five times or so.  Not over a
 * time in which bios of its own may have gone that nobody told of.  Who was made to pause
 * has not been thinking.
 */
static void leaf_learn_think(const struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	u64 gap = now_ns > leaf->done_ns ? now_ns - leaf->done_ns : 0;

	if (gap <= IOBAND_PAUSE_WAIT_NS && ioband_pause_is_awaited(core, leaf))
		gap = 0;
	gap = min(gap, IOBAND_THINK_CAP * core_patience(core));
	if (leaf->done_ns > core->told_ns)
		leaf->think_ns = (leaf->think_ns * 4 + gap) / 5;
}

/* A leaf gets its first bio after it had none. */
static void leaf_arrive(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	const u64 pause_lag = ioband_pause_lag(core, leaf, now_ns);

	if (!leaf->inflight)
		leaf_learn_think(core, leaf, now_ns);
	ioband_ent_catch_up(&leaf->ent, pause_lag);
	core->pauses |= pause_lag;
}

/* Past its grace a leaf is idle: has to be known whenever one is charged. */
static void core_expire(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *first;

	if (core->owner)
		ioband_slice_charge(core, now_ns);
	while ((first = rb_first_cached(&core->thinking))) {
		struct ioband_leaf *leaf = rb_entry(first, struct ioband_leaf, think);

		if (leaf->think_until_ns > now_ns)
			return;
		ioband_leaf_set_state(core, leaf, IOBAND_IDLE, 0);
	}
}

/* End the idling for throttled writeback; leaves in normal anticipation keep their grace period. */
static void core_end_pauses(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *rb, *next;

	for (rb = rb_first_cached(&core->thinking); rb && core->pausing; rb = next) {
		struct ioband_leaf *leaf = rb_entry(rb, struct ioband_leaf, think);

		next = rb_next(rb);
		if (!leaf->awaited)
			continue;
		if (core->owner == leaf)
			ioband_slice_charge(core, now_ns);
		ioband_leaf_set_state(core, leaf, IOBAND_IDLE, 0);
	}
}

/**
 * ioband_leaf_remove() - take a leaf out of its tree for good
 * @core: scheduler
 * @leaf: with nothing waiting and nothing in flight
 */
void ioband_leaf_remove(struct ioband_core *core, struct ioband_leaf *leaf)
{
	ioband_leaf_set_state(core, leaf, IOBAND_IDLE, 0);
	if (core->writer == leaf)
		core->writer = NULL;
	if (core->diverted == leaf)
		core->diverted = NULL;
}

/**
 * ioband_core_note_sync() - a bio has come, or goes, for which somebody waits
 * @core: scheduler
 * @now_ns: time
 *
 * For a while nobody has to make up for a pause, or to wait until it is over.
 */
void ioband_core_note_sync(struct ioband_core *core, u64 now_ns)
{
	core->sync_ns = max(core->sync_ns, now_ns);
	if (unlikely(core->pausing))
		core_end_pauses(core, now_ns);
}

/**
 * ioband_core_begin() - from now on the scheduler is told of all bios
 * @core: scheduler
 * @now_ns: time
 *
 * What has gone before without a word is not known.
 */
void ioband_core_begin(struct ioband_core *core, u64 now_ns)
{
	core->told_ns = now_ns;
	core->pauses = false;
	ioband_core_note_sync(core, now_ns);
}

/**
 * ioband_core_wait() - a leaf has a bio waiting
 * @core: scheduler
 * @leaf: whose
 * @way: of the bio
 * @now_ns: time
 *
 * To be called for each bio that is queued; only the first each way changes anything.
 */
void ioband_core_wait(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_way way,
		      u64 now_ns)
{
	core->now_ns = now_ns;
	if (leaf->state != IOBAND_WAITING) {
		if (core->slice_ns)
			core_expire(core, now_ns);
		leaf_arrive(core, leaf, now_ns);
		if (core->slice_ns && way == IOBAND_WAY_READ)
			ioband_slice_arrive(core, leaf);
	}
	ioband_leaf_set_state(core, leaf, IOBAND_WAITING, leaf->ways | 1 << way);
}

/* ---- what the caller asks and tells -------------------------------------- */

static struct ioband_leaf *core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	u32 ios = core->inflight_ios, limit = core->limit_ios;
	struct ioband_ent *ent = &core->root.ent;
	struct ioband_leaf *leaf;
	u64 open = U64_MAX;

	*wake_ns = IOBAND_NO_WAKEUP;
	if (!ent->waiting || (ios >= limit && (core->slice_ns || likely(!core->promising))))
		return NULL;

	core_expire(core, now_ns);
	if (unlikely(core->idle_ns))
		ioband_pause_end_idle(core, now_ns);
	if (unlikely(core->pausing) && ent->waiting & ioband_way_mask(IOBAND_WAY_READ))
		core_end_pauses(core, now_ns);
	if (core->slice_ns)
		return ioband_slice_pick(core, now_ns, wake_ns);
	if (unlikely(core->promising)) {
		ent = ioband_floor_pick(core, now_ns, &ios, &limit);
		if (!ent)
			return NULL;
		open = core->promised_ways;
	}
	leaf = ioband_leaf_below(core, ent, open, core_passes(core), ios, limit);
	if (!leaf) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = ioband_core_grace_ends(core);
		return NULL;
	}
	if (unlikely(core->aiming)) {
		leaf = ioband_brake_divert(core, leaf, ios, limit, now_ns, wake_ns);
		if (!leaf)
			return NULL;
	}
	return likely(!core->promising) || ioband_floor_has_room(core, leaf) ? leaf : NULL;
}

/**
 * ioband_core_pick() - whose bio may go now
 * @core: scheduler
 * @now_ns: time
 * @wake_ns: when NULL is returned: when to ask again, or IOBAND_NO_WAKEUP if
 *	only an arrival or a completion, or ioband_core_look(), can change the answer
 *
 * Return: the leaf whose next bio, one way of those that ioband_leaf_may() tells,
 * may go (tell ioband_core_admit()), or NULL.
 */
struct ioband_leaf *ioband_core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	struct ioband_leaf *leaf;

	core->now_ns = now_ns;
	if (likely(!core->capped && !core->pauses))
		return core_pick(core, now_ns, wake_ns);
	ioband_cap_expire(core, now_ns);
	/*
	 * What waited below a maximum was passed over, which earns nothing either.  Nor does
	 * a pause when somebody has come meanwhile who waits for his I/O.
	 */
	do
		leaf = core_pick(core, now_ns, wake_ns);
	while (leaf && ioband_ent_catch_up(&leaf->ent, ioband_pause_lag(core, leaf, now_ns)));
	if (!leaf)
		*wake_ns = min(*wake_ns, ioband_cap_wake_ns(core));
	return leaf;
}

static void leaf_charge_caps(struct ioband_core *core, struct ioband_leaf *leaf,
			     const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->cap)
			ioband_cap_charge(core, ent->cap, bill, in_turn, now_ns);
}

static void leaf_charge_floors(struct ioband_core *core, struct ioband_leaf *leaf,
			       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	bool weighed = in_turn;
	struct ioband_ent *ent;

	core->promised_ios += ioband_leaf_is_promised(leaf);
	if (in_turn && core->promised)
		core->kept_ns = now_ns;
	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		weighed &= ent != core->promised;
		if (weighed)
			ent->parent->weighed_ns = now_ns;
		if (ent->floor)
			ioband_floor_charge(core, ent->floor, bill, now_ns);
	}
}

static void leaf_return_floors(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	struct ioband_ent *ent;

	core->now_ns = now_ns;
	core->promised_ios -= ioband_leaf_is_promised(leaf);
	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->floor)
			ioband_floor_return(core, ent->floor);
}

static void core_launch(struct ioband_core *core, struct ioband_leaf *leaf,
			const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	if (unlikely(core->capped))
		leaf_charge_caps(core, leaf, bill, in_turn, now_ns);
	if (unlikely(core->promising))
		leaf_charge_floors(core, leaf, bill, in_turn, now_ns);
	if (unlikely(core->aiming))
		ioband_brake_charge(core, leaf, bill, now_ns);
	core->inflight_ios++;
	core->inflight_bytes += bill->bytes;
	leaf->inflight++;
	if (in_turn)
		leaf->async = bill->async;
	if (in_turn && !bill->async)
		ioband_core_note_sync(core, now_ns);
	if (core->slice_ns && bill->cached)
		ioband_slice_soil(core, leaf, bill->bytes, in_turn);
	ioband_leaf_charge(core, leaf, bill->charge, false, in_turn);
	if (core->slice_ns && !in_turn)		/* has no slice, whose time counts */
		ioband_leaf_charge(core, leaf, ioband_slice_charge_urgent(leaf), true, false);
}

/**
 * ioband_core_admit() - a leaf's next bio goes down
 * @core: scheduler
 * @leaf: what ioband_core_pick() returned
 * @bill: what the bio costs
 * @ways: in which the leaf still has bios waiting, as bits
 * @now_ns: time
 */
void ioband_core_admit(struct ioband_core *core, struct ioband_leaf *leaf,
		       const struct ioband_bill *bill, u8 ways, u64 now_ns)
{
	core_launch(core, leaf, bill, true, now_ns);
	ioband_leaf_set_state(core, leaf, ways ? IOBAND_WAITING : IOBAND_INFLIGHT, ways);
}

/**
 * ioband_core_admit_now() - a bio goes down out of turn, and is owed
 * @core: scheduler
 * @leaf: whose
 * @bill: what the bio costs
 * @now_ns: time
 *
 * For bios that others wait for.  The charge stays in the leaf's virtual time,
 * so its next bios, and those of the groups above it, wait the longer.
 */
void ioband_core_admit_now(struct ioband_core *core, struct ioband_leaf *leaf,
			   const struct ioband_bill *bill, u64 now_ns)
{
	core->now_ns = now_ns;
	core_expire(core, now_ns);
	if (leaf->state != IOBAND_WAITING) {
		leaf_arrive(core, leaf, now_ns);
		ioband_leaf_set_state(core, leaf, IOBAND_INFLIGHT, 0);
	}
	core_launch(core, leaf, bill, false, now_ns);
}

/**
 * ioband_core_withdraw() - waiting bios of a leaf were taken away unserved
 * @core: scheduler
 * @leaf: leaf
 * @ways: in which it still has some
 */
void ioband_core_withdraw(struct ioband_core *core, struct ioband_leaf *leaf, u8 ways)
{
	if (leaf->state != IOBAND_WAITING)
		return;
	if (ways)
		ioband_leaf_set_state(core, leaf, IOBAND_WAITING, ways);
	else
		ioband_leaf_set_state(core, leaf,
				      leaf->inflight ? IOBAND_INFLIGHT : IOBAND_IDLE, 0);
}

/* The mean time from one completion to the next, over the last 16 or so. */
static void core_learn_gap(struct ioband_core *core, u64 now_ns)
{
	const u64 gap_ns = now_ns > core->done_ns ? now_ns - core->done_ns : 0;

	core->gap_ns = (15 * core->gap_ns + min_t(u64, gap_ns, IOBAND_GRACE_MAX_NS)) / 16;
	core->done_ns = max(core->done_ns, now_ns);
}

/* The last bio of a leaf has completed: it is expected back within its grace, or it is idle. */
static void leaf_begin_thinking(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	u64 grace_ns = min(2 * leaf->think_ns + IOBAND_GRACE_MIN_NS, (u64)IOBAND_GRACE_MAX_NS);

	if (leaf->think_ns > core_patience(core)) {
		if (core->owner == leaf)
			ioband_slice_charge(core, now_ns);
		ioband_leaf_set_state(core, leaf, IOBAND_IDLE, 0);
		return;
	}
	leaf->awaited = ioband_pause_begins(core, leaf, now_ns);
	if (leaf->awaited)
		grace_ns = IOBAND_PAUSE_WAIT_NS;
	leaf->think_until_ns = now_ns + grace_ns;
	ioband_leaf_set_state(core, leaf, IOBAND_THINKING, 0);
}

/**
 * ioband_core_complete() - a bio is back from the device
 * @core: scheduler
 * @leaf: whose
 * @bill: as it was admitted
 * @now_ns: time
 */
void ioband_core_complete(struct ioband_core *core, struct ioband_leaf *leaf,
			  const struct ioband_bill *bill, u64 now_ns)
{
	core->inflight_ios--;
	core->inflight_bytes -= bill->bytes;
	if (unlikely(core->promising))
		leaf_return_floors(core, leaf, now_ns);
	if (unlikely(core->aiming))
		ioband_aim_return(leaf, bill);
	leaf->inflight--;
	if (core->slice_ns)
		ioband_slice_return(core, leaf, bill->bytes, now_ns);
	else
		leaf->run_ns = 0;
	leaf->done_ns = now_ns;
	core_learn_gap(core, now_ns);
	if (!leaf->inflight && leaf->state == IOBAND_INFLIGHT)
		leaf_begin_thinking(core, leaf, now_ns);
}

/**
 * ioband_core_set_slice() - let each have the device to itself for a while
 * @core: scheduler
 * @slice_ns: for how long at most; 0: no slices
 * @charge_time: what is charged is the time that a leaf has the device, and not
 *	what its bios cost; with slices only
 * @now_ns: time
 *
 * What is in flight stays so; holds from the next ioband_core_pick() on.
 */
void ioband_core_set_slice(struct ioband_core *core, u64 slice_ns, bool charge_time, u64 now_ns)
{
	ioband_slice_charge(core, now_ns);
	if (slice_ns != core->slice_ns) {
		core_end_promised(core);
		core_end_pauses(core, now_ns);
	}
	ioband_slice_set(core, slice_ns, charge_time);
}
