// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what an entity may have at most.
 *
 * An entity of the tree, a group or a group's own bios, may be given a maximum:
 * bytes a second, bios a second or both, for reads, for writes or for both.  It
 * goes for all that is below it.
 *
 * Each bound is a clock that says when what has gone so far is used up
 * (sched/bucket.c).  It is compared before a bio goes and moved on after, so a
 * bio of any size can go, and the maximum is passed by one bio at most.  A clock
 * that is behind the time is set to slack_ns before it: who is late by less has it
 * made good, and nobody saves up.  In any time T no more goes than rate * (T + slack)
 * and one bio.
 *
 *	10 MiB/s, bios of 1 MiB, always waiting: one goes at 0, and the clock shows
 *	100 ms.  A timer is set, and fires at 100.2; the clock shows 200, and not
 *	200.2.
 *
 * With slices the device is somebody else's for a turn, or for one turn after another, and
 * that is no reason to have less than the maximum.  So time for which there was something to
 * do here, and it was not blocked, is made good as well.  All of it may go at once then, and
 * a second that begins with one turn and ends with another would have too much.  Hence the
 * trail: with slices no bio goes within a second of what went a second's worth before it, so
 * that in any second no more goes than rate * 33/32 and one bio.  Whoever the trail has
 * blocked has no more to be made good, and goes on evenly; else what went at once would go
 * at once again a second later, and so on.
 *
 *	4 MiB/s, pieces of 256 KiB, 62 ms each; others have the device for 150 ms, again and
 *	again.  Two or three pieces go between; with 62 ms made good it would be two, and
 *	more than 1 MiB/s would be lost.
 *
 * Past a maximum an entity is blocked that way: its reads, or its writes.  What
 * waits below it that way is not there for those above: their counters do not
 * have it, and if nothing else waits it is not among the live children.  So the
 * others are not held up by it, nothing is looked at in vain, and a block costs
 * the same whether one bio waits below or a thousand leaves do.  When the clock
 * has come it is all shown again, and the tree decides by weight what goes: below
 * a maximum weights count as anywhere.
 *
 * What goes out of turn (ioband_core_admit_now()) moves the clock on likewise, and
 * so is paid for later.
 */
#include "max.h"

#include "bucket.h"
#include "tree.h"

/* How far ahead of the time a clock may get by bios that go out of turn. */
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
 * Until when it is blocked in a way; 0 or in the past: it is not.  A bio that was let
 * go as one is let go to its end.
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

/* From now on others are the reason that it waits; what was to be made good before is past. */
static void cap_unblock(struct ioband_cap *cap, u64 ways, u64 now_ns)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		if (ways & ioband_way_mask(way) && cap->waits_ns[way] != U64_MAX)
			cap->waits_ns[way] = now_ns;
}

/* Find out anew in which ways it is blocked, and let those above know. */
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
 * ioband_cap_is_for() - does a maximum bound a way
 * @cap: the maximum; NULL: there is none
 * @way: read or written
 *
 * Return: true if so.
 */
bool ioband_cap_is_for(const struct ioband_cap *cap, enum ioband_way way)
{
	return cap && (cap->meter.bytes[way].rate || cap->meter.ios[way].rate);
}

/**
 * ioband_cap_note() - what waits at or below an entity has changed
 * @core: scheduler
 * @cap: of the entity
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

/* From when on what it did not have is made good. */
static u64 cap_late_ns(const struct ioband_core *core, const struct ioband_cap *cap,
		       enum ioband_way way, u64 now_ns)
{
	u64 late_ns = core->slack_ns;

	if (core->slice_ns && cap->waits_ns[way] < now_ns)
		late_ns = max(late_ns, now_ns - cap->waits_ns[way]);
	return now_ns - min(now_ns, late_ns);
}

/**
 * ioband_cap_charge() - a bio goes
 * @core: scheduler
 * @cap: of an entity above it, or its own
 * @bill: of the bio
 * @in_turn: it waited until it was not blocked
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
 * ioband_cap_expire() - show again what has been blocked for long enough
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
 * ioband_cap_wake_ns() - when the first one is to be shown again
 * @core: scheduler
 *
 * Return: time, or IOBAND_NO_WAKEUP if nothing is blocked.
 */
u64 ioband_cap_wake_ns(const struct ioband_core *core)
{
	const struct rb_node *first = rb_first_cached(&core->blocked);

	return first ? rb_to_cap(first)->until_ns : IOBAND_NO_WAKEUP;
}

/**
 * ioband_leaf_is_far_ahead() - has a leaf had a lot out of turn, past a maximum
 * @core: scheduler
 * @leaf: leaf
 * @way: in which way
 * @now_ns: time
 *
 * Return: true if a clock, of its own or above, is more than half as far ahead as it
 * may get.  What went out of turn from then on would never be paid for.
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
 * ioband_core_set_slack() - how late may a wake-up be
 * @core: scheduler
 * @slack_ns: so much is made good to who is held by a maximum
 */
void ioband_core_set_slack(struct ioband_core *core, u64 slack_ns)
{
	core->slack_ns = slack_ns;
}

/**
 * ioband_cap_init() - a maximum that bounds nothing
 * @cap: to initialise
 */
void ioband_cap_init(struct ioband_cap *cap)
{
	*cap = (struct ioband_cap) { .waits_ns = { U64_MAX, U64_MAX } };
	RB_CLEAR_NODE(&cap->rb);
}

/* Who gets another rate begins anew. */
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
 * ioband_cap_set() - give an entity a maximum, or another one
 * @core: scheduler
 * @ent: of a leaf, or of a node that is not the root
 * @cap: its own, or a new one if it has none
 * @rates: what it may have
 * @now_ns: time
 *
 * A rate that is another one holds from now on; what has gone already is forgotten.
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
 * ioband_cap_remove() - let an entity have as much as there is
 * @core: scheduler
 * @ent: of which the maximum can be freed afterwards
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
