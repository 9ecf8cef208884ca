// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get-weight: the weight of a group, wherever it is. */
#include "answer.h"
#include "verbs.h"

enum { WEIGHT = ANSWER_COLUMNS, SET_TEXT, SET, COLUMNS };

static const struct column columns[COLUMNS] = {
	ANSWER_LEADS,
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[SET_TEXT] = { "SET", NULL, COLUMN_TEXT },
	[SET] = { NULL, "set", COLUMN_FLAG },
};

static void fill(struct table *table, struct row *row,
		 const struct ioband_group *group)
{
	bool set = group && group->set;

	print_number(table, row, WEIGHT,
		     group ? group->weight : IOBAND_WEIGHT_DEFAULT);
	print_text(table, row, SET_TEXT, set ? "set" : "default");
	print_flag(table, row, SET, set);
}

const struct answer_kind answer_weight = {
	"weights", columns, COLUMNS, fill
};

static int run(const struct args *args)
{
	return answer_run(&answer_weight, args);
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
};
