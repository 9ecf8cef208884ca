// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl unwrap: remove ioband devices, named by themselves or by the device below. */
#include "host/device.h"
#include "verbs/verbs.h"

static int find(const struct ioband_devices *devices, const char *spelled,
		const struct ioband_device **found)
{
	struct device device;
	int code;

	*found = ioband_look(devices, spelled);
	if (*found)
		return EXIT_OK;
	code = device_resolve(spelled, &device);
	if (code != EXIT_OK)
		return code;
	return fail(EXIT_MISSING, "%s is not wrapped; 'iobandctl list' shows the wrapped devices",
		    spelled);
}

static int run(const struct args *args)
{
	return remove_found(args, find);
}

const struct verb verb_unwrap = {
	.name = "unwrap",
	.args = "DEVICE...",
	.summary = "Take ioband off devices again; their contents stay",
	.min = 1,
	.max = ARGS_ANY,
	.options = remove_options,
	.run = run,
};
