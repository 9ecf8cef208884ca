// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slices at several levels: with a group's turn one begins below it, and ends with it.
 */
#include "rules.h"

#include <linux/minmax.h>

/* A group, in another one if it is @deep, with two leaves, a and b, and beside it c. */
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

/* What competes: a and b have bios of 4 KiB and 1 ms waiting, one at a time. */
struct load {
	u32 weight;	/* of their group; c has 100 */
	bool deep;	/* it is in another one */
	bool bytes;	/* are charged, and not time */
	u32 c_from_ms;	/* when c begins */
	u32 c_ms;	/* how long its bios take, */
	u32 c_bytes;	/* and how large they are */
	u32 turns[2];	/* so many there are, of all, at least and at most */
};

/* Return: in 4 s, how often a follows b or b follows a, and not c. */
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
 * A turn is of one among its own, whole: c, who comes, ends a's early, and b has all of the
 * next one of theirs.  If a had the rest of its own then, the disk would seek once more in it.
 */
static void a_turn_is_of_one_below(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .c_from_ms = 30, .c_ms = 1, .turns = { 48, 52 },
	}), 0);
}

/*
 * c's turns take 90 ms and not 80.  So theirs do, too, when they are behind by a slice: none
 * begins for the last 10.
 */
static void no_turn_begins_in_a_rest(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .c_ms = 15, .turns = { 43, 46 },
	}), 0);
}

/* Nor two levels further down, nor in 36 ms. */
static void no_turn_begins_in_a_rest_at_the_top(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .deep = true, .c_ms = 58, .turns = { 33, 36 },
	}), 0);
}

/* Nor by bytes, of which c has more in the same time: theirs take 87 ms. */
static void no_turn_begins_in_a_rest_by_bytes(void **state)
{
	(void)state;
	assert_int_equal(changes_below(&(struct load) {
		.weight = 100, .bytes = true, .c_ms = 1, .c_bytes = 4480, .turns = { 46, 50 },
	}), 0);
}

/* But in what is more than half a slice one does: of 320 ms, four have 80. */
static void turns_below_end_in_a_long_one(void **state)
{
	(void)state;
	assert_in_range(changes_below(&(struct load) {
		.weight = 400, .c_ms = 1, .turns = { 44, 52 },
	}), 27, 33);
}

/*
 * For 2 s, a group of weight 1 that is promised so much beside c, all with bios of 64 KiB and
 * 1 ms waiting.  Return: the longest turn of a or b; and how often one followed the other.
 */
static u64 longest_below(u64 promised, u32 slice_ms, u32 *changes)
{
	const struct ioband_rates min = { .bytes = { promised, 0 } };
	const struct family all = have_family(1, false);
	u64 wake_ns, since_ns = 0, longest_ns = 0;
	struct tree_leaf *leaf, *before = NULL;

	*changes = 0;
	tree_set_slice(tree, slice_ms * MSEC, true);
	tree_promise(tree, &all.up->node.ent, &min);
	while (tree->now_ns < 2000 * MSEC) {
		if (!all.a->nr_held)
			wait_for(all.a, 64 * KIB);
		if (!all.b->nr_held)
			wait_for(all.b, 64 * KIB);
		if (!all.c->nr_held)
			wait_for(all.c, 64 * KIB);
		leaf = tree_serve(tree, &wake_ns);
		assert_non_null(leaf);
		if (leaf != before) {
			*changes += before && leaf != all.c && before != all.c;
			since_ns = tree->now_ns;
		}
		before = leaf;
		tree->now_ns += MSEC;
		complete_all();
		if (leaf != all.c)
			longest_ns = max(longest_ns, tree->now_ns - since_ns);
	}
	return longest_ns;
}

/* Who is promised all has its turn for longer than a slice.  Below it they end all the same. */
static void turns_end_below_a_promise(void **state)
{
	u32 changes;

	(void)state;
	assert_in_range(longest_below(1000 * MIB, 20, &changes), 19 * MSEC, 20 * MSEC);
	assert_in_range(changes, 70, 100);
}

/* Who is promised some has turns shorter than a slice, each of one below. */
static void a_turn_by_promise_is_of_one_below(void **state)
{
	u32 changes;

	(void)state;
	assert_in_range(longest_below(19 * MIB, 80, &changes), 10 * MSEC, 40 * MSEC);
	assert_int_equal(changes, 0);
}

/* A bio of a's is in flight, for longer than its slice; others wait. */
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

/* It does not keep the turn of a group, which is behind by a little, from another below. */
static void what_hangs_keeps_no_turn(void **state)
{
	const struct family all = have_family(100, false);
	u64 wake_ns;

	(void)state;
	now(all.c, 72 * KIB);
	hang(all.a, all.b, all.c);
	assert_ptr_equal(tree_serve(tree, &wake_ns), all.b);
}

/* Nor if it is itself behind, by bytes: nothing is charged until the device answers. */
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

/* Nor below a group that is. */
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

/* Whose writers pause keeps no turn that is over, though the group's is not. */
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
		TEST(turns_end_below_a_promise),
		TEST(a_turn_by_promise_is_of_one_below),
		TEST(what_hangs_keeps_no_turn),
		TEST(what_hangs_is_not_behind),
		TEST(what_hangs_is_not_behind_below),
		TEST(a_pause_ends_with_the_turn_below),
	};

	return run_cases(cases, argc, argv);
}
