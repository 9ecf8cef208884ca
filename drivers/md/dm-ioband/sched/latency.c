// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how long an entity's reads may take.
 *
 * An entity of the tree may be given a latency target: what its reads are to take from
 * when they arrive until they complete, in the mean.  While they take longer it is late,
 * and the others are held back: all that goes to the device from elsewhere has to pass
 * one clock, the brake (sched/bucket.c), at a rate that is found by itself.
 *
 * It is a rate, and not a bound on what is in flight, as what makes a read late is often
 * past that: a drive that has told a writer that all is done writes for long after, and
 * one write at a time, as soon as it can be, is as bad for a read as 64.  With a lower
 * rate there is less in flight, too.
 *
 * The brake begins with the rate of those who are to be held back, as it is then.  With
 * each look at what reads have taken, from the one that is the furthest from its target, it
 * comes nearer, by an eighth at most:
 *
 *	rate += rate / 8 * (target - mean) / max(target, mean)
 *
 *	mean twice the target: 15/16 of the rate;  half of it: 17/16;  on target: as it is
 *
 * A look takes IOBAND_LOOK_READS reads, and twice as long as these take in the mean: what
 * the last step has changed has to be seen before the next one.  When a brake holds nobody
 * back any more, it ends.
 *
 * A wish must not take away what others' weights give them.  So the brake holds only who
 * has been served more than the latest, by weight: whatever the target, others have as
 * much beside it as if both always had something waiting.  And who comes after one that
 * is held, having been served more than that, waits too.
 *
 *	reads of a, one at a time, 4 KiB each: 4 MB/s.  Target 1 us, which no device keeps;
 *	weights 100 and 200: b gets 8 MB/s, and all that was left without a target.
 *
 * Beside one that reads little that would be next to nothing, for a target that may be out
 * of reach: so a sixteenth of what went when the brake began always goes.
 *
 * Of several that are late it is for the one that is the furthest from its target, and
 * holds the others: so all are late by the same part in the end.  With a target on the
 * root, of all reads, it is all writes that are held, and reads go past them, by weight
 * among themselves, in a virtual time of their own; they are not owed, as what is promised
 * is not.  However late the reads, all together write a sixteenth as much.
 *
 * While several wait for the brake, weights decide, as anywhere.  What others wait for
 * goes, and moves the clock; what is promised (sched/min.c) goes, too.  A maximum
 * (sched/max.c) makes nobody late: what has waited for one does not count above it, and
 * a look in which one held the reads back says nothing.
 */
#include "latency.h"

#include "bucket.h"
#include "max.h"
#include "min.h"
#include "tree.h"

/* A look: so many reads, */
#define IOBAND_LOOK_READS	16

/* or as many as there are in so long, if there are some. */
#define IOBAND_LOOK_NS		(100 * NSEC_PER_MSEC)

/* Who has had no read back for so long, or for so many times what they took, is not late. */
#define IOBAND_LOOK_MAX_NS	NSEC_PER_SEC
#define IOBAND_LOOK_MAX_READS	4

/* One that a read of has not come back for so long may be waited for in vain. */
#define IOBAND_LOOK_HUNG_NS	(10 * NSEC_PER_SEC)

/* A mean is no more than twice the target and this: a read may have hung. */
#define IOBAND_MEAN_MAX_NS	NSEC_PER_SEC

/* By what part of it a rate changes with a look at most. */
#define IOBAND_BRAKE_STEP	8

/*
 * The least rate, bytes a second: a bio of 4 KiB in each sixteenth of one; a part of what
 * goes of the one that it is for; and of what went of the others when it began.
 */
#define IOBAND_BRAKE_LEAST	(64U << 10)
#define IOBAND_BRAKE_LEAST_PART	16

/* As much as a bio counts there at least, in bytes. */
#define IOBAND_BRAKE_BIO	(4U << 10)

/* How far ahead of the time its clock may get. */
#define IOBAND_BRAKE_DEBT_NS	NSEC_PER_SEC

/*
 * Has an entity been served more than another one, where both compete: in the first node
 * on the way up that is on both ways?  Of one that is above the other that cannot be said.
 */
static bool ent_is_ahead(const struct ioband_ent *ent, const struct ioband_ent *other)
{
	const struct ioband_ent *a, *b;

	for (a = ent; a->parent; a = &a->parent->ent)
		for (b = other; b->parent; b = &b->parent->ent)
			if (a->parent == b->parent)
				return vtime_before(b->vtime, a->vtime);
	return false;
}

/* It is for the reads of all. */
static bool brake_is_for_pool(const struct ioband_core *core)
{
	return core->brake.worst && !core->brake.worst->ent->parent;
}

/* It is for a leaf. */
static bool brake_is_for(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_aim *worst = core->brake.worst;

	return worst && worst->ent->parent && ent_is_below(&leaf->ent, worst->ent);
}

/**
 * ioband_brake_charge() - a bio goes
 * @core: scheduler; some entity has a latency target
 * @leaf: whose
 * @bill: of the bio
 * @now_ns: time
 */
void ioband_brake_charge(struct ioband_core *core, const struct ioband_leaf *leaf,
			 const struct ioband_bill *bill, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC,
		.late_ns = now_ns - min(now_ns, core->slack_ns),
		.early_ns = U64_MAX,
		.most_ns = now_ns + IOBAND_BRAKE_DEBT_NS,
	};
	struct ioband_brake *brake = &core->brake;
	const u32 bytes = max(bill->bytes, IOBAND_BRAKE_BIO);
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; bill->way == IOBAND_WAY_READ && ent; ent = ent_above(ent))
		if (ent->aim)
			ent->aim->inflight++;
	if (brake_is_for(core, leaf) ||
	    (brake_is_for_pool(core) && bill->way == IOBAND_WAY_READ)) {
		brake->late_bytes += bytes;
		return;
	}
	brake->bytes += bytes;
	ioband_clock_move(&brake->clock, bytes, &leeway);
}

/* In which ways has a leaf to wait for the brake, as halves of &ioband_ent.waiting? */
static u64 brake_ways(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	const struct ioband_brake *brake = &core->brake;

	if (!brake->clock.rate || brake->clock.next_ns <= now_ns || brake_is_for(core, leaf))
		return 0;
	if (brake_is_for_pool(core))
		return ioband_way_mask(IOBAND_WAY_WRITE);
	return ent_is_ahead(&leaf->ent, brake->worst->ent) ? U64_MAX : 0;
}

/* Has a leaf to wait for the brake?  In which of its ways it may go ioband_leaf_may() tells. */
static bool brake_holds(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	core->brake_ways = core->promised ? 0 : brake_ways(core, leaf, now_ns);
	return core->brake_ways && !ioband_leaf_may(core, leaf);
}

/* When to ask again if all who are next have to wait for the brake. */
static u64 brake_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	u64 wake_ns = core->brake.clock.next_ns;

	if (core->promising)
		wake_ns = min(wake_ns, ioband_floor_wake_ns(core, now_ns));
	if (!RB_EMPTY_ROOT(&core->thinking.rb_root))
		wake_ns = min(wake_ns, ioband_core_grace_ends(core));
	return wake_ns;
}

/*
 * The same if it is writes that wait.  With slices, who has the turn for going past others
 * goes on like that until it is another one's: else it would owe what it has in it.
 */
static struct ioband_leaf *divert_to_reads(struct ioband_core *core, struct ioband_leaf *leaf,
					   u32 ios, u32 limit, u64 now_ns, u64 *wake_ns)
{
	const bool goes_on = core->slice_ns && core->diverted == leaf;
	const bool waits = brake_holds(core, leaf, now_ns);

	core->diverted = NULL;
	if (!waits || !leaf->ways) {
		if (goes_on || (core->slice_ns && core->brake_ways))
			core->diverted = leaf;
		return leaf;
	}
	core->late = true;
	leaf = ioband_leaf_below(core, &core->root.ent, ioband_way_mask(IOBAND_WAY_READ), true,
				 ios, limit);
	if (!leaf || brake_holds(core, leaf, now_ns)) {
		*wake_ns = brake_wake_ns(core, now_ns);
		return NULL;
	}
	core->diverted = leaf;
	return leaf;
}

/**
 * ioband_brake_divert() - who is next if somebody has to wait for the brake
 * @core: scheduler; some entity has a latency target
 * @leaf: that would be the next
 * @ios: what is on the pipe, bios
 * @limit: how much may be
 * @now_ns: time
 * @wake_ns: as of ioband_core_pick()
 *
 * Those that come after one that waits have been served more: they wait as well.  But
 * with slices one that has a turn may have been served more than others; and reads do not
 * wait while it is writes that do.
 *
 * Notes for the caller that somebody waits (@late), for ioband_leaf_may() in which ways, and
 * for the charge if the one that is next goes past others.
 *
 * Return: the same leaf, if it has not to wait; another one; or NULL.
 */
struct ioband_leaf *ioband_brake_divert(struct ioband_core *core, struct ioband_leaf *leaf,
					u32 ios, u32 limit, u64 now_ns, u64 *wake_ns)
{
	if (brake_is_for_pool(core))
		return divert_to_reads(core, leaf, ios, limit, now_ns, wake_ns);
	core->diverted = NULL;
	if (!brake_holds(core, leaf, now_ns))
		return leaf;
	core->late = true;
	leaf = core->slice_ns ?
		       ioband_leaf_below(core, &core->root.ent, U64_MAX, false, ios, limit) : NULL;
	if (leaf && !brake_holds(core, leaf, now_ns))
		return leaf;
	*wake_ns = brake_wake_ns(core, now_ns);
	return NULL;
}

/**
 * ioband_aim_return() - a bio of a leaf is back from the device
 * @leaf: whose; some entity has a latency target
 * @bill: of the bio
 */
void ioband_aim_return(const struct ioband_leaf *leaf, const struct ioband_bill *bill)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; bill->way == IOBAND_WAY_READ && ent; ent = ent_above(ent))
		if (ent->aim && ent->aim->inflight)
			ent->aim->inflight--;
}

/**
 * ioband_leaf_took() - a read of a leaf has completed
 * @leaf: whose
 * @ns: how long it took since it arrived
 */
void ioband_leaf_took(const struct ioband_leaf *leaf, u64 ns)
{
	const struct ioband_ent *ent = &leaf->ent;

	for (;;) {
		if (ent->aim) {
			ent->aim->sum_ns += ns;
			ent->aim->reads++;
		}
		if (!ent->parent || ioband_cap_is_for(ent->cap, IOBAND_WAY_READ))
			break;
		ent = &ent->parent->ent;
	}
}

/* A maximum has held it back since the last look: that is not the others' fault. */
static bool aim_was_capped(const struct ioband_aim *aim)
{
	const struct ioband_ent *ent;

	for (ent = aim->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->cap && ent->cap->reads_until_ns > aim->since_ns)
			return true;
	return false;
}

static void aim_forget(struct ioband_aim *aim, u64 now_ns)
{
	aim->mean_ns = 0;
	aim->sum_ns = 0;
	aim->reads = 0;
	aim->since_ns = now_ns;
}

/* For how long, without a read that has come back, it counts as one that reads. */
static u64 aim_patience_ns(const struct ioband_aim *aim)
{
	if (aim->inflight || aim->ent->waiting & ioband_way_mask(IOBAND_WAY_READ))
		return IOBAND_LOOK_HUNG_NS;
	return max_t(u64, IOBAND_LOOK_MAX_NS, IOBAND_LOOK_MAX_READS * aim->mean_ns);
}

/* Return: whether it is known anew what reads take. */
static bool aim_look(struct ioband_aim *aim, u64 now_ns)
{
	const u64 ns = now_ns - min(now_ns, aim->since_ns);
	u64 mean_ns = 0;

	if (aim->reads) {
		mean_ns = min(div64_u64(aim->sum_ns, aim->reads),
			      2 * aim->target_ns + IOBAND_MEAN_MAX_NS);
		if ((aim->reads < IOBAND_LOOK_READS && ns < IOBAND_LOOK_NS) || ns < 2 * mean_ns)
			return false;
	} else if (ns < aim_patience_ns(aim)) {
		return false;
	}
	if (aim_was_capped(aim))
		mean_ns = 0;
	aim_forget(aim, now_ns);
	aim->mean_ns = mean_ns;
	return true;
}

/* Is a mean further from its target than another one? */
static bool aim_is_worse(const struct ioband_aim *aim, const struct ioband_aim *other)
{
	return !other ||
	       ioband_mul_div(aim->mean_ns, other->target_ns, aim->target_ns) > other->mean_ns;
}

/* The furthest from its target; NULL: nobody has read lately.  @looked: it is known anew. */
static struct ioband_aim *aims_look(const struct ioband_core *core, u64 now_ns, bool *looked)
{
	struct ioband_aim *aim, *worst = NULL;

	*looked = false;
	list_for_each_entry(aim, &core->aims, aims) {
		bool known;

		if (!aim->mean_ns && !aim->reads) {
			aim->since_ns = now_ns;
			continue;
		}
		known = aim_look(aim, now_ns);
		if (aim_is_worse(aim, worst)) {
			worst = aim;
			*looked = known;
		}
	}
	return worst;
}

/**
 * ioband_brake_end() - hold nobody back any more for what reads take
 * @core: scheduler
 * @now_ns: time
 *
 * What they have taken is forgotten.
 */
void ioband_brake_end(struct ioband_core *core, u64 now_ns)
{
	struct ioband_aim *aim;

	list_for_each_entry(aim, &core->aims, aims)
		aim_forget(aim, now_ns);
	core->brake = (struct ioband_brake) { .since_ns = now_ns };
	core->brake_ways = 0;
	core->diverted = NULL;
}

/* The next rate, after what goes of the others went at @rate, and of the late at @late_rate. */
static void brake_step(struct ioband_core *core, const struct ioband_aim *worst, u64 rate,
		       u64 late_rate)
{
	const u64 part = max(late_rate, core->brake.first_rate) / IOBAND_BRAKE_LEAST_PART;
	const u64 least = max_t(u64, part, IOBAND_BRAKE_LEAST);
	const u64 target_ns = worst->target_ns, mean_ns = worst->mean_ns;
	const u64 most_ns = max(target_ns, mean_ns);
	struct ioband_clock *clock = &core->brake.clock;
	u64 step;

	if (!clock->rate) {
		if (mean_ns <= target_ns || rate < least)
			return;
		core->brake.first_rate = rate;
		clock->rate = rate;
	}
	if (mean_ns > target_ns && rate < clock->rate / 2)	/* it is not the others */
		return;
	step = clock->rate / IOBAND_BRAKE_STEP;
	if (mean_ns > target_ns)
		clock->rate -= ioband_mul_div(step, mean_ns - target_ns, most_ns);
	else
		clock->rate += ioband_mul_div(step, target_ns - mean_ns, most_ns);
	/* Nor less than half of what goes because it is no one's turn but theirs. */
	clock->rate = max(clock->rate, max(rate / 2, least));
	clock->rest = 0;
}

/**
 * ioband_core_look() - see what reads have taken, and set the brake
 * @core: scheduler
 * @now_ns: time
 *
 * To be called every few milliseconds while groups compete, and ioband_core_pick() then: the
 * brake may have ended.
 */
void ioband_core_look(struct ioband_core *core, u64 now_ns)
{
	struct ioband_brake *brake = &core->brake;
	const u64 ns = now_ns - min(now_ns, brake->since_ns);
	struct ioband_aim *worst;
	u64 rate, late_rate;
	bool looked;

	core->now_ns = now_ns;
	if (!core->aiming || !ns)
		return;
	worst = aims_look(core, now_ns, &looked);
	if (!worst) {
		if (brake->worst)
			ioband_brake_end(core, now_ns);
		return;
	}
	if (!looked)
		return;
	rate = ioband_mul_div(brake->bytes, NSEC_PER_SEC, ns);
	late_rate = ioband_mul_div(brake->late_bytes, NSEC_PER_SEC, ns);
	brake->since_ns = now_ns;
	brake->bytes = 0;
	brake->late_bytes = 0;
	if (brake->clock.rate && worst->mean_ns <= worst->target_ns &&
	    rate < brake->clock.rate / 2) {
		ioband_brake_end(core, now_ns);
		return;
	}
	if (brake->clock.rate || worst == brake->worst)	/* else what went counted otherwise */
		brake_step(core, worst, rate, late_rate);
	brake->worst = worst;
}

/**
 * ioband_aim_init() - no latency target yet
 * @aim: to initialise
 */
void ioband_aim_init(struct ioband_aim *aim)
{
	*aim = (struct ioband_aim) {};
	INIT_LIST_HEAD(&aim->aims);
}

/**
 * ioband_aim_set() - give an entity a latency target, or another one
 * @core: scheduler
 * @ent: of a leaf or a node, which may be the root
 * @aim: its own, or a new one if it has none
 * @target_ns: what its reads are to take in the mean
 * @now_ns: time
 *
 * What its reads have taken so far is forgotten, unless it has that target already.
 */
void ioband_aim_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_aim *aim,
		    u64 target_ns, u64 now_ns)
{
	if (ent->aim && aim->target_ns == target_ns)
		return;
	if (!ent->aim) {
		list_add_tail(&aim->aims, &core->aims);
		core->aiming++;
	}
	aim->ent = ent;
	aim->target_ns = target_ns;
	aim_forget(aim, now_ns);
	ent->aim = aim;
}

/**
 * ioband_aim_remove() - let an entity's reads take what they take
 * @core: scheduler
 * @ent: of which the target can be freed afterwards
 */
void ioband_aim_remove(struct ioband_core *core, struct ioband_ent *ent)
{
	struct ioband_aim *aim = ent->aim;

	if (!aim)
		return;
	if (core->brake.worst == aim)
		ioband_brake_end(core, core->now_ns);
	list_del(&aim->aims);
	core->aiming--;
	ent->aim = NULL;
}
