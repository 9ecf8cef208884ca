// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices of a pool that do not answer: a disk stalls below all of them, or a device hangs
 * beside others.
 */
#include <linux/kernel.h>
#include <linux/time64.h>
#include <string.h>

#include "cases.h"
#include "scene.h"

#define LIMIT		8
#define DEPTH		256	/* I/Os of a leaf, in flight and queued */
#define STALL_NS	(5 * (u64)NSEC_PER_SEC)

static struct scene scene;
static struct sim_member members[3];
static struct sim_device other;

static const struct sim_workload deep = { .depth = DEPTH, .bytes = 4096 };

static void setup(void)
{
	scene_init(&scene, "volume64", LIMIT, IOBAND_MEASURE_BYTES);
}

/* A volume on the disk of the pool, or on @device. */
static struct sim_member *add_member(int nr, struct sim_device *device)
{
	pool_add_member(&scene.pool, &members[nr], device ? device : &scene.pool.device);
	return &members[nr];
}

static struct scene_group *add_load(int up, u32 weight, struct sim_member *member,
				    const struct sim_workload *work)
{
	struct scene_group *leaf = scene_add_leaf(&scene, up, weight);

	leaf->sim.member = member;
	leaf->busy = work->depth > LIMIT;
	scene_load(&scene, leaf, work);
	return leaf;
}

/* Nothing completes for so long; return: the most that was in flight. */
static u32 stall(struct sim_device *device, u64 ns)
{
	device->stalled_until_ns = scene.clock.now_ns + ns;
	scene.pool.peak_ios = 0;
	scene_run(&scene, ns);
	return max(scene.pool.peak_ios, scene.pool.core.inflight_ios);
}

/* From the first I/O after a stall. */
static void shares_are_right_after(u64 ns)
{
	scene_mark(&scene);
	scene_run(&scene, ns);
	assert_true(scene_check_shares(&scene) < 2);
}

/* Two groups, and a volume of each on the disk; a third volume does nothing. */
static void volumes_of_two_groups(void)
{
	static const u32 weights[] = { 10, 100 };
	struct sim_member *one = add_member(0, NULL), *two = add_member(1, NULL);
	u32 i;

	add_member(2, NULL);
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		const int up = scene_index(&scene, scene_add_node(&scene, SCENE_ROOT, weights[i]));

		add_load(up, 100, one, &deep);
		add_load(up, 100, two, &deep);
	}
}

/* A group may have had no bio in flight when the stall began, and then one beyond the limit. */
static void a_stall_leaves_the_limit(void **state)
{
	(void)state;
	setup();
	add_load(SCENE_ROOT, 10, NULL, &deep);
	add_load(SCENE_ROOT, 100, NULL, &deep);
	scene_run(&scene, NSEC_PER_SEC);
	assert_in_range(stall(&scene.pool.device, STALL_NS), LIMIT, LIMIT + 1);
	scene.pool.peak_ios = 0;
	shares_are_right_after(NSEC_PER_SEC / 2);
	assert_int_equal(scene.pool.peak_ios, LIMIT);
	scene_free(&scene);
}

static void a_stall_below_volumes_leaves_the_limit(void **state)
{
	(void)state;
	setup();
	volumes_of_two_groups();
	scene_run(&scene, NSEC_PER_SEC);
	assert_int_equal(stall(&scene.pool.device, STALL_NS), LIMIT);
	/* Some volume answers first: the others do not count as hung. */
	scene.pool.peak_ios = 0;
	shares_are_right_after(NSEC_PER_SEC);
	assert_int_equal(scene.pool.peak_ios, LIMIT);
	scene_free(&scene);
}

/*
 * A volume that comes to a stalled disk has a bio in flight, and not two.  Nor has a group without
 * bios in flight.
 */
static void a_stall_costs_a_probe(void **state)
{
	struct sim_member *late;
	u64 ns;

	(void)state;
	setup();
	late = add_member(0, NULL);
	add_load(SCENE_ROOT, 10, NULL, &deep);
	add_load(SCENE_ROOT, 100, NULL, &deep);
	scene_run(&scene, NSEC_PER_SEC);
	scene.pool.device.stalled_until_ns = scene.clock.now_ns + STALL_NS;
	scene_run(&scene, NSEC_PER_SEC / 10);
	add_load(SCENE_ROOT, 10000, late, &deep);
	for (ns = 0; ns < STALL_NS - NSEC_PER_SEC; ns += NSEC_PER_MSEC) {
		scene_run(&scene, NSEC_PER_MSEC);
		assert_in_range(scene.pool.core.inflight_ios, LIMIT, LIMIT + 2);
		assert_in_range(late->stall_dev.inflight_ios, 0, 1);
	}
	assert_int_equal(late->stall_dev.inflight_ios, 1);
	scene_run(&scene, NSEC_PER_SEC);
	scene.pool.peak_ios = 0;
	shares_are_right_after(NSEC_PER_SEC);
	assert_int_equal(scene.pool.peak_ios, LIMIT);
	scene_free(&scene);
}

/* So many I/Os complete of a leaf in a second. */
static u64 rate(const struct scene_group *leaf)
{
	const u64 before = leaf->sim.ios;

	scene_run(&scene, NSEC_PER_SEC);
	return leaf->sim.ios - before;
}

/* However many bios of the pool it has taken when it begins to hang. */
static void one_that_hangs_does_not_stop_another(void **state)
{
	static const u32 depths[] = { 1, LIMIT / 2, 4 * LIMIT };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		const struct sim_workload sick = { .depth = depths[i], .bytes = 4096 };
		struct scene_group *healthy;
		struct sim_member *hung;
		u64 before, during;

		setup();
		device_init(&other, &scene.clock, sim_spec_find("volume64"), NULL, NULL);
		hung = add_member(0, &other);
		healthy = add_load(SCENE_ROOT, 100, NULL, &deep);
		add_load(SCENE_ROOT, 100, hung, &sick);
		scene_run(&scene, NSEC_PER_SEC);
		before = rate(healthy);
		other.stalled_until_ns = scene.clock.now_ns + STALL_NS;
		scene_run(&scene, 3 * (u64)NSEC_PER_SEC / 2);
		during = rate(healthy);
		assert_in_range(hung->stall_dev.inflight_ios, 1, LIMIT);
		assert_int_equal(scene.pool.core.inflight_ios,
				 hung->stall_dev.inflight_ios + LIMIT);
		/* Half of the limit was the other's before. */
		assert_true(during >= before);
		assert_true(during > 7900 && during < 8100);
		scene_run(&scene, STALL_NS);
		assert_int_equal(scene.pool.stall.stuck_ios, 0);
		assert_in_range(scene.pool.core.inflight_ios, 1, LIMIT);
		if (depths[i] > LIMIT)
			shares_are_right_after(NSEC_PER_SEC);
		device_free(&other);
		scene_free(&scene);
	}
}

/* Until it is known whether a silent device hangs, others have the rest of the limit. */
static void silence_leaves_the_rest_of_the_limit(void **state)
{
	static const struct sim_workload one = { .depth = 1, .bytes = 4096 };
	struct scene_group *healthy;

	(void)state;
	setup();
	device_init(&other, &scene.clock, sim_spec_find("volume64"), NULL, NULL);
	add_load(SCENE_ROOT, 100, add_member(0, &other), &one);
	other.stalled_until_ns = U64_MAX;
	scene_run(&scene, 7 * (u64)NSEC_PER_SEC / 10);
	healthy = add_load(SCENE_ROOT, 100, NULL, &deep);
	scene_run(&scene, NSEC_PER_SEC / 10);
	assert_int_equal(scene.pool.stall.silent_ios, 1);
	assert_int_equal(scene.pool.core.inflight_ios, LIMIT);
	assert_true(healthy->sim.ios > 600);
	device_free(&other);
	scene_free(&scene);
}

/* What another one does now and then does not let a device that hangs have more. */
static void what_hangs_has_no_more(void **state)
{
	static const struct sim_workload sick = { .depth = LIMIT / 2, .bytes = 4096 };
	static const struct sim_workload seldom = {
		.depth = 2,
		.bytes = 4096,
		.on_ns = NSEC_PER_SEC,
		.off_ns = NSEC_PER_SEC,
	};
	struct sim_member *hung;
	u32 inflight;
	int i;

	(void)state;
	setup();
	device_init(&other, &scene.clock, sim_spec_find("volume64"), NULL, NULL);
	hung = add_member(0, &other);
	add_load(SCENE_ROOT, 100, NULL, &seldom);
	add_load(SCENE_ROOT, 100, hung, &sick);
	scene_run(&scene, NSEC_PER_SEC / 10);
	other.stalled_until_ns = U64_MAX;
	scene_run(&scene, 2 * (u64)NSEC_PER_SEC);
	inflight = hung->stall_dev.inflight_ios;
	assert_in_range(inflight, 1, LIMIT / 2);
	add_load(SCENE_ROOT, 100, hung, &deep);
	for (i = 0; i < 100; i++) {
		scene_run(&scene, NSEC_PER_SEC / 10);
		assert_int_equal(hung->stall_dev.inflight_ios, inflight);
	}
	device_free(&other);
	scene_free(&scene);
}

/* With slices the other one does not have the device, whatever the limit. */
static void one_that_hangs_in_its_slice_does_not_stop_another(void **state)
{
	static const struct sim_workload sick = { .depth = LIMIT / 4, .bytes = 4096 };
	struct scene_group *healthy;
	struct sim_member *hung;

	(void)state;
	setup();
	ioband_core_set_slice(&scene.pool.core, 100 * NSEC_PER_MSEC, false, 0);
	device_init(&other, &scene.clock, sim_spec_find("volume64"), NULL, NULL);
	hung = add_member(0, &other);
	healthy = add_load(SCENE_ROOT, 100, NULL, &deep);
	add_load(SCENE_ROOT, 100, hung, &sick);
	scene_run(&scene, NSEC_PER_SEC);
	while (!hung->stall_dev.inflight_ios)
		scene_run(&scene, NSEC_PER_MSEC);
	other.stalled_until_ns = U64_MAX;
	scene_run(&scene, 2 * (u64)NSEC_PER_SEC);
	assert_true(rate(healthy) > 4000);
	assert_in_range(hung->stall_dev.inflight_ios, 1, LIMIT / 4);
	device_free(&other);
	scene_free(&scene);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(a_stall_leaves_the_limit),
		TEST(a_stall_below_volumes_leaves_the_limit),
		TEST(a_stall_costs_a_probe),
		TEST(one_that_hangs_does_not_stop_another),
		TEST(silence_leaves_the_rest_of_the_limit),
		TEST(what_hangs_has_no_more),
		TEST(one_that_hangs_in_its_slice_does_not_stop_another),
	};

	return run_cases(cases, argc, argv);
}
