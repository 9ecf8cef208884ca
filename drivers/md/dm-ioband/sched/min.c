// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: minima.
 *
 * An entity of the tree may have a minimum: bytes a second, bios a second or both, for reads,
 * for writes or for both.  It applies to all bios at or below the entity.  A weight divides the
 * device, at any rate that results.  A minimum guarantees a rate, at any weights of other
 * entities.
 *
 * Each rate is a token bucket, kept as the time at which its I/O is paid for (sched/bucket.c).
 * Once this time is over, the next queued bio is due.  Due entities precede all others, earliest
 * deadline first (the reservation tags of mClock: Gulati, Merchant & Varman, OSDI'10).  If no
 * entity is due, service is by weight.
 *
 *	100 MB/s, equal weights, bios of 1 MB; a has a minimum of 60 MB/s.  Each of its
 *	bios advances its bucket by 16.7 ms, and takes 10 ms.
 *
 *	now	 0   10   20   30   40   50   60   70   80   90  100
 *	served	 a    b    a    b    a    a    b    a    b    a    a ...
 *	bucket	17        33        50   67        83       100  117
 *
 *	b has the rest, 40 MB/s.  With three more like b, each has 10.
 *
 * Below a due entity, weights decide among the children with queued bios that count for the
 * minimum, by bypass vtime (&ioband_ent.past).  They bypass the other children, which keep their
 * virtual time for service by weight.  A child that was idle, or paused, restarts at the bypass
 * vtime of the node, and has no claim.
 *
 *	62 MB/s, a and b of equal weights.  Below a, one leaf reads, and two of weights 300
 *	and 100 write; a has a minimum for reads, 20 MB/s.  It reads 20, they write 8 and 3,
 *	b has 31.
 *
 * All service of an entity advances its bucket, including service by weight.  So an entity gets
 * the larger one of its minimum and its share, not both.  A bucket is ahead of the time by
 * IOBAND_FLOOR_AHEAD_NS and one bio at most: service without competition does not count against
 * the entity later.  The bucket stands still while the entity has no bio queued or in flight, or
 * a maximum below holds all its bios.  Other entities are not the reason then, and no claim
 * grows.  A bucket is behind by IOBAND_FLOOR_WINDOW_NS at most, the period in which a minimum is
 * kept.  A shortfall within this period is made up.
 *
 * The device completes due bios sooner or later, so some periods of 100 ms have less than the
 * mean.  Therefore the mean is a little above the minimum: the I/O of one second advances a
 * bucket by 63/64 of a second.
 *
 * Service for a minimum is charged like all other service, but never becomes a debt
 * (ent_charge() in sched/tree.c).
 *
 * Two limits
 * ----------
 * The first place in the order is not enough.  An entity with 32 bios and a minimum of 25600
 * bios a second needs each completion within 1.25 ms, however many other bios are in flight.  So
 * service for minima has an in-flight limit of its own, equal to the limit of the others, and
 * does not count against theirs.  If a minimum is late nevertheless, its own limit grows, and
 * the limit of the others shrinks, with its lateness.  The others have one bio left at
 * IOBAND_FLOOR_LATE_NS.  The limits settle where the minimum is just kept, late by a few
 * milliseconds.
 *
 *	limit 32; the minimum is kept with 5 bios of others in flight, not with 6: it is late
 *	by 4.2 ms, and 32 * (1 - 4.2 / 5) = 5.
 *
 * Service beyond the minimum is by weight, under the common limit.
 *
 * If the minima exceed the device, each gets a part, and a larger minimum gets a larger part.  All
 * other entities would get nothing.  Siblings of a child with a minimum above the share of its
 * node would get nothing either.  So the others have one bio in flight at all times.  In each
 * node below that had no service by weight for IOBAND_FLOOR_RUN_NS, one bio is served by weight.
 *
 * With slices, single bios would cost a seek each.  A due entity gets the device, at once, until
 * its bucket is ahead by half a slice.  After that, service is by weight again, least served
 * first at each level.  One leaf is served at a time: service by weight gets an eighth of a
 * slice in each IOBAND_FLOOR_RUN_NS.
 */
#include "min.h"

#include "bucket.h"
#include "tree.h"

/* Largest lag of a bucket; also the period in which a minimum is kept. */
#define IOBAND_FLOOR_WINDOW_NS	(100 * NSEC_PER_MSEC)

/*
 * Largest lead of a bucket.  Service by weight comes in bursts: one bio of another entity for
 * many small ones of its own.  A bio of 1 MiB at 100 MB/s.
 */
#define IOBAND_FLOOR_AHEAD_NS	(10 * NSEC_PER_MSEC)

/* A bucket takes less than a second for the I/O of a second, by one part in this many. */
#define IOBAND_FLOOR_MARGIN	64

/* Lateness of a minimum that leaves one bio at a time to the others, */
#define IOBAND_FLOOR_LATE_NS	(5 * NSEC_PER_MSEC)

/* and adds this many times the limit to its own: its bios may be the smaller ones. */
#define IOBAND_FLOOR_WIDER	7

/* Longest period without service by weight in a node. */
#define IOBAND_FLOOR_RUN_NS	(100 * NSEC_PER_MSEC)

static struct ioband_floor *rb_to_floor(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_floor, rb);
}

static bool floor_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_to_floor(a)->due_ns < rb_to_floor(b)->due_ns;
}

/* Due time of a direction; U64_MAX: no minimum. */
static u64 way_due_ns(const struct ioband_floor *floor, enum ioband_way way)
{
	const struct ioband_clock *bytes = &floor->meter.bytes[way];
	const struct ioband_clock *ios = &floor->meter.ios[way];

	return min(bytes->rate ? bytes->next_ns : U64_MAX, ios->rate ? ios->next_ns : U64_MAX);
}

/* Earliest due time of some directions, as halves of &ioband_ent.waiting. */
static u64 floor_due_ns(const struct ioband_floor *floor, u64 ways)
{
	u64 due_ns = U64_MAX;
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (ways & ioband_way_mask(way))
			due_ns = min(due_ns, way_due_ns(floor, way));
	return due_ns;
}

/* Due time of queued bios in some directions; without queued bios, of the last direction served. */
static u64 floor_wanted_ns(const struct ioband_floor *floor, u64 ways)
{
	return floor_due_ns(floor, ways & (ent_shown(floor->ent) ?: ioband_way_mask(floor->way)));
}

/* Directions with a minimum, as halves of &ioband_ent.waiting. */
static u64 floor_ways(const struct ioband_floor *floor)
{
	enum ioband_way way;
	u64 ways = 0;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (way_due_ns(floor, way) != U64_MAX)
			ways |= ioband_way_mask(way);
	return ways;
}

/* Directions that are due, as halves of &ioband_ent.waiting. */
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

/* Note whether the entity is active; inactive time does not make it late. */
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
 * ioband_floor_update() - update the place of a minimum in the order of due times
 * @core: scheduler
 * @floor: minimum; its buckets, or the queued bios of its entity, have changed
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
 * @floor: minimum of the leaf, or of an entity above it
 */
void ioband_floor_return(struct ioband_core *core, struct ioband_floor *floor)
{
	floor->inflight--;
	ioband_floor_update(core, floor);
}

/**
 * ioband_floor_charge() - a bio is dispatched
 * @core: scheduler
 * @floor: minimum of the leaf, or of an entity above it
 * @bill: cost of the bio
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

/* A new minimum starts without lateness. */
static void floor_begin(struct ioband_floor *floor, u64 now_ns)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		floor->meter.bytes[way].next_ns = max(floor->meter.bytes[way].next_ns, now_ns);
		floor->meter.ios[way].next_ns = max(floor->meter.ios[way].next_ns, now_ns);
	}
}

/*
 * Must a node be served by weight because it was not for too long?  Without slices, the root has
 * a limit for that.
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

/*
 * Entity below which service is by weight now: that of the minimum, or one above, up to the
 * root.
 */
static struct ioband_ent *floor_top(const struct ioband_core *core,
				    const struct ioband_floor *floor, u64 now_ns)
{
	struct ioband_ent *ent = floor->ent, *top = ent;

	for (; ent->parent; ent = &ent->parent->ent)
		if (node_must_weigh(core, ent->parent, now_ns))
			top = &ent->parent->ent;
	return top;
}

/* Service by weight, from the root. */
static struct ioband_ent *core_weigh(struct ioband_core *core)
{
	core_end_promised(core);
	return &core->root.ent;
}

/* Service for a minimum; from the root it is by weight all the same. */
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

/* A maximum above blocks all queued bios of an entity. */
static bool ent_is_held_back(const struct ioband_core *core, const struct ioband_ent *ent)
{
	return ent->waiting && !(ent->waiting & ent_open_above(core, ent));
}

/* Lateness of the minimum that has been due for the longest time, up to IOBAND_FLOOR_LATE_NS. */
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

/* A part of @times the limit, which grows with lateness. */
static u32 late_part(const struct ioband_core *core, u64 late_ns, u32 times)
{
	const u64 most = (u64)core->limit_ios * times;

	return min_t(u64, div_u64(most * late_ns, IOBAND_FLOOR_LATE_NS), U32_MAX);
}

/**
 * ioband_floor_wake_ns() - time at which a minimum requires another pick
 * @core: scheduler
 * @now_ns: time
 *
 * Looks at all minima that are due already.
 *
 * Return: the next due time after @now_ns, or IOBAND_NO_WAKEUP.
 */
u64 ioband_floor_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	struct rb_node *rb;

	for (rb = rb_first_cached(&core->floors); rb; rb = rb_next(rb))
		if (rb_to_floor(rb)->due_ns > now_ns)
			return rb_to_floor(rb)->due_ns;
	return IOBAND_NO_WAKEUP;
}

/* The minimum with a bio to dispatch that has been due for the longest time, or NULL. */
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
 * ioband_floor_pick() - choose between service for a minimum and service by weight
 * @core: scheduler, without slices
 * @now_ns: time
 * @ios: result: bios that count against @limit
 * @limit: result: in-flight limit of that service
 *
 * Looks at all minima that are due without a bio to dispatch, because all their bios are in
 * flight or blocked by a maximum above.
 *
 * Return: the entity below which service is by weight: &ioband_core.promised, or the root if no
 * minimum is due; NULL if the limit is reached.
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
 * ioband_floor_has_room() - test whether a leaf found after ioband_floor_pick() may be served
 * @core: scheduler
 * @leaf: leaf
 *
 * Return: false if a leaf with a minimum would be served by weight, and the common limit is
 * reached.  Here its bios in flight for the minimum count.  Leaves with more service wait, too.
 */
bool ioband_floor_has_room(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return core->promised || core->inflight_ios < core->limit_ios ||
	       !ioband_leaf_is_promised(leaf);
}

/* With slices: is the service for a minimum over? */
static bool promised_is_over(struct ioband_core *core, u64 now_ns)
{
	const struct ioband_ent *ent = core->promised;
	const u64 ways = core->promised_ways & ent_open_above(core, ent);

	/* Not in service any more: the entity was idle. */
	return ent->parent->serving != ent || (ent->waiting && !(ent->waiting & ways)) ||
	       floor_wanted_ns(core->promise, core->promised_ways) >= now_ns + core->slice_ns / 2 ||
	       floor_top(core, core->promise, now_ns) != ent;
}

/**
 * ioband_floor_serve() - with slices: begin, continue or end the service for a minimum
 * @core: scheduler
 * @now_ns: time
 *
 * Return: the entity below which service is by weight, as for ioband_floor_pick().
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

/* Time at which the service for a minimum ends for service by weight, there or above. */
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

/* All queued bios count for the minimum in service. */
static bool promised_is_alone(const struct ioband_core *core)
{
	return core->root.ent.waiting == (core->promised->waiting & core->promised_ways);
}

/**
 * ioband_floor_left_ns() - with slices: remaining time of the service for a minimum
 * @core: scheduler, after ioband_floor_serve()
 * @now_ns: time
 *
 * The pace of the service is known after one slice.
 *
 * Return: time until service by weight begins, or until the bucket is ahead by half a slice at
 * the present pace.  U64_MAX: service is by weight already, or no other bio is queued.
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
 * ioband_floor_next_ns() - due time of the first minimum
 * @core: scheduler
 * @leaf: leaf that is served
 *
 * Return: time; U64_MAX: there is none, or @leaf has queued bios that count for it.
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
 * ioband_floor_init() - make a minimum without a rate
 * @floor: to initialise
 */
void ioband_floor_init(struct ioband_floor *floor)
{
	*floor = (struct ioband_floor) { .due_ns = U64_MAX };
	RB_CLEAR_NODE(&floor->rb);
}

/**
 * ioband_floor_set() - give an entity a minimum, or change it
 * @core: scheduler
 * @ent: entity of a leaf, or of a node that is not the root
 * @floor: minimum of the entity, or a new one if it has none
 * @rates: rates of the minimum
 * @inflight: bios in flight of leaves at or below the entity, if it had no minimum
 * @now_ns: time
 *
 * In force from now on; earlier lateness is dropped.
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
 * ioband_floor_remove() - remove the minimum of an entity
 * @core: scheduler
 * @ent: entity; the caller can free its minimum afterwards
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
 * ioband_floor_recount() - set the number of bios in flight with a minimum
 * @core: scheduler
 * @ios: bios in flight of all leaves with ioband_leaf_is_promised()
 *
 * To be called after ioband_floor_set() and ioband_floor_remove() of an entity that has bios in
 * flight.
 */
void ioband_floor_recount(struct ioband_core *core, u32 ios)
{
	core->promised_ios = ios;
}

/**
 * ioband_leaf_is_promised() - test for a minimum of a leaf, or of an entity above it
 * @leaf: leaf
 *
 * Return: true if there is one.
 */
bool ioband_leaf_is_promised(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->floor)
			return true;
	return false;
}
