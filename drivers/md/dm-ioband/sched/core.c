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
#include "tree.h"

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

static void ent_weigh(struct ioband_ent *ent, u32 weight)
{
	ent->weight = weight;
	ent->pace = div_u64(1ULL << IOBAND_PACE_SHIFT, weight);
}

static bool ent_less(struct rb_node *a, const struct rb_node *b)
{
	return vtime_before(rb_to_ent(a)->vtime, rb_to_ent(b)->vtime);
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
		.was_idle = true,
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
	*core = (struct ioband_core) {
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

/*
 * Idling earns nothing, and nor does being slow for ever; but a pause does, up to so much.
 * Return: whether it has moved.
 */
static bool ent_catch_up(struct ioband_ent *ent, u64 pause_lag)
{
	const u64 lag_max = ent_vtime_of(ent, max(pause_lag, ent->busy ? IOBAND_LAG_MAX : 0));
	const u64 lag = ent->parent->vnow - ent->vtime;

	/*
	 * A lead is a lag that is negative: of a debt and the largest bio there
	 * can be, at most.  If it seems to be more, the entity was idle while
	 * virtual time went round (128 TiB at weight 1).
	 */
	if (lag <= lag_max || lag >= -2 * ent_vtime_of(ent, U32_MAX))
		return false;
	ent_advance(ent, ent->parent->vnow - lag_max);
	return true;
}

/**
 * ioband_leaf_follow() - let a leaf go on where another one is
 * @leaf: new, with nothing waiting
 * @other: of the same node
 *
 * For bios that would have been the other's: to have a leaf of their own must not be to
 * begin anew.
 */
void ioband_leaf_follow(struct ioband_leaf *leaf, const struct ioband_leaf *other)
{
	leaf->ent.vtime = vtime_max(leaf->ent.parent->vnow, other->ent.vtime);
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

	ent_catch_up(ent, 0);
	if (live)
		ent_erase(ent);
	lead = ent->vtime - ent->parent->vnow;
	ent->vtime = ent->parent->vnow + div_s64(lead * ent->weight, weight);
	ent->turn = div_u64(ent->turn * ent->weight, weight);
	ent->past = ent->parent->past +
		    div_u64((ent_past(ent) - ent->parent->past) * ent->weight, weight);
	ent_weigh(ent, weight);
	if (live)
		ent_insert(ent);
}

static bool think_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ioband_leaf, think)->think_until_ns <
	       rb_entry(b, struct ioband_leaf, think)->think_until_ns;
}

/* Of a change in what waits, what those above see. */
static s64 cap_let_through(const struct ioband_cap *cap, s64 waiting)
{
	if (cap->blocked & ioband_way_mask(IOBAND_WAY_READ))
		waiting -= (s32)waiting;
	if (cap->blocked & ioband_way_mask(IOBAND_WAY_WRITE))
		waiting = (s32)waiting;
	return waiting;
}

/* Among its siblings' live ones while something waits that they see, or somebody thinks. */
static void ent_update_live(struct ioband_ent *ent)
{
	const bool live = ent_shown(ent) || ent->thinking;

	if (!ent_is_live(ent) && live)
		ent_insert(ent);
	else if (ent_is_live(ent) && !live)
		ent_erase(ent);
}

/*
 * The one place where counters change: keeps those of an entity and of all above,
 * and the membership in the trees, in step.
 */
static void ent_count(struct ioband_core *core, struct ioband_ent *ent, s64 waiting, int thinking,
		      int busy)
{
	for (; ; ent = &ent->parent->ent) {
		ent->waiting += waiting;
		ent->thinking += thinking;
		ent->busy += busy;
		if (!ent->parent)
			break;
		if (!ent->busy && ent->parent->serving == ent)
			ent->parent->serving = NULL;
		ent_update_live(ent);
		if (unlikely(ent->floor))
			ioband_floor_update(core, ent->floor);
		if (unlikely(ent->cap)) {
			ioband_cap_note(core, ent->cap);
			waiting = cap_let_through(ent->cap, waiting);
		}
	}
}

static void ent_count_pausing(struct ioband_core *core, struct ioband_ent *ent, int pausing)
{
	core->pausing += pausing;
	for (; ent->parent; ent = &ent->parent->ent)
		ent->pausing += pausing;
}

/* At every level. */
static bool ent_catch_up_all(struct ioband_ent *ent, u64 pause_lag)
{
	bool moved = false;

	for (; ent->parent; ent = &ent->parent->ent)
		moved |= ent_catch_up(ent, pause_lag);
	return moved;
}

/**
 * ioband_ent_block() - block some ways of an entity that has a maximum
 * @core: scheduler
 * @ent: the entity
 * @blocked: all that are from now on, as halves of &ioband_ent.waiting
 *
 * Those above do not see any more what waits there that way, or see it again.
 */
void ioband_ent_block(struct ioband_core *core, struct ioband_ent *ent, u64 blocked)
{
	const u64 before = ent_shown(ent);

	ent->cap->blocked = blocked;
	if (!before)
		ent_catch_up_all(ent, 0);
	ent_update_live(ent);
	if (ent->floor)
		ioband_floor_update(core, ent->floor);
	ent_count(core, &ent->parent->ent, ent_shown(ent) - before, 0, 0);
}

static s64 ways_to_waiting(u8 ways)
{
	return (ways & 1 ? ioband_way_one(IOBAND_WAY_READ) : 0) +
	       (ways & 2 ? ioband_way_one(IOBAND_WAY_WRITE) : 0);
}

/* The one place where a leaf changes its state. */
static void leaf_set_state(struct ioband_core *core, struct ioband_leaf *leaf,
			   enum ioband_leaf_state state, u8 ways)
{
	const enum ioband_leaf_state old = leaf->state;
	const s64 waiting = ways_to_waiting(ways) - ways_to_waiting(leaf->ways);
	const int thinking = (state == IOBAND_THINKING) - (old == IOBAND_THINKING);
	const int busy = (state != IOBAND_IDLE) - (old != IOBAND_IDLE);

	if (state == old && ways == leaf->ways)
		return;
	leaf->state = state;
	leaf->ways = ways;
	leaf->was_idle |= state == IOBAND_IDLE;
	if (state == IOBAND_IDLE && core->owner == leaf)
		core->owner = NULL;
	ent_count(core, &leaf->ent, waiting, thinking, busy);
	if (unlikely(leaf->awaited) && thinking)
		ent_count_pausing(core, &leaf->ent, thinking);

	if (thinking > 0) {
		rb_add_cached(&leaf->think, &core->thinking, think_less);
	} else if (thinking < 0) {
		rb_erase_cached(&leaf->think, &core->thinking);
		RB_CLEAR_NODE(&leaf->think);
	}
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
	ent_catch_up_all(&leaf->ent, pause_lag);
	core->pauses |= pause_lag;
}

/* Why a bio goes. */
enum turn {
	WEIGHED,	/* its entity has been served least */
	PROMISED,	/* it, or one below, is behind what it is promised */
	PASSING,	/* one above is, or others that come first wait for the brake */
	OWED,		/* somebody waits for it */
};

/*
 * Charge one entity.  In turn, the node comes along to where the entity stands.
 * But for debts that is no more than its last turn ahead, so they remain: a
 * debtor that goes while its siblings have nothing waiting still owes them.
 *
 * What is promised, or goes past others, is not owed: for that it leads by no more than
 * it may lag, and by that it is not its turn by weight.  And the node does not come along
 * past others that wait.  Among those that go past others weights decide all the same, in a
 * virtual time of their own.  With slices a turn by weight counts there, too: it may go on as
 * one by what is promised.
 */
static void ent_charge(const struct ioband_core *core, struct ioband_ent *ent, u32 charge,
		       enum turn turn)
{
	struct ioband_node *node = ent->parent;
	const u64 advance = ent_vtime_of(ent, charge);
	const bool alone = node->ent.busy == ent->busy;
	u64 vtime = ent->vtime + advance;

	if (unlikely(turn == PASSING || (turn == WEIGHED && core->slice_ns && core->promising)))
		ent->past = ent_past(ent) + advance;
	if (alone) {
		node->vnow = vtime_max(node->vnow, ent->vtime);
	} else if (turn != OWED) {
		u64 reach = vtime_min(ent->vtime, node->vnow + ent->turn);

		if (core->slice_ns || turn != WEIGHED)
			reach = vtime_min(reach, node_least(node, ent)->vtime);
		node->vnow = vtime_max(node->vnow, reach);
	}
	if (!alone && turn != WEIGHED) {
		const u64 lead = ent_vtime_of(ent, turn == OWED ? IOBAND_DEBT_MAX :
							 max(IOBAND_LAG_MAX, (u64)charge));

		vtime = vtime_max(ent->vtime, vtime_min(vtime, node->vnow + lead));
	}
	if (alone || (turn != OWED && vtime != ent->vtime))
		ent->turn = advance;
	ent_advance(ent, vtime);
}

/* Why it is a leaf's turn. */
static enum turn leaf_turn(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	if (leaf == core->diverted)
		return PASSING;
	for (ent = &leaf->ent; core->promised && ent->parent; ent = &ent->parent->ent)
		if (ent == core->promised)
			return PROMISED;
	return WEIGHED;
}

/**
 * ioband_leaf_charge() - charge a leaf, and the nodes above it
 * @core: scheduler
 * @leaf: leaf
 * @charge: units of charge
 * @by_time: they are time: charge where that is shared, else where it is not
 * @in_turn: it was its turn: else it owes them
 */
void ioband_leaf_charge(const struct ioband_core *core, struct ioband_leaf *leaf, u32 charge,
			bool by_time, bool in_turn)
{
	const enum turn turn = in_turn ? leaf_turn(core, leaf) : OWED;
	bool below = turn == PROMISED && core_passes(core);
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		below &= ent != core->promised;
		if (node_shares_time(core, ent->parent) == by_time)
			ent_charge(core, ent, charge, below ? PASSING : turn);
	}
}

/**
 * ioband_core_grace_ends() - until when thinking leaves are waited for
 * @core: scheduler; some leaf thinks
 *
 * Return: when the first one's grace ends.
 */
u64 ioband_core_grace_ends(const struct ioband_core *core)
{
	return rb_entry(rb_first_cached(&core->thinking), struct ioband_leaf,
			think)->think_until_ns;
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
		leaf_set_state(core, leaf, IOBAND_IDLE, 0);
	}
}

/**
 * ioband_core_end_pauses() - nobody is waited for any longer than one who thinks
 * @core: scheduler
 * @now_ns: time
 */
void ioband_core_end_pauses(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *rb, *next;

	for (rb = rb_first_cached(&core->thinking); rb && core->pausing; rb = next) {
		struct ioband_leaf *leaf = rb_entry(rb, struct ioband_leaf, think);

		next = rb_next(rb);
		if (!leaf->awaited)
			continue;
		if (core->owner == leaf)
			ioband_slice_charge(core, now_ns);
		leaf_set_state(core, leaf, IOBAND_IDLE, 0);
	}
}

/**
 * ioband_leaf_remove() - take a leaf out of its tree for good
 * @core: scheduler
 * @leaf: with nothing waiting and nothing in flight
 */
void ioband_leaf_remove(struct ioband_core *core, struct ioband_leaf *leaf)
{
	leaf_set_state(core, leaf, IOBAND_IDLE, 0);
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
		ioband_core_end_pauses(core, now_ns);
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
	leaf_set_state(core, leaf, IOBAND_WAITING, leaf->ways | 1 << way);
}

/* ---- what the caller asks and tells -------------------------------------- */

/*
 * The least-served child with a bio waiting, one way of those in @open.  Adds the
 * thinkers before it to what is on the pipe; NULL when these fill it, as one that pauses does.
 */
static struct ioband_ent *node_pick(const struct ioband_core *core, const struct ioband_node *node,
				    u64 open, u32 *ios, u32 limit)
{
	struct rb_node *rb;

	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb)) {
		struct ioband_ent *ent = rb_to_ent(rb);

		if (ent_shown(ent) & open)
			return ent;
		if (unlikely(ent->pausing))
			break;
		if (likely(!core->apart) || !ent->floor)
			*ios += ent->thinking;
		if (*ios >= limit)
			break;
	}
	return NULL;
}

/**
 * ioband_node_least() - whose turn it is in a node
 * @node: the node
 * @open: one has a bio waiting in one way of these, as halves of &ioband_ent.waiting
 * @passing: of those that go past others; this looks at all that are live
 * @except: not this one; NULL: any
 *
 * Return: of the children the one that has been served least, or NULL.
 */
struct ioband_ent *ioband_node_least(const struct ioband_node *node, u64 open, bool passing,
				     const struct ioband_ent *except)
{
	struct ioband_ent *least = NULL;
	struct rb_node *rb;

	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb)) {
		struct ioband_ent *ent = rb_to_ent(rb);

		if (ent == except || !(ent_shown(ent) & open))
			continue;
		if (!passing)
			return ent;
		if (!least || vtime_before(ent_past(ent), ent_past(least)))
			least = ent;
	}
	return least;
}

/*
 * The same of those that go past others.  Adds the thinkers that have had less to what is on
 * the pipe; NULL when these fill it.
 */
static struct ioband_ent *node_passing(struct ioband_node *node, u64 open, u32 *ios, u32 limit)
{
	struct ioband_ent *least = ioband_node_least(node, open, true, NULL);
	struct rb_node *rb;

	for (rb = rb_first_cached(&node->live); rb && least; rb = rb_next(rb)) {
		const struct ioband_ent *ent = rb_to_ent(rb);

		if (!(ent_shown(ent) & open) && vtime_before(ent_past(ent), ent_past(least)))
			*ios += ent->thinking;
	}
	if (!least || *ios >= limit)
		return NULL;
	/* Not as it is charged: with slices it goes on when it is not the least. */
	node->past = ent_past(least);
	return least;
}

/**
 * ioband_leaf_below() - the least served leaf with a bio waiting
 * @core: scheduler
 * @ent: at or below which
 * @open: one way of these, as halves of &ioband_ent.waiting
 * @passing: of those that go past others; this looks at all that are live in each node
 * @ios: what is on the pipe, bios
 * @limit: how much may be
 *
 * Return: the leaf, or NULL: thinkers that have been served less fill the pipe, or
 * nothing waits.
 */
struct ioband_leaf *ioband_leaf_below(const struct ioband_core *core, struct ioband_ent *ent,
				      u64 open, bool passing, u32 ios, u32 limit)
{
	while (!ent->leaf) {
		struct ioband_node *node = container_of(ent, struct ioband_node, ent);

		ent = passing ? node_passing(node, open, &ios, limit) :
				node_pick(core, node, open, &ios, limit);
		if (!ent)
			return NULL;
		open &= ent_open(ent);
	}
	return ent_to_leaf(ent);
}

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
		ioband_core_end_pauses(core, now_ns);
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
	while (leaf && ent_catch_up_all(&leaf->ent, ioband_pause_lag(core, leaf, now_ns)));
	if (!leaf)
		*wake_ns = min(*wake_ns, ioband_cap_wake_ns(core));
	return leaf;
}

/**
 * ioband_leaf_may() - in which ways may a leaf's next bio be
 * @core: scheduler
 * @leaf: what ioband_core_pick() returned
 *
 * Return: a bit for each way in which one waits that neither a maximum nor the brake
 * blocks, and that is promised if it goes for that.
 */
u8 ioband_leaf_may(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	u64 open;

	if (likely(!core->capped && !core->promised && !core->brake_ways))
		return leaf->ways;
	open = ent_open_above(core, &leaf->ent) & ~core->brake_ways;
	if (core->promised)
		open &= core->promised_ways;
	return leaf->ways & ((open & ioband_way_mask(IOBAND_WAY_READ) ? 1 : 0) |
			     (open & ioband_way_mask(IOBAND_WAY_WRITE) ? 2 : 0));
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
	leaf_set_state(core, leaf, ways ? IOBAND_WAITING : IOBAND_INFLIGHT, ways);
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
		leaf_set_state(core, leaf, IOBAND_INFLIGHT, 0);
	}
	core_launch(core, leaf, bill, false, now_ns);
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
		leaf_set_state(core, leaf, IOBAND_WAITING, ways);
	else
		leaf_set_state(core, leaf, leaf->inflight ? IOBAND_INFLIGHT : IOBAND_IDLE, 0);
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
		leaf_set_state(core, leaf, IOBAND_IDLE, 0);
		return;
	}
	leaf->awaited = ioband_pause_begins(core, leaf, now_ns);
	if (leaf->awaited)
		grace_ns = IOBAND_PAUSE_WAIT_NS;
	leaf->think_until_ns = now_ns + grace_ns;
	leaf_set_state(core, leaf, IOBAND_THINKING, 0);
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
