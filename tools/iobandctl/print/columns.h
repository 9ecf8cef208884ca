/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_COLUMNS_H
#define IOBANDCTL_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What the cells of a column hold. */
enum column_kind {
	COLUMN_TEXT,
	COLUMN_PATH,	/* text that goes on in the next line if a terminal is too narrow */
	COLUMN_NUMBER,
	COLUMN_REAL,	/* two decimals */
	COLUMN_BYTES,	/* JSON: bytes */
	COLUMN_TIME,	/* JSON: nanoseconds */
	COLUMN_FLAG,	/* JSON: true or false */
	COLUMN_SET,	/* a flag that is "set" or "default" in text */
	COLUMN_TREE,	/* text that leads the branches of a tree */
};

/* A column of a table. */
struct column {
	const char *title;	/* its heading in text; NULL to leave it out there */
	const char *key;	/* its name in JSON; NULL to leave it out there */
	enum column_kind kind;	/* what its cells hold */
	bool more;	/* in text it is shown only if it is asked for */
};

int columns_choose(const char *names, const struct column *columns, size_t n,
		   bool json, size_t *chosen, struct problem *problem);
bool columns_has(const char *names, const struct column *column);
char *columns_names(const struct column *columns, size_t n, bool json);

#endif
