// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: latency targets.
 *
 * An entity of the tree may have a latency target: the mean time of its reads from arrival to
 * completion.  While the mean is above the target, the entity is late, and other leaves are held
 * back.  All their I/O has to pass one token bucket, the throttle (sched/bucket.c), at a rate
 * that adapts by itself.
 *
 * The throttle is a rate, not a bound on bios in flight, because a read is often late for
 * another reason.  A drive writes to its medium for long after the writes are complete.  One
 * write at a time, each as soon as possible, then delays a read as much as 64.  A lower rate
 * also has fewer bios in flight.
 *
 * The throttle begins with the present rate of the leaves to hold back.  Each evaluation changes
 * it by an eighth at most, for the target that is missed by the largest factor:
 *
 *	rate += rate / 8 * (target - mean) / max(target, mean)
 *
 *	mean twice the target: 15/16 of the rate;  half of it: 17/16;  on target: as it is
 *
 * An evaluation takes IOBAND_LOOK_READS reads, and twice their mean latency: it must see the
 * effect of the last step before the next one.  A throttle that holds no leaf any more ends.
 *
 * A latency target must not take the share of other entities.  So the throttle holds only leaves
 * with more service, by weight, than the late entity.  With any target, the others get as much
 * as if both were always backlogged.  Leaves that follow a held one in the order have still more
 * service, and wait too.
 *
 *	reads of a, one at a time, 4 KiB each: 4 MB/s.  Target 1 us, which no device keeps;
 *	weights 100 and 200: b gets 8 MB/s.  Without a target b gets all the rest.
 *
 * Beside an entity with few reads, this share is next to nothing, for a target that may be out
 * of reach.  So the others always get a sixteenth of their rate when the throttle began.
 *
 * If several entities are late, the throttle is for the target that is missed by the largest
 * factor, and holds the other entities.  In the end all are late by the same factor.
 *
 * A target of the root is for all reads.  The throttle then holds all writes, and reads bypass
 * them, by weight and by the bypass vtime.  This is not a debt, as it is not for a minimum.
 * However late the reads, all writes together get at least a sixteenth of their rate.
 *
 * Among leaves that the throttle holds, weights decide, as anywhere.  Bios out of turn are
 * dispatched, and advance the bucket.  Bios for a minimum (sched/min.c) are dispatched, too.  A
 * maximum (sched/max.c) makes no entity late: reads below a maximum do not count above it.  An
 * evaluation is discarded if a maximum held the reads back.
 */
#include "latency.h"

#include "bucket.h"
#include "max.h"
#include "min.h"
#include "tree.h"

/* An evaluation takes this many reads, */
#define IOBAND_LOOK_READS	16

/* or all reads in this time, if there are some. */
#define IOBAND_LOOK_NS		(100 * NSEC_PER_MSEC)

/*
 * Without a completed read for this time, or for this many mean latencies, an entity is not
 * late.
 */
#define IOBAND_LOOK_MAX_NS	NSEC_PER_SEC
#define IOBAND_LOOK_MAX_READS	4

/* A read that has not completed within this time may never complete. */
#define IOBAND_LOOK_HUNG_NS	(10 * NSEC_PER_SEC)

/* Bound of a mean, beside twice the target: a read may have hung. */
#define IOBAND_MEAN_MAX_NS	NSEC_PER_SEC

/* An evaluation changes the rate by one part in this many, at most. */
#define IOBAND_BRAKE_STEP	8

/*
 * The least rate is a bio of 4 KiB in each sixteenth of a second, in bytes a second.  It is also
 * no less than a part of the rate of the late entity, or of the others when the throttle began.
 */
#define IOBAND_BRAKE_LEAST	(64U << 10)
#define IOBAND_BRAKE_LEAST_PART	16

/* The least charge of a bio, bytes. */
#define IOBAND_BRAKE_BIO	(4U << 10)

/* Largest lead of the bucket. */
#define IOBAND_BRAKE_DEBT_NS	NSEC_PER_SEC

/*
 * Has an entity had more service than another one?  Compares their virtual times in the first
 * node above both.  If one entity is above the other, there is no such node: false.
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

/* The throttle is for a target of the root. */
static bool brake_is_for_pool(const struct ioband_core *core)
{
	return core->brake.worst && !core->brake.worst->ent->parent;
}

/* The throttle is for a target of a leaf, or of an entity above it. */
static bool brake_is_for(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_aim *worst = core->brake.worst;

	return worst && worst->ent->parent && ent_is_below(&leaf->ent, worst->ent);
}

/**
 * ioband_brake_charge() - a bio is dispatched
 * @core: scheduler, with a latency target
 * @leaf: leaf of the bio
 * @bill: cost of the bio
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

/* Directions of a leaf that the throttle holds, as halves of &ioband_ent.waiting. */
static u64 brake_ways(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	const struct ioband_brake *brake = &core->brake;

	if (!brake->clock.rate || brake->clock.next_ns <= now_ns || brake_is_for(core, leaf))
		return 0;
	if (brake_is_for_pool(core))
		return ioband_way_mask(IOBAND_WAY_WRITE);
	return ent_is_ahead(&leaf->ent, brake->worst->ent) ? U64_MAX : 0;
}

/* Does the throttle hold a leaf?  The other directions are those of ioband_leaf_may(). */
static bool brake_holds(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	core->brake_ways = core->promised ? 0 : brake_ways(core, leaf, now_ns);
	return core->brake_ways && !ioband_leaf_may(core, leaf);
}

/* Time of the next pick if the throttle holds all leaves that are next. */
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
 * The same for a throttle of all writes.  With slices, a bypassing leaf stays one until its
 * slice ends: otherwise the service in the slice would become a debt.
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
 * ioband_brake_divert() - choose another leaf if the throttle holds the next one
 * @core: scheduler, with a latency target
 * @leaf: leaf that is the next
 * @ios: bios that count against the limit
 * @limit: in-flight limit, bios
 * @now_ns: time
 * @wake_ns: as for ioband_core_pick()
 *
 * Leaves after a held one have had more service: the throttle holds them as well.  But with
 * slices, the slice holder may have had more service than other leaves.  And the throttle does
 * not hold reads while it holds writes.
 *
 * Sets @late for the caller, the held directions for ioband_leaf_may(), and the bypassing leaf
 * for the charge.
 *
 * Return: @leaf if the throttle does not hold it; another leaf; or NULL.
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
 * ioband_aim_return() - a bio of a leaf has completed
 * @leaf: leaf of the bio; some entity has a latency target
 * @bill: cost of the bio
 */
void ioband_aim_return(const struct ioband_leaf *leaf, const struct ioband_bill *bill)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; bill->way == IOBAND_WAY_READ && ent; ent = ent_above(ent))
		if (ent->aim && ent->aim->inflight)
			ent->aim->inflight--;
}

/**
 * ioband_leaf_took() - report the latency of a completed read
 * @leaf: leaf of the read
 * @ns: time from arrival to completion
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

/*
 * A maximum has held the reads back since the last evaluation: other entities are not the
 * reason.
 */
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

/* Time without a completed read after which the entity no longer counts as a reader. */
static u64 aim_patience_ns(const struct ioband_aim *aim)
{
	if (aim->inflight || aim->ent->waiting & ioband_way_mask(IOBAND_WAY_READ))
		return IOBAND_LOOK_HUNG_NS;
	return max_t(u64, IOBAND_LOOK_MAX_NS, IOBAND_LOOK_MAX_READS * aim->mean_ns);
}

/* Return: true if there is a new mean. */
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

/* Is a target missed by a larger factor than another one? */
static bool aim_is_worse(const struct ioband_aim *aim, const struct ioband_aim *other)
{
	return !other ||
	       ioband_mul_div(aim->mean_ns, other->target_ns, aim->target_ns) > other->mean_ns;
}

/* The target missed by the largest factor; NULL: no recent reads.  @looked: its mean is new. */
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
 * ioband_brake_end() - end the throttle
 * @core: scheduler
 * @now_ns: time
 *
 * The latencies so far are discarded.
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

/*
 * Set the next rate.  The others were served at @rate, the late entity at @late_rate, bytes a
 * second.
 */
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
	if (mean_ns > target_ns && rate < clock->rate / 2)	/* others are not the reason */
		return;
	step = clock->rate / IOBAND_BRAKE_STEP;
	if (mean_ns > target_ns)
		clock->rate -= ioband_mul_div(step, mean_ns - target_ns, most_ns);
	else
		clock->rate += ioband_mul_div(step, target_ns - mean_ns, most_ns);
	/* No less than half of the rate that weights give the others. */
	clock->rate = max(clock->rate, max(rate / 2, least));
	clock->rest = 0;
}

/**
 * ioband_core_look() - evaluate the latency targets, and set the throttle
 * @core: scheduler
 * @now_ns: time
 *
 * To be called every few milliseconds while groups compete, and followed by ioband_core_pick():
 * the throttle may have ended.
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
	if (brake->clock.rate || worst == brake->worst)	/* else other bytes were counted */
		brake_step(core, worst, rate, late_rate);
	brake->worst = worst;
}

/**
 * ioband_aim_init() - make a latency target that is not in use
 * @aim: to initialise
 */
void ioband_aim_init(struct ioband_aim *aim)
{
	*aim = (struct ioband_aim) {};
	INIT_LIST_HEAD(&aim->aims);
}

/**
 * ioband_aim_set() - give an entity a latency target, or change it
 * @core: scheduler
 * @ent: entity of a leaf or a node, which may be the root
 * @aim: target of the entity, or a new one if it has none
 * @target_ns: mean latency of its reads
 * @now_ns: time
 *
 * Latencies so far are discarded, unless the target is unchanged.
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
 * ioband_aim_remove() - remove the latency target of an entity
 * @core: scheduler
 * @ent: entity; the caller can free its target afterwards
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
