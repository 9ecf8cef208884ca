// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get-weight, get-max, get-min, get-latency: a setting of a group, wherever it is. */
#include <stdlib.h>

#include "verbs/answer.h"
#include "verbs/verbs.h"

enum { TEXTS = ANSWER_COLUMNS, NUMBERS = TEXTS + RATES,
	COLUMNS = NUMBERS + RATES };

#define BOUND_COLUMNS(rates)						\
	{								\
		ANSWER_LEADS,						\
		[TEXTS + RBPS] = { "RBPS", NULL, COLUMN_TEXT },		\
		[TEXTS + WBPS] = { "WBPS", NULL, COLUMN_TEXT },		\
		[TEXTS + RIOPS] = { "RIOPS", NULL, COLUMN_TEXT },	\
		[TEXTS + WIOPS] = { "WIOPS", NULL, COLUMN_TEXT },	\
		rates,							\
	}

static const struct column columns[RATE_BOUNDS][COLUMNS] = {
	[MAXIMUM] = BOUND_COLUMNS(PRINT_MAX(NUMBERS)),
	[MINIMUM] = BOUND_COLUMNS(PRINT_MIN(NUMBERS)),
};

enum { LATENCY_TEXT = ANSWER_COLUMNS, LATENCY_US, LATENCY_COLUMNS };

static const struct column latency_columns[LATENCY_COLUMNS] = {
	ANSWER_LEADS,
	[LATENCY_TEXT] = { "LATENCY", NULL, COLUMN_TEXT },
	PRINT_LATENCY(LATENCY_US),
};

static const struct bounds *bounds_of(const struct ioband_group *group)
{
	return group ? &group->bounds : &bounds_none;
}

static void fill(struct table *table, struct row *row,
		 const struct ioband_group *group, enum bound bound)
{
	const struct rates *rates = &bounds_of(group)->of[bound];

	for (int rate = 0; rate < RATES; rate++) {
		char *text = rate_text(rates, bound, rate);

		print_text(table, row, TEXTS + rate, text);
		free(text);
	}
	print_rates(table, row, NUMBERS, rates);
}

static void fill_max(struct table *table, struct row *row,
		     const struct ioband_group *group)
{
	fill(table, row, group, MAXIMUM);
}

static void fill_min(struct table *table, struct row *row,
		     const struct ioband_group *group)
{
	fill(table, row, group, MINIMUM);
}

static void fill_latency(struct table *table, struct row *row,
			 const struct ioband_group *group)
{
	uint64_t us = bounds_of(group)->latency_us;
	char *text = latency_text(us);

	print_text(table, row, LATENCY_TEXT, text);
	if (us)
		print_number(table, row, LATENCY_US, us);
	free(text);
}

const struct answer_kind answer_bounds[BOUNDS] = {
	[MAXIMUM] = { "maxima", columns[MAXIMUM], COLUMNS, fill_max },
	[MINIMUM] = { "minima", columns[MINIMUM], COLUMNS, fill_min },
	[LATENCY] = { "latencies", latency_columns, LATENCY_COLUMNS,
		      fill_latency },
};

static const struct column weight_columns[ANSWER_WEIGHT_COLUMNS] = {
	ANSWER_LEADS,
	ANSWER_WEIGHT,
};

/**
 * answer_fill_weight() - fill the columns that ANSWER_WEIGHT describes
 * @table: of this table
 * @row: of this row
 * @group: the group; NULL if nothing was set for it
 */
void answer_fill_weight(struct table *table, struct row *row,
			const struct ioband_group *group)
{
	bool set = group && group->set;

	print_number(table, row, ANSWER_WEIGHT_NUMBER,
		     group ? group->weight : IOBAND_WEIGHT_DEFAULT);
	print_text(table, row, ANSWER_WEIGHT_TEXT, set ? "set" : "default");
	print_flag(table, row, ANSWER_WEIGHT_SET, set);
}

const struct answer_kind answer_weight = {
	"weights", weight_columns, ANSWER_WEIGHT_COLUMNS, answer_fill_weight
};

static int run(const struct args *args)
{
	return answer_run(args->verb->about, args);
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

const struct verb verb_get_weight = {
	.name = "get-weight",
	.args = "GROUP",
	.summary = "Show the weight of a group, in each pool that sorts its I/O",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
	.about = &answer_weight,
};

const struct verb verb_get_max = {
	.name = "get-max",
	.args = "GROUP",
	.summary = "Show what a group may have at most, in each pool that sorts its I/O",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
	.about = &answer_bounds[MAXIMUM],
};

const struct verb verb_get_min = {
	.name = "get-min",
	.args = "GROUP",
	.summary = "Show what a group is promised, in each pool that sorts its I/O",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
	.about = &answer_bounds[MINIMUM],
};

const struct verb verb_get_latency = {
	.name = "get-latency",
	.args = "GROUP",
	.summary = "Show how long a group's reads may take, in each pool that sorts its I/O",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
	.about = &answer_bounds[LATENCY],
};
