// SPDX-License-Identifier: GPL-2.0-only
/* Creation of an ioband device over a whole device: settings, pool, table. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/words.h"
#include "host/blockage.h"
#include "host/lvm.h"
#include "host/use.h"
#include "ioband/make.h"
#include "ioband/pool.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"

/*
 * The slice of disks that seek, in ms.  It is long against a change of groups, which costs two
 * seeks.  It is short enough that a reader outside its slice does not appear to hang.  BFQ's slices
 * have the same length: 1/8 s, which its clock of 250 Hz rounds to 31/250 s.
 */
#define SLICE_OF_DISKS "124"

/* Check the name of a new device. */
int make_check_name(const char *name)
{
	size_t longest = MAPPER_NAME_SIZE - 1 - strlen(MAPPER_UUID_PREFIX);
	const char *under = UNDER_UUID_PREFIX + strlen(MAPPER_UUID_PREFIX);

	if (text_after(name, under))
		return fail(EXIT_USAGE,
			    "'%s' cannot be a device's name: with %s begin the UUIDs of the hidden devices of 'iobandctl insert'",
			    name, under);
	if (*name && strlen(name) <= longest && *name != '-' &&
	    strcmp(name, ".") && strcmp(name, "..") &&
	    strcmp(name, "control") && !name[strspn(name, MAKE_NAME_CHARACTERS)])
		return EXIT_OK;
	return fail(EXIT_USAGE,
		    "'%s' cannot be a device's name: that takes 1 to %zu of the characters A-Z a-z 0-9 # + - . : = @ _, the first not '-', and is not 'control'",
		    name, longest);
}

static int check_number(const char *option, const char *text, uint64_t min,
			uint64_t max, const char *word)
{
	uint64_t number;

	if (!text || (word && !strcmp(text, word)) ||
	    (span_u64(span_of(text), max, &number) && number >= min))
		return EXIT_OK;
	return fail(EXIT_USAGE, "--%s '%s': it is a number from %llu to %llu%s%s",
		    option, text, (unsigned long long)min,
		    (unsigned long long)max, word ? ", or " : "", word ? word : "");
}

/* Check that a setting is one word; the kernel checks its value. */
static int check_word(const char *option, const char *text)
{
	size_t length = 0;

	while (text && (isalnum((unsigned char)text[length]) ||
			text[length] == '+' || text[length] == '-'))
		length++;
	if (!text || (length && !text[length]))
		return EXIT_OK;
	return fail(EXIT_USAGE, "--%s '%s': it is one word", option, text);
}

/* Check that settings are words of a table line.  The kernel checks their values. */
int settings_check(const struct settings *settings)
{
	int code = EXIT_OK;

	if (settings->pool && !parse_pool_name(settings->pool))
		code = fail(EXIT_USAGE,
			    "--pool '%s': it is 1 to 63 of the characters A-Z a-z 0-9 _ . : + -, the first not '-'",
			    settings->pool);
	code = code ?: check_word("mode", settings->mode) ?:
	       check_word("measure", settings->measure);
	if (code == EXIT_OK && settings->weight && !weight_of(settings->weight))
		code = fail(EXIT_USAGE, "--weight '%s': it is a number from 1 to %u, or idle",
			    settings->weight, IOBAND_WEIGHT_MAX);
	if (code == EXIT_OK && settings->depth && !parse_depth(settings->depth))
		code = fail(EXIT_USAGE, "--depth '%s': it is " DEPTH_SAYS, settings->depth);
	return code ?: check_number("slice", settings->slice, 0, IOBAND_SLICE_MAX_MS, "auto") ?:
	       check_number("writes-starved", settings->writes_starved, 1,
			    IOBAND_WRITES_STARVED_MAX, NULL);
}

static int check_free(const char *name, const char *uuid, const struct device *device)
{
	struct problem use;

	if (mapper_exists(name, NULL))
		return fail(EXIT_IN_USE,
			    "there is a dm device %s already; choose another name", name);
	if (mapper_exists(NULL, uuid))
		return fail(EXIT_IN_USE,
			    "a dm device that was renamed has the UUID %s; choose another name",
			    uuid);
	if (use_of_device(device, &use) || use_exclusive(device, &use) || use_as_part(device, &use))
		return fail(EXIT_IN_USE, "%s is in use: %s", device->path, use.text);
	if (use_by_process(device, false, &use))
		note("note: %s, and goes past the new device until it opens /dev/mapper/%s instead",
		     use.text, name);
	return EXIT_OK;
}

/* Find all devices above a device, at any distance. */
static void find_above(const struct device *device, struct names *above)
{
	struct names next __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct device holder;

	device_related(device, "holders", &next);
	for (size_t i = 0; i < next.n; i++) {
		if (!device_of_kernel_name(next.v[i], &holder))
			continue;
		device_label(holder.major, holder.minor, label);
		names_add(above, label);
		find_above(&holder, above);
	}
}

static bool finds_pool(const struct ioband_devices *devices, const struct names *others,
		       const char *where, const char *pool, struct problem *why)
{
	for (size_t i = 0; i < others->n; i++) {
		const struct ioband_device *other = ioband_named(devices, others->v[i]);

		if (!other || !other->dm->table || strcmp(other->table.pool, pool))
			continue;
		problem_set(why, "ioband device %s, which is %s, is in pool %s already",
			    other->dm->name, where, pool);
		return true;
	}
	return false;
}

static void name_pool(const char *asked, const struct names *disks, char pool[IOBAND_POOL_SIZE])
{
	if (asked)
		snprintf(pool, IOBAND_POOL_SIZE, "%s", asked);
	else
		pool_name_of(disks, pool);
}

/*
 * Check whether a pool would count the same bio twice.
 * @pool: the pool of the new device; NULL for the pool of the disks below
 * @device: the device below the new one
 */
bool make_is_twice(const struct ioband_devices *devices, const char *pool,
		   const struct device *device, struct problem *why)
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };
	struct names above __cleanup(names_free) = { .n = 0 };
	char name[IOBAND_POOL_SIZE];

	device_disks(device, &disks, &passed);
	find_above(device, &above);
	name_pool(pool, &disks, name);
	return finds_pool(devices, &passed, "below", name, why) ||
	       finds_pool(devices, &above, "above", name, why);
}

static bool all_seek(const struct names *disks)
{
	char rotational[8];
	struct device disk;

	for (size_t i = 0; i < disks->n; i++) {
		if (!device_of_kernel_name(disks->v[i], &disk) ||
		    !device_attribute(disk.major, disk.minor,
				      "queue/rotational", rotational,
				      sizeof(rotational)) ||
		    !pool_disk_seeks(disks->v[i], rotational))
			return false;
	}
	return disks->n;
}

/*
 * The default slice of a pool.
 * @disks: the disks of the pool, by the kernel's names, without partitions
 * Return: the word for the table line; a pool with slices shares time.
 */
const char *make_slice_of(const struct names *disks)
{
	return all_seek(disks) ? SLICE_OF_DISKS : "0";
}

/* The slice in the table line; NULL keeps the pool's or the kernel's. */
static const char *choose_slice(const struct ioband_devices *devices,
				const struct settings *settings,
				const char *pool, const struct names *disks)
{
	const char *asked = settings->slice;

	if (asked && strcmp(asked, "auto"))
		return asked;
	if (!asked && ioband_in_pool(devices, pool))
		return NULL;
	return asked || all_seek(disks) ? make_slice_of(disks) : NULL;
}

/*
 * The measure in the table line; NULL keeps the pool's or the kernel's.  Random
 * readers get about a hundredth of the bytes from a disk that seeks.  A
 * sequential reader that shares bytes with one of these would wait for seconds.
 */
static const char *choose_measure(const struct ioband_devices *devices,
				  const struct settings *settings,
				  const char *pool, const struct names *disks)
{
	const char *slice = settings->slice;

	if (settings->measure || ioband_in_pool(devices, pool))
		return settings->measure;
	return slice && strcmp(slice, "0") && all_seek(disks) ? "time" : NULL;
}

/*
 * Likewise for writes_starved.  If the value is the present one, the word is
 * left out, because older modules do not know it.
 */
static const char *choose_writes_starved(const struct ioband_devices *devices,
					 const struct settings *settings, const char *pool)
{
	const struct ioband_device *member = ioband_in_pool(devices, pool);
	uint64_t has = member ? member->table.writes_starved : IOBAND_WRITES_STARVED_DEFAULT;
	const char *asked = settings->writes_starved;

	return asked && strtoul(asked, NULL, 10) == has ? NULL : asked;
}

/* Choose the pool and the settings of the table line, as given or by the disks below. */
static int choose_pool(const struct ioband_devices *devices, const struct device *device,
		       char pool[IOBAND_POOL_SIZE], struct settings *settings)
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };
	struct problem why;

	device_disks(device, &disks, &passed);
	name_pool(settings->pool, &disks, pool);
	settings->slice = choose_slice(devices, settings, pool, &disks);
	settings->measure = choose_measure(devices, settings, pool, &disks);
	settings->writes_starved = choose_writes_starved(devices, settings, pool);
	if (!make_is_twice(devices, pool, device, &why))
		return EXIT_OK;
	return fail(EXIT_FAILED, "%s; name another with --pool", why.text);
}

static char *table_line(const struct settings *settings,
			const struct device *device, const char *pool)
{
	const struct {
		const char *key;
		const char *value;
	} keys[] = {
		{ "mode", settings->mode },
		{ "weight", settings->weight },
		{ "measure", settings->measure },
		{ "depth", settings->depth },
		{ "slice", settings->slice },
		{ "writes_starved", settings->writes_starved },
	};
	char *words = xstrdup(""), *line;
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!keys[i].value)
			continue;
		xappend(&words, " %s=%s", keys[i].key, keys[i].value);
		n++;
	}
	line = n ? xasprintf("%u:%u 0 %s %d%s", device->major, device->minor,
			     pool, n, words) :
		   xasprintf("%u:%u 0 %s", device->major, device->minor, pool);
	free(words);
	return line;
}

static int explain(const struct device *device, const char *name, int error)
{
	struct problem use;
	struct utsname system;

	if (!mapper_has_target()) {
		uname(&system);
		return fail(EXIT_NO_KERNEL,
			    "this kernel has no ioband target, and module dm-ioband cannot be loaded; 'modprobe dm-ioband' says why (it must be built for kernel %s)",
			    system.release);
	}
	/* The errno may be wrong: libdevmapper does not always keep it. */
	if (use_of_device(device, &use) || use_exclusive(device, &use))
		return fail(EXIT_IN_USE, "%s is in use: %s", device->path, use.text);
	return fail(exit_code_of(-error), "cannot make %s over %s: %s",
		    name, device->path, kmsg_reason(-error));
}

/*
 * Write the table line of a new device.
 * @device: the device below
 * @line: the result after the target's name, to be freed; NULL after a failure
 */
int make_line(const struct ioband_devices *devices,
	      const struct settings *settings, const struct device *device, char **line)
{
	struct settings chosen = *settings;
	char pool[IOBAND_POOL_SIZE];
	int code = choose_pool(devices, device, pool, &chosen);

	*line = code == EXIT_OK ? table_line(&chosen, device, pool) : NULL;
	return code;
}

/*
 * A virtual machine may make a physical volume of its disk, which is a logical volume of the host.
 * LVM of the host skips its own volumes by their UUIDs.  It would scan an ioband device over such a
 * volume, and activate the volumes of the guest.
 */
static int find_guests(const struct device *device, bool *is)
{
	char uuid[MAPPER_UUID_SIZE];

	*is = false;
	if (!device_attribute(device->major, device->minor, "dm/uuid", uuid,
			      sizeof(uuid)) || !lvm_owns(uuid) ||
	    !lvm_is_member(device, is))
		return EXIT_OK;
	return fail(EXIT_FAILED,
		    "%s did not answer within a second: it may be a physical volume of a virtual machine, which LVM must not find; try again",
		    device->path);
}

/*
 * Make an ioband device over a whole device.
 * @device: the device below
 */
int make_device(const struct ioband_devices *devices,
		const struct settings *settings, const char *name, const struct device *device)
{
	char *uuid __free = xasprintf(MAPPER_UUID_PREFIX "%s", name);
	char *line __free = NULL;
	struct new_device made = { .name = name, .uuid = uuid };
	int error, code;

	code = blockage_check(device) ?:
	       check_free(name, uuid, device) ?:
	       device_size(device, &made.sectors, &made.read_only) ?:
	       make_line(devices, settings, device, &line) ?:
	       find_guests(device, &made.unseen) ?:
	       blockage_try(device);
	if (code == EXIT_OK) {
		made.table = line;
		kmsg_mark();
		error = mapper_create(&made);
		if (error)
			code = explain(device, name, error);
		else if (made.unseen)
			note("note: %s is a physical volume; see global_filter in iobandctl(8)",
			     device->path);
		else
			lvm_tell(device);
	}
	return code;
}
