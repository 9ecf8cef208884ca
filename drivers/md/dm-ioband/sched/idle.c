// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the idle class, below all weights.
 * Pure, see core.h.  core.c and below.c call it, under the pool's lock.
 *
 * A weight of 1 beside 100 is one bio in a hundred, and it does not yield to a reader with one bio
 * at a time: it fills the device in between.  Background work, such as a scrub or a backup, is to
 * leave the device to others as soon as these want it.  So an entity may be in the idle class
 * instead of having a weight.
 *
 * The children of a node in the idle class yield to its other children, the usual ones, while one
 * of these has a bio that may be dispatched, a bio in flight, or an anticipated leaf.  They yield
 * like an entity that its maximum blocks: the nodes above do not count their bios, and no other
 * rule has to know of them.  A usual child that its own maximum blocks does not count: the device
 * would be idle for it.
 *
 *	a (weight 100) reads one bio at a time, b is in the idle class and has 32 queued.
 *
 *	a	queued  in flight  anticipated  queued  in flight  anticipated  idle
 *	b	yields                                                          is served
 *
 * Bios in flight cannot be taken back, and the next bio of a usual child waits for them.  So for
 * IOBAND_IDLE_GRACE_NS after its last bio, the class has one bio in flight at a time.
 *
 * Only siblings count.  The node above competes by its own weight, also with the bios of its idle
 * class.  The children in the class are equals, and keep their order by virtual time while they
 * yield.
 *
 * The class is not starved for ever.  Other tasks may wait for its bios: a journal commits only
 * after the data of all files that were written.  So after IOBAND_IDLE_USUAL bios of usual
 * children, or a second, the class is served until one bio of it is dispatched.  That takes one
 * round at most: the first child of the class is at the virtual time of the node by then.
 *
 *	200 bios of a for one of b: half a per cent, at any weight of a.  With slices, only the
 *	second counts: each bio of b costs two seeks, or 16 ms.
 *
 * Bios on which other tasks depend are dispatched at once, as for any entity.  A maximum applies as
 * to any entity.  A minimum at or below an entity of the class is kept only while the entity is
 * served.  A latency target there holds back no other entity, as the siblings are the reason by
 * intention.
 */
#include "idle.h"

#include "tree.h"

/* Bios of usual children after which one bio of the class is dispatched, without slices. */
#define IOBAND_IDLE_USUAL	200

/* Time after which it is, with slices and without. */
#define IOBAND_IDLE_RUN_NS	NSEC_PER_SEC

/* A usual child is expected to return within this time; the idle class of CFQ had the same. */
#define IOBAND_IDLE_GRACE_NS	(200 * NSEC_PER_MSEC)

/*
 * Has a usual child a bio to dispatch, a bio in flight, or an anticipated leaf?  Bios in flight may
 * be at a device that does not answer: these do not count.
 */
static bool node_has_usual(const struct ioband_core *core, const struct ioband_node *node)
{
	return node->ent.waiting != node->idle_waiting ||
	       (node->ent.ready != node->idle_ready && !core->stuck_ios);
}

/* The class has a bio in flight, and a usual child may return before it completes. */
static bool node_is_full(const struct ioband_core *core, const struct ioband_node *node)
{
	return node->idle_inflight && core->now_ns < node->usual_ns + IOBAND_IDLE_GRACE_NS;
}

static void node_update(struct ioband_core *core, struct ioband_node *node)
{
	const bool full = node_is_full(core, node);
	const bool yields = !node->idle_due && (node_has_usual(core, node) || full);

	if (full)
		core->idle_until_ns = min(core->idle_until_ns,
					  node->usual_ns + IOBAND_IDLE_GRACE_NS);
	if (yields != node->yields)
		ioband_tree_yield(core, node, yields);
}

/* Counters of an entity, and of those above, have changed: does their idle class yield? */
void ioband_idle_update(struct ioband_core *core, struct ioband_ent *ent)
{
	for (; ent->parent; ent = &ent->parent->ent)
		if (!list_empty(&ent->parent->idlers))
			node_update(core, ent->parent);
}

/*
 * Serve the idle class again where a grace period is over.  Looks at all nodes with such entities,
 * at most once in each IOBAND_IDLE_GRACE_NS, and at some of them in a call.
 */
void ioband_idle_expire(struct ioband_core *core, u64 now_ns)
{
	if (likely(now_ns < core->idle_until_ns && !core->idle_left))
		return;
	core->now_ns = now_ns;
	if (!core->idle_left) {
		core->idle_until_ns = IOBAND_NO_WAKEUP;
		core->idle_left = core->nr_idle_nodes;
	}
	for (u32 some = IOBAND_CHUNK; some && core->idle_left; some--) {
		struct ioband_node *node = list_first_entry(&core->idle_nodes, struct ioband_node,
							    idle_nodes);

		core->idle_left--;
		list_move_tail(&node->idle_nodes, &core->idle_nodes);
		node_update(core, node);
		ioband_idle_update(core, &node->ent);
	}
}

/* When an idle class may cease to yield without another call, or IOBAND_NO_WAKEUP. */
u64 ioband_idle_wake_ns(const struct ioband_core *core, u64 now_ns)
{
	return core->idle_left ? now_ns : core->idle_until_ns;
}

static bool node_is_due(const struct ioband_core *core, const struct ioband_node *node)
{
	return (!core->slice_ns && node->usual_ios >= IOBAND_IDLE_USUAL) ||
	       core->now_ns >= node->idle_ns + IOBAND_IDLE_RUN_NS;
}

/* A bio is dispatched, or has completed; some entity is in the idle class. */
void ioband_idle_count(struct ioband_core *core, struct ioband_leaf *leaf, bool dispatched,
		       u64 now_ns)
{
	core->now_ns = now_ns;
	for (struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		struct ioband_node *node = ent->parent;

		if (list_empty(&node->idlers))
			continue;
		if (!ent->idle_class) {
			node->usual_ios += dispatched;
			node->usual_ns = now_ns;
			node->idle_due |= dispatched && node_is_due(core, node);
		} else if (dispatched) {
			node->idle_inflight++;
			node->idle_ns = now_ns;
			node->usual_ios = 0;
			node->idle_due = false;
		} else {
			node->idle_inflight -= !!node->idle_inflight;
		}
		node_update(core, node);
	}
}

/* Does a leaf yield, or an entity above it? */
bool ioband_idle_yields(const struct ioband_leaf *leaf)
{
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		if (ent_yields(ent))
			return true;
	return false;
}
