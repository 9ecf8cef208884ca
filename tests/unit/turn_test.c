// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slices, rule by rule.
 */
#include "rules.h"

#include <linux/minmax.h>

/* Fill a leaf's depth; returns the number of its bios that were dispatched. */
static u32 depth_of(struct tree_leaf *leaf)
{
	u64 wake_ns;
	u32 depth = 0;

	do {
		wait_for(leaf, 4 * KIB);
	} while (tree_serve(tree, &wake_ns) == leaf && ++depth < TREE_HELD_MAX);
	return depth;
}

/* The bios that complete within 80 ms: ten at first, by the assumed 8 ms each. */
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

/* Dispatch as many bios of 4 KiB as a leaf may have in flight. */
static void fill(struct tree_leaf *leaf, bool write)
{
	u64 wake_ns;

	do {
		if (!leaf->nr_held)
			tree_wait(tree, leaf, (struct ioband_bill) {
				.charge = 4 * KIB, .bytes = 4 * KIB, .cached = write,
				.dir = write ? IOBAND_DIR_WRITE : IOBAND_DIR_READ,
			});
	} while (tree_serve(tree, &wake_ns) && tree->nr_flight < TREE_FLIGHT_MAX);
}

/*
 * The queue below merges 128 bios into one request of 3.5 ms, and these complete at once.
 * Return: the largest number in flight.
 */
static u32 merged_depth(bool write)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u32 i, most = 0;

	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 60 * 128; i++) {
		fill(a, write);
		most = max(most, tree->nr_flight);
		tree->now_ns += i % 128 == 127 ? 3500 * USEC : 0;
		tree_complete(tree, 0);
	}
	return most;
}

/* What completes in 80 ms, 27 us each. */
static void bios_that_are_merged_fill_no_more_than_the_turn(void **state)
{
	(void)state;
	assert_in_range(merged_depth(false), 2000, 80000 / 27);
}

/* What completes in 20 ms. */
static void writes_that_are_merged_fill_a_quarter(void **state)
{
	(void)state;
	assert_in_range(merged_depth(true), 500, 20000 / 27);
}

/* A merged request that has all bios in flight: 32 bios in 1 ms. */
static void one_merged_request_has_a_time(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 40; i++) {
		do {
			if (!a->nr_held)
				wait_for(a, 4 * KIB);
		} while (tree->nr_flight < 32 && tree_serve(tree, &wake_ns));
		tree->now_ns += 32 * tree->nr_flight * USEC;
		complete_all();
	}
	fill(a, false);
	assert_in_range(tree->nr_flight, 32, 80000 / 32);
}

/* At 8 ms each: while another leaf waits, only bios that complete in the rest of the slice. */
static void depth_ends_with_the_turn(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	wait_for(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	wait_for(b, 4 * KIB);			/* so a has half of its slice left */
	tree->now_ns += 15 * MSEC;
	assert_int_equal(depth_of(a), 2);	/* three with the one before */
	tree_withdraw(tree, b);
	assert_int_equal(depth_of(a), 7);
}

/* Both leaves are backlogged, 1 ms a bio; return: the slice holder after @ms. */
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

/* A new leaf waits neither for a whole slice nor for a leaf that was served before. */
static void who_comes_is_the_next(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	assert_ptr_equal(serve_for(a, b, 210), a);	/* 80, 100, and 30 of the next slice */
	wait_for(c, 4 * KIB);
	assert_ptr_equal(serve_for(a, b, 30), a);
	assert_int_equal(c->nr_held, 1);
	serve_for(a, b, 15);
	assert_int_equal(c->nr_held, 0);
}

/* After its slice a leaf that is behind continues, for a short time if it is behind by little. */
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

/* A leaf that is far behind continues for long, with its full depth. */
static void much_is_left_to_the_heavy(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 1000);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	assert_ptr_equal(serve_for(a, b, 75), a);
	assert_ptr_equal(serve_for(a, b, 85), b);	/* from 80 ms on */
	assert_ptr_equal(serve_for(a, b, 82), a);	/* so its slice has ended */
	tree_withdraw(tree, a);
	assert_int_equal(depth_of(a), 10);		/* by the assumed 8 ms each */
}

/* Streams of one group share by time, whatever the measure: one byte of a costs 16 of b. */
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

/* A leaf that takes over another's bios begins at the other's virtual time. */
static void who_follows_begins_no_earlier(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	wait_for(b, 4 * KIB);
	now(a, MIB);
	ioband_tree_follow(&c->leaf, &a->leaf);
	wait_for(c, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* Idle time between bios does not make the device slow. */
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
 * A bio that is dispatched out of turn has no slice with a time to charge.  It costs the recent
 * service time of the leaf's bios: 8 ms at first.  So b is served until its virtual time is
 * beyond that, and until its slice ends.
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

/* A leaf writes into the device's cache, and its bio completes. */
static void write_cached(struct tree_leaf *leaf, u32 bytes)
{
	u64 wake_ns;

	tree_wait(tree, leaf, (struct ioband_bill) {
		.charge = bytes, .bytes = bytes, .cached = true,
	});
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	tree->now_ns += MSEC;
	complete_all();
	tree->now_ns += 10 * MSEC;	/* longer than any grace period */
}

/* The next leaf gets the device after a leaf's writes are on the medium. */
static void a_turn_ends_with_a_flush(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns, vtime;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	for (i = 0; i < 4; i++)
		write_cached(a, 512 * KIB);	/* its own slice: no flush */
	assert_false(tree->flushing);
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree->now_ns += 400 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));
	vtime = a->leaf.ent.vtime;
	tree_end_flush(tree);
	/* Its writes alone were free, so it pays for the whole flush. */
	vtime = (a->leaf.ent.vtime - vtime) >> 16;
	assert_in_range(vtime, 400 * MSEC / 10 / 100 - 1, 400 * MSEC / 10 / 100);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_null(tree->core.writer);
}

/* No flush between leaves of one group, but one before the slice of another group. */
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

/* The time of a flush is charged once, not also as slice time, nor long in advance. */
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
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
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

/* Data that the medium takes in less time than a flush are left until they are more. */
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

/* What a flush from above has put onto the medium needs no other flush. */
static void a_flush_from_above_counts(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 covers, wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	write_cached(a, 1024 * KIB);
	covers = ioband_slice_completed_until(&tree->core);
	assert_true(ioband_slice_note_flush(&tree->core, covers, 200 * MSEC));
	assert_null(tree->core.writer);
	wait_for(b, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_false(tree->flushing);
}

/* Writes in flight at the submission of a flush from above, or after it, stay to be flushed. */
static void a_flush_from_above_counts_for_what_was_complete(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 covers, wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	write_cached(a, 256 * KIB);
	tree_wait(tree, a, (struct ioband_bill) {
		.charge = 512 * KIB, .bytes = 512 * KIB, .cached = true,
	});
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	covers = ioband_slice_completed_until(&tree->core);
	complete_all();
	assert_false(ioband_slice_note_flush(&tree->core, covers, 200 * MSEC));
	assert_false(ioband_slice_note_flush(&tree->core, covers, 200 * MSEC));
	tree->now_ns += 10 * MSEC;
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	assert_int_equal(tree->core.flushed_bytes, 512 * KIB);
	tree_end_flush(tree);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* A leaf may be removed before or during the flush of its writes. */
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

/* The grace period of the leaf that is next precedes an extension of a slice. */
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
	assert_int_equal(wake_ns, b->leaf.grace_until_ns);
	tree->now_ns = wake_ns;
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
}

/* A leaf that becomes active before a slice has begun may get that slice. */
static void a_turn_that_has_not_begun_is_given_anew(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	wait_for(a, 4 * KIB);
	now(b, MIB);					/* so b is the last */
	complete_all();
	tree_withdraw(tree, a);
	wait_for(c, 2 * MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), c);
	wait_for(b, 4 * KIB);
	tree->now_ns += 90 * MSEC;
	assert_null(tree_serve(tree, &wake_ns));	/* b is next after c's bio */
	wait_for(a, 4 * KIB);
	complete_all();
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	wait_for(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);	/* a's slice has begun */
}

/* Writeback alone gathers in the cache, while no synchronous I/O is queued. */
static void what_is_written_back_gathers(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *reader = tree_add_leaf(tree, NULL, 100);
	u32 i, turns = 0;
	struct tree_leaf *last = NULL;
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	tree->now_ns += 500 * MSEC;
	for (i = 0; i < 100; i++) {
		struct tree_leaf *leaf;

		while (a->nr_held < 2)
			write_back(a, 64 * KIB);
		while (b->nr_held < 2)
			write_back(b, 64 * KIB);
		leaf = tree_serve(tree, &wake_ns);
		assert_non_null(leaf);
		turns += leaf != last;
		last = leaf;
		tree->now_ns += 5 * MSEC;
		complete_all();
	}
	assert_false(tree->flushing);
	assert_in_range(turns, 40, 60);	/* of 10 ms each, not of 80 */
	tree->now_ns += 5 * MSEC;
	wait_for(reader, 4 * KIB);
	while (tree_serve(tree, &wake_ns) != reader && !tree->flushing) {
		tree->now_ns += 10 * MSEC;
		complete_all();
	}
	assert_true(tree->flushing);
}

/* The lag of a leaf in MiB, after @mib of service to others while it had nothing to write. */
static s64 lag_after(u64 pause_ns, u32 mib, bool sync, const struct ioband_rates *max)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	tree_set_max(tree, &a->leaf.ent, max);
	tree->core.patience_ns = U64_MAX;	/* others have waited long enough */
	tree->now_ns += 500 * MSEC;
	write_back(a, MIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	for (i = 0; i < mib; i++) {
		tree->now_ns += pause_ns / mib;
		if (sync && i == mib / 2)
			wait_for(b, MIB);
		else
			write_back(b, MIB);
		assert_ptr_equal(tree_serve(tree, &wake_ns), b);
		complete_all();
	}
	write_back(a, MIB);
	return (s64)(tree->core.root.vnow - a->leaf.ent.vtime) * 100 / MIB >> 16;
}

/* Service to others during a writeback idle does not cost the leaf its share. */
static void a_pause_keeps_the_share(void **state)
{
	(void)state;
	assert_in_range(lag_after(350 * MSEC, 10, false, NULL), 7, 9);	/* less its own service */
}

/* Up to the service of a device of 100 MB/s in 400 ms. */
static void a_pause_keeps_so_much(void **state)
{
	(void)state;
	assert_in_range(lag_after(350 * MSEC, 60, false, NULL), 39, 40);
}

/* After a longer gap the leaf was idle, and has no lag. */
static void idling_is_no_pause(void **state)
{
	(void)state;
	assert_int_equal(lag_after(450 * MSEC, 10, false, NULL), 0);
}

/* Synchronous I/O does not wait for the lag of a writer. */
static void a_pause_costs_no_reader(void **state)
{
	(void)state;
	assert_int_equal(lag_after(350 * MSEC, 10, true, NULL), 0);
}

/* The same if the reader becomes active after the writer's return. */
static void who_comes_to_read_ends_a_pause(void **state)
{
	struct tree_leaf *reader = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	assert_in_range(lag_after(350 * MSEC, 10, false, NULL), 7, 9);
	wait_for(reader, 4 * KIB);
	assert_non_null(tree_serve(tree, &wake_ns));
	assert_ptr_equal(tree_serve(tree, &wake_ns), reader);
}

/* Time at a maximum is not made up. */
static void a_maximum_is_no_pause(void **state)
{
	const struct ioband_rates max = { .bytes = { 0, 1024 * MIB } };

	(void)state;
	assert_int_equal(lag_after(350 * MSEC, 10, false, &max), 0);
}

/*
 * Leaf a writes back, and then has no bio, while b has more.  Return: the rest of its writeback
 * idle.  By weight a would be next.
 */
static u64 waited_for(struct tree_leaf *a, struct tree_leaf *b)
{
	struct tree_leaf *leaf;
	u64 wake_ns;

	write_back(a, 64 * KIB);
	while (b->nr_held < 2)
		write_back(b, KIB);
	while ((leaf = tree_serve(tree, &wake_ns)) != b) {
		if (!leaf && (tree->flushing || wake_ns > tree->now_ns + 2 * MSEC))
			return wake_ns - tree->now_ns;
		if (!leaf)
			tree->now_ns = wake_ns;
		complete_all();
	}
	tree->now_ns += 20 * MSEC;
	complete_all();
	return 0;
}

static u64 waited_for_first(struct tree_leaf **a, struct tree_leaf **b, bool charge_time)
{
	u64 wake_ns;

	*a = tree_add_leaf(tree, NULL, 100);
	*b = tree_add_leaf(tree, NULL, 1);
	tree_set_slice(tree, 80 * MSEC, charge_time);
	tree->now_ns += 500 * MSEC;
	write_back(*b, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), *b);
	complete_all();
	tree->now_ns += 250 * MSEC;
	return waited_for(*a, *b);
}

/* The disk stays idle during a leaf's writeback idle, which ends 200 ms after its last bio. */
static void a_pause_is_waited_for(void **state)
{
	struct tree_leaf *a, *b;
	u64 wake_ns;

	(void)state;
	assert_int_equal(waited_for_first(&a, &b, false), 200 * MSEC);
	tree->now_ns += 150 * MSEC;
	assert_int_equal(waited_for(a, b), 200 * MSEC);
	tree->now_ns += 50 * MSEC;
	tree_set_slice(tree, 80 * MSEC, false);	/* as when the depth changes */
	assert_null(tree_serve(tree, &wake_ns));
	tree->now_ns += 151 * MSEC;
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* Without slices as well, against all leaves that were served more. */
static void a_pause_keeps_the_pipe(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 200);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 10000);
	u64 wake_ns;

	(void)state;
	ioband_core_set_limit(&tree->core, 32, 0);
	tree->now_ns += 500 * MSEC;
	write_back(a, 64 * KIB);
	write_back(b, 64 * KIB);
	write_back(b, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	complete_all();
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_equal(wake_ns, tree->now_ns + 200 * MSEC);
	tree->now_ns += 150 * MSEC;
	write_back(c, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), c);
	write_back(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	assert_null(tree_serve(tree, &wake_ns));
	tree->now_ns += 201 * MSEC;
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
	assert_true(tree->core.patience_ns >= 8 * 300 * MSEC);	/* 150 and 200 ms were idle */
}

/* After @mib of service to b, a dispatches a bio and is idle again: @waits, if b must wait. */
static void check_behind(u32 mib, bool waits)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *leaf;
	u64 wake_ns;
	u32 i;

	ioband_core_set_limit(&tree->core, 32, 0);
	tree->now_ns += 500 * MSEC;
	write_back(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	tree->core.patience_ns = U64_MAX;
	complete_all();
	for (i = 0; i < mib; i++) {
		tree->now_ns += 5 * MSEC;
		write_back(b, MIB);
		assert_ptr_equal(tree_serve(tree, &wake_ns), b);
		complete_all();
	}
	tree->core.patience_ns = 0;
	write_back(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	a->leaf.think_ns = 0;
	write_back(b, 4 * KIB);
	leaf = tree_serve(tree, &wake_ns);
	if (!leaf && wake_ns < tree->now_ns + 2 * MSEC) {
		tree->now_ns = wake_ns;
		leaf = tree_serve(tree, &wake_ns);
	}
	assert_ptr_equal(leaf, waits ? NULL : b);
}

/* A leaf that has most of the permitted lag, and does not use it, is not anticipated. */
static void who_is_far_behind_is_not_waited_for(void **state)
{
	(void)state;
	check_behind(38, false);
}

static void who_is_a_little_behind_is_waited_for(void **state)
{
	(void)state;
	check_behind(34, true);
}

/* With the measure by time there is no writeback idle: unused time is charged. */
static void who_pays_for_time_is_not_waited_for(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	tree->now_ns += 500 * MSEC;
	write_back(a, 64 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	assert_in_range(a->leaf.grace_until_ns, tree->now_ns, tree->now_ns + 2 * MSEC);
}

static void a_maximum_is_not_waited_for(void **state)
{
	const struct ioband_rates max = { .bytes = { 0, 1024 * MIB } };
	struct tree_leaf *a, *b;

	(void)state;
	waited_for_first(&a, &b, false);
	tree_set_max(tree, &a->leaf.ent, &max);
	tree->now_ns += 100 * MSEC;
	assert_int_equal(waited_for(a, b), 0);
}

/* With a minimum there is no writeback idle: another leaf may be due meanwhile. */
static void who_is_promised_is_not_waited_for(void **state)
{
	const struct ioband_rates min = { .bytes = { 0, 20 * MIB } };
	struct tree_leaf *a, *b;

	(void)state;
	waited_for_first(&a, &b, false);
	tree_set_min(tree, &a->leaf.ent, &min);
	tree->now_ns += 100 * MSEC;
	assert_int_equal(waited_for(a, b), 0);
}

/* A leaf that was served more than others keeps its slice until its end, and not longer. */
static void a_pause_ends_with_the_turn(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	tree->now_ns += 500 * MSEC;
	write_back(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	tree->now_ns += 2 * MSEC;
	complete_all();
	write_back(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_in_range(wake_ns, tree->now_ns, tree->now_ns + 8 * MSEC);
	tree->now_ns = wake_ns;
	assert_ptr_equal(tree_serve(tree, &wake_ns), b);
}

/* A leaf that returns late twice is not anticipated any more. */
static void who_comes_late_is_not_waited_for(void **state)
{
	struct tree_leaf *a, *b;

	(void)state;
	assert_int_equal(waited_for_first(&a, &b, false), 200 * MSEC);
	tree->now_ns += 250 * MSEC;
	assert_int_equal(waited_for(a, b), 200 * MSEC);
	tree->now_ns += 250 * MSEC;
	assert_int_equal(waited_for(a, b), 0);
}

/* A punctual but rare writer does not slow the others down to its pace. */
static void what_is_waited_for_is_bounded(void **state)
{
	struct tree_leaf *a, *b;
	u64 begun_ns, idle_ns = 0;

	(void)state;
	waited_for_first(&a, &b, false);
	begun_ns = tree->now_ns;
	while (tree->now_ns < begun_ns + 20000 * MSEC) {
		if (waited_for(a, b))
			idle_ns += 150 * MSEC;
		tree->now_ns += 150 * MSEC;
	}
	assert_in_range(idle_ns, 2000 * MSEC, 20000 / 8 * MSEC + 600 * MSEC);
}

/* A hung bio at the device does not count as work of the device. */
static void what_hangs_is_no_work(void **state)
{
	struct tree_leaf *hung = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a, *b;
	u64 wake_ns;

	(void)state;
	waited_for_first(&a, &b, false);
	tree_admit_now(tree, hung, (struct ioband_bill) { .charge = 4 * KIB, .bytes = 4 * KIB });
	ioband_core_set_limit(&tree->core, U32_MAX / 2, 1);
	assert_null(tree_serve(tree, &wake_ns));
	assert_int_not_equal(tree->core.idle_ns, 0);
}

/* A bio of a flusher dispatched out of turn does not make its leaf synchronous. */
static void what_is_urgent_makes_no_reader(void **state)
{
	struct tree_leaf *a, *b;

	(void)state;
	waited_for_first(&a, &b, false);
	tree_admit_now(tree, a, (struct ioband_bill) { .charge = 4 * KIB, .bytes = 4 * KIB });
	assert_true(a->leaf.async);
}

/* A normal grace period goes on when writeback idles end. */
static void who_thinks_does_not_pause(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *c = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree->now_ns += 500 * MSEC;
	write_back(a, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
	complete_all();
	assert_true(a->leaf.pause_anticipated);
	tree->now_ns += 50 * MSEC;
	tree->core.patience_ns = U64_MAX;
	c->leaf.think_ns = 10 * USEC;
	write_back(c, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), c);
	complete_all();
	assert_true(c->leaf.grace_until_ns < a->leaf.grace_until_ns);
	ioband_core_note_sync(&tree->core, tree->now_ns);
	assert_int_equal(c->leaf.state, IOBAND_LEAF_ANTICIPATED);
	assert_int_equal(a->leaf.state, IOBAND_LEAF_IDLE);
}

/* A leaf alone may have any gaps, as no other leaf waits for it. */
static void who_is_alone_may_pause(void **state)
{
	struct tree_leaf *a, *b;
	u64 wake_ns;
	u32 i;

	(void)state;
	waited_for_first(&a, &b, false);
	tree->now_ns += 250 * MSEC;
	while (tree_serve(tree, &wake_ns))
		complete_all();
	for (i = 0; i < 100; i++) {
		tree->now_ns += 150 * MSEC;
		write_back(a, 64 * KIB);
		assert_ptr_equal(tree_serve(tree, &wake_ns), a);
		complete_all();
	}
	assert_int_equal(waited_for(a, b), 200 * MSEC);
}

/* Synchronous reads do not wait for the end of a writeback idle. */
static void a_reader_waits_for_no_pause(void **state)
{
	struct tree_leaf *reader = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a, *b;
	u64 wake_ns;

	(void)state;
	assert_int_equal(waited_for_first(&a, &b, false), 200 * MSEC);
	wait_for(reader, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree_end_flush(tree);
	assert_ptr_equal(tree_serve(tree, &wake_ns), reader);
}

/* Synchronous writes do not wait for it either. */
static void a_synchronous_writer_waits_for_no_pause(void **state)
{
	struct tree_leaf *writer = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a, *b;
	u64 wake_ns;

	(void)state;
	assert_int_equal(waited_for_first(&a, &b, false), 200 * MSEC);
	tree_wait(tree, writer, (struct ioband_bill) {
		.charge = 4 * KIB, .bytes = 4 * KIB, .dir = IOBAND_DIR_WRITE, .cached = true,
	});
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
}

/* Reads do not wait either if a maximum has hidden them until their activity was forgotten. */
static void a_reader_below_a_maximum_waits_for_no_pause(void **state)
{
	const struct ioband_rates max = { .bytes = { MIB, 0 } };
	struct tree_leaf *reader = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *a, *b;
	u64 wake_ns;

	(void)state;
	tree_set_max(tree, &reader->leaf.ent, &max);
	wait_for(reader, 800 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), reader);
	complete_all();
	wait_for(reader, 800 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	waited_for_first(&a, &b, false);
	assert_int_equal(a->leaf.grace_until_ns, tree->now_ns + 200 * MSEC);
	tree->now_ns += 60 * MSEC;	/* 810 ms in all */
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree_end_flush(tree);
	assert_ptr_equal(tree_serve(tree, &wake_ns), reader);
}

/* Most data of a long writer alone are on the medium already when they are flushed. */
static void a_flush_is_not_of_all_ever_written(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	struct tree_leaf *b = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, true);
	for (i = 0; i < 64; i++)
		write_cached(a, MIB);
	wait_for(b, 4 * KIB);
	assert_null(tree_serve(tree, &wake_ns));
	assert_true(tree->flushing);
	tree->now_ns += 108 * MSEC;
	tree_end_flush(tree);
	assert_in_range(a->leaf.destage_bytes, MIB, 2 * MIB);
}

/* A hung bio of one device takes no depth from another device. */
static void what_hangs_takes_no_room(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	assert_int_equal(depth_of(a), 10);
	ioband_core_set_limit(&tree->core, U32_MAX / 2, 10);
	assert_ptr_equal(tree_serve(tree, &wake_ns), a);
}

/* Writes into the cache are quick, but count as in flight for the time of the medium. */
static void the_medium_bounds_what_a_writer_has_in_flight(void **state)
{
	struct tree_leaf *a = tree_add_leaf(tree, NULL, 100);
	u64 wake_ns;
	u32 i;

	(void)state;
	tree_set_slice(tree, 80 * MSEC, false);
	for (i = 0; i < 40; i++) {		/* 0.1 ms each, with others in flight */
		write_back(a, 64 * KIB);
		write_back(a, 64 * KIB);
		tree_serve(tree, &wake_ns);
		tree_serve(tree, &wake_ns);
		tree->now_ns += MSEC / 10;
		complete_all();
	}
	a->leaf.destage_ns = 1024 * MSEC;	/* as learnt from flushes */
	a->leaf.destage_bytes = 8 * MIB;
	for (i = 0; i < 40; i++)
		write_back(a, 64 * KIB);
	for (i = 0; tree_serve(tree, &wake_ns); i++)
		;
	assert_int_equal(i, 3);			/* of 8 ms each: 20 ms */
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(depth_follows_the_device),
		TEST(bios_that_are_merged_fill_no_more_than_the_turn),
		TEST(writes_that_are_merged_fill_a_quarter),
		TEST(one_merged_request_has_a_time),
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
		TEST(a_flush_from_above_counts),
		TEST(a_flush_from_above_counts_for_what_was_complete),
		TEST(a_writer_may_go),
		TEST(a_turn_is_not_prolonged_before_who_thinks),
		TEST(a_turn_that_has_not_begun_is_given_anew),
		TEST(what_is_written_back_gathers),
		TEST(a_pause_keeps_the_share),
		TEST(a_pause_keeps_so_much),
		TEST(idling_is_no_pause),
		TEST(a_pause_costs_no_reader),
		TEST(who_comes_to_read_ends_a_pause),
		TEST(a_maximum_is_no_pause),
		TEST(a_pause_is_waited_for),
		TEST(a_pause_keeps_the_pipe),
		TEST(who_is_far_behind_is_not_waited_for),
		TEST(who_is_a_little_behind_is_waited_for),
		TEST(who_pays_for_time_is_not_waited_for),
		TEST(a_maximum_is_not_waited_for),
		TEST(who_is_promised_is_not_waited_for),
		TEST(a_pause_ends_with_the_turn),
		TEST(who_comes_late_is_not_waited_for),
		TEST(what_is_waited_for_is_bounded),
		TEST(what_hangs_is_no_work),
		TEST(what_is_urgent_makes_no_reader),
		TEST(who_thinks_does_not_pause),
		TEST(who_is_alone_may_pause),
		TEST(a_reader_waits_for_no_pause),
		TEST(a_synchronous_writer_waits_for_no_pause),
		TEST(a_reader_below_a_maximum_waits_for_no_pause),
		TEST(a_flush_is_not_of_all_ever_written),
		TEST(what_hangs_takes_no_room),
		TEST(the_medium_bounds_what_a_writer_has_in_flight),
	};

	return run_cases(cases, argc, argv);
}
