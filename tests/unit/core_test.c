// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler, rule by rule: virtual time, weights, the in-flight limit.
 */
#include "rules.h"

/* Serve one bio, which completes at once, and queue the next one of its leaf. */
static struct tree_leaf *serve_backlogged(u32 bytes)
{
	struct tree_leaf *leaf;
	u64 wake_ns;

	leaf = tree_serve(tree, &wake_ns);
	if (!leaf)
		return NULL;
	wait_for(leaf, bytes);
	tree_complete(tree, tree->nr_flight - 1);
	tree_check(tree);
	return leaf;
}

/* The number of bios served before the first one of @leaf. */
static u32 served_before(const struct tree_leaf *leaf, u32 bytes)
{
	u32 others;

	for (others = 0; others < 1000000; others++)
		if (serve_backlogged(bytes) == leaf)
			return others;
	fail_msg("starved");
	return 0;
}

/* ---- virtual time -------------------------------------------------------- */

static void order_is_that_of_the_essay(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 200);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	const char *order = "abaabaabaaba";

	(void)state;
	backlog(a, 64 * KIB);
	backlog(b, 64 * KIB);
	for (; *order; order++)
		assert_ptr_equal(serve_backlogged(64 * KIB), *order == 'a' ? a : b);
}

static void debt_is_repaid(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 200);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);

	(void)state;
	backlog(b, 64 * KIB);
	now(a, MIB);
	complete_all();
	backlog(a, 64 * KIB);
	assert_in_range(served_before(a, 64 * KIB), 8, 9);
}

/* Half of the limit of a debt is much, at any level. */
static void a_large_debt_is_known(void **state)
{
	struct tree_node *node = tree_add_node(tree, NULL, 1);
	struct tree_leaf *below = tree_add_leaf(tree, node, 10000);
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 10000);
	struct tree_leaf *other = tree_add_leaf(tree, NULL, 100);

	(void)state;
	backlog(other, 64 * KIB);
	now(leaf, 31 * MIB);
	now(below, 31 * MIB);
	assert_false(ioband_tree_is_in_debt(&leaf->leaf, false));
	assert_false(ioband_tree_is_in_debt(&below->leaf, false));
	now(leaf, 2 * MIB);
	now(below, 2 * MIB);
	assert_true(ioband_tree_is_in_debt(&leaf->leaf, false));
	assert_true(ioband_tree_is_in_debt(&below->leaf, false));
	assert_false(ioband_tree_is_in_debt(&other->leaf, false));
	complete_all();
}

/* A new leaf owes 50 MiB to another one, which has a bio queued. */
static struct tree_leaf *add_debtor(struct tree_leaf *other)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	u32 i;

	wait_for(other, 4 * KIB);
	for (i = 0; i < 50; i++)
		now(leaf, MIB);
	return leaf;
}

/* An idle leaf owes to busy siblings. */
static void an_idle_leaf_owes(void **state)
{
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a = add_debtor(b);
	u64 wake_ns;

	(void)state;
	complete_all();
	tree->now_ns += 1000000 * USEC;
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_false(ioband_tree_is_in_debt(&a->leaf, false));
	assert_true(ioband_tree_is_in_debt(&a->leaf, true));
	assert_false(ioband_tree_is_in_debt(&b->leaf, true));
	complete_all();
}

/* The creditor is a reader that at times has no bio queued. */
static void debt_is_repaid_across_gaps(void **state)
{
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a = add_debtor(b);
	u64 wake_ns;

	(void)state;
	tree_complete(tree, 0);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
	tree->now_ns += 10 * USEC;
	backlog(b, MIB);
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 49, 51);
}

/* The debtor is served once while the creditor has all its bios in flight. */
static void debt_outlives_a_turn(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	wait_for(b, MIB);
	for (i = 0; i < 50; i++)
		now(a, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	backlog(a, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	backlog(b, MIB);
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 49, 51);
}

static void debt_is_bounded(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 200);
	u32 i;

	(void)state;
	backlog(b, MIB);
	for (i = 0; i < 1000; i++)
		now(a, MIB);
	complete_all();
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 127, 130);	/* 64 MiB, twice the weight */
}

static void nothing_is_owed_to_nobody(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 50; i++)
		now(a, MIB);
	complete_all();
	backlog(b, MIB);
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 0, 2);	/* its last one */
}

/* A leaf that has gone is no creditor, even without any event since. */
static void nothing_is_owed_to_who_has_gone(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	now(b, 4 * KIB);
	complete_all();
	tree->now_ns += 10 * MSEC;
	for (i = 0; i < 50; i++)
		now(a, MIB);
	complete_all();
	backlog(b, MIB);
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 0, 2);
}

/* A leaf inside a group has a debt to its siblings, and the group to its own. */
static void debt_counts_at_every_level(void **state)
{
	struct tree_node *group = tree_add_node(tree, NULL, 100);
	struct tree_leaf *a1 = tree_add_leaf(tree, group, 100);
	struct tree_leaf *a2 = tree_add_leaf(tree, group, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	backlog(a2, MIB);
	backlog(b, MIB);
	for (i = 0; i < 20; i++)
		now(a1, MIB);
	complete_all();
	backlog(a1, MIB);
	assert_in_range(served_before(a2, MIB), 19, 21);	/* all of b's bios */
	assert_in_range(served_before(a1, MIB), 38, 42);	/* 20 of a2's, as many of b's */
}

static void idling_earns_nothing(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	backlog(b, MIB);
	for (i = 0; i < 100; i++)
		assert_ptr_equal(serve_backlogged(MIB), b);
	backlog(a, MIB);
	for (i = 0; i < 10; i++)
		assert_in_range(served_before(b, MIB), 0, 2);
}

static void being_slow_earns_little(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	wait_for(a, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);	/* the bio stays in flight */
	backlog(b, 64 * KIB);
	for (i = 0; i < 100; i++)
		assert_ptr_equal(serve_backlogged(64 * KIB), b);
	backlog(a, 64 * KIB);
	assert_in_range(served_before(b, 64 * KIB), 16, 18);	/* 1 MiB, and b's last one */
}

/*
 * A leaf of weight 1 is served nearly 256 TiB, which would wrap virtual time once.  Others
 * return after having been idle for part of that.
 */
static void idle_while_time_goes_round(void **state)
{
	struct tree_leaf *busy = tree_add_leaf(tree, NULL, 1);
	struct tree_leaf *idle[16];
	u32 i, j;

	(void)state;
	for (i = 0; i < 16; i++)
		idle[i] = tree_add_leaf(tree, NULL, 100);
	backlog(busy, U32_MAX);
	for (i = 0; i < 16; i++) {
		for (j = 0; j < 4090; j++)
			assert_ptr_equal(serve_backlogged(U32_MAX), busy);
		wait_for(idle[i], MIB);
		assert_in_range(served_before(idle[i], MIB), 0, 2);
		tree_withdraw(tree, idle[i]);
	}
}

/* ---- weights ------------------------------------------------------------- */

static void raised_weight_shows_at_once(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 1);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);

	(void)state;
	backlog(a, MIB);
	backlog(b, MIB);
	served_before(a, MIB);
	tree_set_weight(tree, &a->leaf.ent, 10000);
	tree_check(tree);
	assert_in_range(served_before(a, MIB), 0, 1);
}

static void lowered_weight_shows_at_once(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 10000);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i, of_a;

	(void)state;
	backlog(a, MIB);
	backlog(b, MIB);
	for (i = 0; i < 1010; i++)
		serve_backlogged(MIB);
	tree_set_weight(tree, &a->leaf.ent, 1);
	tree_check(tree);
	for (i = 0, of_a = 0; i < 1000; i++)
		of_a += serve_backlogged(MIB) == a;
	assert_in_range(of_a, 8, 14);
}

static void weight_of_a_node_changes(void **state)
{
	struct tree_node *group = tree_add_node(tree, NULL, 1);
	struct tree_leaf *a = tree_add_leaf(tree, group, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u32 i, of_a = 0;

	(void)state;
	backlog(a, MIB);
	backlog(b, MIB);
	served_before(a, MIB);
	tree_set_weight(tree, &group->node.ent, 300);
	for (i = 0; i < 400; i++)
		of_a += serve_backlogged(MIB) == a;
	assert_in_range(of_a, 299, 301);
}

/* ---- the in-flight limit ------------------------------------------------- */

/* The example of core.c: in its grace period a keeps its place for a while. */
static void thinker_keeps_its_place(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	ioband_core_set_limit(&tree->core, 2, 0);
	wait_for(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	for (i = 0; i < 8; i++)
		wait_for(b, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_null(tree_serve(tree, &wake_ns));
	tree_complete(tree, 0);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, tree->now_ns + 30 * USEC);

	tree->now_ns += 20 * USEC;
	wait_for(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	tree_complete(tree, 1);
	assert_null(tree_serve(tree, &wake_ns));
	assert_in_range(wake_ns - tree->now_ns, 31 * USEC, 70 * USEC);
	tree->now_ns = wake_ns;
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* The wait of another leaf during a leaf's grace period, until the expected next bio. */
static u64 grace_of(struct tree_leaf *leaf)
{
	struct tree_leaf *other = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	now(other, MIB);
	read_once(leaf, 0);
	ioband_core_set_limit(&tree->core, 1, 0);
	wait_for(other, 4 * KIB);
	if (tree_serve(tree, &wake_ns))
		return 0;
	return wake_ns - tree->now_ns;
}

static void grace_follows_the_time_to_think(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 50; i++)
		read_once(a, 300 * USEC);
	read_once(a, 0);		/* one quick one changes little */
	assert_in_range(grace_of(a), 400 * USEC, 630 * USEC);
}

static void grace_ends_after_2_ms(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 50; i++)
		read_once(a, 1900 * USEC);
	assert_int_equal(grace_of(a), 2 * MSEC);
}

static void a_slow_thinker_is_not_waited_for(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 50; i++)
		read_once(a, 3 * MSEC);
	assert_int_equal(grace_of(a), 0);
}

/* After a minute its think time is as before, from the first bio on. */
static void a_pause_does_not_count_as_thinking(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++)
		read_once(a, 10 * USEC);
	read_once(a, 60000 * MSEC);
	assert_in_range(grace_of(a), 30 * USEC, 2 * MSEC);
}

/* Bios before ioband_core_begin() are unknown to the scheduler. */
static void what_was_not_told_does_not_count_as_thinking(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++)
		read_once(a, 10 * USEC);
	tree->now_ns += 10 * MSEC;
	ioband_core_begin(&tree->core, tree->now_ns);
	assert_in_range(grace_of(a), 30 * USEC, 51 * USEC);
}

/* A leaf with a bio in flight is not in a grace period. */
static void only_an_idle_one_thinks(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	wait_for(a, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	for (i = 0; i < 20; i++) {
		wait_for(a, 4 * KIB);
		assert_ptr_equal(tree_serve(tree, &wake_ns), a);
		tree_complete(tree, 1);
		tree->now_ns += 10 * MSEC;
	}
	complete_all();
	assert_in_range(grace_of(a), 30 * USEC, 40 * USEC);
}

/* Otherwise no bio could be dispatched. */
static void one_may_always_be_in_flight(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	ioband_core_set_limit(&tree->core, 0, 0);
	backlog(a, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	assert_null(tree_serve(tree, &wake_ns));
}

static void write_now(struct tree_leaf *leaf)
{
	tree_admit_now(tree, leaf, (struct ioband_bill) {
		.charge = 512, .bytes = 512, .dir = IOBAND_DIR_WRITE,
	});
}

static void swap_out(struct tree_leaf *leaf, u32 ios)
{
	while (ios--)
		tree_admit_now(tree, leaf, (struct ioband_bill) {
			.charge = 512, .bytes = 512, .dir = IOBAND_DIR_WRITE, .swap = true,
		});
}

/* Swap has a bound of its own: it takes no slot from others, and returns none to them. */
static void swap_does_not_use_up_the_limit(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	ioband_core_set_limit(&tree->core, 2, 0);
	swap_out(a, 4);
	assert_int_equal(tree->core.extra_bytes, 4 * 512);
	for (i = 0; i < 3; i++)
		backlog(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_null(tree_serve(tree, &wake_ns));
	for (i = 4; i > 0; i--)
		tree_complete(tree, i - 1);
	assert_int_equal(a->inflight, 0);
	assert_int_equal(tree->core.extra_bytes, 0);
	assert_null(tree_serve(tree, &wake_ns));
	tree_complete(tree, 0);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* Nor is it a slot more beside a minimum: one bio is due, and two are served by weight. */
static void swap_adds_nothing_to_the_limit_of_a_minimum(void **state)
{
	const struct ioband_rates rates = { .bytes = { MIB, 0 } };
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	ioband_core_set_limit(&tree->core, 2, 0);
	tree_set_min(tree, &b->leaf.ent, &rates);
	swap_out(a, 2);
	swap_out(b, 2);
	tree_set_min(tree, &a->leaf.ent, &rates);
	for (i = 0; i < 4; i++)
		backlog(b, 512);
	for (i = 0; i < 3; i++)
		assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(tree->core.min_ios, 1);
	complete_all();
	assert_int_equal(tree->core.min_ios, 0);
	tree_set_min(tree, &a->leaf.ent, NULL);
	tree_set_min(tree, &b->leaf.ent, NULL);
}

/* Others may always follow, so a new slice does not wait for it. */
static void slices_do_not_wait_for_swap(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	ioband_core_set_slice(&tree->core, 100 * MSEC, false, 0);
	swap_out(a, 4);
	backlog(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* A leaf that was idle before its writes out of turn has nothing for which others have to wait. */
static void writes_out_of_turn_are_not_waited_for(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	ioband_core_set_limit(&tree->core, 1, 0);
	backlog(b, 4 * KIB);
	backlog(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	write_now(a);
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
	/* After a bio in turn, those out of turn change nothing. */
	wait_for(a, 512);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	assert_null(tree_serve(tree, &wake_ns));
	write_now(a);
	complete_all();
	assert_null(tree_serve(tree, &wake_ns));
	/* Unless the leaf was idle again before. */
	tree->now_ns += 10 * MSEC;
	write_now(a);
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* The search for the candidate ends when anticipation fills the in-flight limit. */
static void many_thinkers_cost_little(void **state)
{
	struct tree_leaf *leaf;
	u64 wake_ns, steps;
	u32 i;

	(void)state;
	for (i = 0; i < 100; i++) {
		leaf = tree_add_leaf(tree, NULL, 10000);
		wait_for(leaf, 4 * KIB);
	}
	tree_dispatch(tree);
	complete_all();
	leaf = tree_add_leaf(tree, NULL, 1);
	now(leaf, MIB);
	complete_all();
	wait_for(leaf, MIB);
	ioband_core_set_limit(&tree->core, 2, 0);
	steps = shim_steps;
	assert_null(ioband_core_pick(&tree->core, tree->now_ns, &wake_ns));
	assert_in_range(shim_steps - steps, 0, 20);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(order_is_that_of_the_essay),
		TEST(debt_is_repaid),
		TEST(debt_is_repaid_across_gaps),
		TEST(debt_outlives_a_turn),
		TEST(debt_is_bounded),
		TEST(a_large_debt_is_known),
		TEST(an_idle_leaf_owes),
		TEST(nothing_is_owed_to_nobody),
		TEST(nothing_is_owed_to_who_has_gone),
		TEST(debt_counts_at_every_level),
		TEST(idling_earns_nothing),
		TEST(being_slow_earns_little),
		TEST(idle_while_time_goes_round),
		TEST(raised_weight_shows_at_once),
		TEST(lowered_weight_shows_at_once),
		TEST(weight_of_a_node_changes),
		TEST(thinker_keeps_its_place),
		TEST(grace_follows_the_time_to_think),
		TEST(grace_ends_after_2_ms),
		TEST(a_slow_thinker_is_not_waited_for),
		TEST(a_pause_does_not_count_as_thinking),
		TEST(what_was_not_told_does_not_count_as_thinking),
		TEST(only_an_idle_one_thinks),
		TEST(one_may_always_be_in_flight),
		TEST(swap_does_not_use_up_the_limit),
		TEST(swap_adds_nothing_to_the_limit_of_a_minimum),
		TEST(slices_do_not_wait_for_swap),
		TEST(writes_out_of_turn_are_not_waited_for),
		TEST(many_thinkers_cost_little),
	};

	return run_cases(cases, argc, argv);
}
