// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: latency targets.
 * Pure, see core.h.  core.c and the target call it, under the pool's lock.
 *
 * An entity of the tree may have a latency target: the mean time of its reads from arrival to
 * completion.  While the mean is above the target, the entity is late, and other leaves are held
 * back: all their I/O has to pass one token bucket, the throttle (sched/bucket.c), at a rate that
 * adapts by itself.  An entity may have another target for its awaited writes: synchronous writes,
 * for which a task waits, and flushes, but not writeback.  Everything here applies to these as to
 * reads, except the target of the root.
 *
 * The throttle is a rate, not a bound on bios in flight, because a read is often late for another
 * reason.  A drive writes to its medium for long after the writes are complete.  One write at a
 * time, each as soon as possible, then delays a read as much as 64.  A lower rate also has fewer
 * bios in flight.
 *
 * The throttle begins with the present rate of the leaves to hold back.  Each evaluation changes it
 * by an eighth at most, for the target that is missed by the largest factor:
 *
 *	rate += rate / 8 * (target - mean) / max(target, mean)
 *
 *	mean twice the target: 15/16 of the rate;  half of it: 17/16;  on target: as it is
 *
 * An evaluation takes IOBAND_LOOK_READS reads, and twice their mean latency: it must see the effect
 * of the last step before the next one.  A throttle that holds no leaf any more ends.
 *
 * A latency target must not take the share of other entities.  So the throttle holds only leaves
 * with more service, by weight, than the late entity: with any target, the others get as much as if
 * both were always backlogged.  Leaves that follow a held one in the order have still more service,
 * and wait too.
 *
 *	reads of a, one at a time, 4 KiB each: 4 MB/s.  Target 1 us, which no device keeps; weights
 *	100 and 200: b gets 8 MB/s.  Without a target b gets all the rest.
 *
 * Beside an entity with few reads, this share is next to nothing, for a target that may be out of
 * reach.  So the others always get a sixteenth of their rate when the throttle began.
 *
 * If several entities are late, the throttle is for the target that is missed by the largest
 * factor, and holds the other entities.  In the end all are late by the same factor.
 *
 * A target of the root is for all reads.  The throttle then holds all writes, and reads bypass
 * them, by weight and by the bypass vtime.  This is not a debt, as it is not for a minimum.
 * However late the reads, all writes together get at least a sixteenth of their rate.
 *
 * Among leaves that the throttle holds, weights decide, as anywhere.  Bios out of turn are
 * dispatched, and advance the bucket; so are bios for a minimum (sched/min.c).  A maximum
 * (sched/max.c) makes no entity late: reads below a maximum do not count above it, and an
 * evaluation is discarded if a maximum held the reads back.  The same applies to the idle class
 * (sched/idle.c).
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
 * One look takes so many targets, some 10 us; with more, the next ones continue.  An evaluation of
 * few reads takes a hundred milliseconds anyway: that is ten looks.
 */
#define IOBAND_LOOK_TARGETS	256

/*
 * Without a completed read for this time, or for this many mean latencies, an entity is not late.
 */
#define IOBAND_LOOK_MAX_NS	NSEC_PER_SEC
#define IOBAND_LOOK_MAX_READS	4

/* A read that has not completed within this time may never complete. */
#define IOBAND_LOOK_HUNG_NS	(10 * NSEC_PER_SEC)

/* Bound of a mean, beside twice the target: a read may have hung. */
#define IOBAND_MEAN_MAX_NS	NSEC_PER_SEC

/* An evaluation changes the rate by one part in this many, at most. */
#define IOBAND_LATENCY_STEP	8

/*
 * The least rate is a bio of 4 KiB in each sixteenth of a second, in bytes a second.  It is also
 * no less than a part of the rate of the late entity, or of the others when the throttle began.
 */
#define IOBAND_LATENCY_LEAST	(64U << 10)
#define IOBAND_LATENCY_LEAST_PART	16

/* The least charge of a bio, bytes. */
#define IOBAND_LATENCY_BIO	(4U << 10)

/* Largest lead of the bucket. */
#define IOBAND_LATENCY_DEBT_NS	NSEC_PER_SEC

/* The number of entities above one. */
static u32 ent_level(const struct ioband_ent *ent)
{
	u32 level = 0;

	for (; ent->parent; ent = &ent->parent->ent)
		level++;
	return level;
}

/*
 * Has an entity had more service than another one?  Compares their virtual times in the first
 * node above both.  If one entity is above the other, there is no such node: false.
 */
static bool ent_is_ahead(const struct ioband_ent *ent, const struct ioband_ent *other)
{
	u32 level = ent_level(ent), other_level = ent_level(other);

	for (; level > other_level; level--)
		ent = &ent->parent->ent;
	for (; other_level > level; other_level--)
		other = &other->parent->ent;
	for (; ent->parent != other->parent; ent = &ent->parent->ent)
		other = &other->parent->ent;
	return vtime_before(other->vtime, ent->vtime);
}

/* The throttle is for a target of the root. */
static bool throttle_is_for_pool(const struct ioband_core *core)
{
	return core->throttle.worst && !core->throttle.worst->ent->parent;
}

/* The throttle is for a target of a leaf, or of an entity above it. */
static bool throttle_is_for(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_latency *worst = core->throttle.worst;

	return worst && worst->ent->parent && ent_is_below(&leaf->ent, worst->ent);
}

/* A bio is dispatched; some entity has a latency target. */
void ioband_latency_charge(struct ioband_core *core, const struct ioband_leaf *leaf,
			   const struct ioband_bill *bill, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC,
		.late_ns = now_ns - min(now_ns, core->slack_ns),
		.early_ns = U64_MAX,
		.most_ns = now_ns + IOBAND_LATENCY_DEBT_NS,
	};
	struct ioband_latency_throttle *throttle = &core->throttle;
	const u32 bytes = max(bill->bytes, IOBAND_LATENCY_BIO);

	for (const struct ioband_ent *ent = &leaf->ent; bill->awaited && ent; ent = ent_above(ent))
		if (ent->latency[bill->dir])
			ent->latency[bill->dir]->inflight++;
	if (throttle_is_for(core, leaf) ||
	    (throttle_is_for_pool(core) && bill->dir == IOBAND_DIR_READ)) {
		throttle->late_bytes += bytes;
		return;
	}
	throttle->bytes += bytes;
	ioband_bucket_charge(&throttle->bucket, bytes, &leeway);
}

/* Directions of a leaf that the throttle holds, as halves of &ioband_ent.waiting. */
static u64 throttle_dirs(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	const struct ioband_latency_throttle *throttle = &core->throttle;

	if (!throttle->bucket.rate || throttle->bucket.next_ns <= now_ns ||
	    throttle_is_for(core, leaf))
		return 0;
	if (throttle_is_for_pool(core))
		return ioband_tree_dir_mask(IOBAND_DIR_WRITE);
	return ent_is_ahead(&leaf->ent, throttle->worst->ent) ? U64_MAX : 0;
}

/* Does the throttle hold a leaf?  The other directions are those of ioband_tree_dirs(). */
static bool throttle_holds(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	core->throttle_dirs = core->min_ent ? 0 : throttle_dirs(core, leaf, now_ns);
	return core->throttle_dirs && !ioband_tree_dirs(core, leaf);
}

/* Time of the next pick if the throttle holds all leaves that are next. */
static u64 throttle_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	u64 wake_ns = min(core->throttle.bucket.next_ns, ioband_tree_grace_ends(core));

	if (core->nr_minima)
		wake_ns = min(wake_ns, ioband_min_wake_ns(core, now_ns));
	return wake_ns;
}

/*
 * ioband_latency_divert() for a throttle of all writes.  With slices, a bypassing leaf stays one
 * until its slice ends: otherwise the service in the slice would become a debt.
 */
static struct ioband_leaf *divert_to_reads(struct ioband_core *core, struct ioband_leaf *leaf,
					   u32 ios, u32 limit, u64 now_ns, u64 *wake_ns)
{
	const bool goes_on = core->slice_ns && core->bypass_leaf == leaf;
	const bool waits = throttle_holds(core, leaf, now_ns);
	const u64 reads = ioband_tree_dir_mask(IOBAND_DIR_READ);

	core->bypass_leaf = NULL;
	if (!waits || !leaf->dirs) {
		if (goes_on || (core->slice_ns && core->throttle_dirs))
			core->bypass_leaf = leaf;
		return leaf;
	}
	core->late = true;
	leaf = ioband_tree_leaf_below(&core->root.ent, reads, true, ios, limit);
	if (!leaf || throttle_holds(core, leaf, now_ns)) {
		*wake_ns = min(*wake_ns, throttle_wake_ns(core, now_ns));
		return NULL;
	}
	core->bypass_leaf = leaf;
	return leaf;
}

/*
 * Choose another leaf if the throttle holds the next one.  Leaves after a held one have had more
 * service: the throttle holds them as well.  But with slices, the slice holder may have had more
 * service than other leaves.  And the throttle does not hold reads while it holds writes.  Sets
 * &ioband_core.late for the caller, the held directions for ioband_tree_dirs(), and the bypassing
 * leaf for the charge.  Return: @leaf if the throttle does not hold it; another leaf; or NULL, with
 * @wake_ns as for ioband_core_pick().
 */
struct ioband_leaf *ioband_latency_divert(struct ioband_core *core, struct ioband_leaf *leaf,
					  u32 ios, u32 limit, u64 now_ns, u64 *wake_ns)
{
	if (throttle_is_for_pool(core))
		return divert_to_reads(core, leaf, ios, limit, now_ns, wake_ns);
	core->bypass_leaf = NULL;
	if (!throttle_holds(core, leaf, now_ns))
		return leaf;
	core->late = true;
	leaf = core->slice_ns ?
		       ioband_tree_leaf_below(&core->root.ent, U64_MAX, false, ios, limit) :
		       NULL;
	if (leaf && !throttle_holds(core, leaf, now_ns))
		return leaf;
	*wake_ns = min(*wake_ns, throttle_wake_ns(core, now_ns));
	return NULL;
}

/* A bio has completed; some entity has a latency target. */
void ioband_latency_complete(const struct ioband_leaf *leaf, const struct ioband_bill *bill)
{
	for (const struct ioband_ent *ent = &leaf->ent; bill->awaited && ent; ent = ent_above(ent))
		if (ent->latency[bill->dir] && ent->latency[bill->dir]->inflight)
			ent->latency[bill->dir]->inflight--;
}

/* A read, or awaited write or flush (counted as a write), has completed @ns after its arrival. */
void ioband_latency_sample(const struct ioband_leaf *leaf, enum ioband_dir dir, u64 ns)
{
	const struct ioband_ent *ent = &leaf->ent;

	for (;;) {
		struct ioband_latency *latency = ent->latency[dir];

		if (latency) {
			latency->sum_ns += ns;
			latency->ios++;
		}
		if (!ent->parent || ent->idle_class || ioband_max_is_for(ent->max, dir))
			break;
		ent = &ent->parent->ent;
	}
}

/*
 * A maximum has held the bios back since the last evaluation, or the entity yields by intention:
 * other entities are not the reason.
 */
static bool latency_is_own(const struct ioband_latency *latency)
{
	for (const struct ioband_ent *ent = latency->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->idle_class ||
		    (ent->max && ent->max->held_until_ns[latency->dir] > latency->since_ns))
			return true;
	return false;
}

static void latency_forget(struct ioband_latency *latency, u64 now_ns)
{
	latency->mean_ns = 0;
	latency->sum_ns = 0;
	latency->ios = 0;
	latency->since_ns = now_ns;
}

/* Until when an entity without a completion counts.  Queued writes may be those of a flusher. */
static u64 latency_patience_ns(const struct ioband_latency *latency)
{
	if (latency->inflight ||
	    (latency->dir == IOBAND_DIR_READ &&
	     latency->ent->waiting & ioband_tree_dir_mask(IOBAND_DIR_READ)))
		return IOBAND_LOOK_HUNG_NS;
	return max_t(u64, IOBAND_LOOK_MAX_NS, IOBAND_LOOK_MAX_READS * latency->mean_ns);
}

/* Return: true if there is a new mean. */
static bool latency_look(struct ioband_latency *latency, u64 now_ns)
{
	const u64 ns = now_ns - min(now_ns, latency->since_ns);
	u64 mean_ns = 0;

	if (latency->ios) {
		mean_ns = min(div64_u64(latency->sum_ns, latency->ios),
			      2 * latency->target_ns + IOBAND_MEAN_MAX_NS);
		if ((latency->ios < IOBAND_LOOK_READS && ns < IOBAND_LOOK_NS) || ns < 2 * mean_ns)
			return false;
	} else if (ns < latency_patience_ns(latency)) {
		return false;
	}
	if (latency_is_own(latency))
		mean_ns = 0;
	latency_forget(latency, now_ns);
	latency->mean_ns = mean_ns;
	return true;
}

/* Is a target missed by a larger factor than another one? */
static bool latency_is_worse(const struct ioband_latency *latency,
			     const struct ioband_latency *other)
{
	return !other ||
	       ioband_mul_div(latency->mean_ns, other->target_ns, latency->target_ns) >
	       other->mean_ns;
}

/* The next target of a round. */
static struct ioband_latency *next_latency(struct ioband_core *core)
{
	struct ioband_latency *latency = list_first_entry(&core->latencies, struct ioband_latency,
							  latencies);

	list_move_tail(&latency->latencies, &core->latencies);
	return latency;
}

/*
 * Look at the next targets of the round: at its end, @worst is the target missed by the largest
 * factor, or NULL if there are no recent bios.
 */
static void look_at_some(struct ioband_core *core, u64 now_ns)
{
	struct ioband_latency_round *round = &core->round;

	if (!round->left)
		*round = (struct ioband_latency_round) { .left = core->nr_latencies };
	for (u32 some = IOBAND_LOOK_TARGETS; some && round->left; some--) {
		struct ioband_latency *latency = next_latency(core);
		bool known;

		round->left--;
		if (!latency->mean_ns && !latency->ios) {
			latency->since_ns = now_ns;
			continue;
		}
		known = latency_look(latency, now_ns);
		if (latency_is_worse(latency, round->worst)) {
			round->worst = latency;
			round->looked = known;
		}
	}
}

static void forget_some(struct ioband_core *core, u64 now_ns)
{
	for (u32 some = IOBAND_LOOK_TARGETS; some && core->round.forget; some--) {
		latency_forget(next_latency(core), now_ns);
		core->round.forget--;
	}
}

/* End the throttle.  The latencies so far are discarded. */
void ioband_latency_end_throttle(struct ioband_core *core, u64 now_ns)
{
	core->round = (struct ioband_latency_round) { .forget = core->nr_latencies };
	forget_some(core, now_ns);
	core->throttle = (struct ioband_latency_throttle) { .since_ns = now_ns };
	core->throttle_dirs = 0;
	core->bypass_leaf = NULL;
}

/* The others were served at @rate, the late entity at @late_rate, in bytes a second. */
static void throttle_step(struct ioband_core *core, const struct ioband_latency *worst, u64 rate,
			  u64 late_rate)
{
	const u64 part = max(late_rate, core->throttle.first_rate) / IOBAND_LATENCY_LEAST_PART;
	const u64 least = max_t(u64, part, IOBAND_LATENCY_LEAST);
	const u64 target_ns = worst->target_ns, mean_ns = worst->mean_ns;
	const u64 most_ns = max(target_ns, mean_ns);
	struct ioband_bucket *bucket = &core->throttle.bucket;
	u64 step;

	if (!bucket->rate) {
		if (mean_ns <= target_ns || rate < least)
			return;
		core->throttle.first_rate = rate;
		bucket->rate = rate;
	}
	if (mean_ns > target_ns && rate < bucket->rate / 2)	/* others are not the reason */
		return;
	step = bucket->rate / IOBAND_LATENCY_STEP;
	if (mean_ns > target_ns)
		bucket->rate -= ioband_mul_div(step, mean_ns - target_ns, most_ns);
	else
		bucket->rate += ioband_mul_div(step, target_ns - mean_ns, most_ns);
	/* No less than half of the rate that weights give the others. */
	bucket->rate = max(bucket->rate, max(rate / 2, least));
	bucket->rest = 0;
}

/*
 * Evaluate the latency targets, and set the throttle.  To be called every few milliseconds while
 * groups compete, and followed by ioband_core_pick(): the throttle may have ended.
 */
void ioband_latency_look(struct ioband_core *core, u64 now_ns)
{
	struct ioband_latency_throttle *throttle = &core->throttle;
	const u64 ns = now_ns - min(now_ns, throttle->since_ns);
	struct ioband_latency *worst;
	u64 rate, late_rate;

	core->now_ns = now_ns;
	if (!core->nr_latencies || !ns)
		return;
	if (core->round.forget) {
		forget_some(core, now_ns);
		return;
	}
	look_at_some(core, now_ns);
	if (core->round.left)
		return;
	worst = core->round.worst;
	if (!worst) {
		if (throttle->worst)
			ioband_latency_end_throttle(core, now_ns);
		return;
	}
	if (!core->round.looked)
		return;
	rate = ioband_mul_div(throttle->bytes, NSEC_PER_SEC, ns);
	late_rate = ioband_mul_div(throttle->late_bytes, NSEC_PER_SEC, ns);
	throttle->since_ns = now_ns;
	throttle->bytes = 0;
	throttle->late_bytes = 0;
	if (throttle->bucket.rate && worst->mean_ns <= worst->target_ns &&
	    rate < throttle->bucket.rate / 2) {
		ioband_latency_end_throttle(core, now_ns);
		return;
	}
	if (throttle->bucket.rate || worst == throttle->worst)	/* else other bytes were counted */
		throttle_step(core, worst, rate, late_rate);
	throttle->worst = worst;
}

void ioband_latency_init(struct ioband_latency *latency, enum ioband_dir dir)
{
	*latency = (struct ioband_latency) { .dir = dir };
	INIT_LIST_HEAD(&latency->latencies);
}

/*
 * Give an entity, which may be the root, a latency target, or change it.  Latencies so far are
 * discarded, unless the target is unchanged.
 */
void ioband_latency_set(struct ioband_core *core, struct ioband_ent *ent,
			struct ioband_latency *latency, u64 target_ns, u64 now_ns)
{
	struct ioband_latency **present = &ent->latency[latency->dir];

	if (*present && latency->target_ns == target_ns)
		return;
	if (!*present) {
		list_add_tail(&latency->latencies, &core->latencies);
		core->nr_latencies++;
	}
	latency->ent = ent;
	latency->target_ns = target_ns;
	latency_forget(latency, now_ns);
	*present = latency;
}

/* The caller can free the target afterwards. */
void ioband_latency_remove(struct ioband_core *core, struct ioband_ent *ent, enum ioband_dir dir)
{
	struct ioband_latency *latency = ent->latency[dir];

	if (!latency)
		return;
	if (core->throttle.worst == latency)
		ioband_latency_end_throttle(core, core->now_ns);
	list_del(&latency->latencies);
	core->nr_latencies--;
	core->round.left = min(core->round.left, core->nr_latencies);
	core->round.forget = min(core->round.forget, core->nr_latencies);
	if (core->round.worst == latency)
		core->round.worst = NULL;
	ent->latency[dir] = NULL;
}
