// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: minima.
 * Pure, see core.h.  core.c, slice.c and the target call it, under the pool's lock.
 *
 * An entity of the tree may have a minimum: bytes a second, bios a second or both, for reads, for
 * writes or for both, of all bios at or below it.  A weight divides the device, at any rate that
 * results.  A minimum guarantees a rate, at any weights of other entities.
 *
 * Each rate is a token bucket, kept as the time at which its I/O is paid for (sched/bucket.c).
 * Once this time is over, the next queued bio is due.  Due entities precede all others, earliest
 * deadline first (the reservation tags of mClock: Gulati, Merchant & Varman, OSDI'10).  If no
 * entity is due, service is by weight.
 *
 *	100 MB/s, equal weights, bios of 1 MB; a has a minimum of 60 MB/s.  Each of its bios
 *	advances its bucket by 16.7 ms, and takes 10 ms.
 *
 *	now	 0   10   20   30   40   50   60   70   80   90  100
 *	served	 a    b    a    b    a    a    b    a    b    a    a ...
 *	bucket	17        33        50   67        83       100  117
 *
 *	b has the rest, 40 MB/s.  With three more like b, each has 10.
 *
 * Below a due entity, weights decide among the children with queued bios that count for the
 * minimum, by bypass vtime (&ioband_ent.bypass_vtime).  They bypass the other children, which keep
 * their virtual time for service by weight.  A child that was idle, or paused, restarts at the
 * bypass vtime of the node, and has no claim.
 *
 *	62 MB/s, a and b of equal weights.  Below a, one leaf reads, and two of weights 300 and 100
 *	write; a has a minimum for reads, 20 MB/s.  It reads 20, they write 8 and 3, b has 31.
 *
 * All service of an entity advances its bucket, including service by weight.  So an entity gets the
 * larger one of its minimum and its share, not both.  A bucket is ahead of the time by
 * IOBAND_MIN_AHEAD_NS and one bio at most: service without competition does not count against the
 * entity later.  It stands still while the entity has no bio queued or in flight, or a maximum
 * below holds all its bios: other entities are not the reason then, and no claim grows.  A bucket
 * is behind by IOBAND_MIN_WINDOW_NS at most, the period in which a minimum is kept.  A shortfall
 * within this period is made up.
 *
 * The device completes due bios sooner or later, so some periods of 100 ms have less than the mean.
 * Therefore the mean is a little above the minimum: the I/O of one second advances a bucket by
 * 63/64 of a second.
 *
 * Service for a minimum is charged like all other service, but never becomes a debt (ent_charge()
 * in sched/tree.c).
 *
 * Two limits
 * ----------
 * The first place in the order is not enough.  An entity with 32 bios and a minimum of 25600 bios a
 * second needs each completion within 1.25 ms, however many other bios are in flight.  So service
 * for minima has an in-flight limit of its own, equal to the limit of the others, and does not
 * count against theirs.  With the lateness of a minimum its own limit grows, and that of the others
 * shrinks, to one bio at IOBAND_MIN_LATE_NS.  The limits settle where the minimum is just kept,
 * late by a few milliseconds.
 *
 *	limit 32; the minimum is kept with 5 bios of others in flight, not with 6: it is late by 4.2
 *	ms, and 32 * (1 - 4.2 / 5) = 5.
 *
 * Service beyond the minimum is by weight, under the limit of the others.  It replaces service for
 * the minimum first, and nothing is gained before it has replaced all.  So the search for the limit
 * (sched/depth.c) tries half as much again as both together then.  That is several steps at once,
 * and has to bring as much as these.
 *
 *	64 bios at a time, 1 ms each.  a has 43 bios of 8 KiB, and a minimum of 100 MB/s, for which
 *	it needs 12 bios in flight; b has 6 of 16 KiB, which are as much; equal weights.  With a
 *	limit of 6, b has all of it.  With 9, a has 3 by weight and 9 for its minimum, and reads no
 *	more.  With 27, a has 21 by weight.
 *
 * A minimum may also be too high for its own load.  A reader with one bio at a time cannot have
 * more than one in each latency of the device, even alone, and the others would keep one bio in
 * flight for nothing.  So once a minimum has been missed for a second, the others have their limit
 * for a window while no bio of the minimum is queued.  If the minimum loses less than an eighth of
 * its rate then, they keep the limit, until it loses more.  The small limit is also tried again,
 * once in IOBAND_MIN_REST windows.  The search for the limit stops for these tries, but not while a
 * minimum is late: it lowers a limit that makes a minimum late.  But it lowers none while the
 * others have one bio, whatever the limit.
 *
 *	64 bios at a time, 1 ms each.  a has one bio of 32 KiB at a time, and a minimum of 180 MB/s:
 *	it reads 33, whatever the others do.  They lose 98 % of the device to a smaller limit, and
 *	1.5 % to tries of it.
 *
 * If the minima exceed the device, each gets a part, and a larger minimum gets a larger part.  All
 * other entities would get nothing, and neither would siblings of a child with a minimum above the
 * share of its node.  So the others have one bio in flight at all times.  In each node below that
 * had no service by weight for IOBAND_MIN_RUN_NS, one bio is served by weight.
 *
 * Thousands of groups may have a minimum below a group that its maximum blocks, and no search may
 * skip them one by one.  So each entity has a claim on its node for each direction: the minimum
 * that is due first at or below it, unless a maximum blocks the direction there.  The claims of the
 * children of a node are in the order of due time.  A change of a minimum, or of a block, updates
 * the claims from there up to the root, as long as these change.
 *
 *	root -- A (its maximum blocks reads) -- A1 (reads due at 5, writes at 9)
 *	     |				     `- A2 (reads due at 6)
 *	     `- B (reads due at 8)
 *
 *	Claims of A on the root: writes at 9.  B is the first, then A1 with a write.
 *
 * With slices, single bios would cost a seek each.  A due entity gets the device, at once, until
 * its bucket is ahead by half a slice.  After that, service is by weight again, least served first
 * at each level.  One leaf is served at a time: service by weight gets an eighth of a slice in each
 * IOBAND_MIN_RUN_NS.
 */
#include "min.h"

#include "bucket.h"
#include "tree.h"

/* Largest lag of a bucket; also the period in which a minimum is kept. */
#define IOBAND_MIN_WINDOW_NS	(100 * NSEC_PER_MSEC)

/*
 * Largest lead of a bucket.  Service by weight comes in bursts: one bio of another entity for
 * many small ones of its own.  A bio of 1 MiB at 100 MB/s.
 */
#define IOBAND_MIN_AHEAD_NS	(10 * NSEC_PER_MSEC)

/* A bucket takes less than a second for the I/O of a second, by one part in this many. */
#define IOBAND_MIN_MARGIN	64

/* Lateness of a minimum that leaves one bio at a time to the others, */
#define IOBAND_MIN_LATE_NS	(5 * NSEC_PER_MSEC)

/* and adds this many times the limit to its own: its bios may be the smaller ones. */
#define IOBAND_MIN_WIDER	7

/* Least window in which the rate of a missed minimum is measured: that in which it is kept. */
#define IOBAND_MIN_TRY_NS	IOBAND_MIN_WINDOW_NS

/* Time until the first try of the others' limit: longer than the others need to shrink. */
#define IOBAND_MIN_MISSED_NS	NSEC_PER_SEC

/*
 * Bios of such a window, unless it lasts for IOBAND_MIN_MISSED_NS: by chance, one with fewer may
 * have a quarter more than another.
 */
#define IOBAND_MIN_TRY_IOS	16

/*
 * Time between two tries of the limit that was worse, in windows.  Each try of the small limit
 * takes the device from the others.
 */
#define IOBAND_MIN_REST		64

/* Longest period without service by weight in a node. */
#define IOBAND_MIN_RUN_NS	(100 * NSEC_PER_MSEC)

static struct ioband_min *rb_to_min(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_min, rb);
}

static bool min_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_to_min(a)->due_ns < rb_to_min(b)->due_ns;
}

/* Due time of a direction; U64_MAX: no minimum. */
static u64 dir_due_ns(const struct ioband_min *minimum, enum ioband_dir dir)
{
	const struct ioband_bucket *bytes = &minimum->buckets.bytes[dir];
	const struct ioband_bucket *ios = &minimum->buckets.ios[dir];

	return min(bytes->rate ? bytes->next_ns : U64_MAX, ios->rate ? ios->next_ns : U64_MAX);
}

/* Earliest due time of some directions, as halves of &ioband_ent.waiting. */
static u64 min_due_ns(const struct ioband_min *minimum, u64 dirs)
{
	u64 due_ns = U64_MAX;

	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (dirs & ioband_tree_dir_mask(dir))
			due_ns = min(due_ns, dir_due_ns(minimum, dir));
	return due_ns;
}

/* Due time of queued bios in some directions; without queued bios, of the last direction served. */
static u64 min_wanted_ns(const struct ioband_min *minimum, u64 dirs)
{
	return min_due_ns(minimum,
			  dirs & (ent_shown(minimum->ent) ?: ioband_tree_dir_mask(minimum->dir)));
}

/* Would a bio be served for this minimum, whether the scheduler sees it or not? */
bool ioband_min_is_due(const struct ioband_min *minimum, enum ioband_dir dir, u64 now_ns)
{
	return dir_due_ns(minimum, dir) <= now_ns;
}

/* Directions that are due, as halves of &ioband_ent.waiting.  Some time all with a minimum are. */
static u64 min_due_dirs(const struct ioband_min *minimum, u64 now_ns)
{
	u64 dirs = 0;

	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (dir_due_ns(minimum, dir) <= now_ns)
			dirs |= ioband_tree_dir_mask(dir);
	return dirs;
}

static void bucket_forgive(struct ioband_bucket *bucket, u64 inactive_ns, u64 now_ns)
{
	if (bucket->next_ns < now_ns)
		bucket->next_ns =
			min(bucket->next_ns + (now_ns - min(inactive_ns, now_ns)), now_ns);
}

/* The search for the limit stops during a try: it says nothing of the limit. */
static void note_try(struct ioband_core *core, struct ioband_min *minimum)
{
	const bool tries = minimum->active && minimum->trial.trying && !minimum->trial.wide;

	core->late |= tries;
	core->min_tries += tries - minimum->tries;
	minimum->tries = tries;
}

/* Note whether the entity is active; inactive time does not make it late. */
static void min_note(struct ioband_core *core, struct ioband_min *minimum, bool active)
{
	if (active == minimum->active)
		return;
	minimum->active = active;
	note_try(core, minimum);
	if (!active)
		minimum->inactive_ns = core->now_ns;
	else if (minimum->trial.begun_ns)
		minimum->trial.begun_ns += core->now_ns - minimum->inactive_ns;
	for (enum ioband_dir dir = 0; active && dir < IOBAND_NR_DIRS; dir++) {
		bucket_forgive(&minimum->buckets.bytes[dir], minimum->inactive_ns, core->now_ns);
		bucket_forgive(&minimum->buckets.ios[dir], minimum->inactive_ns, core->now_ns);
	}
}

static struct ioband_claim *rb_to_claim(const struct rb_node *rb)
{
	return rb_entry(rb, struct ioband_claim, rb);
}

static bool claim_before(const struct ioband_claim *a, const struct ioband_claim *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static bool claim_less(struct rb_node *a, const struct rb_node *b)
{
	return claim_before(rb_to_claim(a), rb_to_claim(b));
}

/* The first claim of the children of a node, or NULL. */
static const struct ioband_claim *node_claim(const struct ioband_node *node, enum ioband_dir dir)
{
	const struct rb_node *first = rb_first_cached(&node->claims[dir]);

	return first ? rb_to_claim(first) : NULL;
}

/* The claim of an entity by its own minimum, and those below. */
static struct ioband_claim ent_claim(const struct ioband_ent *ent, enum ioband_dir dir)
{
	struct ioband_claim claim = { .due_ns = U64_MAX };
	const struct ioband_claim *below = NULL;

	if (!(ent_open(ent) & ioband_tree_dir_mask(dir)))
		return claim;
	if (ent->min && ent->waiting & ioband_tree_dir_mask(dir))
		claim.due_ns = dir_due_ns(ent->min, dir);
	if (claim.due_ns != U64_MAX) {
		claim.min = ent->min;
		claim.order = ent->min->order;
	}
	if (!ent->leaf)
		below = node_claim(container_of(ent, struct ioband_node, ent), dir);
	return below && (!claim.min || claim_before(below, &claim)) ? *below : claim;
}

/* Return: false if nothing has changed. */
static bool ent_update_claim(struct ioband_ent *ent, enum ioband_dir dir)
{
	struct ioband_claim *claim = &ent->claims[dir], now = ent_claim(ent, dir);
	struct rb_root_cached *claims = &ent->parent->claims[dir];

	if (now.min == claim->min &&
	    (!now.min || (now.due_ns == claim->due_ns && now.order == claim->order)))
		return false;
	tree_dequeue(&claim->rb, claims);
	now.rb = claim->rb;
	*claim = now;
	RB_CLEAR_NODE(&claim->rb);
	if (claim->min)
		rb_add_cached(&claim->rb, claims, claim_less);
	return true;
}

/* An own minimum, those below, or the blocked directions of an entity have changed. */
void ioband_min_gate(struct ioband_ent *ent)
{
	bool changed = true;

	for (; changed && ent->parent; ent = &ent->parent->ent) {
		changed = false;
		for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
			changed |= ent_update_claim(ent, dir);
	}
}

/* Its buckets, or the queued bios of its entity, have changed: update its place by due time. */
void ioband_min_update(struct ioband_core *core, struct ioband_min *minimum)
{
	const bool queued = ent_shown(minimum->ent);
	u64 due_ns = U64_MAX;

	min_note(core, minimum, queued || minimum->inflight);
	if (queued || (!minimum->ent->waiting && (core->slice_ns || !minimum->trial.wide) &&
		       (minimum->inflight || minimum->ent->anticipated)))
		due_ns = min_wanted_ns(minimum, U64_MAX);
	if (due_ns != minimum->due_ns || queued != minimum->queued) {
		tree_dequeue(&minimum->rb, &core->flying);
		minimum->due_ns = due_ns;
		minimum->queued = queued;
		minimum->order = ++core->min_order;
		if (due_ns != U64_MAX && !queued)
			rb_add_cached(&minimum->rb, &core->flying, min_less);
	}
	ioband_min_gate(minimum->ent);
}

/* Change the number of bios in flight that keep a minimum active. */
void ioband_min_count(struct ioband_core *core, struct ioband_min *minimum, int ios)
{
	minimum->inflight += ios;
	ioband_min_update(core, minimum);
}

/* A window of measurement ends: choose the limit of the others for the next one. */
static void trial_end_window(struct ioband_min_trial *trial, u64 now_ns)
{
	const u64 window_ns = now_ns - trial->begun_ns;
	const bool was_wide = trial->wide;

	trial->rates[was_wide] = ioband_mul_div(trial->bytes, NSEC_PER_SEC, window_ns);
	if (trial->trying) {
		trial->wide = trial->rates[false] <= trial->rates[true] + trial->rates[true] / 8;
		trial->until_ns = now_ns + window_ns * (trial->wide == was_wide ? 2 :
							IOBAND_MIN_REST);
		trial->trying = false;
	} else if (now_ns >= trial->until_ns ||
		   (was_wide && trial->rates[true] < trial->rates[false] / 8 * 7)) {
		trial->wide = !was_wide;
		trial->trying = true;
	}
	trial->begun_ns = now_ns;
	trial->bytes = 0;
	trial->ios = 0;
}

/* Account for bytes of a minimum that was due since @due_ns; U64_MAX: they count for none. */
static void trial_note(struct ioband_min_trial *trial, u32 bytes, u64 due_ns, u64 now_ns)
{
	const bool missed = due_ns + IOBAND_MIN_WINDOW_NS / 2 <= now_ns;

	if (due_ns == U64_MAX)
		return;
	if (!missed && now_ns > trial->missed_ns + IOBAND_MIN_WINDOW_NS)
		trial->begun_ns = 0;
	if (missed && !trial->begun_ns)
		*trial = (struct ioband_min_trial) {
			.begun_ns = now_ns,
			.until_ns = now_ns + IOBAND_MIN_MISSED_NS,
		};
	if (missed)
		trial->missed_ns = now_ns;
	trial->wide &= !!trial->begun_ns;
	trial->bytes += bytes;
	trial->ios++;
	if (trial->begun_ns && now_ns >= trial->begun_ns + IOBAND_MIN_TRY_NS &&
	    (trial->ios >= IOBAND_MIN_TRY_IOS || now_ns >= trial->begun_ns + IOBAND_MIN_MISSED_NS))
		trial_end_window(trial, now_ns);
}

/* A bio is dispatched at or below the entity.  @counts: it keeps the minimum active. */
void ioband_min_charge(struct ioband_core *core, struct ioband_min *minimum,
		       const struct ioband_bill *bill, bool counts, u64 now_ns)
{
	const struct ioband_leeway leeway = {
		.second_ns = NSEC_PER_SEC - NSEC_PER_SEC / IOBAND_MIN_MARGIN,
		.late_ns = now_ns - min_t(u64, now_ns, IOBAND_MIN_WINDOW_NS),
		.early_ns = now_ns + max_t(u64, IOBAND_MIN_AHEAD_NS, core->slice_ns / 2),
		.most_ns = U64_MAX,
	};

	trial_note(&minimum->trial, bill->bytes, dir_due_ns(minimum, bill->dir), now_ns);
	note_try(core, minimum);
	minimum->dir = bill->dir;
	minimum->inflight += counts;
	ioband_bucket_charge_bill(&minimum->buckets, bill, &leeway);
	ioband_min_update(core, minimum);
}

/* A new minimum starts without lateness. */
static void min_begin(struct ioband_min *minimum, u64 now_ns)
{
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		minimum->buckets.bytes[dir].next_ns =
			max(minimum->buckets.bytes[dir].next_ns, now_ns);
		minimum->buckets.ios[dir].next_ns = max(minimum->buckets.ios[dir].next_ns, now_ns);
	}
}

/* Was a node not served by weight for too long?  Without slices, the root has a limit for that. */
static bool node_must_go_by_weight(const struct ioband_core *core, struct ioband_node *node,
				   u64 now_ns)
{
	if (!node->ent.parent && !core->slice_ns)
		return false;
	if (now_ns >= node->by_weight_ns + IOBAND_MIN_RUN_NS)
		node->by_weight_until_ns = now_ns + core->slice_ns / 8;
	else if (now_ns >= node->by_weight_until_ns)
		return false;
	return true;
}

/*
 * Entity below which service is by weight now: that of the minimum, or one above, up to the root.
 */
static struct ioband_ent *min_top(const struct ioband_core *core,
				  const struct ioband_min *minimum, u64 now_ns)
{
	struct ioband_ent *ent = minimum->ent, *top = ent;

	for (; ent->parent; ent = &ent->parent->ent)
		if (node_must_go_by_weight(core, ent->parent, now_ns))
			top = &ent->parent->ent;
	return top;
}

/* Service by weight, from the root. */
static struct ioband_ent *core_pick_by_weight(struct ioband_core *core)
{
	core_end_min(core);
	return &core->root.ent;
}

/* Service for a minimum; from the root it is by weight all the same. */
static struct ioband_ent *core_pick_by_min(struct ioband_core *core, struct ioband_min *minimum,
					   u64 dirs, u64 now_ns)
{
	struct ioband_ent *top = min_top(core, minimum, now_ns);

	if (!top->parent)
		return core_pick_by_weight(core);
	core->min_ent = top;
	core->min_ent_dirs = top == minimum->ent ? dirs : ent_open_above(core, top);
	core->min = minimum;
	return top;
}

/* The claim that is due first, or NULL: no bio that may be dispatched counts for a minimum. */
static const struct ioband_claim *core_first_claim(const struct ioband_core *core)
{
	const struct ioband_claim *first = NULL;

	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		const struct ioband_claim *claim = node_claim(&core->root, dir);

		if (claim && (!first || claim_before(claim, first)))
			first = claim;
	}
	return first;
}

/* Due time of the first minimum with bios in flight only, or anticipated; U64_MAX: none. */
static u64 core_first_flying_ns(const struct ioband_core *core)
{
	const struct rb_node *first = rb_first_cached(&core->flying);

	return first ? rb_to_min(first)->due_ns : U64_MAX;
}

/*
 * Due time of the first minimum, with a bio that may be dispatched, or with none queued; U64_MAX:
 * none.  Those of which maxima block all queued bios do not count.
 */
static u64 core_first_due_ns(const struct ioband_core *core)
{
	const struct ioband_claim *claim = core_first_claim(core);

	return min(core_first_flying_ns(core), claim ? claim->due_ns : U64_MAX);
}

/* Lateness of the minimum that has been due for the longest time, up to IOBAND_MIN_LATE_NS. */
static u64 core_late_ns(const struct ioband_core *core, u64 now_ns)
{
	u64 due_ns;

	if (core->stalled || core->stuck_ios || core->limit_ios == U32_MAX)
		return 0;
	due_ns = core_first_due_ns(core);
	return min_t(u64, now_ns - min(due_ns, now_ns), IOBAND_MIN_LATE_NS);
}

/* The limit without bios that it does not count. */
static u32 core_limit_ios(const struct ioband_core *core)
{
	return core->limit_ios - (core->limit_ios < U32_MAX ? core->extra_ios : 0);
}

/* A part of @times the limit, which grows with lateness. */
static u32 late_part(const struct ioband_core *core, u64 late_ns, u32 times)
{
	const u64 most = (u64)core_limit_ios(core) * times;

	return min_t(u64, div_u64(most * late_ns, IOBAND_MIN_LATE_NS), U32_MAX);
}

/*
 * The next due time after @now_ns of bios that may be dispatched, or IOBAND_NO_WAKEUP.  Where
 * a minimum below a child of the root is due, the others below it are left to the next pick.
 */
u64 ioband_min_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	u64 wake_ns = IOBAND_NO_WAKEUP;

	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		const struct rb_node *rb = core->root.claims[dir].rb_root.rb_node;

		while (rb) {
			const u64 due_ns = rb_to_claim(rb)->due_ns;

			if (due_ns > now_ns)
				wake_ns = min(wake_ns, due_ns);
			rb = due_ns > now_ns ? rb->rb_left : rb->rb_right;
		}
	}
	return wake_ns;
}

/* The minimum with a bio to dispatch that has been due for the longest time, or NULL. */
static struct ioband_min *core_first_due(const struct ioband_core *core, u64 now_ns, u64 *dirs)
{
	const struct ioband_claim *claim = core_first_claim(core);

	if (!claim || claim->due_ns > now_ns)
		return NULL;
	*dirs = min_due_dirs(claim->min, now_ns) & ent_open_above(core, claim->min->ent);
	return claim->min;
}

/*
 * Without slices: choose between service for a minimum and service by weight.  @ios are the bios in
 * flight that count, then those that count against @limit, the limit of the service.  Return: the
 * entity below which service is by weight: &ioband_core.min_ent, or the root if no minimum is due;
 * NULL if the limit is reached.
 */
struct ioband_ent *ioband_min_pick(struct ioband_core *core, u64 now_ns, u32 *ios, u32 *limit)
{
	const u64 late_ns = core_late_ns(core, now_ns);
	struct ioband_min *minimum = NULL;
	struct ioband_ent *ent;
	const u32 counted_ios = *ios - core->extra_ios, limit_ios = core_limit_ios(core);
	u64 dirs;

	*ios = core->min_ios;
	*limit = late_part(core, late_ns, IOBAND_MIN_WIDER);
	*limit += min(limit_ios, U32_MAX - *limit);
	if (*ios < *limit)
		minimum = core_first_due(core, now_ns, &dirs);
	if (minimum)
		return core_pick_by_min(core, minimum, dirs, now_ns);
	core->min_is_kept = late_ns < IOBAND_MIN_LATE_NS;
	core->others_have_one |= !core->min_is_kept;
	*ios = counted_ios;
	if (likely(!core->stuck_ios))
		*ios -= min(*ios, core->min_ios);
	*limit = limit_ios;
	*limit -= min(late_part(core, late_ns, 1), *limit - 1);
	ent = core_pick_by_weight(core);
	return *ios < *limit ? ent : NULL;
}

/* With slices: is the service for a minimum over? */
static bool min_slice_is_over(struct ioband_core *core, u64 now_ns)
{
	const struct ioband_ent *ent = core->min_ent;
	const u64 dirs = core->min_ent_dirs & ent_open_above(core, ent);

	/* Not in service any more: the entity was idle. */
	return ent->parent->serving != ent || (ent->waiting && !(ent->waiting & dirs)) ||
	       min_wanted_ns(core->min, core->min_ent_dirs) >= now_ns + core->slice_ns / 2 ||
	       min_top(core, core->min, now_ns) != ent;
}

/*
 * With slices: begin, continue or end the service for a minimum.  Return: the entity below which
 * service is by weight, as for ioband_min_pick().
 */
struct ioband_ent *ioband_min_serve(struct ioband_core *core, u64 now_ns)
{
	struct ioband_min *minimum;
	u64 dirs;

	if (core->min_ent) {
		if (!min_slice_is_over(core, now_ns))
			return core->min_ent;
		ioband_tree_set_holder(core, core->min_ent, false);
	}
	minimum = core_first_due(core, now_ns, &dirs);
	if (!minimum)
		return core_pick_by_weight(core);
	core_pick_by_min(core, minimum, dirs, now_ns);
	if (!core->min_ent)
		return &core->root.ent;
	ioband_tree_set_holder(core, core->min_ent, true);
	core->min_begin_ns = now_ns;
	core->min_from_ns = max(min_wanted_ns(core->min, core->min_ent_dirs),
				now_ns - min_t(u64, now_ns, IOBAND_MIN_WINDOW_NS));
	return core->min_ent;
}

/* Time at which the service for a minimum ends for service by weight, there or above. */
static u64 min_slice_until_ns(const struct ioband_core *core)
{
	const struct ioband_ent *ent = core->min_ent;
	u64 until_ns = U64_MAX;

	if (ent != core->min->ent)
		until_ns = container_of(ent, struct ioband_node, ent)->by_weight_until_ns;
	for (; ent->parent; ent = &ent->parent->ent)
		until_ns = min(until_ns, ent->parent->by_weight_ns + IOBAND_MIN_RUN_NS);
	return until_ns;
}

/*
 * With slices, after ioband_min_serve(): time until service by weight begins, or until the bucket
 * is ahead by half a slice, at the pace that is known after one slice.  U64_MAX: service is by
 * weight already, or no other bio is queued.
 */
u64 ioband_min_left_ns(const struct ioband_core *core, u64 now_ns)
{
	const u64 took_ns = now_ns - core->min_begin_ns;
	u64 left_ns, due_ns, moved_ns;

	if (!core->min_ent ||
	    core->root.ent.waiting == (core->min_ent->waiting & core->min_ent_dirs))
		return U64_MAX;
	left_ns = min_slice_until_ns(core);
	left_ns -= min(left_ns, now_ns);
	due_ns = min_wanted_ns(core->min, core->min_ent_dirs);
	moved_ns = due_ns - min(due_ns, core->min_from_ns);
	if (took_ns < core->slice_ns || due_ns == U64_MAX || moved_ns <= took_ns)
		return left_ns;
	due_ns = now_ns + core->slice_ns / 2 - min(due_ns, now_ns + core->slice_ns / 2);
	return min(left_ns, ioband_mul_div(due_ns, took_ns, moved_ns - took_ns));
}

/* Due time of the first minimum; U64_MAX: none, or queued bios of @leaf count for it. */
u64 ioband_min_next_ns(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_claim *claim = core_first_claim(core);
	const u64 due_ns = core_first_due_ns(core);

	if (!claim || claim->due_ns != due_ns)
		return due_ns;
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->min == claim->min &&
		    leaf->ent.waiting & min_due_dirs(claim->min, U64_MAX - 1))
			return U64_MAX;
	return due_ns;
}

void ioband_min_init(struct ioband_min *minimum)
{
	*minimum = (struct ioband_min) { .due_ns = U64_MAX };
	RB_CLEAR_NODE(&minimum->rb);
}

/*
 * Give an entity other than the root a minimum, or change it.  In force from now on; earlier
 * lateness is dropped.  @inflight is ioband_below_counted() of all leaves at or below the entity,
 * if it had none.
 */
void ioband_min_set(struct ioband_core *core, struct ioband_ent *ent,
		    struct ioband_min *minimum, const struct ioband_rates *rates,
		    u32 inflight, u64 now_ns)
{
	core->now_ns = now_ns;
	if (!ent->min) {
		core->nr_minima++;
		minimum->inflight = inflight;
	}
	minimum->trial = (struct ioband_min_trial) {};
	note_try(core, minimum);
	ioband_bucket_set_rates(&minimum->buckets, rates);
	min_begin(minimum, now_ns);
	minimum->ent = ent;
	ent->min = minimum;
	ioband_min_update(core, minimum);
}

/* The caller can free the minimum afterwards. */
void ioband_min_remove(struct ioband_core *core, struct ioband_ent *ent)
{
	struct ioband_min *minimum = ent->min;

	if (!minimum)
		return;
	tree_dequeue(&minimum->rb, &core->flying);
	ent->min = NULL;
	ioband_min_gate(ent);
	core->nr_minima--;
	core->min_tries -= minimum->tries;
	if (core->min_ent && core->min == minimum)
		core_pick_by_weight(core);
}
