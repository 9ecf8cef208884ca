// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl groups: the trees of groups, with their weights and bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/weights.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "print/print.h"
#include "verbs/verbs.h"

enum { NAME, TYPE, GROUP, ID, PATH, WEIGHT, SET, BOUND_TEXTS,
	BOUND_NUMBERS = BOUND_TEXTS + BOUNDS,
	COLUMNS = BOUND_NUMBERS + PRINT_BOUNDS };

static const struct column columns[COLUMNS] = {
	[NAME] = { "NAME", "name", COLUMN_TREE },
	[TYPE] = { "TYPE", "type", COLUMN_TEXT, true },
	[GROUP] = { "GROUP", "group", COLUMN_PATH, true },
	[ID] = { "ID", "id", COLUMN_TEXT, true },
	[PATH] = { "PATH", "path", COLUMN_PATH, true },
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[SET] = { "SET", "set", COLUMN_SET },
	PRINT_BOUND_TEXTS(BOUND_TEXTS),
	PRINT_MAX(BOUND_NUMBERS + MAXIMUM * RATES),
	PRINT_MIN(BOUND_NUMBERS + MINIMUM * RATES),
	PRINT_LATENCY(BOUND_NUMBERS + LATENCY * RATES),
};

static void print_type(struct row *row, const char *name)
{
	char type[IOBAND_GROUP_SIZE];

	strcpy(type, name);
	type[strcspn(type, ":#")] = 0;
	print_text(row, TYPE, type);
}

static void print_name(struct row *row, const struct ioband_devices *devices,
		       const struct groups *groups, const struct ioband_group *group)
{
	const struct ioband_device *owner = tree_owner(devices, groups, group);
	const char *last = group->path ? strrchr(group->path, '/') : NULL;

	if (last && last[1])
		print_text(row, NAME, last + 1);
	else if (owner && tree_is_device(group))
		print_text(row, NAME, owner->dm->name);
	else
		print_text(row, NAME, group->name);
}

static struct row *print_group(struct table *table, const struct ioband_devices *devices,
			       const struct groups *groups, const struct ioband_group *group)
{
	char *name __free = tree_name(devices, groups, group);
	struct row *row = print_row(table);

	print_name(row, devices, groups, group);
	print_type(row, group->name);
	print_text(row, GROUP, name);
	print_text(row, ID, group->name);
	print_text(row, PATH, group->path);
	print_weight(row, WEIGHT, group->weight);
	print_flag(row, SET, group->set);
	print_bound_texts(row, BOUND_TEXTS, &group->bounds);
	print_bounds(row, BOUND_NUMBERS, &group->bounds);
	return row;
}

/*
 * Put each row below that of its parent.  A group without a listed parent, or in a
 * cycle of an invalid list, is put below the pool.
 */
static void link_rows(const struct groups *groups, struct row **rows, struct row *pool)
{
	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];
		const struct ioband_group *parent =
			tree_is_sound(groups, group) ?
			tree_parent(groups, group) : NULL;
		struct row *above = parent ? rows[parent - groups->v] : NULL;

		if (rows[i])
			print_below(rows[i], above ? above : pool);
	}
}

static int print_pool(struct table *table, const struct ioband_devices *devices,
		      const struct scope *scope,
		      const struct ioband_device *speaker, bool has[BOUNDS])
{
	struct groups groups __cleanup(groups_free) = { .n = 0 };
	struct row **rows, *pool;
	int code = query_groups(speaker, &groups);

	if (code == EXIT_OK) {
		pool = print_row(table);
		print_text(pool, NAME, speaker->table.pool);
		print_text(pool, TYPE, "pool");
		rows = xcalloc(groups.n, sizeof(*rows));
		for (size_t i = 0; i < groups.n; i++) {
			if (!tree_has(devices, &groups, &groups.v[i], scope->device))
				continue;
			rows[i] = print_group(table, devices, &groups, &groups.v[i]);
			for (int bound = 0; bound < BOUNDS; bound++)
				has[bound] |= bound_is_set(&groups.v[i].bounds, bound);
		}
		link_rows(&groups, rows, pool);
		free(rows);
	}
	return code;
}

static int print_pools(const struct ioband_devices *devices,
		       const struct scope *scope, const struct args *args)
{
	struct table *table = print_asked("groups", columns, COLUMNS, args);
	const char *names = args->value[OPTION_OUTPUT];
	bool has[BOUNDS] = { false };
	struct targets speakers __cleanup(targets_free);
	int code = EXIT_OK;

	ioband_pools(devices, scope, &speakers);
	for (size_t i = 0; i < speakers.n && code == EXIT_OK; i++)
		code = print_pool(table, devices, scope, speakers.v[i], has);
	for (int bound = 0; bound < BOUNDS; bound++) {
		if (!has[bound] && !columns_has(names, &columns[BOUND_TEXTS + bound]))
			print_hide(table, BOUND_TEXTS + bound);
	}
	return first_failure(code, print_end(table));
}

static int check_weights(const struct args *args)
{
	const char *given = args->value[OPTION_OUTPUT] ? "output" :
			    args->value[OPTION_NO_HEADINGS] ? "noheadings" :
			    args->value[OPTION_BYTES] ? "bytes" : NULL;

	if (!args->value[OPTION_WEIGHTS] || !given)
		return EXIT_OK;
	return fail(EXIT_USAGE,
		    "--weights prints a file of weights, which has no columns; give no --%s with it",
		    given);
}

static int run(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct scope scope;
	int code = check_weights(args) ?:
		   ioband_load(&devices) ?:
		   ioband_scope(&devices, args, &scope);

	if (code == EXIT_OK && args->value[OPTION_WEIGHTS])
		code = weights_save(&devices, &scope, args->value[OPTION_JSON]);
	else if (code == EXIT_OK)
		code = print_pools(&devices, &scope, args);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_WEIGHTS, "weights", NULL,
	  "list the weights and bounds that were set, for set --from" },
	SPEC_COLUMNS, SPEC_NO_HEADINGS, SPEC_BYTES,
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_groups = {
	.name = "groups",
	.args = "",
	.summary = "Show the groups of all or some pools as a tree, with weights and bounds",
	.options = options,
	.run = run,
	.columns = columns,
	.n_columns = COLUMNS,
};
