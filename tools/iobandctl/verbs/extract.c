// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl extract: ioband out of the devices that it was inserted into. */
#include <stdio.h>

#include "host/lock.h"
#include "host/reach.h"
#include "ioband/hand.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"
#include "kernel/swap.h"
#include "print/print.h"
#include "verbs/verbs.h"

static int report(const struct under *under, const char *what, int error)
{
	return fail(exit_code_of(-error), "cannot %s %s: %s; ioband is in it still",
		    what, under->name, kmsg_reason(-error));
}

/* With its last user the hidden device goes, and should that have failed, now. */
static void drop_hidden(const struct under *under)
{
	struct mapped_state hidden;

	if (mapper_state(under->hidden, &hidden) && !hidden.open_count &&
	    mapper_remove(under->hidden, true) &&
	    mapper_state(under->hidden, &hidden))
		note("note: %s is of no use any more and could not be removed: 'dmsetup remove %s'",
		     under->hidden, under->hidden);
}

static int swap_back(const struct under *under, const struct mapped_table *own,
		     const struct mapped_table *ioband)
{
	const struct swap swap = { .name = under->name, .own = ioband,
				   .loaded = own,
				   .read_only = under->dm.read_only };
	struct problem problem;
	int error = mapper_load(under->name, own, under->dm.read_only);

	if (error)
		return report(under, "load its own table into", error);
	under_step("loaded");
	error = swap_tables(&swap, &problem);
	if (!error)
		return EXIT_OK;
	return fail(exit_code_of(-error),
		    "cannot switch to the own table of %s: %s", under->name,
		    problem.text);
}

static int give_back(const struct under *under)
{
	struct mapped_table own, ioband = { .n = 0 };
	int error = mapper_table(under->hidden, &own), code;

	kmsg_mark();
	if (!error)
		error = mapper_table(under->name, &ioband);
	code = error ? report(under, "read the tables of", error) :
		       swap_back(under, &own, &ioband);
	mapper_table_free(&own);
	mapper_table_free(&ioband);
	if (code != EXIT_OK)
		return code;
	under_step("switched");
	drop_hidden(under);
	under_forget(under->name);
	return EXIT_OK;
}

/* The switch would wait for I/O that does not end. */
static int check_answer(const struct under *under)
{
	struct device device = { .major = under->dm.major,
				 .minor = under->dm.minor };

	snprintf(device.path, sizeof(device.path), "/dev/mapper/%s",
		 under->name);
	return reach_check(&device);
}

static int extract_locked(const char *name, bool *had_it)
{
	struct under under;
	bool repaired = false;
	int code = under_look(name, &under);

	if (code == EXIT_OK)
		code = under_repair(&under, &repaired);
	if (code != EXIT_OK)
		return code;
	if (under.inserted) {
		code = check_answer(&under);
		return code == EXIT_OK ? give_back(&under) : code;
	}
	*had_it = under_forget(name) || repaired;
	return EXIT_OK;
}

/**
 * extract_from() - take ioband out of one device
 * @name: its name
 * @had_it: set to false if it was not in it
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int extract_from(const char *name, bool *had_it)
{
	struct locks locks;
	int code = lock_device(name, &locks);

	if (code == EXIT_OK)
		code = extract_locked(name, had_it);
	unlock_device(&locks);
	return code;
}

/* As it is still: afterwards ioband is not in it, and the hidden device is gone. */
static struct row *list_one(struct table *table, const char *name)
{
	const struct ioband_device *device;
	struct ioband_devices devices;
	struct row *row = NULL;

	if (ioband_load(&devices) != EXIT_OK)
		return NULL;
	device = ioband_named(&devices, name);
	if (device && device->dm->table && under_is_inserted(device))
		row = list_device(table, device);
	ioband_free(&devices);
	return row;
}

/* With a list, what ioband was taken out of is added to it. */
static int extract_listed(const char *name, struct table *list, bool *had_it)
{
	const struct hand_key out = { .device = name, .key = HAND_EXTRACT };
	struct row *row = list ? list_one(list, name) : NULL;
	bool marked = hand_has(&out);
	int code;

	/* Before udev's rules see that it is out, or they would put it back. */
	hand_mark(&out);
	code = extract_from(name, had_it);
	if ((code != EXIT_OK || !*had_it) && !marked)
		hand_clear(&out);
	if (row && (code != EXIT_OK || !*had_it))
		print_drop(list, row);
	return code;
}

static int extract(const char *spelled, struct table *list)
{
	struct names places = { .n = 0 };
	int code = under_places(spelled, &places);
	bool found = code == EXIT_OK, any = false;

	for (size_t i = 0; found && i < places.n; i++) {
		bool had_it = true;
		int result = extract_listed(places.v[i], list, &had_it);

		any |= had_it;
		if (code == EXIT_OK)
			code = result;
	}
	if (code == EXIT_OK && !any)
		code = fail(EXIT_MISSING,
			    "ioband is not in %s; 'iobandctl list' shows where it is",
			    places.n == 1 ? places.v[0] : spelled);
	names_free(&places);
	return code;
}

static int run(const struct args *args)
{
	struct table *list = NULL;
	int code = mapper_ready();

	if (code != EXIT_OK)
		return code;
	if (args->value[OPTION_JSON])
		list = list_table(true);
	for (int i = 0; i < args->n; i++) {
		int result = extract(args->operand[i], list);

		if (code == EXIT_OK)
			code = result;
	}
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
