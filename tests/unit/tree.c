// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of the core, and a checker that computes all state anew.
 */
#include "tree.h"

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The core's documented bounds; the checker does not use the core's own constants. */
#define LAG_MAX		(1024ULL << 10)
#define PAUSE_LAG	(40ULL << 20)
#define DEBT_MAX	(64ULL << 20)
#define GRACE_MAX_NS	2000000ULL
#define PAUSE_WAIT_NS	200000000ULL
/* More than any limit except "none". */
#define PIPE_FULL	16777216
#define FLOOR_LATE_NS	5000000ULL
#define FLOOR_WIDER	7
#define SECOND_NS	1000000000ULL
#define VTIME_SHIFT	16
#define DRAIN_MAX	1000000

#define MUST(condition, ...) \
	do { if (!(condition)) broken(#condition, __VA_ARGS__); } while (0)

u64 tree_seed;

static __noreturn __printf(2, 3) void broken(const char *condition, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "tree_check: seed %llu: not %s: ", tree_seed, condition);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void tree_init(struct tree *tree, u64 vnow_first)
{
	memset(tree, 0, sizeof(*tree));
	tree->now_ns = 1000000;
	tree->vnow_first = vnow_first;
	tree->root_vnow_seen = vnow_first;
	ioband_core_init(&tree->core);
	ioband_core_set_slack(&tree->core, 1000000);
	tree->core.root.vnow = vnow_first;
}

static u64 clock_now(const struct tree *tree)
{
	return tree->now_ns - tree->late_ns;
}

static struct ioband_node *node_below(struct tree *tree, struct tree_node *up)
{
	return up ? &up->node : &tree->core.root;
}

struct tree_node *tree_add_node(struct tree *tree, struct tree_node *up, u32 weight)
{
	struct tree_node *node;

	for (node = tree->nodes; node < tree->nodes + TREE_NODES_MAX; node++) {
		if (node->used)
			continue;
		*node = (struct tree_node) {
			.up = up,
			.used = true,
			.vnow_seen = tree->vnow_first,
		};
		ioband_node_init(&node->node, node_below(tree, up), weight);
		node->node.vnow = tree->vnow_first;
		if (node - tree->nodes >= tree->nodes_end)
			tree->nodes_end = node - tree->nodes + 1;
		return node;
	}
	return NULL;
}

struct tree_leaf *tree_add_leaf(struct tree *tree, struct tree_node *up, u32 weight)
{
	struct tree_leaf *leaf;

	for (leaf = tree->leaves; leaf < tree->leaves + TREE_LEAVES_MAX; leaf++) {
		if (leaf->used)
			continue;
		*leaf = (struct tree_leaf) { .up = up, .used = true };
		ioband_leaf_init(&leaf->leaf, node_below(tree, up), weight);
		if (leaf - tree->leaves >= tree->leaves_end)
			tree->leaves_end = leaf - tree->leaves + 1;
		return leaf;
	}
	return NULL;
}

bool tree_leaf_is_idle(const struct tree_leaf *leaf)
{
	return !leaf->nr_held && !leaf->inflight;
}

bool tree_node_is_empty(const struct tree *tree, const struct tree_node *node)
{
	u32 i;

	for (i = 0; i < tree->nodes_end; i++)
		if (tree->nodes[i].used && tree->nodes[i].up == node)
			return false;
	for (i = 0; i < tree->leaves_end; i++)
		if (tree->leaves[i].used && tree->leaves[i].up == node)
			return false;
	return true;
}

void tree_set_rates(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates)
{
	struct ioband_cap *cap = ent->cap;

	if (!rates) {
		ioband_cap_remove(&tree->core, ent);
		MUST(!ent->cap, "a maximum that is not gone");
		free(cap);
		return;
	}
	if (!cap) {
		cap = malloc(sizeof(*cap));
		MUST(cap, "no memory");
		ioband_cap_init(cap);
	}
	tree->capped = true;
	ioband_cap_set(&tree->core, ent, cap, rates, clock_now(tree));
}

/* Whether the entity, or one above it, has a minimum. */
static bool is_promised(const struct ioband_ent *ent)
{
	while (ent->parent && !ent->floor)
		ent = &ent->parent->ent;
	return ent->floor;
}

static u32 promised_ios(const struct tree *tree)
{
	u32 i, ios = 0;

	for (i = 0; i < tree->nr_flight; i++)
		ios += is_promised(&tree->flight[i].leaf->leaf.ent);
	return ios;
}

static u32 inflight_below(const struct tree *tree, const struct ioband_ent *above)
{
	u32 i, ios = 0;

	for (i = 0; i < tree->nr_flight; i++) {
		const struct ioband_ent *ent = &tree->flight[i].leaf->leaf.ent;

		while (ent != above && ent->parent)
			ent = &ent->parent->ent;
		ios += ent == above;
	}
	return ios;
}

void tree_promise(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates)
{
	struct ioband_floor *floor = ent->floor;

	if (!rates) {
		ioband_floor_remove(&tree->core, ent);
		MUST(!ent->floor, "a minimum that is not gone");
		free(floor);
	} else {
		if (!floor) {
			floor = malloc(sizeof(*floor));
			MUST(floor, "no memory");
			ioband_floor_init(floor);
		}
		tree->promising = true;
		ioband_floor_set(&tree->core, ent, floor, rates, inflight_below(tree, ent),
				 clock_now(tree));
	}
	ioband_floor_recount(&tree->core, promised_ios(tree));
}

/* Remove maximum and minimum. */
static void unbound(struct tree *tree, struct ioband_ent *ent)
{
	tree_set_rates(tree, ent, NULL);
	tree_promise(tree, ent, NULL);
}

void tree_remove_leaf(struct tree *tree, struct tree_leaf *leaf)
{
	unbound(tree, &leaf->leaf.ent);
	ioband_leaf_remove(&tree->core, &leaf->leaf);
	/* A stale pointer finds this pattern. */
	memset(leaf, 0xa5, sizeof(*leaf));
	leaf->used = false;
}

void tree_remove_node(struct tree *tree, struct tree_node *node)
{
	MUST(tree_node_is_empty(tree, node), "a test removes a node in use");
	unbound(tree, &node->node.ent);
	memset(node, 0xa5, sizeof(*node));
	node->used = false;
}

void tree_set_weight(struct tree *tree, struct ioband_ent *ent, u32 weight)
{
	u32 i;

	ioband_ent_set_weight(ent, weight);
	for (i = 0; i < tree->nodes_end; i++)
		if (ent == &tree->nodes[i].node.ent)
			tree->nodes[i].seen.busy = false;
	for (i = 0; i < tree->leaves_end; i++)
		if (ent == &tree->leaves[i].leaf.ent)
			tree->leaves[i].seen.busy = false;
}

u8 tree_ways(const struct tree_leaf *leaf)
{
	u8 ways = 0;
	u32 i;

	for (i = 0; i < leaf->nr_held; i++)
		ways |= 1 << leaf->held[i].way;
	return ways;
}

void tree_wait(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill)
{
	tree->async |= bill.async;
	MUST(leaf->nr_held < TREE_HELD_MAX, "a test makes more wait than there is room for");
	leaf->held[leaf->nr_held++] = bill;
	if (!bill.async)
		ioband_core_note_sync(&tree->core, clock_now(tree));
	ioband_core_wait(&tree->core, &leaf->leaf, bill.way, clock_now(tree));
}

static void launched(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill)
{
	MUST(tree->nr_flight < TREE_FLIGHT_MAX, "a test has more in flight than there is room for");
	tree->flight[tree->nr_flight++] = (struct tree_bio) { leaf, bill };
	leaf->inflight++;
	if (bill.charge > tree->charge_max)
		tree->charge_max = bill.charge;
}

void tree_admit_now(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill)
{
	ioband_core_admit_now(&tree->core, &leaf->leaf, &bill, clock_now(tree));
	launched(tree, leaf, bill);
}

void tree_withdraw(struct tree *tree, struct tree_leaf *leaf)
{
	leaf->nr_held = 0;
	ioband_core_withdraw(&tree->core, &leaf->leaf, 0);
}

void tree_set_slice(struct tree *tree, u64 slice_ns, bool charge_time)
{
	tree->sliced |= !!slice_ns;
	ioband_core_set_slice(&tree->core, slice_ns, charge_time, clock_now(tree));
}

void tree_complete(struct tree *tree, u32 index)
{
	const struct tree_bio bio = tree->flight[index];

	tree->flight[index] = tree->flight[--tree->nr_flight];
	bio.leaf->inflight--;
	ioband_core_complete(&tree->core, &bio.leaf->leaf, &bio.bill, clock_now(tree));
}

/* ---- the expected result of pick() --------------------------------------- */

/* An upper bound of a charge in virtual time. */
static s64 vtime_bound(u64 charge, u32 weight)
{
	return (charge << VTIME_SHIFT) / weight + 2;
}

static bool is_full(const struct tree *tree, u32 ios)
{
	return ios >= tree->core.limit_ios;
}

static u64 flight_bytes(const struct tree *tree)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < tree->nr_flight; i++)
		bytes += tree->flight[i].bill.bytes;
	return bytes;
}

/* The next child of a node, after the @i-th of all entities; NULL: none is left. */
static struct ioband_ent *next_child(struct tree *tree, const struct ioband_node *node, u32 *i)
{
	struct ioband_ent *ent;
	bool used;

	while (*i < tree->nodes_end + tree->leaves_end) {
		if (*i < tree->nodes_end) {
			used = tree->nodes[*i].used;
			ent = &tree->nodes[*i].node.ent;
		} else {
			used = tree->leaves[*i - tree->nodes_end].used;
			ent = &tree->leaves[*i - tree->nodes_end].leaf.ent;
		}
		(*i)++;
		if (used && ent->parent == node)
			return ent;
	}
	return NULL;
}

static s64 ahead(const struct ioband_ent *a, const struct ioband_ent *b)
{
	return a->vtime - b->vtime;
}

/*
 * Slots of the siblings in a grace period that are less served, or equally if @ties.  Writeback
 * idle takes all slots.
 */
static u32 thinkers_before(struct tree *tree, const struct ioband_ent *ent, bool ties)
{
	struct ioband_ent *other;
	u32 ios = 0;
	u32 i;

	for (i = 0; (other = next_child(tree, ent->parent, &i));) {
		if (other == ent || ahead(other, ent) > (ties ? 0 : -1) ||
		    (tree->core.apart && other->floor))
			continue;
		ios += other->pausing ? PIPE_FULL : other->thinking;
	}
	return ios;
}

static u64 bound_until_ns(const struct ioband_clock *clock, const struct ioband_trail *trail)
{
	const u64 oldest_ns = trail->at_ns[(trail->last + 1) % (IOBAND_TRAIL_PARTS + 1)];
	const u64 until_ns = oldest_ns ? oldest_ns + SECOND_NS : 0;

	return max(clock->next_ns, until_ns);
}

/* A maximum of I/Os does not stop a bio of which a split was dispatched. */
static u64 cap_until_ns(const struct ioband_cap *cap, u8 way)
{
	const u64 bytes_ns = bound_until_ns(&cap->meter.bytes[way], &cap->bytes[way]);
	const u64 ios_ns = bound_until_ns(&cap->meter.ios[way], &cap->ios[way]);

	return cap->begun[way] ? bytes_ns : max(bytes_ns, ios_ns);
}

/* Until when the maxima of an entity and of all above block a direction. */
static u64 blocked_until_ns(const struct ioband_ent *ent, u8 way)
{
	u64 until_ns = 0;

	for (; ent->parent; ent = &ent->parent->ent) {
		if (ent->cap)
			until_ns = max(until_ns, cap_until_ns(ent->cap, way));
	}
	return until_ns;
}

static u64 half(u8 way)
{
	return (u64)U32_MAX << 32 * way;
}

/* By the core's own state, which check_caps() verifies. */
static bool is_blocked(const struct ioband_ent *ent, u8 way)
{
	for (; ent->parent; ent = &ent->parent->ent)
		if (ent->cap && ent->cap->blocked & half(way))
			return true;
	return false;
}

/* Whether a bio can be dispatched in the directions @open, given as halves of "waiting". */
static bool leaf_can_go(const struct tree_leaf *leaf, u64 open)
{
	const u8 ways = tree_ways(leaf);

	return (ways & 1 && open & half(0) && !is_blocked(&leaf->leaf.ent, 0)) ||
	       (ways & 2 && open & half(1) && !is_blocked(&leaf->leaf.ent, 1));
}

static bool is_below(const struct ioband_ent *ent, const struct ioband_ent *above)
{
	while (ent != above && ent->parent)
		ent = &ent->parent->ent;
	return ent == above;
}

/* Whether a bio is queued at or below an entity that no maximum blocks. */
static bool can_go(const struct tree *tree, const struct ioband_ent *ent, u64 open)
{
	u32 i;

	for (i = 0; i < tree->leaves_end; i++) {
		const struct tree_leaf *leaf = &tree->leaves[i];

		if (leaf->used && leaf_can_go(leaf, open) && is_below(&leaf->leaf.ent, ent))
			return true;
	}
	return false;
}

static u64 check_cap(const struct tree *tree, const struct ioband_ent *ent)
{
	u64 first_ns = IOBAND_NO_WAKEUP;
	u8 way;

	if (!ent->cap)
		return first_ns;
	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		const u64 until_ns = cap_until_ns(ent->cap, way);
		const bool blocked = ent->cap->blocked & half(way);

		MUST(blocked || until_ns <= tree->now_ns, "not blocked until %llu", until_ns);
		MUST(!blocked || until_ns > clock_now(tree), "blocked until %llu", until_ns);
		if (blocked)
			first_ns = min(first_ns, until_ns);
	}
	return first_ns;
}

/* After ioband_core_pick().  Return: the next time at which a maximum ends its block. */
static u64 check_caps(const struct tree *tree)
{
	u64 first_ns = IOBAND_NO_WAKEUP;
	u32 i;

	for (i = 0; i < tree->leaves_end; i++)
		if (tree->leaves[i].used)
			first_ns = min(first_ns, check_cap(tree, &tree->leaves[i].leaf.ent));
	for (i = 0; i < tree->nodes_end; i++)
		if (tree->nodes[i].used)
			first_ns = min(first_ns, check_cap(tree, &tree->nodes[i].node.ent));
	return first_ns;
}

/*
 * With slices: the leaf holds the slice at every level.  When it got the slice, no bio of
 * another leaf was in flight, though bios may have been dispatched out of turn since.
 */
static void check_owner(const struct tree *tree, const struct tree_leaf *leaf,
			const struct ioband_leaf *before)
{
	const struct ioband_ent *ent;

	MUST(tree->core.owner == &leaf->leaf, "one was picked that has not got the device");
	MUST(before == &leaf->leaf || tree->nr_flight - leaf->inflight <= tree->core.stuck_ios,
	     "%u in flight, %u of them its own", tree->nr_flight, leaf->inflight);
	MUST(!is_full(tree, tree->nr_flight), "%u in flight, limit %u", tree->nr_flight,
	     tree->core.limit_ios);
	for (ent = &leaf->leaf.ent; ent->parent; ent = &ent->parent->ent)
		MUST(ent->parent->serving == ent, "another one's turn above");
}

/* The queued bios that entities above can see. */
static u64 shown(const struct ioband_ent *ent)
{
	return ent->waiting & ~(ent->cap ? ent->cap->blocked : 0);
}

/* The i-th of all entities but the root; NULL: none is in use there. */
static struct ioband_ent *nth_ent(struct tree *tree, u32 i)
{
	if (i < tree->nodes_end)
		return tree->nodes[i].used ? &tree->nodes[i].node.ent : NULL;
	i -= tree->nodes_end;
	return tree->leaves[i].used ? &tree->leaves[i].leaf.ent : NULL;
}

static u64 due_ns(const struct ioband_floor *floor, u8 way)
{
	const struct ioband_clock *bytes = &floor->meter.bytes[way];
	const struct ioband_clock *ios = &floor->meter.ios[way];
	u64 due_ns = U64_MAX;

	if (bytes->rate)
		due_ns = bytes->next_ns;
	if (ios->rate && ios->next_ns < due_ns)
		due_ns = ios->next_ns;
	return due_ns;
}

/* Whether a bio is queued in a direction that no maximum below the entity blocks. */
static bool waits(const struct ioband_ent *ent, u8 way)
{
	return ent->waiting & half(way);
}

/* When the first eligible bio of an entity is due by its minimum; U64_MAX: none. */
static u64 owed_ns(const struct ioband_ent *ent)
{
	u64 first_ns = U64_MAX;
	u8 way;

	for (way = 0; ent->floor && way < IOBAND_NR_WAYS; way++)
		if (waits(ent, way) && !is_blocked(ent, way))
			first_ns = min(first_ns, due_ns(ent->floor, way));
	return first_ns;
}

/* The lateness of the minimum that is due for the longest time. */
static u64 late_ns(struct tree *tree)
{
	const u64 now_ns = clock_now(tree);
	u64 first_ns = now_ns;
	u32 i;
	u8 way;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		const struct ioband_ent *ent = nth_ent(tree, i);

		if (!ent || !ent->floor)
			continue;
		if (!shown(ent) && !ent->thinking && !inflight_below(tree, ent))
			continue;
		if (ent->waiting && (!waits(ent, 0) || is_blocked(ent, 0)) &&
		    (!waits(ent, 1) || is_blocked(ent, 1)))
			continue;
		for (way = 0; way < IOBAND_NR_WAYS; way++)
			if (shown(ent) ? shown(ent) & half(way) : ent->floor->way == way)
				first_ns = min(first_ns, due_ns(ent->floor, way));
	}
	return min(now_ns - first_ns, FLOOR_LATE_NS);
}

/* The in-flight limit for bios by minimum. */
static u32 promised_limit(struct tree *tree)
{
	const u32 limit = tree->core.limit_ios;

	return limit + (u32)(FLOOR_WIDER * limit * late_ns(tree) / FLOOR_LATE_NS);
}

/* The bios in flight that count by weight, and their limit. */
static u32 weighed_pipe(struct tree *tree, u32 *limit)
{
	const u64 late = late_ns(tree);

	*limit = tree->core.limit_ios;
	*limit = max(*limit - (u32)(*limit * late / FLOOR_LATE_NS), 1U);
	if (!late && clock_now(tree) >= tree->core.kept_ns + FLOOR_LATE_NS)
		return tree->nr_flight;
	return tree->nr_flight - promised_ios(tree);
}

/* The lead in bypass vtime over the node; 0 for an entity that is not ahead. */
static s64 past_node(const struct ioband_ent *ent)
{
	const s64 lead = ent->past - ent->parent->past;

	return lead < 0 || lead > vtime_bound(U32_MAX, ent->weight) ? 0 : lead;
}

/* The same as thinkers_before(), for entities that bypass others. */
static u32 passers_before(struct tree *tree, const struct ioband_ent *ent)
{
	struct ioband_ent *other;
	u32 ios = 0;
	u32 i;

	for (i = 0; (other = next_child(tree, ent->parent, &i));)
		if (other != ent && past_node(other) < past_node(ent) &&
		    !(shown(other) & tree->core.promised_ways))
			ios += other->thinking;
	return ios;
}

/* The pick is the minimum that is due first; by weight if none is due or has a free slot. */
static void check_promised(struct tree *tree, const struct ioband_ent *leaf)
{
	const struct ioband_ent *promised = tree->core.promised, *owed, *ent;
	const u64 now_ns = clock_now(tree);
	u64 first_ns = U64_MAX;
	u32 i;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		ent = nth_ent(tree, i);
		if (ent)
			first_ns = min(first_ns, owed_ns(ent));
	}
	if (!promised) {
		MUST(first_ns > now_ns || promised_ios(tree) >= promised_limit(tree),
		     "by weight, although one was due at %llu", first_ns);
		return;
	}
	MUST(is_below(leaf, promised), "one that was not due");
	owed = tree->core.promise->ent;
	MUST(is_below(owed, promised), "one that has nothing to do with who was due");
	MUST(owed_ns(owed) <= now_ns, "it was not due");
	/* The order is by all queued bios there, also by those blocked by a maximum above. */
	MUST(owed->thinking || tree->capped || owed_ns(owed) == first_ns,
	     "another was due before");
}

static void check_floors(struct tree *tree)
{
	const struct ioband_floor *floor;
	const struct ioband_ent *ent;
	u64 last_ns = 0;
	struct rb_node *rb;
	int here = 0;
	u32 i;
	u8 way;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		bool is_here = false;

		ent = nth_ent(tree, i);
		if (!ent || !ent->floor)
			continue;
		MUST(ent->floor->inflight == inflight_below(tree, ent), "%u, not %u",
		     ent->floor->inflight, inflight_below(tree, ent));
		for (way = 0; (shown(ent) || ent->thinking || ent->floor->inflight) &&
		     way < IOBAND_NR_WAYS; way++)
			if (shown(ent) ? shown(ent) & half(way) : ent->floor->way == way)
				is_here |= due_ns(ent->floor, way) != U64_MAX;
		MUST(is_here == !RB_EMPTY_NODE(&ent->floor->rb), "due with nothing there, or not");
		here += !RB_EMPTY_NODE(&ent->floor->rb);
	}
	for (rb = rb_first_cached(&tree->core.floors); rb; rb = rb_next(rb)) {
		floor = rb_entry(rb, struct ioband_floor, rb);
		MUST(floor->due_ns >= last_ns, "out of order");
		last_ns = floor->due_ns;
		here--;
	}
	MUST(!here, "%d too few", here);
	MUST(!tree->core.promised || tree->core.promise->ent->floor == tree->core.promise,
	     "a turn for what is not promised");
}

static void check_picked(struct tree *tree, const struct tree_leaf *leaf,
			 const struct ioband_leaf *owner)
{
	const struct ioband_ent *promised = tree->core.promised, *ent;
	const u64 open = promised ? tree->core.promised_ways : U64_MAX;
	/* Otherwise it is by weight above the entity with the minimum. */
	const bool passes = promised && promised == tree->core.promise->ent;
	u32 limit, pipe = weighed_pipe(tree, &limit);
	struct ioband_ent *other;
	u32 i;

	MUST(leaf->nr_held, "a leaf was picked that has nothing");
	if (tree->core.slice_ns) {
		check_owner(tree, leaf, owner);
		return;
	}
	if (promised) {
		pipe = promised_ios(tree);
		limit = promised_limit(tree);
	}
	check_promised(tree, &leaf->leaf.ent);
	for (ent = &leaf->leaf.ent; ent->parent && ent != promised; ent = &ent->parent->ent) {
		for (i = 0; (other = next_child(tree, ent->parent, &i));)
			MUST(!can_go(tree, other, open) ||
			     (passes ? past_node(other) >= past_node(ent) :
				       ahead(other, ent) >= 0),
			     "one was picked that has been served more than another");
		pipe += passes ? passers_before(tree, ent) : thinkers_before(tree, ent, false);
	}
	MUST(pipe < limit, "%u I/Os on the pipe, limit %u", pipe, limit);
	MUST(promised || !is_promised(&leaf->leaf.ent) || !is_full(tree, tree->nr_flight),
	     "past the pipe by weight");
}

/* Whether grace periods fill the rest of the in-flight limit, in some order of equals. */
static bool may_block(struct tree *tree, struct ioband_node *node, u32 pipe, u32 limit)
{
	struct ioband_ent *ent, *other;
	u32 before, i, j;
	bool least;

	if (pipe >= limit)
		return true;
	for (i = 0; (ent = next_child(tree, node, &i));) {
		least = can_go(tree, ent, U64_MAX);
		for (j = 0; (other = next_child(tree, node, &j));)
			least &= !can_go(tree, other, U64_MAX) || ahead(other, ent) >= 0;
		if (!least)
			continue;
		before = pipe + thinkers_before(tree, ent, true);
		if (before >= limit)
			return true;
		if (!ent->leaf && may_block(tree, container_of(ent, struct ioband_node, ent),
					    before, limit))
			return true;
	}
	return false;
}

/* Whether the pick by weight is an entity with a minimum, in some order of equals. */
static bool least_may_be_promised(struct tree *tree)
{
	const struct ioband_ent *up;
	struct ioband_ent *other;
	u32 i, k;

	for (i = 0; i < tree->leaves_end; i++) {
		bool least = true;

		if (!tree->leaves[i].used || !leaf_can_go(&tree->leaves[i], U64_MAX) ||
		    !is_promised(&tree->leaves[i].leaf.ent))
			continue;
		for (up = &tree->leaves[i].leaf.ent; up->parent; up = &up->parent->ent)
			for (k = 0; (other = next_child(tree, up->parent, &k));)
				least &= !can_go(tree, other, U64_MAX) || ahead(other, up) >= 0;
		if (least)
			return true;
	}
	return false;
}

/* Whether no slot is free for bios due by minimum or, if none is due, for the others. */
static bool is_held_up(struct tree *tree)
{
	const u32 promised = promised_ios(tree), limit = promised_limit(tree);
	const u64 now_ns = clock_now(tree);
	u32 i, pipe, weighed_limit;
	bool due = false;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		const struct ioband_ent *ent = nth_ent(tree, i);

		if (!ent || promised >= limit || owed_ns(ent) > now_ns)
			continue;
		due = true;
		if (ent->thinking && promised + ent->thinking >= limit)
			return true;
	}
	if (is_full(tree, tree->nr_flight) && least_may_be_promised(tree))
		return true;
	pipe = weighed_pipe(tree, &weighed_limit);
	return !due && may_block(tree, &tree->core.root, pipe, weighed_limit);
}

/* With slices: whether some slice has time left. */
static bool is_in_turn(const struct tree *tree)
{
	const struct ioband_node *node = &tree->core.root;

	while (node->serving && node->served_ns >= tree->core.slice_ns && !node->serving->leaf)
		node = container_of(node->serving, struct ioband_node, ent);
	return node->serving && node->served_ns < tree->core.slice_ns;
}

static void check_not_picked(struct tree *tree, u64 wake_ns)
{
	const u64 unblocked_ns = check_caps(tree);
	u64 first_ns = IOBAND_NO_WAKEUP, longest_ns;
	bool waiting = false;
	u32 i, pipe, limit;

	for (i = 0; i < tree->leaves_end; i++) {
		const struct tree_leaf *leaf = &tree->leaves[i];

		if (!leaf->used)
			continue;
		waiting |= leaf_can_go(leaf, U64_MAX);
		if (leaf->leaf.state == IOBAND_THINKING && leaf->leaf.think_until_ns < first_ns)
			first_ns = leaf->leaf.think_until_ns;
	}
	if (!waiting || (is_full(tree, tree->nr_flight) &&
			 (tree->core.slice_ns || !tree->promising))) {
		MUST(wake_ns == unblocked_ns, "a wake-up at %llu with nothing to wait for",
		     wake_ns);
		return;
	}
	if (tree->core.slice_ns) {
		const struct ioband_leaf *owner = tree->core.owner;

		if (tree->nr_flight > tree->core.stuck_ios || tree->flushing)
			return;
		if (tree->nr_flight) {
			/* A minimum is served until a bio has to be served by weight. */
			MUST(is_in_turn(tree) || first_ns != IOBAND_NO_WAKEUP ||
			     tree->core.promised, "who hangs keeps the turn");
			return;
		}
		MUST(first_ns != IOBAND_NO_WAKEUP, "one could have gone");
		MUST(wake_ns == min(first_ns, unblocked_ns) ||
		     (owner && owner->state == IOBAND_THINKING && wake_ns > clock_now(tree) &&
		      wake_ns <= min(owner->think_until_ns, unblocked_ns)),
		     "wake-up at %llu, first grace ends at %llu", wake_ns, first_ns);
		return;
	}
	MUST(is_held_up(tree), "one could have gone");
	pipe = weighed_pipe(tree, &limit);
	if (wake_ns == unblocked_ns && (pipe >= limit || is_full(tree, tree->nr_flight)))
		return;
	MUST(wake_ns == min(first_ns, unblocked_ns), "wake-up at %llu, first grace ends at %llu",
	     wake_ns, first_ns);
	longest_ns = tree->core.pausing ? PAUSE_WAIT_NS : GRACE_MAX_NS;
	MUST(wake_ns > clock_now(tree) && wake_ns <= tree->now_ns + longest_ns,
	     "wake-up at %llu, now %llu", wake_ns, clock_now(tree));
}

/* The oldest bio in one of these directions. */
static struct ioband_bill take_first(struct tree_leaf *leaf, u8 ways)
{
	struct ioband_bill bill;
	u32 i;

	for (i = 0; i < leaf->nr_held; i++)
		if (ways & 1 << leaf->held[i].way)
			break;
	MUST(i < leaf->nr_held, "a leaf was picked of which nothing may go");
	bill = leaf->held[i];
	leaf->nr_held--;
	memmove(leaf->held + i, leaf->held + i + 1, (leaf->nr_held - i) * sizeof(bill));
	return bill;
}

static u64 lag_max(const struct tree *tree)
{
	return tree->async ? PAUSE_LAG : LAG_MAX;
}

/* A leaf has no more lag than permitted, at each level where it was bypassed. */
static void check_lag(const struct tree *tree, const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent)
		MUST((s64)(ent->parent->vnow - ent->vtime) <=
		     vtime_bound(lag_max(tree), ent->weight),
		     "picked %lld behind at weight %u", ent->parent->vnow - ent->vtime,
		     ent->weight);
}

struct tree_leaf *tree_serve(struct tree *tree, u64 *wake_ns)
{
	const struct ioband_leaf *owner = tree->core.owner;
	struct ioband_leaf *picked = ioband_core_pick(&tree->core, clock_now(tree), wake_ns);
	struct tree_leaf *leaf;
	struct ioband_bill bill;

	if (!picked) {
		if (ioband_core_start_flush(&tree->core, clock_now(tree))) {
			MUST(!tree->flushing, "two flushes at a time");
			MUST(tree->core.flushed_bytes, "a flush of nothing");
			tree->flushing = true;
		}
		check_not_picked(tree, *wake_ns);
		return NULL;
	}
	MUST(!tree->flushing || tree->core.owner == owner, "another one's turn during a flush");
	leaf = container_of(picked, struct tree_leaf, leaf);
	check_picked(tree, leaf, owner);
	check_caps(tree);
	bill = take_first(leaf, ioband_leaf_may(&tree->core, picked));
	check_lag(tree, picked);
	MUST(blocked_until_ns(&picked->ent, bill.way) <= tree->now_ns, "one went past a maximum");
	ioband_core_admit(&tree->core, picked, &bill, tree_ways(leaf), clock_now(tree));
	launched(tree, leaf, bill);
	return leaf;
}

void tree_end_flush(struct tree *tree)
{
	tree->flushing = false;
	ioband_core_end_flush(&tree->core, clock_now(tree));
	MUST(tree->core.flush == IOBAND_FLUSH_NONE, "a flush has not ended");
}

void tree_dispatch(struct tree *tree)
{
	u64 wake_ns;

	while (tree_serve(tree, &wake_ns))
		tree_check(tree);
}

static bool has_held(const struct tree *tree)
{
	u32 i;

	for (i = 0; i < tree->leaves_end; i++)
		if (tree->leaves[i].used && tree->leaves[i].nr_held)
			return true;
	return false;
}

void tree_drain(struct tree *tree)
{
	u64 wake_ns;
	u32 i;

	tree->late_ns = 0;
	for (i = 0; tree->nr_flight || has_held(tree); i++) {
		MUST(i < DRAIN_MAX, "bios wait for ever");
		if (tree_serve(tree, &wake_ns))
			continue;
		if (tree->nr_flight)
			tree_complete(tree, 0);
		else if (tree->flushing)
			tree_end_flush(tree);
		else
			tree->now_ns = wake_ns;
		tree_check(tree);
	}
}

void tree_end(struct tree *tree)
{
	u32 i;

	tree_drain(tree);
	for (i = 0; i < tree->leaves_end; i++)
		if (tree->leaves[i].used)
			unbound(tree, &tree->leaves[i].leaf.ent);
	for (i = 0; i < tree->nodes_end; i++)
		if (tree->nodes[i].used)
			unbound(tree, &tree->nodes[i].node.ent);
	MUST(RB_EMPTY_ROOT(&tree->core.blocked.rb_root), "something is blocked by no maximum");
	MUST(RB_EMPTY_ROOT(&tree->core.floors.rb_root), "something is due by no minimum");
}

/* ---- the checker --------------------------------------------------------- */

struct truth {
	u64 waiting;
	u32 thinking;
	u32 pausing;
	u32 busy;
};

static u64 grace_max_ns(const struct tree_leaf *leaf)
{
	return leaf->leaf.async ? PAUSE_WAIT_NS : GRACE_MAX_NS;
}

static void check_leaf(const struct tree *tree, const struct tree_leaf *leaf)
{
	const enum ioband_leaf_state state = leaf->leaf.state;

	if (leaf->nr_held)
		MUST(state == IOBAND_WAITING, "state %d with bios waiting", state);
	else if (leaf->inflight)
		MUST(state == IOBAND_INFLIGHT, "state %d with bios in flight", state);
	else
		MUST(state == IOBAND_IDLE || state == IOBAND_THINKING, "state %d", state);
	MUST(leaf->leaf.ways == tree_ways(leaf), "%x, not %x", leaf->leaf.ways, tree_ways(leaf));
	MUST(leaf->leaf.inflight == leaf->inflight, "%u, not %u", leaf->leaf.inflight,
	     leaf->inflight);
	MUST(RB_EMPTY_NODE(&leaf->leaf.think) == (state != IOBAND_THINKING), "state %d", state);
	if (state == IOBAND_THINKING)
		MUST(leaf->leaf.think_until_ns <= tree->now_ns + grace_max_ns(leaf),
		     "too long a grace");
}

static void add_up(struct tree *tree, struct truth *nodes, struct truth *root,
		   const struct tree_leaf *leaf)
{
	const bool thinking = leaf->leaf.state == IOBAND_THINKING;
	const u8 ways = tree_ways(leaf);
	struct truth one = {
		.waiting = (ways & 1) | (u64)(ways >> 1) << 32,
		.thinking = thinking,
		.pausing = thinking && leaf->leaf.awaited,
		.busy = thinking || !tree_leaf_is_idle(leaf),
	};
	const struct ioband_ent *ent = &leaf->leaf.ent;
	struct tree_node *node = leaf->up;

	for (;; ent = &ent->parent->ent) {
		struct truth *sum = node ? &nodes[node - tree->nodes] : root;

		if (ent->cap)
			one.waiting &= ~ent->cap->blocked;
		sum->waiting += one.waiting;
		sum->thinking += one.thinking;
		sum->pausing += one.pausing;
		sum->busy += one.busy;
		if (!node)
			return;
		node = node->up;
	}
}

static void check_counters(const struct ioband_ent *ent, const struct truth *truth)
{
	MUST(ent->waiting == truth->waiting, "%llx, not %llx", ent->waiting, truth->waiting);
	MUST(ent->thinking == truth->thinking, "%u, not %u", ent->thinking, truth->thinking);
	MUST(!ent->parent || ent->pausing == truth->pausing, "%u, not %u", ent->pausing,
	     truth->pausing);
	MUST(ent->busy == truth->busy, "%u, not %u", ent->busy, truth->busy);
}

static void check_vtime(const struct tree *tree, const struct ioband_ent *ent,
			struct tree_seen *seen)
{
	const s64 lead = ent->vtime - ent->parent->vnow;
	const s64 back = seen->vtime - ent->vtime;

	/* After a very long idle time it starts anywhere; after its grace, before its equals. */
	MUST(!seen->busy || back <= 0 || (back == 1 && tree->sliced),
	     "virtual time went back by %lld", back);
	*seen = (struct tree_seen) { ent->vtime, ent->busy };
	/* With slices the lead is the service in one of them. */
	MUST(!ent->busy || tree->sliced ||
	     lead <= vtime_bound(DEBT_MAX + tree->charge_max, ent->weight),
	     "ahead by %lld at weight %u", lead, ent->weight);
	MUST(!ent->waiting || tree->capped || -lead <= vtime_bound(lag_max(tree), ent->weight),
	     "behind by %lld at weight %u", -lead, ent->weight);
}

static void check_live(struct tree *tree, struct ioband_node *node, u64 *vnow_seen)
{
	const struct ioband_ent *last = NULL;
	struct ioband_ent *ent;
	struct rb_node *rb;
	int live = 0;
	u32 i;

	for (i = 0; (ent = next_child(tree, node, &i));) {
		const bool is_live = shown(ent) || ent->thinking;

		MUST(RB_EMPTY_NODE(&ent->rb) == !is_live, "waiting %llx, thinking %u",
		     ent->waiting, ent->thinking);
		live += is_live;
	}
	for (rb = rb_first_cached(&node->live); rb; rb = rb_next(rb)) {
		ent = rb_entry(rb, struct ioband_ent, rb);
		MUST(ent->parent == node, "a child of another");
		MUST(!last || ahead(ent, last) >= 0, "live children out of order");
		last = ent;
		live--;
	}
	MUST(!live, "%d live children too few", live);
	MUST(!node->serving || (node->serving->parent == node && node->serving->busy),
	     "in service is one that is not there");
	MUST((s64)(node->vnow - *vnow_seen) >= 0, "a node's virtual time went back");
	*vnow_seen = node->vnow;
}

static void check_thinking(const struct tree *tree, u32 thinking)
{
	u64 last_ns = 0;
	struct rb_node *rb;

	for (rb = rb_first_cached(&tree->core.thinking); rb; rb = rb_next(rb)) {
		const struct ioband_leaf *leaf = rb_entry(rb, struct ioband_leaf, think);

		MUST(leaf->think_until_ns >= last_ns, "thinkers out of order");
		last_ns = leaf->think_until_ns;
		thinking--;
	}
	MUST(!thinking, "%d thinkers too few", (int)thinking);
}

void tree_check(struct tree *tree)
{
	struct truth nodes[TREE_NODES_MAX], root = {};
	const u64 bytes = flight_bytes(tree);
	u32 i;

	memset(nodes, 0, tree->nodes_end * sizeof(nodes[0]));
	MUST(tree->core.inflight_ios == tree->nr_flight, "%u, not %u", tree->core.inflight_ios,
	     tree->nr_flight);
	MUST(tree->core.promised_ios == promised_ios(tree), "%u, not %u",
	     tree->core.promised_ios, promised_ios(tree));
	MUST(tree->core.inflight_bytes == bytes, "%llu, not %llu", tree->core.inflight_bytes,
	     bytes);
	for (i = 0; i < tree->leaves_end; i++) {
		struct tree_leaf *leaf = &tree->leaves[i];

		if (!leaf->used)
			continue;
		check_leaf(tree, leaf);
		add_up(tree, nodes, &root, leaf);
		check_vtime(tree, &leaf->leaf.ent, &leaf->seen);
	}
	for (i = 0; i < tree->nodes_end; i++) {
		struct tree_node *node = &tree->nodes[i];

		if (!node->used)
			continue;
		check_counters(&node->node.ent, &nodes[i]);
		check_vtime(tree, &node->node.ent, &node->seen);
		check_live(tree, &node->node, &node->vnow_seen);
	}
	check_counters(&tree->core.root.ent, &root);
	check_live(tree, &tree->core.root, &tree->root_vnow_seen);
	check_thinking(tree, root.thinking);
	MUST(tree->core.pausing == root.pausing, "%u, not %u", tree->core.pausing, root.pausing);
	check_floors(tree);
}
