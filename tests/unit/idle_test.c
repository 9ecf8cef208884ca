// SPDX-License-Identifier: GPL-2.0-only
/*
 * The class below all weights, on modelled devices.
 */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "cases.h"
#include "scene.h"

#define KIB		1024U
#define MB		1000000ULL
#define MSEC		NSEC_PER_MSEC
#define SLICE_NS	(80 * MSEC)
#define RUN_NS		(10 * NSEC_PER_SEC)
#define WEIGHTLESS	IOBAND_WEIGHT_IDLE

static const struct sim_workload deep = { .depth = 32, .bytes = 64 * KIB };
static const struct sim_workload reader = { .depth = 1, .bytes = 4 * KIB };
static const struct sim_workload sequential = { .depth = 4, .bytes = 64 * KIB, .sequential = true };

static struct scene scene;

static void begin(const char *device)
{
	scene_init(&scene, device, 32, IOBAND_MEASURE_BYTES);
}

static void begin_slices(void)
{
	scene_init(&scene, "disk", 31, IOBAND_MEASURE_TIME);
	ioband_core_set_slice(&scene.pool.core, SLICE_NS, true, 0);
}

/* A leaf with a load; of weight WEIGHTLESS, it is idle. */
static struct scene_group *add(int up, u32 weight, const struct sim_workload *work)
{
	struct scene_group *leaf = scene_add_leaf(&scene, up, IOBAND_WEIGHT_DEFAULT);

	if (weight != IOBAND_WEIGHT_DEFAULT)
		scene_set_weight(&scene, leaf, weight);
	scene_load(&scene, leaf, work);
	return leaf;
}

static void end(void)
{
	assert_int_equal(scene.pool.idle_ns, 0);
	scene_free(&scene);
}

static u64 ios_of(const struct scene_group *leaf)
{
	return leaf->sim.ios;
}

/* Completed I/Os of a leaf in a run. */
static u64 ios_in(const struct scene_group *leaf, u64 ns)
{
	const u64 before = ios_of(leaf);

	scene_run(&scene, ns);
	return ios_of(leaf) - before;
}

static void assert_between(double a, double least, double most)
{
	if (a < least || a > most)
		fail_msg("%.3f, not within %.3f and %.3f", a, least, most);
}

static u64 alone(const char *device, const struct sim_workload *work)
{
	u64 ios;

	begin(device);
	ios = ios_in(add(SCENE_ROOT, 100, work), RUN_NS);
	end();
	return ios;
}

/* A reader with one I/O at a time has the device to itself, as no weight gives it. */
static void it_yields_to_a_reader(void **state)
{
	static const char * const devices[] = { "line", "flash", "nvme" };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		const u64 most = alone(devices[i], &reader);
		struct scene_group *usual, *idle;

		begin(devices[i]);
		usual = add(SCENE_ROOT, 1, &reader);
		idle = add(SCENE_ROOT, WEIGHTLESS, &deep);
		assert_between(ios_in(usual, RUN_NS) / (double)most, 0.94, 1);
		assert_between(ios_of(idle) / (double)ios_of(usual), 0.004, 0.006);
		end();

		begin(devices[i]);
		usual = add(SCENE_ROOT, 100, &reader);
		add(SCENE_ROOT, 1, &deep);
		assert_between(ios_in(usual, RUN_NS) / (double)most, 0, 0.6);
		end();
	}
}

static void it_has_all_that_is_left(void **state)
{
	const u64 most = alone("flash", &deep);
	struct scene_group *usual, *idle;

	(void)state;
	begin("flash");
	usual = add(SCENE_ROOT, 100, &deep);
	idle = add(SCENE_ROOT, WEIGHTLESS, &deep);
	scene_run(&scene, RUN_NS);
	scene_stop(&scene, usual);
	scene_run(&scene, 100 * MSEC);
	assert_between(ios_in(idle, RUN_NS) / (double)most, 0.99, 1.01);
	end();
}

/* Below the least weight, and not starved beside the largest one. */
static void it_is_below_all_weights(void **state)
{
	static const u32 weights[] = { 1, 100, 10000 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		struct scene_group *usual, *idle;
		u64 ios;

		begin("line");
		idle = add(SCENE_ROOT, WEIGHTLESS, &deep);
		usual = add(SCENE_ROOT, weights[i], &deep);
		scene_run(&scene, NSEC_PER_SEC);
		ios = ios_in(idle, RUN_NS);
		assert_in_range(ios, RUN_NS / NSEC_PER_SEC - 1, 100);
		assert_between(ios / (double)ios_of(usual), 0, 0.0055);
		end();
	}
}

/* Six usual I/Os a second: the second counts, not their number. */
static void it_is_not_starved_on_a_slow_device(void **state)
{
	static const struct sim_workload slow = { .depth = 4, .bytes = 16 << 20 };
	struct scene_group *idle;

	(void)state;
	begin("line");
	add(SCENE_ROOT, 10000, &slow);
	idle = add(SCENE_ROOT, WEIGHTLESS, &reader);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(ios_in(idle, RUN_NS), 7, 11);
	end();
}

/* Only siblings count: the node above competes by its own weight. */
static void it_yields_to_siblings_only(void **state)
{
	struct scene_group *node, *usual, *idle, *other;

	(void)state;
	begin("line");
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	usual = add(scene_index(&scene, node), 100, &deep);
	idle = add(scene_index(&scene, node), WEIGHTLESS, &deep);
	other = add(SCENE_ROOT, 100, &deep);
	scene_run(&scene, RUN_NS);
	assert_between(ios_of(other) / (double)ios_of(usual), 0.98, 1.02);
	assert_between(ios_of(idle) / (double)ios_of(usual), 0, 0.006);
	scene_stop(&scene, usual);
	scene_run(&scene, 100 * MSEC);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, idle), 0.49, 0.51);
	end();
}

/* The whole subtree of an idle node yields, and weights count in it otherwise. */
static void a_node_yields_with_all_below(void **state)
{
	struct scene_group *node, *one, *two, *usual;

	(void)state;
	begin("line");
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	scene_set_weight(&scene, node, WEIGHTLESS);
	one = add(scene_index(&scene, node), 300, &deep);
	two = add(scene_index(&scene, node), 100, &deep);
	usual = add(SCENE_ROOT, 1, &deep);
	scene_run(&scene, RUN_NS);
	assert_between((ios_of(one) + ios_of(two)) / (double)ios_of(usual), 0.004, 0.006);
	scene_stop(&scene, usual);
	scene_run(&scene, 100 * MSEC);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, one), 0.745, 0.755);
	assert_between(scene_share(&scene, two), 0.245, 0.255);
	end();
}

/* An idle node that has an idle child serves the usual one, too. */
static void idle_below_idle_is_not_starved(void **state)
{
	struct scene_group *node, *usual, *idle;

	(void)state;
	begin("line");
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	scene_set_weight(&scene, node, WEIGHTLESS);
	usual = add(scene_index(&scene, node), 100, &deep);
	idle = add(scene_index(&scene, node), WEIGHTLESS, &deep);
	add(SCENE_ROOT, 100, &deep);
	scene_run(&scene, 3 * RUN_NS);
	assert_in_range(ios_of(idle), 10, 2 * ios_of(usual));
	assert_in_range(ios_of(usual), 30, 1000);
	end();
}

/* Idle leaves are equals, also in the gaps of a load that comes and goes. */
static void idle_leaves_are_equals(void **state)
{
	static const struct sim_workload gaps = {
		.depth = 8, .bytes = 64 * KIB, .on_ns = 20 * MSEC, .off_ns = 20 * MSEC,
	};
	struct scene_group *one, *two;

	(void)state;
	begin("line");
	one = add(SCENE_ROOT, WEIGHTLESS, &deep);
	two = add(SCENE_ROOT, WEIGHTLESS, &deep);
	add(SCENE_ROOT, 100, &gaps);
	scene_run(&scene, RUN_NS);
	assert_between(ios_of(one) / (double)ios_of(two), 0.98, 1.02);
	assert_between(ios_of(one) * 64 * KIB / (50.0 * MB * RUN_NS / NSEC_PER_SEC), 0.3, 0.5);
	end();
}

/* The idle leaf gets the part that a maximum takes from a usual leaf. */
static void a_maximum_leaves_something(void **state)
{
	const struct ioband_rates rates = { .bytes = { 10 * MB, 0 } };
	static struct ioband_max maximum;
	struct scene_group *usual, *idle;

	(void)state;
	begin("line");
	ioband_max_set_slack(&scene.pool.core, 2 * MSEC);
	usual = add(SCENE_ROOT, 100, &deep);
	idle = add(SCENE_ROOT, WEIGHTLESS, &deep);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(usual), &maximum, &rates, 0);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, usual), 0.08, 0.12);
	assert_between(scene_share(&scene, idle), 0.85, 0.92);
	end();
}

/* A class or weight changes at once, queued bios included. */
static void it_can_be_changed(void **state)
{
	struct scene_group *one, *two;

	(void)state;
	begin("line");
	one = add(SCENE_ROOT, 100, &deep);
	two = add(SCENE_ROOT, WEIGHTLESS, &deep);
	scene_run(&scene, RUN_NS);
	scene_set_weight(&scene, two, 300);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, two), 0.74, 0.76);
	scene_set_weight(&scene, one, WEIGHTLESS);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, one), 0.001, 0.006);
	scene_set_weight(&scene, one, 300);
	scene_mark(&scene);
	scene_run(&scene, RUN_NS);
	assert_between(scene_share(&scene, one), 0.49, 0.51);
	end();
}

/* Its late reads throttle no other group. */
static void its_target_throttles_no_sibling(void **state)
{
	static struct ioband_latency latency;
	struct scene_group *usual, *idle;

	(void)state;
	begin("line");
	usual = add(SCENE_ROOT, 100, &deep);
	idle = add(SCENE_ROOT, WEIGHTLESS, &reader);
	ioband_latency_init(&latency, IOBAND_DIR_READ);
	ioband_latency_set(&scene.pool.core, scene_ent(idle), &latency, MSEC, 0);
	scene_run(&scene, RUN_NS);
	assert_false(scene.pool.core.late);
	assert_between(ios_of(usual) * 64 * KIB, 99 * MB * (RUN_NS / NSEC_PER_SEC),
		       101 * MB * (RUN_NS / NSEC_PER_SEC));
	end();
}

/* On a disk with slices, one I/O a second costs the others little. */
static void it_yields_with_slices(void **state)
{
	struct scene_group *usual, *idle;
	u64 most;

	(void)state;
	begin_slices();
	most = ios_in(add(SCENE_ROOT, 100, &sequential), RUN_NS);
	end();
	begin_slices();
	usual = add(SCENE_ROOT, 1, &sequential);
	idle = add(SCENE_ROOT, WEIGHTLESS, &reader);
	assert_between(ios_in(usual, RUN_NS) / (double)most, 0.96, 1);
	assert_in_range(ios_of(idle), 7, 12);
	scene_stop(&scene, usual);
	scene_run(&scene, 100 * MSEC);
	assert_in_range(ios_in(idle, RUN_NS), 500, 5000);
	end();
}

/* A reader with a think time gets the disk back at once, in the middle of a slice. */
static void its_slice_ends_for_others(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 30 * MSEC,
	};
	struct scene_group *usual;
	u64 most;

	(void)state;
	begin_slices();
	most = ios_in(add(SCENE_ROOT, 100, &thinker), RUN_NS);
	end();
	begin_slices();
	usual = add(SCENE_ROOT, 1, &thinker);
	add(SCENE_ROOT, WEIGHTLESS, &reader);
	assert_between(ios_in(usual, RUN_NS) / (double)most, 0.8, 1);
	end();
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(it_yields_to_a_reader),
		TEST(it_has_all_that_is_left),
		TEST(it_is_below_all_weights),
		TEST(it_is_not_starved_on_a_slow_device),
		TEST(it_yields_to_siblings_only),
		TEST(a_node_yields_with_all_below),
		TEST(idle_below_idle_is_not_starved),
		TEST(idle_leaves_are_equals),
		TEST(a_maximum_leaves_something),
		TEST(it_can_be_changed),
		TEST(its_target_throttles_no_sibling),
		TEST(it_yields_with_slices),
		TEST(its_slice_ends_for_others),
	};

	return run_cases(cases, argc, argv);
}
