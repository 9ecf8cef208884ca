// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hundred thousand groups: the cost of a bio grows at most with the logarithm of their
 * number, counted in steps through the trees.
 */
#include <math.h>
#include <stdlib.h>

#include "cases.h"
#include "sched/core.h"
#include "random.h"

#define MANY	100000
#define BIOS	50000

struct crowd {
	struct ioband_core core;
	struct ioband_node *nodes;
	struct ioband_leaf *leaves;
	u32 nr;
	u64 now_ns;
	struct sim_random random;
};

static const struct ioband_bill bill = { .charge = 4096, .bytes = 4096 };

/* @nr leaves, @width below each node; 0: all below the root. */
static void crowd_init(struct crowd *crowd, u32 nr, u32 width)
{
	u32 i;

	*crowd = (struct crowd) { .nr = nr, .now_ns = 1000000, .random.state = nr };
	ioband_core_init(&crowd->core);
	crowd->leaves = calloc(nr, sizeof(*crowd->leaves));
	crowd->nodes = calloc(nr, sizeof(*crowd->nodes));
	assert_non_null(crowd->leaves);
	assert_non_null(crowd->nodes);
	for (i = 0; width && i < (nr + width - 1) / width; i++)
		ioband_tree_init_node(&crowd->nodes[i], &crowd->core.root,
				      1 + random_below(&crowd->random, 1000));
	for (i = 0; i < nr; i++)
		ioband_tree_init_leaf(&crowd->leaves[i],
				      width ? &crowd->nodes[i / width] : &crowd->core.root,
				      1 + random_below(&crowd->random, 1000));
}

static void crowd_free(struct crowd *crowd)
{
	free(crowd->leaves);
	free(crowd->nodes);
}

/* All leaves are backlogged; one bio is in flight at a time. */
static double backlogged(u32 nr, u32 width)
{
	struct ioband_leaf *leaf;
	struct crowd crowd;
	u64 wake_ns, steps;
	u32 i;

	crowd_init(&crowd, nr, width);
	ioband_core_set_limit(&crowd.core, 1, 0);
	for (i = 0; i < nr; i++)
		ioband_core_wait(&crowd.core, &crowd.leaves[i], IOBAND_DIR_READ, crowd.now_ns);
	steps = shim_steps;
	for (i = 0; i < BIOS; i++) {
		leaf = ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns);
		assert_non_null(leaf);
		ioband_core_admit(&crowd.core, leaf, &bill, 1, crowd.now_ns);
		assert_null(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns));
		ioband_core_complete(&crowd.core, leaf, &bill, crowd.now_ns);
	}
	crowd_free(&crowd);
	return (double)(shim_steps - steps) / BIOS;
}

/* Readers with one bio each; @limit bios are in flight, the others are queued. */
static double readers(u32 nr, u32 width, u32 limit)
{
	struct ioband_leaf *leaf, **flight = calloc(limit, sizeof(*flight));
	struct crowd crowd;
	u64 wake_ns, steps = 0;
	u32 i, nr_flight = 0;

	assert_non_null(flight);
	crowd_init(&crowd, nr, width);
	ioband_core_set_limit(&crowd.core, limit, 0);
	for (i = 0; i < nr; i++)
		ioband_core_wait(&crowd.core, &crowd.leaves[i], IOBAND_DIR_READ, crowd.now_ns);
	for (i = 0; i < BIOS + limit; i++) {
		if (i == limit)
			steps = shim_steps;
		while ((leaf = ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns))) {
			ioband_core_admit(&crowd.core, leaf, &bill, 0, crowd.now_ns);
			flight[nr_flight++] = leaf;
		}
		crowd.now_ns += 1000;
		if (!nr_flight) {
			crowd.now_ns = wake_ns;
			continue;
		}
		leaf = flight[0];
		flight[0] = flight[--nr_flight];
		ioband_core_complete(&crowd.core, leaf, &bill, crowd.now_ns);
		crowd.now_ns += 1000;
		ioband_core_wait(&crowd.core, leaf, IOBAND_DIR_READ, crowd.now_ns);
	}
	crowd_free(&crowd);
	free(flight);
	return (double)(shim_steps - steps) / BIOS;
}

/* A bio is inserted into some trees, and removed again, and each visit of a node is a step. */
#define STEPS_A_LEVEL	16

/* For a thousand times the groups: at most the added levels of a balanced tree. */
static void grows_slowly(const char *what, double few, double many)
{
	print_message("%s: %.1f steps a bio with few groups, %.1f with many\n", what, few, many);
	assert_in_range(many, 0, few + STEPS_A_LEVEL * log2(1000));
}

static void backlogged_side_by_side(void **state)
{
	(void)state;
	grows_slowly("flat", backlogged(MANY / 1000, 0), backlogged(MANY, 0));
}

static void backlogged_in_nodes(void **state)
{
	(void)state;
	grows_slowly("nested", backlogged(MANY / 1000, 10), backlogged(MANY, 10));
}

static void readers_side_by_side(void **state)
{
	(void)state;
	grows_slowly("readers", readers(MANY / 1000, 0, 32), readers(MANY, 0, 32));
}

static void readers_in_nodes(void **state)
{
	(void)state;
	grows_slowly("nested readers", readers(MANY / 1000, 10, 32), readers(MANY, 10, 32));
}

/* All leaves have a minimum that is due, and all bios but one in flight. */
static double due(u32 nr)
{
	static const struct ioband_rates rates = { .bytes = { 1000000000, 0 } };
	struct ioband_min *minima = calloc(nr, sizeof(*minima));
	struct ioband_leaf *leaf;
	struct crowd crowd;
	u64 wake_ns, steps = 0;
	u32 i;

	assert_non_null(minima);
	crowd_init(&crowd, nr, 0);
	ioband_core_set_limit(&crowd.core, nr, 0);
	for (i = 0; i < nr; i++) {
		ioband_min_init(&minima[i]);
		ioband_min_set(&crowd.core, &crowd.leaves[i].ent, &minima[i], &rates, 0,
			       crowd.now_ns);
	}
	for (i = 0; i < nr + BIOS / 10; i++) {
		leaf = &crowd.leaves[i % nr];
		if (i >= nr)
			ioband_core_complete(&crowd.core, leaf, &bill, crowd.now_ns);
		else
			steps = shim_steps;
		ioband_core_wait(&crowd.core, leaf, IOBAND_DIR_READ, crowd.now_ns);
		assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns), leaf);
		ioband_core_admit(&crowd.core, leaf, &bill, 0, crowd.now_ns);
		crowd.now_ns += 10000;
	}
	crowd_free(&crowd);
	free(minima);
	return (double)(shim_steps - steps) / (BIOS / 10);
}

static void minima_side_by_side(void **state)
{
	(void)state;
	grows_slowly("minima", due(MANY / 1000), due(MANY / 10));
}

/* A leaf alone, @levels down, with a slice that ended long ago. */
static double deep(u32 levels)
{
	struct crowd crowd;
	u64 wake_ns, steps;
	u32 i;

	crowd_init(&crowd, levels, 0);
	for (i = 0; i < levels; i++)
		ioband_tree_init_node(&crowd.nodes[i], i ? &crowd.nodes[i - 1] : &crowd.core.root,
				      100);
	ioband_tree_init_leaf(&crowd.leaves[0], &crowd.nodes[levels - 1], 100);
	ioband_core_set_limit(&crowd.core, 1, 0);
	ioband_core_set_slice(&crowd.core, 1000000, true, crowd.now_ns);
	steps = shim_steps;
	for (i = 0; i < BIOS / 10; i++) {
		ioband_core_wait(&crowd.core, &crowd.leaves[0], IOBAND_DIR_READ, crowd.now_ns);
		assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns),
				 &crowd.leaves[0]);
		ioband_core_admit(&crowd.core, &crowd.leaves[0], &bill, 0, crowd.now_ns);
		crowd.now_ns += 1000000;
		ioband_core_complete(&crowd.core, &crowd.leaves[0], &bill, crowd.now_ns);
	}
	crowd_free(&crowd);
	return (double)(shim_steps - steps) / (BIOS / 10);
}

/* Nested groups make the path longer, but not each step on it. */
static void a_deep_one_costs_its_way(void **state)
{
	const double few = deep(16), many = deep(128);

	(void)state;
	print_message("deep: %.1f steps a bio at 16 levels, %.1f at 128\n", few, many);
	assert_in_range(few, 1, 16 * STEPS_A_LEVEL);
	assert_in_range(many, 0, few * 128 / 16 + 8);
}

/* Idle groups cost nothing. */
static void idle_ones_cost_nothing(void **state)
{
	struct crowd crowd;
	u64 wake_ns, steps;

	(void)state;
	crowd_init(&crowd, MANY, 0);
	steps = shim_steps;
	ioband_core_wait(&crowd.core, &crowd.leaves[MANY / 2], IOBAND_DIR_READ, crowd.now_ns);
	assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns),
			 &crowd.leaves[MANY / 2]);
	ioband_core_admit(&crowd.core, &crowd.leaves[MANY / 2], &bill, 0, crowd.now_ns);
	ioband_core_complete(&crowd.core, &crowd.leaves[MANY / 2], &bill, crowd.now_ns);
	assert_in_range(shim_steps - steps, 0, 8);
	crowd_free(&crowd);
}

/* ---- the worst call ------------------------------------------------------ */

#define GROUPS	10000

/*
 * Most steps in one call, for any number of groups: those of IOBAND_CHUNK changes, some of each
 * level of a balanced tree, or of the latency targets in a look.
 */
#define MOST_STEPS	5000

static u64 worst_steps;

/* The result of a call, of which the steps are counted. */
#define counted(call) ({						\
	const u64 before = shim_steps;					\
	__auto_type result = (call);					\
									\
	worst_steps = max(worst_steps, shim_steps - before);		\
	result; })

/* The same without a result. */
#define count(call) ((void)counted(({ call; 0; })))

static void check_worst(const char *what)
{
	print_message("%s: at most %llu steps a call\n", what, (unsigned long long)worst_steps);
	assert_in_range(worst_steps, 1, MOST_STEPS);
	worst_steps = 0;
}

/* What the entities of a crowd may have. */
struct limits {
	struct ioband_min *minima;
	struct ioband_max *maxima;
	struct ioband_latency *targets;
	u32 nr;
};

static void limits_init(struct limits *limits)
{
	*limits = (struct limits) {
		.minima = calloc(2 * GROUPS, sizeof(*limits->minima)),
		.maxima = calloc(2 * GROUPS, sizeof(*limits->maxima)),
		.targets = calloc(2 * GROUPS, sizeof(*limits->targets)),
	};
	assert_non_null(limits->minima);
	assert_non_null(limits->maxima);
	assert_non_null(limits->targets);
}

static void limits_free(struct limits *limits)
{
	free(limits->minima);
	free(limits->maxima);
	free(limits->targets);
}

/* Rates of bytes, of reads and writes; 0: none. */
static void limit(struct crowd *crowd, struct limits *limits, struct ioband_ent *ent, u64 least,
		  u64 most, u64 target_ns)
{
	const struct ioband_rates min_rates = { .bytes = { least, least } };
	const struct ioband_rates max_rates = { .bytes = { most, most } };
	const u32 i = limits->nr++;

	ioband_min_init(&limits->minima[i]);
	ioband_max_init(&limits->maxima[i]);
	ioband_latency_init(&limits->targets[i], IOBAND_DIR_READ);
	if (least)
		ioband_min_set(&crowd->core, ent, &limits->minima[i], &min_rates, 0,
			       crowd->now_ns);
	if (most)
		ioband_max_set(&crowd->core, ent, &limits->maxima[i], &max_rates, crowd->now_ns);
	if (target_ns)
		ioband_latency_set(&crowd->core, ent, &limits->targets[i], target_ns,
				   crowd->now_ns);
}

static u8 own_dirs(const struct crowd *crowd, const struct ioband_leaf *leaf)
{
	return 1 + (leaf - crowd->leaves) % 3;
}

static void all_arrive(struct crowd *crowd)
{
	for (u32 i = 0; i < crowd->nr; i++)
		for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
			if (own_dirs(crowd, &crowd->leaves[i]) & 1 << dir)
				count(ioband_core_wait(&crowd->core, &crowd->leaves[i], dir,
						       crowd->now_ns));
}

/* Dispatch up to @ios bios.  Each leaf has the same directions queued again. */
static void serve(struct crowd *crowd, u32 ios, u64 step_ns)
{
	struct ioband_leaf *leaf;
	u64 wake_ns;

	for (; ios; ios--) {
		struct ioband_bill one = bill;

		crowd->now_ns += step_ns;
		count(ioband_latency_look(&crowd->core, crowd->now_ns));
		leaf = counted(ioband_core_pick(&crowd->core, crowd->now_ns, &wake_ns));
		if (!leaf)
			continue;
		one.dir = ioband_tree_dirs(&crowd->core, leaf) & 1 ? IOBAND_DIR_READ :
								     IOBAND_DIR_WRITE;
		one.awaited = one.dir == IOBAND_DIR_READ;
		one.for_min = counted(ioband_core_admit(&crowd->core, leaf, &one,
							own_dirs(crowd, leaf), crowd->now_ns));
		if (one.awaited)
			ioband_latency_sample(leaf, one.dir, 100000000);
		count(ioband_core_complete(&crowd->core, leaf, &one, crowd->now_ns));
	}
}

/* All groups have a minimum, a maximum and a latency target, side by side and in nodes. */
static void all_at_once(void **state)
{
	struct limits limits;
	struct crowd crowd;

	(void)state;
	for (u32 width = 0; width <= 1000; width += 1000) {
		limits_init(&limits);
		crowd_init(&crowd, GROUPS, width);
		ioband_core_set_limit(&crowd.core, 8, 0);
		for (u32 i = 0; width && i < GROUPS / width; i++)
			limit(&crowd, &limits, &crowd.nodes[i].ent, i % 2 * 1000000000,
			      i % 3 * 1000000, i % 4 * 1000);
		for (u32 i = 0; i < GROUPS; i++)
			limit(&crowd, &limits, &crowd.leaves[i].ent, i % 5 * 1000000,
			      i % 7 * 100000, 1000 * (1 + i));
		all_arrive(&crowd);
		serve(&crowd, 2 * GROUPS, 20000);
		check_worst(width ? "in nodes" : "side by side");
		crowd_free(&crowd);
		limits_free(&limits);
	}
}

/* Of all children of a group with a minimum that is due, by bypass vtime. */
static void below_a_minimum(void **state)
{
	struct limits limits;
	struct crowd crowd;

	(void)state;
	for (int slices = 0; slices < 2; slices++) {
		limits_init(&limits);
		crowd_init(&crowd, GROUPS, GROUPS);
		ioband_core_set_limit(&crowd.core, 8, 0);
		ioband_core_set_slice(&crowd.core, slices * 1000000, false, crowd.now_ns);
		limit(&crowd, &limits, &crowd.nodes[0].ent, 1000000000, 0, 0);
		all_arrive(&crowd);
		serve(&crowd, GROUPS / 2, 20000);
		check_worst(slices ? "by bypass vtime, with slices" : "by bypass vtime");
		crowd_free(&crowd);
		limits_free(&limits);
	}
}

/* A maximum above blocks all groups with a minimum. */
static void blocked_with_minima(void **state)
{
	struct limits limits;
	struct crowd crowd;

	(void)state;
	limits_init(&limits);
	crowd_init(&crowd, GROUPS, GROUPS - 1);
	ioband_core_set_limit(&crowd.core, 8, 0);
	limit(&crowd, &limits, &crowd.nodes[0].ent, 0, 4096 * 10, 0);
	for (u32 i = 0; i < GROUPS; i++)
		limit(&crowd, &limits, &crowd.leaves[i].ent, 1000000, 0, 0);
	all_arrive(&crowd);
	serve(&crowd, GROUPS / 2, 20000);
	check_worst("blocked");
	crowd_free(&crowd);
	limits_free(&limits);
}

/* A latency target of the pool holds all writes, and few groups have reads. */
static void reads_behind_writes(void **state)
{
	struct limits limits;
	struct crowd crowd;
	u64 wake_ns;

	(void)state;
	limits_init(&limits);
	crowd_init(&crowd, GROUPS, 0);
	ioband_core_set_limit(&crowd.core, 8, 0);
	limit(&crowd, &limits, &crowd.core.root.ent, 0, 0, 1000);
	for (u32 i = 0; i < GROUPS; i++)
		ioband_core_wait(&crowd.core, &crowd.leaves[i], IOBAND_DIR_WRITE, crowd.now_ns);
	for (u32 i = 0; i < GROUPS; i++) {
		struct ioband_leaf *leaf;
		struct ioband_bill one = bill;

		crowd.now_ns += 20000;
		count(ioband_latency_look(&crowd.core, crowd.now_ns));
		ioband_latency_sample(&crowd.leaves[0], IOBAND_DIR_READ, 1000000);
		leaf = counted(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns));
		if (!leaf)
			continue;
		one.dir = IOBAND_DIR_WRITE;
		count(ioband_core_admit(&crowd.core, leaf, &one, 2, crowd.now_ns));
		count(ioband_core_complete(&crowd.core, leaf, &one, crowd.now_ns));
	}
	assert_true(crowd.core.throttle.bucket.rate);
	check_worst("reads behind writes");
	crowd_free(&crowd);
	limits_free(&limits);
}

/* The blocks of all groups end at once, and their grace periods. */
static void all_end_at_once(void **state)
{
	const struct ioband_bill huge = { .charge = 100 << 20, .bytes = 100 << 20 };
	struct limits limits;
	struct crowd crowd;
	u64 wake_ns;

	(void)state;
	limits_init(&limits);
	crowd_init(&crowd, GROUPS, 0);
	for (u32 i = 0; i < GROUPS; i++)
		limit(&crowd, &limits, &crowd.leaves[i].ent, 0, 100 << 20, 0);
	for (u32 i = 0; i < GROUPS; i++) {
		ioband_core_admit_now(&crowd.core, &crowd.leaves[i], &huge, crowd.now_ns);
		if (i % 2)
			count(ioband_core_wait(&crowd.core, &crowd.leaves[i], IOBAND_DIR_READ,
					       crowd.now_ns));
	}
	for (u32 i = 0; i < GROUPS; i++)
		count(ioband_core_complete(&crowd.core, &crowd.leaves[i], &huge, crowd.now_ns));
	assert_null(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns));
	crowd.now_ns += 100000000000ULL;
	serve(&crowd, GROUPS, 1);
	check_worst("all end");
	assert_true(RB_EMPTY_ROOT(&crowd.core.anticipated[0].rb_root));
	crowd_free(&crowd);
	limits_free(&limits);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(backlogged_side_by_side),
		TEST(backlogged_in_nodes),
		TEST(readers_side_by_side),
		TEST(readers_in_nodes),
		TEST(minima_side_by_side),
		TEST(a_deep_one_costs_its_way),
		TEST(idle_ones_cost_nothing),
		TEST(all_at_once),
		TEST(below_a_minimum),
		TEST(blocked_with_minima),
		TEST(reads_behind_writes),
		TEST(all_end_at_once),
	};

	return run_cases(cases, argc, argv);
}
