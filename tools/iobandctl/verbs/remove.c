// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl remove: remove unused ioband devices. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "host/blockage.h"
#include "host/device.h"
#include "host/reach.h"
#include "host/use.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"
#include "verbs/verbs.h"

static int find_named(const struct ioband_devices *devices, const char *spelled,
		      const struct ioband_device **found)
{
	const struct ioband_device *over;
	struct device number;

	*found = ioband_exact(devices, spelled);
	if (*found)
		return EXIT_OK;
	if (!device_find(spelled, &number))
		return fail(EXIT_MISSING,
			    "there is no device '%s'; 'iobandctl list' shows all ioband devices",
			    spelled);
	over = ioband_over(devices, spelled);
	return fail(EXIT_MISSING, "%s is not an ioband device; %s%s", spelled,
		    over ? "the one over it is " : "'iobandctl list' shows all",
		    over ? over->dm->name : "");
}

struct removal {
	const char *name;
	bool deferred;
};

static int remove_apart(const void *argument, void *answer)
{
	const struct removal *removal = argument;

	(void)answer;
	return mapper_remove_apart(removal->name, removal->deferred);
}

/* @blocked: why I/O to it waits; empty if it does not. */
static int busy(const struct mapped_device *device, const char *use, const char *blocked)
{
	if (*blocked)
		return fail(EXIT_IN_USE,
			    "%s is in use: %s; and it takes no I/O: %s; or use --deferred to have it removed when it is closed",
			    device->name, use, blocked);
	return fail(EXIT_IN_USE,
		    "%s is in use: %s; or use --deferred to have it removed when it is closed",
		    device->name, use);
}

static int remove_device(const struct ioband_device *found, bool deferred)
{
	const struct removal removal = { .name = found->dm->name, .deferred = deferred };
	struct device device = { .major = found->dm->major, .minor = found->dm->minor };
	struct problem use, blocked = { .text = "" };
	int error;

	if (under_is_inserted(found))
		return fail(EXIT_IN_USE,
			    "ioband was inserted into %s, which is not its own; 'iobandctl extract %s' takes it out",
			    found->dm->name, found->dm->name);
	snprintf(device.path, sizeof(device.path), "/dev/mapper/%s", found->dm->name);
	blockage_reason(&device, &blocked);
	if (!deferred && found->dm->open_count && use_of_device(&device, &use))
		return busy(found->dm, use.text, blocked.text);
	kmsg_mark();
	error = *blocked.text ? reach_run(remove_apart, &removal, NULL, 0) :
				mapper_remove(found->dm->name, deferred);
	if (!error)
		return EXIT_OK;
	if (error == -ETIMEDOUT)
		return fail(EXIT_FAILED,
			    "the removal of %s goes on in the kernel, and waits for a flush: %s",
			    found->dm->name, blocked.text);
	if (error != -EBUSY)
		return fail(exit_code_of(-error), "cannot remove %s: %s",
			    found->dm->name, kmsg_reason(-error));
	if (!use_of_device(&device, &use) && !use_by_process(&device, false, &use))
		problem_set(&use,
			    "something has it open, perhaps in another namespace or container");
	return busy(found->dm, use.text, blocked.text);
}

/*
 * Remove the ioband devices of a command line.
 * @args: the command line; with --json, the removed devices are printed with their last
 *	settings
 * @find: finds the device of an operand; returns an exit code
 */
int remove_found(const struct args *args,
		 int (*find)(const struct ioband_devices *devices,
			     const char *spelled, const struct ioband_device **found))
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct ioband_device *removed __free = NULL;
	int code = ioband_load(&devices);
	size_t n = 0;

	if (code != EXIT_OK)
		return code;
	removed = xcalloc(args->n, sizeof(*removed));
	for (int i = 0; i < args->n; i++) {
		const struct ioband_device *found;
		int result = find(&devices, args->operand[i], &found);

		if (result == EXIT_OK)
			result = remove_device(found, args->value[OPTION_DEFERRED]);
		if (result == EXIT_OK)
			removed[n++] = *found;
		code = first_failure(code, result);
	}
	if (n && args->value[OPTION_JSON])
		code = first_failure(code, list_print(removed, n));
	return code;
}

static int run(const struct args *args)
{
	return remove_found(args, find_named);
}

const struct option_spec remove_options[] = {
	{ OPTION_DEFERRED, "deferred", NULL, "if it is open, remove it when it is closed" },
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_remove = {
	.name = "remove",
	.args = "NAME...",
	.summary = "Remove ioband devices; what lies below stays as it is",
	.min = 1,
	.max = ARGS_ANY,
	.options = remove_options,
	.run = run,
};
