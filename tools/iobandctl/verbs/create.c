// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl create: an ioband device over the whole of a block device. */
#include "ioband/make.h"
#include "verbs/verbs.h"

static int run(const struct args *args)
{
	const char *name = args->operand[0];
	struct names made __cleanup(names_free) = { .n = 0 };
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct settings settings;
	struct device device;
	int code = make_check_name(name) ?:
		   made_settings(args, &settings) ?:
		   ioband_load(&devices) ?:
		   device_resolve(args->operand[1], &device) ?:
		   make_device(&devices, &settings, name, &device);

	if (code != EXIT_OK)
		return code;
	names_add(&made, name);
	return made_report(&made, &settings, args->value[OPTION_JSON]);
}

const struct verb verb_create = {
	.name = "create",
	.args = "NAME DEVICE",
	.summary = "Make ioband device NAME over the whole of block device DEVICE",
	.min = 2,
	.max = 2,
	.options = made_options,
	.run = run,
};
