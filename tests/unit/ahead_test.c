// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of the runs of a group on a disk that reads ahead and remembers a limited number of
 * streams.  Each run has one read at a time; a seek adds SEEK_NS to it.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "cases.h"
#include "sched/core.h"

#define SLICE_NS	(100 * NSEC_PER_MSEC)
#define READ_NS		NSEC_PER_MSEC
#define SEEK_NS		(10 * NSEC_PER_MSEC)
#define THINK_NS	(20 * NSEC_PER_USEC)

#define READERS_MAX	20
#define TURNS_MAX	4096

struct reader {
	struct ioband_leaf leaf;
	u64 arrives_ns;		/* time of its next read; U64_MAX: one is queued */
	u64 waits_ns;		/* when that was queued */
	u64 most_ns;		/* longest time in the queue since this was cleared */
	u64 used_ns;		/* the disk's last read for it */
	u64 busy_ns;		/* device time of all its reads */
};

struct turn {
	u32 reader;
	u64 begun_ns;
	bool cold;
};

/* A group of runs; a reader of another group follows them in the array. */
struct disk {
	struct ioband_core core;
	struct ioband_node group;
	struct reader readers[READERS_MAX];
	u32 nr, memory;
	struct turn turns[TURNS_MAX];
	u32 nr_turns;
	u32 late_turns;		/* slices after an idle time of the disk */
	u32 to_and_fro_turns;
	u64 most_lead_ns;	/* of the run that began, before another of the group */
	u64 done_ns;
	bool large_first;	/* the first read of each slice is ten times as large */
	u64 now_ns;
};

static struct disk disk;

static void add(struct ioband_node *node, u32 weight, bool is_run)
{
	struct reader *reader = &disk.readers[disk.nr++];

	assert_true(disk.nr <= READERS_MAX);
	ioband_tree_init_leaf(&reader->leaf, node, weight);
	reader->leaf.is_run = is_run;
	reader->arrives_ns = disk.now_ns + disk.nr;
}

static void begin(u32 memory, u32 runs)
{
	disk = (struct disk) { .memory = memory, .now_ns = NSEC_PER_SEC };
	ioband_core_init(&disk.core);
	ioband_core_set_limit(&disk.core, 31, 0);
	ioband_core_set_slice(&disk.core, SLICE_NS, true, disk.now_ns);
	ioband_tree_init_node(&disk.group, &disk.core.root, 100);
	disk.group.streams = true;
	while (runs--)
		add(&disk.group, 100, true);
}

/* The disk remembers a stream until it has read for @memory others. */
static bool is_cold(const struct reader *reader)
{
	u32 i, others = 0;

	for (i = 0; i < disk.nr; i++)
		others += disk.readers[i].used_ns > reader->used_ns;
	return !reader->used_ns || others >= disk.memory;
}

/* The largest lead of a run's device time, by weight, before another of the group. */
static u64 lead_ns(const struct reader *reader)
{
	const struct ioband_ent *ent = &reader->leaf.ent, *other;
	s64 lead, most = 0;
	u32 i;

	for (i = 0; i < disk.nr; i++) {
		other = &disk.readers[i].leaf.ent;
		if (other->parent != ent->parent)
			continue;
		lead = (s64)(ent->vtime - other->vtime) >> 16;
		most = max(most, lead * ent->weight * 10);
	}
	return most;
}

/* Dispatch a read; returns its service time. */
static u64 serve(u32 i, struct ioband_bill *bill)
{
	struct reader *reader = &disk.readers[i];
	const struct turn *last = disk.nr_turns ? &disk.turns[disk.nr_turns - 1] : NULL;
	const bool begins = !last || last->reader != i || last->begun_ns + SLICE_NS < disk.now_ns;
	const bool cold = is_cold(reader);

	if (begins) {
		disk.late_turns += disk.now_ns > disk.done_ns + 1;
		disk.to_and_fro_turns += disk.group.to_and_fro > 0;
		if (last && last->reader != i)
			disk.most_lead_ns = max(disk.most_lead_ns, lead_ns(reader));
		assert_true(disk.nr_turns < TURNS_MAX);
		disk.turns[disk.nr_turns++] = (struct turn) {
			.reader = i, .begun_ns = disk.now_ns, .cold = cold,
		};
	}
	reader->most_ns = max(reader->most_ns, disk.now_ns - reader->waits_ns);
	*bill = (struct ioband_bill) { .bytes = 4096, .charge = 4096, .ios = 1 };
	if (begins && disk.large_first)
		bill->bytes *= 10;
	return READ_NS * bill->bytes / 4096 + (cold ? SEEK_NS : 0);
}

static struct reader *next_to_arrive(void)
{
	struct reader *next = &disk.readers[0];
	u32 i;

	for (i = 1; i < disk.nr; i++)
		if (disk.readers[i].arrives_ns < next->arrives_ns)
			next = &disk.readers[i];
	return next;
}

static void arrive(u64 until_ns)
{
	struct reader *reader = next_to_arrive();

	for (; reader->arrives_ns <= until_ns; reader = next_to_arrive()) {
		reader->waits_ns = reader->arrives_ns;
		reader->arrives_ns = U64_MAX;
		ioband_core_wait(&disk.core, &reader->leaf, IOBAND_DIR_READ, reader->waits_ns);
	}
}

static void run_for(u64 ns)
{
	const u64 end_ns = disk.now_ns + ns;

	while (disk.now_ns < end_ns) {
		struct ioband_leaf *leaf;
		struct reader *reader;
		u64 took_ns, wake_ns, next_ns;
		struct ioband_bill bill;

		arrive(disk.now_ns);
		leaf = ioband_core_pick(&disk.core, disk.now_ns, &wake_ns);
		if (!leaf) {
			next_ns = min(wake_ns, next_to_arrive()->arrives_ns);
			disk.now_ns = max(disk.now_ns + 1, next_ns);
			continue;
		}
		reader = container_of(leaf, struct reader, leaf);
		took_ns = serve(reader - disk.readers, &bill);
		ioband_core_admit(&disk.core, leaf, &bill, 0, disk.now_ns);
		disk.now_ns += took_ns;
		arrive(disk.now_ns);
		reader->used_ns = disk.now_ns;
		disk.done_ns = disk.now_ns;
		reader->busy_ns += took_ns;
		ioband_core_complete(&disk.core, leaf, &bill, disk.now_ns);
		reader->arrives_ns = disk.now_ns + THINK_NS;
	}
}

/* Clear the statistics. */
static void look(void)
{
	u32 i;

	disk.nr_turns = 0;
	disk.late_turns = 0;
	disk.to_and_fro_turns = 0;
	disk.most_lead_ns = 0;
	for (i = 0; i < disk.nr; i++) {
		disk.readers[i].most_ns = 0;
		disk.readers[i].busy_ns = 0;
	}
}

static u32 cold_slices(void)
{
	u32 i, cold = 0;

	for (i = 0; i < disk.nr_turns; i++)
		cold += disk.turns[i].cold;
	return cold;
}

/* The device times of the runs differ by two slices at most. */
static void assert_even(u32 runs)
{
	u64 least = U64_MAX, most = 0;
	u32 i;

	for (i = 0; i < runs; i++) {
		least = min(least, disk.readers[i].busy_ns);
		most = max(most, disk.readers[i].busy_ns);
	}
	assert_in_range(most - least, 0, 2 * SLICE_NS);
}

static u64 longest_wait(u32 runs)
{
	u64 most_ns = 0;
	u32 i;

	for (i = 0; i < runs; i++)
		most_ns = max(most_ns, disk.readers[i].most_ns);
	return most_ns;
}

/* The disk remembers all: a fixed order, and no run waits longer than a round. */
static void in_turn_while_there_is_room(void **state)
{
	u32 runs, i;

	(void)state;
	for (runs = 2; runs <= 16; runs++) {
		begin(runs, runs);
		run_for(3 * runs * SLICE_NS);
		look();
		run_for(10 * runs * SLICE_NS);
		for (i = runs; i < disk.nr_turns; i++)
			assert_int_equal(disk.turns[i].reader, disk.turns[i - runs].reader);
		assert_in_range(longest_wait(runs), 0, runs * (SLICE_NS + SLICE_NS / 10));
		assert_int_equal(cold_slices(), 0);
		assert_even(runs);
	}
}

/* One too many: only the last run of each pass is cold, and no run waits longer than two rounds. */
static void to_and_fro_where_there_is_none(void **state)
{
	u32 runs;

	(void)state;
	for (runs = 3; runs <= 16; runs++) {
		begin(runs - 1, runs);
		run_for(3 * runs * SLICE_NS);
		look();
		run_for(20 * runs * SLICE_NS);
		assert_in_range(cold_slices(), 10, 22);
		assert_in_range(disk.late_turns, 0, disk.nr_turns / 3);
		assert_in_range(longest_wait(runs), 0, 2 * runs * (SLICE_NS + SLICE_NS / 10));
		assert_even(runs);
	}
}

/* Far too many: the disk remembers as many as it can, and all get the same time. */
static void to_and_fro_with_far_too_many(void **state)
{
	(void)state;
	begin(8, 16);
	run_for(48 * SLICE_NS);
	look();
	run_for(320 * SLICE_NS);
	assert_in_range(cold_slices(), 0, disk.nr_turns * 6 / 10);
	assert_even(16);
}

/* A reader of another group takes a place in the disk's memory, and keeps its share. */
static void beside_another_group(void **state)
{
	u64 busy_ns = 0;
	u32 i;

	(void)state;
	begin(6, 6);
	add(&disk.core.root, 200, false);
	run_for(80 * SLICE_NS);
	look();
	run_for(360 * SLICE_NS);
	assert_in_range(cold_slices(), 0, 30);
	assert_in_range(longest_wait(6), 0, 2 * 6 * 3 * (SLICE_NS + SLICE_NS / 10));
	assert_even(6);
	for (i = 0; i < 6; i++)
		busy_ns += disk.readers[i].busy_ns;
	assert_in_range(100 * disk.readers[6].busy_ns / busy_ns, 196, 204);
}

/* Another cause made one slice cold: the fixed order returns after a round. */
static void one_seek_is_no_lack_of_room(void **state)
{
	u32 i;

	(void)state;
	begin(8, 4);
	run_for(12 * SLICE_NS + SLICE_NS / 2);
	disk.readers[0].used_ns = 0;
	disk.readers[1].used_ns = 0;
	run_for(12 * SLICE_NS);
	look();
	run_for(40 * SLICE_NS);
	for (i = 4; i < disk.nr_turns; i++)
		assert_int_equal(disk.turns[i].reader, disk.turns[i - 4].reader);
}

/*
 * The disk forgets all streams in any order.  The runs keep a fixed order, so that none waits for
 * two rounds, except during new trials.
 */
static void in_turn_where_it_is_of_no_use(void **state)
{
	(void)state;
	begin(1, 8);
	run_for(24 * SLICE_NS);
	look();
	run_for(800 * SLICE_NS);
	assert_in_range(disk.to_and_fro_turns, 8, disk.nr_turns / 6);
	assert_even(8);
}

/* One run is far heavier than the others: no run with a large lead begins. */
static void a_heavy_run_is_not_passed_over(void **state)
{
	const u32 weights[] = { 1000, 2500, 10000 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		begin(4, 8);
		add(&disk.group, weights[i], true);
		run_for(40 * SLICE_NS);
		look();
		run_for(400 * SLICE_NS);
		assert_in_range(disk.most_lead_ns, 1, SLICE_NS / 2);
	}
}

/* The first read of a slice is larger than the next, and therefore slower. */
static void large_is_not_cold(void **state)
{
	(void)state;
	begin(8, 4);
	disk.large_first = true;
	run_for(40 * SLICE_NS);
	assert_int_equal(disk.to_and_fro_turns, 0);
}

/* All reads take as long as a seek: no slice is cold. */
static void slow_is_not_cold(void **state)
{
	u32 i;

	(void)state;
	begin(0, 4);	/* the disk remembers no stream, so each read seeks */
	run_for(12 * SLICE_NS);
	look();
	run_for(40 * SLICE_NS);
	assert_int_equal(disk.group.to_and_fro, 0);
	for (i = 4; i < disk.nr_turns; i++)
		assert_int_equal(disk.turns[i].reader, disk.turns[i - 4].reader);
}

/* A slice is cold if its first read is by far its slowest. */
static void what_is_cold_is_seen(void **state)
{
	(void)state;
	begin(8, 4);
	run_for(12 * SLICE_NS);
	assert_int_equal(disk.group.to_and_fro, 0);
	disk.memory = 2;
	run_for(6 * SLICE_NS);
	assert_in_range(disk.group.to_and_fro, 1, 4);
}

/* A run that was idle is the next when it reads again, in any order of the runs. */
static void who_was_idle_is_next(void **state)
{
	(void)state;
	begin(4, 6);
	disk.readers[5].arrives_ns = U64_MAX;	/* not yet */
	run_for(40 * SLICE_NS);
	assert_in_range(disk.group.to_and_fro, 1, 6);
	disk.readers[5].arrives_ns = disk.now_ns;
	look();
	run_for(6 * SLICE_NS);
	assert_in_range(disk.readers[5].busy_ns, SLICE_NS / 2, 6 * SLICE_NS);
	assert_true(disk.turns[0].reader == 5 || disk.turns[1].reader == 5);
}

/* A leaf that is no run gets its slice once a round, or a little later. */
static void others_of_the_group_go_in_turn(void **state)
{
	u32 runs;

	(void)state;
	for (runs = 3; runs <= 16; runs++) {
		begin(runs - 1, runs);
		/* It is rarely or mostly the least served, by its weight. */
		add(&disk.group, runs % 2 ? 100 : 103, false);
		run_for(3 * runs * SLICE_NS);
		look();
		run_for(30 * runs * SLICE_NS);
		assert_in_range(disk.readers[runs].most_ns, 0,
				(runs + 2) * (SLICE_NS + SLICE_NS / 10));
		assert_even(runs + 1);
	}
}

/* Runs of other I/O priorities share by weight. */
static void weights_hold(void **state)
{
	u64 light, heavy;

	(void)state;
	begin(3, 3);
	add(&disk.group, 400, true);
	run_for(100 * SLICE_NS);
	look();
	run_for(700 * SLICE_NS);
	light = disk.readers[0].busy_ns + disk.readers[1].busy_ns + disk.readers[2].busy_ns;
	heavy = disk.readers[3].busy_ns;
	assert_in_range(100 * heavy / light, 130, 137);
	assert_even(3);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(in_turn_while_there_is_room),
		TEST(to_and_fro_where_there_is_none),
		TEST(to_and_fro_with_far_too_many),
		TEST(beside_another_group),
		TEST(one_seek_is_no_lack_of_room),
		TEST(in_turn_where_it_is_of_no_use),
		TEST(a_heavy_run_is_not_passed_over),
		TEST(large_is_not_cold),
		TEST(slow_is_not_cold),
		TEST(what_is_cold_is_seen),
		TEST(who_was_idle_is_next),
		TEST(others_of_the_group_go_in_turn),
		TEST(weights_hold),
	};

	return run_cases(cases, argc, argv);
}
