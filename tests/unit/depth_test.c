// SPDX-License-Identifier: GPL-2.0-only
/*
 * The estimator keeps to its range with any samples.  On modelled devices it finds the depth
 * that fills them.
 */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "cases.h"
#include "sched/depth.h"
#include "pair.h"
#include "random.h"
#include "scale.h"

#define TICK_NS	10000000ULL

static void limit_is_in_range(const struct ioband_depth_limit *limit)
{
	assert_in_range(limit->ios, 1, IOBAND_DEPTH_MAX);
	assert_in_range(limit->split_bytes, IOBAND_SPLIT_MIN, IOBAND_SPLIT_MAX);
	assert_int_equal(limit->split_bytes & (limit->split_bytes - 1), 0);
}

static void starts_with_a_limit(void **state)
{
	struct ioband_depth depth;

	(void)state;
	ioband_depth_init(&depth);
	limit_is_in_range(&depth.limit);
}

/* Below 2 to a random power below @bits: all orders of magnitude. */
static u64 below_2_to(struct sim_random *random, u32 bits)
{
	return random_below(random, 1ULL << random_below(random, bits));
}

static void stays_in_range(void **state)
{
	struct sim_random random = { .state = 1 };
	struct ioband_depth depth;
	u64 i, j;

	(void)state;
	for (i = 0; i < scaled(200); i++) {
		ioband_depth_init(&depth);
		for (j = 0; j < 1000; j++) {
			/* From a hung device to 10 million bios a second. */
			const u64 bytes = below_2_to(&random, 38);
			const struct ioband_sample sample = {
				.ns = 1 + random_below(&random, 100 * TICK_NS),
				.ios = below_2_to(&random, 24),
				.bytes = bytes,
				.work = bytes + below_2_to(&random, 38),
				.max_bytes = random_below(&random, 1U << 24),
				.held_ns = below_2_to(&random, 30),
				.idle_ns = below_2_to(&random, 30),
				.longest_ns = below_2_to(&random, 30),
				.quiet_ns = below_2_to(&random, 30),
				.peak_ios = random_below(&random, 1000),
			};

			ioband_depth_sample(&depth, &sample);
			limit_is_in_range(&depth.limit);
		}
	}
}

/* ---- on modelled devices ------------------------------------------------- */

static const struct sim_workload small = { .depth = 128, .bytes = 4096, .think_ns = 10000 };
static const struct sim_workload large = { .depth = 48, .bytes = 262144, .think_ns = 20000 };
static const struct sim_workload mixed = {
	.depth = 96, .bytes = 16384, .large_bytes = 524288, .large_pct = 20, .think_ns = 20000,
};

/* Bytes in flight at the smallest limit, a power of two, with nearly all throughput. */
static double enough(const struct sim_spec *spec, const struct sim_workload *work, double mbps)
{
	struct pair_result fixed;
	u32 limit = 1;

	do {
		fixed = pair_measure(spec, work, SIM_FIXED, limit, 7);
		limit *= 2;
	} while (limit <= 2 * work->depth && fixed.mbps < 0.97 * mbps);
	return fixed.inflight_bytes;
}

/* The limit found fills the device, shares it, and has little more in flight than necessary. */
static void is_found_on(const char *device, const struct sim_workload *work, double part)
{
	const struct sim_spec *spec = sim_spec_find(device);
	const struct pair_result none = pair_measure(spec, work, SIM_NONE, 0, 7);
	const struct pair_result found = pair_measure(spec, work, SIM_AUTO, 0, 7);
	const double most = 2 * enough(spec, work, none.mbps) + 2 * work->bytes;

	if (found.mbps < part * none.mbps)
		fail_msg("%s: %.1f of %.1f MB/s", device, found.mbps, none.mbps);
	if (found.ratio < 1.96 || found.ratio > 2.04)
		fail_msg("%s: ratio %.3f", device, found.ratio);
	if (found.inflight_bytes > most)
		fail_msg("%s: %.0f bytes in flight, %.0f would do", device, found.inflight_bytes,
			 most);
}

/* Not "nvme", which serves nearly all bios of these loads at once and leaves none queued. */
static void fills_devices_with_small_bios(void **state)
{
	static const char * const devices[] = { "line", "wan", "cloud", "flash", "volume",
						"volume64" };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		is_found_on(devices[i], &small, 0.95);
}

static void fills_devices_with_large_bios(void **state)
{
	static const char * const devices[] = { "line", "wan", "cloud", "flash", "volume" };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		is_found_on(devices[i], &large, 0.95);
}

/* The time may depend on bytes, on bios, or on both. */
static void fills_devices_with_mixed_bios(void **state)
{
	static const char * const devices[] = { "line", "cloud", "flash", "volume", "volume2" };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		is_found_on(devices[i], &mixed, 0.94);
}

/* Few bios are large, but have most bytes.  The time depends on bios, so a low limit suffices. */
static void bios_count_where_bytes_say_nothing(void **state)
{
	static const struct sim_workload work = {
		.depth = 64, .bytes = 4096, .large_bytes = 1 << 20, .large_pct = 2,
	};
	struct pair pair;
	u64 seed;

	(void)state;
	for (seed = 1; seed <= 8; seed++) {
		pair_start(&pair, sim_spec_find("volume2"), &work, SIM_AUTO, seed);
		clock_run(&pair.clock, 3 * NSEC_PER_SEC);
		assert_in_range(pair.pool.depth.chosen.ios, 2, 4);
		pair_free(&pair);
	}
}

/* A tick in which the limit kept bios queued all the time. */
static struct ioband_sample full_sample(u32 limit, u64 ios, u64 bytes, u32 max_bytes)
{
	return (struct ioband_sample) {
		.ns = TICK_NS,
		.ios = ios,
		.bytes = bytes,
		.work = bytes + ios * IOBAND_BIO_BYTES,
		.max_bytes = max_bytes,
		.held_ns = TICK_NS,
		.peak_ios = limit,
	};
}

/* The limit found if a limit above 4 serves so many bios and bytes in a tick. */
static u32 found_beside(u64 wide_ios, u64 wide_bytes)
{
	struct ioband_depth depth;
	u32 i;

	ioband_depth_init(&depth);
	for (i = 0; i < 1000; i++) {
		const bool wide = depth.limit.ios > 4;
		const u64 ios = wide ? wide_ios : 20, bytes = wide ? wide_bytes : 2000000;
		const struct ioband_sample sample =
			full_sample(depth.limit.ios, ios, bytes, 262144);

		ioband_depth_sample(&depth, &sample);
	}
	return depth.chosen.ios;
}

/* A higher limit serves fewer small bios, and more large ones. */
static void another_mixture_is_no_gain(void **state)
{
	(void)state;
	assert_in_range(found_beside(12, 2400000), 1, 4);	/* no gain in all */
	assert_in_range(found_beside(19, 2400000), 5, 6);	/* gain much larger than loss */
}

/*
 * Each higher limit of a trial serves fewer bios, and 40 kB more for each of these.  Or it serves
 * as many again, and 80 kB less for each.  All in all, higher limits serve less.
 */
static struct ioband_sample sample_to_and_fro(u32 limit)
{
	u64 ios = 2000, bytes = 60000000;
	u32 at, step = 0;

	for (at = 4; at < limit; at += (at + 1) / 2)
		step++;
	bytes -= step * 2000000ULL;
	if (step % 2) {
		ios -= 100;
		bytes += 6000000;
	}
	return full_sample(limit, ios, bytes, 4096);
}

/* The bound on the cost of an I/O is not lowered and raised in turn. */
static void does_not_grow_to_and_fro(void **state)
{
	struct ioband_depth depth;
	u32 i, most = 0;

	(void)state;
	ioband_depth_init(&depth);
	for (i = 0; i < 1000; i++) {
		const struct ioband_sample sample = sample_to_and_fro(depth.limit.ios);

		ioband_depth_sample(&depth, &sample);
		most = max(most, depth.limit.ios);
	}
	assert_in_range(most, 9, 14);
	assert_in_range(depth.chosen.ios, 1, 9);
}

/* A gain of one trial by bytes is not undone by another trial by bios. */
static void does_not_go_round(void **state)
{
	u32 depth;

	(void)state;
	for (depth = 3; depth <= 6; depth++) {
		const struct sim_workload works[PAIR_GROUPS] = {
			{ .depth = 64, .bytes = 131072, .sequential = true },
			{ .depth = depth, .bytes = 4096 },
		};
		struct ioband_depth_limit last;
		struct pair pair;
		u32 i, moves = 0;

		pair_start_mixed(&pair, sim_spec_find("cloud"), works, SIM_AUTO, 1);
		clock_run(&pair.clock, 20 * NSEC_PER_SEC);
		last = pair.pool.depth.chosen;
		for (i = 0; i < 5000; i++) {
			const struct ioband_depth_limit now = pair.pool.depth.chosen;

			moves += now.ios != last.ios || now.split_bytes != last.split_bytes;
			last = now;
			clock_run(&pair.clock, pair.clock.now_ns + TICK_NS);
		}
		if (moves > 9)
			fail_msg("beside %u small ones: %u moves in 50 s", depth, moves);
		pair_free(&pair);
	}
}

#define LIMITED_NS	(3 * (u64)NSEC_PER_SEC)

/*
 * A device that completes a limited number of bytes in each window of time does so in bursts.  The
 * windows have any phase to the ticks.  Bios that are in flight at the end of a window are served
 * first in the next, so only a low limit shares by weight.
 */
static void shares_devices_limited_in_windows(void **state)
{
	static const u64 windows_ms[] = { 3, 5, 7, 11, 13, 20, 21, 50 };
	static const struct sim_workload works[][PAIR_GROUPS] = {
		{ { .depth = 1, .bytes = 4096 }, { .depth = 1, .bytes = 4096 } },
		{ { .depth = 1, .bytes = 4096, .think_ns = 15000 },
		  { .depth = 1, .bytes = 4096, .think_ns = 15000 } },
		{ { .depth = 4, .bytes = 4096 }, { .depth = 4, .bytes = 4096 } },
		{ { .depth = 1, .bytes = 4096, .think_ns = 10000 },
		  { .depth = 32, .bytes = 4096, .think_ns = 10000 } },
		{ { .depth = 32, .bytes = 4096 }, { .depth = 1, .bytes = 65536 } },
	};
	u32 i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(windows_ms) * ARRAY_SIZE(works); i++) {
		const u64 window_ms = windows_ms[i % ARRAY_SIZE(windows_ms)];
		const size_t load = i / ARRAY_SIZE(windows_ms);
		struct sim_spec spec = *sim_spec_find("window");
		u64 bytes[PAIR_GROUPS];
		struct pair pair;
		double ratio, rate;

		spec.window_ns = window_ms * NSEC_PER_MSEC;
		pair_start_mixed(&pair, &spec, works[load], SIM_AUTO, 1 + i);
		clock_run(&pair.clock, 4 * (u64)NSEC_PER_SEC);
		for (j = 0; j < PAIR_GROUPS; j++)
			bytes[j] = pair.leaves[j].bytes;
		clock_run(&pair.clock, pair.clock.now_ns + LIMITED_NS);
		for (j = 0; j < PAIR_GROUPS; j++)
			bytes[j] = pair.leaves[j].bytes - bytes[j];
		ratio = (double)bytes[0] / bytes[1];
		rate = (bytes[0] + bytes[1]) * 1e9 / LIMITED_NS;
		if (ratio < 1.7 || ratio > 2.05 || rate < 0.97 * spec.bps)
			fail_msg("windows of %llu ms, load %zu: ratio %.3f, %.1f MB/s",
				 window_ms, load, ratio, rate / 1e6);
		pair_free(&pair);
	}
}

/* The ticks of bursts that keep pace with them are never between two bursts. */
static void bursts_that_keep_pace_with_ticks_stop_no_trial(void **state)
{
	struct ioband_depth depth;
	u32 i;

	(void)state;
	ioband_depth_init(&depth);
	for (i = 0; i < 5000; i++) {
		struct ioband_sample sample = full_sample(depth.limit.ios, 200, 819200, 4096);

		sample.ns = 2 * TICK_NS;
		sample.held_ns = sample.ns;
		sample.longest_ns = 11 * NSEC_PER_MSEC;
		if (i % 2)
			sample = (struct ioband_sample) { .quiet_ns = 5 * NSEC_PER_MSEC };
		ioband_depth_sample(&depth, &sample);
	}
	assert_true(depth.found);
}

/* ---- splits -- ----------------------------------------------------------- */

static const struct sim_workload synchronous = { .depth = 1, .bytes = 65536, .think_ns = 5000 };
static const struct sim_workload light = { .depth = 4, .bytes = 4096, .think_ns = 2000000 };

/* If only bytes cost time, large bios are split, and the limit is low. */
static void cuts_where_bytes_count(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, sim_spec_find("line"), &large, SIM_AUTO, 3);
	clock_run(&pair.clock, 4 * NSEC_PER_SEC);
	assert_in_range(pair.pool.depth.chosen.split_bytes, IOBAND_SPLIT_MIN, 65536);
	assert_in_range(pair.pool.depth.chosen.ios, 1, 8);
	pair_free(&pair);
}

/* Two synchronous readers of large bios: weights count, and no throughput is lost. */
static void shares_between_synchronous_readers(void **state)
{
	const struct sim_spec *line = sim_spec_find("line");
	const struct pair_result none = pair_measure(line, &synchronous, SIM_NONE, 0, 7);
	const struct pair_result found = pair_measure(line, &synchronous, SIM_AUTO, 0, 7);

	(void)state;
	assert_true(none.ratio < 1.1);
	if (found.ratio < 1.98 || found.ratio > 2.02)
		fail_msg("ratio %.3f", found.ratio);
	assert_true(found.mbps > 0.98 * none.mbps);
}

static u64 light_percentile_ns(enum sim_control control)
{
	struct pair pair;
	u64 ns;

	pair_start(&pair, sim_spec_find("nvme"), &light, control, 3);
	clock_run(&pair.clock, 5 * NSEC_PER_SEC);
	ns = leaf_percentile_ns(&pair.leaves[1], 0.95);
	if (control == SIM_AUTO)
		assert_in_range(pair.pool.depth.chosen.ios, 4, 64);
	pair_free(&pair);
	return ns;
}

/* A load that leaves the device mostly idle is hardly delayed. */
static void leaves_light_loads_alone(void **state)
{
	const u64 alone_ns = light_percentile_ns(SIM_NONE);

	(void)state;
	assert_in_range(light_percentile_ns(SIM_AUTO), alone_ns, alone_ns * 5 / 4);
}

static double mbps_until(struct pair *pair, u64 until_ns)
{
	const u64 start_ns = pair->clock.now_ns, bytes = pair->pool.bytes;

	clock_run(&pair->clock, until_ns);
	return (pair->pool.bytes - bytes) * 1e3 / (until_ns - start_ns);
}

/* A pause of the trials ends when the device changes. */
static void follows_the_device(void **state)
{
	double fast, slow, again;
	struct pair pair;

	(void)state;
	pair_start(&pair, sim_spec_find("flash"), &small, SIM_AUTO, 3);
	clock_run(&pair.clock, 2 * NSEC_PER_SEC);
	fast = mbps_until(&pair, 3 * NSEC_PER_SEC);
	pair.pool.device.slow = 4;
	clock_run(&pair.clock, 5 * NSEC_PER_SEC);
	slow = mbps_until(&pair, 6 * NSEC_PER_SEC);
	pair.pool.device.slow = 1;
	clock_run(&pair.clock, 7 * NSEC_PER_SEC);
	again = mbps_until(&pair, 8 * NSEC_PER_SEC);
	assert_true(slow > 0.9 * fast / 4);
	assert_true(again > 0.95 * fast);
	pair_free(&pair);
}

/* Splits grow again where every I/O costs the same. */
static void follows_what_counts(void **state)
{
	const struct sim_spec *volume = sim_spec_find("volume");
	const struct pair_result none = pair_measure(volume, &large, SIM_NONE, 0, 7);
	struct pair pair;

	(void)state;
	pair_start(&pair, sim_spec_find("line"), &large, SIM_AUTO, 3);
	clock_run(&pair.clock, 4 * NSEC_PER_SEC);
	pair.pool.device.spec = *volume;
	clock_run(&pair.clock, 24 * (u64)NSEC_PER_SEC);
	assert_in_range(pair.pool.depth.chosen.split_bytes, 262144, IOBAND_SPLIT_MAX);
	assert_true(mbps_until(&pair, 30 * (u64)NSEC_PER_SEC) > 0.9 * none.mbps);
	pair_free(&pair);
}

/* After the limit is found, trials become ever rarer. */
static void rests_when_it_is_found(void **state)
{
	u32 ticks, in_trial = 0;
	struct pair pair;

	(void)state;
	pair_start(&pair, sim_spec_find("flash"), &small, SIM_AUTO, 3);
	clock_run(&pair.clock, 5 * NSEC_PER_SEC);
	for (ticks = 0; ticks < 1000; ticks++) {
		clock_run(&pair.clock, pair.clock.now_ns + TICK_NS);
		in_trial += ioband_depth_in_trial(&pair.pool.depth);
	}
	assert_in_range(in_trial, 1, 500);
	pair_free(&pair);
}

/* A reader fills a flash device, and bursts of 200 ms come beside it; MB/s after some seconds. */
static double mbps_with_bursts(enum sim_control control)
{
	static const struct sim_workload works[PAIR_GROUPS] = {
		{ .depth = 32, .bytes = 131072 },
		{ .depth = 6, .bytes = 65536, .on_ns = 200 * NSEC_PER_MSEC,
		  .off_ns = 300 * NSEC_PER_MSEC },
	};
	struct pair pair;
	double mbps;

	pair_start_mixed(&pair, sim_spec_find("flash"), works, control, 3);
	if (control == SIM_FIXED)
		ioband_core_set_limit(&pair.pool.core, 4, 0);
	clock_run(&pair.clock, 4 * (u64)NSEC_PER_SEC);
	mbps = mbps_until(&pair, 14 * (u64)NSEC_PER_SEC);
	pair_free(&pair);
	return mbps;
}

/* No trials begin again with each burst. */
static void bursts_cost_no_trials(void **state)
{
	const double fixed = mbps_with_bursts(SIM_FIXED);
	const double found = mbps_with_bursts(SIM_AUTO);

	(void)state;
	if (found < 0.97 * fixed)
		fail_msg("%.1f of %.1f MB/s", found, fixed);
}

/* Readers that do not fill the device: soon after each burst begins, the pool becomes open. */
static void light_bursts_are_open(void **state)
{
	static const struct sim_workload works[PAIR_GROUPS] = {
		{ .depth = 1, .bytes = 4096, .think_ns = NSEC_PER_MSEC },
		{ .depth = 1, .bytes = 4096, .think_ns = NSEC_PER_MSEC, .on_ns = NSEC_PER_SEC,
		  .off_ns = NSEC_PER_SEC },
	};
	u32 ticks, opened = 0;
	struct pair pair;

	(void)state;
	pair_start_mixed(&pair, sim_spec_find("flash"), works, SIM_AUTO, 3);
	clock_run(&pair.clock, 30 * (u64)NSEC_PER_SEC);
	for (ticks = 0; ticks < 3000; ticks++) {
		const u64 calm_until_ns = pair.pool.calm_until_ns;

		clock_run(&pair.clock, pair.clock.now_ns + TICK_NS);
		opened += pair.pool.nr_active == PAIR_GROUPS &&
			  pair.pool.calm_until_ns != calm_until_ns;
	}
	assert_in_range(opened, 14, 30);	/* of 15 */
	pair_free(&pair);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(starts_with_a_limit),
		TEST(stays_in_range),
		TEST(fills_devices_with_small_bios),
		TEST(fills_devices_with_large_bios),
		TEST(fills_devices_with_mixed_bios),
		TEST(bios_count_where_bytes_say_nothing),
		TEST(another_mixture_is_no_gain),
		TEST(does_not_grow_to_and_fro),
		TEST(does_not_go_round),
		TEST(shares_devices_limited_in_windows),
		TEST(bursts_that_keep_pace_with_ticks_stop_no_trial),
		TEST(cuts_where_bytes_count),
		TEST(shares_between_synchronous_readers),
		TEST(leaves_light_loads_alone),
		TEST(follows_the_device),
		TEST(follows_what_counts),
		TEST(rests_when_it_is_found),
		TEST(bursts_cost_no_trials),
		TEST(light_bursts_are_open),
	};

	return run_cases(cases, argc, argv);
}
