/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs that test the scheduler's rules have in common: a tree for each
 * case, which is checked after each step.
 */
#ifndef RULES_H
#define RULES_H

#define CASE_SETUP	rules_setup
#define CASE_TEARDOWN	rules_teardown
#include "cases.h"
#include "tree.h"

#define KIB	1024U
#define MIB	(1024U * KIB)
#define USEC	1000ULL
#define MSEC	(1000 * USEC)

extern struct tree *tree;

int rules_setup(void **state);
int rules_teardown(void **state);

struct ioband_bill bill(u32 bytes);
/* A bio waits in a leaf. */
void wait_for(struct tree_leaf *leaf, u32 bytes);
/* The same of a flusher's. */
void write_back(struct tree_leaf *leaf, u32 bytes);
/* A few bios waiting, so that a leaf stays backlogged while it is served. */
void backlog(struct tree_leaf *leaf, u32 bytes);
/* One goes out of turn. */
void now(struct tree_leaf *leaf, u32 bytes);
/* All that is in flight is back. */
void complete_all(void);
/* A reader: one bio, back from the device, and the next one @think_ns later. */
void read_once(struct tree_leaf *leaf, u64 think_ns);

#endif /* RULES_H */
