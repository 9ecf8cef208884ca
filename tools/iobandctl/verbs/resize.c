// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl resize: give ioband devices the size of the devices below. */
#include <stdio.h>

#include "host/lock.h"
#include "host/use.h"
#include "ioband/make.h"
#include "ioband/reload.h"
#include "ioband/under.h"
#include "print/format.h"
#include "print/print.h"
#include "verbs/verbs.h"

/* A device in use must not shrink: its user may access the end. */
static int check_shrinking(const struct ioband_device *device, uint64_t sectors)
{
	const struct mapped_device *dm = device->dm;
	struct device node = { .major = dm->major, .minor = dm->minor };
	char less[FORMAT_SIZE], below[DEVICE_NAME_SIZE];
	struct problem use;

	snprintf(node.path, sizeof(node.path), "/dev/mapper/%s", dm->name);
	if (!use_of_device(&node, &use) && !use_exclusive(&node, &use) &&
	    !use_by_process(&node, false, &use))
		return EXIT_OK;
	device_label(device->table.device[0], device->table.device[1], below);
	return fail(EXIT_IN_USE,
		    "%s is in use, and would lose %s at its end, which %s below has lost already: %s; or make %s as large again",
		    dm->name, format_bytes((dm->sectors - sectors) * 512, less),
		    below, use.text, below);
}

static int find_size(const struct ioband_device *device, uint64_t *sectors)
{
	const char *name = device->dm->name;

	*sectors = ioband_sectors_below(device);
	if (under_is_inserted(device))
		return fail(EXIT_FAILED,
			    "ioband was inserted into %s, which has its size from its owner: lvextend(8) takes ioband out, and 'iobandctl insert %s' puts it in again",
			    name, name);
	if (!*sectors)
		return fail(EXIT_MISSING, "the device below %s is gone, or has no size", name);
	return *sectors < device->dm->sectors ? check_shrinking(device, *sectors) : EXIT_OK;
}

static int resize_device(const struct ioband_device *device, uint64_t sectors)
{
	struct problem problem;
	int error = 0;

	if (sectors != device->dm->sectors)
		error = reload_device(device, device->table.pool, sectors, &problem);
	return error ? fail(exit_code_of(-error), "cannot resize %s: %s",
			    device->dm->name, problem.text) : EXIT_OK;
}

static void say(const struct ioband_device *device, uint64_t sectors)
{
	char now[FORMAT_SIZE], before[FORMAT_SIZE];

	format_bytes(sectors * 512, now);
	if (sectors == device->dm->sectors)
		print_line("/dev/mapper/%s: %s, as before", device->dm->name, now);
	else
		print_line("/dev/mapper/%s: %s, was %s", device->dm->name, now,
			   format_bytes(device->dm->sectors * 512, before));
}

static int resize(const struct args *args, const char *spelled, struct names *resized)
{
	const struct ioband_device *device;
	struct ioband_devices devices __cleanup(ioband_free);
	uint64_t sectors = 0;
	int code = ioband_load(&devices) ?:
		   ioband_find(&devices, spelled, &device) ?:
		   find_size(device, &sectors) ?:
		   resize_device(device, sectors);

	if (code == EXIT_OK) {
		names_add(resized, device->dm->name);
		if (!args->value[OPTION_JSON])
			say(device, sectors);
	}
	return code;
}

static int run(const struct args *args)
{
	const struct settings none = { .pool = NULL };
	struct names resized __cleanup(names_free) = { .n = 0 };
	struct lock lock;
	int code = lock_changes(&lock);

	if (code != EXIT_OK)
		return code;
	for (int i = 0; i < args->n; i++)
		code = first_failure(code, resize(args, args->operand[i], &resized));
	unlock(&lock);
	return first_failure(code, args->value[OPTION_JSON] && resized.n ?
				   made_report(&resized, &none, true) : print_flush());
}

static const struct option_spec options[] = { SPEC_JSON, { .name = NULL } };

const struct verb verb_resize = {
	.name = "resize",
	.args = "DEVICE...",
	.summary = "Make ioband devices as large as what lies below them is now",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
