// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the programs that test the scheduler's rules have in common.
 */
#include "rules.h"

#include <stdlib.h>

struct tree *tree;

int rules_setup(void **state)
{
	(void)state;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return -1;
	tree_init(tree, 0);
	return 0;
}

int rules_teardown(void **state)
{
	(void)state;
	tree_end(tree);
	free(tree);
	return 0;
}

struct ioband_bill bill(u32 bytes)
{
	return (struct ioband_bill) { .charge = bytes, .bytes = bytes };
}

void wait_for(struct tree_leaf *leaf, u32 bytes)
{
	tree_wait(tree, leaf, bill(bytes));
	tree_check(tree);
}

void write_back(struct tree_leaf *leaf, u32 bytes)
{
	tree_wait(tree, leaf, (struct ioband_bill) {
		.charge = bytes, .bytes = bytes, .dir = IOBAND_DIR_WRITE,
		.cached = true, .async = true,
	});
}

void now(struct tree_leaf *leaf, u32 bytes)
{
	tree_admit_now(tree, leaf, bill(bytes));
	tree_check(tree);
}

void complete_all(void)
{
	while (tree->nr_flight) {
		tree_complete(tree, 0);
		tree_check(tree);
	}
}

void backlog(struct tree_leaf *leaf, u32 bytes)
{
	wait_for(leaf, bytes);
	wait_for(leaf, bytes);
}

void read_once(struct tree_leaf *leaf, u64 think_ns)
{
	u64 wake_ns;

	wait_for(leaf, 4 * KIB);
	assert_ptr_equal(tree_serve(tree, &wake_ns), leaf);
	tree->now_ns += 100 * USEC;
	complete_all();
	tree->now_ns += think_ns;
}
