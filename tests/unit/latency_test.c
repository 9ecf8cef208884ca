// SPDX-License-Identifier: GPL-2.0-only
/*
 * Latency targets on modelled devices: the latency of reads, and its cost to other groups.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <string.h>

#include "cases.h"
#include "scale.h"
#include "scene.h"

#define KIB		1024U
#define MB		1000000ULL
#define LINE_BPS	(100 * MB)
#define USEC		NSEC_PER_USEC
#define MSEC		NSEC_PER_MSEC
#define SETTLE_NS	(4 * NSEC_PER_SEC)
#define WATCH_NS	(4 * NSEC_PER_SEC)
#define LATENCIES_MAX	64

static const struct sim_workload deep = { .depth = 32, .bytes = 64 * KIB };
static const struct sim_workload writes = { .depth = 32, .bytes = 64 * KIB, .write_pct = 100 };
/* More than the in-flight limit: some bios are always queued. */
static const struct sim_workload many = { .depth = 128, .bytes = 64 * KIB, .write_pct = 100 };
static const struct sim_workload reader = { .depth = 1, .bytes = 4 * KIB };
static const struct sim_workload sequential = { .depth = 4, .bytes = 64 * KIB, .sequential = true };

static struct scene scene;
static struct ioband_latency latencies[LATENCIES_MAX];

static void begin(void)
{
	scene_init(&scene, "line", 32, IOBAND_MEASURE_BYTES);
	ioband_max_set_slack(&scene.pool.core, 2 * MSEC);	/* as in the kernel */
}

static struct scene_group *add(int up, u32 weight, const struct sim_workload *work)
{
	return scene_add_loaded(&scene, up, weight, work);
}

static void want_ent(int i, struct ioband_ent *ent, u64 target_ns)
{
	if (!ent->latency[IOBAND_DIR_READ])
		ioband_latency_init(&latencies[i], IOBAND_DIR_READ);
	ioband_latency_set(&scene.pool.core, ent, &latencies[i], target_ns, scene.clock.now_ns);
}

/* Set a target; @i is the index of its memory. */
static void want(int i, struct scene_group *group, u64 target_ns)
{
	want_ent(i, scene_ent(group), target_ns);
}

/* Bytes a second, and the mean latency of an I/O. */
struct got {
	double bps;
	double mean_ns;
};

static void watch(struct scene_group **leaves, struct got *got, int nr, u64 ns)
{
	struct sim_leaf before[LATENCIES_MAX];
	int i;

	for (i = 0; i < nr; i++)
		before[i] = leaves[i]->sim;
	scene_run(&scene, ns);
	for (i = 0; i < nr; i++) {
		const struct sim_leaf *leaf = &leaves[i]->sim;

		got[i].bps = (leaf->bytes - before[i].bytes) * 1e9 / ns;
		got[i].mean_ns = (leaf->took_ns - before[i].took_ns) * 1.0 /
				 max(leaf->ios - before[i].ios, (u64)1);
	}
}

static void settle_and_watch(struct scene_group **leaves, struct got *got, int nr)
{
	scene_run(&scene, SETTLE_NS);
	watch(leaves, got, nr, WATCH_NS);
}

static void assert_between(double a, double least, double most)
{
	if (a < least || a > most)
		fail_msg("%.0f, not within %.0f and %.0f", a, least, most);
}

static void reads_take_what_they_are_to(void **state)
{
	static const u64 targets_ns[] = { 3 * MSEC, MSEC, 400 * USEC };
	struct scene_group *leaves[3];
	struct got got[3];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(targets_ns); i++) {
		begin();
		leaves[0] = add(SCENE_ROOT, 100, &reader);
		leaves[1] = add(SCENE_ROOT, 100, &deep);
		leaves[2] = add(SCENE_ROOT, 100, &deep);
		settle_and_watch(leaves, got, 3);
		assert_between(got[0].mean_ns, 5 * MSEC, 50 * MSEC);
		want(0, leaves[0], targets_ns[i]);
		settle_and_watch(leaves, got, 3);
		assert_between(got[0].mean_ns, 0.8 * targets_ns[i], 1.15 * targets_ns[i]);
		/* The others lose no more than necessary. */
		assert_between(got[1].bps + got[2].bps, 50 * MB, LINE_BPS);
		assert_true(scene.pool.core.late);
		scene_free(&scene);
	}
}

static struct ioband_latency write_latency;

static void want_writes(struct scene_group *group, u64 target_ns)
{
	if (!scene_ent(group)->latency[IOBAND_DIR_WRITE])
		ioband_latency_init(&write_latency, IOBAND_DIR_WRITE);
	ioband_latency_set(&scene.pool.core, scene_ent(group), &write_latency, target_ns,
			   scene.clock.now_ns);
}

/* The throttle is the same for writes that a task waits for, beside reads and writes of others. */
static void awaited_writes_have_a_target(void **state)
{
	static const struct sim_workload journal = {
		.depth = 1, .bytes = 4 * KIB, .write_pct = 100, .awaited = true,
	};
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &journal);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &writes);
	want(0, leaves[0], MSEC);
	settle_and_watch(leaves, got, 3);
	assert_between(got[0].mean_ns, 5 * MSEC, 50 * MSEC);	/* it has no reads */
	want_writes(leaves[0], MSEC);
	settle_and_watch(leaves, got, 3);
	assert_between(got[0].mean_ns, 0.8 * MSEC, 1.15 * MSEC);
	assert_between(got[1].bps + got[2].bps, 50 * MB, LINE_BPS);
	ioband_latency_remove(&scene.pool.core, scene_ent(leaves[0]), IOBAND_DIR_WRITE);
	settle_and_watch(leaves, got, 3);
	assert_between(got[0].mean_ns, 5 * MSEC, 50 * MSEC);
	scene_free(&scene);
}

/* Writeback does not count, nor does a maximum make writes late. */
static void writeback_has_no_target(void **state)
{
	const struct ioband_rates rates = { .ios = { 0, 20 } };
	static const struct sim_workload journal = {
		.depth = 1, .bytes = 4 * KIB, .write_pct = 100, .awaited = true,
	};
	static struct ioband_max maximum;
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &writes);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want_writes(leaves[0], USEC);
	settle_and_watch(leaves, got, 2);
	assert_false(scene.pool.core.late);
	assert_int_equal(write_latency.ios, 0);
	scene_free(&scene);

	begin();
	leaves[0] = add(SCENE_ROOT, 100, &journal);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates, 0);
	want_writes(leaves[0], MSEC);
	settle_and_watch(leaves, got, 2);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	scene_free(&scene);
}

/* A group within its target throttles no other group. */
static void in_time_costs_nothing(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], 100 * MSEC);
	settle_and_watch(leaves, got, 2);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	assert_false(scene.pool.core.late);
	assert_between(got[0].bps + got[1].bps, 0.98 * LINE_BPS, 1.01 * LINE_BPS);
	scene_free(&scene);
}

/* A target out of reach: the others get their shares by weight beside the group. */
static void others_have_their_share(void **state)
{
	static const u32 weights[] = { 50, 200, 800 };
	struct scene_group *leaves[2];
	struct got got[2];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		begin();
		leaves[0] = add(SCENE_ROOT, 100, &reader);
		leaves[1] = add(SCENE_ROOT, weights[i], &deep);
		want(0, leaves[0], USEC);
		settle_and_watch(leaves, got, 2);
		assert_between(got[1].bps, 0.95 * got[0].bps * weights[i] / 100,
			       1.1 * got[0].bps * weights[i] / 100);
		scene_free(&scene);
	}
}

/* The same inside another group: the weights count at the level where the groups meet. */
static void they_meet_above(void **state)
{
	struct scene_group *node, *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	leaves[0] = add(scene_index(&scene, node), 1, &reader);
	leaves[1] = add(SCENE_ROOT, 300, &deep);
	want(0, leaves[0], USEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[1].bps, 2.85 * got[0].bps, 3.3 * got[0].bps);
	scene_free(&scene);
}

/* A target on a node is for all reads below, and throttles no leaf below it. */
static void it_goes_for_all_below(void **state)
{
	struct scene_group *node, *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	node = scene_add_node(&scene, SCENE_ROOT, 300);
	leaves[0] = add(scene_index(&scene, node), 200, &deep);
	leaves[1] = add(scene_index(&scene, node), 100, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	want(0, node, USEC);
	settle_and_watch(leaves, got, 3);
	assert_between(got[0].bps, 1.96 * got[1].bps, 2.04 * got[1].bps);
	/* The node misses its target, and gets its whole share. */
	assert_between(got[0].bps + got[1].bps, 0.73 * LINE_BPS, 0.77 * LINE_BPS);
	scene_free(&scene);
}

static void weights_count_behind_the_brake(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 300, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], MSEC);
	settle_and_watch(leaves, got, 3);
	assert_between(got[1].bps, 2.9 * got[2].bps, 3.1 * got[2].bps);
	scene_free(&scene);
}

/* Many groups that miss their targets share by weight. */
static void many_are_late(void **state)
{
	static struct scene_group *leaves[41];
	static struct got got[41];
	int i;

	(void)state;
	begin();
	for (i = 0; i < 40; i++) {
		leaves[i] = add(SCENE_ROOT, 100, &deep);
		want(i, leaves[i], USEC);
	}
	leaves[40] = add(SCENE_ROOT, 100, &deep);
	settle_and_watch(leaves, got, 41);
	for (i = 0; i < 41; i++)
		assert_between(got[i].bps, 0.9 * LINE_BPS / 41, 1.1 * LINE_BPS / 41);
	scene_free(&scene);
}

/* Groups of different weights, whatever the target of the latest group. */
static void weights_count_among_the_late(void **state)
{
	struct scene_group *leaves[4];
	struct got got[4];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 300, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	leaves[3] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], 1);
	want(1, leaves[1], MSEC);
	want(2, leaves[2], MSEC);
	settle_and_watch(leaves, got, 4);
	assert_between(got[1].bps, 2.9 * got[2].bps, 3.1 * got[2].bps);
	assert_between(got[3].bps, 0.97 * got[2].bps, 1.03 * got[2].bps);
	scene_free(&scene);
}

/* A group within its target yields to a group that misses its own, down to its own target. */
static void the_laxer_gives_way(void **state)
{
	static const struct sim_workload some = { .depth = 8, .bytes = 64 * KIB };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 100, &some);
	want(0, leaves[0], MSEC);
	/* This group missed its target as well. */
	want(1, leaves[1], USEC);
	scene_run(&scene, NSEC_PER_SEC);
	want(1, leaves[1], 16 * MSEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[0].mean_ns, 0.8 * MSEC, 1.3 * MSEC);
	assert_between(got[1].mean_ns, 5 * MSEC, 17 * MSEC);
	assert_between(got[1].bps, 30 * MB, 97 * MB);
	scene_free(&scene);
}

static void it_ends_with_the_target(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], USEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[1].bps, 0, 40 * MB);
	ioband_latency_remove(&scene.pool.core, scene_ent(leaves[0]), IOBAND_DIR_READ);
	assert_int_equal(scene.pool.core.nr_latencies, 0);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	watch(leaves, got, 2, NSEC_PER_SEC);
	assert_between(got[0].bps + got[1].bps, 0.97 * LINE_BPS, 1.01 * LINE_BPS);
	/* A new target works, in other memory. */
	want(1, leaves[0], MSEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[0].mean_ns, 0.8 * MSEC, 1.15 * MSEC);
	scene_free(&scene);
}

/* When the group has stopped, or reads no more, others soon get the whole device. */
static void nobody_waits_for_who_is_gone(void **state)
{
	static const struct sim_workload writer = {
		.depth = 1, .bytes = 4 * KIB, .write_pct = 100,
	};
	struct scene_group *leaves[2];
	struct got got[2];
	int writes_on;

	(void)state;
	for (writes_on = 0; writes_on < 2; writes_on++) {
		begin();
		leaves[0] = add(SCENE_ROOT, 100, &reader);
		leaves[1] = add(SCENE_ROOT, 100, &deep);
		want(0, leaves[0], USEC);
		scene_run(&scene, SETTLE_NS);
		if (writes_on)
			leaves[0]->job.work = writer;
		else
			scene_stop(&scene, leaves[0]);
		scene_run(&scene, 2 * NSEC_PER_SEC);
		watch(leaves, got, 2, NSEC_PER_SEC);
		assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
		assert_between(got[0].bps + got[1].bps, 0.97 * LINE_BPS, 1.01 * LINE_BPS);
		scene_free(&scene);
	}
}

/* The target of the root is for all reads; it throttles writes. */
static void a_pool_has_a_target(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 200, &writes);
	leaves[2] = add(SCENE_ROOT, 100, &writes);
	want_ent(0, &scene.pool.core.root.ent, MSEC);
	settle_and_watch(leaves, got, 3);
	assert_between(got[0].mean_ns, 0.8 * MSEC, 1.15 * MSEC);
	assert_between(got[1].bps, 1.9 * got[2].bps, 2.1 * got[2].bps);
	assert_between(got[1].bps + got[2].bps, 50 * MB, LINE_BPS);
	assert_true(scene.pool.core.late);
	scene_free(&scene);
}

/* Reads that are late by their own number do not starve writes. */
static void writes_go_on(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &many);
	want_ent(0, &scene.pool.core.root.ent, USEC);
	scene_run(&scene, 60 * NSEC_PER_SEC);
	watch(leaves, got, 2, 20 * NSEC_PER_SEC);
	assert_between(got[1].bps, LINE_BPS / 18.0, LINE_BPS / 14.0);
	assert_between(got[0].bps + got[1].bps, 0.97 * LINE_BPS, 1.01 * LINE_BPS);
	/* The reads made no debt meanwhile. */
	ioband_latency_remove(&scene.pool.core, &scene.pool.core.root.ent, IOBAND_DIR_READ);
	watch(leaves, got, 2, NSEC_PER_SEC);
	assert_between(got[0].bps, 0.45 * LINE_BPS, 0.55 * LINE_BPS);
	scene_free(&scene);
}

static void what_is_promised_goes(void **state)
{
	static struct ioband_min minimum;
	const struct ioband_rates rates = { .bytes = { 30 * MB, 0 } };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 1, &deep);
	ioband_min_init(&minimum);
	ioband_min_set(&scene.pool.core, scene_ent(leaves[1]), &minimum, &rates,
		       leaves[1]->sim.leaf.inflight, 0);
	want(0, leaves[0], USEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[1].bps, 29.5 * MB, 32 * MB);
	scene_free(&scene);
}

/* Time for which a maximum holds reads is not latency. */
static void a_maximum_holds(void **state)
{
	static struct ioband_max maximum;
	const struct ioband_rates rates = { .bytes = { MB, 0 } };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates, 0);
	want(0, leaves[0], USEC);
	settle_and_watch(leaves, got, 2);
	assert_between(got[0].bps, 0.97 * MB, 1.03 * MB);
	assert_between(got[1].bps, 0.97 * LINE_BPS, LINE_BPS);
	scene_free(&scene);
}

/* A maximum of one group throttles no other. */
static void a_maximum_holds_nobody_else(void **state)
{
	static struct ioband_max maximum;
	const struct ioband_rates rates = { .bytes = { MB, 0 } };
	struct scene_group *leaves[4];
	struct got got[4];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 10000, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	leaves[3] = add(SCENE_ROOT, 100, &reader);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates, 0);
	want(0, leaves[0], MSEC);
	want(1, leaves[1], MSEC);
	want(2, leaves[3], 1);
	settle_and_watch(leaves, got, 4);
	assert_between(got[0].bps, 0.97 * MB, 1.03 * MB);
	assert_between(got[1].bps, 0.97 * got[2].bps, 1.03 * got[2].bps);
	assert_between(got[1].bps, 0.97 * got[3].bps, 1.1 * got[3].bps);
	scene_free(&scene);
}

/* Reads that bypass writes share by weight, whatever their size and number. */
static void weights_count_among_those_that_go_past(void **state)
{
	static const struct sim_workload small = { .depth = 32, .bytes = 4 * KIB };
	static const struct { u32 weight; const struct sim_workload *work; } others[] = {
		{ 200, &deep }, { 50, &deep }, { 100, &small }, { 50, &small },
	};
	struct scene_group *leaves[3];
	struct got got[3];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		begin();
		leaves[0] = add(SCENE_ROOT, 100, &deep);
		leaves[1] = add(SCENE_ROOT, others[i].weight, others[i].work);
		leaves[2] = add(SCENE_ROOT, 100, &many);
		want_ent(0, &scene.pool.core.root.ent, USEC);
		scene_run(&scene, 60 * NSEC_PER_SEC);
		watch(leaves, got, 3, WATCH_NS);
		assert_between(got[1].bps, 0.93 * got[0].bps * others[i].weight / 100,
			       1.07 * got[0].bps * others[i].weight / 100);
		assert_between(got[0].bps + got[1].bps, 0.9 * LINE_BPS, 0.97 * LINE_BPS);
		scene_free(&scene);
	}
}

/* With slices, too, the bypass makes no debt: neither during the target nor after it. */
static void who_goes_past_with_slices_owes_nothing(void **state)
{
	struct scene_group *leaves[2];
	struct got before[2], got[2];
	int by_time;

	(void)state;
	for (by_time = 0; by_time < 2; by_time++) {
		scene_init(&scene, "disk", 32, IOBAND_MEASURE_BYTES);
		ioband_core_set_slice(&scene.pool.core, 100 * MSEC, by_time, 0);
		leaves[0] = add(SCENE_ROOT, 100, &sequential);
		leaves[1] = add(SCENE_ROOT, 100, &writes);
		settle_and_watch(leaves, before, 2);
		want_ent(0, &scene.pool.core.root.ent, 5 * MSEC);
		scene_run(&scene, 60 * NSEC_PER_SEC);
		watch(leaves, got, 2, 5 * WATCH_NS);
		assert_between(got[0].bps, before[0].bps, 100 * MB);
		ioband_latency_remove(&scene.pool.core, &scene.pool.core.root.ent, IOBAND_DIR_READ);
		scene_run(&scene, 5 * NSEC_PER_SEC);
		watch(leaves, got, 2, 5 * WATCH_NS);
		assert_between(got[0].bps, 0.8 * before[0].bps, 1.2 * before[0].bps);
		scene_free(&scene);
	}
}

/* They share by weight among each other, in slices of many bios. */
static void weights_count_among_those_that_go_past_with_slices(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];
	int by_time;

	(void)state;
	for (by_time = 0; by_time < 2; by_time++) {
		scene_init(&scene, "disk", 32, IOBAND_MEASURE_BYTES);
		ioband_core_set_slice(&scene.pool.core, 100 * MSEC, by_time, 0);
		leaves[0] = add(SCENE_ROOT, 400, &sequential);
		leaves[1] = add(SCENE_ROOT, 100, &sequential);
		leaves[2] = add(SCENE_ROOT, 100, &writes);
		want_ent(0, &scene.pool.core.root.ent, 5 * MSEC);
		scene_run(&scene, 40 * NSEC_PER_SEC);
		watch(leaves, got, 3, 10 * WATCH_NS);
		assert_between(got[0].bps, 3 * got[1].bps, 4.4 * got[1].bps);
		scene_free(&scene);
	}
}

/* The bypass vtime from before a change of the weight counts by the new weight. */
static void a_weight_changes_for_those_that_go_past(void **state)
{
	static const struct sim_workload large = { .depth = 32, .bytes = 256 * KIB };
	struct scene_group *leaves[3];
	struct got got[3];
	u64 past;

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &large);
	leaves[1] = add(SCENE_ROOT, 10000, &deep);
	leaves[2] = add(SCENE_ROOT, 10000, &many);
	want_ent(0, &scene.pool.core.root.ent, USEC);
	scene_run(&scene, 60 * NSEC_PER_SEC);
	for (past = scene_ent(leaves[0])->bypass_vtime; scene_ent(leaves[0])->bypass_vtime == past;)
		scene_run(&scene, MSEC);
	scene_set_weight(&scene, leaves[0], 10000);
	watch(leaves, got, 3, WATCH_NS);
	assert_between(got[0].bps, 0.9 * got[1].bps, 1.1 * got[1].bps);
	scene_free(&scene);
}

/* While a read is in flight, the throttle stays on, up to some seconds. */
static void a_read_on_its_way_is_waited_for(void **state)
{
	struct scene_group *leaves[2];
	struct ioband_core *core = &scene.pool.core;
	u64 now_ns;

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], MSEC);
	scene_run(&scene, SETTLE_NS);
	while (!leaves[0]->sim.leaf.inflight)
		scene_run(&scene, 10 * USEC);
	assert_int_equal(latencies[0].inflight, 1);
	now_ns = scene.clock.now_ns;
	ioband_latency_look(core, now_ns + 5 * NSEC_PER_SEC);
	ioband_latency_look(core, now_ns + 9 * NSEC_PER_SEC);
	assert_true(core->throttle.bucket.rate);
	ioband_latency_look(core, now_ns + 11 * NSEC_PER_SEC);
	ioband_latency_look(core, now_ns + 22 * NSEC_PER_SEC);
	assert_false(core->throttle.bucket.rate);
	scene_free(&scene);
}

/* A minimum that is due before the end of the throttle's wait is served in time. */
static void a_minimum_is_asked_for_in_time(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 100 * MSEC,
	};
	static struct ioband_min minimum;
	const struct ioband_rates rates = { .ios = { 200, 0 } };
	struct scene_group *leaves[3];
	int i, idle = 0;

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &thinker);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	leaves[2] = add(SCENE_ROOT, 1, &reader);
	ioband_min_init(&minimum);
	ioband_min_set(&scene.pool.core, scene_ent(leaves[2]), &minimum, &rates,
		       leaves[2]->sim.leaf.inflight, 0);
	want(0, leaves[0], USEC);
	scene_run(&scene, 20 * NSEC_PER_SEC);
	for (i = 0; i < 2000; i++) {
		scene_run(&scene, 500 * USEC);
		if (scene.pool.core.inflight_ios || !scene_ent(leaves[2])->waiting)
			continue;
		idle++;
		assert_in_range(scene.pool.wake_ns, 0, max(minimum.due_ns, scene.clock.now_ns));
	}
	assert_in_range(idle, 100, 2000);
	scene_free(&scene);
}

/* The latency is evaluated once it can have changed. */
static void slow_reads_take_long_to_know(void **state)
{
	struct scene_group *leaf;
	int i;

	(void)state;
	begin();
	leaf = scene_add_leaf(&scene, SCENE_ROOT, 100);
	want(0, leaf, MSEC);
	for (i = 0; i < 100; i++)
		ioband_latency_sample(&leaf->sim.leaf, IOBAND_DIR_READ, 200 * MSEC);
	scene_run(&scene, 390 * MSEC);
	assert_int_equal(latencies[0].mean_ns, 0);
	scene_run(&scene, 20 * MSEC);
	assert_int_equal(latencies[0].mean_ns, 200 * MSEC);
	scene_free(&scene);
}

/* The throttle ends when the others use less than half of its rate. */
static void no_brake_for_who_wants_little(void **state)
{
	static const struct sim_workload little = {
		.depth = 1, .bytes = 64 * KIB, .think_ns = 20 * MSEC,
	};
	struct scene_group *leaves[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &reader);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], MSEC);
	scene_run(&scene, SETTLE_NS);
	assert_true(scene.pool.core.throttle.bucket.rate);
	scene_stop(&scene, leaves[1]);
	add(SCENE_ROOT, 100, &little);
	scene_run(&scene, SETTLE_NS);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	scene_free(&scene);
}

/* A maximum that holds a group for part of the time does not make it or its parent late. */
static void waiting_for_a_maximum_is_not_late(void **state)
{
	static struct ioband_max maximum;
	const struct ioband_rates rates[] = {
		{ .bytes = { 40 * MB, 0 } }, { .bytes = { 5 * MB, 0 } },
	};
	struct scene_group *node, *leaves[3];
	struct got got[3];
	int above;

	(void)state;
	for (above = 0; above < 2; above++) {
		begin();
		node = scene_add_node(&scene, SCENE_ROOT, 1000);
		leaves[0] = add(scene_index(&scene, node), 1000, &deep);
		leaves[1] = add(SCENE_ROOT, 100, &deep);
		leaves[2] = add(scene_index(&scene, node), 1000, &reader);
		ioband_max_init(&maximum);
		ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates[above], 0);
		if (above)
			want(0, node, 100 * MSEC);
		else
			want(0, leaves[0], 10 * MSEC);
		settle_and_watch(leaves, got, 3);
		assert_between(got[0].mean_ns, 30 * MSEC, NSEC_PER_SEC);
		assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
		scene_free(&scene);
	}
}

/* I/O while another group's target is evaluated is no sample for the late group. */
static void each_look_is_one_step(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 100 * MSEC,
	};
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &thinker);
	leaves[1] = add(SCENE_ROOT, 100, &reader);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], 3 * MSEC);
	want(1, leaves[1], NSEC_PER_SEC);
	scene_run(&scene, 20 * NSEC_PER_SEC);
	watch(leaves, got, 3, 20 * NSEC_PER_SEC);
	assert_between(got[0].mean_ns, 0, 5 * MSEC);
	assert_between(got[2].bps, 90 * MB, LINE_BPS);
	scene_free(&scene);
}

/* A read that hung for hours, and the smallest target. */
static void a_read_may_hang(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];
	int i;

	(void)state;
	begin();
	leaves[0] = scene_add_leaf(&scene, SCENE_ROOT, 100);
	leaves[1] = add(SCENE_ROOT, 100, &reader);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], USEC);
	want(1, leaves[1], 10 * NSEC_PER_SEC);
	ioband_latency_sample(&leaves[0]->sim.leaf, IOBAND_DIR_READ, 10000 * NSEC_PER_SEC);
	ioband_latency_sample(&leaves[1]->sim.leaf, IOBAND_DIR_READ, 10000 * NSEC_PER_SEC);
	scene_run(&scene, 20 * NSEC_PER_SEC);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	watch(leaves, got, 3, NSEC_PER_SEC);
	assert_between(got[2].bps, 90 * MB, LINE_BPS);
	scene_free(&scene);

	begin();
	for (i = 0; i < 2; i++) {
		leaves[i] = scene_add_leaf(&scene, SCENE_ROOT, 100);
		want(i, leaves[i], i ? USEC : 10 * NSEC_PER_SEC);
		ioband_latency_sample(&leaves[i]->sim.leaf, IOBAND_DIR_READ, 10000 * NSEC_PER_SEC);
	}
	ioband_latency_look(&scene.pool.core, 100 * NSEC_PER_SEC);
	assert_ptr_equal(scene.pool.core.throttle.worst, &latencies[1]);
	scene_free(&scene);
}

/* A target out of reach, of a group with few reads, does not stop the device. */
static void a_part_goes_on(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 100 * MSEC,
	};
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &thinker);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	want(0, leaves[0], USEC);
	scene_run(&scene, 20 * NSEC_PER_SEC);
	watch(leaves, got, 2, 20 * NSEC_PER_SEC);
	assert_between(got[1].bps, LINE_BPS / 17.0, LINE_BPS / 14.0);
	scene_free(&scene);
}

/* Almost idle groups are not throttled. */
static void no_brake_for_who_is_idle(void **state)
{
	static const struct sim_workload little = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 200 * MSEC,
	};
	struct scene_group *leaves[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &little);
	want(0, leaves[0], USEC);
	scene_run(&scene, 5 * NSEC_PER_SEC);
	assert_int_equal(scene.pool.core.throttle.bucket.rate, 0);
	scene_free(&scene);
}

/* With slices: on a disk with a head the throttle reduces the slices of the others. */
static void turns_are_for_who_is_late(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 30 * MSEC,
	};
	struct scene_group *leaves[2];
	struct got before[2], got[2];

	(void)state;
	scene_init(&scene, "disk", 32, IOBAND_MEASURE_BYTES);
	ioband_core_set_slice(&scene.pool.core, 100 * MSEC, false, 0);
	leaves[0] = add(SCENE_ROOT, 100, &thinker);
	leaves[1] = add(SCENE_ROOT, 100, &sequential);
	settle_and_watch(leaves, before, 2);
	want(0, leaves[0], 20 * MSEC);
	scene_run(&scene, 20 * NSEC_PER_SEC);
	watch(leaves, got, 2, 20 * NSEC_PER_SEC);
	assert_between(before[0].mean_ns, 40 * MSEC, NSEC_PER_SEC);
	assert_between(got[0].mean_ns, 10 * MSEC, 24 * MSEC);
	assert_between(got[1].bps, 0.5 * before[1].bps, before[1].bps);
	scene_free(&scene);
}

static struct scene_group *some_group(struct sim_random *random, bool leaf)
{
	struct scene_group *group;

	do
		group = &scene.groups[random_below(random, scene.nr)];
	while (leaf && !group->leaf);
	return group;
}

/* A random step: targets are set and removed, for groups at any level and the root. */
static void change_something(struct sim_random *random)
{
	const u64 target_ns = USEC << random_below(random, 20);
	struct scene_group *group = some_group(random, false);
	struct ioband_ent *root = &scene.pool.core.root.ent;
	struct ioband_ent *ent = random_below(random, 8) ? scene_ent(group) : root;
	const int i = ent == root ? SCENE_GROUPS_MAX - 1 : scene_index(&scene, group);

	switch (random_below(random, 4)) {
	case 0:
		ioband_latency_remove(&scene.pool.core, ent, IOBAND_DIR_READ);
		break;
	case 1:
		scene_set_weight(&scene, group, 50 + random_below(random, 100));
		break;
	default:
		want_ent(i, ent, target_ns);
	}
}

/* With a target of the root, a writer may starve in a group that used its share by reads. */
static void nobody_starves(void)
{
	u64 before[SCENE_GROUPS_MAX];
	int i;

	ioband_latency_remove(&scene.pool.core, &scene.pool.core.root.ent, IOBAND_DIR_READ);
	for (i = 0; i < scene.nr; i++)
		before[i] = scene.groups[i].sim.ios;
	/* By bytes, a slice of sequential I/O is worth a minute of seeks. */
	scene_run(&scene, 200 * NSEC_PER_SEC);
	for (i = 0; i < scene.nr; i++)
		if (scene.groups[i].leaf && scene.groups[i].sim.ios == before[i])
			fail_msg("group %d got nothing for 200 s", i);
}

static void whatever_is_wished_all_go_on(void **state)
{
	static const char * const devices[] = { "line", "flash", "disk" };
	struct sim_random random = { .state = 1 };
	int round, i;

	(void)state;
	for (round = 0; round < 3 || round < (int)scaled(12); round++) {
		const bool disk = round % 3 == 2;

		scene_init(&scene, devices[round % 3], 16, IOBAND_MEASURE_BYTES);
		if (disk)
			ioband_core_set_slice(&scene.pool.core, 100 * MSEC, round & 1, 0);
		for (i = 0; i < 3; i++)
			scene_add_node(&scene, (int)random_below(&random, i + 1) - 1,
				       50 + random_below(&random, 100));
		for (i = 0; i < 6; i++) {
			const struct sim_workload work = {
				.depth = 1 + random_below(&random, 8),
				.bytes = (4 * KIB) << random_below(&random, 5),
				.write_pct = random_below(&random, 3) * 50,
				.sequential = random_below(&random, 2),
			};

			add((int)random_below(&random, 4) - 1, 50 + random_below(&random, 100),
			    &work);
		}
		for (i = 0; i < 20; i++) {
			change_something(&random);
			scene_run(&scene, random_below(&random, 200 * MSEC));
		}
		nobody_starves();
		scene_free(&scene);
	}
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(reads_take_what_they_are_to),
		TEST(awaited_writes_have_a_target),
		TEST(writeback_has_no_target),
		TEST(in_time_costs_nothing),
		TEST(others_have_their_share),
		TEST(they_meet_above),
		TEST(it_goes_for_all_below),
		TEST(weights_count_behind_the_brake),
		TEST(many_are_late),
		TEST(weights_count_among_the_late),
		TEST(the_laxer_gives_way),
		TEST(it_ends_with_the_target),
		TEST(nobody_waits_for_who_is_gone),
		TEST(a_pool_has_a_target),
		TEST(writes_go_on),
		TEST(weights_count_among_those_that_go_past),
		TEST(who_goes_past_with_slices_owes_nothing),
		TEST(weights_count_among_those_that_go_past_with_slices),
		TEST(a_weight_changes_for_those_that_go_past),
		TEST(a_minimum_is_asked_for_in_time),
		TEST(a_read_on_its_way_is_waited_for),
		TEST(what_is_promised_goes),
		TEST(a_maximum_holds),
		TEST(a_maximum_holds_nobody_else),
		TEST(waiting_for_a_maximum_is_not_late),
		TEST(each_look_is_one_step),
		TEST(a_read_may_hang),
		TEST(a_part_goes_on),
		TEST(no_brake_for_who_is_idle),
		TEST(slow_reads_take_long_to_know),
		TEST(no_brake_for_who_wants_little),
		TEST(turns_are_for_who_is_late),
		TEST(whatever_is_wished_all_go_on),
	};

	return run_cases(cases, argc, argv);
}
