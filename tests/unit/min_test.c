// SPDX-License-Identifier: GPL-2.0-only
/*
 * Minima on modelled devices: the service of each group in every tenth of a second.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <string.h>

#include "cases.h"
#include "scene.h"

#define KIB		1024U
#define MB		1000000ULL
#define LINE_BPS	(100 * MB)
#define WINDOW_NS	(100 * NSEC_PER_MSEC)
#define SETTLE_NS	NSEC_PER_SEC
#define WINDOWS		50

static const struct sim_workload deep = { .depth = 32, .bytes = 64 * KIB };
static const struct sim_workload small = { .depth = 64, .bytes = 4 * KIB };
static const struct sim_workload synchronous = { .depth = 1, .bytes = 64 * KIB };
static const struct sim_workload random_reader = { .depth = 1, .bytes = 4 * KIB };
static const struct sim_workload sequential = { .depth = 4, .bytes = 64 * KIB, .sequential = true };

static struct scene scene;
static struct ioband_min minima[4];
static struct ioband_max maximum;

static void begin(void)
{
	scene_init(&scene, "line", 8, IOBAND_MEASURE_BYTES);
}

static struct scene_group *add(int up, u32 weight, const struct sim_workload *work)
{
	return scene_add_loaded(&scene, up, weight, work);
}

/* Bios in flight of a leaf; nodes get a minimum before any bio is in flight. */
static u32 inflight_of(const struct scene_group *group)
{
	return group->leaf ? group->sim.leaf.inflight : 0;
}

static void promise_rates(int i, struct scene_group *group, const struct ioband_rates *rates)
{
	ioband_min_init(&minima[i]);
	ioband_min_set(&scene.pool.core, scene_ent(group), &minima[i], rates, inflight_of(group),
		       scene.clock.now_ns);
}

/* Set a minimum of reads in bytes a second; @i is the index of its memory. */
static void promise(int i, struct scene_group *group, u64 bps)
{
	promise_rates(i, group, &(struct ioband_rates) { .bytes = { bps, 0 } });
}

static void take_away(struct scene_group *group)
{
	ioband_min_remove(&scene.pool.core, scene_ent(group));
}

/* Bytes a second of a leaf: the mean, and the window with the least. */
struct got {
	double mean;
	double least;
};

static void watch(struct scene_group **leaves, struct got *got, int nr, int windows)
{
	u64 before, bytes[8];
	int i, window;

	for (i = 0; i < nr; i++) {
		bytes[i] = leaves[i]->sim.bytes;
		got[i].least = 1e18;
	}
	for (window = 1; window <= windows; window++) {
		u64 last[8];

		for (i = 0; i < nr; i++)
			last[i] = leaves[i]->sim.bytes;
		scene_run(&scene, WINDOW_NS);
		for (i = 0; i < nr; i++) {
			before = last[i];
			got[i].least = min(got[i].least, (leaves[i]->sim.bytes - before) * 10.0);
		}
	}
	for (i = 0; i < nr; i++)
		got[i].mean = (leaves[i]->sim.bytes - bytes[i]) * 10.0 / windows;
}

static void settle_and_watch(struct scene_group **leaves, struct got *got, int nr)
{
	scene_run(&scene, SETTLE_NS);
	watch(leaves, got, nr, WINDOWS);
}

static void assert_near(double a, double wanted, double tolerance)
{
	if (a < wanted * (1 - tolerance) || a > wanted * (1 + tolerance))
		fail_msg("%.0f, not %.0f", a, wanted);
}

static void assert_least(double a, double least)
{
	if (a < least)
		fail_msg("%.0f, less than %.0f", a, least);
}

/* The mean with a minimum: a little above it, so that each window has the minimum. */
static double kept(double bps)
{
	return bps * 64 / 63;
}

/* Without one bio, which may fall into another window. */
static double but_for_one(double bytes, u32 bio)
{
	return bytes - 10.0 * bio;
}

static void it_is_kept_whatever_the_weights(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &small);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	leaves[2] = add(SCENE_ROOT, 3000, &deep);
	promise(0, leaves[0], 40 * MB);
	settle_and_watch(leaves, got, 3);
	assert_least(got[0].least, but_for_one(40 * MB, 64 * KIB));
	assert_near(got[0].mean, kept(40 * MB), 0.01);
	assert_near(got[1].mean, 15 * MB, 0.02);
	assert_near(got[2].mean, 45 * MB, 0.02);
	scene_free(&scene);
}

static void a_share_that_is_larger_stays(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 300, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	promise(0, leaves[0], 50 * MB);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 75 * MB, 0.01);
	scene_free(&scene);
}

/* A group gets the larger one of minimum and share; the rest is shared by weight. */
static void they_do_not_add_up(void **state)
{
	struct scene_group *leaves[4];
	struct got got[4];
	int i;

	(void)state;
	begin();
	for (i = 0; i < 4; i++)
		leaves[i] = add(SCENE_ROOT, 100, &deep);
	promise(0, leaves[0], 60 * MB);
	settle_and_watch(leaves, got, 4);
	assert_near(got[0].mean, kept(60 * MB), 0.01);
	for (i = 1; i < 4; i++)
		assert_near(got[i].mean, (100 * MB - kept(60 * MB)) / 3, 0.02);
	scene_free(&scene);
}

static void it_holds_below_others(void **state)
{
	struct scene_group *node, *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	node = scene_add_node(&scene, SCENE_ROOT, 100);
	leaves[0] = add(scene_index(&scene, node), 10, &deep);
	leaves[1] = add(scene_index(&scene, node), 1000, &deep);
	leaves[2] = add(SCENE_ROOT, 900, &deep);
	promise(0, leaves[0], 30 * MB);
	settle_and_watch(leaves, got, 3);
	assert_least(got[0].least, but_for_one(30 * MB, 64 * KIB));
	assert_near(got[0].mean, 30 * MB, 0.02);
	/* Nothing is left of a share of 10 MB/s, but the group does not starve. */
	assert_least(got[1].least, 10 * 64 * KIB);
	assert_near(got[1].mean, 10 * 64 * KIB, 0.5);
	assert_least(got[2].mean, 68 * MB);
	scene_free(&scene);
}

static void weights_count_below_it(void **state)
{
	struct scene_group *node, *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	node = scene_add_node(&scene, SCENE_ROOT, 1);
	leaves[0] = add(scene_index(&scene, node), 200, &deep);
	leaves[1] = add(scene_index(&scene, node), 100, &small);
	leaves[2] = add(SCENE_ROOT, 1000, &deep);
	promise(0, node, 60 * MB);
	settle_and_watch(leaves, got, 3);
	assert_near(got[0].mean, 40 * MB, 0.02);
	assert_near(got[1].mean, 20 * MB, 0.02);
	scene_free(&scene);
}

/* After its removal the group has to pay back a lead of 1 MiB, and no more. */
static void it_is_not_owed(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	promise(0, leaves[0], 90 * MB);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 90 * MB, 0.02);
	take_away(leaves[0]);
	watch(leaves, got, 2, 1);
	assert_least(got[0].mean, 50 * MB - 10 * (1024 * KIB));
	scene_free(&scene);
}

/* Each gets a part of its minimum; a group without a minimum does not starve. */
static void more_than_there_is(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &deep);
	promise(0, leaves[0], 120 * MB);
	promise(1, leaves[1], 30 * MB);
	settle_and_watch(leaves, got, 3);
	/* Tries of the others' limit take a part of both. */
	assert_least(got[0].mean, 1.9 * got[1].mean);
	assert_least(got[0].mean + got[1].mean, 90 * MB);
	assert_least(got[2].least, 10 * 64 * KIB);
	scene_free(&scene);
}

#define VOLUME_BPS	(32 * KIB * 1000.0)	/* of one bio at a time: each takes 1 ms */

/* A volume of 64 slots; the first leaf has a minimum beyond its load, the second one no minimum. */
static void begin_beyond(struct scene_group **leaves, const struct sim_workload *load, u32 limit,
			 const struct sim_workload *others)
{
	scene_init(&scene, "volume64", limit, IOBAND_MEASURE_BYTES);
	leaves[0] = add(SCENE_ROOT, 1, load);
	leaves[1] = add(SCENE_ROOT, 1000, others);
	promise(0, leaves[0], 3 * VOLUME_BPS);
}

/* No limit of the others lets a synchronous reader read more: they keep theirs. */
static void a_minimum_beyond_its_load_stops_no_other(void **state)
{
	static const struct sim_workload one = { .depth = 1, .bytes = 32 * KIB };
	static const struct sim_workload many = { .depth = 64, .bytes = 32 * KIB };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin_beyond(leaves, &one, 64, &many);
	settle_and_watch(leaves, got, 2);
	scene_run(&scene, 4 * (u64)NSEC_PER_SEC);
	watch(leaves, got, 2, WINDOWS);
	assert_least(got[0].mean, 0.97 * VOLUME_BPS);
	assert_least(got[1].mean, 0.9 * 63 * VOLUME_BPS);
	scene_free(&scene);
}

/* Nor does its idle time count as a lower rate with one of the two limits. */
static void a_minimum_beyond_bursts_stops_no_other(void **state)
{
	static const struct sim_workload bursts = {
		.depth = 1, .bytes = 32 * KIB, .on_ns = 700 * (u64)NSEC_PER_MSEC,
		.off_ns = 900 * (u64)NSEC_PER_MSEC,
	};
	static const struct sim_workload many = { .depth = 64, .bytes = 32 * KIB };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin_beyond(leaves, &bursts, 64, &many);
	scene_run(&scene, 8 * (u64)NSEC_PER_SEC);
	watch(leaves, got, 2, 3 * WINDOWS);
	assert_least(got[1].mean, 0.9 * 63 * VOLUME_BPS);
	scene_free(&scene);
}

/* The search for the limit stops for tries of a smaller one, and for nothing else. */
static void a_minimum_beyond_its_load_stops_no_search(void **state)
{
	static const struct sim_workload one = { .depth = 1, .bytes = 32 * KIB };
	static const struct sim_workload many = { .depth = 64, .bytes = 32 * KIB };
	struct scene_group *leaves[2];
	u32 i, stops = 0, steps = 1000;

	(void)state;
	begin_beyond(leaves, &one, 64, &many);
	for (i = 0; i < steps; i++) {
		scene.pool.core.late = false;
		scene_run(&scene, 10 * (u64)NSEC_PER_MSEC);
		stops += scene.pool.core.late || scene.pool.core.min_tries;
	}
	assert_in_range(stops, 10, steps / 25);
	scene_free(&scene);
}

/* The limit of the others is found although service for a minimum fills in for a small one. */
static void a_limit_below_a_minimum_is_raised(void **state)
{
	static const struct sim_workload deep = { .depth = 43, .bytes = 8 * KIB };
	static const struct sim_workload few = { .depth = 3, .bytes = 128 * KIB };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	scene_init_auto(&scene, "volume64", SIM_AUTO);
	leaves[0] = add(SCENE_ROOT, 100, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &few);
	promise(0, leaves[0], 100 * 1000 * 1000);
	scene_run(&scene, 4 * (u64)NSEC_PER_SEC);
	watch(leaves, got, 2, WINDOWS);
	assert_least(got[0].mean, 0.9 * 43 * 8 * KIB * 1000);
	assert_least(got[1].mean, 0.9 * 3 * 128 * KIB * 1000);
	scene_free(&scene);
}

/* A limit with which a minimum is late is lowered. */
static void a_limit_that_makes_a_minimum_late_is_lowered(void **state)
{
	static const struct sim_workload one = { .depth = 1, .bytes = 64 * KIB };
	static const struct sim_workload deep = { .depth = 32, .bytes = 64 * KIB };
	static const struct sim_workload small = { .depth = 1, .bytes = 4 * KIB };
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	scene_init_auto(&scene, "line", SIM_AUTO);
	leaves[0] = add(SCENE_ROOT, 100, &one);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	leaves[2] = add(SCENE_ROOT, 100, &small);
	promise(0, leaves[0], 30 * 1000 * 1000);
	scene_run(&scene, 4 * (u64)NSEC_PER_SEC);
	watch(leaves, got, 3, WINDOWS);
	assert_least(got[0].mean, 40 * 1000 * 1000.0);
	assert_least(got[2].mean, 8 * 1000 * 1000.0);	/* else 2 */
	scene_free(&scene);
}

/* So often is another limit chosen in ten seconds, after four. */
static u32 changes(void)
{
	u32 i, chosen, nr = 0;

	scene_run(&scene, 4 * (u64)NSEC_PER_SEC);
	for (i = 0; i < 1000; i++) {
		chosen = scene.pool.depth.chosen.ios;
		scene_run(&scene, 10 * (u64)NSEC_PER_MSEC);
		nr += scene.pool.depth.chosen.ios != chosen;
	}
	return nr;
}

/* While a late minimum leaves one bio to the others, their limit is not lowered again and again. */
static void the_search_rests_beside_a_late_minimum(void **state)
{
	static const struct sim_workload others = {
		.depth = 43, .bytes = 16 * KIB, .think_ns = 5 * NSEC_PER_MSEC,
	};
	static const struct sim_workload one = { .depth = 1, .bytes = 4 * KIB };

	(void)state;
	scene_init_auto(&scene, "cloud", SIM_AUTO);
	add(SCENE_ROOT, 100, &others);
	promise(0, add(SCENE_ROOT, 100, &one), 10 * 1000 * 1000);
	assert_in_range(changes(), 0, 15);
	scene_free(&scene);
}

/* Another minimum, which takes part of the limit of the others, is kept beside it. */
static void a_minimum_beyond_its_load_spoils_no_other(void **state)
{
	static const struct sim_workload one = { .depth = 1, .bytes = 32 * KIB };
	static const struct sim_workload few = { .depth = 16, .bytes = 32 * KIB };
	static const struct sim_workload many = { .depth = 512, .bytes = 32 * KIB };
	struct scene_group *leaves[3];
	struct got got[3];

	(void)state;
	begin_beyond(leaves, &one, 256, &many);	/* late: with the others' limit, it waits 4 ms */
	settle_and_watch(leaves, got, 2);
	assert_least(got[0].mean, 0.8 * VOLUME_BPS);
	leaves[2] = add(SCENE_ROOT, 1, &few);
	promise(1, leaves[2], 15 * VOLUME_BPS);
	settle_and_watch(leaves, got, 3);
	assert_least(got[2].mean, 0.97 * 15 * VOLUME_BPS);
	scene_free(&scene);
}

static void idling_earns_nothing(void **state)
{
	static const struct sim_workload late = {
		.depth = 8, .bytes = 64 * KIB, .on_ns = NSEC_PER_SEC, .off_ns = NSEC_PER_SEC,
	};
	struct scene_group *leaves[2];
	double least = 1e18;
	struct got got[2];
	int i;

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &late);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	promise(0, leaves[0], 50 * MB);
	for (i = 0; i < 100; i++) {
		watch(leaves, got, 2, 1);
		least = min(least, got[1].mean);
	}
	assert_least(least, but_for_one(100 * MB - kept(50 * MB), 2 * 64 * KIB));
	scene_free(&scene);
}

/* Its place in flight is kept during its short gaps. */
static void a_synchronous_reader_has_it_too(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	ioband_core_set_limit(&scene.pool.core, 2, 0);
	leaves[0] = add(SCENE_ROOT, 1, &synchronous);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	promise(0, leaves[0], 45 * MB);
	settle_and_watch(leaves, got, 2);
	assert_least(got[0].least, but_for_one(45 * MB, 64 * KIB));
	assert_least(got[0].mean + got[1].mean, 98 * MB);
	scene_free(&scene);
}

/* Service beyond the minimum, without competition, does not count later. */
static void what_was_spare_is_not_held_against_it(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &deep);
	promise(0, leaves[0], 40 * MB);
	scene_run(&scene, 5 * SETTLE_NS);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	watch(leaves, got, 2, 10);
	assert_least(got[0].least, but_for_one(36 * MB, 64 * KIB));	/* at most 10 ms count */
	scene_free(&scene);
}

static void writes_are_promised(void **state)
{
	static const struct sim_workload writes = {
		.depth = 16, .bytes = 4 * KIB, .write_pct = 100,
	};
	const struct ioband_rates rates = { .bytes = { 0, 40 * MB } };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &writes);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	promise_rates(0, leaves[0], &rates);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 40 * MB, 0.02);
	scene_free(&scene);
}

/* A maximum below does not make a minimum late. */
static void held_back_below_is_not_late(void **state)
{
	const struct ioband_rates rates = { .bytes = { 5 * MB, 0 } };
	struct scene_group *node, *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	node = scene_add_node(&scene, SCENE_ROOT, 1);
	leaves[0] = add(scene_index(&scene, node), 100, &deep);
	leaves[1] = add(SCENE_ROOT, 1000, &deep);
	promise(0, node, 50 * MB);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates, 0);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 5 * MB, 0.02);
	assert_least(got[1].mean, 93 * MB);
	scene_free(&scene);
}

/* A leaf with a long think time cannot get more: it starves no other. */
static void thinking_is_not_late(void **state)
{
	static const struct sim_workload thinker = {
		.depth = 1, .bytes = 4 * KIB, .think_ns = 800 * NSEC_PER_USEC,
	};
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	scene_init(&scene, "nvme", 64, IOBAND_MEASURE_BYTES);
	leaves[0] = add(SCENE_ROOT, 1, &thinker);
	leaves[1] = add(SCENE_ROOT, 1000, &small);
	settle_and_watch(leaves, got, 2);
	promise(0, leaves[0], 30 * MB);
	settle_and_watch(leaves, &got[1], 1);
	scene_run(&scene, SETTLE_NS);
	watch(&leaves[1], &got[0], 1, 10);
	assert_least(got[0].mean, 300 * MB);
	scene_free(&scene);
}

/* Removed and set again, in any memory. */
static void given_again(void **state)
{
	struct scene_group *leaves[3];
	struct got got[3];
	int i;

	(void)state;
	begin();
	for (i = 0; i < 3; i++) {
		leaves[i] = add(SCENE_ROOT, 100, &deep);
		promise(i, leaves[i], 10 * MB);
	}
	scene_run(&scene, SETTLE_NS);
	for (i = 0; i < 3; i++) {
		take_away(leaves[i]);
		scene_run(&scene, SETTLE_NS / 100);
	}
	assert_int_equal(scene.pool.core.nr_minima, 0);
	promise(2, leaves[2], 60 * MB);
	settle_and_watch(leaves, got, 3);
	assert_near(got[2].mean, kept(60 * MB), 0.01);
	scene_free(&scene);
}

/* A hung or stalled device makes a minimum late, but throttles no other group. */
static void who_is_stuck_is_not_late(void **state)
{
	enum { ANSWERS, HANGS, STALLS, NR };
	struct scene_group *leaves[2];
	struct got got[2];
	u32 how;

	(void)state;
	for (how = 0; how < NR; how++) {
		begin();
		ioband_core_set_limit(&scene.pool.core, 8, how == HANGS);
		scene.pool.core.stalled = how == STALLS;
		leaves[0] = add(SCENE_ROOT, 1, &synchronous);
		leaves[1] = add(SCENE_ROOT, 1000, &deep);
		promise(0, leaves[0], 90 * MB);
		settle_and_watch(leaves, got, 2);
		if (how != ANSWERS)
			assert_least(got[1].mean, 80 * MB);
		else
			assert_near(got[1].mean, 50 * MB, 0.1);
		scene_free(&scene);
	}
}

static void a_maximum_wins(void **state)
{
	const struct ioband_rates rates = { .bytes = { 20 * MB, 0 } };
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin();
	leaves[0] = add(SCENE_ROOT, 1, &deep);
	leaves[1] = add(SCENE_ROOT, 100, &deep);
	promise(0, leaves[0], 40 * MB);
	ioband_max_init(&maximum);
	ioband_max_set(&scene.pool.core, scene_ent(leaves[0]), &maximum, &rates, 0);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 20 * MB, 0.01);
	assert_near(got[1].mean, 80 * MB, 0.01);
	scene_free(&scene);
}

/* ---- slices -------------------------------------------------------------- */

static void begin_slices(enum ioband_measure measure)
{
	scene_init(&scene, "disk", 31, measure);
	ioband_core_set_slice(&scene.pool.core, 80 * NSEC_PER_MSEC,
			      measure == IOBAND_MEASURE_TIME, 0);
}

/* A minimum of a few seeks a second; the rest is sequential, and nearly as fast. */
static void seeks_are_promised(enum ioband_measure measure)
{
	const struct ioband_rates rates = { .ios = { 40, 0 } };
	struct scene_group *leaves[2];
	struct got got[2];

	begin_slices(measure);
	leaves[0] = add(SCENE_ROOT, 1, &random_reader);
	leaves[1] = add(SCENE_ROOT, 1000, &sequential);
	promise_rates(0, leaves[0], &rates);
	settle_and_watch(leaves, got, 2);
	assert_least(got[0].mean, 40 * 4 * KIB);
	assert_least(got[0].least, 20 * 4 * KIB);
	assert_least(got[1].mean, 0.55 * 45 * MB);
	scene_free(&scene);
}

static void seeks_are_promised_by_time(void **state)
{
	(void)state;
	seeks_are_promised(IOBAND_MEASURE_TIME);
}

static void seeks_are_promised_by_bytes(void **state)
{
	(void)state;
	seeks_are_promised(IOBAND_MEASURE_BYTES);
}

/* Seeks at full speed: several at a time, in the disk's order. */
static void deep_seeks_are_promised(void **state)
{
	static const struct sim_workload random = { .depth = 16, .bytes = 4 * KIB };
	struct scene_group *leaves[2];
	struct got got[2];
	double most;

	(void)state;
	begin_slices(IOBAND_MEASURE_TIME);
	leaves[0] = add(SCENE_ROOT, 1, &random);
	settle_and_watch(leaves, got, 1);
	most = got[0].mean;
	leaves[1] = add(SCENE_ROOT, 1000, &sequential);
	promise(0, leaves[0], most / 2);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, most / 2, 0.05);
	assert_least(got[1].mean, 12.6 * MB);
	scene_free(&scene);
}

static void reading_on_is_promised(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin_slices(IOBAND_MEASURE_TIME);
	leaves[0] = add(SCENE_ROOT, 1, &sequential);
	leaves[1] = add(SCENE_ROOT, 1000, &random_reader);
	promise(0, leaves[0], 20 * MB);
	settle_and_watch(leaves, got, 2);
	assert_near(got[0].mean, 20 * MB, 0.1);
	assert_least(got[0].least, 8 * MB);
	assert_least(got[1].mean, 40 * 4 * KIB);
	scene_free(&scene);
}

/* A minimum beyond the disk's speed: another group still gets some of it. */
static void more_seeks_than_there_are(void **state)
{
	struct scene_group *leaves[2];
	struct got got[2];

	(void)state;
	begin_slices(IOBAND_MEASURE_TIME);
	leaves[0] = add(SCENE_ROOT, 100, &random_reader);
	leaves[1] = add(SCENE_ROOT, 100, &sequential);
	promise(0, leaves[0], 20 * MB);
	settle_and_watch(leaves, got, 2);
	assert_least(got[1].mean, MB);
	assert_least(got[0].mean, 60 * 4 * KIB);
	scene_free(&scene);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(it_is_kept_whatever_the_weights),
		TEST(a_share_that_is_larger_stays),
		TEST(they_do_not_add_up),
		TEST(it_holds_below_others),
		TEST(weights_count_below_it),
		TEST(it_is_not_owed),
		TEST(more_than_there_is),
		TEST(a_minimum_beyond_its_load_stops_no_other),
		TEST(a_minimum_beyond_bursts_stops_no_other),
		TEST(a_minimum_beyond_its_load_stops_no_search),
		TEST(a_limit_below_a_minimum_is_raised),
		TEST(a_limit_that_makes_a_minimum_late_is_lowered),
		TEST(the_search_rests_beside_a_late_minimum),
		TEST(a_minimum_beyond_its_load_spoils_no_other),
		TEST(idling_earns_nothing),
		TEST(a_synchronous_reader_has_it_too),
		TEST(what_was_spare_is_not_held_against_it),
		TEST(writes_are_promised),
		TEST(held_back_below_is_not_late),
		TEST(thinking_is_not_late),
		TEST(given_again),
		TEST(who_is_stuck_is_not_late),
		TEST(a_maximum_wins),
		TEST(seeks_are_promised_by_time),
		TEST(seeks_are_promised_by_bytes),
		TEST(deep_seeks_are_promised),
		TEST(reading_on_is_promised),
		TEST(more_seeks_than_there_are),
	};

	return run_cases(cases, argc, argv);
}
