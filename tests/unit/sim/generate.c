// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random loads: 2 to 12 groups.
 */
#include "generate.h"

#include <linux/kernel.h>
#include <linux/time64.h>

#include <math.h>
#include <stdlib.h>

#define USEC	((u64)NSEC_PER_USEC)
#define MSEC	((u64)NSEC_PER_MSEC)
#define KIB	1024U
#define NODES	4

const char * const feature_names[NR_FEATURES] = {
	"nested", "weights", "mixed", "think", "random", "bursts", "writes", "sequential",
	"levels", "min", "max", "target", "late", "stall", "ios", "slices", "devices",
	"occasional",
};

struct dice {
	struct sim_random random;
	u32 features;
};

static u64 below(struct dice *dice, u64 n)
{
	return random_below(&dice->random, n);
}

/* In @part of @of cases, if there is such a feature; the dice are thrown in any case. */
static bool has(struct dice *dice, enum feature feature, u32 part, u32 of)
{
	const bool yes = below(dice, of) < part;

	return yes && dice->features & BIT(feature);
}

/* All orders of magnitude alike, with two digits. */
static u64 spread(struct dice *dice, double min, double max)
{
	const double value = min * pow(max / min, random_unit(&dice->random));
	const double unit = pow(10, fmax(floor(log10(value)) - 1, 0));

	return floor(value / unit + 0.5) * unit;
}

static u32 random_size(struct dice *dice)
{
	return 4 * KIB << below(dice, 9);
}

/* In multiples of the steps in which is judged. */
static u64 random_time(struct dice *dice, const struct sim_spec *spec)
{
	return (2 + below(dice, 29)) * (spec->model == SIM_DISK ? 100 : 10) * MSEC;
}

static void random_work(struct dice *dice, const struct sim_spec *spec,
			struct sim_workload *work)
{
	const bool one = below(dice, 3) == 0;
	const u32 depth = spread(dice, 1, 64.4);
	const u64 think_ns = spread(dice, 10, 10000) * USEC;
	const u32 large = random_size(dice);
	const u64 on_ns = random_time(dice, spec), off_ns = random_time(dice, spec);

	work->depth = one ? 1 : depth;
	work->bytes = random_size(dice);
	if (has(dice, FEATURE_MIXED, 1, 4) && large != work->bytes) {
		work->large_bytes = large;
		work->large_pct = 5 + 5 * below(dice, 10);
	}
	if (has(dice, FEATURE_THINK, 1, 2)) {
		work->think_ns = think_ns;
		work->think_random = has(dice, FEATURE_THINK_RANDOM, 1, 2);
	}
	if (has(dice, FEATURE_BURSTS, 1, 8)) {
		work->on_ns = on_ns;
		work->off_ns = off_ns;
	}
	if (has(dice, FEATURE_WRITES, 2, 5))
		work->write_pct = below(dice, 2) ? 100 : 30;
	work->sequential = has(dice, FEATURE_SEQUENTIAL, 1, 3);
}

static u32 random_weight(struct dice *dice, bool weights)
{
	const u32 weight = spread(dice, 10, 1000);

	return weights ? weight : 100;
}

/* Bounds are for leaves of one size and direction, so that the bounds are known in every unit. */
static void random_bounds(struct dice *dice, const struct load *load, struct load_ent *ent)
{
	const bool one = !ent->work.large_pct && ent->work.write_pct % 100 == 0 &&
			 load->measure != IOBAND_MEASURE_TIME;
	const struct sim_spec *spec = load->spec;
	const double bps = spec->bps ?: spec->queue * (64 * KIB) * 1e9 / spec->latency_ns;
	const u64 max_bps = spread(dice, bps / 100, bps);
	const u64 min_bps = spread(dice, bps / 1000, bps / 20);
	const u64 target_ns = spread(dice, 100, 50000) * USEC;

	if (has(dice, FEATURE_MAX, 1, 8) && one)
		ent->max_bps = max_bps;
	if (has(dice, FEATURE_MIN, 1, 8) && one && !ent->max_bps)
		ent->min_bps = min_bps;
	if (has(dice, FEATURE_TARGET, 1, 40))
		ent->target_ns = target_ns;
}

static struct load_ent *add(struct load *load, int up, u32 weight)
{
	struct load_ent *ent = &load->ents[load->nr++];

	*ent = (struct load_ent) { .up = up, .weight = weight };
	return ent;
}

static void add_leaf(struct dice *dice, struct load *load, int up, u32 weight)
{
	struct load_ent *ent = add(load, up, weight);

	ent->leaf = true;
	random_work(dice, load->spec, &ent->work);
	random_bounds(dice, load, ent);
}

/* A leaf, or one of several I/O priorities: best-effort 0 beside usual ones, or idle ones. */
static void add_group(struct dice *dice, struct load *load, int up, u32 weight)
{
	const u32 level = below(dice, 2) ? 400 : 1;
	const int index = load->nr;

	if (!has(dice, FEATURE_LEVELS, 1, 8)) {
		add_leaf(dice, load, up, weight);
		return;
	}
	add(load, up, weight)->levels = true;
	add_leaf(dice, load, index, level);
	add_leaf(dice, load, index, 100);
}

static int random_up(struct dice *dice, int nodes)
{
	return (int)below(dice, nodes + 1) - 1;
}

static void random_device(struct dice *dice, struct load *load)
{
	static const char * const usual[] = { "line", "cloud", "flash", "nvme", "volume64" };
	static const char * const others[] = { "wan", "volume", "volume2", "disk", "diskwc",
					       "disk", "diskwc", "window" };
	const u32 one = below(dice, ARRAY_SIZE(usual)), other = below(dice, ARRAY_SIZE(others));
	const bool any = has(dice, FEATURE_DEVICES, 1, 2);
	const bool slices = has(dice, FEATURE_SLICES, 2, 3), ios = has(dice, FEATURE_IOS, 1, 4);
	const bool by_time = below(dice, 2);

	load->spec = sim_spec_find(any ? others[other] : usual[one]);
	if (ios)
		load->measure = IOBAND_MEASURE_IOS;
	if (!slices || load->spec->model != SIM_DISK)
		return;
	load->slice_ns = 124 * MSEC;
	/* The time that a cache takes to write to the medium cannot be assigned to a leaf. */
	if (by_time && !load->spec->cache)
		load->measure = IOBAND_MEASURE_TIME;
}

static void random_tree(struct dice *dice, struct load *load)
{
	const bool weights = has(dice, FEATURE_WEIGHTS, 2, 3);
	const int nodes = has(dice, FEATURE_NESTED, 1, 2) ? 1 + below(dice, NODES) : 0;
	int groups = 2 + below(dice, 11), i;

	for (i = 0; i < nodes; i++)
		add(load, random_up(dice, i), random_weight(dice, weights));
	while (groups--) {
		const int up = random_up(dice, nodes);

		add_group(dice, load, up, random_weight(dice, weights));
	}
}

/* One group that always has I/Os outstanding, and up to three with an I/O now and then. */
static void random_occasional(struct dice *dice, struct load *load)
{
	const bool weights = has(dice, FEATURE_WEIGHTS, 2, 3);
	int groups = 1 + below(dice, 3);

	add_leaf(dice, load, -1, random_weight(dice, weights));
	load->ents[0].work.depth = spread(dice, 4, 64.4);
	while (groups--) {
		const u32 weight = random_weight(dice, weights);
		const u64 think_ns = spread(dice, 10, 300) * MSEC;
		struct sim_workload *work = &load->ents[load->nr].work;

		add_leaf(dice, load, -1, weight);
		work->depth = 1;
		work->think_ns = think_ns;
		work->think_random = has(dice, FEATURE_THINK_RANDOM, 1, 2);
	}
}

static void remove_empty_nodes(struct load *load)
{
	int i, j;

	for (i = load->nr - 1; i >= 0; i--) {
		for (j = i + 1; j < load->nr && load->ents[j].up != i; j++)
			;
		if (!load->ents[i].leaf && j == load->nr)
			load_remove(load, i);
	}
}

static void random_newcomer(struct dice *dice, struct load *load)
{
	const bool wanted = has(dice, FEATURE_LATE, 1, 2) && load_leaves(load) > 2;
	const int chosen = below(dice, load->nr);
	int i = chosen;

	while (!load->ents[i].leaf)
		i = (i + 1) % load->nr;
	load->ents[i].late = wanted;
}

void generate(struct load *load, u32 features, u64 seed, u64 nr)
{
	struct dice dice = { .random.state = seed, .features = features };
	char text[LOAD_TEXT];

	dice.random.state = random_u64(&dice.random) + nr;
	dice.random.state = random_u64(&dice.random);
	*load = (struct load) { .seed = 1 + below(&dice, 1000000) };
	random_device(&dice, load);
	if (has(&dice, FEATURE_STALL, 1, 20))
		load->stall_ns = (550 + below(&dice, 40) * 10) * MSEC;
	if (features & BIT(FEATURE_OCCASIONAL))
		random_occasional(&dice, load);
	else
		random_tree(&dice, load);
	remove_empty_nodes(load);
	random_newcomer(&dice, load);
	/* In the order in which it is read, on which the dice of its leaves depend. */
	load_print(load, text);
	if (load_parse(load, text))
		abort();
}
