// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slices on a modelled disk with a head: shares, and their cost.
 */
#include <linux/kernel.h>
#include <linux/time64.h>
#include <string.h>

#include "cases.h"
#include "scene.h"

#define KIB		1024U
#define SLICE_NS	(80 * NSEC_PER_MSEC)
#define RUN_NS		(20 * NSEC_PER_SEC)

static const struct sim_workload random_reader = { .depth = 1, .bytes = 4 * KIB };
static const struct sim_workload sequential = { .depth = 1, .bytes = 4 * KIB, .sequential = true };
static const struct sim_workload writer = { .depth = 4, .bytes = 64 * KIB, .write_pct = 100 };
static const struct sim_workload slow_thinker = {
	.depth = 1, .bytes = 4 * KIB, .think_ns = 10 * NSEC_PER_MSEC,
};

static const struct sim_workload sequential_writer = {
	.depth = 8, .bytes = 64 * KIB, .sequential = true, .write_pct = 100,
};

static struct scene scene;

static void begin_on(const char *disk, enum ioband_measure measure)
{
	scene_init(&scene, disk, 31, measure);
	ioband_core_set_slice(&scene.pool.core, SLICE_NS, measure == IOBAND_MEASURE_TIME, 0);
}

static void begin(enum ioband_measure measure)
{
	begin_on("disk", measure);
}

static struct scene_group *add(int up, u32 weight, const struct sim_workload *work)
{
	return scene_add_loaded(&scene, up, weight, work);
}

/* Bytes of a load alone on a disk. */
static double alone_on(const char *disk, const struct sim_workload *work)
{
	struct scene_group *leaf;
	double bytes;

	begin_on(disk, IOBAND_MEASURE_TIME);
	leaf = add(SCENE_ROOT, 100, work);
	scene_run(&scene, RUN_NS);
	bytes = leaf->sim.bytes;
	assert_int_equal(scene.pool.flushes, 0);
	scene_free(&scene);
	return bytes;
}

static double alone(const struct sim_workload *work)
{
	return alone_on("disk", work);
}

static void assert_ratio(double a, double b, double wanted, double tolerance)
{
	if (a < b * wanted * (1 - tolerance) || a > b * wanted * (1 + tolerance))
		fail_msg("%.3f, not %.3f", a / b, wanted);
}

static void assert_at_least(double a, double b)
{
	if (a < b)
		fail_msg("%.0f, less than %.0f", a, b);
}

/* Both get nearly half of their throughput alone; in bytes they differ by a factor of 60. */
static void time_is_shared_between_random_and_sequential(void **state)
{
	const double most = alone(&random_reader), most_sequential = alone(&sequential);
	struct scene_group *reader, *stream;

	(void)state;
	begin(IOBAND_MEASURE_TIME);
	reader = add(SCENE_ROOT, 100, &random_reader);
	stream = add(SCENE_ROOT, 100, &sequential);
	scene_run(&scene, RUN_NS);
	assert_ratio(reader->sim.bytes, most, 0.5, 0.05);
	assert_at_least(stream->sim.bytes, 0.43 * most_sequential);
	assert_in_range(reader->sim.max_held_ns, 0, 130 * NSEC_PER_MSEC);
	scene_free(&scene);
}

static void time_is_shared_by_weight(void **state)
{
	static const u32 weights[] = { 100, 300, 700 };
	const double most = alone(&random_reader);
	struct scene_group *readers[3];
	u32 i;

	(void)state;
	begin(IOBAND_MEASURE_TIME);
	for (i = 0; i < 3; i++)
		readers[i] = add(SCENE_ROOT, weights[i], &random_reader);
	scene_run(&scene, 4 * RUN_NS);
	for (i = 0; i < 3; i++)
		assert_ratio(readers[i]->sim.bytes, 4 * most, weights[i] / 1100.0, 0.05);
	scene_free(&scene);
}

/*
 * A level below has its slices within the slices above.  The test compares the disk's time: in
 * bytes the lighter leaf gets less, as more of its slices begin with a long seek.
 */
static void time_is_shared_at_every_level(void **state)
{
	struct scene_group *node, *one, *two, *other;

	(void)state;
	begin(IOBAND_MEASURE_TIME);
	node = scene_add_node(&scene, SCENE_ROOT, 300);
	one = add(scene_index(&scene, node), 100, &random_reader);
	two = add(scene_index(&scene, node), 200, &random_reader);
	other = add(SCENE_ROOT, 300, &random_reader);
	scene_run(&scene, 4 * RUN_NS);
	assert_ratio(two->sim.head_ns, one->sim.head_ns, 2, 0.02);
	assert_ratio(one->sim.head_ns + two->sim.head_ns, other->sim.head_ns, 1, 0.02);
	scene_free(&scene);
}

static void bytes_are_shared_with_little_loss(void **state)
{
	const double most = alone(&sequential);
	struct scene_group *a, *b;

	(void)state;
	begin(IOBAND_MEASURE_BYTES);
	a = add(SCENE_ROOT, 1000, &sequential);
	b = add(SCENE_ROOT, 500, &sequential);
	scene_run(&scene, RUN_NS);
	assert_ratio(a->sim.bytes, b->sim.bytes, 2, 0.03);
	assert_at_least(a->sim.bytes + b->sim.bytes, 0.9 * most);
	scene_free(&scene);
}

/* Equal bytes, although one of them needs 60 times as long for them. */
static void bytes_are_shared_between_random_and_sequential(void **state)
{
	struct scene_group *reader, *stream;

	(void)state;
	begin(IOBAND_MEASURE_BYTES);
	reader = add(SCENE_ROOT, 100, &random_reader);
	stream = add(SCENE_ROOT, 100, &sequential);
	scene_run(&scene, 3 * RUN_NS);
	assert_ratio(stream->sim.bytes, reader->sim.bytes, 1, 0.15);
	scene_free(&scene);
}

/* The bios in flight at the disk complete in time. */
static void a_reader_waits_for_a_slice_and_what_is_in_flight(void **state)
{
	const double most = alone(&random_reader), most_written = alone(&writer);
	struct scene_group *reader, *node;
	double written = 0;
	int i;

	(void)state;
	begin(IOBAND_MEASURE_TIME);
	reader = add(SCENE_ROOT, 100, &random_reader);
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	for (i = 0; i < 8; i++)
		add(scene_index(&scene, node), 100, &writer);
	scene_run(&scene, RUN_NS);
	for (i = 2; i < 10; i++)
		written += scene.groups[i].sim.bytes;
	assert_ratio(reader->sim.bytes, most, 0.5, 0.1);
	assert_at_least(written, 0.43 * most_written);
	assert_in_range(reader->sim.max_held_ns, 0, 165 * NSEC_PER_MSEC);
	scene_free(&scene);
}

/* The writer pays for the time in which its data leave the disk's cache, in its slice. */
static void a_turn_ends_when_the_cache_is_empty(void **state)
{
	const double most = alone_on("diskwc", &random_reader);
	const double most_written = alone_on("diskwc", &writer);
	struct scene_group *reader, *node;
	double written = 0;
	int i;

	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_TIME);
	reader = add(SCENE_ROOT, 100, &random_reader);
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	for (i = 0; i < 8; i++)
		add(scene_index(&scene, node), 100, &writer);
	scene_run(&scene, 2 * NSEC_PER_SEC);	/* the core learns how long flushes take */
	reader->sim.bytes = 0;
	reader->sim.max_held_ns = 0;
	scene_run(&scene, RUN_NS);
	for (i = 2; i < 10; i++)
		written += scene.groups[i].sim.bytes;
	assert_ratio(reader->sim.bytes, most, 0.5, 0.1);
	assert_at_least(written, 0.3 * most_written);
	assert_in_range(reader->sim.max_held_ns, 0, 250 * NSEC_PER_MSEC);
	assert_at_least(scene.pool.flushes, 50);
	scene_free(&scene);
}

static void writers_share_a_disk_with_a_cache(void **state)
{
	const double most = alone_on("diskwc", &sequential_writer);
	struct scene_group *a, *b;

	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_BYTES);
	a = add(SCENE_ROOT, 1000, &sequential_writer);
	b = add(SCENE_ROOT, 500, &sequential_writer);
	scene_run(&scene, RUN_NS);
	assert_ratio(a->sim.bytes, b->sim.bytes, 2, 0.05);
	assert_at_least(a->sim.bytes + b->sim.bytes, 0.8 * most);
	scene_free(&scene);
}

static void readers_cause_no_flush(void **state)
{
	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_TIME);
	add(SCENE_ROOT, 100, &random_reader);
	add(SCENE_ROOT, 100, &sequential);
	scene_run(&scene, RUN_NS);
	assert_int_equal(scene.pool.flushes, 0);
	scene_free(&scene);
}

/* A leaf that gets the next slice again does not drain the device first. */
static void a_turn_that_goes_on_loses_nothing(enum ioband_measure measure)
{
	static const struct sim_workload deep = { .depth = 8, .bytes = 4 * KIB };
	const double most = alone_on("volume2", &deep);
	struct scene_group *heavy, *light;

	begin_on("volume2", measure);
	ioband_core_set_slice(&scene.pool.core, 20 * NSEC_PER_MSEC,
			      measure == IOBAND_MEASURE_TIME, 0);
	heavy = add(SCENE_ROOT, 300, &deep);
	light = add(SCENE_ROOT, 100, &deep);
	scene_run(&scene, RUN_NS);
	assert_ratio(heavy->sim.bytes, light->sim.bytes, 3, 0.01);
	assert_at_least(heavy->sim.bytes + light->sim.bytes, 0.97 * most);
	scene_free(&scene);
}

static void time_that_goes_on_loses_nothing(void **state)
{
	(void)state;
	a_turn_that_goes_on_loses_nothing(IOBAND_MEASURE_TIME);
}

static void bytes_that_go_on_lose_nothing(void **state)
{
	(void)state;
	a_turn_that_goes_on_loses_nothing(IOBAND_MEASURE_BYTES);
}

/* A write that the disk's cache accepts at once. */
static void write_once(struct ioband_leaf *leaf, u32 bytes)
{
	const struct ioband_bill bill = {
		.bytes = bytes, .charge = bytes, .dir = IOBAND_DIR_WRITE, .ios = 1, .cached = true,
	};
	struct ioband_core *core = &scene.pool.core;
	const u64 now_ns = scene.clock.now_ns++;
	u64 wake_ns;

	ioband_core_wait(core, leaf, IOBAND_DIR_WRITE, now_ns);
	assert_ptr_equal(ioband_core_pick(core, now_ns, &wake_ns), leaf);
	ioband_core_admit(core, leaf, &bill, 0, now_ns);
	ioband_core_complete(core, leaf, &bill, now_ns);
}

/* An active leaf with a hung bio: a writer alone would not be charged. */
static void keep_company(void)
{
	const struct ioband_bill bill = { .bytes = 4 * KIB, .charge = 4 * KIB, .ios = 1 };
	struct ioband_leaf *leaf = &scene_add_leaf(&scene, SCENE_ROOT, 100)->sim.leaf;

	ioband_core_admit_now(&scene.pool.core, leaf, &bill, scene.clock.now_ns);
	ioband_core_set_limit(&scene.pool.core, U32_MAX / 2, 1);
}

/* Two streams of one group write in turn, and both writes are flushed. */
static void what_was_paid_for_another_flush_is_not_paid_for(void **state)
{
	struct ioband_leaf *one, *two, *other;
	struct scene_group *group;
	u64 wake_ns;

	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_TIME);
	group = scene_add_node(&scene, SCENE_ROOT, 100);
	group->node.streams = true;
	one = &scene_add_leaf(&scene, 0, 100)->sim.leaf;
	two = &scene_add_leaf(&scene, 0, 100)->sim.leaf;
	other = &scene_add_leaf(&scene, SCENE_ROOT, 100)->sim.leaf;
	keep_company();
	write_once(one, 16 * KIB * KIB);
	assert_in_range(one->prepaid_ns, NSEC_PER_SEC, U64_MAX);
	scene.clock.now_ns += NSEC_PER_SEC;
	write_once(two, 64 * KIB);
	scene.clock.now_ns += NSEC_PER_SEC;
	ioband_core_wait(&scene.pool.core, other, IOBAND_DIR_READ, scene.clock.now_ns);
	assert_null(ioband_core_pick(&scene.pool.core, scene.clock.now_ns, &wake_ns));
	assert_true(ioband_slice_start_flush(&scene.pool.core, scene.clock.now_ns));
	ioband_slice_end_flush(&scene.pool.core, scene.clock.now_ns);
	ioband_core_withdraw(&scene.pool.core, other, 0);
	write_once(one, 64 * KIB);
	assert_in_range(one->prepaid_ns, 0, SLICE_NS / 4);
	scene_free(&scene);
}

/* A flush from above uses up the charge that was paid in advance. */
static void what_was_paid_is_used_up_by_a_flush_from_above(void **state)
{
	struct ioband_core *core = &scene.pool.core;
	struct ioband_leaf *leaf;
	u64 covers, first_ns, paid, ns;

	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_TIME);
	leaf = &scene_add_leaf(&scene, SCENE_ROOT, 100)->sim.leaf;
	first_ns = leaf->destage_ns;
	keep_company();
	write_once(leaf, 16 * KIB * KIB);
	covers = ioband_slice_completed_until(core);
	write_once(leaf, 16 * KIB * KIB);
	paid = leaf->prepaid_ns;
	assert_in_range(paid, 2 * NSEC_PER_SEC, U64_MAX);
	/* The time of a flush in its own slice is charged as such. */
	assert_false(ioband_slice_note_flush(core, covers / 2, 10 * NSEC_PER_SEC));
	assert_int_equal(leaf->prepaid_ns, paid);
	core->holder = NULL;
	covers += covers / 2;
	/* It took longer than estimated, because of other I/O. */
	assert_false(ioband_slice_note_flush(core, covers, 10 * NSEC_PER_SEC));
	assert_in_range(leaf->prepaid_ns, paid / 2 - 1, paid / 2 + 1);
	assert_int_equal(leaf->destage_ns, first_ns);
	/* And less: the next estimate is lower. */
	paid = leaf->prepaid_ns;
	write_once(leaf, 64 * KIB);
	core->holder = NULL;
	assert_false(ioband_slice_note_flush(core, 32 * KIB * KIB, NSEC_PER_SEC / 2));
	assert_in_range(leaf->prepaid_ns, paid - NSEC_PER_SEC / 2, paid);
	ns = leaf->destage_ns / (leaf->destage_bytes / (KIB * KIB)) * 8;
	assert_in_range(ns, 0.9 * NSEC_PER_SEC / 2, 1.2 * NSEC_PER_SEC / 2);
	assert_true(ioband_slice_note_flush(core, ioband_slice_completed_until(core), 0));
	assert_in_range(leaf->prepaid_ns, 0, SLICE_NS / 4);
	scene_free(&scene);
}

/* Alternating streams pay once each for the dirty data, and not in every slice. */
static void writing_in_turns_is_paid_for_once(void **state)
{
	struct ioband_leaf *streams[2];
	struct scene_group *group;
	u64 paid = 0;
	u32 i;

	(void)state;
	begin_on("diskwc", IOBAND_MEASURE_TIME);
	group = scene_add_node(&scene, SCENE_ROOT, 100);
	group->node.streams = true;
	for (i = 0; i < 2; i++)
		streams[i] = &scene_add_leaf(&scene, 0, 100)->sim.leaf;
	keep_company();
	for (i = 0; i < 20; i++) {
		write_once(streams[i & 1], i < 2 ? 8 * KIB * KIB : 4 * KIB);
		scene.clock.now_ns += NSEC_PER_SEC;
		if (i == 2)	/* each has paid for the data of both */
			paid = group->node.ent.vtime;
	}
	assert_in_range(group->node.ent.vtime - paid, 0, paid / 10);
	scene_free(&scene);
}

/* With think times beyond the grace period, the others get the leaf's disk time. */
static void a_slow_thinker_is_not_waited_for(void **state)
{
	const double most = alone(&sequential);
	struct scene_group *stream;

	(void)state;
	begin(IOBAND_MEASURE_TIME);
	add(SCENE_ROOT, 100, &slow_thinker);
	stream = add(SCENE_ROOT, 100, &sequential);
	scene_run(&scene, RUN_NS);
	assert_at_least(stream->sim.bytes, 0.7 * most);
	scene_free(&scene);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(time_is_shared_between_random_and_sequential),
		TEST(time_is_shared_by_weight),
		TEST(time_is_shared_at_every_level),
		TEST(bytes_are_shared_with_little_loss),
		TEST(bytes_are_shared_between_random_and_sequential),
		TEST(a_reader_waits_for_a_slice_and_what_is_in_flight),
		TEST(a_turn_ends_when_the_cache_is_empty),
		TEST(writers_share_a_disk_with_a_cache),
		TEST(readers_cause_no_flush),
		TEST(time_that_goes_on_loses_nothing),
		TEST(bytes_that_go_on_lose_nothing),
		TEST(what_was_paid_for_another_flush_is_not_paid_for),
		TEST(what_was_paid_is_used_up_by_a_flush_from_above),
		TEST(writing_in_turns_is_paid_for_once),
		TEST(a_slow_thinker_is_not_waited_for),
	};

	return run_cases(cases, argc, argv);
}
