// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the judge: loads as text, dues, and verdicts on loads that are known to be
 * good or bad.
 */
#include <linux/kernel.h>
#include <linux/time64.h>
#include <math.h>
#include <string.h>

#include "cases.h"
#include "generate.h"
#include "judge.h"
#include "minimise.h"
#include "oracle.h"

static struct load load;
static struct verdict verdict;

static void read_load(const char *text)
{
	const char *wrong = load_parse(&load, text);

	if (wrong)
		fail_msg("%s: %s", text, wrong);
}

static void judge_text(const char *text, enum sim_control control, u32 limit)
{
	const struct ioband_depth_limit fixed = { limit, IOBAND_SPLIT_MAX };

	read_load(text);
	judge(&load, control, limit ? &fixed : NULL, &verdict);
}

/* Within so much of a hundred. */
static void assert_near(double value, double wanted, double pct)
{
	if (fabs(value - wanted) > fabs(wanted) * pct / 100)
		fail_msg("%.4f, not %.4f", value, wanted);
}

static void assert_between(double value, double low, double high)
{
	if (value < low || value > high)
		fail_msg("%.4f, not from %.4f to %.4f", value, low, high);
}

/* ---- text ------------------------------------------------------------------ */

static void text_is_read_as_it_was_written(void **state)
{
	char text[LOAD_TEXT], again[LOAD_TEXT];
	static struct load other;
	u64 nr;

	(void)state;
	for (nr = 0; nr < 300; nr++) {
		generate(&load, FEATURES_ALL, 5, nr);
		load_print(&load, text);
		assert_null(load_parse(&other, text));
		load_print(&other, again);
		assert_string_equal(text, again);
		assert_memory_equal(&load, &other, sizeof(load));
	}
}

static void words_mean_what_they_say(void **state)
{
	const struct sim_workload *work;

	(void)state;
	read_load("disk slice=124ms time seed=3; 10 levels(400 4K*1; 1 1M*8 writes=30); "
		  "20 8K+1M@10*2 seq think=~800us on=50ms/100ms min=4M max=8M target=2ms late");
	assert_int_equal(load.slice_ns, 124 * NSEC_PER_MSEC);
	assert_int_equal(load.measure, IOBAND_MEASURE_TIME);
	assert_int_equal(load.seed, 3);
	assert_int_equal(load.nr, 4);
	assert_int_equal(load_leaves(&load), 3);
	assert_true(load.ents[0].levels && !load.ents[0].leaf);
	assert_int_equal(load.ents[2].up, 0);
	assert_int_equal(load.ents[2].work.write_pct, 30);
	assert_int_equal(load.ents[3].up, LOAD_ROOT);
	work = &load.ents[3].work;
	assert_int_equal(work->bytes, 8192);
	assert_int_equal(work->large_bytes, 1 << 20);
	assert_int_equal(work->large_pct, 10);
	assert_int_equal(work->depth, 2);
	assert_true(work->sequential && work->think_random);
	assert_int_equal(work->think_ns, 800 * NSEC_PER_USEC);
	assert_int_equal(work->on_ns, 50 * NSEC_PER_MSEC);
	assert_int_equal(work->off_ns, 100 * NSEC_PER_MSEC);
	assert_int_equal(load.ents[3].min_bps, 4 << 20);
	assert_int_equal(load.ents[3].max_bps, 8 << 20);
	assert_int_equal(load.ents[3].target_ns, 2 * NSEC_PER_MSEC);
	assert_true(load.ents[3].late);
	read_load("line; 100(2x 10 4K*1; 20 4K*1); 3x 100 4K*1");
	assert_int_equal(load.nr, 7);
	assert_int_equal(load.ents[2].up, 0);
	assert_int_equal(load.ents[2].weight, 10);
	assert_int_equal(load.ents[6].up, LOAD_ROOT);
}

static void wrong_text_is_refused(void **state)
{
	static const char * const wrong[] = {
		"", "nvm; 100 4K*1", "nvme", "nvme;", "nvme; 100", "nvme; 100 4K", "nvme; 4K*1",
		"nvme; 100 4X*1", "nvme; 100 4K*0", "nvme; 0 4K*1", "nvme; 100 4K*1 sequel",
		"nvme; 100 4K*1 think=4", "nvme; 100 4K*1 on=4ms", "nvme; 100(100 4K*1",
		"nvme; 100 4K*1)", "nvme; 100 4K*1;", "nvme time; 100 4K*1", "nvme; 100 4K+8K*1",
		"nvme slice=1; 100 4K*1", "nvme; 0x 100 4K*1", "nvme; 60x 100 4K*1",
		"nvme; 2x 100(100 4K*1)", "nvme; 100 4K*99999999999999999999",
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		if (!load_parse(&load, wrong[i]))
			fail_msg("'%s' was read", wrong[i]);
}

/* ---- random loads ---------------------------------------------------------- */

static void loads_follow_from_their_seed(void **state)
{
	static struct load again, other;
	u64 nr, same = 0;

	(void)state;
	for (nr = 0; nr < 100; nr++) {
		generate(&load, FEATURES_PLAIN, 7, nr);
		generate(&again, FEATURES_PLAIN, 7, nr);
		assert_memory_equal(&load, &again, sizeof(load));
		generate(&other, FEATURES_PLAIN, 8, nr);
		same += !memcmp(&load, &other, sizeof(load));
		assert_in_range(load_leaves(&load), 2, 12);
	}
	assert_int_equal(same, 0);
}

static bool has_feature(const struct load *of, const struct load_ent *ent, enum feature feature)
{
	const bool in_levels = ent->up != LOAD_ROOT && of->ents[ent->up].levels;

	switch (feature) {
	case FEATURE_NESTED:
		return ent->up != LOAD_ROOT && !in_levels;
	case FEATURE_WEIGHTS:
		return ent->weight != 100 && !in_levels;
	case FEATURE_MIXED:
		return ent->work.large_pct;
	case FEATURE_THINK:
		return ent->work.think_ns;
	case FEATURE_THINK_RANDOM:
		return ent->work.think_random;
	case FEATURE_BURSTS:
		return ent->work.off_ns;
	case FEATURE_WRITES:
		return ent->work.write_pct;
	case FEATURE_SEQUENTIAL:
		return ent->work.sequential;
	case FEATURE_LEVELS:
		return ent->levels;
	case FEATURE_MIN:
		return ent->min_bps;
	case FEATURE_MAX:
		return ent->max_bps;
	case FEATURE_TARGET:
		return ent->target_ns;
	case FEATURE_LATE:
		return ent->late;
	case FEATURE_STALL:
		return of->stall_ns;
	case FEATURE_IOS:
		return of->measure == IOBAND_MEASURE_IOS;
	case FEATURE_SLICES:
		return of->slice_ns;
	case FEATURE_OCCASIONAL:
		return ent->work.think_ns > 10 * NSEC_PER_MSEC;
	default:
		return of->spec->model == SIM_DISK;
	}
}

/* The number of loads in which a feature is found. */
static u32 count_loads(u32 features, enum feature feature)
{
	u32 nr, count = 0;
	int i;

	for (nr = 0; nr < 200; nr++) {
		generate(&load, features, 9, nr);
		for (i = 0; i < load.nr && !has_feature(&load, &load.ents[i], feature); i++)
			;
		count += i < load.nr;
	}
	return count;
}

static void each_feature_can_be_switched_off(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < NR_FEATURES; i++) {
		assert_non_null(feature_names[i]);
		if (!count_loads(FEATURES_ALL | BIT(i), i))
			fail_msg("no load with %s", feature_names[i]);
		if (count_loads(FEATURES_ALL & ~BIT(i), i))
			fail_msg("%s cannot be switched off", feature_names[i]);
	}
}

/* ---- dues --------------------------------------------------------------- */

/* As in oracle.h. */
static void due_is_as_the_essay_says(void **state)
{
	struct oracle_ent ents[] = {
		{ -1, true, 100, 0, 10, 0 }, { -1, true, 100, 0, 90, 0 },
		{ -1, true, 400, 0, 90, 0 },
	};

	(void)state;
	oracle_share(ents, 3, 90);
	assert_near(ents[0].due, 10, 0.001);
	assert_near(ents[1].due, 16, 0.001);
	assert_near(ents[2].due, 64, 0.001);
	ents[1].low = 30;
	oracle_share(ents, 3, 90);
	assert_near(ents[0].due, 10, 0.001);
	assert_near(ents[1].due, 30, 0.001);
	assert_near(ents[2].due, 50, 0.001);
}

/* A1 is capped, so A2 has the rest of A's half, and B no more than its own. */
static void due_goes_to_siblings_first(void **state)
{
	struct oracle_ent ents[] = {
		{ -1, false, 200, 0, 0, 0 }, { 0, true, 100, 0, 5, 0 },
		{ 0, true, 100, 0, 100, 0 }, { -1, true, 200, 0, 100, 0 },
	};

	(void)state;
	oracle_share(ents, 4, 100);
	assert_near(ents[0].due, 50, 0.001);
	assert_near(ents[1].due, 5, 0.001);
	assert_near(ents[2].due, 45, 0.001);
	assert_near(ents[3].due, 50, 0.001);
	ents[2].high = 10;
	oracle_share(ents, 4, 100);
	assert_near(ents[2].due, 10, 0.001);
	assert_near(ents[3].due, 85, 0.001);
}

static void due_of_too_much_and_too_little(void **state)
{
	struct oracle_ent ents[] = {
		{ -1, true, 1, 30, 40, 0 }, { -1, true, 1000, 10, 20, 0 },
	};

	(void)state;
	oracle_share(ents, 2, 100);
	assert_near(ents[0].due, 40, 0.001);
	assert_near(ents[1].due, 20, 0.001);
	oracle_share(ents, 2, 20);
	assert_near(ents[0].due, 15, 0.001);
	assert_near(ents[1].due, 5, 0.001);
}

/* ---- verdicts -------------------------------------------------------------- */

#define ESSAY	"line; 100 64K*16; 100 64K*16; 200 4K*1 think=1900us"

static double a_second(double value)
{
	return value * 1e9 / verdict.window_ns;
}

/* As in judge.h. */
static void a_verdict_is_as_the_essay_says(void **state)
{
	(void)state;
	judge_text(ESSAY, SIM_FIXED, 3);
	assert_near(a_second(verdict.leaves[2].alone), 2.0e6, 1);
	assert_near(a_second(verdict.leaves[2].due), 2.0e6, 1);
	assert_near(a_second(verdict.leaves[0].due), 49.0e6, 1);
	assert_near(a_second(verdict.leaves[0].most_ios) * 65536, 100e6, 1);
	assert_near(a_second(verdict.leaves[2].most_ios) * 4096, 100e6, 1);
	assert_near(verdict.used, 1, 1);
	assert_near(verdict.deep, 1, 3);
	judge_text("line; 100 64K*16; 100 64K*16", SIM_FIXED, 1);
	assert_between(verdict.used, 0.86, 0.88);
	assert_between(verdict.deep, 0.99, 1.01);
}

/* Without control a device serves by how much is outstanding. */
static void no_control_is_unfair(void **state)
{
	(void)state;
	judge_text("line; 100 4K*1; 100 64K*64", SIM_NONE, 0);
	assert_near(verdict.used, 1, 0.01);
	assert_between(verdict.synchronous, 0, 0.1);
	assert_between(verdict.deep, 1, 2);
	judge_text("line; 900 64K*8; 100 64K*8", SIM_NONE, 0);
	assert_near(verdict.deep, 0.5 / 0.9, 5);
	judge_text("line; 900(100 64K*4; 100 64K*4); 100(100 64K*8)", SIM_NONE, 0);
	assert_near(verdict.deep, 0.25 / 0.45, 5);
}

/* On a device that is all that a pipe can be. */
static void a_limit_that_fits_is_good(void **state)
{
	(void)state;
	judge_text("line; 900 64K*32; 100 64K*32; 300(200 16K*32; 100 256K*8)", SIM_FIXED, 4);
	assert_near(verdict.used, 1, 1);
	assert_between(verdict.deep, 0.97, 1.1);
	assert_int_equal(verdict.idle_ns, 0);
	judge_text("line ios; 900 4K*32; 100 64K*32", SIM_FIXED, 4);
	assert_between(verdict.deep, 0.97, 1.1);
}

/* 64 channels of which one is used. */
static void a_limit_that_is_too_low_wastes(void **state)
{
	(void)state;
	judge_text("volume64; 100 64K*64; 100 64K*64", SIM_FIXED, 1);
	assert_near(verdict.used, 1 / 64.0, 5);
	assert_between(verdict.deep, 0.9, 1.1);
}

static void bounds_are_part_of_what_is_due(void **state)
{
	(void)state;
	judge_text("line; 100 64K*16 max=10M; 100 64K*16", SIM_AUTO, 0);
	assert_near(a_second(verdict.leaves[0].due), 10 << 20, 1);
	assert_between(verdict.deep, 0.97, 1.1);
	assert_near(verdict.used, 100.0 / 60.5, 1);	/* none has no maximum: 50 MB/s each */
	judge_text("line; 100 64K*16 min=60M; 900 64K*16", SIM_NONE, 0);
	assert_near(a_second(verdict.leaves[0].due), 60 << 20, 1);
	judge_text("line; 100 64K*16 target=1ms; 900 64K*16", SIM_NONE, 0);
	assert_true(verdict.used == JUDGE_NONE && verdict.deep == JUDGE_NONE);
	judge_text("line stall=600ms; 100 64K*16; 900 64K*16", SIM_NONE, 0);
	assert_true(verdict.used > 0 && verdict.deep == JUDGE_NONE);
}

/* Each is there half of the time, and never when the other is: both get all that they want. */
static void a_resting_leaf_is_due_nothing(void **state)
{
	(void)state;
	judge_text("line; 100 64K*8 on=100ms/100ms; 100 64K*8", SIM_NONE, 0);
	assert_near(a_second(verdict.leaves[1].due), 75e6, 2);
	assert_near(a_second(verdict.leaves[0].due), 25e6, 2);
}

static void a_newcomer_waits(void **state)
{
	(void)state;
	judge_text("line; 100 64K*64; 100 4K*1 late", SIM_NONE, 0);
	assert_between(verdict.first, 10, 100);
	assert_near(verdict.first, verdict.none_first, 0.001);
	assert_between(verdict.lag_ns, 300e6, 500e6);
	judge_text("line; 100 64K*64; 100 4K*1 late", SIM_FIXED, 1);
	assert_between(verdict.first, 0, 1.5);
	assert_between(verdict.lag_ns, 0, 10e6);
	judge_text("line; 100 64K*64; 100 4K*1", SIM_FIXED, 1);
	assert_true(verdict.first == JUDGE_NONE && verdict.lag_ns == JUDGE_NONE);
}

/* Anticipation keeps the device idle, and that is not idle for nothing. */
static void idling_is_seen(void **state)
{
	(void)state;
	judge_text("line; 900 4K*1 think=100us; 100 64K*64", SIM_FIXED, 1);
	assert_between(verdict.idle, 0.05, 0.9);
	assert_int_equal(verdict.idle_ns, 0);
	judge_text("line; 900 64K*1; 100 64K*64", SIM_NONE, 0);
	assert_true(!verdict.idle);
}

/* ---- simpler loads --------------------------------------------------------- */

/* Planted: a deep leaf of 64 KiB or more beside a leaf that thinks for 100 us or more. */
static double planted(const struct load *of)
{
	bool deep = false, thinks = false;
	int i;

	for (i = 0; i < of->nr; i++) {
		const struct sim_workload *work = &of->ents[i].work;

		deep |= of->ents[i].leaf && work->depth >= 8 && work->bytes >= 65536;
		thinks |= of->ents[i].leaf && work->think_ns >= 100000;
	}
	return deep && thinks;
}

static void a_planted_failure_is_made_simple(void **state)
{
	char text[LOAD_TEXT];
	u32 nr, found = 0;

	(void)state;
	for (nr = 0; nr < 100; nr++) {
		generate(&load, FEATURES_ALL, 11, nr);
		if (!planted(&load))
			continue;
		found++;
		minimise(&load, planted, 2000);
		assert_true(planted(&load));
		load_print(&load, text);
		if (load_leaves(&load) > 2 || load.nr > 2 || strstr(text, "max=") ||
		    strstr(text, "(") || strstr(text, "writes") || strstr(text, "@"))
			fail_msg("not simple: %s", text);
	}
	assert_true(found > 10);
}

/* It stays as bad as it was, and does not take more tries than it may. */
static u32 looks;

static double by_leaves(const struct load *of)
{
	looks++;
	return load_leaves(of);
}

static void simpler_is_as_bad(void **state)
{
	int leaves;

	(void)state;
	generate(&load, FEATURES_ALL, 13, 1);
	leaves = load_leaves(&load);
	looks = 0;
	minimise(&load, by_leaves, 50);
	assert_int_equal(load_leaves(&load), leaves);
	assert_in_range(looks, 2, 51);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(text_is_read_as_it_was_written),
		TEST(words_mean_what_they_say),
		TEST(wrong_text_is_refused),
		TEST(loads_follow_from_their_seed),
		TEST(each_feature_can_be_switched_off),
		TEST(due_is_as_the_essay_says),
		TEST(due_goes_to_siblings_first),
		TEST(due_of_too_much_and_too_little),
		TEST(a_verdict_is_as_the_essay_says),
		TEST(no_control_is_unfair),
		TEST(a_limit_that_fits_is_good),
		TEST(a_limit_that_is_too_low_wastes),
		TEST(bounds_are_part_of_what_is_due),
		TEST(a_resting_leaf_is_due_nothing),
		TEST(a_newcomer_waits),
		TEST(idling_is_seen),
		TEST(a_planted_failure_is_made_simple),
		TEST(simpler_is_as_bad),
	};

	return run_cases(cases, argc, argv);
}
