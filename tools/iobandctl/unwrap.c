// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl unwrap: ioband from over devices, which may be named themselves. */
#include "device.h"
#include "verbs.h"

static int unwrap(const struct ioband_devices *devices, const char *spelled,
		  bool deferred)
{
	const struct ioband_device *found = ioband_look(devices, spelled);
	struct device device;
	int code;

	if (found)
		return remove_device(found, deferred);
	code = device_resolve(spelled, &device);
	if (code != EXIT_OK)
		return code;
	return fail(EXIT_MISSING,
		    "%s is not wrapped; 'iobandctl list' shows what is",
		    spelled);
}

static int run(const struct args *args)
{
	struct ioband_devices devices;
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	for (int i = 0; i < args->n; i++) {
		int result = unwrap(&devices, args->operand[i],
				    args->value[OPTION_DEFERRED]);

		if (code == EXIT_OK)
			code = result;
	}
	ioband_free(&devices);
	return code;
}

static const struct option_spec options[] = {
	{ OPTION_DEFERRED, "deferred", NULL,
	  "if it is open, remove it when it is closed" },
	{ .name = NULL }
};

const struct verb verb_unwrap = {
	.name = "unwrap",
	.args = "DEVICE...",
	.summary = "Take ioband off devices again; what is on them stays",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
