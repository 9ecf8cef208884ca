// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler, rule by rule.
 */
#include <stdlib.h>
#include <string.h>

#define CASE_SETUP	setup
#define CASE_TEARDOWN	teardown
#include "cases.h"
#include "tree.h"

#define KIB	1024U
#define MIB	(1024U * KIB)
#define USEC	1000ULL
#define MSEC	(1000 * USEC)

static struct tree *tree;

static int setup(void **state)
{
	(void)state;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return -1;
	tree_init(tree, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_end(tree);
	free(tree);
	return 0;
}

static struct ioband_bill bill(u32 bytes)
{
	return (struct ioband_bill) { .charge = bytes, .bytes = bytes };
}

static void wait_for(struct tree_leaf *leaf, u32 bytes)
{
	tree_wait(tree, leaf, bill(bytes));
	tree_check(tree);
}

static void now(struct tree_leaf *leaf, u32 bytes)
{
	tree_admit_now(tree, leaf, bill(bytes));
	tree_check(tree);
}

static void complete_all(void)
{
	while (tree->nr_flight) {
		tree_complete(tree, 0);
		tree_check(tree);
	}
}

/* Serve one bio, which completes at once; its leaf has the next one waiting again. */
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

/* How often others are served before @leaf is. */
static u32 served_before(const struct tree_leaf *leaf, u32 bytes)
{
	u32 others;

	for (others = 0; others < 1000000; others++)
		if (serve_backlogged(bytes) == leaf)
			return others;
	fail_msg("starved");
	return 0;
}

/* A few bios waiting, so that a leaf stays backlogged while it is served. */
static void backlog(struct tree_leaf *leaf, u32 bytes)
{
	wait_for(leaf, bytes);
	wait_for(leaf, bytes);
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

/* Half of what a debt can come to is much, at any level. */
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
	assert_false(ioband_leaf_owes_much(&leaf->leaf));
	assert_false(ioband_leaf_owes_much(&below->leaf));
	now(leaf, 2 * MIB);
	now(below, 2 * MIB);
	assert_true(ioband_leaf_owes_much(&leaf->leaf));
	assert_true(ioband_leaf_owes_much(&below->leaf));
	assert_false(ioband_leaf_owes_much(&other->leaf));
	complete_all();
}

/* The creditor is a reader that has now and then nothing waiting. */
static void debt_is_repaid_across_gaps(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	wait_for(b, 4 * KIB);
	for (i = 0; i < 50; i++)
		now(a, MIB);
	tree_complete(tree, 0);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
	tree->now_ns += 10 * USEC;
	backlog(b, MIB);
	backlog(a, MIB);
	assert_in_range(served_before(a, MIB), 49, 51);
}

/* The debtor goes once because the creditor has all its bios in flight. */
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

/* Nor to one that has gone, though nothing has happened since. */
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

/* Inside a group one owes its siblings, and the group owes its own. */
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
	assert_in_range(served_before(a2, MIB), 19, 21);	/* all b's */
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
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);	/* and stays in flight */
	backlog(b, 64 * KIB);
	for (i = 0; i < 100; i++)
		assert_ptr_equal(serve_backlogged(64 * KIB), b);
	backlog(a, 64 * KIB);
	assert_in_range(served_before(b, 64 * KIB), 16, 18);	/* 1 MiB, and b's last one */
}

/*
 * One is served nearly 256 TiB at weight 1, which would be once round; others
 * come back after having been idle for part of that.
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

/* ---- the pipe ------------------------------------------------------------ */

/* As in the essay: a thinks, and keeps its place for a while. */
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

/* A reader: one bio, back from the device, and the next one @think_ns later. */
static void read_once(struct tree_leaf *leaf, u64 think_ns)
{
	u64 wake_ns;

	wait_for(leaf, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	tree->now_ns += 100 * USEC;
	complete_all();
	tree->now_ns += think_ns;
}

/* How long another one waits for a leaf that thinks: until its next bio, it seems. */
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

/* After a minute it is as it was before, within a few bios. */
static void a_pause_does_not_count_as_thinking(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	read_once(a, 60000 * MSEC);
	for (i = 0; i < 10; i++)
		read_once(a, 10 * USEC);
	assert_in_range(grace_of(a), 30 * USEC, 2 * MSEC);
}

/* With something in flight it does not think, it just has nothing to ask for. */
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

/* Else nothing would ever go. */
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

/* The search for the candidate ends when thinkers fill the pipe. */
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
	steps = shim_rb_steps;
	assert_null(ioband_core_pick(&tree->core, tree->now_ns, &wake_ns));
	assert_in_range(shim_rb_steps - steps, 0, 20);
}

/* ---- slices -------------------------------------------------------------- */

/* How many of a leaf's bios may be in flight; leaves them there. */
static u32 depth_of(struct tree_leaf *leaf)
{
	u64 wake_ns;
	u32 depth = 0;

	do {
		wait_for(leaf, 4 * KIB);
	} while (tree_serve(tree, &wake_ns) == leaf && ++depth < TREE_HELD_MAX);
	return depth;
}

/* What comes back within 80 ms: of the disk of the essay, ten at first. */
static void depth_follows_the_device(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	assert_int_equal(depth_of(a), 10);
	tree_withdraw(tree, a);
	for (i = 0; i < 10; i++) {
		tree->now_ns += 40 * MSEC;
		tree_complete(tree, 0);
	}
	assert_in_range(depth_of(a), 2, 3);
}

/* Of 8 ms each: while another one waits, no more than come back in what is left. */
static void depth_ends_with_the_turn(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	wait_for(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	wait_for(b, 4 * KIB);			/* which leaves a half of its slice */
	tree->now_ns += 15 * MSEC;
	assert_int_equal(depth_of(a), 2);	/* three with the one before */
	tree_withdraw(tree, b);
	assert_int_equal(depth_of(a), 7);
}

/* These always have something waiting, 1 ms each; return: who has the device after so long. */
static struct tree_leaf *serve_for(struct tree_leaf *a, struct tree_leaf *b, u32 ms)
{
	struct tree_leaf *leaf;
	u64 wake_ns;

	do {
		if (!a->nr_held)
			wait_for(a, 4 * KIB);
		if (!b->nr_held)
			wait_for(b, 4 * KIB);
		leaf = tree_serve(tree, &wake_ns);
		tree->now_ns += MSEC;
		complete_all();
	} while (--ms);
	return leaf;
}

/* It does not wait for a whole slice, nor for one that has been served before. */
static void who_comes_is_the_next(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	assert_ptr_equal(serve_for(a, b, 210), a);	/* 80, 100, and 30 of the next turn */
	wait_for(c, 4 * KIB);
	assert_ptr_equal(serve_for(a, b, 30), a);
	assert_int_equal(c->nr_held, 1);
	serve_for(a, b, 15);
	assert_int_equal(c->nr_held, 0);
}

/* After its slice one goes on while it is behind: little if it is behind by little. */
static void what_is_left_is_served_at_once(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	assert_ptr_equal(serve_for(a, b, 75), a);
	assert_ptr_equal(serve_for(a, b, 80), b);
	assert_ptr_equal(serve_for(a, b, 15), a);
}

/* But a lot if it is behind by a lot: what it has in flight may be as much as ever. */
static void much_is_left_to_the_heavy(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 1000);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	assert_ptr_equal(serve_for(a, b, 75), a);
	assert_ptr_equal(serve_for(a, b, 85), b);	/* from 80 on */
	assert_ptr_equal(serve_for(a, b, 82), a);	/* so its slice is over */
	tree_withdraw(tree, a);
	assert_int_equal(depth_of(a), 10);		/* of 8 ms each, as is supposed */
}

/* Of one owner, whatever is charged: one byte of a is 16 of b. */
static void streams_share_time(void **state)
{
	struct tree_node *up = tree_add_node(tree, NULL, 100);
	struct tree_leaf *leaf[] = { tree_add_leaf(tree, up, 100), tree_add_leaf(tree, up, 100) };
	u32 i, ms[2] = { 0 };
	u64 wake_ns;

	(void)state;
	up->node.streams = true;
	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 2000; i++) {
		struct tree_leaf *next;

		if (!leaf[0]->nr_held)
			wait_for(leaf[0], 4 * KIB);
		if (!leaf[1]->nr_held)
			wait_for(leaf[1], 64 * KIB);
		next = tree_serve(tree, &wake_ns);
		ms[next == leaf[1]]++;
		tree->now_ns += MSEC;
		complete_all();
	}
	assert_in_range(ms[0], 900, 1100);
}

/* A leaf for what would have been another's bios begins where that one is. */
static void who_follows_begins_no_earlier(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	wait_for(b, 4 * KIB);
	now(a, MIB);
	ioband_leaf_follow(&c->leaf, &a->leaf);
	wait_for(c, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* From one bio to the next it is idle, and the device is not slow. */
static void idling_is_not_slow(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 20; i++)
		read_once(a, 1000 * MSEC);
	assert_int_equal(depth_of(a), 10);
}

/*
 * What goes out of turn has no slice whose time could be charged.  It costs what one
 * of the leaf's bios has lately taken: 8 ms at first.  So b is served until it is past
 * them, and until its slice ends.
 */
static void what_is_urgent_costs_time(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, MSEC, true);
	wait_for(b, 4 * KIB);
	now(a, 4 * KIB);
	complete_all();
	wait_for(a, 4 * KIB);
	for (i = 0; i < 9; i++) {
		assert_ptr_equal(tree_serve(tree, &wake_ns), b);
		wait_for(b, 4 * KIB);
		tree->now_ns += MSEC;
		complete_all();
	}
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
}

/* A leaf writes into the device's cache, and is done with it. */
static void write_cached(struct tree_leaf *leaf, u32 bytes)
{
	u64 wake_ns;

	tree_wait(tree, leaf, (struct ioband_bill) {
		.charge = bytes, .bytes = bytes, .cached = true,
	});
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	tree->now_ns += MSEC;
	complete_all();
	tree->now_ns += 10 * MSEC;	/* longer than anybody is waited for */
}

/* Until what one has written is on the medium, the device is not another's. */
static void a_turn_ends_with_a_flush(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns, vtime;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	for (i = 0; i < 4; i++)
		write_cached(a, 512 * KIB);	/* its own: no need to flush */
	assert_false(tree->flushing);
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree->now_ns += 400 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));
	vtime = a->leaf.ent.vtime;
	tree_end_flush(tree);
	/* 256 ms were expected, and paid for; 400 it was. */
	vtime = (a->leaf.ent.vtime - vtime) >> 16;
	assert_in_range(vtime, 144 * MSEC / 10 / 100 - 1, 144 * MSEC / 10 / 100);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_null(tree->core.writer);
}

/* Nor between those of one owner; all the same it ends before another's turn. */
static void what_its_owner_writes_is_in_its_own_way(void **state)
{
	struct tree_node *up = tree_add_node(tree, NULL, 100);
	struct tree_leaf *a = tree_add_leaf(tree, up, 100);
	struct tree_leaf *b = tree_add_leaf(tree, up, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	up->node.streams = true;
	tree_set_slice(tree, 80 * MSEC, true);
	write_cached(a, 1024 * KIB);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
	tree->now_ns += 10 * MSEC;
	wait_for(c, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
}

/* Nobody pays for the time of a flush as its owner, too, nor for long in advance. */
static void a_flush_is_paid_for_once(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns, vtime;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	for (i = 0; i < 3; i++)
		tree_wait(tree, a, (struct ioband_bill) {
			.charge = 1024 * KIB, .bytes = 1024 * KIB, .cached = true,
		});
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	vtime = a->leaf.ent.vtime;
	tree->now_ns += 50 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));
	tree_end_flush(tree);
	assert_int_equal(a->leaf.ent.vtime, vtime);
	assert_int_equal(a->leaf.prepaid_ns, 20 * MSEC);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* What the medium has in less time than a flush takes is left, until it is more. */
static void small_writes_gather(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 15; i++) {
		write_cached(a, 4 * KIB);
		wait_for(b, 4 * KIB);
		assert_ptr_equal(tree_serve(tree, &wake_ns), b);
		complete_all();
		tree->now_ns += 10 * MSEC;
	}
	write_cached(a, 4 * KIB);
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree_end_flush(tree);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* A leaf may go while what it has written is being flushed, or is still to be. */
static void a_writer_may_go(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	write_cached(a, 1024 * KIB);
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree_withdraw(tree, b);
	tree_remove_leaf(tree, a);
	assert_null(tree->core.writer);
	tree_end_flush(tree);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* What thinks, and would be next, is waited for before a turn is prolonged. */
static void a_turn_is_not_prolonged_before_who_thinks(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, 10 * MSEC, true);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	for (i = 0; i < 3; i++)
		tree_wait(tree, a, (struct ioband_bill) {
			.charge = 1024 * KIB, .bytes = 1024 * KIB, .cached = true,
		});
	tree->now_ns += 12 * MSEC;
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, b->leaf.think_until_ns);
	tree->now_ns = wake_ns;
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
}

/* ---- maxima -------------------------------------------------------------- */

static struct ioband_bill bill_that_way(u32 bytes, enum ioband_way way)
{
	return (struct ioband_bill) { .charge = bytes, .bytes = bytes, .ios = 1, .way = way };
}

static void wait_that_way(struct tree_leaf *leaf, u32 bytes, enum ioband_way way)
{
	tree_wait(tree, leaf, bill_that_way(bytes, way));
	tree_check(tree);
}

static void bound_bytes(struct ioband_ent *ent, u64 reads, u64 writes)
{
	const struct ioband_rates rates = { .bytes = { reads, writes } };

	tree_set_rates(tree, ent, &rates);
	tree_check(tree);
}

/*
 * For so long: keep each of the leaves backlogged with reads, complete all at once, and
 * go on when the core says so, @late_ns after that.  Counts what each was served.
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
				wait_that_way(leaves[i], bytes, IOBAND_WAY_READ);
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

static void a_maximum_of_odd_size_is_exact(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const struct ioband_rates rates = { .ios = { 70001, 0 } };
	u32 served;

	(void)state;
	tree_set_rates(tree, &leaf->leaf.ent, &rates);
	run_backlogged(&leaf, &served, 1, 4 * KIB, 10000 * MSEC, 0);
	assert_in_range(served, 700010, 700010 + 70 + 1);	/* 1 ms is made good */
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
	tree_set_rates(tree, &leaf->leaf.ent, &rates);
	run_backlogged(&leaf, &served, 1, 4 * KIB, 1000 * MSEC, 0);
	assert_in_range(served, 100, 101);
	run_backlogged(&leaf, &served, 1, MIB, 1000 * MSEC, 0);
	assert_in_range(served, 10, 11);
}

/* The pieces of a bio count as one, and are not held up by what the first has used up. */
static void pieces_count_once(void **state)
{
	struct tree_leaf *leaf = tree_add_leaf(tree, NULL, 100);
	const struct ioband_rates rates = { .ios = { 1, 0 } };
	struct ioband_bill piece = bill_that_way(4 * KIB, IOBAND_WAY_READ);
	const u64 start_ns = tree->now_ns;
	u64 wake_ns;
	int i;

	(void)state;
	tree_set_rates(tree, &leaf->leaf.ent, &rates);
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
	wait_that_way(leaf, MIB, IOBAND_WAY_WRITE);
	wait_that_way(leaf, MIB, IOBAND_WAY_WRITE);
	wait_that_way(leaf, MIB, IOBAND_WAY_READ);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_int_equal(leaf->held[0].way, IOBAND_WAY_WRITE);
	assert_int_equal(leaf->nr_held, 1);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, start_ns + 999 * MSEC);
	complete_all();
}

/* Below a maximum weights count, and it does not matter who is bounded above. */
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

/* Nobody is held up by one that has had its maximum. */
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

/* What waited below a maximum while siblings went has not saved up for later. */
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
		wait_that_way(writer, 64 * KIB, IOBAND_WAY_WRITE);
	run_backlogged(&reader, &served, 1, MIB, 100 * MSEC, 0);
	tree_set_rates(tree, &node->node.ent, NULL);
	for (i = 0; i < 5; i++)
		wait_that_way(reader, MIB, IOBAND_WAY_READ);
	/* A lag of 1 MiB is allowed. */
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
	tree_admit_now(tree, leaf, bill_that_way(5 * MIB, IOBAND_WAY_READ));
	wait_that_way(leaf, MIB, IOBAND_WAY_READ);
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
		assert_int_equal(ioband_leaf_is_far_ahead(&tree->core, &leaf->leaf,
							  IOBAND_WAY_READ, tree->now_ns), i > 5);
		tree_admit_now(tree, leaf, bill_that_way(MIB, IOBAND_WAY_READ));
	}
	assert_false(ioband_leaf_is_far_ahead(&tree->core, &leaf->leaf, IOBAND_WAY_WRITE,
					      tree->now_ns));
	wait_that_way(leaf, MIB, IOBAND_WAY_READ);
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
	tree_set_rates(tree, &leaf->leaf.ent, NULL);
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
	bound_bytes(&leaf->leaf.ent, 1, 100);	/* the same one for reads */
	assert_null(tree_serve(tree, &wake_ns));
	bound_bytes(&leaf->leaf.ent, MIB, 100);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	assert_null(tree_serve(tree, &wake_ns));
	complete_all();
}

/* With slices: who has had its maximum gives the device away. */
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

/* Nor does who waits for a maximum shorten the turn of another one. */
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
	write.way = IOBAND_WAY_WRITE;
	tree_set_slice(tree, 80 * MSEC, false);
	bound_bytes(&up->node.ent, MIB, 0);
	wait_for(c, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), c);	/* a second's worth */
	complete_all();
	tree->now_ns += 10 * MSEC;		/* c is not waited for any more */
	wait_for(b, 4 * KIB);			/* which has been served least */
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

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(order_is_that_of_the_essay),
		TEST(debt_is_repaid),
		TEST(debt_is_repaid_across_gaps),
		TEST(debt_outlives_a_turn),
		TEST(debt_is_bounded),
		TEST(a_large_debt_is_known),
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
		TEST(only_an_idle_one_thinks),
		TEST(one_may_always_be_in_flight),
		TEST(many_thinkers_cost_little),
		TEST(depth_follows_the_device),
		TEST(depth_ends_with_the_turn),
		TEST(who_comes_is_the_next),
		TEST(what_is_left_is_served_at_once),
		TEST(much_is_left_to_the_heavy),
		TEST(streams_share_time),
		TEST(who_follows_begins_no_earlier),
		TEST(idling_is_not_slow),
		TEST(what_is_urgent_costs_time),
		TEST(a_turn_ends_with_a_flush),
		TEST(what_its_owner_writes_is_in_its_own_way),
		TEST(a_flush_is_paid_for_once),
		TEST(small_writes_gather),
		TEST(a_writer_may_go),
		TEST(a_turn_is_not_prolonged_before_who_thinks),
		TEST(a_maximum_is_exact),
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
		TEST(a_turn_ends_with_the_maximum),
		TEST(who_is_held_back_is_not_made_way_for),
	};

	return run_cases(cases, argc, argv);
}
