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
	steps = shim_rb_steps;
	for (i = 0; i < BIOS; i++) {
		leaf = ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns);
		assert_non_null(leaf);
		ioband_core_admit(&crowd.core, leaf, &bill, 1, crowd.now_ns);
		assert_null(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns));
		ioband_core_complete(&crowd.core, leaf, &bill, crowd.now_ns);
	}
	crowd_free(&crowd);
	return (double)(shim_rb_steps - steps) / BIOS;
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
			steps = shim_rb_steps;
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
	return (double)(shim_rb_steps - steps) / BIOS;
}

/* For a thousand times the groups: at most the added levels of a balanced tree. */
static void grows_slowly(const char *what, double few, double many)
{
	print_message("%s: %.1f steps a bio with few groups, %.1f with many\n", what, few, many);
	assert_in_range(many, 0, few + 3 * log2(1000));
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
			steps = shim_rb_steps;
		ioband_core_wait(&crowd.core, leaf, IOBAND_DIR_READ, crowd.now_ns);
		assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns), leaf);
		ioband_core_admit(&crowd.core, leaf, &bill, 0, crowd.now_ns);
		crowd.now_ns += 10000;
	}
	crowd_free(&crowd);
	free(minima);
	return (double)(shim_rb_steps - steps) / (BIOS / 10);
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
	steps = shim_rb_steps;
	for (i = 0; i < BIOS / 10; i++) {
		ioband_core_wait(&crowd.core, &crowd.leaves[0], IOBAND_DIR_READ, crowd.now_ns);
		assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns),
				 &crowd.leaves[0]);
		ioband_core_admit(&crowd.core, &crowd.leaves[0], &bill, 0, crowd.now_ns);
		crowd.now_ns += 1000000;
		ioband_core_complete(&crowd.core, &crowd.leaves[0], &bill, crowd.now_ns);
	}
	crowd_free(&crowd);
	return (double)(shim_rb_steps - steps) / (BIOS / 10);
}

/* Nested groups make the path longer, but not each step on it. */
static void a_deep_one_costs_its_way(void **state)
{
	const double few = deep(16), many = deep(128);

	(void)state;
	print_message("deep: %.1f steps a bio at 16 levels, %.1f at 128\n", few, many);
	assert_in_range(few, 1, 16 * 8);
	assert_in_range(many, 0, few * 128 / 16 + 8);
}

/* Idle groups cost nothing. */
static void idle_ones_cost_nothing(void **state)
{
	struct crowd crowd;
	u64 wake_ns, steps;

	(void)state;
	crowd_init(&crowd, MANY, 0);
	steps = shim_rb_steps;
	ioband_core_wait(&crowd.core, &crowd.leaves[MANY / 2], IOBAND_DIR_READ, crowd.now_ns);
	assert_ptr_equal(ioband_core_pick(&crowd.core, crowd.now_ns, &wake_ns),
			 &crowd.leaves[MANY / 2]);
	ioband_core_admit(&crowd.core, &crowd.leaves[MANY / 2], &bill, 0, crowd.now_ns);
	ioband_core_complete(&crowd.core, &crowd.leaves[MANY / 2], &bill, crowd.now_ns);
	assert_in_range(shim_rb_steps - steps, 0, 4);
	crowd_free(&crowd);
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
	};

	return run_cases(cases, argc, argv);
}
