// SPDX-License-Identifier: GPL-2.0-only
/* ioband taken out of a device that it was inserted into. */
#include "host/blockage.h"
#include "host/lock.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"
#include "kernel/swap.h"

static int report(const struct under *under, const char *what, int error)
{
	return fail(exit_code_of(-error), "cannot %s %s: %s; ioband is in it still",
		    what, under->name, kmsg_reason(-error));
}

/* With its last user the hidden device goes, and should that have failed, now. */
static void drop_hidden(const struct under *under)
{
	struct mapped_device hidden;

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
	return fail(exit_code_of(-error), "cannot switch to the own table of %s: %s", under->name,
		    problem.text);
}

static int give_back(const struct under *under)
{
	struct mapped_table own __cleanup(mapper_table_free);
	struct mapped_table ioband __cleanup(mapper_table_free) = { .n = 0 };
	int error = mapper_table(under->hidden, &own), code;

	kmsg_mark();
	if (!error)
		error = mapper_table(under->name, &ioband);
	code = error ? report(under, "read the tables of", error) : swap_back(under, &own, &ioband);
	if (code != EXIT_OK)
		return code;
	under_step("switched");
	drop_hidden(under);
	under_forget(under->name);
	return EXIT_OK;
}

static int extract_locked(const char *name, bool *had_it)
{
	struct device device;
	struct under under;
	bool repaired = false;
	int code = under_look(name, &under) ?: under_repair(&under, &repaired);

	if (code != EXIT_OK)
		return code;
	if (under.inserted) {
		/* On a device that does not answer, the switch would wait for ever. */
		device = under_device(&under);
		return blockage_check(&device) ?: give_back(&under);
	}
	*had_it = under_forget(name) || repaired;
	return EXIT_OK;
}

/*
 * Take ioband out of one device.
 * @had_it: set to false if it was not in it
 */
int extract_from(const char *name, bool *had_it)
{
	struct locks locks;
	int code = lock_device(name, &locks) ?: extract_locked(name, had_it);

	unlock_device(&locks);
	return code;
}
