// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maxima, rule by rule.
 */
#include <string.h>

#include "args.h"
#include "rules.h"

static struct ioband_bill bill_that_way(u32 bytes, enum ioband_dir dir)
{
	return (struct ioband_bill) { .charge = bytes, .bytes = bytes, .ios = 1, .dir = dir };
}

static void wait_that_way(struct tree_leaf *leaf, u32 bytes, enum ioband_dir dir)
{
	tree_wait(tree, leaf, bill_that_way(bytes, dir));
	tree_check(tree);
}

static void bound_bytes(struct ioband_ent *ent, u64 reads, u64 writes)
{
	const struct ioband_rates rates = { .bytes = { reads, writes } };

	tree_set_max(tree, ent, &rates);
	tree_check(tree);
}

/*
 * For @ns: keep each leaf backlogged with reads, complete all at once, and continue @late_ns
 * after the core's wakeup time.  Counts the bios of each leaf.
 */
static void run_backlogged(struct tree_leaf **leaves, u32 *served, u32 nr, u32 bytes, u64 ns,
			   u64 late_ns)
{
	const u64 end_ns = tree->now_ns + ns;
	u64 wake_ns;
	u32 i;

	memset(served, 0, nr * sizeof(*served));
	while (tree->now_ns < end_ns) {
		struct tree_leaf *leaf;

		for (i = 0; i < nr; i++)
			if (!leaves[i]->nr_held)
				wait_that_way(leaves[i], bytes, IOBAND_DIR_READ);
		leaf = tree_serve(tree, &wake_ns);
		for (i = 0; i < nr; i++)
			served[i] += leaf == leaves[i];
		complete_all();
		if (leaf)
			tree->now_ns += 10 * USEC;
		else
			tree->now_ns = wake_ns + late_ns;
	}
}

static void a_maximum_is_exact(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u32 served;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 10 * MIB, 0);
	run_backlogged(&leaf, &served, 1, 64 * KIB, 10000 * MSEC, 0);
	assert_in_range(served, 1600, 1601);
}

/* The largest bio and rate: no product overflows. */
static void the_largest_maximum_is_exact(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u32 served;

	(void)state;
	bound_bytes(&leaf->leaf.ent, IOBAND_RATE_MAX, 0);
	run_backlogged(&leaf, &served, 1, U32_MAX, 10000 * MSEC, 0);
	assert_in_range(served, 2560, 2561);
}

static void a_maximum_of_odd_size_is_exact(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const struct ioband_rates rates = { .ios = { 70001, 0 } };
	u32 served;

	(void)state;
	tree_set_max(tree, &leaf->leaf.ent, &rates);
	run_backlogged(&leaf, &served, 1, 4 * KIB, 10000 * MSEC, 0);
	assert_in_range(served, 700010, 700010 + 70 + 1);	/* 1 ms is made up */
}

static void lateness_is_made_good(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u32 served;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 10 * MIB, 0);
	run_backlogged(&leaf, &served, 1, 64 * KIB, 10000 * MSEC, 900 * USEC);
	assert_in_range(served, 1599, 1601);
}

static void nobody_saves_up(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u32 served;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 10 * MIB, 0);
	run_backlogged(&leaf, &served, 1, 64 * KIB, 100 * MSEC, 0);
	tree->now_ns += 10000 * MSEC;
	run_backlogged(&leaf, &served, 1, 64 * KIB, 100 * MSEC, 0);
	assert_in_range(served, 16, 17);
}

static void both_bounds_hold(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const struct ioband_rates rates = { .bytes = { 10 * MIB, 0 }, .ios = { 100, 0 } };
	u32 served;

	(void)state;
	tree_set_max(tree, &leaf->leaf.ent, &rates);
	run_backlogged(&leaf, &served, 1, 4 * KIB, 1000 * MSEC, 0);
	assert_in_range(served, 100, 101);
	run_backlogged(&leaf, &served, 1, MIB, 1000 * MSEC, 0);
	assert_in_range(served, 10, 11);
}

/* The splits of a bio count as one I/O, and the bucket of the first does not delay the others. */
static void pieces_count_once(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const struct ioband_rates rates = { .ios = { 1, 0 } };
	struct ioband_bill piece = bill_that_way(4 * KIB, IOBAND_DIR_READ);
	const u64 start_ns = tree->now_ns;
	u64 wake_ns;
	int i;

	(void)state;
	tree_set_max(tree, &leaf->leaf.ent, &rates);
	for (i = 0; i < 10; i++) {
		piece.ios = !i;
		piece.more = i < 9;
		tree_wait(tree, leaf, piece);
		assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	}
	tree_wait(tree, leaf, piece);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, start_ns + 999 * MSEC);
	complete_all();
}

static void the_other_way_is_free(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const u64 start_ns = tree->now_ns;
	u64 wake_ns;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 0, MIB);
	wait_that_way(leaf, MIB, IOBAND_DIR_WRITE);
	wait_that_way(leaf, MIB, IOBAND_DIR_WRITE);
	wait_that_way(leaf, MIB, IOBAND_DIR_READ);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_int_equal(leaf->held[0].dir, IOBAND_DIR_WRITE);
	assert_int_equal(leaf->nr_held, 1);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, start_ns + 999 * MSEC);
	complete_all();
}

/* Weights count below a maximum of a parent. */
static void weights_count_below_a_maximum(void **state)
{
	struct tree_node *node = tree_add_node(tree, NULL, 100);
	struct tree_leaf *leaves[] = {
		tree_add_leaf(tree, node, 200), tree_add_leaf(tree, node, 100),
	};
	u32 served[2];

	(void)state;
	bound_bytes(&node->node.ent, 10 * MIB, 0);
	run_backlogged(leaves, served, 2, 64 * KIB, 6000 * MSEC, 0);
	assert_in_range(served[0], 639, 641);
	assert_in_range(served[1], 319, 321);
}

static void the_least_of_all_levels_holds(void **state)
{
	struct tree_node *node = tree_add_node(tree, NULL, 100);
	struct tree_leaf *leaves[] = {
		tree_add_leaf(tree, node, 100), tree_add_leaf(tree, node, 100),
	};
	u32 served[2];

	(void)state;
	bound_bytes(&node->node.ent, 10 * MIB, 0);
	bound_bytes(&leaves[0]->leaf.ent, 1 * MIB, 0);
	run_backlogged(leaves, served, 2, 64 * KIB, 6000 * MSEC, 0);
	assert_in_range(served[0], 96, 97);
	assert_in_range(served[1], 863, 865);
}

/* A group at its maximum delays no other group. */
static void the_rest_is_the_others(void **state)
{
	struct tree_leaf *leaves[] = {
		tree_add_leaf(tree, NULL, 1000), tree_add_leaf(tree, NULL, 1),
	};
	u32 served[2];

	(void)state;
	bound_bytes(&leaves[0]->leaf.ent, 1 * MIB, 0);
	run_backlogged(leaves, served, 2, 64 * KIB, 1000 * MSEC, 0);
	assert_in_range(served[0], 16, 17);
	assert_in_range(served[1], 100000 - 17, 100000);
}

/* A bio that a maximum held while siblings were served builds up no lag for later. */
static void passed_over_is_not_behind(void **state)
{
	struct tree_node *node = tree_add_node(tree, NULL, 100);
	struct tree_leaf *reader = tree_add_leaf(tree, node, 100);
	struct tree_leaf *writer = tree_add_leaf(tree, node, 100);
	u32 served, before = 0;
	int i;

	(void)state;
	bound_bytes(&node->node.ent, 0, 100 * KIB);
	for (i = 0; i < 60; i++)
		wait_that_way(writer, 64 * KIB, IOBAND_DIR_WRITE);
	run_backlogged(&reader, &served, 1, MIB, 100 * MSEC, 0);
	tree_set_max(tree, &node->node.ent, NULL);
	for (i = 0; i < 5; i++)
		wait_that_way(reader, MIB, IOBAND_DIR_READ);
	/* A lag of 1 MiB is permitted. */
	for (i = 0; i < 60 && reader->nr_held == 5; i++, before++) {
		u64 wake_ns;

		tree_serve(tree, &wake_ns);
		complete_all();
	}
	assert_in_range(before, 10, 40);
}

static void out_of_turn_is_paid_for(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const u64 start_ns = tree->now_ns;
	u64 wake_ns;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 10 * MIB, 0);
	tree_admit_now(tree, leaf, bill_that_way(5 * MIB, IOBAND_DIR_READ));
	wait_that_way(leaf, MIB, IOBAND_DIR_READ);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, start_ns + 499 * MSEC);
	complete_all();
}

static void debts_to_a_maximum_are_bounded(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const u64 start_ns = tree->now_ns;
	u64 wake_ns;
	int i;

	(void)state;
	bound_bytes(&leaf->leaf.ent, MIB, 0);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(ioband_max_is_far_ahead(&tree->core, &leaf->leaf,
							 IOBAND_DIR_READ, tree->now_ns), i > 5);
		tree_admit_now(tree, leaf, bill_that_way(MIB, IOBAND_DIR_READ));
	}
	assert_false(ioband_max_is_far_ahead(&tree->core, &leaf->leaf, IOBAND_DIR_WRITE,
					     tree->now_ns));
	wait_that_way(leaf, MIB, IOBAND_DIR_READ);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, start_ns + 10000 * MSEC);
	complete_all();
}

static void a_maximum_that_goes_lets_go(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 1, 0);
	backlog(leaf, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_null(tree_serve(tree, &wake_ns));
	tree_set_max(tree, &leaf->leaf.ent, NULL);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	complete_all();
}

static void another_maximum_holds_at_once(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	bound_bytes(&leaf->leaf.ent, 1, 0);
	backlog(leaf, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	bound_bytes(&leaf->leaf.ent, 1, 100);	/* the same value for reads */
	assert_null(tree_serve(tree, &wake_ns));
	bound_bytes(&leaf->leaf.ent, MIB, 100);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_null(tree_serve(tree, &wake_ns));
	complete_all();
}

/* Dispatch times of a group's bios. */
struct went {
	u64 at_ns[4000];
	u32 nr;
};

/*
 * For @ns: a and b are backlogged.  Bios of a have @bytes and take the device 1 ms, bios of b
 * take @other_ns.  Records the dispatch times of a.
 */
static void run_turns(struct tree_leaf *a, u32 bytes, struct tree_leaf *b, u64 other_ns, u64 ns,
		      struct went *went)
{
	const u64 end_ns = tree->now_ns + ns;
	u64 wake_ns;

	while (tree->now_ns < end_ns) {
		struct tree_leaf *leaf;

		if (!a->nr_held)
			wait_that_way(a, bytes, IOBAND_DIR_READ);
		if (b && !b->nr_held)
			wait_that_way(b, 64 * KIB, IOBAND_DIR_READ);
		leaf = tree_serve(tree, &wake_ns);
		if (!leaf) {
			tree->now_ns = max(wake_ns, tree->now_ns + 1);
			continue;
		}
		if (leaf == a && went->nr < 4000)
			went->at_ns[went->nr++] = tree->now_ns;
		tree->now_ns += leaf == a ? MSEC : other_ns;
		complete_all();
	}
}

/* The most dispatches in an interval of @ns. */
static u32 most_within(const struct went *went, u64 ns)
{
	u32 first, end = 0, most = 0;

	for (first = 0; first < went->nr; first++) {
		while (end < went->nr && went->at_ns[end] < went->at_ns[first] + ns)
			end++;
		most = max(most, end - first);
	}
	return most;
}

/* With slices: slices of others cost a group nothing of its maximum, and add nothing to it. */
static void turns_are_made_good(const struct ioband_rates *rates, u32 bytes, u32 per_second)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct went went = {};

	tree_set_slice(tree, 150 * MSEC, false);
	tree_set_max(tree, &a->leaf.ent, rates);
	run_turns(a, bytes, b, 10 * MSEC, 20000 * MSEC, &went);
	/* The trail's limit on a second costs some. */
	assert_in_range(went.nr, 20 * per_second * 85 / 100, 20 * per_second + 2);
	assert_in_range(most_within(&went, 1000 * MSEC), per_second, per_second * 33 / 32 + 1);
}

static void others_turns_are_made_good(void **state)
{
	(void)state;
	turns_are_made_good(&(struct ioband_rates) { .bytes = { 3 * MIB, 0 } }, 64 * KIB, 48);
}

static void large_bios_are_made_good(void **state)
{
	(void)state;
	turns_are_made_good(&(struct ioband_rates) { .bytes = { 2 * MIB, 0 } }, 256 * KIB, 8);
}

static void others_turns_are_made_good_in_ios(void **state)
{
	(void)state;
	turns_are_made_good(&(struct ioband_rates) { .ios = { 48, 0 } }, 64 * KIB, 48);
}

/* Others had the device for ten seconds: a is eligible, and ten seconds behind its maximum. */
static struct tree_leaf *kept_for_long(u64 rate)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct went went = {};

	tree_set_slice(tree, 100 * MSEC, false);
	bound_bytes(&a->leaf.ent, rate, 0);
	run_turns(a, 64 * KIB, b, 10 * MSEC, 1000 * MSEC, &went);
	run_turns(a, 64 * KIB, b, 10000 * MSEC, 10000 * MSEC, &went);
	return a;
}

/* After a long wait a group gets a second's worth at once, and then an even rate. */
static void a_second_is_made_good_in(u32 bytes, u32 per_second)
{
	struct tree_leaf *a = kept_for_long(3 * MIB);
	struct went first = {}, then = {};

	run_turns(a, bytes, NULL, 0, 900 * MSEC, &first);
	assert_in_range(first.nr, per_second - 1, per_second * 33 / 32 + 1);
	run_turns(a, bytes, NULL, 0, 4000 * MSEC, &then);
	assert_in_range(then.nr, 4 * per_second * 7 / 8, 4 * per_second * 9 / 8);
	assert_in_range(most_within(&then, 250 * MSEC), per_second / 4, per_second / 4 + 1);
}

static void a_second_is_made_good(void **state)
{
	(void)state;
	a_second_is_made_good_in(64 * KIB, 48);
}

static void a_second_of_large_bios_is_made_good(void **state)
{
	(void)state;
	a_second_is_made_good_in(256 * KIB, 12);
}

/* Earlier dispatches do not count for a new maximum. */
static void another_maximum_forgets_what_went(void **state)
{
	struct tree_leaf *a = kept_for_long(3 * MIB);
	struct went went = {};

	(void)state;
	run_turns(a, 64 * KIB, NULL, 0, 48 * MSEC, &went);	/* a second's worth */
	bound_bytes(&a->leaf.ent, 30 * MIB, 0);
	went.nr = 0;
	run_turns(a, 64 * KIB, NULL, 0, 100 * MSEC, &went);
	assert_in_range(went.nr, 47, 50);
}

/* Time without bios is not made up. */
static void a_pause_is_not_made_good(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct went went = {};
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 100 * MSEC, false);
	bound_bytes(&a->leaf.ent, 2 * MIB, 0);
	wait_that_way(a, 64 * KIB, IOBAND_DIR_READ);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	tree->now_ns += 50 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));	/* no longer blocked */
	tree->now_ns += 5000 * MSEC;
	run_turns(a, 64 * KIB, NULL, 0, 500 * MSEC, &went);
	assert_in_range(went.nr, 16, 16 + 2);
}

/* With slices: a group at its maximum gives up the device. */
static void a_turn_ends_with_the_maximum(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 1000);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 1);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 100 * MSEC, false);
	bound_bytes(&a->leaf.ent, MIB, 0);
	backlog(a, 64 * KIB);
	backlog(b, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
}

/* A leaf held by a maximum does not shorten the slice of another. */
static void who_is_held_back_is_not_made_way_for(void **state)
{
	struct tree_node *up = tree_add_node(tree, NULL, 100);
	struct tree_leaf *a = tree_add_leaf(tree, up, 100);
	struct tree_leaf *b = tree_add_leaf(tree, up, 100);
	struct tree_leaf *c = tree_add_leaf(tree, up, 100);
	struct ioband_bill write = bill(4 * KIB);
	u64 wake_ns;
	u32 ms, depth;

	(void)state;
	write.dir = IOBAND_DIR_WRITE;
	tree_set_slice(tree, 80 * MSEC, false);
	bound_bytes(&up->node.ent, MIB, 0);
	wait_for(c, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), c);	/* a second's worth */
	complete_all();
	tree->now_ns += 10 * MSEC;		/* anticipation for c has ended */
	wait_for(b, 4 * KIB);			/* b is the least served */
	for (ms = 0; ms < 100; ms++) {
		tree_wait(tree, a, write);
		assert_ptr_equal(tree_serve(tree, &wake_ns), a);
		tree->now_ns += MSEC;
		complete_all();
	}
	for (depth = 0; depth < 10; depth++) {
		tree_wait(tree, a, write);
		assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	}
	complete_all();
}

/* As far as a maximum keeps bios queued, the limit does not. */
static void a_block_is_not_the_limit(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	bound_bytes(&leaf->leaf.ent, MIB, 0);
	wait_for(leaf, MIB);
	wait_for(leaf, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(ioband_core_held_ns(&tree->core, wake_ns), 0);
	ioband_max_expire(&tree->core, wake_ns);
	assert_int_equal(ioband_core_held_ns(&tree->core, wake_ns + MSEC), MSEC);
	tree->now_ns = wake_ns;
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	complete_all();
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(a_maximum_is_exact),
		TEST(the_largest_maximum_is_exact),
		TEST(a_maximum_of_odd_size_is_exact),
		TEST(lateness_is_made_good),
		TEST(nobody_saves_up),
		TEST(both_bounds_hold),
		TEST(pieces_count_once),
		TEST(the_other_way_is_free),
		TEST(weights_count_below_a_maximum),
		TEST(the_least_of_all_levels_holds),
		TEST(the_rest_is_the_others),
		TEST(passed_over_is_not_behind),
		TEST(out_of_turn_is_paid_for),
		TEST(debts_to_a_maximum_are_bounded),
		TEST(a_maximum_that_goes_lets_go),
		TEST(another_maximum_holds_at_once),
		TEST(others_turns_are_made_good),
		TEST(large_bios_are_made_good),
		TEST(others_turns_are_made_good_in_ios),
		TEST(a_second_is_made_good),
		TEST(a_second_of_large_bios_is_made_good),
		TEST(another_maximum_forgets_what_went),
		TEST(a_pause_is_not_made_good),
		TEST(a_turn_ends_with_the_maximum),
		TEST(who_is_held_back_is_not_made_way_for),
		TEST(a_block_is_not_the_limit),
	};

	return run_cases(cases, argc, argv);
}
