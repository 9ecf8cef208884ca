// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl table: the table line that wrap would use for a device, e.g. for dmsetup. */

#include "base/alloc.h"
#include "ioband/make.h"
#include "ioband/name.h"
#include "print/print.h"
#include "verbs/verbs.h"

enum { NAME, UUID, BELOW, READ_ONLY, TABLE, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { NULL, "name", COLUMN_TEXT },
	[UUID] = { NULL, "uuid", COLUMN_TEXT },
	[BELOW] = { NULL, "device", COLUMN_TEXT },
	[READ_ONLY] = { NULL, "read_only", COLUMN_FLAG },
	[TABLE] = { NULL, "table", COLUMN_TEXT },
};

static int print_json(const struct device *device, const char *line, bool read_only)
{
	char *uuid __free = NULL;
	struct table *table = print_table("tables", columns, COLUMNS, true);
	struct row *row = print_row(table);
	char name[NAME_SIZE], label[DEVICE_NAME_SIZE];

	name_wrapped(device, name);
	uuid = xasprintf(MAPPER_UUID_PREFIX "%s", name);
	device_label(device->major, device->minor, label);
	print_text(row, NAME, name);
	print_text(row, UUID, uuid);
	print_text(row, BELOW, label);
	print_flag(row, READ_ONLY, read_only);
	print_text(row, TABLE, line);
	return print_end(table);
}

static int print(const struct args *args, const struct device *device, const char *words)
{
	char *line __free = NULL;
	uint64_t sectors;
	bool read_only;
	int code = device_size(device, &sectors, &read_only);

	if (code != EXIT_OK)
		return code;
	line = xasprintf("0 %llu ioband %s", (unsigned long long)sectors, words);
	if (args->value[OPTION_JSON]) {
		code = print_json(device, line, read_only);
	} else {
		print_line("%s", line);
		code = print_flush();
	}
	return code;
}

static int run(const struct args *args)
{
	char *words __free = NULL;
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct settings settings;
	struct device device;

	return made_settings(args, &settings) ?:
	       ioband_load(&devices) ?:
	       device_resolve(args->operand[0], &device) ?:
	       make_line(&devices, &settings, &device, &words) ?:
	       print(args, &device, words);
}

const struct verb verb_table = {
	.name = "table",
	.args = "DEVICE",
	.summary = "Print the table that wrap would make, and make nothing",
	.min = 1,
	.max = 1,
	.options = made_options,
	.run = run,
};
