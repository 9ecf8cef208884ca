// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl list: the ioband devices and their settings. */
#include "host/device.h"
#include "ioband/under.h"
#include "print/print.h"
#include "verbs/verbs.h"

enum { NAME, NUMBER, BELOW, BELOW_NUMBER, OFFSET, SIZE, POOL, MODE, MEASURE,
	WEIGHT, DEPTH, SLICE, WRITES_STARVED, STATE, READ_ONLY, INSERTED, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { "NAME", "name", COLUMN_PATH },
	[NUMBER] = { "NUMBER", "number", COLUMN_TEXT, true },
	[BELOW] = { "DEVICE", "device", COLUMN_TEXT },
	[BELOW_NUMBER] = { "DEVICE-NUMBER", "device_number", COLUMN_TEXT, true },
	[OFFSET] = { "OFFSET", "offset", COLUMN_BYTES, true },
	[SIZE] = { "SIZE", "size", COLUMN_BYTES },
	[POOL] = { "POOL", "pool", COLUMN_PATH },
	[MODE] = { "MODE", "mode", COLUMN_TEXT },
	[MEASURE] = { "MEASURE", "measure", COLUMN_TEXT },
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[DEPTH] = { "DEPTH", "depth", COLUMN_TEXT, true },
	[SLICE] = { "SLICE", "slice_ms", COLUMN_NUMBER, true },
	[WRITES_STARVED] = { "STARVED", "writes_starved", COLUMN_NUMBER, true },
	[STATE] = { "STATE", "state", COLUMN_TEXT },
	[READ_ONLY] = { "RO", "read_only", COLUMN_FLAG },
	[INSERTED] = { "INSERTED", "inserted", COLUMN_FLAG, true },
};

static void print_number_pair(struct row *row, size_t column, uint64_t major, uint64_t minor)
{
	char text[48];

	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)major,
		 (unsigned long long)minor);
	print_text(row, column, text);
}

static void print_table_line(struct row *row, const struct ioband_device *device)
{
	const struct ioband_table *line = &device->table;
	char label[DEVICE_NAME_SIZE];

	device_label(line->device[0], line->device[1], label);
	print_text(row, BELOW, label);
	print_number_pair(row, BELOW_NUMBER, line->device[0], line->device[1]);
	print_number(row, OFFSET, line->offset * 512);
	print_number(row, SIZE, device->dm->sectors * 512);
	print_text(row, POOL, line->pool);
	print_text(row, MODE, line->mode);
	print_text(row, MEASURE, line->measure);
	if (ioband_has_group(device))
		print_weight(row, WEIGHT, line->weight);
	print_text(row, DEPTH, line->depth);
	print_number(row, SLICE, line->slice_ms);
	print_number(row, WRITES_STARVED, line->writes_starved);
}

/* Begin a list of devices as JSON.  Return: the table, for print_end(). */
struct table *list_table(void)
{
	return print_table("devices", columns, COLUMNS, true);
}

/* Add the settings of a device to a list. */
struct row *list_device(struct table *table, const struct ioband_device *device)
{
	struct row *row = print_row(table);

	print_text(row, NAME, device->dm->name);
	print_number_pair(row, NUMBER, device->dm->major, device->dm->minor);
	if (device->dm->table)
		print_table_line(row, device);
	print_text(row, STATE, !device->dm->table ? "no table" :
		   device->dm->suspended ? "suspended" : "active");
	print_flag(row, READ_ONLY, device->dm->read_only);
	print_flag(row, INSERTED, under_is_inserted(device));
	return row;
}

static int print_devices(struct table *table, const struct ioband_device *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		list_device(table, &devices[i]);
	return print_end(table);
}

/* Print the settings of devices as JSON. */
int list_print(const struct ioband_device *devices, size_t n)
{
	return print_devices(list_table(), devices, n);
}

static int run(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free);

	return ioband_load(&devices) ?:
	       print_devices(print_asked("devices", columns, COLUMNS, args), devices.v,
			     devices.n);
}

static const struct option_spec options[] = {
	SPEC_COLUMNS, SPEC_NO_HEADINGS, SPEC_BYTES, SPEC_JSON, { .name = NULL }
};

const struct verb verb_list = {
	.name = "list",
	.args = "",
	.summary = "List the ioband devices and how they are configured",
	.options = options,
	.run = run,
	.columns = columns,
	.n_columns = COLUMNS,
};
