// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees of groups on modelled devices, with the in-flight limit that the device needs;
 * depth_test.c has the search for that limit.
 */
#include <linux/kernel.h>
#include <linux/time64.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "scale.h"
#include "scene.h"

#define KIB	1024U
#define MIB	(1024U * KIB)

static struct scene scene;
static struct sim_random dice;

static u64 below(u64 n)
{
	return random_below(&dice, n);
}

/* Devices, and limits that fill them. */
static const struct {
	const char *name;
	u32 limit;
} devices[] = {
	{ "line", 8 }, { "cloud", 24 }, { "flash", 24 }, { "nvme", 96 }, { "disk", 4 },
	{ "diskwc", 4 }, { "volume", 6 }, { "volume64", 64 }, { "window", 2 },
};

static void random_pool(u64 seed)
{
	u32 device;

	dice.state = seed;
	device = below(ARRAY_SIZE(devices));
	scene_init(&scene, devices[device].name, devices[device].limit,
		   below(4) ? IOBAND_MEASURE_BYTES : IOBAND_MEASURE_IOS);
}

static u32 random_weight(void)
{
	static const u32 weights[] = { 100, 100, 200, 50, 1, 10000, 300 };

	return below(3) ? weights[below(7)] : 1 + below(1000);
}

static u32 random_size(void)
{
	static const u32 sizes[] = { 4 * KIB, 4 * KIB, 16 * KIB, 64 * KIB, 128 * KIB, 512 * KIB };

	return sizes[below(6)];
}

static int random_up(void)
{
	int up = (int)below(scene.nr + 1) - 1;

	return up == SCENE_ROOT || scene.groups[up].leaf ? SCENE_ROOT : up;
}

/* A few nodes with leaves below or beside them; some leaves are idle. */
static void random_tree(u32 idle_pct)
{
	u32 nodes = below(6), leaves = 2 + below(12);

	/* All are backlogged before the device is full, so no leaf has a head start. */
	ioband_core_set_limit(&scene.pool.core, 1, 0);
	while (nodes--)
		scene_add_node(&scene, random_up(), random_weight());
	while (leaves--) {
		struct scene_group *leaf = scene_add_leaf(&scene, random_up(), random_weight());

		if (below(100) >= idle_pct)
			scene_backlog(&scene, leaf, random_size(), below(2) ? random_size() : 0);
	}
	scene_run(&scene, 50 * NSEC_PER_USEC);
	ioband_core_set_limit(&scene.pool.core, scene.limit, 0);
	scene_run(&scene, NSEC_PER_MSEC);
	scene_mark(&scene);
}

static struct scene_group *random_group(bool leaf)
{
	struct scene_group *group;
	int tries;

	for (tries = 0; tries < 20; tries++) {
		group = &scene.groups[below(scene.nr)];
		if (group->used && group->leaf == leaf)
			return group;
	}
	return NULL;
}

static void nothing_was_wasted(void)
{
	assert_int_equal(scene.pool.idle_ns, 0);
	assert_int_equal(scene.pool.idle_thinking_ns, 0);
}

static void shares_are_right(void)
{
	const double error = scene_check_shares(&scene);

	if (error > 2)
		fail_msg("a share is wrong by %.2f %%", error);
}

/* ---- shares -------------------------------------------------------------- */

static void random_trees_share_by_weight(void **state)
{
	u64 seed;

	(void)state;
	for (seed = 0; seed < scaled(1500); seed++) {
		random_pool(seed);
		random_tree(0);
		scene_run_ios(&scene, 1000 + below(1000));
		shares_are_right();
		nothing_was_wasted();
		scene_free(&scene);
	}
}

static bool any_busy(void)
{
	int i;

	for (i = 0; i < scene.nr; i++)
		if (scene.groups[i].busy)
			return true;
	return false;
}

/* Some leaves are idle from the start, some stop: the others share without them. */
static void what_idles_is_shared_by_the_rest(void **state)
{
	struct scene_group *leaf;
	u64 seed;
	u32 i;

	(void)state;
	for (seed = 0; seed < scaled(500); seed++) {
		random_pool(seed);
		random_tree(30);
		for (i = 0; i < 3; i++) {
			leaf = random_group(true);
			if (leaf && leaf->has_job)
				scene_stop(&scene, leaf);
		}
		if (!any_busy()) {
			scene_free(&scene);
			continue;
		}
		scene_run_ios(&scene, 300);
		scene_mark(&scene);
		scene_run_ios(&scene, 1000);
		shares_are_right();
		nothing_was_wasted();
		scene_free(&scene);
	}
}

/* The example of core.c: A (A1, A2) and B. */
static void siblings_get_it_first(void **state)
{
	struct scene_group *a, *a1, *a2, *b;

	(void)state;
	scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
	a = scene_add_node(&scene, SCENE_ROOT, 200);
	a1 = scene_add_leaf(&scene, scene_index(&scene, a), 100);
	a2 = scene_add_leaf(&scene, scene_index(&scene, a), 100);
	b = scene_add_leaf(&scene, SCENE_ROOT, 100);
	scene_backlog(&scene, a1, 64 * KIB, 0);
	scene_backlog(&scene, a2, 64 * KIB, 0);
	scene_backlog(&scene, b, 64 * KIB, 0);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(1000 * scene_share(&scene, a1), 330, 336);
	assert_in_range(1000 * scene_share(&scene, a2), 330, 336);
	scene_stop(&scene, a2);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(1000 * scene_share(&scene, a1), 663, 670);
	assert_in_range(1000 * scene_share(&scene, b), 330, 336);
	scene_stop(&scene, a1);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(1000 * scene_share(&scene, b), 1000, 1000);
	scene_free(&scene);
}

/* The throughput is the device's own, with any groups. */
static void throughput_is_that_of_the_device(void **state)
{
	u64 seed, bytes;

	(void)state;
	for (seed = 0; seed < scaled(100); seed++) {
		dice.state = seed;
		scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
		random_tree(0);
		scene_run(&scene, 100 * NSEC_PER_MSEC);
		bytes = scene.pool.bytes;
		scene_run(&scene, NSEC_PER_SEC);
		assert_in_range(scene.pool.bytes - bytes, 98000000, 101000000);
		scene_free(&scene);
	}
}

/* ---- waiting ------------------------------------------------------------- */

/*
 * Bios that can be dispatched before the bio of a group below its share: one of each sibling
 * at every level, divided by the due of the node above.
 */
static double turns(const struct scene_group *group)
{
	double nr = 0, due = 1;
	int i;

	for (;;) {
		if (group->up != SCENE_ROOT)
			due = scene_due(&scene, &scene.groups[group->up]);
		for (i = 0; i < scene.nr; i++)
			nr += (scene.groups[i].up == group->up) / due;
		if (group->up == SCENE_ROOT)
			return nr;
		group = &scene.groups[group->up];
		due = 1;
	}
}

/* An occasional bio waits for the next completion, and for its pick. */
static void an_occasional_bio_waits_little(void **state)
{
	struct sim_workload occasional = { .depth = 1, .bytes = 4 * KIB };
	struct scene_group *leaf;
	u64 seed, largest;
	int tries;

	(void)state;
	for (seed = 0; seed < scaled(1000); seed++) {
		random_pool(seed);
		random_tree(0);
		leaf = scene_add_leaf(&scene, random_up(), 100);
		leaf->steady = true;
		if (scene_due(&scene, leaf) < 0.01)
			scene_set_weight(&scene, leaf, 10000);
		if (scene_due(&scene, leaf) >= 0.01) {
			/* Less than its share on the slowest device. */
			occasional.think_ns = 20 * NSEC_PER_MSEC / scene_due(&scene, leaf);
			scene_load(&scene, leaf, &occasional);
			for (tries = 0; tries < 300 && leaf->sim.ios < 3; tries++)
				scene_run(&scene, NSEC_PER_SEC);
			assert_true(leaf->sim.ios);
		}
		largest = scene.pool.measure == IOBAND_MEASURE_IOS ? 1 : 512 * KIB;
		assert_in_range(leaf->sim.max_passed, 0, (1 + turns(leaf)) * largest);
		scene_free(&scene);
	}
}

/* A synchronous reader gets its share beside leaves with deep queues. */
static void a_synchronous_reader_gets_its_share(void **state)
{
	const struct sim_workload reader = {
		.depth = 1, .bytes = 64 * KIB, .think_ns = 30 * NSEC_PER_USEC,
	};
	struct scene_group *a, *b;

	(void)state;
	scene_init(&scene, "line", 1, IOBAND_MEASURE_BYTES);
	a = scene_add_leaf(&scene, SCENE_ROOT, 300);
	b = scene_add_leaf(&scene, SCENE_ROOT, 100);
	scene_load(&scene, a, &reader);
	scene_backlog(&scene, b, 64 * KIB, 0);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(1000 * scene_share(&scene, a), 735, 765);
	scene_free(&scene);
}

/* A leaf with a long think time is not anticipated. */
static void slow_thinkers_do_not_stop_the_rest(void **state)
{
	const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 5 * NSEC_PER_MSEC,
	};
	struct scene_group *a, *b;

	(void)state;
	scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
	a = scene_add_leaf(&scene, SCENE_ROOT, 10000);
	b = scene_add_leaf(&scene, SCENE_ROOT, 1);
	scene_load(&scene, a, &thinker);
	scene_backlog(&scene, b, 64 * KIB, 0);
	scene_run(&scene, 2 * NSEC_PER_SEC);
	assert_in_range(scene.pool.bytes, 195000000, 201000000);
	assert_int_equal(scene.pool.idle_ns, 0);
	scene_free(&scene);
}

/* On a fast device, think times above the time until a slot is free get no slot. */
static void thinkers_do_not_fill_the_pipe_of_a_fast_device(void **state)
{
	static const u32 think_us[] = { 150, 400, 800, 1800 };
	static const u32 readers[] = { 1, 8, 24, 32 };
	struct sim_workload thinker = { .depth = 1, .bytes = 4 * KIB };
	u32 n, t, i;
	int up;

	(void)state;
	for (n = 0; n < ARRAY_SIZE(readers); n++) {
		for (t = 0; t < 2 * ARRAY_SIZE(think_us); t++) {
			scene_init(&scene, "nvme", 24, IOBAND_MEASURE_BYTES);
			thinker.think_ns = think_us[t / 2] * NSEC_PER_USEC;
			up = SCENE_ROOT;
			if (t % 2)
				up = scene_index(&scene, scene_add_node(&scene, up, 100));
			for (i = 0; i < readers[n]; i++)
				scene_add_loaded(&scene, up, 100, &thinker);
			scene_backlog(&scene, scene_add_leaf(&scene, SCENE_ROOT, 100), 64 * KIB, 0);
			scene_run(&scene, 50 * NSEC_PER_MSEC);
			scene.pool.bytes = 0;
			scene_run(&scene, 200 * NSEC_PER_MSEC);
			assert_true(scene.pool.bytes >= 0.8 * 3200000000 / 5);
			scene_free(&scene);
		}
	}
}

/* ---- changes in mid-run -------------------------------------------------- */

/* The bound on shares holds from the change on. */
static void weights_change(void **state)
{
	struct scene_group *group;
	u64 seed;
	u32 i;

	(void)state;
	for (seed = 0; seed < scaled(300); seed++) {
		random_pool(seed);
		random_tree(0);
		for (i = 0; i < 5; i++) {
			scene_run_ios(&scene, 200);
			group = random_group(below(2));
			if (!group)
				continue;
			scene_set_weight(&scene, group, random_weight());
			scene_mark(&scene);
			scene_run_ios(&scene, 200);
			shares_are_right();
		}
		nothing_was_wasted();
		scene_free(&scene);
	}
}

static void a_weight_shows_within_100_ms(void **state)
{
	struct scene_group *a, *b;

	(void)state;
	scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
	a = scene_add_leaf(&scene, SCENE_ROOT, 1);
	b = scene_add_leaf(&scene, SCENE_ROOT, 100);
	scene_backlog(&scene, a, MIB, 0);
	scene_backlog(&scene, b, 64 * KIB, 0);
	scene_run(&scene, NSEC_PER_SEC);
	scene_set_weight(&scene, a, 10000);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	assert_in_range(1000 * scene_share(&scene, a), 980, 1000);
	scene_set_weight(&scene, a, 1);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	scene_mark(&scene);
	scene_run(&scene, 100 * NSEC_PER_MSEC);
	assert_in_range(1000 * scene_share(&scene, b), 980, 1000);
	scene_free(&scene);
}

/* Dispatch a bio now; its job has ended, so no bio follows it. */
static void send_urgent(struct scene_group *leaf, struct sim_io *io)
{
	const struct ioband_bill bill = ioband_cost(scene.pool.measure, MIB, true);
	static struct sim_job nobody;

	nobody = (struct sim_job) { .pool = &scene.pool };
	*io = (struct sim_io) {
		.job = &nobody,
		.leaf = &leaf->sim,
		.bytes = MIB,
		.born_ns = scene.clock.now_ns,
	};
	leaf->sim.charged += bill.charge;
	ioband_core_admit_now(&scene.pool.core, &leaf->sim.leaf, &bill, scene.clock.now_ns);
	device_submit(&scene.pool.device, io);
}

/* A debt is paid: once a leaf's due equals its early service, all have their shares. */
static void debts_are_repaid(void **state)
{
	static struct sim_io urgent[16];
	struct scene_group *debtor;
	double due;
	u64 seed, end;
	u32 i;

	(void)state;
	for (seed = 0; seed < scaled(150); seed++) {
		dice.state = seed;
		scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
		random_tree(0);
		debtor = random_group(true);
		for (i = 0; i < (u32)scene.nr; i++)
			scene_set_weight(&scene, &scene.groups[i], 50 + below(250));
		scene_run_ios(&scene, 100);
		scene_mark(&scene);
		due = scene_due(&scene, debtor);
		end = scene.pool.bytes + 18 * MIB / due;
		for (i = 0; i < 16; i++)
			send_urgent(debtor, &urgent[i]);
		/* No other bio of it is dispatched in the first half of that time. */
		while (due < 0.9 && scene.pool.bytes < end / 2)
			scene_run(&scene, NSEC_PER_MSEC);
		assert_true(due >= 0.9 || debtor->sim.charged == debtor->marked + 16 * MIB);
		while (scene.pool.bytes < end)
			scene_run(&scene, NSEC_PER_MSEC);
		shares_are_right();
		nothing_was_wasted();
		scene_free(&scene);
	}
}

static void come_or_go(const struct scene_group *stays)
{
	struct scene_group *group = random_group(true);

	if (group == stays)
		return;
	if (group && group->busy && below(2))
		scene_stop(&scene, group);
	else if (group && scene_is_done(group))
		scene_remove(&scene, group);
	if (scene.nr < SCENE_GROUPS_MAX && below(2)) {
		group = scene_add_leaf(&scene, random_up(), random_weight());
		scene_backlog(&scene, group, random_size(), 0);
	}
}

/* Groups come and go without effect on the shares of the others. */
static void groups_come_and_go(void **state)
{
	struct scene_group *stays;
	u64 seed;
	u32 i;

	(void)state;
	for (seed = 0; seed < scaled(200); seed++) {
		random_pool(seed);
		random_tree(20);
		/*
		 * A new leaf may not have been backlogged all the time:
		 * then the bound is that of SFQ(D) (Jin, Chase & Kaur).
		 */
		scene.slack = scene.limit + 1;
		stays = scene_add_leaf(&scene, SCENE_ROOT, 100);
		scene_backlog(&scene, stays, 64 * KIB, 0);
		scene_run(&scene, NSEC_PER_MSEC);
		for (i = 0; i < 30; i++) {
			if (i % 10 == 0)
				scene_mark(&scene);
			come_or_go(stays);
			scene_run_ios(&scene, 100);
			scene_check_shares(&scene);
		}
		nothing_was_wasted();
		scene_free(&scene);
	}
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(random_trees_share_by_weight),
		TEST(what_idles_is_shared_by_the_rest),
		TEST(siblings_get_it_first),
		TEST(throughput_is_that_of_the_device),
		TEST(an_occasional_bio_waits_little),
		TEST(a_synchronous_reader_gets_its_share),
		TEST(slow_thinkers_do_not_stop_the_rest),
		TEST(thinkers_do_not_fill_the_pipe_of_a_fast_device),
		TEST(weights_change),
		TEST(a_weight_shows_within_100_ms),
		TEST(debts_are_repaid),
		TEST(groups_come_and_go),
	};

	return run_cases(cases, argc, argv);
}
