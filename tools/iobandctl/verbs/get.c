// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl get: all settings of a group in each pool and tree, or the settings of pools.
 * get-weight, get-max, get-min and get-latency are short forms for one setting of a group.
 */

#include "base/alloc.h"
#include "config/conf.h"
#include "ioband/group.h"
#include "ioband/query.h"
#include "print/print.h"
#include "verbs/verbs.h"

enum { POOL, DEVICE, GROUP, ID, WEIGHT, SET, BOUND_TEXTS,
	RATE_TEXTS = BOUND_TEXTS + BOUNDS, NUMBERS = RATE_TEXTS + RATES,
	COLUMNS = NUMBERS + PRINT_BOUNDS };

static const struct column columns[COLUMNS] = {
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT },
	[GROUP] = { "GROUP", "group", COLUMN_PATH },
	[ID] = { "ID", "id", COLUMN_TEXT, true },
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[SET] = { "SET", "set", COLUMN_SET },
	PRINT_BOUND_TEXTS(BOUND_TEXTS),
	[RATE_TEXTS + RBPS] = { "RBPS", NULL, COLUMN_TEXT },
	[RATE_TEXTS + WBPS] = { "WBPS", NULL, COLUMN_TEXT },
	[RATE_TEXTS + RIOPS] = { "RIOPS", NULL, COLUMN_TEXT },
	[RATE_TEXTS + WIOPS] = { "WIOPS", NULL, COLUMN_TEXT },
	PRINT_MAX(NUMBERS + MAXIMUM * RATES),
	PRINT_MIN(NUMBERS + MINIMUM * RATES),
	PRINT_LATENCY(NUMBERS + LATENCY * RATES),
};

/* A setting, or all settings, of a group. */
struct kind {
	const char *name;
	unsigned int columns;	/* a bit for each */
};

#define BITS(first, n) (((1U << (n)) - 1) << (first))
#define RATE_BITS(bound)						\
	(BITS(POOL, WEIGHT) | BITS(RATE_TEXTS, RATES) |			\
	 BITS(NUMBERS + (bound) * RATES, RATES))

/* By setting, and all of them. */
static const struct kind kinds[GROUP_SETTINGS + 1] = {
	[GROUP_WEIGHT] = { "weights", BITS(POOL, BOUND_TEXTS) },
	[GROUP_BOUNDS + MAXIMUM] = { "maxima", RATE_BITS(MAXIMUM) },
	[GROUP_BOUNDS + MINIMUM] = { "minima", RATE_BITS(MINIMUM) },
	[GROUP_BOUNDS + LATENCY] = { "latencies", BITS(POOL, WEIGHT) |
		BITS(BOUND_TEXTS + LATENCY, 1) |
		BITS(NUMBERS + LATENCY * RATES, 1) },
	[GROUP_SETTINGS] = { "settings", ~BITS(RATE_TEXTS, RATES) },
};

/* A table of settings. */
struct answer {
	const struct args *args;
	const struct ioband_devices *devices;
	int setting;	/* the setting; GROUP_SETTINGS for all */
	struct column columns[COLUMNS];
	struct table *table;	/* the table, created with the first row */
	bool has_write_latency;	/* some group has one; otherwise text has no column for it */
};

static void begin(struct answer *answer)
{
	const struct kind *kind = &kinds[answer->setting];

	for (int i = 0; i < COLUMNS; i++) {
		if (kind->columns & 1U << i)
			answer->columns[i] = columns[i];
	}
	answer->table = print_table(kind->name, answer->columns, COLUMNS,
				    answer->args->value[OPTION_JSON]);
}

static void print_rate_texts(struct row *row, int setting, const struct bounds *bounds)
{
	int bound = setting - GROUP_BOUNDS;

	for (int rate = 0; rate < RATES; rate++) {
		char *text __free = rate_text(&bounds->of[bound], bound, rate);

		print_text(row, RATE_TEXTS + rate, text);
	}
}

/* Groups without I/O so far and without settings are not listed. */
static void add_row(struct answer *answer, const struct ioband_device *device,
		    const struct group_ref *ref, const struct groups *groups)
{
	char *name __free = group_name(ref);
	const struct ioband_group *group = group_listed(answer->devices, groups, ref, device);
	const struct bounds *bounds = group ? &group->bounds : &bounds_none;
	struct table *table;
	struct row *row;

	if (!answer->table)
		begin(answer);
	table = answer->table;
	row = print_row(table);
	print_text(row, POOL, device->table.pool);
	if (ref->mode && ioband_has_group(device))
		print_text(row, DEVICE, device->dm->name);
	print_text(row, GROUP, group && group->path ? group->path : name);
	print_text(row, ID, ref->name);
	print_weight(row, WEIGHT, group ? group->weight : IOBAND_WEIGHT_DEFAULT);
	print_flag(row, SET, group && group->set);
	if (answer->setting == GROUP_BOUNDS + LATENCY && !bound_is_set(bounds, LATENCY))
		print_text(row, BOUND_TEXTS + LATENCY, bound_kinds[LATENCY].none);
	else
		print_bound_texts(row, BOUND_TEXTS, bounds);
	if (answer->setting == GROUP_BOUNDS + MAXIMUM || answer->setting == GROUP_BOUNDS + MINIMUM)
		print_rate_texts(row, answer->setting, bounds);
	print_bounds(row, NUMBERS, bounds);
	answer->has_write_latency |= bound_is_set(bounds, WRITE_LATENCY);
}

static int print_answer(const struct ioband_device *device, const struct group_ref *ref, void *data)
{
	struct groups groups __cleanup(groups_free);
	int code = query_groups(device, &groups);

	if (code == EXIT_OK)
		add_row(data, device, ref, &groups);
	return code;
}

/*
 * Print settings of the group on a command line.
 * @setting: the setting: GROUP_WEIGHT, or a bound after GROUP_BOUNDS; GROUP_SETTINGS for
 *	all
 */
int get_group(const struct args *args, int setting)
{
	struct ioband_devices devices __cleanup(ioband_free);
	struct answer answer = { .args = args, .devices = &devices, .setting = setting };
	int code = ioband_load(&devices) ?: group_visit(&devices, args, print_answer, &answer);

	if (answer.table) {
		if (!args->value[OPTION_JSON] && !answer.has_write_latency)
			print_hide(answer.table, BOUND_TEXTS + WRITE_LATENCY);
		code = first_failure(code, print_end(answer.table));
	}
	return code;
}

enum { MODE = DEVICE + 1, MEASURE, DEPTH, SLICE, WRITES_STARVED, POOL_COLUMNS };

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

	print_text(row, POOL, line->pool);
	if (scope->device) {
		print_text(row, DEVICE, speaker->dm->name);
		print_text(row, MODE, line->mode);
	}
	print_text(row, MEASURE, line->measure);
	print_text(row, DEPTH, line->depth);
	print_number(row, SLICE, line->slice_ms);
	print_number(row, WRITES_STARVED, line->writes_starved);
}

static int print_pools(const struct ioband_devices *devices, const struct args *args)
{
	bool json = args->value[OPTION_JSON];
	struct targets targets __cleanup(targets_free) = { .n = 0 };
	struct table *table;
	struct scope scope;
	int code = ioband_scope(devices, args, &scope);

	if (code != EXIT_OK)
		return code;
	table = print_table("pools", pool_columns, POOL_COLUMNS, json);
	ioband_pools(devices, &scope, &targets);
	for (size_t i = 0; i < targets.n; i++)
		print_pool(table, &scope, targets.v[i]);
	if (!json && !scope.device) {
		print_hide(table, DEVICE);
		print_hide(table, MODE);
	}
	return print_end(table);
}

/*
 * Print the settings of pools.
 * @args: the command line, with the options --device and --pool
 */
int get_pools(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free);

	return ioband_load(&devices) ?: print_pools(&devices, args);
}

static int run(const struct args *args)
{
	const struct kind *kind = args->verb->about;

	return args->n ? get_group(args, kind - kinds) : get_pools(args);
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
	.about = &kinds[GROUP_SETTINGS],
};

#define SHORT_GET(form, shows, setting)					\
	const struct verb verb_get_##form = {				\
		.name = "get-" #form,					\
		.args = "GROUP",					\
		.summary = "Show " shows ", in each pool that sorts its I/O", \
		.min = 1,						\
		.max = 1,						\
		.options = options,					\
		.run = run,						\
		.about = &kinds[setting],				\
	}

SHORT_GET(weight, "the weight of a group", GROUP_WEIGHT);
SHORT_GET(max, "what a group may have at most", GROUP_BOUNDS + MAXIMUM);
SHORT_GET(min, "what a group has at least", GROUP_BOUNDS + MINIMUM);
SHORT_GET(latency, "how long a group's reads may take", GROUP_BOUNDS + LATENCY);
