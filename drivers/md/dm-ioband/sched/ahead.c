// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the order of the runs of a group, with slices.
 * Pure, see core.h.  slice.c calls it, under the pool's lock.
 *
 * A run is a stream of sequential reads (stream.c).  Each run has the device for a slice, least
 * served first, and thus in turn.  If the disk still has the data that it has read ahead at the
 * next slice of the run, the slice begins without a seek.  But the disk has memory for a limited
 * number of streams, and drops the least recently used one.  With one more run, in turn, it always
 * drops the run that is next: each slice begins with a seek, and its last 10 ms or so were in vain.
 *
 * This can be measured: the first read of such a slice takes longer than the second one, by a seek.
 * Then the runs go to and fro, for as many slices as there are runs.  The next run is the last
 * holder of the device.  Only runs count that have less than half a slice more service than the
 * least served, as all runs have that are still to be served in this round.  If all these slices
 * begin warm, the runs go in turn again.  If hardly any does, the order is of no use, because other
 * leaves make the disk drop all runs.  They go in turn then, too, and the next attempt is after
 * eight rounds.
 *
 *	A disk with memory for 4, and runs a to e of a group that alternates with another.
 *
 *	in turn:	a b c d e a b c d e a b c d e		all dropped
 *	to and fro:	a b c d e e d c b a a b c d e		one in five: a, e, a
 *
 * No run gets more service by this.  With equal weights, a run waits for two rounds at most,
 * instead of one.  Other leaves of the group precede the runs, once in each round, as without this.
 * A run that was idle since its last slice says nothing about the memory of the disk, and its place
 * does not change.
 */
#include "ahead.h"

#include "tree.h"

/* No seek takes less, with the rotation to the sector. */
#define IOBAND_COLD_NS		(2 * NSEC_PER_MSEC)

/* Rounds after which an order without use is tried again. */
#define IOBAND_NO_USE_ROUNDS	8

/* Number of active runs: the slice holder, and the backlogged ones. */
static u32 core_runs(const struct ioband_core *core)
{
	const struct ioband_node *node = core->holder->ent.parent;
	u32 runs = 1;

	for (struct rb_node *rb = rb_first_cached(&node->live); rb; rb = rb_next(rb))
		runs += ent_to_leaf(rb_to_ent(rb))->is_run && rb_to_ent(rb) != &core->holder->ent;
	return runs;
}

/* The slice of a run has begun warm, or cold. */
static void core_learn_slice(const struct ioband_core *core, bool cold)
{
	struct ioband_node *node = core->holder->ent.parent;
	u32 runs;

	if (node->in_turn) {
		node->in_turn--;
		return;
	}
	if (node->to_and_fro) {
		node->cold_slices += cold;
		node->to_and_fro--;
		if (node->to_and_fro)
			return;
		cold = node->cold_slices > 0;
	}
	if (!cold)
		return;
	runs = core_runs(core);
	if (4 * node->cold_slices > 3 * runs)
		node->in_turn = IOBAND_NO_USE_ROUNDS * runs;
	else
		node->to_and_fro = runs;
	node->cold_slices = 0;
}

/* The slice of a leaf begins; a queued bio is dispatched now. */
void ioband_ahead_begin(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	const bool tells = leaf->is_run && !leaf->was_idle && !leaf->inflight &&
			   leaf->state == IOBAND_LEAF_BACKLOGGED;

	core->began_ns = tells ? now_ns : 0;
	core->first_ns = 0;
}

/*
 * A bio has completed.  If it is no smaller, the second bio of a slice shows how long the first
 * would have taken without a seek.  The think time before it counts, too: a leaf with a think time
 * above that of a seek yields no result.
 */
void ioband_ahead_complete(struct ioband_core *core, const struct ioband_leaf *leaf, u32 bytes,
			   u64 now_ns)
{
	if (!core->began_ns || leaf != core->holder)
		return;
	if (!core->first_ns) {
		core->first_ns = now_ns;
		core->first_bytes = bytes;
		return;
	}
	if (bytes >= core->first_bytes)
		core_learn_slice(core, core->first_ns - core->began_ns >
				       now_ns - core->first_ns + IOBAND_COLD_NS);
	core->began_ns = 0;
}

/*
 * The next stream of a group: @least, the least served one with a bio in a direction of @open, or
 * another that precedes it.  Looks at all live streams if runs go to and fro.
 */
struct ioband_ent *ioband_ahead_choose(const struct ioband_core *core,
				       const struct ioband_node *node, struct ioband_ent *least,
				       u64 open)
{
	struct ioband_leaf *latest = ent_to_leaf(least);

	if (!node->to_and_fro || !latest->is_run || latest->was_idle)
		return least;
	for (struct rb_node *rb = rb_next(&least->rb); rb; rb = rb_next(rb)) {
		struct ioband_ent *ent = rb_to_ent(rb);

		if (!(ent_shown(ent) & open) ||
		    ent_advance_ns(ent, ent->vtime - least->vtime) >= core->slice_ns / 2)
			continue;
		if (!ent_to_leaf(ent)->is_run)
			return ent;
		if (ent_to_leaf(ent)->last_slice_ns > latest->last_slice_ns)
			latest = ent_to_leaf(ent);
	}
	return &latest->ent;
}
