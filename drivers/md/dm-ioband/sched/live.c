// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the live children of a node.
 * Pure, see core.h.  tree.c and slice.c call it, under the pool's lock.
 *
 * The live children of a node are in a tree, in the order of their virtual time.  Not every one of
 * them may be served: a maximum, a minimum or a latency target may leave one direction, and a child
 * with an anticipated leaf may have nothing queued.  And for a minimum the order is another one, by
 * bypass vtime.  A node may have thousands of children, so no search may look at each of them.
 *
 * So the tree is augmented: an entity also has, for all children in the subtree below its place,
 * the kinds of these (bios queued in which directions, anticipated), and the least bypass vtime of
 * each kind.  A search skips subtrees without a child that it wants.  It takes a few steps for each
 * level of the tree, and so does a change.
 *
 *	           c (r)            least bypass vtime of reads: 2, of writes: 5
 *	     a (w)       e (rw)     a: writes 5;  e: reads 2, writes 7
 *	                d (r)       d: reads 2
 *
 *	The next child with a write queued is a; by bypass vtime, that with a read is d, found by
 *	way of e.
 *
 * Most changes leave the summaries above as they are, and end after one step.  Until some child
 * bypasses others for a minimum or the throttle, the bypass vtimes of a node are all 0, and only
 * the kinds are summed up.
 */
#include "live.h"

#include "math.h"

#include <linux/compiler.h>
#include <linux/rbtree_augmented.h>

/* Add a kind with a bypass vtime. */
static void span_note(struct ioband_span *span, u8 kind, u64 bypass_vtime)
{
	if (!(span->kinds & 1 << kind) || vtime_before(bypass_vtime, span->bypass_vtime[kind]))
		span->bypass_vtime[kind] = bypass_vtime;
	span->kinds |= 1 << kind;
}

static void span_add_ent(struct ioband_span *span, const struct ioband_ent *ent)
{
	for (u8 kind = 0; kind < IOBAND_NR_KINDS; kind++)
		if (ent->kinds & 1 << kind)
			span_note(span, kind, ent->bypass_vtime);
}

static void span_add_subtree(struct ioband_span *span, const struct rb_node *rb)
{
	const struct ioband_span *other;

	if (!rb)
		return;
	other = &rb_to_ent(rb)->span;
	for (u8 kind = 0; kind < IOBAND_NR_KINDS; kind++)
		if (other->kinds & 1 << kind)
			span_note(span, kind, other->bypass_vtime[kind]);
}

static bool span_equal(const struct ioband_span *a, const struct ioband_span *b)
{
	for (u8 kind = 0; kind < IOBAND_NR_KINDS; kind++)
		if (a->bypass_vtime[kind] != b->bypass_vtime[kind])
			return false;
	return a->kinds == b->kinds;
}

static u8 subtree_kinds(const struct rb_node *rb)
{
	return rb ? rb_to_ent(rb)->span.kinds : 0;
}

/* As ent_sum_up(), while no child of the node bypasses others: all bypass vtimes are 0. */
static bool ent_sum_up_kinds(struct ioband_ent *ent, bool stop)
{
	const u8 kinds = ent->kinds | subtree_kinds(ent->rb.rb_left) |
			 subtree_kinds(ent->rb.rb_right);

	if (stop && kinds == ent->span.kinds)
		return true;
	ent->span.kinds = kinds;
	return false;
}

/* Sum up the subtree of an entity.  Return: true if nothing has changed, and @stop is set. */
static bool ent_sum_up(struct ioband_ent *ent, bool stop)
{
	struct ioband_span span = {};

	if (likely(!ent->parent->bypasses))
		return ent_sum_up_kinds(ent, stop);
	span_add_ent(&span, ent);
	span_add_subtree(&span, ent->rb.rb_left);
	span_add_subtree(&span, ent->rb.rb_right);
	if (stop && span_equal(&span, &ent->span))
		return true;
	ent->span = span;
	return false;
}

RB_DECLARE_CALLBACKS(static, live_sums, struct ioband_ent, rb, span, ent_sum_up)

static void live_insert(struct ioband_ent *ent)
{
	struct rb_root_cached *live = &ent->parent->live;
	struct rb_node **link = &live->rb_root.rb_node, *above = NULL;
	bool first = true;

	while (*link) {
		above = *link;
		if (vtime_before(ent->vtime, rb_to_ent(above)->vtime)) {
			link = &above->rb_left;
		} else {
			link = &above->rb_right;
			first = false;
		}
	}
	rb_link_node(&ent->rb, above, link);
	ent_sum_up(ent, false);
	live_sums_propagate(above, NULL);
	rb_insert_augmented_cached(&ent->rb, live, first, &live_sums);
}

static void live_erase(struct ioband_ent *ent)
{
	rb_erase_augmented_cached(&ent->rb, &ent->parent->live, &live_sums);
}

/* The bypass vtime of an entity has changed. */
void ioband_live_update(struct ioband_ent *ent)
{
	if (ent_is_live(ent))
		live_sums_propagate(&ent->rb, NULL);
}

/* Make an entity live for some reasons, or not live for none. */
void ioband_live_set(struct ioband_ent *ent, u8 kinds)
{
	const bool live = ent_is_live(ent);

	if (live && !kinds) {		/* the sums still include its kinds */
		live_erase(ent);
		RB_CLEAR_NODE(&ent->rb);
	}
	ent->kinds = kinds;
	if (live && kinds)
		ioband_live_update(ent);
	else if (kinds)
		live_insert(ent);
}

/* Set the virtual time of an entity and restore the order, which most often still holds. */
void ioband_live_move(struct ioband_ent *ent, u64 vtime)
{
	struct rb_node *next;

	ent->vtime = vtime;
	if (!ent_is_live(ent))
		return;
	next = rb_next(&ent->rb);
	if (!next || !vtime_before(rb_to_ent(next)->vtime, ent->vtime))
		return;
	live_erase(ent);
	live_insert(ent);
}

/* Is an entity of these kinds, with a bypass vtime up to @until, if that is given? */
static bool ent_is_wanted(const struct ioband_ent *ent, u8 kinds, const u64 *until)
{
	return ent->kinds & kinds && (!until || !vtime_before(*until, ent->bypass_vtime));
}

/* Has a subtree such an entity? */
static bool subtree_has(const struct rb_node *rb, u8 kinds, const u64 *until)
{
	const struct ioband_span *span;

	if (!rb)
		return false;
	span = &rb_to_ent(rb)->span;
	for (u8 kind = 0; until && kind < IOBAND_NR_KINDS; kind++)
		if (span->kinds & kinds & 1 << kind &&
		    !vtime_before(*until, span->bypass_vtime[kind]))
			return true;
	return !until && span->kinds & kinds;
}

/* The first such entity of a subtree that has some. */
static struct ioband_ent *subtree_first(const struct rb_node *rb, u8 kinds, const u64 *until)
{
	for (;;) {
		if (subtree_has(rb->rb_left, kinds, until)) {
			rb = rb->rb_left;
			continue;
		}
		if (ent_is_wanted(rb_to_ent(rb), kinds, until))
			return rb_to_ent(rb);
		rb = rb->rb_right;
	}
}

/*
 * The least served live child of one of these kinds, with @until only of those with a bypass vtime
 * up to that; NULL: none.
 */
struct ioband_ent *ioband_live_first(const struct ioband_node *node, u8 kinds, const u64 *until)
{
	const struct rb_node *rb = rb_first_cached(&node->live);

	if (!rb || ent_is_wanted(rb_to_ent(rb), kinds, until))
		return rb ? rb_to_ent(rb) : NULL;
	rb = node->live.rb_root.rb_node;
	return subtree_has(rb, kinds, until) ? subtree_first(rb, kinds, until) : NULL;
}

/* The next such child after another live child. */
struct ioband_ent *ioband_live_next(const struct ioband_ent *ent, u8 kinds, const u64 *until)
{
	const struct rb_node *rb = &ent->rb, *above;

	if (subtree_has(rb->rb_right, kinds, until))
		return subtree_first(rb->rb_right, kinds, until);
	for (; (above = rb_parent(rb)); rb = above) {
		if (rb != above->rb_left)
			continue;
		if (ent_is_wanted(rb_to_ent(above), kinds, until))
			return rb_to_ent(above);
		if (subtree_has(above->rb_right, kinds, until))
			return subtree_first(above->rb_right, kinds, until);
	}
	return NULL;
}

/* The least bypass vtime of the live children of these kinds, other than @except; false: none. */
bool ioband_live_least_bypass(const struct ioband_node *node, u8 kinds,
			      const struct ioband_ent *except, u64 *least)
{
	struct ioband_span span = {};
	bool any = false;

	if (!except || !ent_is_live(except)) {
		span_add_subtree(&span, node->live.rb_root.rb_node);
	} else {
		const struct rb_node *rb = &except->rb, *above;

		span_add_subtree(&span, rb->rb_left);
		span_add_subtree(&span, rb->rb_right);
		for (; (above = rb_parent(rb)); rb = above) {
			span_add_ent(&span, rb_to_ent(above));
			span_add_subtree(&span, rb == above->rb_left ? above->rb_right :
							above->rb_left);
		}
	}
	for (u8 kind = 0; kind < IOBAND_NR_KINDS; kind++) {
		if (!(span.kinds & kinds & 1 << kind))
			continue;
		if (!any || vtime_before(span.bypass_vtime[kind], *least))
			*least = span.bypass_vtime[kind];
		any = true;
	}
	return any;
}
