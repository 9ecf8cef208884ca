// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: maxima.
 * Pure, see core.h.  core.c and the target call it, under the pool's lock.
 *
 * An entity of the tree, a group or the bios of a group itself, may have a maximum: bytes a second,
 * bios a second or both, for reads, for writes or for both, of all bios at or below it.
 *
 * Each bound is a token bucket, kept as the time at which its I/O is paid for (sched/bucket.c).
 * The test precedes the dispatch of a bio, and the charge follows it.  So a bio of any size can be
 * dispatched, and the excess is one bio at most.  A bucket that is behind the time is set to
 * slack_ns before it: a shorter delay is made up, and no entity saves tokens.  In any time T, at
 * most rate * (T + slack) and one bio are dispatched.
 *
 *	10 MiB/s, bios of 1 MiB, always backlogged: one is dispatched at 0, and the bucket shows 100
 *	ms.  A timer is set, and fires at 100.2; the bucket shows 200, and not 200.2.
 *
 * With slices, other leaves have the device for one slice, or for several in a row.  This is no
 * reason for less than the maximum, so the time in which the entity was active and not blocked is
 * made up as well.  All of this I/O may be dispatched at once.  A second that begins with one slice
 * and ends with another would then exceed the maximum.  Hence the trail: with slices, a bio waits
 * until one second after the I/O that precedes it by a second's worth.  So in any second at most
 * rate * 33/32 and one bio are dispatched.  An entity that was blocked by the trail has nothing to
 * make up, and continues evenly.  Otherwise a burst would recur after a second, and so on.
 *
 *	4 MiB/s, splits of 256 KiB, 62 ms each; others have the device for 150 ms, again and again.
 *	Two or three splits are dispatched between; with 62 ms made up it would be two, and more
 *	than 1 MiB/s would be lost.
 *
 * An entity beyond its maximum is blocked in that direction.  The counters of the entities above do
 * not include its queued bios of a blocked direction.  Without other bios, it is not among the live
 * children: it does not delay its siblings, and no search visits it in vain.  A block costs the
 * same for one queued bio as for a thousand leaves.  When the time of the bucket is over, the bios
 * are counted again, and weights decide below a maximum as anywhere.
 *
 * Bios out of turn (ioband_core_admit_now()) advance the bucket too, and are paid for later.
 */
#include "max.h"

#include "bucket.h"
#include "tree.h"

/* Largest lead of a bucket because of bios out of turn. */
#define IOBAND_MAX_DEBT_NS	(10 * NSEC_PER_SEC)

static struct ioband_max *rb_to_max(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_max, rb);
}

static bool max_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_to_max(a)->until_ns < rb_to_max(b)->until_ns;
}

/*
 * End of the block of a direction; 0 or in the past: not blocked.  The bound on bios does not
 * block the other splits of a bio that has begun.
 */
static u64 max_until_ns(const struct ioband_max *maximum, enum ioband_dir dir)
{
	const u64 bytes_ns = max(maximum->buckets.bytes[dir].next_ns,
				 ioband_bucket_trail_until_ns(&maximum->bytes[dir]));
	const u64 ios_ns = max(maximum->buckets.ios[dir].next_ns,
			       ioband_bucket_trail_until_ns(&maximum->ios[dir]));

	return maximum->begun[dir] ? bytes_ns : max(bytes_ns, ios_ns);
}

/* No longer blocked: from now on others are the reason for a delay.  No earlier one is made up. */
static void max_unblock(struct ioband_max *maximum, u64 dirs, u64 now_ns)
{
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (dirs & ioband_tree_dir_mask(dir) && maximum->waits_ns[dir] != U64_MAX)
			maximum->waits_ns[dir] = now_ns;
}

/* Update the blocked directions, and the counters of the entities above. */
static void max_update(struct ioband_core *core, struct ioband_max *maximum, u64 now_ns)
{
	u64 blocked = 0, until_ns = U64_MAX;

	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		const u64 dir_until_ns = max_until_ns(maximum, dir);

		if (dir_until_ns <= now_ns)
			continue;
		blocked |= ioband_tree_dir_mask(dir);
		maximum->held_until_ns[dir] = dir_until_ns;
		until_ns = min(until_ns, dir_until_ns);
	}
	tree_dequeue(&maximum->rb, &core->blocked);
	max_unblock(maximum, maximum->blocked & ~blocked, now_ns);
	if (blocked != maximum->blocked) {
		if (!core->root.ent.waiting)
			core->held_since_ns = now_ns;
		ioband_tree_block(core, maximum->ent, blocked);
	}
	if (!blocked)
		return;
	maximum->until_ns = until_ns;
	rb_add_cached(&maximum->rb, &core->blocked, max_less);
}

/* Is there a maximum, and does it bound a direction? */
bool ioband_max_is_for(const struct ioband_max *maximum, enum ioband_dir dir)
{
	return maximum && (maximum->buckets.bytes[dir].rate || maximum->buckets.ios[dir].rate);
}

/* The queued bios of the entity have changed. */
void ioband_max_note(const struct ioband_core *core, struct ioband_max *maximum)
{
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		if (!maximum->ent->busy)
			maximum->waits_ns[dir] = U64_MAX;
		else if (maximum->ent->waiting & ioband_tree_dir_mask(dir))
			maximum->waits_ns[dir] = min(maximum->waits_ns[dir], core->now_ns);
	}
}

/* Time from which on missed I/O is made up. */
static u64 max_late_ns(const struct ioband_core *core, const struct ioband_max *maximum,
		       enum ioband_dir dir, u64 now_ns)
{
	u64 late_ns = core->slack_ns;

	if (core->slice_ns && maximum->waits_ns[dir] < now_ns)
		late_ns = max(late_ns, now_ns - maximum->waits_ns[dir]);
	return now_ns - min(now_ns, late_ns);
}

/* A bio is dispatched at or below the entity.  @in_turn: it stayed queued while blocked. */
void ioband_max_charge(struct ioband_core *core, struct ioband_max *maximum,
		       const struct ioband_bill *bill, bool in_turn, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC,
		.late_ns = max_late_ns(core, maximum, bill->dir, now_ns),
		.early_ns = U64_MAX,
		.most_ns = in_turn ? U64_MAX : now_ns + IOBAND_MAX_DEBT_NS,
	};

	ioband_bucket_charge_bill(&maximum->buckets, bill, &leeway);
	if (core->slice_ns) {
		ioband_bucket_trail_add(&maximum->bytes[bill->dir], bill->bytes,
					maximum->buckets.bytes[bill->dir].rate, now_ns);
		ioband_bucket_trail_add(&maximum->ios[bill->dir], bill->ios,
					maximum->buckets.ios[bill->dir].rate, now_ns);
	}
	maximum->begun[bill->dir] = bill->more;
	max_update(core, maximum, now_ns);
}

/* End blocks that are over. */
void ioband_max_expire(struct ioband_core *core, u64 now_ns)
{
	struct rb_node *first;

	for (u32 some = IOBAND_CHUNK; some && (first = rb_first_cached(&core->blocked)); some--) {
		if (rb_to_max(first)->until_ns > now_ns)
			return;
		max_update(core, rb_to_max(first), now_ns);
	}
}

/* End of the first block, or IOBAND_NO_WAKEUP. */
u64 ioband_max_wake_ns(const struct ioband_core *core)
{
	const struct rb_node *first = rb_first_cached(&core->blocked);

	return first ? rb_to_max(first)->until_ns : IOBAND_NO_WAKEUP;
}

/*
 * Has a bucket of a leaf, or of an entity above it, more than half of the largest lead?  Further
 * bios out of turn might never be paid for.
 */
bool ioband_max_is_far_ahead(const struct ioband_core *core, const struct ioband_leaf *leaf,
			     enum ioband_dir dir, u64 now_ns)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; core->has_max && ent->parent; ent = &ent->parent->ent)
		if (ent->max && max_until_ns(ent->max, dir) > now_ns + IOBAND_MAX_DEBT_NS / 2)
			return true;
	return false;
}

/* Set the largest delay of a wake-up, which an entity with a maximum makes up. */
void ioband_max_set_slack(struct ioband_core *core, u64 slack_ns)
{
	core->slack_ns = slack_ns;
}

void ioband_max_init(struct ioband_max *maximum)
{
	*maximum = (struct ioband_max) { .waits_ns = { U64_MAX, U64_MAX } };
	RB_CLEAR_NODE(&maximum->rb);
}

/* A direction with a new rate starts without a trail. */
static void max_begin(struct ioband_max *maximum, const struct ioband_rates *rates, u64 now_ns)
{
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		if (maximum->buckets.bytes[dir].rate == rates->bytes[dir] &&
		    maximum->buckets.ios[dir].rate == rates->ios[dir])
			continue;
		maximum->bytes[dir] = (struct ioband_trail) {};
		maximum->ios[dir] = (struct ioband_trail) {};
		max_unblock(maximum, ioband_tree_dir_mask(dir), now_ns);
	}
}

/*
 * Give an entity other than the root a maximum, or change it.  A changed rate is in force from now
 * on; earlier I/O does not count for it.
 */
void ioband_max_set(struct ioband_core *core, struct ioband_ent *ent, struct ioband_max *maximum,
		    const struct ioband_rates *rates, u64 now_ns)
{
	core->now_ns = now_ns;
	max_begin(maximum, rates, now_ns);
	ioband_bucket_set_rates(&maximum->buckets, rates);
	core->has_max = true;
	maximum->ent = ent;
	ent->max = maximum;
	ioband_max_note(core, maximum);
	max_update(core, maximum, now_ns);
}

/* The caller can free the maximum afterwards. */
void ioband_max_remove(struct ioband_core *core, struct ioband_ent *ent)
{
	struct ioband_max *maximum = ent->max;

	if (!maximum)
		return;
	tree_dequeue(&maximum->rb, &core->blocked);
	if (maximum->blocked)
		ioband_tree_block(core, ent, 0);
	ent->max = NULL;
}
