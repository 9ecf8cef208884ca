// SPDX-License-Identifier: GPL-2.0-only
/* What a plan changes, as a table. */
#include "config/plan.h"
#include "print/print.h"

enum { ACTION, POOL, DEVICE, GROUP, SETTING, FROM, TO, PLACE, COLUMNS };

static const struct column columns[COLUMNS] = {
	[ACTION] = { "ACTION", "action", COLUMN_TEXT },
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT },
	[GROUP] = { "GROUP", "group", COLUMN_TEXT },
	[SETTING] = { "SETTING", "setting", COLUMN_TEXT },
	[FROM] = { "FROM", "from", COLUMN_TEXT },
	[TO] = { "TO", "to", COLUMN_TEXT },
	[PLACE] = { "BECAUSE", "because", COLUMN_TEXT },
};

static const char *const actions[] = {
	[CHANGE_CREATE] = "create",
	[CHANGE_INSERT] = "insert",
	[CHANGE_MOVE] = "set",
	[CHANGE_SET] = "set",
	[CHANGE_WEIGHT] = "weight",
	[CHANGE_PRESET] = "preset",
};

static void print_change(struct table *table, const struct plan *plan, const struct change *change)
{
	struct row *row = print_row(table);
	char where[256];

	conf_where(plan->conf, &change->place, where, sizeof(where));
	print_text(row, ACTION, change->kind == CHANGE_BOUND ?
		   bound_kinds[change->bound].noun : actions[change->kind]);
	print_text(row, POOL, change->pool);
	print_text(row, DEVICE, change->kind <= CHANGE_INSERT ? change->device : change->tree);
	print_text(row, GROUP, change->group);
	print_text(row, SETTING, change->setting);
	print_text(row, FROM, change->from);
	print_text(row, TO, change->to);
	print_text(row, PLACE, where);
}

int plan_print(const struct plan *plan, bool json)
{
	struct table *table = print_table("changes", columns, COLUMNS, json);

	for (size_t i = 0; i < plan->n; i++)
		print_change(table, plan, &plan->v[i]);
	return print_end(table);
}
