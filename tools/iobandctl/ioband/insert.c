// SPDX-License-Identifier: GPL-2.0-only
/* ioband put under a device-mapper device that may be in use. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "host/blockage.h"
#include "host/layer.h"
#include "host/lock.h"
#include "ioband/make.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"
#include "kernel/swap.h"

/* An insertion that is under way. */
struct insertion {
	struct under under;
	struct mapped_table own;	/* its table, as it was copied */
	struct device hidden;	/* the device that has the copy */
	int fd;	/* keeps that one until another has it open; -1 if it is not open */
	bool lvms;	/* LVM takes that one for its own, and removes it */
};

static int report(const struct under *under, const char *what, int error)
{
	return fail(exit_code_of(-error), "cannot %s %s: %s; it is as it was",
		    what, under->name, kmsg_reason(-error));
}

/* By the kernel's own node: libdevmapper takes away the one below /dev/mapper. */
static int find_hidden(const struct under *under, struct device *device)
{
	struct mapped_device state;

	if (!mapper_state(under->hidden, &state))
		return -ENXIO;
	device->major = state.major;
	device->minor = state.minor;
	snprintf(device->path, sizeof(device->path), "/dev/dm-%u", state.minor);
	return 0;
}

/* By the kernel, with its last user, which is the tool for now. */
static int have_removed(const struct under *under)
{
	int error = mapper_remove(under->hidden, true);

	if (error)
		note("note: %s could not be removed: 'dmsetup remove %s'",
		     under->hidden, under->hidden);
	return error;
}

/* Once it is in use; one of LVM's stays until LVM or "extract" removes it. */
static int defer(struct insertion *insertion)
{
	const struct under *under = &insertion->under;
	int error = find_hidden(under, &insertion->hidden), removal = 0;

	if (!error) {
		insertion->fd = open(insertion->hidden.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		error = insertion->fd < 0 ? -errno : 0;
	}
	if (!insertion->lvms || error)
		removal = have_removed(under);
	return removal ?: error;
}

static int make_hidden(struct insertion *insertion)
{
	char *uuid __free = NULL;
	const struct under *under = &insertion->under;
	int error = mapper_table(under->name, &insertion->own);

	uuid = under_uuid(under, &insertion->own, &insertion->lvms);
	if (!error)
		error = mapper_create_hidden(under->hidden, uuid, &insertion->own,
					     under->dm.read_only);
	under_step("created");
	if (!error)
		error = defer(insertion);
	under_step("deferred");
	return error ? report(under, "make the hidden device for", error) : EXIT_OK;
}

static int load_and_swap(const struct insertion *insertion, uint64_t sectors, char *line)
{
	const struct under *under = &insertion->under;
	char type[] = "ioband";
	struct mapped_target target = { .sectors = sectors, .type = type, .words = line };
	const struct mapped_table table = { .v = &target, .n = 1 };
	const struct swap swap = { .name = under->name, .own = &insertion->own,
				   .loaded = &table,
				   .read_only = under->dm.read_only };
	struct problem problem;
	int error = mapper_load(under->name, &table, under->dm.read_only);

	under_step("loaded");
	if (error)
		return report(under, "give the ioband table to", error);
	error = swap_tables(&swap, &problem);
	under_step("switched");
	if (!error)
		return EXIT_OK;
	return fail(exit_code_of(-error), "cannot switch to the ioband table of %s: %s",
		    under->name, problem.text);
}

static int put_under(const struct ioband_devices *devices, const struct settings *settings,
		     struct insertion *insertion)
{
	char *line __free = NULL;
	uint64_t sectors;
	bool read_only;
	int code = make_hidden(insertion) ?:
		   device_size(&insertion->hidden, &sectors, &read_only) ?:
		   make_line(devices, settings, &insertion->hidden, &line) ?:
		   load_and_swap(insertion, sectors, line);

	if (code != EXIT_OK && insertion->lvms && insertion->fd >= 0)
		have_removed(&insertion->under);
	if (insertion->fd >= 0)
		close(insertion->fd);
	mapper_table_free(&insertion->own);
	return code;
}

/*
 * Before anything is made: whether the switch would wait for I/O that does not end, and
 * whether the pool would have the same bio twice.
 */
static int check_device(const struct ioband_devices *devices, const struct settings *settings,
			const struct under *under)
{
	char *line __free = NULL;
	struct device device = under_device(under);

	return blockage_check(&device) ?: make_line(devices, settings, &device, &line);
}

/* A layer above with one queue delays all groups as the slowest one. */
static int check_layers(const struct under *under, bool force)
{
	const struct device device = under_device(under);
	struct layer layer;

	if (!layer_above(&device, &layer))
		return EXIT_OK;
	if (!force)
		return fail(EXIT_IN_USE,
			    "%s lies on %s, and %s; %s puts ioband above it, 'iobandctl insert --force %s' below",
			    layer.what.text, under->name, layer_cost, layer.remedy.text,
			    under->name);
	note("note: %s lies on %s, and %s; %s puts ioband above it",
	     layer.what.text, under->name, layer_cost, layer.remedy.text);
	return EXIT_OK;
}

static int insert_locked(const struct settings *settings, const char *name, bool force,
			 bool *had_it)
{
	struct insertion insertion = { .fd = -1 };
	struct under *under = &insertion.under;
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	bool repaired;
	int code = under_look(name, under) ?: under_repair(under, &repaired);

	if (code != EXIT_OK)
		return code;
	*had_it = under->inserted && !repaired;
	if (under->inserted)
		return EXIT_OK;
	code = check_layers(under, force) ?: ioband_load(&devices);
	if (code != EXIT_OK)
		return code;
	code = under_is_place(name) ? check_device(&devices, settings, under) :
	       fail(EXIT_IN_USE, "%s was changed by another program meanwhile; try again", name);
	kmsg_mark();
	code = code ?: put_under(&devices, settings, &insertion);
	if (code == EXIT_OK)
		under_remember(name);
	return code;
}

/*
 * Insert ioband into one device.
 * @force: even below a layer with one queue for all its users
 * @had_it: set to whether it was in it already
 */
int insert_into(const struct settings *settings, const char *name, bool force, bool *had_it)
{
	struct locks locks;
	int code = lock_device(name, &locks) ?: insert_locked(settings, name, force, had_it);

	unlock_device(&locks);
	return code;
}
