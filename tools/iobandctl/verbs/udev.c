// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl udev: the queries of the rules about a new device, which udev describes
 * in the environment.  The answers are properties; nothing is changed.  The units of
 * the rules query whether a device is lost, and remove the ioband device over it.
 */
#include <libudev.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <syslog.h>

#include "base/handles.h"
#include "base/words.h"
#include "config/plan.h"
#include "config/select.h"
#include "host/use.h"
#include "ioband/gone.h"
#include "ioband/hand.h"
#include "ioband/ioband.h"
#include "ioband/make.h"
#include "ioband/under.h"
#include "kernel/dm.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define DEV "/dev/"
#define WRAP "IOBAND_WRAP"
#define LOST ".IOBAND_LOST"

#define ARRAYS "/dev/md/"

/* Excludes the hidden devices of "insert", which lie below the user's own device. */
static bool is_ours(const char *uuid)
{
	return text_after(uuid, MAPPER_UUID_PREFIX) && !text_after(uuid, UNDER_UUID_PREFIX);
}

static bool read_uuid(const char *kernel, struct device *device, char uuid[MAPPER_UUID_SIZE])
{
	return device_of_kernel_name(kernel, device) &&
	       device_attribute(device->major, device->minor, "dm/uuid", uuid, MAPPER_UUID_SIZE);
}

/* Links of device-mapper and mdadm stay: these programs find their devices by them. */
static bool can_be_taken(const char *link)
{
	return select_is_lasting(link) && !text_after(link, "/dev/mapper/") &&
	       !text_after(link, ARRAYS);
}

/* Links of a disk from which, with a partition's number, links of partitions are made. */
static bool is_for_partitions(const char *link)
{
	return select_is_lasting(link) && (text_after(link, "/dev/disk/by-id/") ||
					   text_after(link, "/dev/disk/by-path/"));
}

/* Print links in the format of the rules: relative to /dev, in one line. */
static void print_links(struct udev_device *found,
			bool (*wanted)(const char *link), const char *suffix)
{
	struct udev_list_entry *link = udev_device_get_devlinks_list_entry(found);
	const char *separator = "IOBAND_LINKS=";

	for (; link; link = udev_list_entry_get_next(link)) {
		const char *name = udev_list_entry_get_name(link);

		if (!text_after(name, DEV) || !wanted(name))
			continue;
		printf("%s%s%s", separator, name + strlen(DEV), suffix);
		separator = " ";
	}
	if (*separator == ' ')
		putchar('\n');
}

/* Whether the device has holders, all of them ioband devices. */
static bool is_wrapped(const struct device *device)
{
	struct names holders __cleanup(names_free) = { .n = 0 };
	char uuid[MAPPER_UUID_SIZE];
	struct device holder;
	bool found = device_related(device, "holders", &holders);

	for (size_t i = 0; i < holders.n && found; i++)
		found = read_uuid(holders.v[i], &holder, uuid) && is_ours(uuid);
	return found;
}

/* Whether ioband was inserted into the device. */
static bool is_place(const struct device *device, struct problem *use)
{
	struct names slaves __cleanup(names_free) = { .n = 0 };
	struct device slave;
	bool found = false;

	device_related(device, "slaves", &slaves);
	for (size_t i = 0; i < slaves.n && !found; i++)
		found = device_of_kernel_name(slaves.v[i], &slave) &&
			under_is_hidden(slave.major, slave.minor);
	problem_set(use, "ioband was inserted into it");
	return found;
}

/* No unit can have the '/' of cciss/c0d0, which is cciss!c0d0 in the kernel. */
static bool has_unit(struct udev_device *found)
{
	return !strpbrk(udev_device_get_sysname(found), "!/");
}

static bool has_no_unit(struct udev_device *found, const char *path, struct problem *why)
{
	const bool none = !has_unit(found);

	if (none)
		problem_set(why,
			    "a unit wraps it, and the name of a unit cannot have the / of this name; 'iobandctl apply %s' does it",
			    path);
	return none;
}

/* A device that matches a pattern may lie on a wrapped disk. */
static bool is_twice(const struct choice *choice, struct problem *why)
{
	struct ioband_devices devices;
	struct names slaves __cleanup(names_free) = { .n = 0 };
	bool twice = false;

	if (!choice->named &&
	    device_related(&choice->device, "slaves", &slaves) &&
	    ioband_load(&devices) == EXIT_OK) {
		twice = make_is_twice(&devices, conf_pool(choice->section), &choice->device, why);
		ioband_free(&devices);
	}
	return twice;
}

/* A wrapped array keeps its links in /dev/md, so fstab or crypttab could not use one. */
static bool is_named_array(struct udev_device *found,
			   const struct device *device, struct problem *use)
{
	struct udev_list_entry *link = udev_device_get_devlinks_list_entry(found);
	bool named = false;

	for (; link && !named; link = udev_list_entry_get_next(link))
		named = text_after(udev_list_entry_get_name(link), ARRAYS) &&
			use_by_link(device, udev_list_entry_get_name(link), use);
	return named;
}

static bool is_open(struct udev_device *found, const struct device *device, struct problem *use)
{
	struct udev_device *known __cleanup(close_udev_device) =
		udev_of(device->major, device->minor);
	const bool first = known && !udev_device_get_is_initialized(known);

	return use_in_event(device, first, udev_device_get_property_value(found, "SYNTH_UUID"),
			    use);
}

/* The disk of root, and all devices in use since the initramfs, are left unwrapped. */
static bool is_free(struct udev_device *found, const struct choice *choice)
{
	const struct device *device = &choice->device;
	struct problem use;

	if (!has_no_unit(found, device->path, &use) &&
	    !is_place(device, &use) && !use_by_root(device, &use) &&
	    (choice->named || !use_beside_root(device, &use)) && !use_of_device(device, &use) &&
	    !use_as_path(found, &use) &&
	    !use_by_name(device, &use) &&
	    !is_named_array(found, device, &use) &&
	    !use_by_partitions(device, &use) &&
	    !is_twice(choice, &use) && !is_open(found, device, &use))
		return true;
	note_in_log(LOG_WARNING, "%s is to be wrapped, and is left alone: %s",
		    device->path, use.text);
	return false;
}

/* "insert = yes" prevents wrapping; for a disk this is probably a mistake. */
static void warn_of_insert(const struct conf *conf, const struct choice *choice)
{
	char where[256];

	conf_where(conf, &choice->section->value[KEY_INSERT].place, where, sizeof(where));
	note_in_log(LOG_WARNING,
		    "%s is not wrapped, and left alone: %s says 'insert = yes' of it, which is for devices of device-mapper",
		    choice->device.path, where);
}

static bool is_to_be_wrapped(struct udev_device *found, const struct conf *conf)
{
	struct choice choice;

	if (!conf->n_files || !select_event(conf, found, &choice))
		return false;
	/* Only the unit reverts an earlier decision of the rules. */
	if (!conf_flag(choice.section, KEY_INSERT))
		return use_is_set(found, WRAP) || is_free(found, &choice);
	if (!text_after(udev_device_get_sysname(found), "dm-"))
		warn_of_insert(conf, &choice);
	return false;
}

static int ask_configuration(struct udev_device *found, bool *wrap)
{
	struct conf conf __cleanup(conf_free) = { .n = 0 };
	int code = conf_load(NULL, &conf);

	*wrap = false;
	if (code != EXIT_OK) {
		note_in_log(LOG_ERR,
			    "no device is wrapped: the configuration cannot be used; 'iobandctl check-config' says why");
		return code;
	}
	*wrap = is_to_be_wrapped(found, &conf);
	return EXIT_OK;
}

static int answer_for_other(struct udev_device *found, const struct device *device)
{
	bool wrap = is_wrapped(device);
	int code = wrap ? EXIT_OK : ask_configuration(found, &wrap);

	if (code != EXIT_OK)
		return code;
	/* Do not hide a disk that was wrapped by hand: no unit would show it again. */
	wrap = wrap && has_unit(found);
	print_line(WRAP "=%d", wrap);
	if (wrap)
		print_links(found, select_is_lasting, "");
	return print_flush();
}

/* Whether ioband should be inserted; not after 'iobandctl extract' removed it. */
static bool lacks_ioband(const struct choice *choice)
{
	const struct hand_key out = { .device = choice->label, .key = HAND_EXTRACT };
	struct under under;

	return conf_flag(choice->section, KEY_INSERT) &&
	       mapper_ready() == EXIT_OK && plan_may_insert(choice) &&
	       !hand_has(&out) &&
	       under_look(choice->label, &under) == EXIT_OK && !under.inserted;
}

/*
 * For a device-mapper device that is new or has a new table.  ask_configuration() has logged
 * the errors of an invalid configuration.
 */
static int answer_insert(struct udev_device *found, const char *uuid)
{
	struct choice choice;
	struct conf conf __cleanup(conf_free) = { .n = 0 };
	int code = conf_load(NULL, &conf);
	bool insert;

	if (code != EXIT_OK)
		return code;
	insert = uuid && select_event(&conf, found, &choice) && lacks_ioband(&choice);
	print_line("IOBAND_INSERT=%d", insert);
	return print_flush();
}

static bool find_below(const struct device *device, struct device *below)
{
	struct names slaves __cleanup(names_free) = { .n = 0 };

	return device_related(device, "slaves", &slaves) &&
	       device_of_kernel_name(slaves.v[0], below);
}

/*
 * Print the links of the device below, if it is hidden, and its name, which the rules keep for
 * the case that it is lost.
 */
static int answer_for_below(const struct device *ours, bool (*is_wanted)(const char *link),
			    const char *suffix)
{
	struct udev_device *slave __cleanup(close_udev_device) = NULL;
	struct device below;

	if (find_below(ours, &below))
		slave = udev_of(below.major, below.minor);
	else
		print_line(LOST "=1");
	if (slave && use_is_set(slave, WRAP)) {
		print_line(GONE_OVER "=%s", udev_device_get_sysname(slave));
		print_links(slave, is_wanted, suffix);
	}
	return print_flush();
}

static int answer_for_partition(const struct device *device, const char *uuid)
{
	unsigned int number = 0;
	struct device ours;
	char suffix[32];

	if (sscanf(uuid, "part%u-", &number) != 1 || !find_below(device, &ours))
		return EXIT_OK;
	snprintf(suffix, sizeof(suffix), "-part%u", number);
	return answer_for_below(&ours, is_for_partitions, suffix);
}

static int answer(bool insert)
{
	struct udev_device *found __cleanup(close_udev_device) = NULL;
	struct device device;
	const char *uuid;
	dev_t number;

	if (!udev_shared())
		return fail(EXIT_FAILED, "libudev cannot be used");
	found = udev_device_new_from_environment(udev_shared());
	if (!found || !udev_device_get_devnode(found))
		return fail(EXIT_USAGE,
			    "no device is described in the environment; only udev's rules can ask this");
	number = udev_device_get_devnum(found);
	device = (struct device){ .major = major(number),
				  .minor = minor(number) };
	uuid = udev_device_get_property_value(found, "DM_UUID");
	if (insert)
		return answer_insert(found, uuid);
	if (is_ours(uuid))
		return answer_for_below(&device, can_be_taken, "");
	if (text_after(uuid, "part") && strstr(uuid, "-" MAPPER_UUID_PREFIX))
		return answer_for_partition(&device, uuid);
	return answer_for_other(found, &device);
}

static int run(const struct args *args)
{
	const char *gone = args->value[OPTION_GONE];
	const char *lost = args->value[OPTION_LOST];

	if (lost)
		return gone_is_lost(lost) ? EXIT_OK : EXIT_FAILED;
	return gone ? gone_drop(gone) : answer(args->value[OPTION_INSERT]);
}

static const struct option_spec options[] = {
	{ OPTION_GONE, "gone", "NAME",
	  "remove the ioband device over the device of this kernel's name, which is gone" },
	{ OPTION_LOST, "lost", "NAME",
	  "succeed if nothing is left below the device of this kernel's name" },
	{ OPTION_INSERT, "insert", NULL,
	  "answer: is ioband to be inserted into this device?" },
	{ .name = NULL }
};

const struct verb verb_udev = {
	.name = "udev",
	.args = "",
	.summary = "Answer udev's rules whether a new device is to be wrapped",
	.options = options,
	.run = run,
};
