// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get-max: what a group may have at most, wherever it is. */
#include <stdlib.h>

#include "answer.h"
#include "verbs.h"

enum { TEXTS = ANSWER_COLUMNS, NUMBERS = TEXTS + RATES,
	COLUMNS = NUMBERS + RATES };

static const struct column columns[COLUMNS] = {
	ANSWER_LEADS,
	[TEXTS + RBPS] = { "RBPS", NULL, COLUMN_TEXT },
	[TEXTS + WBPS] = { "WBPS", NULL, COLUMN_TEXT },
	[TEXTS + RIOPS] = { "RIOPS", NULL, COLUMN_TEXT },
	[TEXTS + WIOPS] = { "WIOPS", NULL, COLUMN_TEXT },
	PRINT_RATES(NUMBERS),
};

static void fill(struct table *table, struct row *row,
		 const struct ioband_group *group)
{
	const struct maximum none = { .rate = { 0 } };
	const struct maximum *maximum = group ? &group->max : &none;

	for (int rate = 0; rate < RATES; rate++) {
		char *text = maximum_rate(maximum, rate);

		print_text(table, row, TEXTS + rate, text);
		free(text);
	}
	print_rates(table, row, NUMBERS, maximum);
}

static int run(const struct args *args)
{
	static const struct answer_kind kind = {
		"maxima", columns, COLUMNS, fill
	};

	return answer_run(&kind, args);
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

const struct verb verb_get_max = {
	.name = "get-max",
	.args = "GROUP",
	.summary = "Show what a group may have at most, in each pool that sorts its I/O",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
};
