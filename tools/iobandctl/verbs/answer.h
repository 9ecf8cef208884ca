/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ANSWER_H
#define IOBANDCTL_ANSWER_H

#include "ioband/group.h"
#include "kernel/parse.h"
#include "print/args.h"
#include "print/print.h"

/* The columns that lead each answer. */
enum { ANSWER_POOL, ANSWER_DEVICE, ANSWER_GROUP, ANSWER_COLUMNS };

#define ANSWER_LEADS							\
	[ANSWER_POOL] = { "POOL", "pool", COLUMN_TEXT },		\
	[ANSWER_DEVICE] = { "DEVICE", "device", COLUMN_TEXT },		\
	[ANSWER_GROUP] = { "GROUP", "group", COLUMN_TEXT }

/* The columns of a weight, for answer_fill_weight(). */
enum { ANSWER_WEIGHT_NUMBER = ANSWER_COLUMNS, ANSWER_WEIGHT_TEXT,
	ANSWER_WEIGHT_SET, ANSWER_WEIGHT_COLUMNS };

#define ANSWER_WEIGHT							\
	[ANSWER_WEIGHT_NUMBER] = { "WEIGHT", "weight", COLUMN_NUMBER },	\
	[ANSWER_WEIGHT_TEXT] = { "SET", NULL, COLUMN_TEXT },		\
	[ANSWER_WEIGHT_SET] = { NULL, "set", COLUMN_FLAG }

/**
 * struct answer_kind - what is asked of a group
 * @name: of the list in JSON
 * @columns: those of ANSWER_LEADS, and others
 * @n: how many
 * @fill: fills the others; the group is NULL if it did no I/O yet and nothing
 *	was set for it
 */
struct answer_kind {
	const char *name;
	const struct column *columns;
	size_t n;
	void (*fill)(struct table *table, struct row *row,
		     const struct ioband_group *group);
};

extern const struct answer_kind answer_weight;
extern const struct answer_kind answer_bounds[BOUNDS];
extern const struct answer_kind answer_settings;

void answer_fill_weight(struct table *table, struct row *row,
			const struct ioband_group *group);
int answer_run(const struct answer_kind *kind, const struct args *args);
int answer_set(const struct answer_kind *kind,
	       const struct ioband_devices *devices, const struct args *args,
	       group_visitor set, void *data);

#endif
