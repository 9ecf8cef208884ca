// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: bios that only their own leaf has to wait for.
 * Pure, see core.h.  core.c and the pool's tick call it, under the pool's lock.
 *
 * A policy below ioband may delay the bios of one group: io.max of the disk below, or one slow disk
 * of a volume over two.  The delayed bios count as in flight.  The group always has more of them
 * queued, and is served least, so it gets each slot that becomes free, until it has nearly all.
 * Other groups wait although the device is idle.
 *
 *	1 ms for each I/O, 64 at once; limit 64; io.max holds a to 10 reads a second.  a has 63 or
 *	64 in flight, and each of them takes 6 s.  When one completes, the next bio of b may be
 *	dispatched, and the slot is a's again 1 ms later: b has 10 reads a second, of 64000 that the
 *	device has left.
 *
 * Bios at the device for one leaf must not count against others for much longer than the device
 * takes for others.  A *flow* is the bios of a leaf in one direction.  A *trip* of a flow ends when
 * one bio more has completed than were in flight when it began: about the mean time of its bios at
 * the device.  Trips are counted in a row: the next trip that counts begins after the end of the
 * trip before, of whatever flow.  While a flow has a trip, the count shows how often bios of others
 * have gone to the device and come back.
 *
 * On a device that serves bios in the order of arrival, the count moves by 3 at most during a trip:
 * a trip lasts for two bios, one after the other, and the trip of another flow for one.  That is
 * true at each depth, size and weight, and however irregular the device is.  If the device stalls,
 * or if a policy below delays all groups alike, no trip ends, and the count stands still.  Nothing
 * is tried: no flow has less for the sake of a measurement.
 *
 * A flow is slow if IOBAND_BELOW_FEW or more are counted during each of its trips, and
 * IOBAND_BELOW_TRIPS in all, for IOBAND_BELOW_NS.  Slow flows with all bios in flight but one
 * (without discards and service for minima), at IOBAND_BELOW_LOOKS looks in a row, are *apart*.
 * Then they have an in-flight limit of their own, as large as the pool's.  Their bios do not count
 * in the limit of the pool, nor do they make a minimum late.  Their rates do not fall: they can
 * have as many bios in flight as before.  So the pool has at most twice the limit in flight, or one
 * bio more for each flow.  After one trip with fewer than IOBAND_BELOW_FEW, the flow is like others
 * again: the policy has ended, or the other flows have.  Its lag is forgotten, as it comes from the
 * policy.
 *
 *	as above, limit 4: a has 4 in flight.  When one completes, b has the slot for 1 ms; 5 trips
 *	of b are counted during a trip of a, which takes 500 ms.  After 2 s a is apart, and b has
 *	the limit alone, which grows to 64: 64000 reads a second; a has 10 as before.  Without
 *	io.max, the 5 bios complete within 2 ms, during one or two trips of b.
 *
 * Nothing tells the flow from others while no bio of these can go to the device.  So if no bio has
 * completed for IOBAND_BELOW_SILENT_NS, one leaf with none in flight may have one beyond the limit,
 * and the next leaf when that has completed.  A stall of the device costs one bio.
 *
 *	limit 64; one disk of a volume hangs, and has 64 bios of a.  After 50 ms b may have one bio.
 *	After 16 of these, and 500 ms, a is apart.
 *
 * The more flows have bios in flight, the sooner some bio is fast by chance: more trips are needed.
 * Reads and writes differ on disks with a cache.  Trips of the other direction count as
 * 1/IOBAND_BELOW_ACROSS of a trip.
 *
 * A delayed bio still needs a request of the device.  The device may have as many as the limit, and
 * the next bio of others always takes the free one before the submitter of the delayed bio wakes
 * up.  So a slot stays empty for a moment now and then.
 *
 *	2 requests, 2 ms each; io.max holds a to 10 reads a second.  b has 2 in flight all the time,
 *	and a has 3 reads a second.  With an empty slot for 0.2 ms every 32 ms, a has 10.
 *
 * A mild policy is not found: then the search for the limit finds that one or two bios in flight
 * are as good as many, and the bios of both flows take as long.  A disk with a head, without
 * slices, starves some bios for others: there a flow may be apart for a while.  With slices, no
 * flow is apart.  If device time is charged, delayed bios use up the slices of their leaf, and
 * others keep their share.  If bytes are charged, others have no more of these than the delayed
 * leaf.  While a device of the pool hangs, sched/stall.c decides which bios count.
 */
#include "below.h"

#include "idle.h"
#include "min.h"
#include "tree.h"

/*
 * Devices that serve several bios at once finish some sooner.  In the simulator (make search N=300
 * SEED=7), no flow is apart but on disks with a head, without slices.
 */
#define IOBAND_BELOW_TRIPS	16U

/* For so many flows in flight, one trip more. */
#define IOBAND_BELOW_FLOWS	4

/* A disk takes far longer for a read at random than for a write to its cache. */
#define IOBAND_BELOW_ACROSS	8

/* More than a device that serves bios in the order of arrival can do; see above. */
#define IOBAND_BELOW_FEW	4

/* A task takes 50 us to wake up, and to take the request that has become free. */
#define IOBAND_BELOW_HOLE_NS	(200 * NSEC_PER_USEC)

/* For so many bios of others, a delayed bio gets its request. */
#define IOBAND_BELOW_HOLE_IOS	32

/* A disk that starves some bios for others seldom does so for as long. */
#define IOBAND_BELOW_NS		(500 * NSEC_PER_MSEC)

/* Slow flows have all bios in flight but one at so many looks in a row. */
#define IOBAND_BELOW_LOOKS	10

/* Longer than most pauses of a device, or of a CPU that submits bios. */
#define IOBAND_BELOW_SILENT_NS	(50 * NSEC_PER_MSEC)

/* Bios of the open state count for so long: a disk that is full of requests takes 300 ms. */
#define IOBAND_BELOW_OPEN_NS	(500 * NSEC_PER_MSEC)

/* Among more leaves with bios no policy below is looked for: the lock would be held for long. */
#define IOBAND_BELOW_LEAVES	1024

static u32 trips_needed(const struct ioband_core *core)
{
	return IOBAND_BELOW_TRIPS + core->below.flows / IOBAND_BELOW_FLOWS;
}

/* Trips in a direction since a point in time; those of the other direction count for less. */
static u32 trips_since(const struct ioband_core *core, const struct ioband_trips *from,
		       enum ioband_dir dir)
{
	const struct ioband_trips *trips = &core->below.trips;

	return max(trips->dir[dir] - from->dir[dir],
		   (trips->dir[!dir] - from->dir[!dir]) / IOBAND_BELOW_ACROSS);
}

static void begin_trip(const struct ioband_core *core, struct ioband_flow *flow, u64 now_ns)
{
	flow->from = core->below.trips;
	flow->since_ns = flow->since_ns ?: now_ns;
	flow->left = flow->inflight + 1;
}

/* The in-flight limit of each flow that is apart. */
static u32 limit_apart(const struct ioband_core *core)
{
	return max((core->limit_ios - core->extra_ios) / max(core->below.apart, 1U), 1U);
}

/* Of the directions @dirs of queued bios, as bits, those below a limit of the leaf's own. */
u8 ioband_below_open(const struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs)
{
	leaf->full_dirs = 0;
	for (int dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (leaf->apart_dirs & dirs & 1 << dir &&
		    leaf->flows[dir].inflight >= limit_apart(core))
			leaf->full_dirs |= 1 << dir;
	return dirs & ~leaf->full_dirs;
}

/* Show queued bios of a leaf to the scheduler again, or withhold them. */
static void leaf_update(struct ioband_core *core, struct ioband_leaf *leaf)
{
	const u8 dirs = ioband_below_open(core, leaf, leaf->dirs | leaf->full_dirs);

	if (dirs == leaf->dirs)
		return;
	if (leaf->state != IOBAND_LEAF_BACKLOGGED)
		ioband_tree_catch_up(&leaf->ent, 0);
	ioband_tree_show(core, leaf, dirs);
}

/*
 * Leaves that are apart come first in the list.  The search for the limit of the pool must not
 * compare rates from before with rates after.
 */
static void set_apart(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
		      bool apart)
{
	const u32 inflight = leaf->flows[dir].inflight;

	leaf->apart_dirs ^= 1 << dir;
	core->below.apart += apart ? 1 : -1;
	core->below.apart_ios += apart ? inflight : -inflight;
	core->min_ios -= apart ? leaf->flows[dir].min_ios : -leaf->flows[dir].min_ios;
	if (inflight)
		core->below.flows += apart ? -1 : 1;
	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (unlikely(ent->min))
			ioband_min_count(core, ent->min, apart ? -inflight : inflight);
	core->late = true;
	if (apart)
		list_move(&leaf->below, &core->below.leaves);
	else if (!leaf->apart_dirs)
		list_move_tail(&leaf->below, &core->below.leaves);
	if (!apart)
		ioband_tree_forget_lag(leaf);
	leaf_update(core, leaf);
}

/* The first bio of a flow is dispatched. */
void ioband_below_begin(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
			u64 now_ns)
{
	begin_trip(core, &leaf->flows[dir], now_ns);
	core->below.flows += !(leaf->apart_dirs & 1 << dir);
}

/* A bio completes while some flow is apart. */
void ioband_below_count(struct ioband_core *core, const struct ioband_leaf *leaf,
			enum ioband_dir dir, u64 now_ns)
{
	struct ioband_below *below = &core->below;
	const bool apart = leaf->apart_dirs & 1 << dir;

	below->apart_ios -= apart;
	if (below->apart_ios && !apart && ++below->others == IOBAND_BELOW_HOLE_IOS) {
		below->others = 0;
		below->hole_until_ns = now_ns + IOBAND_BELOW_HOLE_NS;
	}
}

/* A trip of a flow has ended. */
void ioband_below_end_trip(struct ioband_core *core, struct ioband_leaf *leaf,
			   enum ioband_dir dir, u64 now_ns)
{
	struct ioband_below *below = &core->below;
	const bool apart = leaf->apart_dirs & 1 << dir;
	struct ioband_flow *flow = &leaf->flows[dir];
	const u32 trips = trips_since(core, &flow->from, dir);

	if (!flow->inflight)
		below->flows -= !apart;
	below->trips.dir[dir] += below->trips.dir[dir] == flow->from.dir[dir];
	flow->trips += trips;
	if (trips < IOBAND_BELOW_FEW) {
		flow->since_ns = 0;
		flow->trips = 0;
		if (apart)
			set_apart(core, leaf, dir, false);
	}
	if (flow->inflight)
		begin_trip(core, flow, now_ns);
}

/* A bio of a leaf has completed that has a limit of its own: more may be dispatched. */
void ioband_below_update(struct ioband_core *core, struct ioband_leaf *leaf)
{
	leaf_update(core, leaf);
}

static void end_apart(struct ioband_core *core, struct ioband_leaf *leaf)
{
	for (int dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (leaf->apart_dirs & 1 << dir)
			set_apart(core, leaf, dir, false);
}

/* Bios in flight of a leaf that may make a minimum late: without flows that are apart. */
u32 ioband_below_counted(const struct ioband_leaf *leaf)
{
	u32 ios = leaf->inflight;

	for (int dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (leaf->apart_dirs & 1 << dir)
			ios -= leaf->flows[dir].inflight;
	return ios;
}

/* A leaf is idle: its next trips have nothing to do with the last ones. */
static void leave(struct ioband_leaf *leaf)
{
	list_del_init(&leaf->below);
	for (int dir = 0; dir < IOBAND_NR_DIRS; dir++)
		leaf->flows[dir] = (struct ioband_flow) {};
}

/* Forget a leaf without bios, queued or in flight. */
void ioband_below_remove(struct ioband_core *core, struct ioband_leaf *leaf)
{
	end_apart(core, leaf);
	leave(leaf);
	if (core->below.probe == leaf)
		core->below.probe = NULL;
}

/* All bios of a leaf, queued or in flight, are those of flows that are apart. */
static bool leaf_is_apart(const struct ioband_leaf *leaf)
{
	for (int dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (!(leaf->apart_dirs & 1 << dir) &&
		    (leaf->dirs & 1 << dir || leaf->flows[dir].inflight))
			return false;
	return leaf->apart_dirs;
}

/* Of the busy leaves at or below an entity, those of which all bios are in flows that are apart. */
u32 ioband_below_busy(const struct ioband_core *core, const struct ioband_ent *ent)
{
	const struct ioband_leaf *leaf;
	u32 busy = 0;

	list_for_each_entry(leaf, &core->below.leaves, below) {
		if (!leaf->apart_dirs)
			break;
		busy += leaf->state != IOBAND_LEAF_IDLE && leaf_is_apart(leaf) &&
			ent_is_below(&leaf->ent, ent);
	}
	return busy;
}

/* Find out whether a flow is apart.  Return: its bios in flight by weight if it may be. */
static u32 flow_look(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir,
		     u64 now_ns)
{
	const struct ioband_flow *flow = &leaf->flows[dir];
	const u32 trips = flow->trips + trips_since(core, &flow->from, dir);

	if (!flow->inflight || leaf->apart_dirs & 1 << dir ||
	    now_ns < flow->since_ns + IOBAND_BELOW_NS || trips < trips_needed(core))
		return 0;
	if (core->below.slow_looks >= IOBAND_BELOW_LOOKS)
		set_apart(core, leaf, dir, true);
	return flow->inflight - flow->min_ios;
}

/* Might a leaf that the limit keeps from having any bio in flight have one more? */
static bool may_probe(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return !leaf->inflight && ioband_tree_dirs(core, leaf) && !core->slice_ns &&
	       (!core->nr_idlers || !ioband_idle_yields(leaf));
}

/* Find out which flows are apart, every few milliseconds; ioband_core_pick() has to follow. */
void ioband_below_look(struct ioband_core *core, u64 now_ns)
{
	const bool applies = !core->slice_ns && !core->stuck_ios && core->limit_ios < U32_MAX;
	struct ioband_leaf *leaf, *next, *starved = NULL;
	u32 slow_ios = 0, leaves = 0, ios;
	bool probes = false;

	list_for_each_entry_safe(leaf, next, &core->below.leaves, below) {
		if (++leaves > IOBAND_BELOW_LEAVES) {
			slow_ios = 0;
			break;
		}
		if (!applies || (!leaf->inflight && !leaf->dirs))
			end_apart(core, leaf);
		if (!leaf->inflight && !leaf->dirs)
			leave(leaf);
		for (int dir = 0; dir < IOBAND_NR_DIRS && applies; dir++)
			slow_ios += flow_look(core, leaf, dir, now_ns);
		if (leaf->full_dirs)
			leaf_update(core, leaf);
		probes |= leaf->probes && leaf->inflight;
		if (!starved && may_probe(core, leaf))
			starved = leaf;
	}
	ios = ioband_tree_counted_ios(core) - core->extra_ios - core->min_ios;
	core->below.slow_looks = slow_ios && slow_ios + 1 >= ios ? core->below.slow_looks + 1 : 0;
	core->below.probe = NULL;
	if (applies && !probes && now_ns > core->below.done_ns + IOBAND_BELOW_SILENT_NS)
		core->below.probe = starved;
	core->late |= !!core->below.probe;
}

/* Is one slot of the limit to be left empty, until @wake_ns? */
bool ioband_below_hole(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	if (now_ns >= core->below.hole_until_ns) {
		core->below.hole_until_ns = 0;
		return false;
	}
	*wake_ns = core->below.hole_until_ns;
	return true;
}

/* The limit is reached: the leaf that may have one bio beyond it, or NULL. */
struct ioband_leaf *ioband_below_probe(const struct ioband_core *core)
{
	struct ioband_leaf *leaf = core->below.probe;

	return leaf && may_probe(core, leaf) ? leaf : NULL;
}

/* Has the device served others for so long that bios of the open state need not count? */
bool ioband_below_went_on(const struct ioband_core *core, u64 now_ns)
{
	const struct ioband_below *below = &core->below;
	const u32 trips = max(trips_since(core, &below->told, IOBAND_DIR_READ),
			      trips_since(core, &below->told, IOBAND_DIR_WRITE));

	return now_ns > core->told_ns + IOBAND_BELOW_OPEN_NS && trips >= trips_needed(core);
}
