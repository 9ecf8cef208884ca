// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl status: the present state of the pools of ioband devices. */
#include "print/print.h"
#include "verbs/verbs.h"

enum { NAME, POOL, MODE, MEASURE, STATE, DEVICES, GROUPS, ACTIVE, DEPTH,
	PIECE, SLICE, WRITES_STARVED, BRAKE, INFLIGHT_IOS, INFLIGHT_BYTES,
	HELD_IOS, HELD_BYTES, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { "NAME", "name", COLUMN_TEXT },
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[MODE] = { "MODE", "mode", COLUMN_TEXT },
	[MEASURE] = { "MEASURE", "measure", COLUMN_TEXT },
	[STATE] = { "STATE", "state", COLUMN_TEXT },
	[DEVICES] = { "DEVICES", "devices", COLUMN_NUMBER },
	[GROUPS] = { "GROUPS", "groups", COLUMN_NUMBER },
	[ACTIVE] = { "ACTIVE", "active", COLUMN_NUMBER },
	[DEPTH] = { "DEPTH", "depth", COLUMN_NUMBER },
	[PIECE] = { "PIECE", "piece_bytes", COLUMN_BYTES },
	[SLICE] = { "SLICE", "slice_ms", COLUMN_NUMBER },
	[WRITES_STARVED] = { NULL, "writes_starved", COLUMN_NUMBER },
	[BRAKE] = { "BRAKE/S", "brake_bytes_per_s", COLUMN_BYTES },
	[INFLIGHT_IOS] = { "INFLIGHT", "inflight_ios", COLUMN_NUMBER },
	[INFLIGHT_BYTES] = { "(BYTES)", "inflight_bytes", COLUMN_BYTES },
	[HELD_IOS] = { "HELD", "held_ios", COLUMN_NUMBER },
	[HELD_BYTES] = { "(BYTES)", "held_bytes", COLUMN_BYTES },
};

static void print_pair(struct row *row, size_t column, const uint64_t amount[AMOUNTS])
{
	print_number(row, column, amount[IOS]);
	print_number(row, column + 1, amount[BYTES]);
}

static void print_device(struct table *table, const struct ioband_device *device)
{
	const struct ioband_status *status = &device->status;
	struct row *row = print_row(table);

	print_text(row, NAME, device->dm->name);
	print_text(row, POOL, status->pool);
	print_text(row, MODE, status->mode);
	print_text(row, MEASURE, status->measure);
	print_text(row, STATE, device->dm->suspended ? "suspended" : status->state);
	print_number(row, DEVICES, status->devices);
	print_number(row, GROUPS, status->groups);
	print_number(row, ACTIVE, status->active);
	print_number(row, DEPTH, status->depth);
	print_number(row, PIECE, status->piece_bytes);
	print_number(row, SLICE, status->slice_ms);
	print_number(row, WRITES_STARVED, status->writes_starved);
	print_number(row, BRAKE, status->brake_bytes_per_s);
	print_pair(row, INFLIGHT_IOS, status->inflight);
	print_pair(row, HELD_IOS, status->held);
}

static int choose(const struct ioband_devices *devices,
		  const struct args *args, struct targets *chosen)
{
	const struct ioband_device *device;
	int code = EXIT_OK;

	for (int i = 0; i < args->n && code == EXIT_OK; i++) {
		code = ioband_find(devices, args->operand[i], &device);
		if (code == EXIT_OK)
			targets_add(chosen, device);
	}
	for (size_t i = 0; i < devices->n && !args->n; i++) {
		if (devices->v[i].dm->table)
			targets_add(chosen, &devices->v[i]);
	}
	return code;
}

static int run(const struct args *args)
{
	struct targets chosen __cleanup(targets_free) = { .n = 0 };
	struct ioband_devices devices __cleanup(ioband_free);
	struct table *table;
	int code = ioband_load(&devices) ?: choose(&devices, args, &chosen);

	if (code == EXIT_OK) {
		table = print_table("status", columns, COLUMNS, args->value[OPTION_JSON]);
		for (size_t i = 0; i < chosen.n; i++)
			print_device(table, chosen.v[i]);
		code = print_end(table);
	}
	return code;
}

static const struct option_spec options[] = { SPEC_JSON, { .name = NULL } };

const struct verb verb_status = {
	.name = "status",
	.args = "[DEVICE...]",
	.summary = "Show what the pools of all or some ioband devices are doing",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
