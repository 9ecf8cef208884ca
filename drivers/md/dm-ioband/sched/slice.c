// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: slices for disks that seek, and flushes of their write caches.
 * Pure, see core.h.  core.c and the target (flush.c) call it, under the pool's lock.
 *
 * A disk with a head loses a seek with each change between leaves, and serves its own queue by the
 * position of the head.  So each leaf gets the device to itself for a slice.  At every level, the
 * child in service keeps the device, with any lead, until it had slice_ns or is idle.  Then the
 * least served backlogged child gets it (time slices with anticipation, as in CFQ, on virtual
 * time).  Sequential runs of one group that go to and fro are an exception (sched/ahead.c).  If the
 * child in service is still the least served, its slice continues until it no longer is: so weights
 * far apart show in the length of slices.
 *
 * A leaf is anticipated after its last completion, as without slices (sched/core.c).  A leaf that
 * was idle and now reads is the next, unless another leaf has less service.  The slice of a leaf
 * with more service then ends after half of its length.  The last bio of a leaf completes before
 * the first bio of the next leaf is dispatched: the disk cannot choose between them.
 *
 *	slice 50 ms; a reads sequentially, b at random, 8 ms each, both one at a time.  a has the
 *	disk for 50 ms: 1.8 MB; b for 50 ms, 6 bios, and the bio under way: a again, at its full
 *	speed but for one seek in 100 ms.
 *
 * When a group gets the device after another group, a new slice begins below it too, at every
 * level: that of the least served child, not the rest of the last one.
 *
 *	Slices of 124 ms; a1 and a2 below a read sequentially.  b becomes active, and the slice of
 *	a1 ends after 62 ms.  With its other 62 ms in the next slice of a, and then a2 for the rest,
 *	the disk would seek twice in each slice of a: 8 ms of 62, and not of 124.
 *
 * But no slice begins below when less than half a slice is left above.
 *
 *	The 124 ms of a are over, and a still has less service than b, by 10 ms, so its slice takes
 *	134.  a1 has all of them: in the last 10, a2 would seek for 8.
 *
 * Large bios are split, so that a slice can end within one.  A new slice may have to wait for bios
 * in flight, or for a flush.  It is assigned again when it can begin, because another leaf may be
 * the next by then.
 *
 * A change of the slice holder takes until the bios in flight complete.  So a leaf has no more in
 * flight than completes within IOBAND_DRAIN_NS, by the mean time between its completions.  This
 * mean is learned from stretches of a millisecond or more.  Single completions would mislead,
 * because the bios of a merged request complete together.
 *
 *	A buffered write of a raw disk: 128 bios of 4 KiB a request of 3.5 ms.  By single
 *	completions the mean was 18 ns after each request, and 12 800 bios, 52 MB, were in flight.
 *	By stretches it is 27 us, and 20 ms have 730 of them.
 *
 * While another leaf waits, it is also no more than completes within the slice.  A leaf that writes
 * has a quarter of this, because the cache orders writes.  A lone leaf is bounded, too, and a lone
 * reader by one slice: a leaf that becomes active waits for bios in flight, and for the cache.
 *
 * A write to the cache of a disk completes when the cache has it.  The disk may then seek for a
 * second to get it onto the medium, in the apparent slice of the next leaf.  So a slice with writes
 * ends with a flush, which is part of the slice.  Its duration is estimated from earlier flushes,
 * by the byte.  Each write uses up that much more of the slice, so that the slice ends in time,
 * flush included.
 *
 *	a writes 64 KiB at random, 5 ms each for the medium, and 0.2 ms each for the cache.  124 ms
 *	are over after 24 of them: 5 ms until the cache has them, 120 ms for the flush.  Without it
 *	8 MB would be in the cache after 30 ms, and the first bio of b would wait for 600 ms.
 *
 * A flush from above, such as that of a journal's commit, has the same effect on the writes that
 * have completed before it.
 *
 *	a writes 512 KiB and waits for fsync: data, 12 KiB of the journal, which is another group, a
 *	flush, 4 KiB with FUA.  The cache is empty then, and the slice of a can end without a flush.
 *
 * Between leaves with writeback only, there is no flush, and slices are an eighth as long.  Where
 * no task waits for its own I/O, none waits for the cache, which gathers the writes of each leaf.
 * Slices of 8 MiB would make the ratio of two flushers miss 2:1 by the part that 8 MiB are of the
 * I/O of a second or two.  A flusher in writeback idle keeps its slice, see sched/pause.c.
 *
 * Writes of a lone leaf cost other leaves nothing.  But when another leaf becomes active, it waits
 * for a flush, and the writer is charged for all of it.
 *
 * With slices, device time can be charged, because the slice holder is known.  Its time lasts from
 * its first bio until the first bio of the next leaf, with the wait for completions, anticipation
 * and the change to the next leaf.  A reader that makes the disk seek pays for the seeks.  With any
 * charge, the virtual time of a node follows the least served backlogged child.  The child in
 * service may lead by a slice.
 */
#include "slice.h"

#include "ahead.h"
#include "latency.h"
#include "min.h"
#include "pause.h"
#include "tree.h"

/* Time within which the bios in flight of a leaf have to complete. */
#define IOBAND_DRAIN_NS		(80 * NSEC_PER_MSEC)

/*
 * Least stretch of time over which a mean time between completions is taken.  The queue below may
 * have merged 128 bios into one request, and these complete together.  A disk serves a request of
 * 64 KiB, 16 bios, in half of this.
 */
#define IOBAND_STRETCH_NS	NSEC_PER_MSEC

/* No task waits for its own I/O: the cache of the device may gather writes. */
static bool core_gathers(const struct ioband_core *core)
{
	return core->writer && !core->charge_time && core_is_async(core);
}

/* Bytes in the caches of the devices. */
static u64 core_dirty_bytes(const struct ioband_core *core)
{
	return core->cached_until - core->clean_until;
}

/* Of these, bytes for which the writers have to pay. */
static u64 core_owed_bytes(const struct ioband_core *core)
{
	return core->cached_until - max(core->clean_until, core->free_until);
}

/* Length of a slice. */
static u64 core_slice_ns(const struct ioband_core *core)
{
	return core_gathers(core) ? core->slice_ns / 8 : core->slice_ns;
}

/* Use up a part of the slices of a leaf, and of the nodes above it. */
static void leaf_use_slice(struct ioband_leaf *leaf, u64 ns)
{
	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->parent->serving == ent)
			ent->parent->served_ns += ns;
}

/* Charge a leaf for device time, past or to come. */
static void leaf_charge_ns(struct ioband_core *core, struct ioband_leaf *leaf, u64 ns, bool in_turn)
{
	ioband_tree_charge(core, leaf, min_t(u64, ns, U32_MAX) / IOBAND_NS_PER_CHARGE, true,
			   in_turn);
}

/* Charge the slice holder for its time since the last charge. */
void ioband_slice_charge(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->holder;
	u64 ns;

	if (!leaf || core->flush == IOBAND_FLUSH_RUNNING)
		return;
	if (leaf->state == IOBAND_LEAF_ANTICIPATED)
		now_ns = min(now_ns, leaf->grace_until_ns);
	if (now_ns <= core->charged_until_ns)
		return;
	ns = now_ns - core->charged_until_ns;
	core->charged_until_ns = now_ns;
	leaf_use_slice(leaf, ns);
	leaf->last_slice_ns = now_ns;
	leaf->was_idle = false;
	leaf_charge_ns(core, leaf, ns, true);
}

/* The slice of the child in service has begun, and is not only assigned. */
static bool node_is_in_slice(const struct ioband_node *node)
{
	return node->serving && node->served_ns;
}

/*
 * A leaf without queued bios gets a read.  With equal service, an entity that was idle precedes the
 * others.  A child in service with no less service keeps the device for half a slice more, at most.
 * Writes have no such effect: a task waits for a read, while most writes have time.  Neither have
 * reads that a maximum blocks.
 */
void ioband_slice_arrive(const struct ioband_core *core, struct ioband_leaf *leaf)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent && !ent->busy; ent = &ent->parent->ent) {
		struct ioband_node *node = ent->parent;

		if (!(ent_open(ent) & ioband_tree_dir_mask(IOBAND_DIR_READ)))
			break;
		if (ent->vtime == node->vnow)
			ent->vtime--;
		if (node_is_in_slice(node) && vtime_before(ent->vtime, node->serving->vtime))
			node->served_ns = max(node->served_ns, core->slice_ns / 2);
	}
}

/* State of the way from the root to the leaf in service. */
struct descent {
	u64 open;			/* directions in which bios below may be dispatched */
	u64 left_ns;	/* rest of the slice, while others wait or have a minimum; else U64_MAX */
	bool bypass;			/* its children bypass others, for a minimum above */
	bool expect;			/* the next by weight is anticipated, at some level */
};

static struct descent descent_from_top(void)
{
	return (struct descent) { .open = U64_MAX, .left_ns = U64_MAX };
}

/* Mean time between completions. */
static u64 leaf_gap_ns(const struct ioband_leaf *leaf)
{
	return leaf->gap_ns ?: IOBAND_GAP_FIRST_NS;
}

/*
 * Time for which the child in service would continue because it has less service than @next.  It
 * follows from device time, or from the pace of this slice, up to the time of the slice so far.
 */
static u64 node_lag_ns(const struct ioband_core *core, const struct ioband_node *node,
		       const struct ioband_ent *next, bool bypass)
{
	const struct ioband_ent *ent = node->serving;
	const u64 position = ent_position(ent, bypass);
	u64 lag, done;

	if (!vtime_before(position, ent_position(next, bypass)))
		return 0;
	lag = ent_position(next, bypass) - position;
	if (node_shares_time(core, node))
		return ent_advance_ns(ent, lag);
	if (!vtime_before(node->served_from, position))
		return node->served_ns;
	done = position - node->served_from;
	return ioband_mul_div(min(lag, done), node->served_ns, done);
}

/*
 * Time until the child in service loses the device, if another child waits: the rest of its
 * slice, or longer if it still has less service then.
 */
static u64 node_slice_left_ns(const struct ioband_core *core, const struct ioband_node *node,
			      const struct descent *to)
{
	const u64 slice_ns = core_slice_ns(core);
	const struct ioband_ent *next;

	next = ioband_tree_least(node, to->open, to->bypass, node->serving);
	if (!next)
		return U64_MAX;
	return max(slice_ns - min(slice_ns, node->served_ns),
		   node_lag_ns(core, node, next, to->bypass));
}

/* So little is left above that the child in service continues after its slice. */
static bool is_rest(const struct ioband_core *core, u64 left_ns)
{
	return left_ns < core_slice_ns(core) / 2;
}

/* One step down, from a node to its child in service. */
static void descend(const struct ioband_core *core, const struct ioband_node *node,
		    struct descent *to)
{
	if (node->served_ns < core_slice_ns(core) || !is_rest(core, to->left_ns))
		to->left_ns = min(to->left_ns, node_slice_left_ns(core, node, to));
	to->open &= ent_open(node->serving);
}

/* Estimated duration of a flush after so many bytes. */
static u64 leaf_destage_ns(const struct ioband_leaf *leaf, u64 bytes)
{
	return ioband_mul_div(bytes, leaf->destage_ns, leaf->destage_bytes);
}

static bool leaf_knows_destage(const struct ioband_leaf *leaf)
{
	return leaf->destage_ns != IOBAND_DESTAGE_FIRST_NS;
}

/*
 * Time within which the bios in flight of a leaf have to complete: within its slice, soon, and
 * before a minimum of another leaf is due.  The cache orders writes, so fewer of these have to
 * be in flight.  A lone reader has a slice.
 */
static u64 leaf_drain_ns(const struct ioband_core *core, const struct ioband_leaf *leaf,
			 u64 left_ns, u64 now_ns)
{
	u64 drain_ns = IOBAND_DRAIN_NS;

	if (core->writer == leaf)
		drain_ns /= 4;
	else if (left_ns == U64_MAX)
		drain_ns = core->slice_ns;
	drain_ns = min(drain_ns, left_ns);
	if (unlikely(core->nr_minima)) {
		const u64 due_ns = ioband_min_next_ns(core, leaf);

		drain_ns = min(drain_ns, due_ns - min(due_ns, now_ns));
	}
	return drain_ns;
}

/*
 * Number of bios that complete within a time.  The rest of a slice is often a little less than some
 * gaps, so a sixteenth of a gap is added: of two bios at a time the second one would otherwise be
 * missing before the end of each slice.
 */
static u64 leaf_ios_within(const struct ioband_leaf *leaf, u64 ns)
{
	const u64 gap_ns = leaf_gap_ns(leaf);

	return div64_u64(ns + gap_ns / 16, gap_ns);
}

/*
 * May a leaf have more bios in flight?  Writes complete fast until the cache of the device is full,
 * and then at the speed of the medium.  Bios of a device that does not answer do not count.
 */
static bool leaf_has_room(const struct ioband_core *core, const struct ioband_leaf *leaf,
			  u64 left_ns, u64 now_ns)
{
	const u32 ios = leaf->inflight - leaf->swap_ios;
	const u32 inflight = ios - min(ios, core->stuck_ios);
	u64 drain_ns;

	if (!inflight)
		return true;
	drain_ns = leaf_drain_ns(core, leaf, left_ns, now_ns);
	if (core->writer == leaf && !core->stuck_ios && leaf_knows_destage(leaf) &&
	    leaf_destage_ns(leaf, core->inflight_bytes) >= drain_ns)
		return false;
	return inflight < min_t(u64, leaf_ios_within(leaf, drain_ns), core->limit_ios);
}

/* A bio is dispatched.  @counts: in turn, and it has data. */
void ioband_slice_admit(struct ioband_leaf *leaf, bool counts, u64 now_ns)
{
	if (leaf->inflight == 1)
		leaf->first_ns = counts ? now_ns : 0;
}

static void leaf_learn_gap(struct ioband_leaf *leaf, u64 since_ns, u64 now_ns, u32 ios)
{
	const u64 gap_ns = div_u64(now_ns - min(since_ns, now_ns), ios);

	leaf->gap_ns = (7 * leaf_gap_ns(leaf) + min_t(u64, gap_ns, IOBAND_DRAIN_NS)) / 8;
}

/*
 * A bio has completed.  If others were in flight, this updates the mean time between completions.
 * A stretch begins with the first completion; if all bios complete in less than a stretch, with
 * their dispatch.
 */
void ioband_slice_complete(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
			   u64 now_ns)
{
	leaf->run_ios += !!leaf->run_ns;
	if (leaf->run_ns && now_ns >= leaf->run_ns + IOBAND_STRETCH_NS) {
		leaf_learn_gap(leaf, leaf->run_ns, now_ns, leaf->run_ios);
		leaf->run_ns = 0;
		leaf->first_ns = 0;
	} else if (!leaf->inflight && leaf->first_ns && leaf->run_ios) {
		leaf_learn_gap(leaf, leaf->first_ns, now_ns, leaf->run_ios + 1);
	}
	if (!leaf->run_ns || !leaf->inflight) {
		leaf->run_ns = leaf->inflight ? now_ns : 0;
		leaf->run_ios = 0;
	}
	ioband_ahead_complete(core, leaf, bytes, now_ns);
}

static void node_begin_slice(const struct ioband_core *core, struct ioband_node *node,
			     struct ioband_ent *ent, bool bypass)
{
	node->serving = ent;
	node->by_bypass = bypass;
	node->served_ns = 0;
	node->served_from = ent_position(ent, bypass);
	ioband_tree_begin_below(core, ent, bypass);
}

/*
 * The child in service keeps the device.  It does so after its slice, too, if less than half a
 * slice is left above, in which another child would do little but seek.  A child in writeback
 * idle does not.  Nor does any while a device does not answer: there may be no charge then, and
 * the slice would not end.
 */
static bool node_goes_on(const struct ioband_core *core, const struct ioband_node *node,
			 u64 left_ns)
{
	if (!node_is_in_slice(node))
		return false;
	if (node->served_ns < core_slice_ns(core))
		return true;
	return is_rest(core, left_ns) && !node->serving->pausing && !core->stuck_ios;
}

/*
 * While a device does not answer: the child in service has no bios in flight that can complete,
 * or none completed for a slice.  Bios of others out of turn may be in flight beside these.
 */
static bool node_hangs(const struct ioband_core *core, const struct ioband_node *node)
{
	if (likely(!core->stuck_ios) || node->serving->waiting || node->serving->anticipated)
		return false;
	return core->inflight_ios <= core->stuck_ios || !ent_is_holder(core, node->serving) ||
	       core->now_ns >= core->holder->done_ns + core_slice_ns(core);
}

/*
 * Choose the child in service of a node.  After a slice, it is the least served backlogged
 * child, or still the child in service, even if its bios are in flight or yet to arrive.  If an
 * anticipated child would be the next, the device idles for it.  A child with queued bios only
 * in blocked directions gets no slice, and the slice of a child that yields is over.
 */
static struct ioband_ent *node_serve(const struct ioband_core *core, struct ioband_node *node,
				     struct descent *to)
{
	struct ioband_ent *least, *next;

	if (node->serving && (ent_yields(node->serving) ||
			      (node->serving->waiting && !(ent_shown(node->serving) & to->open))))
		node->serving = NULL;
	if (node_goes_on(core, node, to->left_ns))
		return node->serving;
	least = ioband_tree_least(node, to->open, to->bypass, NULL);
	if (!least)
		return node->serving;
	next = least;
	if (to->bypass)
		node->bypass_vtime = ent_bypass_vtime(least);
	else if (node->streams)
		next = ioband_ahead_choose(core, node, least, to->open);
	if (!node->serving || node_hangs(core, node) ||
	    vtime_before(ent_position(least, to->bypass), ent_position(node->serving, to->bypass)))
		node_begin_slice(core, node, next, to->bypass);
	else if (node->served_ns && ioband_tree_expects(node, to->bypass))
		to->expect = true;
	return node->serving;
}

/* The entity to start from: the root, by weight, or an entity served for a minimum. */
static struct ioband_ent *core_begin_descent(struct ioband_core *core, u64 now_ns,
					     struct descent *to)
{
	struct ioband_ent *ent;

	*to = descent_from_top();
	if (likely(!core->nr_minima))
		return &core->root.ent;
	ent = ioband_min_serve(core, now_ns);
	to->open = core->min_ent_dirs & ent_open_above(core, ent);
	to->bypass = core_bypasses(core);
	to->left_ns = ioband_min_left_ns(core, now_ns);
	return ent;
}

/*
 * The leaf in service; some bio is queued.  Bios out of turn may keep a node busy that has neither
 * queued bios nor a child in service.  Then the search starts from the root again, without it.
 */
static struct ioband_leaf *core_serve(struct ioband_core *core, u64 now_ns, struct descent *to)
{
	struct ioband_ent *ent = core_begin_descent(core, now_ns, to);

	while (!ent->leaf) {
		struct ioband_node *node = container_of(ent, struct ioband_node, ent);

		ent = node_serve(core, node, to);
		if (ent) {
			descend(core, node, to);
		} else {
			if (!node->ent.parent)
				return NULL;
			node->ent.parent->serving = NULL;
			core_end_min(core);
			ent = &core->root.ent;
			*to = descent_from_top();
		}
	}
	return ent_to_leaf(ent);
}

/* Leaves of the same group: a change between them needs no flush. */
static bool is_same_group(const struct ioband_leaf *a, const struct ioband_leaf *b)
{
	return a == b || (a->ent.parent == b->ent.parent && a->ent.parent->streams);
}

/* No other group, or leaf, is active. */
static bool leaf_is_alone(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_node *node = leaf->ent.parent;

	return core->root.ent.busy == (node->streams ? node->ent.busy : leaf->ent.busy);
}

/* Device time of a bio out of turn, in units of charge. */
u32 ioband_slice_charge_urgent(const struct ioband_leaf *leaf)
{
	return div_u64(leaf_gap_ns(leaf), IOBAND_NS_PER_CHARGE);
}

/* A flush has ended: a small part of the unused charge is kept for the next one. */
static void leaf_end_prepaid(const struct ioband_core *core, struct ioband_leaf *leaf)
{
	leaf->prepaid_ns = min(leaf->prepaid_ns, core->slice_ns / 4);
	leaf->flushes = core->flushes;
}

/* A bio goes to the write cache of the device: use up the estimated time of its flush. */
void ioband_slice_dirty(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes, bool in_turn)
{
	u64 ns;

	core->cached_until += bytes;
	if (leaf_is_alone(core, leaf) || core_gathers(core)) {
		core->free_until = core->cached_until;
		leaf->prepaid_ns = 0;
	}
	if (in_turn || !core->writer)
		core->writer = leaf;
	if (leaf->flushes != core->flushes)	/* a flush for another writer included it */
		leaf_end_prepaid(core, leaf);
	leaf_use_slice(leaf, leaf_destage_ns(leaf, bytes));
	if (core->writer != leaf)	/* a little more for the present writer */
		return;
	ns = leaf_destage_ns(leaf, core_owed_bytes(core));
	if (ns <= leaf->prepaid_ns)
		return;
	leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, in_turn);
	leaf->prepaid_ns = ns;
}

/*
 * Is the device free for a leaf, or does it still have writes of another one?  Writes that take
 * less time than an empty flush stay in the cache.
 */
static bool core_is_flushed(struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_leaf *writer = core->writer;

	if (core->flush == IOBAND_FLUSH_RUNNING)
		return false;
	if (writer && !is_same_group(writer, leaf) && !core_gathers(core) &&
	    leaf_destage_ns(writer, core_dirty_bytes(core)) >= IOBAND_GAP_FIRST_NS)
		core->flush = IOBAND_FLUSH_DUE;
	else
		core->flush = IOBAND_FLUSH_NONE;
	return core->flush == IOBAND_FLUSH_NONE;
}

/*
 * Estimated bytes in the cache of the device.  Old writes are on the medium by now.  The size of
 * the cache is not known, but the writes of a slice or two have fit in.
 */
static u64 core_cached_bytes(const struct ioband_core *core)
{
	const u64 usual = core->writer ? core->writer->destage_bytes : 0;
	const u64 owed = core_owed_bytes(core);

	return owed + min(core_dirty_bytes(core) - owed, usual);
}

/*
 * Each of the last flushes counts half as much as the one after it.  No medium takes more than a
 * gigabyte a second: the estimate is never zero.
 */
static void leaf_learn_destage(struct ioband_leaf *leaf, u64 ns, u64 bytes)
{
	ns = max(bytes, ns > IOBAND_GAP_FIRST_NS ? ns - IOBAND_GAP_FIRST_NS : 0);
	leaf->destage_ns = leaf->destage_ns / 2 + ns;
	leaf->destage_bytes = leaf->destage_bytes / 2 + bytes;
}

/*
 * Position up to which a flush submitted now puts bytes onto the medium.  It covers the writes that
 * have completed before it.  The writes in flight count as the last ones.
 */
u64 ioband_slice_completed_until(const struct ioband_core *core)
{
	return core->cached_until - min(core->cached_until, core->inflight_cached);
}

/*
 * A flush from above has covered bytes of the writer, and the charge for these is used up, unless
 * the time of the flush is charged as that of the writer's slice.
 */
static void leaf_note_covered(const struct ioband_core *core, struct ioband_leaf *leaf,
			      u64 owed, u64 cached, u64 ns)
{
	const u64 estimate_ns = leaf_destage_ns(leaf, cached);
	const u64 owed_ns = min(leaf_destage_ns(leaf, owed), ns);

	if (core->holder != leaf)
		leaf->prepaid_ns -= min(owed_ns, leaf->prepaid_ns);
	leaf->flushes = core->flushes;
	/* Other I/O may have prolonged it.  A short one tells little. */
	if (estimate_ns >= IOBAND_GAP_FIRST_NS && ns < estimate_ns)
		leaf_learn_destage(leaf, ns, cached);
}

/*
 * A flush from above has completed, after @ns, with ioband_slice_completed_until() @until at its
 * submission.  Return: true if nothing is left to flush.
 */
bool ioband_slice_note_flush(struct ioband_core *core, u64 until, u64 ns)
{
	const u64 owed = core_owed_bytes(core), cached = core_cached_bytes(core);

	if (until > core->clean_until) {
		core->clean_until = until;
		core->flushes++;
		if (core->writer)
			leaf_note_covered(core, core->writer, owed - core_owed_bytes(core),
					  cached - core_cached_bytes(core), ns);
	}
	if (core_dirty_bytes(core))
		return false;
	if (core->flush != IOBAND_FLUSH_RUNNING && core->writer) {
		leaf_end_prepaid(core, core->writer);
		core->writer = NULL;
	}
	return true;
}

/*
 * Has the caller to flush the write caches?  To be called when ioband_core_pick() has returned
 * NULL.  If so, no other leaf gets the device until ioband_slice_end_flush() or
 * ioband_slice_drop_flush().
 */
bool ioband_slice_start_flush(struct ioband_core *core, u64 now_ns)
{
	if (core->flush != IOBAND_FLUSH_DUE)
		return false;
	ioband_slice_charge(core, now_ns);
	core->flush = IOBAND_FLUSH_RUNNING;
	core->flushing_ns = now_ns;
	core->flushed_bytes = core_cached_bytes(core);
	core->clean_until = core->cached_until;
	return true;
}

/* The flush of ioband_slice_start_flush() has ended. */
void ioband_slice_end_flush(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->writer;
	u64 ns;

	core->flush = IOBAND_FLUSH_NONE;
	core->flushes++;
	core->charged_until_ns = max(core->charged_until_ns, now_ns);
	if (!leaf)
		return;
	ns = now_ns > core->flushing_ns ? now_ns - core->flushing_ns : 0;
	leaf_learn_destage(leaf, ns, core->flushed_bytes);
	if (ns > leaf->prepaid_ns)
		leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, false);
	leaf->prepaid_ns -= min(ns, leaf->prepaid_ns);
	leaf_end_prepaid(core, leaf);
	if (!core_dirty_bytes(core))
		core->writer = NULL;
}

/* After ioband_slice_start_flush(): there was nothing to flush, or no way to flush it. */
void ioband_slice_drop_flush(struct ioband_core *core)
{
	core->flush = IOBAND_FLUSH_NONE;
	if (!core_dirty_bytes(core))
		core->writer = NULL;
}

/* If the throttle holds the leaf in service: another leaf, or NULL for now. */
static struct ioband_leaf *core_divert(struct ioband_core *core, struct ioband_leaf *leaf,
				       struct descent *to, u64 now_ns, u64 *wake_ns)
{
	struct ioband_leaf *other = ioband_latency_divert(core, leaf, 0, U32_MAX, now_ns, wake_ns);
	struct ioband_node *node = &core->root;

	if (!other || other == leaf)
		return other;
	ioband_tree_set_holder(core, &other->ent, true);
	*to = descent_from_top();
	for (descend(core, node, to); !node->serving->leaf; descend(core, node, to))
		node = container_of(node->serving, struct ioband_node, ent);
	return other;
}

/* End of a leaf's slice if another leaf is the next then, else of its grace period. */
static u64 leaf_wait_ends(const struct ioband_core *core, const struct ioband_leaf *leaf,
			  u64 now_ns)
{
	const u64 slice_ns = core_slice_ns(core);
	u64 ends_ns = leaf->grace_until_ns;

	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const struct ioband_node *node = ent->parent;
		const struct ioband_ent *next;

		if (!node_is_in_slice(node) || node->served_ns >= slice_ns)
			continue;
		next = ioband_tree_least(node, ent_open_above(core, &node->ent), false, ent);
		if (next && vtime_before(next->vtime, ent->vtime))
			ends_ns = min(ends_ns, now_ns + slice_ns - node->served_ns);
	}
	return ends_ns;
}

/* Writes to swap are not waited for, as others may always follow: they are dispatched at once. */
static bool others_are_done(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const u32 own_ios = leaf->inflight - leaf->swap_ios;

	return core->inflight_ios - core->swap_ios - own_ios <= core->stuck_ios;
}

/* As ioband_core_pick(), with slices.  Some bio is queued. */
struct ioband_leaf *ioband_slice_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	struct descent to;
	struct ioband_leaf *leaf = core_serve(core, now_ns, &to);

	if (leaf && unlikely(core->nr_latencies))
		leaf = core_divert(core, leaf, &to, now_ns, wake_ns);
	if (!leaf)
		return NULL;
	if (to.expect) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = ioband_tree_grace_ends(core);
		return NULL;
	}
	if (leaf != core->holder) {
		if (!others_are_done(core, leaf) || !core_is_flushed(core, leaf))
			return NULL;
		core->holder = leaf;
		core->charged_until_ns = now_ns;
		ioband_ahead_begin(core, leaf, now_ns);
		leaf_use_slice(leaf, 1);
	}
	if (leaf->state == IOBAND_LEAF_ANTICIPATED) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = leaf_wait_ends(core, leaf, now_ns);
	}
	if (leaf->state != IOBAND_LEAF_BACKLOGGED || !leaf_has_room(core, leaf, to.left_ns, now_ns))
		return NULL;
	return leaf;
}

/* As ioband_core_set_slice(); the present slice is charged already. */
void ioband_slice_set(struct ioband_core *core, u64 slice_ns, bool charge_time)
{
	core->slice_ns = slice_ns;
	core->charge_time = slice_ns && charge_time;
	if (slice_ns)
		return;
	core->holder = NULL;
	core->writer = NULL;
	core->clean_until = core->cached_until;
	if (core->flush == IOBAND_FLUSH_DUE)
		core->flush = IOBAND_FLUSH_NONE;
}
