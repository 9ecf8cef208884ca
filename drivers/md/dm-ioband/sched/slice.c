// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: who has the device to itself, and when its write cache is flushed.
 *
 * A disk with a head loses a seek with every change from one to another, and
 * what stands in its own queue it serves by where its head is.  There a leaf
 * gets the device to itself for a slice: at every level the child in service
 * keeps its turn, however much it leads, until it has had the device for
 * slice_ns or has nothing more to come; then the least-served one that waits
 * gets it (time slices with anticipation, as CFQ had them, on virtual time), but for
 * sequential runs of one group that go to and fro (sched/ahead.c).
 * If that is still the one in service, it goes on until it no longer is: so weights
 * far apart show in how long a turn is.
 * While its last bio has completed a moment ago it is waited for, as without slices
 * (sched/core.c).  Who comes to read after having been idle is the next if none
 * has been served less, and a turn of one that has been served more ends after half a
 * slice then.
 * Before the next leaf's first bio goes, the last one of the leaf before has
 * come back: the disk cannot choose between them.
 *
 *	slice 50 ms; a reads on, b reads here and there, 8 ms each, both one at a
 *	time.  a has the disk for 50 ms: 1.8 MB; b for 50 ms, 6 bios, and the one
 *	that is under way: a again, at its full speed but for one seek in 100 ms.
 *
 * With a group's turn one begins below it, at every level, if somebody else had the device
 * meanwhile: of the least served there, and not what is left of the last one's.
 *
 *	Slices of 124 ms; a1 and a2 below a read on.  b comes, and a1's turn is over after
 *	62 ms.  If it had its other 62 ms in a's next turn, and then a2 the rest, the disk
 *	would seek twice in each turn of a: 8 of 62 ms, and not of 124.
 *
 * Nor does one begin below when less than half a slice is left above.
 *
 *	a's 124 ms are over and it still has been served less than b, by 10 ms, so its turn
 *	takes 134.  a1 has all of them: in the last 10, a2 would seek for 8.
 *
 * Large bios go in pieces, so that a turn can end in the midst of one.
 *
 * A turn that was given but has not begun, since what is in flight has to come back or
 * the cache to be flushed, is given anew when it can: who has come meanwhile may be the
 * one who is due.
 *
 * To change over takes as long as what is in flight takes to come back.  So a
 * leaf has no more in flight than comes back within IOBAND_DRAIN_NS, going by
 * the time from one of its completions to the next, and, while another one waits,
 * within the rest of its turn: what it began is over then.  One that writes has a quarter
 * of it, for the cache orders what is written.  A leaf that is alone is bound, too, one that
 * reads to a slice: somebody may come, and what is in flight then he has to wait for, as for
 * what is in the cache.
 *
 * What is written to a disk's own write cache is complete when the cache has it, and
 * the disk may seek for a second to get it onto the medium, while the next leaf has
 * the device, as it seems.  So a turn in which something was written ends with a flush,
 * which is part of the turn.  How long it will take is known from those before it, by
 * the byte: each write uses up that much more of the slice, so that a turn is over in
 * time, flush included.
 *
 *	a writes 64 KiB here and there, 5 ms each for the medium, which the cache takes
 *	in 0.2 ms each.  124 ms are over after 24 of them: 5 ms until the cache has them,
 *	120 ms for the flush.  Without it 8 MB would be in the cache after 30 ms,
 *	and b's first bio wait for 600 ms.
 *
 * Between those who only write back there is no flush, and turns are an eighth as long:
 * the cache gathers what each writes, and where nobody waits for his I/O, nobody waits for
 * the cache.  Two flushers that had 8 MiB each would be as far from 2:1 as 8 MiB are of what
 * the disk does in a second or two.
 *
 * A flusher that pauses keeps its turn, see sched/pause.c.
 *
 * What is written while nobody else is there is nobody's loss.  But when somebody comes, the
 * flush that he has to wait for is the writer's, all of it.
 *
 * With slices device time can be charged, for it is known who had the device:
 * from its first bio until the next leaf's first, the time to come back, the
 * wait for its next bio and the change to the next included.  A reader that
 * makes the disk seek pays for the seeks.  Whatever is charged, virtual time
 * follows the least served of those that wait, not the one in service, which
 * may lead by a slice.
 */
#include "slice.h"

#include "ahead.h"
#include "latency.h"
#include "min.h"
#include "pause.h"
#include "tree.h"

/* What a leaf may have in flight with slices, as time until it has come back. */
#define IOBAND_DRAIN_NS		(80 * NSEC_PER_MSEC)

/* Nobody waits: the device's cache may gather what is written. */
static bool core_gathers(const struct ioband_core *core)
{
	return core->writer && !core->charge_time && core_is_async(core);
}

/* How long a turn is. */
static u64 core_turn_ns(const struct ioband_core *core)
{
	return core_gathers(core) ? core->slice_ns / 8 : core->slice_ns;
}

/* So much of the slices of a leaf, and of the nodes above it, is over. */
static void leaf_use_slice(struct ioband_leaf *leaf, u64 ns)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent->parent->serving == ent)
			ent->parent->served_ns += ns;
}

/* A leaf has had the device for so long, or will have. */
static void leaf_charge_ns(struct ioband_core *core, struct ioband_leaf *leaf, u64 ns, bool in_turn)
{
	ioband_leaf_charge(core, leaf, min_t(u64, ns, U32_MAX) / IOBAND_NS_PER_CHARGE, true,
			   in_turn);
}

/**
 * ioband_slice_charge() - the owner has had the device since it was last charged
 * @core: scheduler
 * @now_ns: time
 */
void ioband_slice_charge(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->owner;
	u64 ns;

	if (!leaf || core->flush == IOBAND_FLUSH_RUNNING)
		return;
	if (leaf->state == IOBAND_THINKING)
		now_ns = min(now_ns, leaf->think_until_ns);
	if (now_ns <= core->owned_ns)
		return;
	ns = now_ns - core->owned_ns;
	core->owned_ns = now_ns;
	leaf_use_slice(leaf, ns);
	leaf->turn_ns = now_ns;
	leaf->was_idle = false;
	leaf_charge_ns(core, leaf, ns, true);
}

/* The turn of the one in service has begun, and not only been given to it. */
static bool node_is_in_turn(const struct ioband_node *node)
{
	return node->serving && node->served_ns;
}

/**
 * ioband_slice_arrive() - a leaf has a read, and had nothing waiting
 * @core: scheduler
 * @leaf: whose
 *
 * Who was idle goes before who has been served, if both have had as much; and who has
 * the device, and has had no less, keeps it for no more than half a slice from then on.
 * Somebody waits for a read; a write is mostly only put away, and has time.  What a
 * maximum holds back hurries nobody.
 */
void ioband_slice_arrive(const struct ioband_core *core, struct ioband_leaf *leaf)
{
	struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent && !ent->busy; ent = &ent->parent->ent) {
		struct ioband_node *node = ent->parent;

		if (!(ent_open(ent) & ioband_way_mask(IOBAND_WAY_READ)))
			break;
		if (ent->vtime == node->vnow)
			ent->vtime--;
		if (node_is_in_turn(node) && vtime_before(ent->vtime, node->serving->vtime))
			node->served_ns = max(node->served_ns, core->slice_ns / 2);
	}
}

/**
 * struct descent - what is known on the way from the top to the leaf in service
 * @open: in which ways bios at or below the entity that was reached may go
 * @left_ns: how long it has its turn yet, if another one waits for that at its level or above
 *	or is promised something; U64_MAX: none does
 * @passing: they go past others, as it is below who is promised something
 * @expect: who would be the next thinks, at some level
 */
struct descent {
	u64 open;
	u64 left_ns;
	bool passing;
	bool expect;
};

static struct descent descent_from_top(void)
{
	return (struct descent) { .open = U64_MAX, .left_ns = U64_MAX };
}

/* Where an entity stands among its siblings, or among those that go past others. */
static u64 ent_stands(const struct ioband_ent *ent, bool passing)
{
	return passing ? ent_past(ent) : ent->vtime;
}

/* From one completion to the next. */
static u64 leaf_gap_ns(const struct ioband_leaf *leaf)
{
	return leaf->gap_ns ?: IOBAND_GAP_FIRST_NS;
}

/*
 * For how long the one in service would go on now because it has been served less than
 * @next: by its time, or at the pace of this turn up to now, and not longer than that.
 */
static u64 node_lag_ns(const struct ioband_core *core, const struct ioband_node *node,
		       const struct ioband_ent *next, bool passing)
{
	const struct ioband_ent *ent = node->serving;
	const u64 stands = ent_stands(ent, passing);
	u64 lag, done;

	if (!vtime_before(stands, ent_stands(next, passing)))
		return 0;
	lag = ent_stands(next, passing) - stands;
	if (node_shares_time(core, node))
		return ent_advance_ns(ent, lag);
	if (!vtime_before(node->served_from, stands))
		return node->served_ns;
	done = stands - node->served_from;
	return ioband_mul_div(min(lag, done), node->served_ns, done);
}

/*
 * How long the one in service has its turn yet, if another one waits for it: the rest of its
 * slice, and past that until it has no longer been served less.
 */
static u64 node_turn_left_ns(const struct ioband_core *core, const struct ioband_node *node,
			     const struct descent *to)
{
	const u64 turn_ns = core_turn_ns(core);
	const struct ioband_ent *next;

	next = ioband_node_least(node, to->open, to->passing, node->serving);
	if (!next)
		return U64_MAX;
	return max(turn_ns - min(turn_ns, node->served_ns),
		   node_lag_ns(core, node, next, to->passing));
}

/* So little is left that the one in service goes on past its slice. */
static bool is_rest(const struct ioband_core *core, u64 left_ns)
{
	return left_ns < core_turn_ns(core) / 2;
}

/* One step, from a node to the one in service. */
static void descend(const struct ioband_core *core, const struct ioband_node *node,
		    struct descent *to)
{
	if (node->served_ns < core_turn_ns(core) || !is_rest(core, to->left_ns))
		to->left_ns = min(to->left_ns, node_turn_left_ns(core, node, to));
	to->open &= ent_open(node->serving);
}

/* How long a flush takes after a leaf has written so much. */
static u64 leaf_destage_ns(const struct ioband_leaf *leaf, u64 bytes)
{
	return ioband_mul_div(bytes, leaf->destage_ns, leaf->destage_bytes);
}

static bool leaf_knows_destage(const struct ioband_leaf *leaf)
{
	return leaf->destage_ns != IOBAND_DESTAGE_FIRST_NS;
}

/*
 * How long what a leaf has in flight may take to come back: it is to be over with its turn,
 * soon, and before somebody else is due what he is promised.  The cache orders what is
 * written, so that less of it has to be in flight; who reads alone has a slice.
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
	if (unlikely(core->promising)) {
		const u64 due_ns = ioband_floor_next_ns(core, leaf);

		drain_ns = min(drain_ns, due_ns - min(due_ns, now_ns));
	}
	return drain_ns;
}

/*
 * May a leaf have more in flight.  What is written comes back faster while it fills the
 * device's cache than when that is full, and then as the medium takes it.  What a device
 * that does not answer has is not waited for.
 */
static bool leaf_has_room(const struct ioband_core *core, const struct ioband_leaf *leaf,
			  u64 left_ns, u64 now_ns)
{
	const u32 inflight = leaf->inflight - min(leaf->inflight, core->stuck_ios);
	u64 drain_ns;

	if (!inflight)
		return true;
	drain_ns = leaf_drain_ns(core, leaf, left_ns, now_ns);
	if (core->writer == leaf && !core->stuck_ios && leaf_knows_destage(leaf) &&
	    leaf_destage_ns(leaf, core->inflight_bytes) >= drain_ns)
		return false;
	return inflight < min_t(u64, div64_u64(drain_ns, leaf_gap_ns(leaf)), core->limit_ios);
}

/**
 * ioband_slice_return() - a bio has completed
 * @core: scheduler
 * @leaf: whose
 * @bytes: of the bio
 * @now_ns: time
 *
 * The time from one to the next is learnt, if others were in flight.
 */
void ioband_slice_return(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
			 u64 now_ns)
{
	const u64 gap_ns = now_ns > leaf->run_ns ? now_ns - leaf->run_ns : 0;

	if (leaf->run_ns)
		leaf->gap_ns = (7 * leaf_gap_ns(leaf) + min_t(u64, gap_ns, IOBAND_DRAIN_NS)) / 8;
	leaf->run_ns = leaf->inflight ? now_ns : 0;
	ioband_ahead_return(core, leaf, bytes, now_ns);
}

/* Somebody who thinks has been served less than the one in service. */
static bool node_expects(const struct ioband_node *node, bool passing)
{
	const u64 stands = ent_stands(node->serving, passing);
	struct rb_node *rb;

	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb)) {
		const struct ioband_ent *ent = rb_to_ent(rb);

		if (!vtime_before(ent_stands(ent, passing), stands)) {
			if (passing)
				continue;
			break;
		}
		if (ent->thinking)
			return true;
	}
	return false;
}

static void node_begin_turn(const struct ioband_core *core, struct ioband_node *node,
			    struct ioband_ent *ent, bool passing)
{
	node->serving = ent;
	node->by_past = passing;
	node->served_ns = 0;
	node->served_from = ent_stands(ent, passing);
	ioband_ent_begin_below(core, ent, passing);
}

/*
 * The one in service keeps its turn.  Past its slice it does if less than half a slice is left
 * of the turn above: another one would do little in it but seek.  But not who is waited for
 * although its writers pause; nor while the device does not answer to somebody, as then
 * nothing may be charged, and a turn not come to its end.
 */
static bool node_goes_on(const struct ioband_core *core, const struct ioband_node *node,
			 u64 left_ns)
{
	if (!node_is_in_turn(node))
		return false;
	if (node->served_ns < core_turn_ns(core))
		return true;
	return is_rest(core, left_ns) && !node->serving->pausing && !core->stuck_ios;
}

/*
 * While some device does not answer: nothing of the one in service is to come back, or has
 * for a turn, beside what others have in flight out of turn.
 */
static bool node_hangs(const struct ioband_core *core, const struct ioband_node *node)
{
	if (likely(!core->stuck_ios) || node->serving->waiting || node->serving->thinking)
		return false;
	return core->inflight_ios <= core->stuck_ios || !ent_has_device(core, node->serving) ||
	       core->now_ns >= core->owner->done_ns + core_turn_ns(core);
}

/*
 * Whose turn it is in a node.  After a slice it is that of the least served that
 * waits, or still of the one in service, which is here although what it does may
 * be in flight or to come.  Who thinks, and would be the next, is waited for.  Who
 * waits only in ways that are not open, by a maximum, has no turn.
 */
static struct ioband_ent *node_serve(const struct ioband_core *core, struct ioband_node *node,
				     struct descent *to)
{
	struct ioband_ent *least, *next;

	if (node->serving && node->serving->waiting && !(ent_shown(node->serving) & to->open))
		node->serving = NULL;
	if (node_goes_on(core, node, to->left_ns))
		return node->serving;
	least = ioband_node_least(node, to->open, to->passing, NULL);
	if (!least)
		return node->serving;
	next = least;
	if (to->passing)
		node->past = ent_past(least);
	else if (node->streams)
		next = ioband_ahead_choose(core, node, least, to->open);
	if (!node->serving || node_hangs(core, node) ||
	    vtime_before(ent_stands(least, to->passing), ent_stands(node->serving, to->passing)))
		node_begin_turn(core, node, next, to->passing);
	else if (node->served_ns && node_expects(node, to->passing))
		to->expect = true;
	return node->serving;
}

/* Who has the turn: the root, by weight, or who is promised something. */
static struct ioband_ent *core_begin_descent(struct ioband_core *core, u64 now_ns,
					     struct descent *to)
{
	struct ioband_ent *ent;

	*to = descent_from_top();
	if (likely(!core->promising))
		return &core->root.ent;
	ent = ioband_floor_serve(core, now_ns);
	to->open = core->promised_ways & ent_open_above(core, ent);
	to->passing = core_passes(core);
	to->left_ns = ioband_floor_left_ns(core, now_ns);
	return ent;
}

/*
 * The leaf whose turn it is; something waits.  A node in which nothing waits, and
 * nobody was in service, has no turn although bios that went out of turn keep it
 * busy: then another look from the top, without it.
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
			core_end_promised(core);
			ent = &core->root.ent;
			*to = descent_from_top();
		}
	}
	return ent_to_leaf(ent);
}

/* Is what one has written in the other's own way only. */
static bool is_same_owner(const struct ioband_leaf *a, const struct ioband_leaf *b)
{
	return a == b || (a->ent.parent == b->ent.parent && a->ent.parent->streams);
}

/* Nobody else is here who could have the device instead. */
static bool leaf_is_alone(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_node *node = leaf->ent.parent;

	return core->root.ent.busy == (node->streams ? node->ent.busy : leaf->ent.busy);
}

/**
 * ioband_slice_charge_urgent() - what a bio out of turn costs in device time
 * @leaf: whose
 *
 * Return: units of charge.
 */
u32 ioband_slice_charge_urgent(const struct ioband_leaf *leaf)
{
	return div_u64(leaf_gap_ns(leaf), IOBAND_NS_PER_CHARGE);
}

/* A flush is over: a little of what it did not use up is kept for the next one. */
static void leaf_end_prepaid(const struct ioband_core *core, struct ioband_leaf *leaf)
{
	leaf->prepaid_ns = min(leaf->prepaid_ns, core->slice_ns / 4);
	leaf->flushes = core->flushes;
}

/**
 * ioband_slice_soil() - something goes to the device's write cache
 * @core: scheduler
 * @leaf: whose
 * @bytes: how much
 * @in_turn: it was the leaf's turn
 *
 * The time to flush it is as good as over.
 */
void ioband_slice_soil(struct ioband_core *core, struct ioband_leaf *leaf, u32 bytes,
		       bool in_turn)
{
	u64 ns;

	core->dirty_bytes += bytes;
	if (leaf_is_alone(core, leaf) || core_gathers(core)) {
		core->free_bytes = core->dirty_bytes;
		leaf->prepaid_ns = 0;
	}
	if (in_turn || !core->writer)
		core->writer = leaf;
	if (leaf->flushes != core->flushes)	/* one for another writer took it with it */
		leaf_end_prepaid(core, leaf);
	leaf_use_slice(leaf, leaf_destage_ns(leaf, bytes));
	if (core->writer != leaf)	/* a little more for who has written so far */
		return;
	ns = leaf_destage_ns(leaf, core->dirty_bytes - core->free_bytes);
	if (ns <= leaf->prepaid_ns)
		return;
	leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, in_turn);
	leaf->prepaid_ns = ns;
}

/*
 * Is the device a leaf's, or does it still write what another one has written?  If
 * that takes less than a flush may take for nothing, it is left to gather.
 */
static bool core_is_flushed(struct ioband_core *core, const struct ioband_leaf *leaf)
{
	const struct ioband_leaf *writer = core->writer;

	if (core->flush == IOBAND_FLUSH_RUNNING)
		return false;
	if (writer && !is_same_owner(writer, leaf) && !core_gathers(core) &&
	    leaf_destage_ns(writer, core->dirty_bytes) >= IOBAND_GAP_FIRST_NS)
		core->flush = IOBAND_FLUSH_DUE;
	else
		core->flush = IOBAND_FLUSH_NONE;
	return core->flush == IOBAND_FLUSH_NONE;
}

/*
 * What the device's cache can be thought to hold of what was written.  That of a long time
 * ago is on the medium; how much the cache holds is not known, but what a turn or two have
 * written has fit in.
 */
static u64 core_cached_bytes(const struct ioband_core *core)
{
	const u64 usual = core->writer ? core->writer->destage_bytes : 0;

	return core->dirty_bytes - core->free_bytes + min(core->free_bytes, usual);
}

static void core_forget_dirty(struct ioband_core *core)
{
	core->dirty_bytes = 0;
	core->free_bytes = 0;
}

/**
 * ioband_core_start_flush() - should the devices' write caches be flushed
 * @core: scheduler
 * @now_ns: time
 *
 * To be asked when ioband_core_pick() has returned NULL.
 *
 * Return: true if so: the caller does, and says so with ioband_core_end_flush().
 * Until then nobody else gets the device.
 */
bool ioband_core_start_flush(struct ioband_core *core, u64 now_ns)
{
	if (core->flush != IOBAND_FLUSH_DUE)
		return false;
	ioband_slice_charge(core, now_ns);
	core->flush = IOBAND_FLUSH_RUNNING;
	core->flushing_ns = now_ns;
	core->flushed_bytes = core_cached_bytes(core);
	core_forget_dirty(core);
	return true;
}

/*
 * Of the last flushes, each counts half as much as the one after it.  No medium takes
 * more than a gigabyte a second: the next flush is never out of sight.
 */
static void leaf_learn_destage(struct ioband_leaf *leaf, u64 ns, u64 bytes)
{
	ns = max(bytes, ns > IOBAND_GAP_FIRST_NS ? ns - IOBAND_GAP_FIRST_NS : 0);
	leaf->destage_ns = leaf->destage_ns / 2 + ns;
	leaf->destage_bytes = leaf->destage_bytes / 2 + bytes;
}

/**
 * ioband_core_end_flush() - the flush that was asked for has ended
 * @core: scheduler
 * @now_ns: time
 */
void ioband_core_end_flush(struct ioband_core *core, u64 now_ns)
{
	struct ioband_leaf *leaf = core->writer;
	u64 ns;

	core->flush = IOBAND_FLUSH_NONE;
	core->flushes++;
	core->owned_ns = max(core->owned_ns, now_ns);
	if (!leaf)
		return;
	ns = now_ns > core->flushing_ns ? now_ns - core->flushing_ns : 0;
	leaf_learn_destage(leaf, ns, core->flushed_bytes);
	if (ns > leaf->prepaid_ns)
		leaf_charge_ns(core, leaf, ns - leaf->prepaid_ns, false);
	leaf->prepaid_ns -= min(ns, leaf->prepaid_ns);
	leaf_end_prepaid(core, leaf);
	if (!core->dirty_bytes)
		core->writer = NULL;
}

/**
 * ioband_core_drop_flush() - there was nothing to flush, or nobody who can
 * @core: scheduler, which has asked for one
 */
void ioband_core_drop_flush(struct ioband_core *core)
{
	core->flush = IOBAND_FLUSH_NONE;
	if (!core->dirty_bytes)
		core->writer = NULL;
}

/* The same if the brake holds the one whose turn it is: another one, or nobody for now. */
static struct ioband_leaf *core_divert(struct ioband_core *core, struct ioband_leaf *leaf,
				       struct descent *to, u64 now_ns, u64 *wake_ns)
{
	struct ioband_leaf *other = ioband_brake_divert(core, leaf, 0, U32_MAX, now_ns,
							wake_ns);
	struct ioband_node *node = &core->root;

	if (!other || other == leaf)
		return other;
	ioband_ent_set_turn(core, &other->ent, true);
	*to = descent_from_top();
	for (descend(core, node, to); !node->serving->leaf; descend(core, node, to))
		node = container_of(node->serving, struct ioband_node, ent);
	return other;
}

/*
 * When the turn of one who has nothing for now is over, if another is due then, or else when
 * it is expected back no more.
 */
static u64 leaf_wait_ends(const struct ioband_core *core, const struct ioband_leaf *leaf,
			  u64 now_ns)
{
	const u64 turn_ns = core_turn_ns(core);
	const struct ioband_ent *ent;
	u64 ends_ns = leaf->think_until_ns;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const struct ioband_node *node = ent->parent;
		const struct ioband_ent *next;

		if (!node_is_in_turn(node) || node->served_ns >= turn_ns)
			continue;
		next = ioband_node_least(node, ent_open_above(core, &node->ent), false, ent);
		if (next && vtime_before(next->vtime, ent->vtime))
			ends_ns = min(ends_ns, now_ns + turn_ns - node->served_ns);
	}
	return ends_ns;
}

/**
 * ioband_slice_pick() - whose bio may go now if each has the device to itself
 * @core: scheduler; something waits
 * @now_ns: time
 * @wake_ns: as of ioband_core_pick()
 *
 * Return: the leaf, or NULL.
 */
struct ioband_leaf *ioband_slice_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns)
{
	struct descent to;
	struct ioband_leaf *leaf = core_serve(core, now_ns, &to);

	if (leaf && unlikely(core->aiming))
		leaf = core_divert(core, leaf, &to, now_ns, wake_ns);
	if (!leaf)
		return NULL;
	if (to.expect) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = ioband_core_grace_ends(core);
		return NULL;
	}
	if (leaf != core->owner) {
		if (core->inflight_ios - leaf->inflight > core->stuck_ios ||
		    !core_is_flushed(core, leaf))
			return NULL;
		core->owner = leaf;
		core->owned_ns = now_ns;
		ioband_ahead_begin(core, leaf, now_ns);
		leaf_use_slice(leaf, 1);
	}
	if (leaf->state == IOBAND_THINKING) {
		ioband_pause_begin_idle(core, now_ns);
		*wake_ns = leaf_wait_ends(core, leaf, now_ns);
	}
	if (leaf->state != IOBAND_WAITING || !leaf_has_room(core, leaf, to.left_ns, now_ns))
		return NULL;
	return leaf;
}

/**
 * ioband_slice_set() - set the length of slices
 * @core: scheduler; no slice is being charged
 * @slice_ns: its maximum; 0: no slices
 * @charge_time: see ioband_core_set_slice()
 */
void ioband_slice_set(struct ioband_core *core, u64 slice_ns, bool charge_time)
{
	core->slice_ns = slice_ns;
	core->charge_time = slice_ns && charge_time;
	if (slice_ns)
		return;
	core->owner = NULL;
	core->writer = NULL;
	core_forget_dirty(core);
	if (core->flush == IOBAND_FLUSH_DUE)
		core->flush = IOBAND_FLUSH_NONE;
}
