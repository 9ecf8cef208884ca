/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SWAP_H
#define IOBANDCTL_SWAP_H

#include "base/error.h"
#include "kernel/dm.h"

/* A device that is to use another table. */
struct swap {
	const char *name;
	const struct mapped_table *own;	/* the table that it uses */
	const struct mapped_table *loaded;	/* the table that was loaded for it */
	bool read_only;	/* it cannot be written */
};

bool swap_same(const struct mapped_table *left, const struct mapped_table *right);
int swap_tables(const struct swap *swap, struct problem *problem);

#endif
