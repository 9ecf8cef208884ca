// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get: all that is set for a group, or the settings of pools. */
#include "verbs/answer.h"
#include "verbs/set.h"
#include "verbs/verbs.h"

enum { BOUND_TEXTS = ANSWER_WEIGHT_COLUMNS,
	BOUND_NUMBERS = BOUND_TEXTS + BOUNDS,
	COLUMNS = BOUND_NUMBERS + PRINT_BOUNDS };

static const struct column columns[COLUMNS] = {
	ANSWER_LEADS,
	ANSWER_WEIGHT,
	PRINT_BOUND_TEXTS(BOUND_TEXTS),
	PRINT_MAX(BOUND_NUMBERS + MAXIMUM * RATES),
	PRINT_MIN(BOUND_NUMBERS + MINIMUM * RATES),
	PRINT_LATENCY(BOUND_NUMBERS + LATENCY * RATES),
};

static void fill(struct table *table, struct row *row,
		 const struct ioband_group *group)
{
	const struct bounds *bounds = group ? &group->bounds : &bounds_none;

	answer_fill_weight(table, row, group);
	print_bound_texts(table, row, BOUND_TEXTS, bounds);
	print_bounds(table, row, BOUND_NUMBERS, bounds);
}

const struct answer_kind answer_settings = {
	"settings", columns, COLUMNS, fill
};

enum { POOL, DEVICE, MODE, MEASURE, DEPTH, SLICE, WRITES_STARVED,
	POOL_COLUMNS };

static const struct column pool_columns[POOL_COLUMNS] = {
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT },
	[MODE] = { "MODE", "mode", COLUMN_TEXT },
	[MEASURE] = { "MEASURE", "measure", COLUMN_TEXT },
	[DEPTH] = { "DEPTH", "depth", COLUMN_TEXT },
	[SLICE] = { "SLICE", "slice_ms", COLUMN_NUMBER },
	[WRITES_STARVED] = { "STARVED", "writes_starved", COLUMN_NUMBER },
};

static void print_pool(struct table *table, const struct scope *scope,
		       const struct ioband_device *speaker)
{
	const struct ioband_table *line = &speaker->table;
	struct row *row = print_row(table);

	print_text(table, row, POOL, line->pool);
	if (scope->device) {
		print_text(table, row, DEVICE, speaker->dm->name);
		print_text(table, row, MODE, line->mode);
	}
	print_text(table, row, MEASURE, line->measure);
	print_text(table, row, DEPTH, line->depth);
	print_number(table, row, SLICE, line->slice_ms);
	print_number(table, row, WRITES_STARVED, line->writes_starved);
}

static int print_pools(const struct ioband_devices *devices,
		       const struct args *args)
{
	bool json = args->value[OPTION_JSON];
	struct targets targets;
	struct table *table;
	struct scope scope;
	int code = ioband_scope(devices, args, &scope);

	if (code != EXIT_OK)
		return code;
	table = print_table("pools", pool_columns, POOL_COLUMNS, json);
	ioband_pools(devices, &scope, &targets);
	for (size_t i = 0; i < targets.n; i++)
		print_pool(table, &scope, targets.v[i]);
	targets_free(&targets);
	if (!json && !scope.device) {
		print_hide(table, DEVICE);
		print_hide(table, MODE);
	}
	return print_end(table);
}

/**
 * get_pools() - print the settings of pools
 * @args: the command line, with the options --device and --pool
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int get_pools(const struct args *args)
{
	struct ioband_devices devices;
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	code = print_pools(&devices, args);
	ioband_free(&devices);
	return code;
}

static int run(const struct args *args)
{
	return args->n ? answer_run(&answer_settings, args) : get_pools(args);
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

const struct verb verb_get = {
	.name = "get",
	.args = "[GROUP]",
	.summary = "Show all that is set for a group, or without GROUP for pools",
	.max = 1,
	.options = options,
	.run = run,
};
