// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl wrap: create ioband devices over devices, with default names. */
#include <stdio.h>

#include "host/use.h"
#include "ioband/make.h"
#include "ioband/name.h"
#include "verbs/verbs.h"

/* A device is wrapped already, too, if it is a partition of a wrapped disk. */
static int check_wrapped(const struct ioband_devices *devices,
			 const char *spelled, const struct device *device)
{
	const struct ioband_device *other = ioband_exact(devices, spelled);
	struct device disk;

	if (other)
		return fail(EXIT_IN_USE,
			    "%s is an ioband device; 'iobandctl create' puts one over another, in another pool",
			    spelled);
	other = ioband_over(devices, spelled);
	if (other)
		return fail(EXIT_IN_USE, "%s is wrapped already, as %s", spelled, other->dm->name);
	if (!device_whole_disk(device, &disk))
		return EXIT_OK;
	other = ioband_over(devices, disk.path);
	if (other)
		return fail(EXIT_IN_USE, "%s is a partition of %s, which is wrapped already, as %s",
			    spelled, disk.path, other->dm->name);
	return EXIT_OK;
}

static int check_use(const struct device *device)
{
	struct problem use;

	if (use_by_root(device, &use))
		return fail(EXIT_IN_USE, "%s is in use: %s", device->path, use.text);
	return EXIT_OK;	/* creation checks all other uses */
}

/* Warn about properties of the device below that affect users of the ioband device. */
static void warn(const struct device *device, const char *name)
{
	struct names partitions __cleanup(names_free) = { .n = 0 };
	uint64_t sectors;
	bool read_only;

	if (device_size(device, &sectors, &read_only) == EXIT_OK && read_only)
		note("note: %s is read-only, so %s is ('blockdev --setrw' before wrap)",
		     device->path, name);
	if (device_related(device, "", &partitions))
		note("note: %s has partitions; 'kpartx -a /dev/mapper/%s' makes them above %s",
		     device->path, name, name);
}

static int choose_name(const struct args *args, const struct device *device, char name[NAME_SIZE])
{
	const char *asked = args->value[OPTION_NAME];

	if (asked) {
		snprintf(name, NAME_SIZE, "%s", asked);
		return EXIT_OK;
	}
	name_wrapped(device, name);
	if (make_check_name(name) == EXIT_OK)
		return EXIT_OK;
	return fail(EXIT_USAGE,
		    "... which would be the name of the ioband device over %s; give another with --name",
		    device->path);
}

static int wrap(const struct args *args, const struct settings *settings,
		const char *spelled, struct names *made)
{
	struct ioband_devices devices __cleanup(ioband_free);
	char name[NAME_SIZE];
	struct device device;
	int code = ioband_load(&devices) ?:
		   device_resolve(spelled, &device) ?:
		   check_wrapped(&devices, spelled, &device) ?:
		   check_use(&device) ?:
		   choose_name(args, &device, name) ?:
		   make_device(&devices, settings, name, &device);

	if (code == EXIT_OK) {
		names_add(made, name);
		warn(&device, name);
	}
	return code;
}

static int check(const struct args *args, struct settings *settings)
{
	const char *name = args->value[OPTION_NAME];

	if (name && args->n > 1)
		return fail(EXIT_USAGE,
			    "--name '%s': there are %d devices, and it can be the name of one",
			    name, args->n);
	if (name && make_check_name(name) != EXIT_OK)
		return EXIT_USAGE;
	return made_settings(args, settings);
}

static int run(const struct args *args)
{
	struct names made __cleanup(names_free) = { .n = 0 };
	struct settings settings;
	int code = check(args, &settings), result;

	if (code != EXIT_OK)
		return code;
	for (int i = 0; i < args->n; i++) {
		result = wrap(args, &settings, args->operand[i], &made);
		code = code ?: result;
	}
	result = made.n ? made_report(&made, &settings, args->value[OPTION_JSON]) : EXIT_OK;
	return code ?: result;
}

static const struct option_spec options[] = {
	{ OPTION_NAME, "name", "NAME",
	  "of the ioband device (default: io- and what names the device for good)" },
	{ .name = NULL }
};

const struct verb verb_wrap = {
	.name = "wrap",
	.args = "DEVICE...",
	.summary = "Put ioband over disks, partitions, volumes or arrays",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.shared = made_options,
	.run = run,
};
