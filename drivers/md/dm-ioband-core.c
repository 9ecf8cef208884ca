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
 * Every entity (a group, or a group's own queue) carries the service it has
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
 * the device needs for full throughput; dm-ioband-depth.c finds it.  The test
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
 * taken (twice the average, plus IOBAND_GRACE_MIN_NS); one that takes longer
 * than IOBAND_GRACE_MAX_NS is never waited for.
 *
 *	limit 2 bios; a (vtime 100) thinks; b (vtime 200) waits with 8 bios, 1 in
 *	flight: on the pipe are 1 + 1 = 2, b waits.  a is back after 20 us: 1 < 2,
 *	a goes.  Had it not come back for 70 us, b would have gone.
 *
 * 3. Who has the device: slices
 * -----------------------------
 * A disk with a head loses a seek with every change from one to another, and
 * what stands in its own queue it serves by where its head is.  There a leaf
 * gets the device to itself for a slice: at every level the child in service
 * keeps its turn, however much it leads, until it has had the device for
 * slice_ns or has nothing more to come; then the least-served one that waits
 * gets it (time slices with anticipation, as CFQ had them, on virtual time).
 * If that is still the one in service, it goes on for a quarter of a slice, and
 * again, until it no longer is: so weights far apart show in how long a turn is.
 * While its last bio has completed a moment ago it is waited for, as above.
 * Before the next leaf's first bio goes, the last one of the leaf before has
 * come back: the disk cannot choose between them.
 *
 *	slice 50 ms; a reads on, b reads here and there, 8 ms each, both one at a
 *	time.  a has the disk for 50 ms: 1.8 MB; b for 50 ms, 6 bios, and the one
 *	that is under way: a again, at its full speed but for one seek in 100 ms.
 *
 * To change over takes as long as what is in flight takes to come back.  So a
 * leaf has no more in flight than comes back within IOBAND_DRAIN_NS, going by
 * the time from one of its completions to the next, and, while another one waits,
 * within the rest of its slice: what it began is over when its turn is.
 *
 * What is written to a disk's own write cache is complete when the cache has it, and
 * the disk may seek for a second to get it onto the medium, while the next leaf has
 * the device, as it seems.  So a turn in which something was written ends with a flush,
 * which is part of the turn.  How long it will take is known from those before it, by
 * the byte: each write uses up that much more of the slice, so that a turn is over in
 * time, flush included.
 *
 *	a writes 64 KiB here and there, 5 ms each for the medium, which the cache takes
 *	in 0.2 ms each.  80 ms are over after 15 of them: 3 ms until the cache has them,
 *	75 ms for the flush.  Without it 8 MB would be in the cache after 30 ms,
 *	and b's first bio wait for 600 ms.
 *
 * With slices device time can be charged, for it is known who had the device:
 * from its first bio until the next leaf's first, the time to come back, the
 * wait for its next bio and the change to the next included.  A reader that
 * makes the disk seek pays for the seeks.  Whatever is charged, virtual time
 * follows the least served of those that wait, not the one in service, which
 * may lead by a slice.
 *
 * 4. What the caller does
 * -----------------------
 * It queues a bio in its group and says so (ioband_core_wait()); asks who may
 * go (ioband_core_pick()) until nobody may, and tells what it sent down
 * (ioband_core_admit()); tells completions (ioband_core_complete()).  When
 * pick() says that somebody waits only for thinkers it also says until when,
 * and the caller asks again then.  The caller's clock may be read before the
 * caller gets its turn: times may go back a little from call to call.
 */
#include "dm-ioband-core.h"

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* vtime has 16 bits of fraction: at weight 10000, 512 bytes are still 3355. */
#define IOBAND_VTIME_SHIFT	16
#define IOBAND_PACE_SHIFT	32

/*
 * How much service a busy entity may be behind its node, in units of charge at
 * its own weight.  A bio of the largest usual size: one that competes normally
 * is never cut short, and one that has been slow does not keep the others from
 * a device of 100 MB/s for longer than 10 ms.
 */
#define IOBAND_LAG_MAX		(1024ULL << 10)

/*
 * How much service an entity may owe, in the same units.  Covers a journal's
 * commit, and all that a group may hold, which goes down at once when a device
 * is suspended; an equal sibling at 100 MB/s has it back in 0.7 s.
 */
#define IOBAND_DEBT_MAX		(64ULL << 20)

/*
 * Wake-up and scheduling of a reader on an idle CPU take some 10 us; less than
 * that cannot be told from not thinking at all.
 */
#define IOBAND_GRACE_MIN_NS	(30 * NSEC_PER_USEC)

/* Past this, waiting for one reader wastes more of a fast device than it gives. */
#define IOBAND_GRACE_MAX_NS	(2 * NSEC_PER_MSEC)

/* What a leaf may have in flight with slices, as time until it has come back. */
#define IOBAND_DRAIN_NS		(80 * NSEC_PER_MSEC)

/* Time between completions until it is known: a seek and half a turn of a disk. */
#define IOBAND_GAP_FIRST_NS	(8 * NSEC_PER_MSEC)

/*
 * What a flush takes until it is known: that of GAP_FIRST for 64 KiB at a time.  A flush
 * that has nothing to do may take as long as one of these, which is not counted.
 */
#define IOBAND_DESTAGE_BYTES	(1024U << 10)
#define IOBAND_DESTAGE_FIRST_NS	(16 * IOBAND_GAP_FIRST_NS)

/*
 * Device time in a unit of charge: what one byte takes at 100 MB/s, so that leads
 * and lags that are allowed mean about the same as in bytes.
 */
#define IOBAND_NS_PER_CHARGE	10

/* A gap longer than this says that the leaf was idle, not how it thinks. */
#define IOBAND_THINK_CAP_NS	(10 * IOBAND_GRACE_MAX_NS)

static bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static u64 vtime_max(u64 a, u64 b)
{
	return vtime_before(a, b) ? b : a;
}

static u64 vtime_min(u64 a, u64 b)
{
	return vtime_before(a, b) ? a : b;
}

/* By how much a charge, less than 2^32, advances an entity. */
static u64 ent_vtime_of(const struct ioband_ent *ent, u64 charge)
{
	return charge * ent->pace >> (IOBAND_PACE_SHIFT - IOBAND_VTIME_SHIFT);
}

static void ent_weigh(struct ioband_ent *ent, u32 weight)
{
	ent->weight = weight;
	ent->pace = div_u64(1ULL << IOBAND_PACE_SHIFT, weight);
}

static struct ioband_ent *rb_to_ent(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_ent, rb);
}

static bool ent_less(struct rb_node *a, const struct rb_node *b)
{
	return vtime_before(rb_to_ent(a)->vtime, rb_to_ent(b)->vtime);
}

static bool ent_is_live(const struct ioband_ent *ent)
{
	return !RB_EMPTY_NODE(&ent->rb);
}

static void ent_insert(struct ioband_ent *ent)
{
	rb_add_cached(&ent->rb, &ent->parent->live, ent_less);
}

static void ent_erase(struct ioband_ent *ent)
{
	rb_erase_cached(&ent->rb, &ent->parent->live);
	RB_CLEAR_NODE(&ent->rb);
}

/* Let an entity's vtime grow, and put it back in its place; most often it is. */
static void ent_advance(struct ioband_ent *ent, u64 vtime)
{
	struct rb_node *next;

	ent->vtime = vtime;
	if (!ent_is_live(ent))
		return;
	next = rb_next(&ent->rb);
	if (!next || !vtime_before(rb_to_ent(next)->vtime, ent->vtime))
		return;
	rb_erase_cached(&ent->rb, &ent->parent->live);
	ent_insert(ent);
}

static void ent_init(struct ioband_ent *ent, struct ioband_node *parent, u32 weight, bool leaf)
{
	*ent = (struct ioband_ent) {
		.parent = parent,
		.vtime = parent ? parent->vnow : 0,
		.leaf = leaf,
	};
	ent_weigh(ent, weight);
	RB_CLEAR_NODE(&ent->rb);
}

/**
 * ioband_node_init() - make an inner node
 * @node: to initialise
 * @parent: where it competes; NULL for a root
 * @weight: its weight there
 */
void ioband_node_init(struct ioband_node *node, struct ioband_node *parent, u32 weight)
{
	*node = (struct ioband_node) { .live = RB_ROOT_CACHED };
	ent_init(&node->ent, parent, weight, false);
}

/**
 * ioband_leaf_init() - make a leaf
 * @leaf: to initialise
 * @parent: node in which it competes
 * @weight: its weight there
 */
void ioband_leaf_init(struct ioband_leaf *leaf, struct ioband_node *parent, u32 weight)
{
	*leaf = (struct ioband_leaf) {
		.state = IOBAND_IDLE,
		.destage_ns = IOBAND_DESTAGE_FIRST_NS,
		.destage_bytes = IOBAND_DESTAGE_BYTES,
	};
	ent_init(&leaf->ent, parent, weight, true);
	RB_CLEAR_NODE(&leaf->think);
}

/**
 * ioband_core_init() - make a scheduler with an empty tree and no limit
 * @core: to initialise
 */
void ioband_core_init(struct ioband_core *core)
{
	*core = (struct ioband_core) { .thinking = RB_ROOT_CACHED };
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

/* Idling earns nothing, and nor does being slow for ever. */
static void ent_catch_up(struct ioband_ent *ent)
{
	const u64 lag_max = ent->busy ? ent_vtime_of(ent, IOBAND_LAG_MAX) : 0;
	const u64 lag = ent->parent->vnow - ent->vtime;

	/*
	 * A lead is a lag that is negative: of a debt and the largest bio there
	 * can be, at most.  If it seems to be more, the entity was idle while
	 * virtual time went round (128 TiB at weight 1).
	 */
	if (lag > lag_max && lag < -2 * ent_vtime_of(ent, U32_MAX))
		ent_advance(ent, ent->parent->vnow - lag_max);
}

/**
 * ioband_ent_set_weight() - change a weight
 * @ent: of a leaf, or of a node that is not the root
 * @weight: IOBAND_WEIGHT_MIN..IOBAND_WEIGHT_MAX
 *
 * What it has had too much or too little up to now counts by the new weight, as
 * does what is served from now on, bios that wait already included.
 */
void ioband_ent_set_weight(struct ioband_ent *ent, u32 weight)
{
	const bool live = ent_is_live(ent);
	s64 lead;

	ent_catch_up(ent);
	if (live)
		ent_erase(ent);
	lead = ent->vtime - ent->parent->vnow;
	ent->vtime = ent->parent->vnow + div_s64(lead * ent->weight, weight);
	ent->turn = div_u64(ent->turn * ent->weight, weight);
	ent_weigh(ent, weight);
	if (live)
		ent_insert(ent);
}

static bool think_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ioband_leaf, think)->think_until_ns <
	       rb_entry(b, struct ioband_leaf, think)->think_until_ns;
}

/*
 * The one place where a leaf changes its state: keeps the counters of all
 * entities on the way up, and the membership in the trees, in step.
 */
static void leaf_set_state(struct ioband_core *core, struct ioband_leaf *leaf,
			   enum ioband_leaf_state state)
{
	const enum ioband_leaf_state old = leaf->state;
	const int waiting = (state == IOBAND_WAITING) - (old == IOBAND_WAITING);
	const int thinking = (state == IOBAND_THINKING) - (old == IOBAND_THINKING);
	const int busy = (state != IOBAND_IDLE) - (old != IOBAND_IDLE);
	struct ioband_ent *ent;

	if (state == old)
		return;
	leaf->state = state;
	if (state == IOBAND_IDLE && core->owner == leaf)
		core->owner = NULL;

	for (ent = &leaf->ent; ; ent = &ent->parent->ent) {
		ent->waiting += waiting;
		ent->thinking += thinking;
		ent->busy += busy;
		if (!ent->parent)
			break;
		if (!ent->busy && ent->parent->serving == ent)
			ent->parent->serving = NULL;
		if (!ent_is_live(ent) && (ent->waiting || ent->thinking))
			ent_insert(ent);
		else if (ent_is_live(ent) && !(ent->waiting || ent->thinking))
			ent_erase(ent);
	}

	if (thinking > 0) {
		rb_add_cached(&leaf->think, &core->thinking, think_less);
	} else if (thinking < 0) {
		rb_erase_cached(&leaf->think, &core->thinking);
		RB_CLEAR_NODE(&leaf->think);
	}
}

/* How long it took to come back, averaged over the last five times or so. */
static void leaf_learn_think(struct ioband_leaf *leaf, u64 now_ns)
{
	u64 gap = now_ns > leaf->done_ns ? now_ns - leaf->done_ns : 0;

	gap = min_t(u64, gap, IOBAND_THINK_CAP_NS);
	if (leaf->done_ns)
		leaf->think_ns = (leaf->think_ns * 4 + gap) / 5;
}

/* A leaf gets its first bio after it had none. */
static void leaf_arrive(struct ioband_leaf *leaf, u64 now_ns)
{
	struct ioband_ent *ent;

	if (!leaf->inflight)
		leaf_learn_think(leaf, now_ns);
	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		ent_catch_up(ent);
}

/* The least served of a node's live children, or else one of them. */
static const struct ioband_ent *node_least(const struct ioband_node *node,
					   const struct ioband_ent *ent)
{
	const struct rb_node *first = rb_first_cached(&node->live);

	return first ? rb_to_ent(first) : ent;
}

/*
 * Charge one entity.  In turn, the node comes along to where the entity stands.
 * But for debts that is no more than its last turn ahead, so they remain: a
 * debtor that goes while its siblings have nothing waiting still owes them.
 */
static void ent_charge(const struct ioband_core *core, struct ioband_ent *ent, u32 charge,
		       bool in_turn)
{
	struct ioband_node *node = ent->parent;
	const u64 advance = ent_vtime_of(ent, charge);
	const bool alone = node->ent.busy == ent->busy;
	u64 vtime = ent->vtime + advance;

	if (alone) {
		node->vnow = vtime_max(node->vnow, ent->vtime);
	} else if (in_turn) {
		u64 reach = vtime_min(ent->vtime, node->vnow + ent->turn);

		if (core->slice_ns)
			reach = vtime_min(reach, node_least(node, ent)->vtime);
		node->vnow = vtime_max(node->vnow, reach);
	} else {
		const u64 most = node->vnow + ent_vtime_of(ent, IOBAND_DEBT_MAX);

		vtime = vtime_max(ent->vtime, vtime_min(vtime, most));
	}
	if (alone || in_turn)
		ent->turn = advance;
	ent_advance(ent, vtime);
}

static void leaf_charge(const struct ioband_core *core, struct ioband_leaf *leaf, u32 charge,
			bool in_turn)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		ent_charge(core, ent, charge, in_turn);
}

/* So much of the slices of a leaf, and of the nodes above it, is over. */
static void leaf_use_slice(struct ioband_leaf *leaf, u64 ns)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->parent->serving == ent)
			ent->parent->served_ns += ns;
}

/* A leaf has had the device for so long, or will have. */
static void leaf_charge_ns(struct ioband_core *core, struct ioband_leaf *leaf, u64 ns, bool in_turn)
{
	if (core->charge_time)
		leaf_charge(core, leaf, min_t(u64, ns, U32_MAX) / IOBAND_NS_PER_CHARGE, in_turn);
}

/* The owner has had the device since it was last charged. */
static void core_charge_owner(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->owner;
	u64 ns;

	if (!leaf || core->flush == IOBAND_FLUSH_RUNNING)
		return;
	if (leaf->state == IOBAND_THINKING)
		now_ns = min(now_ns, leaf->think_until_ns);
	if (now_ns <= core->owned_ns)
		return;
	ns = now_ns - core->owned_ns;
	core->owned_ns = now_ns;
	leaf_use_slice(leaf, ns);
	leaf_charge_ns(core, leaf, ns, true);
}

/* When the first of those who think, of which there are some, is waited for no longer. */
static u64 core_grace_ends(const struct ioband_core *core)
{
	return rb_entry(rb_first_cached(&core->thinking), struct ioband_leaf,
			think)->think_until_ns;
}

/* Past its grace a leaf is idle: has to be known whenever one is charged. */
static void core_expire(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *first;

	core_charge_owner(core, now_ns);
	while ((first = rb_first_cached(&core->thinking))) {
		struct ioband_leaf *leaf = rb_entry(first, struct ioband_leaf, think);

		if (leaf->think_until_ns > now_ns)
			return;
		leaf_set_state(core, leaf, IOBAND_IDLE);
	}
}

/**
 * ioband_leaf_remove() - take a leaf out of its tree for good
 * @core: scheduler
 * @leaf: with nothing waiting and nothing in flight
 */
void ioband_leaf_remove(struct ioband_core *core, struct ioband_leaf *leaf)
{
	leaf_set_state(core, leaf, IOBAND_IDLE);
	if (core->writer == leaf)
		core->writer = NULL;
}

/**
 * ioband_core_wait() - a leaf has a bio waiting
 * @core: scheduler
 * @leaf: whose
 * @now_ns: time
 *
 * To be called for each bio that is queued; only the first changes anything.
 */
void ioband_core_wait(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns)
{
	if (leaf->state == IOBAND_WAITING)
		return;
	leaf_arrive(leaf, now_ns);
	leaf_set_state(core, leaf, IOBAND_WAITING);
}

/* ---- slices -------------------------------------------------------------- */

/* How long a leaf still has its turn, if another one waits for it, at some level. */
static u64 leaf_turn_left_ns(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;
	u64 left_ns = U64_MAX;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const struct ioband_node *node = ent->parent;
		const u64 served_ns = min(core->slice_ns, node->served_ns);

		if (node->ent.waiting > ent->waiting)
			left_ns = min(left_ns, core->slice_ns - served_ns);
	}
	return left_ns;
}

/* How much of a leaf may be in flight: what comes back in its turn, and soon. */
static u32 leaf_depth(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const u64 gap_ns = leaf->gap_ns ?: IOBAND_GAP_FIRST_NS;
	const u64 time_ns = min_t(u64, leaf_turn_left_ns(core, leaf), IOBAND_DRAIN_NS);

	return clamp_t(u64, div64_u64(time_ns, gap_ns), 1, core->limit_ios);
}

/* A bio has completed.  Time counts from one to the next only if others were in flight. */
static void leaf_learn_gap(struct ioband_leaf *leaf, u64 now_ns)
{
	const u64 gap_ns = now_ns > leaf->run_ns ? now_ns - leaf->run_ns : 0;

	if (leaf->run_ns)
		leaf->gap_ns = (7 * (leaf->gap_ns ?: IOBAND_GAP_FIRST_NS) +
				min_t(u64, gap_ns, IOBAND_DRAIN_NS)) / 8;
	leaf->run_ns = leaf->inflight ? now_ns : 0;
}

/* Whoever has been served less than the one in service has nothing waiting, but thinks. */
static bool node_expects(const struct ioband_node *node)
{
	const struct ioband_ent *serving = node->serving;

	return serving && vtime_before(node_least(node, serving)->vtime, serving->vtime);
}

/*
 * Whose turn it is in a node.  After a slice it is that of the least served that
 * waits, or still of the one in service, which is here although what it does may
 * be in flight or to come.  Who thinks, and would be the next, is waited for.
 */
static struct ioband_ent *node_serve(const struct ioband_core *core, struct ioband_node *node,
				     bool *expect)
{
	struct rb_node *rb = rb_first_cached(&node->live);
	struct ioband_ent *least;

	if (node->serving && node->served_ns < core->slice_ns)
		return node->serving;
	while (rb && !rb_to_ent(rb)->waiting)
		rb = rb_next(rb);
	if (!rb)
		return node->serving;
	least = rb_to_ent(rb);
	if (!node->serving || vtime_before(least->vtime, node->serving->vtime)) {
		node->serving = least;
		node->served_ns = 0;
	} else if (node_expects(node)) {
		*expect = true;
	} else {
		node->served_ns = core->slice_ns - core->slice_ns / 4;
	}
	return node->serving;
}

/*
 * The leaf whose turn it is; something waits.  A node in which nothing waits, and
 * nobody was in service, has no turn although bios that went out of turn keep it
 * busy: then another look from the top, without it.
 */
static struct ioband_leaf *core_serve(struct ioband_core *core, bool *expect)
{
	struct ioband_node *node = &core->root;
	struct ioband_ent *ent;

	*expect = false;
	while ((ent = node_serve(core, node, expect)) || node->ent.parent) {
		if (!ent) {
			node->ent.parent->serving = NULL;
			node = &core->root;
			*expect = false;
			continue;
		}
		if (ent->leaf)
			return container_of(ent, struct ioband_leaf, ent);
		node = container_of(ent, struct ioband_node, ent);
	}
	return NULL;
}

/* How long a flush takes after a leaf has written so much. */
static u64 leaf_destage_ns(const struct ioband_leaf *leaf, u64 bytes)
{
	return mul_u64_u64_div_u64(bytes, leaf->destage_ns, leaf->destage_bytes);
}

/* Something goes to the device's write cache: the time to flush it is as good as over. */
static void core_soil(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes, bool in_turn)
{
	u64 ns;

	core->dirty_bytes += bytes;
	if (in_turn || !core->writer)
		core->writer = leaf;
	leaf_use_slice(leaf, leaf_destage_ns(leaf, bytes));
	if (core->writer != leaf)	/* a little more for who has written so far */
		return;
	ns = leaf_destage_ns(leaf, core->dirty_bytes);
	if (ns <= leaf->prepaid_ns)
		return;
	leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, in_turn);
	leaf->prepaid_ns = ns;
}

/*
 * Is the device a leaf's, or does it still write what another one has written?  If
 * that takes less than a flush may take for nothing, it is left to gather.
 */
static bool core_is_flushed(struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_leaf *writer = core->writer;

	if (core->flush == IOBAND_FLUSH_RUNNING)
		return false;
	if (writer && writer != leaf &&
	    leaf_destage_ns(writer, core->dirty_bytes) >= IOBAND_GAP_FIRST_NS)
		core->flush = IOBAND_FLUSH_DUE;
	else
		core->flush = IOBAND_FLUSH_NONE;
	return core->flush == IOBAND_FLUSH_NONE;
}

/**
 * ioband_core_start_flush() - should the devices' write caches be flushed
 * @core: scheduler
 * @now_ns: time
 *
 * To be asked when ioband_core_pick() has returned NULL.
 *
 * Return: true if so: the caller does, and says so with ioband_core_end_flush().
 * Until then nobody else gets the device.
 */
bool ioband_core_start_flush(struct ioband_core *core, u64 now_ns)
{
	if (core->flush != IOBAND_FLUSH_DUE)
		return false;
	core_charge_owner(core, now_ns);
	core->flush = IOBAND_FLUSH_RUNNING;
	core->flushing_ns = now_ns;
	core->flushed_bytes = core->dirty_bytes;
	core->dirty_bytes = 0;
	return true;
}

/*
 * Of the last flushes, each counts half as much as the one after it.  No medium takes
 * more than a gigabyte a second: the next flush is never out of sight.
 */
static void leaf_learn_destage(struct ioband_leaf *leaf, u64 ns, u64 bytes)
{
	ns = max(bytes, ns > IOBAND_GAP_FIRST_NS ? ns - IOBAND_GAP_FIRST_NS : 0);
	leaf->destage_ns = leaf->destage_ns / 2 + ns;
	leaf->destage_bytes = leaf->destage_bytes / 2 + bytes;
}

/**
 * ioband_core_end_flush() - the flush that was asked for has ended
 * @core: scheduler
 * @now_ns: time
 */
void ioband_core_end_flush(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->writer;
	u64 ns;

	core->flush = IOBAND_FLUSH_NONE;
	core->owned_ns = max(core->owned_ns, now_ns);
	if (!leaf)
		return;
	ns = now_ns > core->flushing_ns ? now_ns - core->flushing_ns : 0;
	leaf_learn_destage(leaf, ns, core->flushed_bytes);
	if (ns > leaf->prepaid_ns)
		leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, false);
	leaf->prepaid_ns = min(leaf->prepaid_ns - min(ns, leaf->prepaid_ns), core->slice_ns / 4);
	if (!core->dirty_bytes)
		core->writer = NULL;
}

/**
 * ioband_core_drop_flush() - there was nothing to flush, or nobody who can
 * @core: scheduler, which has asked for one
 */
void ioband_core_drop_flush(struct ioband_core *core)
{
	core->flush = IOBAND_FLUSH_NONE;
	if (!core->dirty_bytes)
		core->writer = NULL;
}

/* Whose bio may go now if each has the device to itself. */
static struct ioband_leaf *core_pick_slice(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	bool expect;
	struct ioband_leaf *leaf = core_serve(core, &expect);

	if (!leaf)
		return NULL;
	if (expect) {
		*wake_ns = core_grace_ends(core);
		return NULL;
	}
	if (leaf != core->owner) {
		if (core->inflight_ios - leaf->inflight > core->stuck_ios ||
		    !core_is_flushed(core, leaf))
			return NULL;
		core->owner = leaf;
		core->owned_ns = now_ns;
	}
	if (leaf->state == IOBAND_THINKING)
		*wake_ns = leaf->think_until_ns;
	if (leaf->state != IOBAND_WAITING || leaf->inflight >= leaf_depth(core, leaf))
		return NULL;
	return leaf;
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
	core_charge_owner(core, now_ns);
	core->slice_ns = slice_ns;
	core->charge_time = slice_ns && charge_time;
	if (slice_ns)
		return;
	core->owner = NULL;
	core->writer = NULL;
	core->dirty_bytes = 0;
	if (core->flush == IOBAND_FLUSH_DUE)
		core->flush = IOBAND_FLUSH_NONE;
}

/* ---- what the caller asks and tells -------------------------------------- */

/*
 * The least-served child with a bio waiting.  Adds the thinkers before it to
 * what is on the pipe; NULL when these fill it.
 */
static struct ioband_ent *node_pick(const struct ioband_core *core, const struct ioband_node *node,
				    u32 *ios)
{
	struct rb_node *rb;

	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb)) {
		struct ioband_ent *ent = rb_to_ent(rb);

		if (ent->waiting)
			return ent;
		*ios += ent->thinking;
		if (*ios >= core->limit_ios)
			break;
	}
	return NULL;
}

/**
 * ioband_core_pick() - whose bio may go now
 * @core: scheduler
 * @now_ns: time
 * @wake_ns: when NULL is returned: when to ask again, or IOBAND_NO_WAKEUP if
 *	only an arrival or a completion can change the answer
 *
 * Return: the leaf whose next bio may go (tell ioband_core_admit()), or NULL.
 */
struct ioband_leaf *ioband_core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	struct ioband_ent *ent = &core->root.ent;
	u32 ios = core->inflight_ios;

	*wake_ns = IOBAND_NO_WAKEUP;
	if (!ent->waiting || ios >= core->limit_ios)
		return NULL;

	core_expire(core, now_ns);
	if (core->slice_ns)
		return core_pick_slice(core, now_ns, wake_ns);
	do {
		ent = node_pick(core, container_of(ent, struct ioband_node, ent), &ios);
		if (!ent) {
			*wake_ns = core_grace_ends(core);
			return NULL;
		}
	} while (!ent->leaf);
	return container_of(ent, struct ioband_leaf, ent);
}

static void core_launch(struct ioband_core *core, struct ioband_leaf *leaf,
			const struct ioband_bill *bill, bool in_turn)
{
	u32 charge = bill->charge;

	core->inflight_ios++;
	core->inflight_bytes += bill->bytes;
	leaf->inflight++;
	if (core->slice_ns && bill->cached)
		core_soil(core, leaf, bill->bytes, in_turn);
	if (core->charge_time) {
		if (in_turn)	/* the time counts */
			return;
		charge = div_u64(leaf->gap_ns ?: IOBAND_GAP_FIRST_NS, IOBAND_NS_PER_CHARGE);
	}
	leaf_charge(core, leaf, charge, in_turn);
}

/**
 * ioband_core_admit() - a leaf's next bio goes down
 * @core: scheduler
 * @leaf: what ioband_core_pick() returned
 * @bill: what the bio costs
 * @more: the leaf has another bio waiting
 */
void ioband_core_admit(struct ioband_core *core, struct ioband_leaf *leaf,
		       const struct ioband_bill *bill, bool more)
{
	core_launch(core, leaf, bill, true);
	if (!more)
		leaf_set_state(core, leaf, IOBAND_INFLIGHT);
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
	core_expire(core, now_ns);
	if (leaf->state != IOBAND_WAITING) {
		leaf_arrive(leaf, now_ns);
		leaf_set_state(core, leaf, IOBAND_INFLIGHT);
	}
	core_launch(core, leaf, bill, false);
}

/**
 * ioband_leaf_owes_much() - has a leaf had a lot out of turn
 * @leaf: leaf
 *
 * Return: true if it, or a node above it, owes more than half of what a debt can
 * come to.  What it gets out of turn from then on may never be repaid.
 */
bool ioband_leaf_owes_much(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const s64 lead = ent->vtime - ent->parent->vnow;

		if (ent->busy && lead > (s64)ent_vtime_of(ent, IOBAND_DEBT_MAX / 2))
			return true;
	}
	return false;
}

/**
 * ioband_core_withdraw() - a leaf's waiting bios were taken away unserved
 * @core: scheduler
 * @leaf: has nothing waiting any more
 */
void ioband_core_withdraw(struct ioband_core *core, struct ioband_leaf *leaf)
{
	if (leaf->state == IOBAND_WAITING)
		leaf_set_state(core, leaf, leaf->inflight ? IOBAND_INFLIGHT : IOBAND_IDLE);
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
	leaf->inflight--;
	if (core->slice_ns)
		leaf_learn_gap(leaf, now_ns);
	leaf->done_ns = now_ns;
	if (leaf->inflight || leaf->state != IOBAND_INFLIGHT)
		return;
	if (leaf->think_ns > IOBAND_GRACE_MAX_NS) {
		leaf_set_state(core, leaf, IOBAND_IDLE);
		return;
	}
	leaf->think_until_ns = now_ns + min(2 * leaf->think_ns + IOBAND_GRACE_MIN_NS,
					    (u64)IOBAND_GRACE_MAX_NS);
	leaf_set_state(core, leaf, IOBAND_THINKING);
}
