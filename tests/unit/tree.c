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
#define CHUNK		64
#define PAUSE_WAIT_NS	200000000ULL
#define IDLE_GRACE_NS	200000000ULL
/* More than any limit except "none". */
#define PIPE_FULL	16777216
#define MIN_LATE_NS	5000000ULL
#define MIN_WIDER	7
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
	ioband_max_set_slack(&tree->core, 1000000);
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
		ioband_tree_init_node(&node->node, node_below(tree, up), weight);
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
		ioband_tree_init_leaf(&leaf->leaf, node_below(tree, up), weight);
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

void tree_set_max(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates)
{
	struct ioband_max *maximum = ent->max;

	if (!rates) {
		ioband_max_remove(&tree->core, ent);
		MUST(!ent->max, "a maximum that is not gone");
		free(maximum);
		return;
	}
	if (!maximum) {
		maximum = malloc(sizeof(*maximum));
		MUST(maximum, "no memory");
		ioband_max_init(maximum);
	}
	tree->has_max = true;
	ioband_max_set(&tree->core, ent, maximum, rates, clock_now(tree));
}

static u32 min_ios(const struct tree *tree)
{
	u32 i, ios = 0;

	for (i = 0; i < tree->nr_flight; i++)
		ios += tree->flight[i].bill.for_min;
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

void tree_set_min(struct tree *tree, struct ioband_ent *ent, const struct ioband_rates *rates)
{
	struct ioband_min *minimum = ent->min;

	if (!rates) {
		ioband_min_remove(&tree->core, ent);
		MUST(!ent->min, "a minimum that is not gone");
		free(minimum);
	} else {
		if (!minimum) {
			minimum = malloc(sizeof(*minimum));
			MUST(minimum, "no memory");
			ioband_min_init(minimum);
		}
		tree->has_min = true;
		ioband_min_set(&tree->core, ent, minimum, rates, inflight_below(tree, ent),
			       clock_now(tree));
	}
}

/* Remove maximum and minimum, and leave the idle class. */
static void unbound(struct tree *tree, struct ioband_ent *ent)
{
	if (ent->idle_class)
		tree_set_weight(tree, ent, IOBAND_WEIGHT_DEFAULT);
	tree_set_max(tree, ent, NULL);
	tree_set_min(tree, ent, NULL);
}

void tree_remove_leaf(struct tree *tree, struct tree_leaf *leaf)
{
	unbound(tree, &leaf->leaf.ent);
	ioband_core_remove_leaf(&tree->core, &leaf->leaf);
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

	ioband_tree_set_weight(&tree->core, ent, weight);
	for (i = 0; i < tree->nodes_end; i++)
		if (ent == &tree->nodes[i].node.ent)
			tree->nodes[i].seen.busy = false;
	for (i = 0; i < tree->leaves_end; i++)
		if (ent == &tree->leaves[i].leaf.ent)
			tree->leaves[i].seen.busy = false;
}

u8 tree_dirs(const struct tree_leaf *leaf)
{
	u8 dirs = 0;
	u32 i;

	for (i = 0; i < leaf->nr_held; i++)
		dirs |= 1 << leaf->held[i].dir;
	return dirs;
}

void tree_wait(struct tree *tree, struct tree_leaf *leaf, struct ioband_bill bill)
{
	tree->async |= bill.async;
	MUST(leaf->nr_held < TREE_HELD_MAX, "a test makes more wait than there is room for");
	leaf->held[leaf->nr_held++] = bill;
	if (!bill.async)
		ioband_core_note_sync(&tree->core, clock_now(tree));
	ioband_core_wait(&tree->core, &leaf->leaf, bill.dir, clock_now(tree));
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

static u64 cached_bytes(const struct tree *tree)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < tree->nr_flight; i++)
		bytes += tree->flight[i].bill.cached ? tree->flight[i].bill.bytes : 0;
	return bytes;
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

/* The entity yields, by the core's own state, which check_idlers() verifies. */
static bool yields(const struct ioband_ent *ent)
{
	return ent->idle_class && ent->parent->yields;
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
		if (other == ent || ahead(other, ent) > (ties ? 0 : -1) || yields(other))
			continue;
		ios += other->pausing ? PIPE_FULL : other->anticipated;
	}
	return ios;
}

static u64 bound_until_ns(const struct ioband_bucket *clock, const struct ioband_trail *trail)
{
	const u64 oldest_ns = trail->at_ns[(trail->last + 1) % (IOBAND_TRAIL_PARTS + 1)];
	const u64 until_ns = oldest_ns ? oldest_ns + SECOND_NS : 0;

	return max(clock->next_ns, until_ns);
}

/* A maximum of I/Os does not stop a bio of which a split was dispatched. */
static u64 max_until_ns(const struct ioband_max *maximum, u8 dir)
{
	const u64 bytes_ns = bound_until_ns(&maximum->buckets.bytes[dir], &maximum->bytes[dir]);
	const u64 ios_ns = bound_until_ns(&maximum->buckets.ios[dir], &maximum->ios[dir]);

	return maximum->begun[dir] ? bytes_ns : max(bytes_ns, ios_ns);
}

/* Until when the maxima of an entity and of all above block a direction. */
static u64 blocked_until_ns(const struct ioband_ent *ent, u8 dir)
{
	u64 until_ns = 0;

	for (; ent->parent; ent = &ent->parent->ent) {
		if (ent->max)
			until_ns = max(until_ns, max_until_ns(ent->max, dir));
	}
	return until_ns;
}

static u64 half(u8 dir)
{
	return (u64)U32_MAX << 32 * dir;
}

/* By the core's own state, which check_maxima() verifies. */
static bool is_blocked(const struct ioband_ent *ent, u8 dir)
{
	for (; ent->parent; ent = &ent->parent->ent)
		if (yields(ent) || (ent->max && ent->max->blocked & half(dir)))
			return true;
	return false;
}

/* Whether a bio can be dispatched in the directions @open, given as halves of "waiting". */
static bool leaf_can_go(const struct tree_leaf *leaf, u64 open)
{
	const u8 dirs = tree_dirs(leaf);

	return (dirs & 1 && open & half(0) && !is_blocked(&leaf->leaf.ent, 0)) ||
	       (dirs & 2 && open & half(1) && !is_blocked(&leaf->leaf.ent, 1));
}

static bool is_below(const struct ioband_ent *ent, const struct ioband_ent *above)
{
	while (ent != above && ent->parent)
		ent = &ent->parent->ent;
	return ent == above;
}

/* Whether a bio is queued at or below an entity that nothing blocks. */
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

static u64 check_max(const struct tree *tree, const struct ioband_ent *ent)
{
	u64 first_ns = IOBAND_NO_WAKEUP;
	u8 dir;

	if (!ent->max)
		return first_ns;
	for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		const u64 until_ns = max_until_ns(ent->max, dir);
		const bool blocked = ent->max->blocked & half(dir);

		MUST(blocked || until_ns <= tree->now_ns, "not blocked until %llu", until_ns);
		MUST(!blocked || until_ns > clock_now(tree), "blocked until %llu", until_ns);
		if (blocked)
			first_ns = min(first_ns, until_ns);
	}
	return first_ns;
}

/* After ioband_core_pick().  Return: the next time at which a maximum ends its block. */
static u64 check_maxima(const struct tree *tree)
{
	u64 first_ns = IOBAND_NO_WAKEUP;
	u32 i;

	for (i = 0; i < tree->leaves_end; i++)
		if (tree->leaves[i].used)
			first_ns = min(first_ns, check_max(tree, &tree->leaves[i].leaf.ent));
	for (i = 0; i < tree->nodes_end; i++)
		if (tree->nodes[i].used)
			first_ns = min(first_ns, check_max(tree, &tree->nodes[i].node.ent));
	return first_ns;
}

/* Writes to swap are not waited for. */
static u32 others_in_flight(const struct tree *tree, const struct tree_leaf *leaf)
{
	u32 i, ios = 0;

	for (i = 0; i < tree->nr_flight; i++)
		ios += tree->flight[i].leaf != leaf && !tree->flight[i].bill.swap;
	return ios;
}

/*
 * With slices: the leaf holds the slice at every level.  When it got the slice, no bio of
 * another leaf was in flight, though bios may have been dispatched out of turn since.
 */
static void check_holder(const struct tree *tree, const struct tree_leaf *leaf,
			 const struct ioband_leaf *before)
{
	const struct ioband_ent *ent;

	MUST(tree->core.holder == &leaf->leaf, "one was picked that has not got the device");
	MUST(before == &leaf->leaf || others_in_flight(tree, leaf) <= tree->core.stuck_ios,
	     "%u in flight, %u of them its own", tree->nr_flight, leaf->inflight);
	MUST(!is_full(tree, tree->nr_flight), "%u in flight, limit %u", tree->nr_flight,
	     tree->core.limit_ios);
	for (ent = &leaf->leaf.ent; ent->parent; ent = &ent->parent->ent)
		MUST(ent->parent->serving == ent, "another one's turn above");
}

/* The queued bios that entities above can see. */
static u64 shown(const struct ioband_ent *ent)
{
	return yields(ent) ? 0 : ent->waiting & ~(ent->max ? ent->max->blocked : 0);
}

/* The i-th of all entities but the root; NULL: none is in use there. */
static struct ioband_ent *nth_ent(struct tree *tree, u32 i)
{
	if (i < tree->nodes_end)
		return tree->nodes[i].used ? &tree->nodes[i].node.ent : NULL;
	i -= tree->nodes_end;
	return tree->leaves[i].used ? &tree->leaves[i].leaf.ent : NULL;
}

static u64 due_ns(const struct ioband_min *minimum, u8 dir)
{
	const struct ioband_bucket *bytes = &minimum->buckets.bytes[dir];
	const struct ioband_bucket *ios = &minimum->buckets.ios[dir];
	u64 due_ns = U64_MAX;

	if (bytes->rate)
		due_ns = bytes->next_ns;
	if (ios->rate && ios->next_ns < due_ns)
		due_ns = ios->next_ns;
	return due_ns;
}

/* Whether a bio is queued in a direction that no maximum below the entity blocks. */
static bool waits(const struct ioband_ent *ent, u8 dir)
{
	return ent->waiting & half(dir);
}

/* When the first eligible bio of an entity is due by its minimum; U64_MAX: none. */
static u64 owed_ns(const struct ioband_ent *ent)
{
	u64 first_ns = U64_MAX;
	u8 dir;

	for (dir = 0; ent->min && dir < IOBAND_NR_DIRS; dir++)
		if (waits(ent, dir) && !is_blocked(ent, dir))
			first_ns = min(first_ns, due_ns(ent->min, dir));
	return first_ns;
}

/* The others keep their limit while it has only bios in flight. */
static bool is_wide(const struct tree *tree, const struct ioband_min *minimum)
{
	return !tree->core.slice_ns && minimum->trial.wide;
}

/* The lateness of the minimum that is due for the longest time. */
static u64 late_ns(struct tree *tree)
{
	const u64 now_ns = clock_now(tree);
	u64 first_ns = now_ns;
	u32 i;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		const struct ioband_ent *ent = nth_ent(tree, i);

		if (!ent || !ent->min)
			continue;
		if (ent->waiting)
			first_ns = min(first_ns, owed_ns(ent));
		else if (!is_wide(tree, ent->min) &&
			 (ent->anticipated || inflight_below(tree, ent)))
			first_ns = min(first_ns, due_ns(ent->min, ent->min->dir));
	}
	return min(now_ns - first_ns, MIN_LATE_NS);
}

/* The limit without writes to swap, which it does not count. */
static u32 base_limit(const struct tree *tree)
{
	return tree->core.limit_ios - (tree->core.limit_ios < U32_MAX ? tree->core.extra_ios : 0);
}

/* The in-flight limit for bios by minimum. */
static u32 min_limit(struct tree *tree)
{
	const u32 limit = base_limit(tree);

	return limit + (u32)(MIN_WIDER * limit * late_ns(tree) / MIN_LATE_NS);
}

/* The bios in flight that count by weight, and their limit. */
static u32 by_weight_ios(struct tree *tree, u32 *limit)
{
	const u64 late = late_ns(tree);

	*limit = base_limit(tree);
	*limit = max(*limit - (u32)(*limit * late / MIN_LATE_NS), 1U);
	return tree->nr_flight - tree->core.extra_ios -
	       (tree->core.nr_minima && !tree->core.stuck_ios ? min_ios(tree) : 0);
}

/* The lead in bypass vtime over the node; 0 for an entity that is not ahead. */
static s64 bypass_lead(const struct ioband_ent *ent)
{
	const s64 lead = ent->bypass_vtime - ent->parent->bypass_vtime;

	return lead < 0 || lead > vtime_bound(U32_MAX, ent->weight) ? 0 : lead;
}

/* The same as thinkers_before(), for entities that bypass others. */
static u32 bypass_before(struct tree *tree, const struct ioband_ent *ent)
{
	struct ioband_ent *other;
	u32 ios = 0;
	u32 i;

	for (i = 0; (other = next_child(tree, ent->parent, &i));)
		if (other != ent && !yields(other) && bypass_lead(other) < bypass_lead(ent) &&
		    !(shown(other) & tree->core.min_ent_dirs))
			ios += other->anticipated;
	return ios;
}

/* The pick is the minimum that is due first; by weight if none is due or has a free slot. */
static void check_min(struct tree *tree, const struct ioband_ent *leaf)
{
	const struct ioband_ent *by_min = tree->core.min_ent, *owed, *ent;
	const u64 now_ns = clock_now(tree);
	u64 first_ns = U64_MAX;
	u32 i;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		ent = nth_ent(tree, i);
		if (ent)
			first_ns = min(first_ns, owed_ns(ent));
	}
	if (!by_min) {
		MUST(first_ns > now_ns || min_ios(tree) >= min_limit(tree),
		     "by weight, although one was due at %llu", first_ns);
		return;
	}
	MUST(is_below(leaf, by_min), "one that was not due");
	owed = tree->core.min->ent;
	MUST(is_below(owed, by_min), "one that has nothing to do with who was due");
	MUST(owed_ns(owed) <= now_ns, "it was not due");
	MUST(owed_ns(owed) == first_ns, "another was due before");
}

static void check_minima(struct tree *tree)
{
	const struct ioband_min *minimum;
	const struct ioband_ent *ent;
	struct rb_node *rb;
	u64 last_ns = 0;
	int here = 0;
	u32 i;
	u8 dir;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		bool is_here = false;

		ent = nth_ent(tree, i);
		if (!ent || !ent->min)
			continue;
		MUST(ent->min->inflight == inflight_below(tree, ent), "%u, not %u",
		     ent->min->inflight, inflight_below(tree, ent));
		for (dir = 0; (shown(ent) || (!ent->waiting && !is_wide(tree, ent->min) &&
					      (ent->anticipated || ent->min->inflight))) &&
		     dir < IOBAND_NR_DIRS; dir++)
			if (shown(ent) ? shown(ent) & half(dir) : ent->min->dir == dir)
				is_here |= due_ns(ent->min, dir) != U64_MAX;
		is_here &= !shown(ent);
		MUST(is_here == !RB_EMPTY_NODE(&ent->min->rb), "due with nothing there, or not");
		here += is_here;
	}
	for (rb = rb_first_cached(&tree->core.flying); rb; rb = rb_next(rb)) {
		minimum = rb_entry(rb, struct ioband_min, rb);
		MUST(!shown(minimum->ent), "queued and in flight");
		MUST(minimum->due_ns >= last_ns, "out of order");
		last_ns = minimum->due_ns;
		here--;
	}
	MUST(!here, "%d too few", here);
	MUST(!tree->core.min_ent || tree->core.min->ent->min == tree->core.min,
	     "a turn for what is not promised");
}

static void check_picked(struct tree *tree, const struct tree_leaf *leaf,
			 const struct ioband_leaf *holder)
{
	const struct ioband_ent *by_min = tree->core.min_ent, *ent;
	const u64 open = by_min ? tree->core.min_ent_dirs : U64_MAX;
	/* Otherwise it is by weight above the entity with the minimum. */
	const bool bypasses = by_min && by_min == tree->core.min->ent;
	u32 limit, ios = by_weight_ios(tree, &limit);
	struct ioband_ent *other;
	u32 i;

	MUST(leaf->nr_held, "a leaf was picked that has nothing");
	if (tree->core.slice_ns) {
		check_holder(tree, leaf, holder);
		return;
	}
	if (by_min) {
		ios = min_ios(tree);
		limit = min_limit(tree);
	}
	check_min(tree, &leaf->leaf.ent);
	for (ent = &leaf->leaf.ent; ent->parent && ent != by_min; ent = &ent->parent->ent) {
		for (i = 0; (other = next_child(tree, ent->parent, &i));)
			MUST(!can_go(tree, other, open) ||
			     (bypasses ? bypass_lead(other) >= bypass_lead(ent) :
					 ahead(other, ent) >= 0),
			     "one was picked that has been served more than another");
		ios += bypasses ? bypass_before(tree, ent) : thinkers_before(tree, ent, false);
	}
	MUST(ios < limit, "%u I/Os on the pipe, limit %u", ios, limit);
}

/* Whether grace periods fill the rest of the in-flight limit, in some order of equals. */
static bool may_block(struct tree *tree, struct ioband_node *node, u32 ios, u32 limit)
{
	struct ioband_ent *ent, *other;
	u32 before, i, j;
	bool least;

	if (ios >= limit)
		return true;
	for (i = 0; (ent = next_child(tree, node, &i));) {
		least = can_go(tree, ent, U64_MAX);
		for (j = 0; (other = next_child(tree, node, &j));)
			least &= !can_go(tree, other, U64_MAX) || ahead(other, ent) >= 0;
		if (!least)
			continue;
		before = ios + thinkers_before(tree, ent, true);
		if (before >= limit)
			return true;
		if (!ent->leaf && may_block(tree, container_of(ent, struct ioband_node, ent),
					    before, limit))
			return true;
	}
	return false;
}

/* Whether no slot is free for bios due by minimum or, if none is due, for the others. */
static bool is_held_up(struct tree *tree)
{
	const u32 by_min = min_ios(tree), limit = min_limit(tree);
	const u64 now_ns = clock_now(tree);
	u32 i, ios, by_weight_limit;
	bool due = false;

	for (i = 0; i < tree->nodes_end + tree->leaves_end; i++) {
		const struct ioband_ent *ent = nth_ent(tree, i);

		if (!ent || by_min >= limit || owed_ns(ent) > now_ns)
			continue;
		due = true;
		if (ent->anticipated && by_min + ent->anticipated >= limit)
			return true;
	}
	ios = by_weight_ios(tree, &by_weight_limit);
	return !due && may_block(tree, &tree->core.root, ios, by_weight_limit);
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
	u64 unblocked_ns = check_maxima(tree);
	u64 first_ns = IOBAND_NO_WAKEUP, longest_ns;
	bool waiting = false;
	u32 i, ios, limit;

	for (i = 0; i < tree->leaves_end; i++) {
		const struct tree_leaf *leaf = &tree->leaves[i];

		if (!leaf->used)
			continue;
		waiting |= leaf_can_go(leaf, U64_MAX);
		if (leaf->leaf.state == IOBAND_LEAF_ANTICIPATED &&
		    leaf->leaf.grace_until_ns < first_ns)
			first_ns = leaf->leaf.grace_until_ns;
	}
	if (tree->core.nr_idlers)	/* these may be served after a grace period */
		unblocked_ns = min(unblocked_ns, min(first_ns, tree->core.idle_until_ns));
	if (!waiting || (is_full(tree, tree->nr_flight) &&
			 (tree->core.slice_ns || !tree->has_min))) {
		MUST(wake_ns == unblocked_ns, "a wake-up at %llu with nothing to wait for",
		     wake_ns);
		return;
	}
	if (tree->core.slice_ns) {
		const struct ioband_leaf *holder = tree->core.holder;

		if (tree->nr_flight > tree->core.stuck_ios || tree->flushing)
			return;
		if (tree->nr_flight) {
			/* A minimum is served until a bio has to be served by weight. */
			MUST(is_in_turn(tree) || first_ns != IOBAND_NO_WAKEUP ||
			     tree->core.min_ent, "who hangs keeps the turn");
			return;
		}
		MUST(first_ns != IOBAND_NO_WAKEUP, "one could have gone");
		MUST(wake_ns == min(first_ns, unblocked_ns) ||
		     (holder && holder->state == IOBAND_LEAF_ANTICIPATED &&
		      wake_ns > clock_now(tree) &&
		      wake_ns <= min(holder->grace_until_ns, unblocked_ns)),
		     "wake-up at %llu, first grace ends at %llu", wake_ns, first_ns);
		return;
	}
	MUST(is_held_up(tree), "one could have gone");
	ios = by_weight_ios(tree, &limit);
	if (wake_ns == unblocked_ns && (ios >= limit || is_full(tree, tree->nr_flight)))
		return;
	MUST(wake_ns == min(first_ns, unblocked_ns), "wake-up at %llu, first grace ends at %llu",
	     wake_ns, first_ns);
	longest_ns = tree->core.pausing ? PAUSE_WAIT_NS : GRACE_MAX_NS;
	/* A call leaves some to the next one if more grace periods end at once than it ends. */
	MUST((wake_ns > clock_now(tree) || tree->leaves_end > CHUNK) &&
	     wake_ns <= tree->now_ns + longest_ns,
	     "wake-up at %llu, now %llu", wake_ns, clock_now(tree));
}

/* The oldest bio in one of these directions. */
static struct ioband_bill take_first(struct tree_leaf *leaf, u8 dirs)
{
	struct ioband_bill bill;
	u32 i;

	for (i = 0; i < leaf->nr_held; i++)
		if (dirs & 1 << leaf->held[i].dir)
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
	const struct ioband_leaf *holder = tree->core.holder;
	struct ioband_leaf *picked = ioband_core_pick(&tree->core, clock_now(tree), wake_ns);
	struct tree_leaf *leaf;
	struct ioband_bill bill;

	if (!picked) {
		if (ioband_slice_start_flush(&tree->core, clock_now(tree))) {
			MUST(!tree->flushing, "two flushes at a time");
			MUST(tree->core.flushed_bytes, "a flush of nothing");
			tree->flushing = true;
		}
		check_not_picked(tree, *wake_ns);
		return NULL;
	}
	MUST(!tree->flushing || tree->core.holder == holder, "another one's turn during a flush");
	leaf = container_of(picked, struct tree_leaf, leaf);
	check_picked(tree, leaf, holder);
	check_maxima(tree);
	bill = take_first(leaf, ioband_tree_dirs(&tree->core, picked));
	check_lag(tree, picked);
	MUST(blocked_until_ns(&picked->ent, bill.dir) <= tree->now_ns, "one went past a maximum");
	bill.for_min = ioband_core_admit(&tree->core, picked, &bill, tree_dirs(leaf),
					 clock_now(tree));
	launched(tree, leaf, bill);
	return leaf;
}

void tree_end_flush(struct tree *tree)
{
	tree->flushing = false;
	ioband_slice_end_flush(&tree->core, clock_now(tree));
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
	MUST(RB_EMPTY_ROOT(&tree->core.flying.rb_root) &&
	     RB_EMPTY_ROOT(&tree->core.root.claims[IOBAND_DIR_READ].rb_root) &&
	     RB_EMPTY_ROOT(&tree->core.root.claims[IOBAND_DIR_WRITE].rb_root),
	     "something is due by no minimum");
}

/* ---- the checker --------------------------------------------------------- */

struct truth {
	u64 waiting;
	u32 ready;
	u32 anticipated;
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
		MUST(state == IOBAND_LEAF_BACKLOGGED, "state %d with bios waiting", state);
	else if (leaf->inflight)
		MUST(state == IOBAND_LEAF_INFLIGHT, "state %d with bios in flight", state);
	else
		MUST(state == IOBAND_LEAF_IDLE || state == IOBAND_LEAF_ANTICIPATED, "state %d",
		     state);
	MUST(leaf->leaf.dirs == tree_dirs(leaf), "%x, not %x", leaf->leaf.dirs, tree_dirs(leaf));
	MUST(leaf->leaf.inflight == leaf->inflight, "%u, not %u", leaf->leaf.inflight,
	     leaf->inflight);
	MUST(RB_EMPTY_NODE(&leaf->leaf.grace) == (state != IOBAND_LEAF_ANTICIPATED), "state %d",
	     state);
	if (state == IOBAND_LEAF_ANTICIPATED)
		MUST(leaf->leaf.grace_until_ns <= tree->now_ns + grace_max_ns(leaf),
		     "too long a grace");
}

static void add_up(struct tree *tree, struct truth *nodes, struct truth *root,
		   const struct tree_leaf *leaf)
{
	const bool anticipated = leaf->leaf.state == IOBAND_LEAF_ANTICIPATED;
	const u8 dirs = tree_dirs(leaf);
	struct truth one = {
		.waiting = (dirs & 1) | (u64)(dirs >> 1) << 32,
		.ready = anticipated || (leaf->inflight && !leaf->nr_held),
		.anticipated = anticipated,
		.pausing = anticipated && leaf->leaf.pause_anticipated,
		.busy = anticipated || !tree_leaf_is_idle(leaf),
	};
	const struct ioband_ent *ent = &leaf->leaf.ent;
	struct tree_node *node = leaf->up;

	for (;; ent = &ent->parent->ent) {
		struct truth *sum = node ? &nodes[node - tree->nodes] : root;

		if (ent->max)
			one.waiting &= ~ent->max->blocked;
		if (yields(ent))
			one.waiting = 0;
		sum->waiting += one.waiting;
		sum->ready += one.ready;
		sum->anticipated += one.anticipated;
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
	MUST(ent->ready == truth->ready, "%u, not %u", ent->ready, truth->ready);
	MUST(ent->anticipated == truth->anticipated, "%u, not %u", ent->anticipated,
	     truth->anticipated);
	MUST(!ent->parent || ent->pausing == truth->pausing, "%u, not %u", ent->pausing,
	     truth->pausing);
	MUST(ent->busy == truth->busy, "%u, not %u", ent->busy, truth->busy);
}

static void check_vtime(const struct tree *tree, const struct ioband_ent *ent,
			struct tree_seen *seen)
{
	const s64 lead = ent->vtime - ent->parent->vnow;
	const s64 back = seen->vtime - ent->vtime;

	/*
	 * After a very long idle time it starts anywhere; after its grace, before its equals.
	 * In the idle class, it restarts with its siblings.
	 */
	MUST(!seen->busy || back <= 0 || (back == 1 && tree->sliced) || ent->idle_class,
	     "virtual time went back by %lld", back);
	*seen = (struct tree_seen) { ent->vtime, ent->busy };
	/* With slices the lead is the service in one of them. */
	MUST(!ent->busy || tree->sliced ||
	     lead <= vtime_bound(DEBT_MAX + tree->charge_max, ent->weight),
	     "ahead by %lld at weight %u", lead, ent->weight);
	MUST(!ent->waiting || tree->has_max || yields(ent) ||
	     -lead <= vtime_bound(lag_max(tree), ent->weight),
	     "behind by %lld at weight %u", -lead, ent->weight);
}

/* The sum of a subtree of live children. */
static struct ioband_span check_span(const struct rb_node *rb)
{
	struct ioband_span span = {}, below;
	const struct ioband_ent *ent;

	if (!rb)
		return span;
	ent = rb_entry(rb, struct ioband_ent, rb);
	for (int side = 0; side < 3; side++) {
		below = side ? check_span(side == 1 ? rb->rb_left : rb->rb_right) :
			(struct ioband_span) { .kinds = ent->kinds };
		for (int kind = 0; kind < IOBAND_NR_KINDS; kind++) {
			const u64 least = side ? below.bypass_vtime[kind] : ent->bypass_vtime;

			if (!(below.kinds & 1 << kind))
				continue;
			if (!(span.kinds & 1 << kind) ||
			    (s64)(least - span.bypass_vtime[kind]) < 0)
				span.bypass_vtime[kind] = least;
			span.kinds |= 1 << kind;
		}
	}
	MUST(span.kinds == ent->span.kinds, "sums %x, not %x", ent->span.kinds, span.kinds);
	for (int kind = 0; kind < IOBAND_NR_KINDS; kind++)
		MUST(!(span.kinds & 1 << kind) ||
		     span.bypass_vtime[kind] == ent->span.bypass_vtime[kind],
		     "least %llx, not %llx", ent->span.bypass_vtime[kind],
		     span.bypass_vtime[kind]);
	return span;
}

static u8 kinds_of(const struct ioband_ent *ent)
{
	return (shown(ent) & half(0) ? 1 : 0) | (shown(ent) & half(1) ? 2 : 0) |
	       (ent->anticipated && !yields(ent) ? 4 : 0);
}

static void check_live(struct tree *tree, struct ioband_node *node, u64 *vnow_seen)
{
	const struct ioband_ent *last = NULL;
	struct ioband_ent *ent;
	struct rb_node *rb;
	int live = 0;
	u32 i;

	for (i = 0; (ent = next_child(tree, node, &i));) {
		const bool is_live = shown(ent) || (ent->anticipated && !yields(ent));

		MUST(RB_EMPTY_NODE(&ent->rb) == !is_live, "waiting %llx, thinking %u",
		     ent->waiting, ent->anticipated);
		MUST(ent->kinds == kinds_of(ent), "kinds %x, not %x", ent->kinds, kinds_of(ent));
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
	check_span(node->live.rb_root.rb_node);
	MUST(!node->serving || (node->serving->parent == node && node->serving->busy),
	     "in service is one that is not there");
	MUST((s64)(node->vnow - *vnow_seen) >= 0, "a node's virtual time went back");
	*vnow_seen = node->vnow;
}

/* The idle children of a node yield, or do not, for a reason. */
static void check_idlers(struct tree *tree, struct ioband_node *node)
{
	u64 waiting = 0, usual = 0;
	u32 ready = 0, usual_ready = 0, nr = 0, i;
	struct ioband_ent *ent;
	bool full;

	for (i = 0; (ent = next_child(tree, node, &i));) {
		nr += ent->idle_class;
		*(ent->idle_class ? &waiting : &usual) += shown(ent);
		*(ent->idle_class ? &ready : &usual_ready) += ent->ready;
	}
	MUST(list_empty(&node->idlers) == !nr, "%u idle children", nr);
	MUST(node->idle_waiting == waiting, "%llx, not %llx", node->idle_waiting, waiting);
	MUST(node->idle_ready == ready, "%u, not %u", node->idle_ready, ready);
	tree->stuck |= tree->core.stuck_ios;
	full = node->idle_inflight && tree->now_ns < node->usual_ns + IDLE_GRACE_NS;
	if (node->yields)
		MUST(nr && !node->idle_due && (usual || usual_ready || node->idle_inflight),
		     "idle children wait for nothing");
	else
		MUST(!nr || node->idle_due || !(usual || (usual_ready && !tree->stuck) || full),
		     "idle children do not wait: %llx, %u ready, full %d", usual, usual_ready,
		     full);
	tree->nr_idlers += nr;
}

static void check_anticipated(const struct tree *tree, u32 anticipated)
{
	struct rb_node *rb;

	for (int pausing = 0; pausing < 2; pausing++) {
		u64 last_ns = 0;

		for (rb = rb_first_cached(&tree->core.anticipated[pausing]); rb; rb = rb_next(rb)) {
			const struct ioband_leaf *leaf = rb_entry(rb, struct ioband_leaf, grace);

			MUST(leaf->grace_until_ns >= last_ns, "thinkers out of order");
			MUST(leaf->pause_anticipated == pausing, "in the wrong order");
			last_ns = leaf->grace_until_ns;
			anticipated--;
		}
	}
	MUST(!anticipated, "%d thinkers too few", (int)anticipated);
}

void tree_check(struct tree *tree)
{
	struct truth nodes[TREE_NODES_MAX], root = {};
	const u64 bytes = flight_bytes(tree);
	u32 i;

	memset(nodes, 0, tree->nodes_end * sizeof(nodes[0]));
	tree->nr_idlers = 0;
	MUST(tree->core.inflight_ios == tree->nr_flight, "%u, not %u", tree->core.inflight_ios,
	     tree->nr_flight);
	MUST(tree->core.min_ios == min_ios(tree), "%u, not %u",
	     tree->core.min_ios, min_ios(tree));
	MUST(tree->core.inflight_bytes == bytes, "%llu, not %llu", tree->core.inflight_bytes,
	     bytes);
	MUST(tree->core.inflight_cached == cached_bytes(tree), "%llu, not %llu",
	     tree->core.inflight_cached, cached_bytes(tree));
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
		check_idlers(tree, &node->node);
	}
	check_counters(&tree->core.root.ent, &root);
	check_live(tree, &tree->core.root, &tree->root_vnow_seen);
	check_idlers(tree, &tree->core.root);
	MUST(tree->core.nr_idlers == tree->nr_idlers, "%u, not %u", tree->core.nr_idlers,
	     tree->nr_idlers);
	check_anticipated(tree, root.anticipated);
	MUST(tree->core.pausing == root.pausing, "%u, not %u", tree->core.pausing, root.pausing);
	check_minima(tree);
}
