// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl get-weight: the weight of a group, wherever it is. */
#include <string.h>

#include "group.h"
#include "print.h"
#include "query.h"
#include "tree.h"
#include "verbs.h"

enum { POOL, DEVICE, GROUP, WEIGHT, SET_TEXT, SET, COLUMNS };

static const struct column columns[COLUMNS] = {
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT },
	[GROUP] = { "GROUP", "group", COLUMN_TEXT },
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[SET_TEXT] = { "SET", NULL, COLUMN_TEXT },
	[SET] = { NULL, "set", COLUMN_FLAG },
};

static const struct ioband_group *look_up(const struct ioband_devices *devices,
					  const struct groups *groups,
					  const struct group_ref *ref,
					  const struct ioband_device *device)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (!strcmp(groups->v[i].name, ref->name) &&
		    (!ref->mode || tree_has(devices, groups, &groups->v[i],
					    device)))
			return &groups->v[i];
	}
	return NULL;
}

/* A group that is not listed did no I/O yet and has the default weight. */
static int print_weight(struct table *table,
			const struct ioband_devices *devices,
			const struct ioband_device *device,
			const struct group_ref *ref, const char *spelled)
{
	const struct ioband_group *group;
	struct groups groups;
	struct row *row;
	int code = query_groups(device, &groups);

	if (code == EXIT_OK) {
		group = look_up(devices, &groups, ref, device);
		row = print_row(table);
		print_text(table, row, POOL, device->table.pool);
		if (ref->mode && ioband_has_group(device))
			print_text(table, row, DEVICE, device->dm->name);
		print_text(table, row, GROUP,
			   group && group->path ? group->path : spelled);
		print_number(table, row, WEIGHT,
			     group ? group->weight : IOBAND_WEIGHT_DEFAULT);
		print_text(table, row, SET_TEXT,
			   group && group->set ? "set" : "default");
		print_flag(table, row, SET, group && group->set);
	}
	groups_free(&groups);
	return code;
}

static int get_weight(const struct ioband_devices *devices,
		      const struct args *args)
{
	struct finder finder = { .devices = devices };
	struct targets targets;
	struct group_ref group;
	struct table *table;
	struct scope scope;
	int code = ioband_scope(devices, args, &scope), printed;

	if (code == EXIT_OK)
		code = group_find(&finder, args->operand[0], &scope, &group);
	if (code == EXIT_OK)
		code = group_targets(&finder, &group, &scope, &targets);
	if (code != EXIT_OK)
		return code;
	table = print_table("weights", columns, COLUMNS,
			    args->value[OPTION_JSON]);
	for (size_t i = 0; i < targets.n && code == EXIT_OK; i++)
		code = print_weight(table, devices, targets.v[i], &group,
				    args->operand[0]);
	targets_free(&targets);
	printed = print_end(table);
	return code == EXIT_OK ? printed : code;
}

static int run(const struct args *args)
{
	struct ioband_devices devices;
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	code = get_weight(&devices, args);
	ioband_free(&devices);
	return code;
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
