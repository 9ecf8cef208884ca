// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: maxima.
 *
 * An entity of the tree, a group or the bios of a group itself, may have a maximum: bytes a
 * second, bios a second or both, for reads, for writes or for both.  It applies to all bios at
 * or below the entity.
 *
 * Each bound is a token bucket, kept as the time at which its I/O is paid for (sched/bucket.c).
 * The test precedes the dispatch of a bio, and the charge follows it.  So a bio of any size can
 * be dispatched, and the excess is one bio at most.  A bucket that is behind the time is set to
 * slack_ns before it: a shorter delay is made up, and no entity saves tokens.  In any time T, at
 * most rate * (T + slack) and one bio are dispatched.
 *
 *	10 MiB/s, bios of 1 MiB, always backlogged: one is dispatched at 0, and the bucket
 *	shows 100 ms.  A timer is set, and fires at 100.2; the bucket shows 200, and not
 *	200.2.
 *
 * With slices, other leaves have the device for one slice, or for several in a row.  This is no
 * reason for less than the maximum.  So the time in which the entity was active and not blocked
 * is made up as well.  All of this I/O may be dispatched at once.  A second that begins with one
 * slice and ends with another would then exceed the maximum.
 *
 * Hence the trail: with slices, a bio waits until one second after the I/O that precedes it by a
 * second's worth.  So in any second at most rate * 33/32 and one bio are dispatched.  An entity
 * that was blocked by the trail has nothing to make up, and continues evenly.  Otherwise a burst
 * would recur after a second, and so on.
 *
 *	4 MiB/s, splits of 256 KiB, 62 ms each; others have the device for 150 ms, again and
 *	again.  Two or three splits are dispatched between; with 62 ms made up it would be
 *	two, and more than 1 MiB/s would be lost.
 *
 * An entity beyond its maximum is blocked in that direction.  The counters of the entities above
 * do not include its queued bios of a blocked direction.  Without other bios, it is not among
 * the live children.  So it does not delay its siblings, and no search visits it in vain.  A
 * block costs the same for one queued bio as for a thousand leaves.  When the time of the bucket
 * is over, the bios are counted again, and weights decide below a maximum as anywhere.
 *
 * Bios out of turn (ioband_core_admit_now()) advance the bucket too, and are paid for later.
 */
#include "max.h"

#include "bucket.h"
#include "tree.h"

/* Largest lead of a bucket because of bios out of turn. */
#define IOBAND_CAP_DEBT_NS	(10 * NSEC_PER_SEC)

static struct ioband_cap *rb_to_cap(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_cap, rb);
}

static bool cap_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_to_cap(a)->until_ns < rb_to_cap(b)->until_ns;
}

/*
 * End of the block of a direction; 0 or in the past: not blocked.  The bound on bios does not
 * block the other splits of a bio that has begun.
 */
static u64 cap_until_ns(const struct ioband_cap *cap, enum ioband_way way)
{
	const u64 bytes_ns = max(cap->meter.bytes[way].next_ns,
				 ioband_trail_until_ns(&cap->bytes[way]));
	const u64 ios_ns = max(cap->meter.ios[way].next_ns,
			       ioband_trail_until_ns(&cap->ios[way]));

	return cap->begun[way] ? bytes_ns : max(bytes_ns, ios_ns);
}

static void cap_dequeue(struct ioband_core *core, struct ioband_cap *cap)
{
	if (RB_EMPTY_NODE(&cap->rb))
		return;
	rb_erase_cached(&cap->rb, &core->blocked);
	RB_CLEAR_NODE(&cap->rb);
}

/*
 * Some directions are no longer blocked: from now on, other entities are the reason for a delay.
 * Earlier delay is not made up.
 */
static void cap_unblock(struct ioband_cap *cap, u64 ways, u64 now_ns)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (ways & ioband_way_mask(way) && cap->waits_ns[way] != U64_MAX)
			cap->waits_ns[way] = now_ns;
}

/* Update the blocked directions, and the counters of the entities above. */
static void cap_update(struct ioband_core *core, struct ioband_cap *cap, u64 now_ns)
{
	u64 blocked = 0, until_ns = U64_MAX;
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		const u64 way_until_ns = cap_until_ns(cap, way);

		if (way_until_ns <= now_ns)
			continue;
		blocked |= ioband_way_mask(way);
		until_ns = min(until_ns, way_until_ns);
	}
	if (blocked & ioband_way_mask(IOBAND_WAY_READ))
		cap->reads_until_ns = cap_until_ns(cap, IOBAND_WAY_READ);
	cap_dequeue(core, cap);
	cap_unblock(cap, cap->blocked & ~blocked, now_ns);
	if (blocked != cap->blocked)
		ioband_ent_block(core, cap->ent, blocked);
	if (!blocked)
		return;
	cap->until_ns = until_ns;
	rb_add_cached(&cap->rb, &core->blocked, cap_less);
}

/**
 * ioband_cap_is_for() - test whether a maximum bounds a direction
 * @cap: maximum; NULL: none
 * @way: direction
 *
 * Return: true if it does.
 */
bool ioband_cap_is_for(const struct ioband_cap *cap, enum ioband_way way)
{
	return cap && (cap->meter.bytes[way].rate || cap->meter.ios[way].rate);
}

/**
 * ioband_cap_note() - the queued bios of an entity have changed
 * @core: scheduler
 * @cap: maximum of the entity
 */
void ioband_cap_note(const struct ioband_core *core, struct ioband_cap *cap)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		if (!cap->ent->busy)
			cap->waits_ns[way] = U64_MAX;
		else if (cap->ent->waiting & ioband_way_mask(way))
			cap->waits_ns[way] = min(cap->waits_ns[way], core->now_ns);
	}
}

/* Time from which on missed I/O is made up. */
static u64 cap_late_ns(const struct ioband_core *core, const struct ioband_cap *cap,
		       enum ioband_way way, u64 now_ns)
{
	u64 late_ns = core->slack_ns;

	if (core->slice_ns && cap->waits_ns[way] < now_ns)
		late_ns = max(late_ns, now_ns - cap->waits_ns[way]);
	return now_ns - min(now_ns, late_ns);
}

/**
 * ioband_cap_charge() - a bio is dispatched
 * @core: scheduler
 * @cap: maximum of the leaf, or of an entity above it
 * @bill: cost of the bio
 * @in_turn: the bio stayed queued while blocked
 * @now_ns: time
 */
void ioband_cap_charge(struct ioband_core *core, struct ioband_cap *cap,
		       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC,
		.late_ns = cap_late_ns(core, cap, bill->way, now_ns),
		.early_ns = U64_MAX,
		.most_ns = in_turn ? U64_MAX : now_ns + IOBAND_CAP_DEBT_NS,
	};

	ioband_meter_move(&cap->meter, bill, &leeway);
	if (core->slice_ns) {
		ioband_trail_add(&cap->bytes[bill->way], bill->bytes,
				 cap->meter.bytes[bill->way].rate, now_ns);
		ioband_trail_add(&cap->ios[bill->way], bill->ios,
				 cap->meter.ios[bill->way].rate, now_ns);
	}
	cap->begun[bill->way] = bill->more;
	cap_update(core, cap, now_ns);
}

/**
 * ioband_cap_expire() - end blocks that are over
 * @core: scheduler
 * @now_ns: time
 */
void ioband_cap_expire(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *first;

	while ((first = rb_first_cached(&core->blocked)) &&
	       rb_to_cap(first)->until_ns <= now_ns)
		cap_update(core, rb_to_cap(first), now_ns);
}

/**
 * ioband_cap_wake_ns() - end of the first block
 * @core: scheduler
 *
 * Return: time, or IOBAND_NO_WAKEUP if no entity is blocked.
 */
u64 ioband_cap_wake_ns(const struct ioband_core *core)
{
	const struct rb_node *first = rb_first_cached(&core->blocked);

	return first ? rb_to_cap(first)->until_ns : IOBAND_NO_WAKEUP;
}

/**
 * ioband_leaf_is_far_ahead() - test for a large excess over a maximum by bios out of turn
 * @core: scheduler
 * @leaf: leaf
 * @way: direction
 * @now_ns: time
 *
 * Return: true if a bucket of the leaf, or of an entity above it, has more than half of the
 * largest lead.  Further bios out of turn might never be paid for.
 */
bool ioband_leaf_is_far_ahead(const struct ioband_core *core, const struct ioband_leaf *leaf,
			      enum ioband_way way, u64 now_ns)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; core->capped && ent->parent; ent = &ent->parent->ent)
		if (ent->cap && cap_until_ns(ent->cap, way) > now_ns + IOBAND_CAP_DEBT_NS / 2)
			return true;
	return false;
}

/**
 * ioband_core_set_slack() - set the largest delay of a wake-up
 * @core: scheduler
 * @slack_ns: delay that an entity with a maximum makes up
 */
void ioband_core_set_slack(struct ioband_core *core, u64 slack_ns)
{
	core->slack_ns = slack_ns;
}

/**
 * ioband_cap_init() - make a maximum without a rate
 * @cap: to initialise
 */
void ioband_cap_init(struct ioband_cap *cap)
{
	*cap = (struct ioband_cap) { .waits_ns = { U64_MAX, U64_MAX } };
	RB_CLEAR_NODE(&cap->rb);
}

/* A direction with a new rate starts without a trail. */
static void cap_begin(struct ioband_cap *cap, const struct ioband_rates *rates, u64 now_ns)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		if (cap->meter.bytes[way].rate == rates->bytes[way] &&
		    cap->meter.ios[way].rate == rates->ios[way])
			continue;
		cap->bytes[way] = (struct ioband_trail) {};
		cap->ios[way] = (struct ioband_trail) {};
		cap_unblock(cap, ioband_way_mask(way), now_ns);
	}
}

/**
 * ioband_cap_set() - give an entity a maximum, or change it
 * @core: scheduler
 * @ent: entity of a leaf, or of a node that is not the root
 * @cap: maximum of the entity, or a new one if it has none
 * @rates: rates of the maximum
 * @now_ns: time
 *
 * A changed rate is in force from now on; earlier I/O does not count for it.
 */
void ioband_cap_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_cap *cap,
		    const struct ioband_rates *rates, u64 now_ns)
{
	core->now_ns = now_ns;
	cap_begin(cap, rates, now_ns);
	ioband_meter_set(&cap->meter, rates);
	core->capped = true;
	cap->ent = ent;
	ent->cap = cap;
	ioband_cap_note(core, cap);
	cap_update(core, cap, now_ns);
}

/**
 * ioband_cap_remove() - remove the maximum of an entity
 * @core: scheduler
 * @ent: entity; the caller can free its maximum afterwards
 */
void ioband_cap_remove(struct ioband_core *core, struct ioband_ent *ent)
{
	struct ioband_cap *cap = ent->cap;

	if (!cap)
		return;
	cap_dequeue(core, cap);
	if (cap->blocked)
		ioband_ent_block(core, ent, 0);
	ent->cap = NULL;
}
