// SPDX-License-Identifier: GPL-2.0-only
/* The block devices that the configuration selects, from udev's database. */
#define _GNU_SOURCE
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/handles.h"
#include "base/words.h"
#include "config/select.h"
#include "host/use.h"
#include "ioband/name.h"
#include "ioband/under.h"
#include "kernel/dm.h"

#define LINKS_MAX 64	/* more than any device has */

/* A block device in udev's database. */
struct subject {
	struct conf_subject known;	/* its properties, for conf_selects() */
	struct device device;
	char mapper[DEVICE_NAME_SIZE];	/* storage of its mapper name */
	char volume[2 * DEVICE_NAME_SIZE];	/* storage of vg/lv */
	char *paths[LINKS_MAX + 1];	/* its node and the links to it; owned by udev */
	bool suitable;	/* patterns can select it */
	bool passed_over;	/* its creator asked udev's rules to skip it */
};

static const char *mapper_type(const char *uuid)
{
	static const struct {
		const char *prefix;
		const char *type;
	} types[] = {
		{ "LVM-", "lvm" }, { "CRYPT-", "crypt" }, { "mpath-", "mpath" },
		{ "part", "part" }, { MAPPER_UUID_PREFIX, "ioband" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (text_after(uuid, types[i].prefix))
			return types[i].type;
	}
	return "dm";
}

/* The names of lsblk's column TYPE. */
static const char *type_of(struct udev_device *found, const char *kernel)
{
	static const struct {
		const char *prefix;
		const char *type;
	} types[] = {
		{ "loop", "loop" }, { "sr", "rom" }, { "fd", "floppy" },
		{ "ram", "ram" }, { "zram", "ram" }, { "md", "raid" },
	};
	const char *devtype = udev_device_get_devtype(found);
	dev_t number = udev_device_get_devnum(found);

	if (text_after(kernel, "dm-"))
		return under_is_hidden(major(number), minor(number)) ?
			       "ioband" :
			       mapper_type(udev_device_get_sysattr_value(found, "dm/uuid"));
	if (devtype && !strcmp(devtype, "partition"))
		return "part";
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (text_after(kernel, types[i].prefix))
			return types[i].type;
	}
	return "disk";
}

static void describe_mapped(struct udev_device *found, struct subject *subject)
{
	const char *name = udev_device_get_sysattr_value(found, "dm/name");
	const char *group = udev_device_get_property_value(found, "DM_VG_NAME");
	const char *volume = udev_device_get_property_value(found, "DM_LV_NAME");

	subject->passed_over = use_is_set(found, "DM_UDEV_DISABLE_OTHER_RULES_FLAG");
	if (name) {
		snprintf(subject->mapper, sizeof(subject->mapper), "%s", name);
		subject->known.mapper = subject->mapper;
	}
	if (group && volume) {
		snprintf(subject->volume, sizeof(subject->volume), "%s/%s", group, volume);
		subject->known.volume = subject->volume;
	}
}

static void describe_paths(struct udev_device *found, struct subject *subject)
{
	struct udev_list_entry *link = udev_device_get_devlinks_list_entry(found);
	size_t n = 0;

	subject->paths[n++] = (char *)udev_device_get_devnode(found);
	for (; link && n < LINKS_MAX; link = udev_list_entry_get_next(link))
		subject->paths[n++] = (char *)udev_list_entry_get_name(link);
	subject->known.paths = subject->paths;
}

/* A partition has the queue of its disk. */
static bool is_rotational(struct udev_device *found)
{
	const char *value = udev_device_get_sysattr_value(found, "queue/rotational");
	struct udev_device *disk;

	if (!value) {
		disk = udev_device_get_parent_with_subsystem_devtype(found, "block", "disk");
		value = disk ? udev_device_get_sysattr_value(disk, "queue/rotational") : NULL;
	}
	return value && !strcmp(value, "1");
}

/* Check whether patterns can select the device. */
static bool is_suitable(struct udev_device *found, const char *type)
{
	const char *hidden = udev_device_get_sysattr_value(found, "hidden");
	const char *size = udev_device_get_sysattr_value(found, "size");

	return !text_is(type, "rom", "floppy", "ram", "ioband") && size && strcmp(size, "0") &&
	       !(hidden && !strcmp(hidden, "1"));
}

/* udev's properties with serial numbers; SCSI disks have several.  lsblk reads the same. */
static const char *const serials[CONF_SERIALS] = {
	"SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_SERIAL"
};

static bool describe(struct udev_device *found, struct subject *subject)
{
	dev_t number = udev_device_get_devnum(found);

	memset(subject, 0, sizeof(*subject));
	subject->known.kernel = udev_device_get_sysname(found);
	if (!udev_device_get_devnode(found))
		return false;
	subject->known.type = type_of(found, subject->known.kernel);
	subject->suitable = is_suitable(found, subject->known.type);
	subject->device.major = major(number);
	subject->device.minor = minor(number);
	describe_mapped(found, subject);
	describe_paths(found, subject);
	subject->known.rotational = is_rotational(found);
	for (size_t i = 0; i < CONF_SERIALS; i++)
		subject->known.serial[i] = udev_device_get_property_value(found, serials[i]);
	snprintf(subject->device.path, sizeof(subject->device.path), "%s%s",
		 subject->known.mapper ? "/dev/mapper/" : "",
		 subject->known.mapper ? subject->known.mapper : subject->paths[0]);
	return true;
}

static bool same(const struct device *a, const struct device *b)
{
	return a->major == b->major && a->minor == b->minor;
}

/* Check udev's links.  A link of the device may point to the ioband device over it. */
static bool claims(const struct subject *subject, const char *spelled)
{
	char *path __free = *spelled == '/' ? xstrdup(spelled) : xasprintf("/dev/%s", spelled);
	const char *volume = subject->known.volume;
	bool found = volume && !strcmp(volume, spelled);

	for (size_t i = 0; subject->paths[i] && !found; i++)
		found = !strcmp(subject->paths[i], path);
	return found;
}

/* udev's links to an ioband device belong to the device below it. */
static bool is_named(const struct subject *subject, const char *spelled)
{
	struct device named;

	if (strcmp(subject->known.type, "ioband"))
		return claims(subject, spelled) ||
		       (device_find(spelled, &named) && same(&named, &subject->device));
	if (strchr(spelled, '/'))
		return !strcmp(spelled, subject->device.path) ||
		       !strcmp(spelled, subject->paths[0]);
	return device_find(spelled, &named) && same(&named, &subject->device);
}

static bool names_device(const char *list, const struct subject *subject)
{
	struct span rest = span_of(list), word;
	bool found = false;

	while (!found && span_word(&rest, &word)) {
		char *spelled __free = xstrndup(word.start, word.length);

		found = is_named(subject, spelled);
	}
	return found;
}

/* Choose the last section that lists the device, or else the last that matches it. */
static bool choose(const struct conf *conf, const struct subject *subject, struct choice *choice)
{
	*choice = (struct choice){ .section = NULL };
	for (size_t i = conf->n; i-- > 0;) {
		const struct conf_section *section = &conf->v[i];
		const char *list = conf_text(section, KEY_DEVICE);

		if (section->kind != CONF_DEVICE ||
		    (!list && !subject->suitable) ||
		    !conf_selects(section, &subject->known) ||
		    (list && !names_device(list, subject)))
			continue;
		if (!choice->section || (list && !choice->named)) {
			choice->section = section;
			choice->named = list;
		}
	}
	choice->device = subject->device;
	choice->passed_over = subject->passed_over;
	snprintf(choice->label, sizeof(choice->label), "%s",
		 subject->known.mapper ? subject->known.mapper : subject->known.kernel);
	return choice->section;
}

static int check_named(const struct conf *conf, const struct conf_section *section)
{
	const char *list = conf_text(section, KEY_DEVICE);
	struct span rest = span_of(list ? list : ""), word;
	struct device device;
	char where[256];

	while (section->kind == CONF_DEVICE &&
	       !conf_flag(section, KEY_OPTIONAL) && span_word(&rest, &word)) {
		char *spelled __free = xstrndup(word.start, word.length);
		bool found = device_find(spelled, &device);
		int code = EXIT_OK;

		conf_where(conf, &section->value[KEY_DEVICE].place, where, sizeof(where));
		if (!found)
			code = fail(EXIT_MISSING,
				    "%s: there is no block device '%s' (lsblk lists them); with 'optional = yes' that is no error",
				    where, spelled);
		if (code != EXIT_OK)
			return code;
	}
	return EXIT_OK;
}

static int resolve_only(char *const *only, int n, struct device *devices)
{
	int code = EXIT_OK;

	for (int i = 0; i < n && code == EXIT_OK; i++)
		code = device_resolve(only[i], &devices[i]);
	return code;
}

static bool is_wanted(const struct device *device, const struct device *only, int n)
{
	for (int i = 0; i < n; i++) {
		if (same(device, &only[i]))
			return true;
	}
	return !n;
}

static int check_fitted(const struct choices *choices, char *const *only,
			const struct device *devices, int n)
{
	for (int i = 0; i < n; i++) {
		bool fits = false;

		for (size_t j = 0; j < choices->n && !fits; j++)
			fits = same(&choices->v[j].device, &devices[i]);
		if (!fits)
			return fail(EXIT_MISSING, "no section of the configuration fits %s",
				    only[i]);
	}
	return EXIT_OK;
}

static void look_at(struct udev *udev, const char *path, const struct conf *conf,
		    const struct device *only, int n, struct choices *choices)
{
	struct udev_device *found __cleanup(close_udev_device) =
		udev_device_new_from_syspath(udev, path);
	struct subject subject;
	struct choice choice;

	if (!found)
		return;
	if (describe(found, &subject) && is_wanted(&subject.device, only, n) &&
	    choose(conf, &subject, &choice))
		*XPUSH(choices->v, choices->n) = choice;
}

static int by_label(const void *left, const void *right)
{
	const struct choice *a = left, *b = right;

	return strverscmp(a->label, b->label);
}

static int look_at_all(const struct conf *conf, const struct device *only,
		       int n, struct choices *choices)
{
	struct udev *udev = udev_shared();
	struct udev_enumerate *all = udev ? udev_enumerate_new(udev) : NULL;
	struct udev_list_entry *entry;

	if (!all || udev_enumerate_add_match_subsystem(all, "block") < 0 ||
	    udev_enumerate_scan_devices(all) < 0)
		return fail(EXIT_FAILED, "cannot list the block devices; is /sys mounted?");
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(all))
		look_at(udev, udev_list_entry_get_name(entry), conf, only, n, choices);
	udev_enumerate_unref(all);
	if (choices->n)
		qsort(choices->v, choices->n, sizeof(*choices->v), by_label);
	return EXIT_OK;
}

/*
 * Find the block devices that the configuration selects.
 * @only: examine only these; each must match a section
 * @n_only: their number; 0 for all devices
 * @choices: the result, sorted by label; also to be freed after a failure
 */
int select_devices(const struct conf *conf, char *const *only, int n_only, struct choices *choices)
{
	struct device *devices __free = xcalloc(n_only, sizeof(*devices));
	int code = resolve_only(only, n_only, devices);

	*choices = (struct choices){ .n = 0 };
	for (size_t i = 0; i < conf->n && !n_only && code == EXIT_OK; i++)
		code = check_named(conf, &conf->v[i]);
	return code ?: look_at_all(conf, devices, n_only, choices) ?:
	       check_fitted(choices, only, devices, n_only);
}

/*
 * Check whether a link of udev's does not depend on contents.  Links by partuuid and
 * partlabel qualify: they come from the partition table of the disk.
 */
bool select_is_lasting(const char *link)
{
	return !text_begins(link, "/dev/disk/by-uuid/", "/dev/disk/by-label/",
			    "/dev/disk/by-diskseq/", "/dev/disk/by-id/lvm-pv-uuid-");
}

/*
 * Check whether the configuration selects a device in a uevent.
 * @found: the device; it may not have appeared yet
 *
 * Links that depend on the contents are ignored: they will point to the ioband device.
 */
bool select_event(const struct conf *conf, struct udev_device *found, struct choice *choice)
{
	struct subject subject;
	size_t n = 0;

	if (!describe(found, &subject))
		return false;
	for (size_t i = 0; subject.paths[i]; i++) {
		if (select_is_lasting(subject.paths[i]))
			subject.paths[n++] = subject.paths[i];
	}
	subject.paths[n] = NULL;
	return choose(conf, &subject, choice);
}

void choices_free(struct choices *choices)
{
	free(choices->v);
	*choices = (struct choices){ .n = 0 };
}

/*
 * A path of a device that survives a reboot.  Return: a path, to be freed: in /dev/mapper,
 * in /dev/disk/by-id, or without these the device's node.
 */
char *device_lasting_name(unsigned int major, unsigned int minor)
{
	struct udev_device *found __cleanup(close_udev_device) = udev_of(major, minor);
	struct subject subject;
	char *name = NULL;

	if (found && describe(found, &subject)) {
		name = subject.device.path;
		for (size_t i = 1; !subject.known.mapper && subject.paths[i]; i++) {
			if (name_is_lasting(subject.paths[i]) &&
			    (name == subject.device.path || strcmp(subject.paths[i], name) < 0))
				name = subject.paths[i];
		}
	}
	return name ? xstrdup(name) : xasprintf("/dev/block/%u:%u", major, minor);
}
