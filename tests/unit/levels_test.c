// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slices at several levels: a slice below a group begins and ends within the group's.
 */
#include "rules.h"

#include <string.h>

#include <linux/minmax.h>

/* A group, inside another one if @deep, with leaves a and b; beside it is c. */
struct family {
	struct tree_node *up;
	struct tree_leaf *a;
	struct tree_leaf *b;
	struct tree_leaf *c;
};

static struct family have_family(u32 weight, bool deep)
{
	struct tree_node *top = deep ? tree_add_node(tree, NULL, weight) : NULL;
	struct tree_node *up = tree_add_node(tree, top, weight);

	return (struct family) {
		.up = up,
		.a = tree_add_leaf(tree, up, 100),
		.b = tree_add_leaf(tree, up, 100),
		.c = tree_add_leaf(tree, NULL, 100),
	};
}

/* The load: a and b have bios of 4 KiB and 1 ms queued, one at a time. */
struct load {
	u32 weight;	/* of their group; c has 100 */
	bool deep;	/* the group is inside another one */
	bool bytes;	/* are charged, and not time */
	u32 c_from_ms;	/* when c begins */
	u32 c_ms;	/* service time of c's bios, */
	u32 c_bytes;	/* and their size */
	u32 turns[2];	/* number of slices of all: minimum and maximum */
};

/* Return: the number of changes in 4 s from a to b or from b to a, without c between. */
static u32 changes_below(const struct load *load)
{
	const struct family all = have_family(load->weight, load->deep);
	const u64 begin_ns = tree->now_ns;
	struct tree_leaf *leaf, *before = NULL;
	u32 changes = 0, turns = 0;
	u64 wake_ns;

	all.up->node.streams = !load->bytes;
	tree_set_slice(tree, 80 * MSEC, !load->bytes);
	while (tree->now_ns < begin_ns + 4000 * MSEC) {
		if (!all.a->nr_held)
			wait_for(all.a, 4 * KIB);
		if (!all.b->nr_held)
			wait_for(all.b, 4 * KIB);
		if (!all.c->nr_held && tree->now_ns >= begin_ns + load->c_from_ms * MSEC)
			wait_for(all.c, load->c_bytes ?: 4 * KIB);
		leaf = tree_serve(tree, &wake_ns);
		assert_non_null(leaf);
		if (before && leaf != before) {
			changes += leaf != all.c && before != all.c;
			turns++;
		}
		before = leaf;
		tree->now_ns += leaf == all.c ? load->c_ms * MSEC : MSEC;
		complete_all();
	}
	assert_in_range(turns, load->turns[0], load->turns[1]);
	return changes;
}

/*
 * A slice of the group is a whole slice of one leaf.  c ends a's slice early when it becomes
 * active, and b gets the group's next slice.  With the rest of its own slice for a, the disk
 * would seek once more.
 */
static void a_turn_is_of_one_below(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .c_from_ms = 30, .c_ms = 1, .turns = { 48, 52 },
	}), 0);
}

/*
 * c's slices take 90 ms and not 80.  So do the group's when it is behind by a slice: no slice
 * below begins in the last 10 ms.
 */
static void no_turn_begins_in_a_rest(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .c_ms = 15, .turns = { 43, 46 },
	}), 0);
}

/* No slice begins two levels further down in a rest of 36 ms. */
static void no_turn_begins_in_a_rest_at_the_top(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .deep = true, .c_ms = 58, .turns = { 33, 36 },
	}), 0);
}

/* The same by bytes, with more bytes of c in the same time: the group's slices take 87 ms. */
static void no_turn_begins_in_a_rest_by_bytes(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .bytes = true, .c_ms = 1, .c_bytes = 4480, .turns = { 46, 50 },
	}), 0);
}

/* A slice below begins in more than half a slice: 320 ms are four slices of 80 ms. */
static void turns_below_end_in_a_long_one(void **state)
{
	(void)state;
	assert_in_range(changes_below(&(struct load) {
		.weight = 400, .c_ms = 1, .turns = { 44, 52 },
	}), 27, 33);
}

/* A single leaf below has no more in flight than completes in the rest of the slice above. */
static void a_turn_above_bounds_what_is_in_flight(void **state)
{
	struct tree_node *up = tree_add_node(tree, NULL, 100);
	struct tree_leaf *a = tree_add_leaf(tree, up, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u32 near_its_end = 0, turn_ms = 0;
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	while (tree->now_ns < 4000 * MSEC) {
		while (a->nr_held < 16)
			wait_for(a, 64 * KIB);
		while (c->nr_held < 16)
			wait_for(c, 64 * KIB);
		while (tree_serve(tree, &wake_ns))
			;
		turn_ms = a->inflight ? turn_ms + 4 : 0;
		if (tree->now_ns > 1000 * MSEC && turn_ms > 40) {
			assert_in_range(a->inflight, 1, (88 - min(turn_ms, 84U)) / 4);
			near_its_end++;
		}
		tree->now_ns += 4 * MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(near_its_end, 150, 230);
}

/* The service of a and b below a minimum. */
struct below {
	u64 longest_ns;	/* slice of one leaf */
	u32 changes;	/* from one leaf to the other */
	u32 bios[2];
};

/*
 * For 4 s: a group of weight 1 with a minimum of @min_ent bytes a second, and c unless @alone.
 * All have bios of 64 KiB and 1 ms queued.  a has @weight, b 100.
 */
static struct below promised_below(u64 promised, u32 slice_ms, u32 weight, bool alone)
{
	const struct ioband_rates min = { .bytes = { promised, 0 } };
	struct tree_leaf *leaf, *before = NULL;
	struct below below = { 0 };
	u64 wake_ns, since_ns = 0;
	struct family all;

	rules_teardown(NULL);
	rules_setup(NULL);
	all = have_family(1, false);
	tree_set_slice(tree, slice_ms * MSEC, true);
	tree_set_weight(tree, &all.a->leaf.ent, weight);
	tree_set_min(tree, &all.up->node.ent, &min);
	while (tree->now_ns < 4000 * MSEC) {
		if (!all.a->nr_held)
			wait_for(all.a, 64 * KIB);
		if (!all.b->nr_held)
			wait_for(all.b, 64 * KIB);
		if (!all.c->nr_held && !alone)
			wait_for(all.c, 64 * KIB);
		leaf = tree_serve(tree, &wake_ns);
		assert_non_null(leaf);
		if (leaf != before) {
			below.changes += before && leaf != all.c && before != all.c;
			since_ns = tree->now_ns;
		}
		before = leaf;
		tree->now_ns += MSEC;
		complete_all();
		if (leaf == all.c)
			continue;
		below.longest_ns = max(below.longest_ns, tree->now_ns - since_ns);
		below.bios[leaf == all.b]++;
	}
	return below;
}

/* A very large minimum extends a group's slice.  The slices below it end as usual. */
static void turns_end_below_a_promise(void **state)
{
	const struct below below = promised_below(1000 * MIB, 20, 100, false);

	(void)state;
	assert_in_range(below.longest_ns, 19 * MSEC, 21 * MSEC);
	assert_in_range(below.changes, 140, 180);
}

/* A small minimum shortens a group's slices; each is one leaf's. */
static void a_turn_by_promise_is_of_one_below(void **state)
{
	const struct below below = promised_below(19 * MIB, 80, 100, false);

	(void)state;
	assert_in_range(below.longest_ns, 10 * MSEC, 40 * MSEC);
	assert_int_equal(below.changes, 0);
}

/* No slice below begins in the rest of a slice that is a little too long. */
static void no_turn_begins_in_the_rest_of_a_promise(void **state)
{
	const struct below until_it_is_had = promised_below(44 * MIB, 60, 100, false);
	const struct below until_it_goes_by_weight = promised_below(1000 * MIB, 80, 100, false);

	(void)state;
	assert_int_equal(until_it_is_had.changes, 0);
	assert_int_equal(until_it_goes_by_weight.changes, 0);
}

/* The slices of a group alone may begin and end, and the slices below continue. */
static void turns_below_who_is_alone_are_whole(void **state)
{
	const struct below below = promised_below(1000 * MIB, 150, 100, true);

	(void)state;
	assert_in_range(below.changes, 20, 26);
}

/* Below a minimum of any size the weights decide. */
static void weights_decide_below_a_promise(void **state)
{
	static const u32 promised[] = { 20, 44, 1000 }, slices[] = { 20, 60, 80, 124 };
	u32 i, heavy;

	(void)state;
	for (i = 0; i < 12; i++) {
		for (heavy = 1; heavy < 4; heavy++) {
			const struct below below = promised_below(promised[i / 4] * MIB,
								  slices[i % 4], 100 * heavy,
								  false);
			const u32 all = below.bios[0] + below.bios[1];

			assert_in_range(below.bios[0], all * heavy / (heavy + 1) - 130,
					all * heavy / (heavy + 1) + 130);
		}
	}
}

static struct ioband_bill written(u32 bytes)
{
	return (struct ioband_bill) {
		.charge = bytes, .bytes = bytes, .dir = IOBAND_DIR_WRITE,
	};
}

/*
 * Serve for @ms, 1 ms each, while all leaves have bios of 64 KiB queued.  Leaves with a bit in
 * @writers write, the others read.  Counts the bios of each leaf.
 */
static void serve_for(struct tree_leaf *const *leaves, u32 nr, u32 writers, u32 ms, u32 *bios)
{
	const u64 end_ns = tree->now_ns + ms * MSEC;
	struct tree_leaf *leaf;
	u64 wake_ns;
	u32 i;

	memset(bios, 0, nr * sizeof(*bios));
	while (tree->now_ns < end_ns) {
		for (i = 0; i < nr; i++) {
			if (leaves[i]->nr_held)
				continue;
			if (writers & 1U << i)
				tree_wait(tree, leaves[i], written(64 * KIB));
			else
				wait_for(leaves[i], 64 * KIB);
		}
		leaf = tree_serve(tree, &wake_ns);
		assert_non_null(leaf);
		for (i = 0; i < nr; i++)
			bios[i] += leaf == leaves[i];
		tree->now_ns += MSEC;
		complete_all();
	}
}

/*
 * For 20 s: a group has a minimum of reads.  Below it are a and b, of weight 100, and a leaf of
 * 300; beside it is c.
 */
static void promised_reads(u64 promised, u32 slice_ms, u32 writers, u32 *bios)
{
	const struct ioband_rates reads = { .bytes = { promised, 0 } };
	struct tree_leaf *leaves[4];
	struct family all;

	rules_teardown(NULL);
	rules_setup(NULL);
	all = have_family(100, false);
	leaves[0] = all.a;
	leaves[1] = all.b;
	leaves[2] = tree_add_leaf(tree, all.up, 300);
	leaves[3] = all.c;
	if (slice_ms)
		tree_set_slice(tree, slice_ms * MSEC, true);
	tree_set_min(tree, &all.up->node.ent, &reads);
	serve_for(leaves, 4, writers, 20000, bios);
	assert_false(ioband_tree_is_in_debt(&leaves[2]->leaf, false));
}

/* b writes: writes are outside the minimum, and delay no reads. */
static void what_is_not_promised_holds_up_nobody(void **state)
{
	static const u32 slices[] = { 0, 80, 124 };
	u32 i, bios[4];

	(void)state;
	for (i = 0; i < 3; i++) {
		promised_reads(45 * MIB, slices[i], 1 << 1, bios);
		assert_in_range(bios[0] + bios[2], 12000, 16000);
		assert_in_range(bios[2], 27 * bios[0] / 10, 33 * bios[0] / 10);
	}
}

/*
 * Two leaves write, of weights 300 and 100.  They share the part beyond the reader's minimum by
 * weight among themselves, although the reader bypasses them.
 */
static void weights_hold_among_those_passed_over(void **state)
{
	static const u32 slices[] = { 0, 20, 80, 124 };
	u32 i, bios[4];

	(void)state;
	for (i = 0; i < 4; i++) {
		promised_reads(20 * MIB, slices[i], 1 << 1 | 1 << 2, bios);
		assert_in_range(bios[0], 6400, 6600);
		assert_in_range(bios[1] + bios[2], 3300, 4800);
		assert_in_range(bios[2], 27 * bios[1] / 10, 33 * bios[1] / 10);
	}
}

/* A new reader below a minimum gets as much as the old one from then on, and not more. */
static void who_comes_below_a_promise_has_no_claim(void **state)
{
	static const u32 slices[] = { 0, 80 };
	const struct ioband_rates reads = { .bytes = { 40 * MIB, 0 } };
	u32 i, bios[3];

	(void)state;
	for (i = 0; i < 2; i++) {
		struct tree_leaf *leaves[3];
		struct family all;

		rules_teardown(NULL);
		rules_setup(NULL);
		all = have_family(1, false);
		leaves[0] = all.a;
		leaves[1] = all.c;
		leaves[2] = all.b;
		if (slices[i])
			tree_set_slice(tree, slices[i] * MSEC, true);
		tree_set_min(tree, &all.up->node.ent, &reads);
		serve_for(leaves, 2, 0, 3000, bios);
		serve_for(leaves, 3, 0, 3000, bios);
		assert_in_range(bios[0] + bios[2], 1900, 2100);
		assert_in_range(bios[2], bios[0] - 150, bios[0] + 150);
	}
}

/* Anticipation works below a minimum, for the leaf that got less of it. */
static void who_thinks_below_a_promise_is_waited_for(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000000 * MIB, 0 } };
	const struct family all = have_family(100, false);
	const struct ioband_bill small = { .charge = 64 * KIB, .bytes = 512 };
	u64 wake_ns;

	(void)state;
	ioband_core_set_limit(&tree->core, 1, 0);
	tree_set_min(tree, &all.up->node.ent, &most);
	wait_for(all.a, 512);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.a);
	complete_all();
	tree->now_ns += 10 * USEC;
	tree_wait(tree, all.b, small);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.b);
	complete_all();
	tree->now_ns += 10 * USEC;
	tree_wait(tree, all.b, small);
	assert_null(tree_serve(tree, &wake_ns));
	assert_ptr_equal(tree->core.min_ent, &all.up->node.ent);
	wait_for(all.a, 512);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.a);
}

/* Service by weight beside a minimum is for the sibling, even a light one: one bio in 100 ms. */
static void a_promise_shuts_out_no_sibling(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	u32 i, bios[3];

	(void)state;
	for (i = 0; i < 2; i++) {
		struct tree_leaf *leaves[3];
		struct tree_node *up;

		rules_teardown(NULL);
		rules_setup(NULL);
		up = tree_add_node(tree, NULL, 100);
		leaves[0] = tree_add_leaf(tree, up, 1000);
		leaves[1] = tree_add_leaf(tree, up, 100);
		leaves[2] = tree_add_leaf(tree, NULL, 100);
		ioband_core_set_limit(&tree->core, 1, 0);
		if (i)
			tree_set_slice(tree, 80 * MSEC, true);
		tree_set_min(tree, &leaves[0]->leaf.ent, &most);
		serve_for(leaves, 3, 0, 20000, bios);
		assert_in_range(bios[1], i ? 850 : 190, i ? 1000 : 210);
	}
}

/* Slices by weight in between do not change the shares below a minimum. */
static void turns_by_weight_count_below_a_promise(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 1000 * MIB } };
	u32 i, bios[3];

	(void)state;
	for (i = 0; i < 4; i++) {
		struct tree_leaf *leaves[3];
		struct tree_node *up;

		rules_teardown(NULL);
		rules_setup(NULL);
		up = tree_add_node(tree, NULL, 1000);
		leaves[0] = tree_add_leaf(tree, up, 1000);
		leaves[1] = tree_add_leaf(tree, up, 100);
		leaves[2] = tree_add_leaf(tree, NULL, 10);
		tree_set_slice(tree, 80 * MSEC, i & 1);
		tree_set_min(tree, &up->node.ent, &most);
		serve_for(leaves, i & 2 ? 3 : 2, 0, 60000, bios);
		assert_in_range(bios[0], 9 * bios[1], 11 * bios[1]);
	}
}

/* A late reader has no claim on the past of another that read all the time. */
static void who_comes_late_has_no_claim(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	const struct family all = have_family(100, false);
	struct tree_leaf *leaves[] = { all.a, all.b };
	u32 bios[2];

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree_set_min(tree, &all.up->node.ent, &most);
	serve_for(leaves, 1, 0, 30000, bios);
	serve_for(leaves, 2, 0, 10000, bios);
	assert_in_range(bios[1], 4800, 5200);
}

/* A minimum of reads and writes, used by reads alone, gives only the minimum of reads. */
static void what_nobody_wants_prolongs_no_turn(void **state)
{
	const struct ioband_rates both = { .bytes = { 16 * MIB, 16 * MIB } };
	struct tree_leaf *leaves[] = {
		tree_add_leaf(tree, NULL, 1), tree_add_leaf(tree, NULL, 100),
	};
	u32 bios[2];

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree_set_min(tree, &leaves[0]->leaf.ent, &both);
	serve_for(leaves, 2, 0, 10000, bios);
	assert_in_range(bios[0], 2560, 2900);
}

/* A minimum of reads holds beside the group's own writes, with 16 bios of 4 ms queued each. */
static void reads_are_promised_beside_own_writes(void **state)
{
	const struct ioband_rates reads = { .bytes = { 12 * MIB, 0 } };
	const struct family all = have_family(100, false);
	u64 wake_ns;
	u32 n = 0;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree_set_min(tree, &all.up->node.ent, &reads);
	while (tree->now_ns < 10000 * MSEC) {
		while (all.a->nr_held < 16)
			wait_for(all.a, 64 * KIB);
		while (all.b->nr_held < 16)
			tree_wait(tree, all.b, written(64 * KIB));
		while (tree_serve(tree, &wake_ns))
			;
		n += tree->flight[0].leaf == all.a;
		tree->now_ns += 4 * MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(n, 1920, 2100);
}

/* Own writes do not wait for reads in flight when they are due by weight. */
static void own_writes_are_due_in_time(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	const struct family all = have_family(100, false);
	struct tree_leaf *leaf, *before = NULL;
	u32 turns = 0;
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree_set_min(tree, &all.up->node.ent, &most);
	while (tree->now_ns < 10000 * MSEC) {
		while (all.a->nr_held < 16)
			wait_for(all.a, 64 * KIB);
		while (all.b->nr_held < 16)
			tree_wait(tree, all.b, written(64 * KIB));
		while ((leaf = tree_serve(tree, &wake_ns))) {
			turns += leaf == all.b && before == all.a;
			before = leaf;
		}
		tree->now_ns += 4 * MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(turns, 80, 100);
}

/* The depth of a group alone is the same with and without a minimum. */
static void a_promise_to_who_is_alone_bounds_nothing(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 124 * MSEC, true);
	tree_set_min(tree, &a->leaf.ent, &most);
	while (tree->now_ns < 2000 * MSEC) {
		while (a->nr_held < 32)
			wait_for(a, 64 * KIB);
		while (tree_serve(tree, &wake_ns))
			;
		if (tree->now_ns > 1000 * MSEC)
			assert_in_range(a->inflight, 20, 32);
		tree->now_ns += 5 * MSEC;
		tree_complete(tree, 0);
	}
}

/* In the rest of the slice above, the leaf below keeps its depth. */
static void the_rest_keeps_its_depth(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	const struct family all = have_family(100, false);
	struct tree_leaf *leaves[] = { all.a, all.b, all.c }, *of = NULL;
	u32 i, past = 0, turn_ms = 0;
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree_set_min(tree, &all.up->node.ent, &most);
	while (tree->now_ns < 4000 * MSEC) {
		for (i = 0; i < 3; i++)
			while (leaves[i]->nr_held < 16)
				wait_for(leaves[i], 64 * KIB);
		while (tree_serve(tree, &wake_ns))
			;
		for (i = 0; i < 2; i++) {
			if (!leaves[i]->inflight)
				continue;
			turn_ms = of == leaves[i] ? turn_ms + 1 : 0;
			of = leaves[i];
		}
		if (all.c->inflight)
			turn_ms = 0;
		if (tree->now_ns > 1000 * MSEC && turn_ms > 82 && turn_ms < 92) {
			assert_in_range(of->inflight, 4, 64);
			past++;
		}
		tree->now_ns += MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(past, 100, 400);
}

/* A slice that has ended does not bound the bios in flight for a minimum. */
static void a_promise_keeps_its_depth(void **state)
{
	const struct ioband_rates most = { .bytes = { 1000 * MIB, 0 } };
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u32 past = 0, turn_ms = 0;
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 40 * MSEC, true);
	tree_set_min(tree, &a->leaf.ent, &most);
	while (tree->now_ns < 4000 * MSEC) {
		while (a->nr_held < 16)
			wait_for(a, 64 * KIB);
		while (c->nr_held < 16)
			wait_for(c, 64 * KIB);
		while (tree_serve(tree, &wake_ns))
			;
		turn_ms = a->inflight ? turn_ms + 1 : 0;
		if (tree->now_ns > 1000 * MSEC && turn_ms > 40 && turn_ms < 80) {
			assert_in_range(a->inflight, 10, 64);
			past++;
		}
		tree->now_ns += MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(past, 900, 1500);
}

/* A bio of a is in flight for longer than its slice; others wait. */
static void hang(struct tree_leaf *a, struct tree_leaf *b, struct tree_leaf *c)
{
	u64 wake_ns;

	tree_set_slice(tree, 80 * MSEC, false);
	wait_for(a, 64 * KIB);
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	wait_for(b, 4 * KIB);
	if (c)
		wait_for(c, 4 * KIB);
	tree->now_ns += 100 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));
	ioband_core_set_limit(&tree->core, U32_MAX / 2, 1);
}

/* A hung bio does not keep the slice for its leaf, if its group is a little behind. */
static void what_hangs_keeps_no_turn(void **state)
{
	const struct family all = have_family(100, false);
	u64 wake_ns;

	(void)state;
	now(all.c, 72 * KIB);
	hang(all.a, all.b, all.c);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.b);
}

/* The same for a leaf behind by bytes: no more is charged until the device answers. */
static void what_hangs_is_not_behind(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	now(b, 72 * KIB);
	hang(a, b, NULL);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* The same if the other leaf has a bio in flight that was dispatched out of turn. */
static void what_hangs_keeps_no_turn_from_who_is_urgent(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	now(b, 72 * KIB);
	hang(a, b, NULL);
	now(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* The same below a group that is behind. */
static void what_hangs_is_not_behind_below(void **state)
{
	const struct family all = have_family(100, false);
	u64 wake_ns;

	(void)state;
	now(all.b, 72 * KIB);
	now(all.c, 256 * KIB);
	hang(all.a, all.b, all.c);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.b);
}

/*
 * While a bio hangs, weights hold among leaves on other devices.  For 11 s: leaves of weight 400
 * and 100, and the leaf with the hung bio, of weight 50, if @waits more of its bios are queued.
 */
static void read_beside_what_hangs(bool waits)
{
	struct tree_leaf *leaves[3];
	u64 wake_ns, back_ns = 0;
	u32 bios[3] = { 0 }, i;

	rules_teardown(NULL);
	rules_setup(NULL);
	leaves[0] = tree_add_leaf(tree, NULL, 50);
	leaves[1] = tree_add_leaf(tree, NULL, 400);
	leaves[2] = tree_add_leaf(tree, NULL, 100);
	tree_set_slice(tree, 80 * MSEC, false);
	wait_for(leaves[0], 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaves[0]);
	tree->now_ns += 1000 * MSEC;
	ioband_core_set_limit(&tree->core, U32_MAX / 2, 1);
	while (tree->now_ns < 12000 * MSEC) {
		for (i = waits ? 0 : 1; i < 3; i++)
			if (!leaves[i]->nr_held && leaves[i]->inflight == !i)
				wait_for(leaves[i], 4 * KIB);
		while (tree_serve(tree, &wake_ns))
			back_ns = tree->now_ns + MSEC;
		tree->now_ns += 50 * USEC;
		if (tree->nr_flight < 2 || tree->now_ns < back_ns)
			continue;
		for (i = 0; i < 3; i++)
			bios[i] += leaves[i]->inflight - !i;
		while (tree->nr_flight > 1)
			tree_complete(tree, 1);
		while (tree_serve(tree, &wake_ns))	/* before their bios return */
			back_ns = tree->now_ns + MSEC;
	}
	assert_in_range(bios[0] + bios[1] + bios[2], 10000, 11000);
	assert_in_range(bios[0], waits ? 7 * bios[2] / 16 : 0, waits ? 9 * bios[2] / 16 : 0);
	assert_in_range(bios[1], 15 * bios[2] / 4, 17 * bios[2] / 4);
}

static void weights_hold_beside_what_hangs(void **state)
{
	(void)state;
	read_beside_what_hangs(false);
	read_beside_what_hangs(true);
}

/* Writeback idle of a leaf ends with its slice, even if the group's slice goes on. */
static void a_pause_ends_with_the_turn_below(void **state)
{
	const struct family all = have_family(100, false);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	tree->now_ns += 500 * MSEC;
	now(all.c, 5 * KIB);
	complete_all();
	tree->now_ns += 500 * MSEC;
	write_back(all.a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.a);
	write_back(all.b, 4 * KIB);
	write_back(all.c, 4 * KIB);
	tree->now_ns += 15 * MSEC;
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.b);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(a_turn_is_of_one_below),
		TEST(no_turn_begins_in_a_rest),
		TEST(no_turn_begins_in_a_rest_at_the_top),
		TEST(no_turn_begins_in_a_rest_by_bytes),
		TEST(turns_below_end_in_a_long_one),
		TEST(a_turn_above_bounds_what_is_in_flight),
		TEST(turns_end_below_a_promise),
		TEST(a_turn_by_promise_is_of_one_below),
		TEST(no_turn_begins_in_the_rest_of_a_promise),
		TEST(turns_below_who_is_alone_are_whole),
		TEST(weights_decide_below_a_promise),
		TEST(what_is_not_promised_holds_up_nobody),
		TEST(weights_hold_among_those_passed_over),
		TEST(own_writes_are_due_in_time),
		TEST(who_comes_below_a_promise_has_no_claim),
		TEST(who_thinks_below_a_promise_is_waited_for),
		TEST(a_promise_shuts_out_no_sibling),
		TEST(turns_by_weight_count_below_a_promise),
		TEST(who_comes_late_has_no_claim),
		TEST(what_nobody_wants_prolongs_no_turn),
		TEST(reads_are_promised_beside_own_writes),
		TEST(a_promise_to_who_is_alone_bounds_nothing),
		TEST(the_rest_keeps_its_depth),
		TEST(a_promise_keeps_its_depth),
		TEST(what_hangs_keeps_no_turn),
		TEST(what_hangs_is_not_behind),
		TEST(what_hangs_keeps_no_turn_from_who_is_urgent),
		TEST(what_hangs_is_not_behind_below),
		TEST(weights_hold_beside_what_hangs),
		TEST(a_pause_ends_with_the_turn_below),
	};

	return run_cases(cases, argc, argv);
}
