// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: in which order the runs of a group have the device, with slices.
 *
 * A run is a stream of reads, each of which goes on where the one before has ended
 * (stream.c); each has the device for a slice, the least served first: in turn.
 * Meanwhile the disk has read ahead for it, and if it still has that when the run's next turn
 * comes, this turn begins without a seek.  But the disk has memory for so many streams, and
 * forgets the one that it has not been asked for the longest: if there is one more, and they
 * come in turn, it is always the next one that was forgotten.  Each turn begins with a seek,
 * and of each the last 10 ms or so have been for nothing.
 *
 * That can be seen: the first read of a turn takes longer than the one after it, by a seek.
 * Then, for as many turns as there are runs, they go to and fro: next is the run that has had
 * the device last, of those that have had less than half a slice more than the least served,
 * as have those whose turn in this round is yet to come.  If all these turns begin warm, they
 * go in turn again.  If hardly any does, it is of no use, since others make the disk forget
 * all of them: they go in turn, too, and it is not tried again for eight rounds.
 *
 *	A disk with memory for 4, and runs a to e of a group that alternates with another.
 *
 *	in turn:	a b c d e a b c d e a b c d e		all forgotten
 *	to and fro:	a b c d e e d c b a a b c d e		one in five: a, e, a
 *
 * Nobody gets more by it; a run waits for two rounds at most, instead of one, where all weigh
 * the same.  What is of no run goes before the runs, once in each round as without this.  Who
 * was idle since its last turn tells nothing of what the disk remembers, and does not wait for
 * an order that others have.
 */
#include "ahead.h"

#include "tree.h"

/* No head gets to another place, and has the sector come round, in less than this. */
#define IOBAND_COLD_NS		(2 * NSEC_PER_MSEC)

/* For so many rounds it is not tried again what was of no use. */
#define IOBAND_NO_USE_ROUNDS	8

/* How many runs are here: the one that has the device, and those that wait for it. */
static u32 core_runs(const struct ioband_core *core)
{
	const struct ioband_node *node = core->owner->ent.parent;
	struct rb_node *rb;
	u32 runs = 1;

	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb))
		runs += ent_to_leaf(rb_to_ent(rb))->is_run && rb_to_ent(rb) != &core->owner->ent;
	return runs;
}

/* A run's turn has begun warm, or cold. */
static void core_learn_turn(const struct ioband_core *core, bool cold)
{
	struct ioband_node *node = core->owner->ent.parent;
	u32 runs;

	if (node->in_turn) {
		node->in_turn--;
		return;
	}
	if (node->to_and_fro) {
		node->cold_turns += cold;
		node->to_and_fro--;
		if (node->to_and_fro)
			return;
		cold = node->cold_turns > 0;
	}
	if (!cold)
		return;
	runs = core_runs(core);
	if (4 * node->cold_turns > 3 * runs)
		node->in_turn = IOBAND_NO_USE_ROUNDS * runs;
	else
		node->to_and_fro = runs;
	node->cold_turns = 0;
}

/**
 * ioband_ahead_begin() - a leaf's turn begins, with a bio that goes now if one waits
 * @core: scheduler
 * @leaf: the new owner of the device
 * @now_ns: time
 */
void ioband_ahead_begin(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	const bool tells = leaf->is_run && !leaf->was_idle && !leaf->inflight &&
			   leaf->state == IOBAND_WAITING;

	core->began_ns = tells ? now_ns : 0;
	core->first_ns = 0;
}

/**
 * ioband_ahead_return() - a bio is back from the device
 * @core: scheduler
 * @leaf: whose
 * @bytes: of the bio
 * @now_ns: time
 *
 * The second one of a turn tells how long the first would have taken without a seek, if it is
 * no smaller.  The time until it comes counts, too: of who thinks for longer than a seek takes,
 * nothing is learnt.
 */
void ioband_ahead_return(struct ioband_core *core, const struct ioband_leaf *leaf, u32 bytes,
			 u64 now_ns)
{
	if (!core->began_ns || leaf != core->owner)
		return;
	if (!core->first_ns) {
		core->first_ns = now_ns;
		core->first_bytes = bytes;
		return;
	}
	if (bytes >= core->first_bytes)
		core_learn_turn(core, core->first_ns - core->began_ns >
				      now_ns - core->first_ns + IOBAND_COLD_NS);
	core->began_ns = 0;
}

/**
 * ioband_ahead_choose() - whose turn it is among a group's streams
 * @core: scheduler
 * @node: where they compete
 * @least: the least served of those that may go
 * @open: in which ways bios may go, as halves of &ioband_ent.waiting
 *
 * Looks at all that are live, if runs go to and fro.
 *
 * Return: @least, or another one that goes before it.
 */
struct ioband_ent *ioband_ahead_choose(const struct ioband_core *core,
				       const struct ioband_node *node, struct ioband_ent *least,
				       u64 open)
{
	struct ioband_leaf *latest = ent_to_leaf(least);
	struct rb_node *rb;

	if (!node->to_and_fro || !latest->is_run || latest->was_idle)
		return least;
	for (rb = rb_next(&least->rb); rb; rb = rb_next(rb)) {
		struct ioband_ent *ent = rb_to_ent(rb);

		if (!(ent_shown(ent) & open) ||
		    ent_advance_ns(ent, ent->vtime - least->vtime) >= core->slice_ns / 2)
			continue;
		if (!ent_to_leaf(ent)->is_run)
			return ent;
		if (ent_to_leaf(ent)->turn_ns > latest->turn_ns)
			latest = ent_to_leaf(ent);
	}
	return &latest->ent;
}
