// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of calls of the core, with a check after each call.
 */
#include <stdlib.h>

#include "cases.h"
#include "random.h"
#include "scale.h"
#include "tree.h"

#define USEC	1000ULL
#define MSEC	(1000 * USEC)

/* The parameters of a sequence. */
struct profile {
	u32 sequences;
	u32 steps;
	u32 nodes;
	u32 leaves;
	u32 limit;		/* largest in-flight limit */
	u32 deepest;		/* most queued bios of a leaf */
	u64 pause_ns;		/* longest time between two steps */
	u64 slice_ns;		/* or 0 */
	bool maxima;		/* some entities have maxima */
	bool minima;		/* some entities have minima */
	bool flushers;		/* some writes are writeback */
	bool idlers;		/* some entities are idle */
	u32 stuck;		/* most bios reported as hung */
};

struct fuzz {
	const struct profile *profile;
	struct sim_random random;
	struct tree tree;
	u64 covers;		/* of a flush from above in flight; 0: there is none */
};

static u64 below(struct fuzz *fuzz, u64 n)
{
	return random_below(&fuzz->random, n);
}

/* Small weights and the ends of the range are as likely as all others together. */
static u32 random_weight(struct fuzz *fuzz)
{
	switch (below(fuzz, 4)) {
	case 0:
		return IOBAND_WEIGHT_DEFAULT;
	case 1:
		return 1 + below(fuzz, 10);
	case 2:
		return below(fuzz, 2) ? IOBAND_WEIGHT_MIN : IOBAND_WEIGHT_MAX;
	default:
		return 1 + below(fuzz, IOBAND_WEIGHT_MAX);
	}
}

static struct ioband_bill random_bill(struct fuzz *fuzz)
{
	static const u32 sizes[] = { 0, 512, 4096, 65536, 1 << 20, 8 << 20, 200 << 20 };
	struct ioband_bill bill = { .bytes = sizes[below(fuzz, 7)] };

	if (!below(fuzz, 50))
		bill.bytes = random_u64(&fuzz->random);
	bill.charge = below(fuzz, 3) ? bill.bytes : 65536;
	bill.cached = below(fuzz, 2);
	bill.dir = below(fuzz, IOBAND_NR_DIRS);
	bill.async = fuzz->profile->flushers && bill.dir == IOBAND_DIR_WRITE && below(fuzz, 8);
	bill.ios = !!below(fuzz, 4);
	bill.more = !below(fuzz, 4);
	return bill;
}

/* A node in use, or NULL. */
static struct tree_node *random_node(struct fuzz *fuzz)
{
	struct tree_node *node;

	if (!fuzz->tree.nodes_end)
		return NULL;
	node = &fuzz->tree.nodes[below(fuzz, fuzz->tree.nodes_end)];
	return node->used ? node : NULL;
}

static struct tree_leaf *random_leaf(struct fuzz *fuzz)
{
	struct tree_leaf *leaf;

	if (!fuzz->tree.leaves_end)
		return NULL;
	leaf = &fuzz->tree.leaves[below(fuzz, fuzz->tree.leaves_end)];
	return leaf->used ? leaf : NULL;
}

static u32 nr_nodes(const struct tree *tree)
{
	u32 i, nr = 0;

	for (i = 0; i < tree->nodes_end; i++)
		nr += tree->nodes[i].used;
	return nr;
}

static u32 nr_leaves(const struct tree *tree)
{
	u32 i, nr = 0;

	for (i = 0; i < tree->leaves_end; i++)
		nr += tree->leaves[i].used;
	return nr;
}

static void grow(struct fuzz *fuzz)
{
	struct tree_node *up = random_node(fuzz);

	if (below(fuzz, 3)) {
		struct tree_leaf *leaf = NULL;

		if (nr_leaves(&fuzz->tree) < fuzz->profile->leaves)
			leaf = tree_add_leaf(&fuzz->tree, up, random_weight(fuzz));
		if (leaf && up && up->node.streams)
			leaf->leaf.is_run = below(fuzz, 2);
	} else if (nr_nodes(&fuzz->tree) < fuzz->profile->nodes && !(up && up->node.streams)) {
		struct tree_node *node = tree_add_node(&fuzz->tree, up, random_weight(fuzz));

		if (node)
			node->node.streams = fuzz->profile->slice_ns && below(fuzz, 2);
	}
}

static void shrink(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);
	struct tree_node *node = random_node(fuzz);

	if (leaf && tree_leaf_is_idle(leaf))
		tree_remove_leaf(&fuzz->tree, leaf);
	if (node && tree_node_is_empty(&fuzz->tree, node))
		tree_remove_node(&fuzz->tree, node);
}

static void reweigh(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);
	struct tree_node *node = random_node(fuzz);
	struct ioband_ent *ent = node && below(fuzz, 2) ? &node->node.ent :
				 leaf ? &leaf->leaf.ent : NULL;

	if (ent && fuzz->profile->idlers && below(fuzz, 2))
		tree_set_weight(&fuzz->tree, ent, IOBAND_WEIGHT_IDLE);
	else if (ent)
		tree_set_weight(&fuzz->tree, ent, random_weight(fuzz));
}

static u64 random_rate(struct fuzz *fuzz)
{
	switch (below(fuzz, 4)) {
	case 0:
		return 1000 + below(fuzz, 1000000);
	case 1:
		return 1ULL << (20 + below(fuzz, 20));
	default:
		return 0;
	}
}

static void bound(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);
	struct tree_node *node = random_node(fuzz);
	const struct ioband_rates rates = {
		.bytes = { random_rate(fuzz), random_rate(fuzz) },
		.ios = { random_rate(fuzz), random_rate(fuzz) },
	};
	const struct ioband_rates *given = below(fuzz, 3) ? &rates : NULL;
	struct ioband_ent *ent = node && below(fuzz, 2) ? &node->node.ent :
				 leaf ? &leaf->leaf.ent : NULL;

	if (ent && fuzz->profile->maxima)
		tree_set_max(&fuzz->tree, ent, given);
	if (ent && fuzz->profile->minima && below(fuzz, 2))
		tree_set_min(&fuzz->tree, ent, given);
}

static void arrive(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);
	u32 nr = 1 + below(fuzz, fuzz->profile->deepest);

	for (; leaf && nr && leaf->nr_held < fuzz->profile->deepest; nr--) {
		tree_wait(&fuzz->tree, leaf, random_bill(fuzz));
		tree_check(&fuzz->tree);
	}
}

static void arrive_urgent(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);

	if (leaf && fuzz->tree.nr_flight < TREE_FLIGHT_MAX / 2)
		tree_admit_now(&fuzz->tree, leaf, random_bill(fuzz));
}

static void withdraw(struct fuzz *fuzz)
{
	struct tree_leaf *leaf = random_leaf(fuzz);

	if (leaf)
		tree_withdraw(&fuzz->tree, leaf);
}

static void complete(struct fuzz *fuzz)
{
	u32 nr = 1 + below(fuzz, 4);

	if (fuzz->tree.flushing && !below(fuzz, 4))
		tree_end_flush(&fuzz->tree);
	for (; nr && fuzz->tree.nr_flight; nr--) {
		tree_complete(&fuzz->tree, below(fuzz, fuzz->tree.nr_flight));
		tree_check(&fuzz->tree);
	}
}

static void dispatch(struct fuzz *fuzz)
{
	u64 wake_ns;

	if (below(fuzz, 4))
		tree_dispatch(&fuzz->tree);
	else
		tree_serve(&fuzz->tree, &wake_ns);
}

static void limit(struct fuzz *fuzz)
{
	const u64 slice_ns = below(fuzz, 4) ? fuzz->profile->slice_ns : 0;
	/* The checks do not cover hung bios together with minima on the in-flight limit. */
	const bool may_hang = slice_ns || !fuzz->profile->minima;
	const u32 stuck = may_hang && below(fuzz, 2) ? fuzz->profile->stuck : 0;

	ioband_core_set_limit(&fuzz->tree.core, 1 + below(fuzz, fuzz->profile->limit),
			      below(fuzz, 1 + stuck));
	if (fuzz->profile->slice_ns)
		tree_set_slice(&fuzz->tree, slice_ns, below(fuzz, 2));
}

/* A flush from above begins or completes.  It does not cover writes that are in flight. */
static void flush(struct fuzz *fuzz)
{
	const struct ioband_core *core = &fuzz->tree.core;

	if (fuzz->covers) {
		ioband_slice_note_flush(&fuzz->tree.core, fuzz->covers, below(fuzz, 1000 * MSEC));
		assert_in_range(core->clean_until, fuzz->covers, core->cached_until);
		fuzz->covers = 0;
		return;
	}
	fuzz->covers = ioband_slice_completed_until(core);
}

static void step(struct fuzz *fuzz)
{
	static const struct {
		u32 often;
		void (*run)(struct fuzz *fuzz);
	} steps[] = {
		{ 2, grow }, { 1, shrink }, { 1, reweigh }, { 12, arrive }, { 2, arrive_urgent },
		{ 1, withdraw }, { 20, complete }, { 20, dispatch }, { 1, limit }, { 1, bound },
		{ 2, flush },
	};
	u32 choice = below(fuzz, 63);
	u32 i;

	for (i = 0; choice >= steps[i].often; i++)
		choice -= steps[i].often;
	steps[i].run(fuzz);
	tree_check(&fuzz->tree);
	fuzz->tree.now_ns += below(fuzz, 1 + fuzz->profile->pause_ns);
	/* The core gets a clock that was read before the lock. */
	fuzz->tree.late_ns = below(fuzz, 3) ? 0 : below(fuzz, 20 * USEC);
}

/* In every third sequence virtual time passes 2^63 or 2^64 early. */
static u64 random_vnow(struct fuzz *fuzz)
{
	const u64 near[] = { 0, 1ULL << 63, 0 };

	return near[below(fuzz, 3)] - below(fuzz, 1ULL << 45);
}

static void run(const struct profile *profile)
{
	struct fuzz *fuzz = malloc(sizeof(*fuzz));
	u64 i, j;

	assert_non_null(fuzz);
	for (i = 0; i < scaled(profile->sequences); i++) {
		fuzz->profile = profile;
		fuzz->covers = 0;
		fuzz->random.state = i;
		tree_seed = i;
		tree_init(&fuzz->tree, random_vnow(fuzz));
		limit(fuzz);
		for (j = 0; j < 2 * profile->leaves; j++)
			grow(fuzz);
		for (j = 0; j < profile->steps; j++)
			step(fuzz);
		tree_end(&fuzz->tree);
	}
	free(fuzz);
}

static void few_leaves(void **state)
{
	static const struct profile profile = {
		.sequences = 600, .steps = 1000, .nodes = 2, .leaves = 4,
		.limit = 4, .deepest = 8, .pause_ns = 50 * USEC,
	};

	(void)state;
	run(&profile);
}

static void deep_tree(void **state)
{
	static const struct profile profile = {
		.sequences = 200, .steps = 1000, .nodes = 24, .leaves = 24,
		.limit = 16, .deepest = 4, .pause_ns = 20 * USEC,
	};

	(void)state;
	run(&profile);
}

/* Nearly all of the time is a grace period. */
static void many_thinkers(void **state)
{
	static const struct profile profile = {
		.sequences = 200, .steps = 1000, .nodes = 6, .leaves = 40,
		.limit = 8, .deepest = 1, .pause_ns = 10 * USEC,
	};

	(void)state;
	run(&profile);
}

static void long_pauses(void **state)
{
	static const struct profile profile = {
		.sequences = 200, .steps = 1000, .nodes = 6, .leaves = 12,
		.limit = 2, .deepest = 3, .pause_ns = 5 * MSEC,
	};

	(void)state;
	run(&profile);
}

static void deep_queues(void **state)
{
	static const struct profile profile = {
		.sequences = 200, .steps = 1000, .nodes = 4, .leaves = 6,
		.limit = 200, .deepest = TREE_HELD_MAX, .pause_ns = 100 * USEC,
	};

	(void)state;
	run(&profile);
}

static void slices(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = 50 * USEC, .slice_ns = MSEC, .stuck = 2,
	};

	(void)state;
	run(&profile);
}

/* Long enough for a writeback idle state now and then. */
static void flushers_and_slices(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10, .limit = 8,
		.deepest = 6, .pause_ns = 20 * MSEC, .slice_ns = 50 * MSEC, .flushers = true,
		.stuck = 2,
	};

	(void)state;
	run(&profile);
}

static void maxima(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = MSEC, .maxima = true,
	};

	(void)state;
	run(&profile);
}

static void maxima_and_slices(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = 300 * USEC, .slice_ns = MSEC, .maxima = true,
		.stuck = 2,
	};

	(void)state;
	run(&profile);
}

static void minima(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = 300 * USEC, .minima = true,
	};

	(void)state;
	run(&profile);
}

static void minima_and_maxima(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = MSEC, .maxima = true, .minima = true,
	};

	(void)state;
	run(&profile);
}

static void minima_and_slices(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = 300 * USEC, .slice_ns = MSEC,
		.maxima = true, .minima = true, .stuck = 2,
	};

	(void)state;
	run(&profile);
}

static void idlers(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10,
		.limit = 8, .deepest = 6, .pause_ns = MSEC, .idlers = true, .stuck = 2,
	};

	(void)state;
	run(&profile);
}

static void idlers_and_slices(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 6, .leaves = 10, .limit = 8,
		.deepest = 6, .pause_ns = 20 * MSEC, .slice_ns = 50 * MSEC, .flushers = true,
		.idlers = true, .stuck = 2,
	};

	(void)state;
	run(&profile);
}

static void idlers_and_all_others(void **state)
{
	static const struct profile profile = {
		.sequences = 400, .steps = 1000, .nodes = 12, .leaves = 16,
		.limit = 8, .deepest = 6, .pause_ns = 300 * USEC, .slice_ns = MSEC,
		.maxima = true, .minima = true, .idlers = true, .stuck = 2,
	};

	(void)state;
	run(&profile);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(few_leaves),
		TEST(deep_tree),
		TEST(many_thinkers),
		TEST(long_pauses),
		TEST(deep_queues),
		TEST(slices),
		TEST(flushers_and_slices),
		TEST(maxima),
		TEST(maxima_and_slices),
		TEST(minima),
		TEST(minima_and_maxima),
		TEST(minima_and_slices),
		TEST(idlers),
		TEST(idlers_and_slices),
		TEST(idlers_and_all_others),
	};

	return run_cases(cases, argc, argv);
}
