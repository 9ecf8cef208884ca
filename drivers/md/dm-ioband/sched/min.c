// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what an entity is promised.
 *
 * An entity of the tree may be given a minimum: bytes a second, bios a second or
 * both, for reads, for writes or for both.  It goes for all that is below it.  A
 * weight says how the device is shared, whatever that comes to; a minimum says what
 * it comes to, whatever the others' weights are.
 *
 * Each is a clock that says when what has gone so far is used up (sched/bucket.c).
 * Once that is over, and something waits, the next bio is due.  Who is due goes before
 * all others, who has been due for the longest first (earliest deadline; the
 * reservation tags of mClock: Gulati, Merchant & Varman, OSDI'10).  If nothing is due, it
 * goes by weight.
 *
 *	100 MB/s, equal weights, bios of 1 MB; a is promised 60 MB/s.  Its clock moves
 *	on by 16.7 ms a bio, each of which takes 10 ms.
 *
 *	now	 0   10   20   30   40   50   60   70   80   90  100
 *	goes	 a    b    a    b    a    a    b    a    b    a    a ...
 *	clock	17        33        50   67        83       100  117
 *
 *	b has what is left, 40 MB/s.  Were there three more like b, each had 10.
 *
 * Below who is due weights decide, as anywhere, but only among those that have something
 * waiting that is promised, in a virtual time of their own (&ioband_ent.past).  The others
 * are passed over, and keep their places for what goes by weight.  Who was idle, or paused,
 * comes to where they are by then, and has no claim.
 *
 *	62 MB/s, a and b of equal weights.  Below a one reads, and two of weights 300 and 100
 *	write; it is promised reads, 20 MB/s.  It reads 20, they write 8 and 3, b has 31.
 *
 * All that an entity gets moves its clock on, also what it gets by weight: of its
 * minimum and its share it gets the larger one, not both.  It is ahead by
 * IOBAND_FLOOR_AHEAD_NS and one bio at most, so what it has had while nobody else wanted
 * anything is not held against it.  While it has nothing waiting and nothing in flight, or
 * a maximum below holds back what there is, its clock stands still: that is not the
 * others' fault, and nobody saves up.
 * It is behind by IOBAND_FLOOR_WINDOW_NS at most: what could not be given is made good in
 * the time in which it is noticed.
 *
 * What is due comes back when the device has done it, sooner or later, so of all times of
 * 100 ms some have less than the mean.  Therefore the mean is a little more than the minimum:
 * a clock takes 63/64 of a second for what is promised for one.
 *
 * What goes for that is charged like all else, but nobody comes to owe what he was
 * promised (ent_charge() in sched/core.c).
 *
 * Two pipes
 * ---------
 * It is not enough to be the next.  Who has 32 bios here and is promised 25600 a second
 * has to have each back within 1.25 ms, however much of the others is at the device.
 * So what goes for that has a pipe of its own, as wide as the others', on which it does
 * not count.  If it is late nevertheless, its own pipe gets wider, and the others' gets
 * narrower, the later it is: down to one bio when it is late by IOBAND_FLOOR_LATE_NS.
 * That settles where it gets what it is promised and no more: late by a few
 * milliseconds, and no later.
 *
 *	limit 32; it gets that with 5 bios of others in flight, not with 6: it is late by
 *	4.2 ms, and 32 * (1 - 4.2 / 5) = 5.
 *
 * What it gets beyond that it gets by weight, on the pipe that is everybody's.
 *
 * If more is promised than there is, each gets some, and more who is promised more.
 * Nobody else would get anything, or, where more is promised to one child than the weight
 * of its node comes to, none of its other children: so the others have one bio at the
 * device at all times; and in each node below of which nothing has gone by weight for
 * IOBAND_FLOOR_RUN_NS one bio does.
 *
 * With slices a bio at a time would be a seek at a time.  Who is due gets the device,
 * at once, until its clock is ahead by half a slice; after that it goes by weight
 * again, to the least served at each level.
 * There one thing goes at a time: by weight it is an eighth of a slice in each
 * IOBAND_FLOOR_RUN_NS.
 */
#include "min.h"

#include "bucket.h"
#include "tree.h"

/* How far a clock may be behind; also in what time a minimum is kept. */
#define IOBAND_FLOOR_WINDOW_NS	(100 * NSEC_PER_MSEC)

/*
 * How far ahead: what goes by weight comes in bursts, one bio of another for many of its
 * own that are small.  A bio of 1 MiB at 100 MB/s.
 */
#define IOBAND_FLOOR_AHEAD_NS	(10 * NSEC_PER_MSEC)

/* A clock is quicker by one part in so many. */
#define IOBAND_FLOOR_MARGIN	64

/* Who is late by this leaves the others one bio at a time, */
#define IOBAND_FLOOR_LATE_NS	(5 * NSEC_PER_MSEC)

/* and may have so many times the limit more in flight: its bios may be the smaller ones. */
#define IOBAND_FLOOR_WIDER	7

/* For how long nothing may have gone by weight. */
#define IOBAND_FLOOR_RUN_NS	(100 * NSEC_PER_MSEC)

static struct ioband_floor *rb_to_floor(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_floor, rb);
}

static bool floor_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_to_floor(a)->due_ns < rb_to_floor(b)->due_ns;
}

/* When a bio is due one way; U64_MAX: nothing is promised. */
static u64 way_due_ns(const struct ioband_floor *floor, enum ioband_way way)
{
	const struct ioband_clock *bytes = &floor->meter.bytes[way];
	const struct ioband_clock *ios = &floor->meter.ios[way];

	return min(bytes->rate ? bytes->next_ns : U64_MAX, ios->rate ? ios->next_ns : U64_MAX);
}

/* The same of some ways, as halves of &ioband_ent.waiting: which comes first. */
static u64 floor_due_ns(const struct ioband_floor *floor, u64 ways)
{
	u64 due_ns = U64_MAX;
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (ways & ioband_way_mask(way))
			due_ns = min(due_ns, way_due_ns(floor, way));
	return due_ns;
}

/* Of what waits there in some ways, or else of what went last. */
static u64 floor_wanted_ns(const struct ioband_floor *floor, u64 ways)
{
	return floor_due_ns(floor, ways & (ent_shown(floor->ent) ?: ioband_way_mask(floor->way)));
}

/* In which ways something is promised, as halves of &ioband_ent.waiting. */
static u64 floor_ways(const struct ioband_floor *floor)
{
	enum ioband_way way;
	u64 ways = 0;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (way_due_ns(floor, way) != U64_MAX)
			ways |= ioband_way_mask(way);
	return ways;
}

/* In which ways a bio is due, as halves of &ioband_ent.waiting. */
static u64 floor_due_ways(const struct ioband_floor *floor, u64 now_ns)
{
	enum ioband_way way;
	u64 ways = 0;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (way_due_ns(floor, way) <= now_ns)
			ways |= ioband_way_mask(way);
	return ways;
}

static void clock_forgive(struct ioband_clock *clock, u64 away_ns, u64 now_ns)
{
	if (clock->next_ns < now_ns)
		clock->next_ns = min(clock->next_ns + (now_ns - min(away_ns, now_ns)), now_ns);
}

/* Note whether it is here; the time in which it is not does not make it late. */
static void floor_note(const struct ioband_core *core, struct ioband_floor *floor, bool here)
{
	enum ioband_way way;

	if (here == floor->here)
		return;
	floor->here = here;
	if (!here)
		floor->away_ns = core->now_ns;
	for (way = 0; here && way < IOBAND_NR_WAYS; way++) {
		clock_forgive(&floor->meter.bytes[way], floor->away_ns, core->now_ns);
		clock_forgive(&floor->meter.ios[way], floor->away_ns, core->now_ns);
	}
}

/**
 * ioband_floor_update() - find the place of who is promised something
 * @core: scheduler
 * @floor: what it is; its clocks have moved, or what waits there has changed
 */
void ioband_floor_update(struct ioband_core *core, struct ioband_floor *floor)
{
	u64 due_ns = U64_MAX;

	floor_note(core, floor, ent_shown(floor->ent) || floor->inflight);
	if (floor->here || floor->ent->thinking)
		due_ns = floor_wanted_ns(floor, U64_MAX);
	if (due_ns == floor->due_ns)
		return;
	if (!RB_EMPTY_NODE(&floor->rb)) {
		rb_erase_cached(&floor->rb, &core->floors);
		RB_CLEAR_NODE(&floor->rb);
	}
	floor->due_ns = due_ns;
	if (due_ns != U64_MAX)
		rb_add_cached(&floor->rb, &core->floors, floor_less);
}

/**
 * ioband_floor_return() - a bio has completed
 * @core: scheduler
 * @floor: of an entity above it, or its own
 */
void ioband_floor_return(struct ioband_core *core, struct ioband_floor *floor)
{
	floor->inflight--;
	ioband_floor_update(core, floor);
}

/**
 * ioband_floor_charge() - a bio goes
 * @core: scheduler
 * @floor: of an entity above it, or its own
 * @bill: of the bio
 * @now_ns: time
 */
void ioband_floor_charge(struct ioband_core *core, struct ioband_floor *floor,
			 const struct ioband_bill *bill, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC - NSEC_PER_SEC / IOBAND_FLOOR_MARGIN,
		.late_ns = now_ns - min_t(u64, now_ns, IOBAND_FLOOR_WINDOW_NS),
		.early_ns = now_ns + max_t(u64, IOBAND_FLOOR_AHEAD_NS, core->slice_ns / 2),
		.most_ns = U64_MAX,
	};

	floor->way = bill->way;
	floor->inflight++;
	ioband_meter_move(&floor->meter, bill, &leeway);
	ioband_floor_update(core, floor);
}

/* From now on it is promised. */
static void floor_begin(struct ioband_floor *floor, u64 now_ns)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		floor->meter.bytes[way].next_ns = max(floor->meter.bytes[way].next_ns, now_ns);
		floor->meter.ios[way].next_ns = max(floor->meter.ios[way].next_ns, now_ns);
	}
}

/*
 * Whether it goes by weight in a node, for nothing has for too long.  Without slices the
 * topmost has a pipe for that.
 */
static bool node_must_weigh(const struct ioband_core *core, struct ioband_node *node, u64 now_ns)
{
	if (!node->ent.parent && !core->slice_ns)
		return false;
	if (now_ns >= node->weighed_ns + IOBAND_FLOOR_RUN_NS)
		node->weigh_until_ns = now_ns + core->slice_ns / 8;
	else if (now_ns >= node->weigh_until_ns)
		return false;
	return true;
}

/* Below which it goes by weight now: who is due, or else one above, up to the root. */
static struct ioband_ent *floor_top(const struct ioband_core *core,
				    const struct ioband_floor *floor, u64 now_ns)
{
	struct ioband_ent *ent = floor->ent, *top = ent;

	for (; ent->parent; ent = &ent->parent->ent)
		if (node_must_weigh(core, ent->parent, now_ns))
			top = &ent->parent->ent;
	return top;
}

/* By weight, from the top. */
static struct ioband_ent *core_weigh(struct ioband_core *core)
{
	core_end_promised(core);
	return &core->root.ent;
}

/* By what is promised; from the root it is by weight all the same. */
static struct ioband_ent *core_keep(struct ioband_core *core, struct ioband_floor *floor,
				    u64 ways, u64 now_ns)
{
	struct ioband_ent *top = floor_top(core, floor, now_ns);

	if (!top->parent)
		return core_weigh(core);
	core->promised = top;
	core->promised_ways = top == floor->ent ? ways : ent_open_above(core, top);
	core->promise = floor;
	return top;
}

/* All that waits there is held back by a maximum above. */
static bool ent_is_held_back(const struct ioband_core *core, const struct ioband_ent *ent)
{
	return ent->waiting && !(ent->waiting & ent_open_above(core, ent));
}

/* By how much who is due for the longest is late, up to what counts. */
static u64 core_late_ns(const struct ioband_core *core, u64 now_ns)
{
	struct rb_node *rb;

	if (core->stalled || core->stuck_ios || core->limit_ios == U32_MAX)
		return 0;
	for (rb = rb_first_cached(&core->floors); rb; rb = rb_next(rb)) {
		const struct ioband_floor *floor = rb_to_floor(rb);

		if (floor->due_ns >= now_ns)
			break;
		if (!ent_is_held_back(core, floor->ent))
			return min_t(u64, now_ns - floor->due_ns, IOBAND_FLOOR_LATE_NS);
	}
	return 0;
}

/* Of so many times the limit, a part that grows with lateness. */
static u32 late_part(const struct ioband_core *core, u64 late_ns, u32 times)
{
	const u64 most = (u64)core->limit_ios * times;

	return min_t(u64, div_u64(most * late_ns, IOBAND_FLOOR_LATE_NS), U32_MAX);
}

/**
 * ioband_floor_wake_ns() - when somebody has to be asked for again because of a minimum
 * @core: scheduler
 * @now_ns: time
 *
 * Those that are due already are all looked at.
 *
 * Return: when the next one is due that is not yet, or IOBAND_NO_WAKEUP.
 */
u64 ioband_floor_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	struct rb_node *rb;

	for (rb = rb_first_cached(&core->floors); rb; rb = rb_next(rb))
		if (rb_to_floor(rb)->due_ns > now_ns)
			return rb_to_floor(rb)->due_ns;
	return IOBAND_NO_WAKEUP;
}

/* Who is due for the longest of those that have something to go, or NULL. */
static struct ioband_floor *core_due(const struct ioband_core *core, u64 now_ns, u64 *ways)
{
	struct rb_node *rb;

	for (rb = rb_first_cached(&core->floors); rb; rb = rb_next(rb)) {
		struct ioband_floor *floor = rb_to_floor(rb);

		if (floor->due_ns > now_ns)
			break;
		*ways = floor_due_ways(floor, now_ns) & ent_open_above(core, floor->ent);
		if (floor->ent->waiting & *ways)
			return floor;
	}
	return NULL;
}

/**
 * ioband_floor_pick() - whose bio is due
 * @core: scheduler, without slices
 * @now_ns: time
 * @ios: the result: what is on the pipe already by which it may go
 * @limit: the result: how much may be
 *
 * Those that are due and have nothing that may go, for all of it is in flight or a maximum
 * above holds it back, are all looked at.
 *
 * Return: the entity below which it goes by weight, &ioband_core.promised, or the root if
 * nothing is due; NULL if there is no room.
 */
struct ioband_ent *ioband_floor_pick(struct ioband_core *core, u64 now_ns, u32 *ios, u32 *limit)
{
	const u64 late_ns = core_late_ns(core, now_ns);
	struct ioband_floor *floor = NULL;
	u64 ways;

	*ios = core->promised_ios;
	*limit = late_part(core, late_ns, IOBAND_FLOOR_WIDER);
	*limit += min(core->limit_ios, U32_MAX - *limit);
	if (*ios < *limit)
		floor = core_due(core, now_ns, &ways);
	core->apart = false;
	if (floor)
		return core_keep(core, floor, ways, now_ns);
	core->late |= late_ns && *ios < *limit;
	core->apart = late_ns || (!core->stuck_ios &&
				  now_ns < core->kept_ns + IOBAND_FLOOR_LATE_NS);
	*ios = core->inflight_ios - (core->apart ? core->promised_ios : 0);
	*limit = core->limit_ios;
	*limit -= min(late_part(core, late_ns, 1), *limit - 1);
	return *ios < *limit ? core_weigh(core) : NULL;
}

/**
 * ioband_floor_has_room() - may a leaf go that was found by ioband_floor_pick()
 * @core: scheduler
 * @leaf: leaf
 *
 * Return: false if it is promised something, but it would go by weight, and the pipe is
 * full: what it has in flight for what it is promised counts there.  Others that are
 * further from their turn wait, too.
 */
bool ioband_floor_has_room(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return core->promised || core->inflight_ios < core->limit_ios ||
	       !ioband_leaf_is_promised(leaf);
}

/* With slices: has who has its turn by what is promised had enough of it. */
static bool promised_is_over(struct ioband_core *core, u64 now_ns)
{
	const struct ioband_ent *ent = core->promised;
	const u64 ways = core->promised_ways & ent_open_above(core, ent);

	/* Not in service any more: it has been idle. */
	return ent->parent->serving != ent || (ent->waiting && !(ent->waiting & ways)) ||
	       floor_wanted_ns(core->promise, core->promised_ways) >= now_ns + core->slice_ns / 2 ||
	       floor_top(core, core->promise, now_ns) != ent;
}

/**
 * ioband_floor_serve() - with slices: whose turn it is
 * @core: scheduler
 * @now_ns: time
 *
 * Return: the entity below which it goes by weight, as of ioband_floor_pick().
 */
struct ioband_ent *ioband_floor_serve(struct ioband_core *core, u64 now_ns)
{
	struct ioband_floor *floor;
	u64 ways;

	if (core->promised) {
		if (!promised_is_over(core, now_ns))
			return core->promised;
		ioband_ent_set_turn(core, core->promised, false);
	}
	floor = core_due(core, now_ns, &ways);
	if (!floor)
		return core_weigh(core);
	core_keep(core, floor, ways, now_ns);
	if (!core->promised)
		return &core->root.ent;
	ioband_ent_set_turn(core, core->promised, true);
	core->promised_ns = now_ns;
	core->promised_from_ns = max(floor_wanted_ns(core->promise, core->promised_ways),
				     now_ns - min_t(u64, now_ns, IOBAND_FLOOR_WINDOW_NS));
	return core->promised;
}

/* When a turn by what is promised is over because it goes by weight, there or above. */
static u64 promised_until_ns(const struct ioband_core *core)
{
	const struct ioband_ent *ent = core->promised;
	u64 until_ns = U64_MAX;

	if (ent != core->promise->ent)
		until_ns = container_of(ent, struct ioband_node, ent)->weigh_until_ns;
	for (; ent->parent; ent = &ent->parent->ent)
		until_ns = min(until_ns, ent->parent->weighed_ns + IOBAND_FLOOR_RUN_NS);
	return until_ns;
}

/* All that waits may go by what is promised. */
static bool promised_is_alone(const struct ioband_core *core)
{
	return core->root.ent.waiting == (core->promised->waiting & core->promised_ways);
}

/**
 * ioband_floor_left_ns() - with slices: how long a turn by what is promised takes yet
 * @core: scheduler, after ioband_floor_serve()
 * @now_ns: time
 *
 * Its pace is known when it has taken a slice.
 *
 * Return: until it goes by weight, or half a slice is had in advance at the pace of this turn;
 * U64_MAX: it goes by weight, or nobody else waits.
 */
u64 ioband_floor_left_ns(const struct ioband_core *core, u64 now_ns)
{
	const u64 took_ns = now_ns - core->promised_ns;
	u64 left_ns, due_ns, moved_ns;

	if (!core->promised || promised_is_alone(core))
		return U64_MAX;
	left_ns = promised_until_ns(core);
	left_ns -= min(left_ns, now_ns);
	due_ns = floor_wanted_ns(core->promise, core->promised_ways);
	moved_ns = due_ns - min(due_ns, core->promised_from_ns);
	if (took_ns < core->slice_ns || due_ns == U64_MAX || moved_ns <= took_ns)
		return left_ns;
	due_ns = now_ns + core->slice_ns / 2 - min(due_ns, now_ns + core->slice_ns / 2);
	return min(left_ns, ioband_mul_div(due_ns, took_ns, moved_ns - took_ns));
}

/**
 * ioband_floor_next_ns() - when something else is due
 * @core: scheduler
 * @leaf: than what this has waiting
 *
 * Return: time; U64_MAX: nobody waits for that.
 */
u64 ioband_floor_next_ns(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct rb_node *rb = rb_first_cached(&core->floors);
	const struct ioband_floor *floor = rb ? rb_to_floor(rb) : NULL;
	const struct ioband_ent *ent;

	if (!floor)
		return U64_MAX;
	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->floor == floor && leaf->ent.waiting & floor_ways(floor))
			return U64_MAX;
	return floor->due_ns;
}

/**
 * ioband_floor_init() - a minimum that promises nothing
 * @floor: to initialise
 */
void ioband_floor_init(struct ioband_floor *floor)
{
	*floor = (struct ioband_floor) { .due_ns = U64_MAX };
	RB_CLEAR_NODE(&floor->rb);
}

/**
 * ioband_floor_set() - give an entity a minimum, or another one
 * @core: scheduler
 * @ent: of a leaf, or of a node that is not the root
 * @floor: its own, or a new one if it has none
 * @rates: what it is promised
 * @inflight: if it had none: bios in flight of leaves at or below it
 * @now_ns: time
 *
 * It holds from now on; nobody is late any more.
 */
void ioband_floor_set(struct ioband_core *core, struct ioband_ent *ent,
		      struct ioband_floor *floor, const struct ioband_rates *rates,
		      u32 inflight, u64 now_ns)
{
	core->now_ns = now_ns;
	if (!ent->floor) {
		core->promising++;
		floor->inflight = inflight;
	}
	ioband_meter_set(&floor->meter, rates);
	floor_begin(floor, now_ns);
	floor->ent = ent;
	ent->floor = floor;
	ioband_floor_update(core, floor);
}

/**
 * ioband_floor_remove() - let an entity have its share, and no more
 * @core: scheduler
 * @ent: of which the minimum can be freed afterwards
 */
void ioband_floor_remove(struct ioband_core *core, struct ioband_ent *ent)
{
	struct ioband_floor *floor = ent->floor;

	if (!floor)
		return;
	if (!RB_EMPTY_NODE(&floor->rb))
		rb_erase_cached(&floor->rb, &core->floors);
	RB_CLEAR_NODE(&floor->rb);
	core->promising--;
	core->apart &= !!core->promising;
	if (core->promised && core->promise == floor)
		core_weigh(core);
	ent->floor = NULL;
}

/**
 * ioband_floor_recount() - how much is in flight of those who are promised something
 * @core: scheduler
 * @ios: of all leaves with ioband_leaf_is_promised(), bios
 *
 * To be called after ioband_floor_set() and ioband_floor_remove() of an entity that has
 * some in flight.
 */
void ioband_floor_recount(struct ioband_core *core, u32 ios)
{
	core->promised_ios = ios;
}

/**
 * ioband_leaf_is_promised() - is something promised to a leaf, or to one above it
 * @leaf: leaf
 *
 * Return: true if so.
 */
bool ioband_leaf_is_promised(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->floor)
			return true;
	return false;
}
