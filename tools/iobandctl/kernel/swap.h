/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SWAP_H
#define IOBANDCTL_SWAP_H

#include "base/error.h"
#include "kernel/dm.h"

/**
 * struct swap - a device that is to use another table
 * @name: its name
 * @own: the table that it uses
 * @loaded: the table that was loaded for it
 * @read_only: it cannot be written
 */
struct swap {
	const char *name;
	const struct mapped_table *own;
	const struct mapped_table *loaded;
	bool read_only;
};

bool swap_same(const struct mapped_table *left,
	       const struct mapped_table *right);
int swap_tables(const struct swap *swap, struct problem *problem);

#endif
