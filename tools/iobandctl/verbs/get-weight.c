// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get-weight: the weight of a group, wherever it is. */
#include "verbs/answer.h"
#include "verbs/verbs.h"

static const struct column columns[ANSWER_WEIGHT_COLUMNS] = {
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
	"weights", columns, ANSWER_WEIGHT_COLUMNS, answer_fill_weight
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
