// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl extract: take ioband out of devices into which it was inserted. */
#include "ioband/hand.h"
#include "ioband/under.h"
#include "print/print.h"
#include "verbs/verbs.h"

/* List the device before the extraction, which removes the hidden device. */
static struct row *list_one(struct table *table, const char *name)
{
	const struct ioband_device *device;
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct row *row = NULL;

	if (ioband_load(&devices) != EXIT_OK)
		return NULL;
	device = ioband_named(&devices, name);
	if (device && device->dm->table && under_is_inserted(device))
		row = list_device(table, device);
	return row;
}

/* Add the device to the list, if there is one, after a successful extraction. */
static int extract_listed(const char *name, struct table *list, bool *had_it)
{
	const struct hand_key out = { .device = name, .key = HAND_EXTRACT };
	struct row *row = list ? list_one(list, name) : NULL;
	bool marked = hand_has(&out);
	int code;

	/* Mark before the extraction, or udev's rules would insert ioband again. */
	hand_mark(&out);
	code = extract_from(name, had_it);
	if ((code != EXIT_OK || !*had_it) && !marked)
		hand_clear(&out);
	if (row && (code != EXIT_OK || !*had_it))
		print_drop(row);
	return code;
}

static int extract(const char *spelled, struct table *list)
{
	struct names places __cleanup(names_free) = { .n = 0 };
	int code = under_places(spelled, &places);
	bool found = code == EXIT_OK, any = false;

	for (size_t i = 0; found && i < places.n; i++) {
		bool had_it = true;

		code = first_failure(code, extract_listed(places.v[i], list, &had_it));
		any |= had_it;
	}
	if (code == EXIT_OK && !any)
		code = fail(EXIT_MISSING, "ioband is not in %s; 'iobandctl list' shows where it is",
			    places.n == 1 ? places.v[0] : spelled);
	return code;
}

static int run(const struct args *args)
{
	struct table *list = NULL;
	int code = mapper_ready();

	if (code != EXIT_OK)
		return code;
	if (args->value[OPTION_JSON])
		list = list_table();
	for (int i = 0; i < args->n; i++)
		code = first_failure(code, extract(args->operand[i], list));
	return list ? print_some(list, code) : code;
}

static const struct option_spec options[] = { SPEC_JSON, { .name = NULL } };

const struct verb verb_extract = {
	.name = "extract",
	.args = "DEVICE...",
	.summary = "Take ioband out of devices that are in use",
	.min = 1,
	.max = ARGS_ANY,
	.options = options,
	.run = run,
};
