// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioband below a device-mapper device in use.
 *
 *	before				after
 *
 *	vg0-web: linear 8:0		vg0-web: ioband vg0-web-ioband
 *					vg0-web-ioband: linear 8:0
 *
 * vg0-web keeps its name, UUID and number, so its users notice nothing.  Its own table moves to a
 * hidden device.  To insert: (1) make the hidden device and open it, (2) have the kernel remove it
 * with its last user, (3) load the ioband table, (4) switch to it.  To extract: (1) load the table
 * of the hidden device, (2) switch to it.
 *
 * The switch is one call to the kernel.  Therefore a tool that is killed cannot leave a device that
 * blocks I/O.  It can leave an unused hidden device, or a table that is loaded but not in use.
 * Both have no effect, and are removed before any other change.  Because of (2) nothing remains
 * either if another program, such as LVM, gives the device a new table: ioband is out, and the
 * hidden device disappears.
 *
 * With a thin volume of LVM, LVM itself removes the hidden device.  LVM has to find the thin pool,
 * to suspend the devices above it, to send it messages or to take it down.  LVM walks from a volume
 * to the devices below, and stops at a UUID outside the volume group.  When the pool was hidden
 * from this walk, LVM made no snapshot, and reported success.  Therefore the hidden device has the
 * UUID of a layer that any volume may have (that of the data of a snapshot's origin).  LVM suspends
 * it between the volume and the pool, resumes it, and removes it once no device lies on it.
 * Automatic removal by (2) would end the walk there when a volume is deactivated, and the pool
 * would remain.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/records.h"
#include "base/words.h"
#include "host/device.h"
#include "host/layer.h"
#include "host/lvm.h"
#include "ioband/under.h"
#include "kernel/kmsg.h"
#include "kernel/swap.h"

#define SUFFIX "-ioband"
#define LAYER "-real"

#ifdef FAILPOINTS
void under_step(const char *step)
{
	const char *wanted = getenv("IOBANDCTL_DIES_AT");

	if (wanted && !strcmp(wanted, step))
		kill(getpid(), SIGKILL);
}
#endif

static bool ends(const char *text, const char *suffix)
{
	size_t length = strlen(text);

	return length >= strlen(suffix) && !strcmp(text + length - strlen(suffix), suffix);
}

/* The name of a layer made by LVM ends like its UUID. */
static bool is_hidden(const char *name, const char *uuid)
{
	return text_after(uuid, UNDER_UUID_PREFIX) ||
	       (lvm_owns(uuid) && ends(uuid, LAYER) && ends(name, SUFFIX));
}

/* Check whether a block device is a hidden device. */
bool under_is_hidden(unsigned int major, unsigned int minor)
{
	char name[DEVICE_NAME_SIZE], uuid[MAPPER_UUID_SIZE];

	return device_attribute(major, minor, "dm/uuid", uuid, sizeof(uuid)) &&
	       device_attribute(major, minor, "dm/name", name, sizeof(name)) &&
	       is_hidden(name, uuid);
}

/*
 * Choose the UUID of a hidden device.
 * @lvms: true if the UUID makes the hidden device one of LVM's
 * Return: the UUID, to be freed.
 */
char *under_uuid(const struct under *under, const struct mapped_table *own, bool *lvms)
{
	*lvms = lvm_owns(under->dm.uuid) && own->n && !strcmp(own->v[0].type, "thin");
	return *lvms ? xasprintf("%s" LAYER, under->dm.uuid) :
		       xasprintf(UNDER_UUID_PREFIX "%s", under->name);
}

bool under_is_inserted(const struct ioband_device *device)
{
	return device->dm->table && under_is_hidden(device->table.device[0],
						    device->table.device[1]);
}

/*
 * Find the hidden device below the ioband table in use; lvrename may have
 * renamed it. sysfs is no help: it also shows the devices below a loaded table.
 */
static bool find_hidden(struct under *under)
{
	unsigned int major, minor;
	struct mapped_table table __cleanup(mapper_table_free);
	bool found = !mapper_table(under->name, &table) && table.n == 1 &&
		     !strcmp(table.v[0].type, "ioband") &&
		     sscanf(table.v[0].words, "%u:%u", &major, &minor) == 2 &&
		     under_is_hidden(major, minor);

	if (found)
		device_label(major, minor, under->hidden);
	return found;
}

/* Read the state of an insertion. */
int under_look(const char *name, struct under *under)
{
	struct under found = { .inserted = false };
	struct mapped_device hidden;

	if (strlen(name) + strlen(UNDER_UUID_PREFIX) >= MAPPER_NAME_SIZE - 1)
		return fail(EXIT_USAGE,
			    "the name of %s is too long to be lengthened; 'dmsetup rename' gives it another",
			    name);
	if (!mapper_state(name, &found.dm))
		return fail(EXIT_MISSING, "there is no dm device %s", name);
	snprintf(found.name, sizeof(found.name), "%s", name);
	found.inserted = find_hidden(&found);
	if (!found.inserted)
		snprintf(found.hidden, sizeof(found.hidden), "%.110s" SUFFIX, name);
	found.has_hidden = mapper_state(found.hidden, &hidden) &&
			   is_hidden(found.hidden, hidden.uuid);
	found.stopped = found.has_hidden && hidden.suspended;
	*under = found;
	return EXIT_OK;
}

static int report(const struct under *under, const char *what, int error)
{
	return fail(exit_code_of(-error), "cannot %s of %s: %s", what,
		    under->name, kmsg_reason(-error));
}

static int drop_hidden(const struct under *under)
{
	struct mapped_device hidden;
	int error = mapper_remove(under->hidden, false);

	if (error && mapper_state(under->hidden, &hidden))
		return report(under, "remove the hidden device", error);
	return EXIT_OK;
}

static int refuse_loaded(const struct under *under)
{
	return fail(EXIT_IN_USE,
		    "%s has a table that is loaded and not in use: another program is about to change the device; if none is, 'dmsetup clear %s'",
		    under->name, under->name);
}

/* The loaded table is ioband over the hidden device, or the table of the hidden device. */
static bool loaded_is_ours(const struct under *under)
{
	struct mapped_table waiting __cleanup(mapper_table_free);
	struct mapped_table own;
	struct mapped_device hidden;
	unsigned int major, minor;
	bool ours = !mapper_waiting(under->name, &waiting) && mapper_state(under->hidden, &hidden);

	if (ours && waiting.n == 1 && !strcmp(waiting.v[0].type, "ioband")) {
		ours = sscanf(waiting.v[0].words, "%u:%u", &major, &minor) == 2 &&
		       major == hidden.major && minor == hidden.minor;
	} else if (ours) {
		ours = !mapper_table(under->hidden, &own) && swap_same(&own, &waiting);
		mapper_table_free(&own);
	}
	return ours;
}

/*
 * Remove the remains of an interrupted insertion or extraction.
 * @under: the device; read again after a repair
 * @repaired: true if there was anything to remove
 */
int under_repair(struct under *under, bool *repaired)
{
	const char *stopped = under->dm.suspended ? under->name : under->hidden;
	int code = EXIT_OK, error = 0;

	*repaired = false;
	if (under->dm.suspended || under->stopped)
		return fail(EXIT_IN_USE,
			    "%s is suspended: another program is changing it; if none is, 'dmsetup resume %s'",
			    stopped, stopped);
	if (under->dm.loaded && (!under->has_hidden || !loaded_is_ours(under)))
		return refuse_loaded(under);
	if (!under->dm.loaded && (under->inserted || !under->has_hidden))
		return EXIT_OK;
	*repaired = true;
	kmsg_mark();
	if (under->dm.loaded)
		error = mapper_clear(under->name);
	if (error)
		return report(under, "clear the table that waits for the resume", error);
	if (!under->inserted)
		code = drop_hidden(under);
	if (code != EXIT_OK)
		return code;
	note("note: %s was left half done in %s, and was undone",
	     under->inserted ? "an extraction" : "an insertion", under->name);
	return under_look(under->name, under);
}

enum fit { FITS, FITS_BELOW, FITS_NOT };

/*
 * The table of a device is in use twice for a moment, by the device and by the hidden device.  This
 * is harmless if a target only forwards I/O.  It is also harmless if the target's state is in a
 * device that both share, as with thin volumes.  Two cases use the device below instead.  The
 * exceptions of a snapshot cannot have two users.  The key of an encrypted volume may be in the
 * kernel's keyring and not in the table.
 */
static enum fit fit_of(const struct mapped_target *target)
{
	if (text_is(target->type, "linear", "striped", "snapshot-origin", "delay", "flakey",
		    "error", "zero", "thin"))
		return FITS;
	if (!strcmp(target->type, "snapshot"))
		return FITS_BELOW;
	if (strcmp(target->type, "crypt"))
		return FITS_NOT;
	return layer_hides_key(target->words) ? FITS_BELOW : FITS;
}

/* Check whether the only device below is a dm device with a table of this type. */
static bool lies_on(const struct under *under, const char *type, struct device *next)
{
	struct device device = { .major = under->dm.major, .minor = under->dm.minor };
	struct names below __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct mapped_table table __cleanup(mapper_table_free) = { .n = 0 };
	bool found = false;

	if (device_related(&device, "slaves", &below) == 1 &&
	    device_of_kernel_name(below.v[0], next) &&
	    device_attribute(next->major, next->minor, "dm/name", label, sizeof(label)) &&
	    !mapper_table(label, &table))
		found = table.n && !strcmp(table.v[0].type, type);
	return found;
}

/* LVM represents a thin pool by such a linear device, and must find the pool. */
static bool stands_for_pool(const struct under *under)
{
	struct device next;

	return lies_on(under, "thin-pool", &next);
}

/*
 * LVM adds a layer to a thin volume that has a snapshot with a size of its own,
 * or that a pool uses as an external origin.  That layer has already taken the
 * UUID.  This finds both the layer's device and the volume above it.
 */
static bool is_layered_thin(const struct under *under, const char *type)
{
	size_t group = strlen(MAPPER_LVM_UUID_PREFIX) + LVM_ID;
	char uuid[MAPPER_UUID_SIZE];
	struct device next;

	if (!lvm_owns(under->dm.uuid))
		return false;
	if (!strcmp(type, "thin"))
		return lvm_is_part(under->dm.uuid);
	return lies_on(under, "thin", &next) &&
	       device_attribute(next.major, next.minor, "dm/uuid", uuid, sizeof(uuid)) &&
	       !strncmp(uuid, under->dm.uuid, group);
}

static int refuse_target(const char *name, const char *type)
{
	if (!strcmp(type, "ioband"))
		return fail(EXIT_IN_USE, "%s is an ioband device itself", name);
	if (!strcmp(type, "thin"))
		return fail(EXIT_FAILED,
			    "%s is, or lies on, a thin volume that is the origin of something outside its pool, where ioband would hide the pool from LVM; insert it into the volume with the data of the pool ('dmsetup ls --tree' shows it)",
			    name);
	if (!strcmp(type, "thin-pool"))
		return fail(EXIT_FAILED,
			    "%s is a thin pool, with a table of target thin-pool, which cannot be in use twice; insert ioband into its thin volumes, or for all of them into the volume with their data ('dmsetup ls --tree' shows it)",
			    name);
	return fail(EXIT_FAILED,
		    "%s has a table of target %s, which cannot be in use twice, not even for a moment; insert ioband into the dm devices below it ('dmsetup ls --tree' shows them), or unmount it and 'iobandctl wrap' it",
		    name, type);
}

static int refuse_below(const char *name, const char *type, const char *below)
{
	if (!strcmp(type, "crypt"))
		return fail(EXIT_FAILED,
			    "the key of %s is in the kernel's keyring, which does not give it back, and %s below is not a dm device; 'cryptsetup refresh --disable-keyring %s' changes the first (insert ioband again then), or close it, 'iobandctl wrap %s', and open it from there",
			    name, below, name, below);
	return fail(EXIT_FAILED,
		    "%s is a snapshot, so ioband would go below it, and %s there is not a dm device; unmount it and 'iobandctl wrap' it",
		    name, below);
}

static int add_place(const char *name, struct names *places);

static int add_below(const char *name, const char *type, struct names *places)
{
	struct names below __cleanup(names_free) = { .n = 0 };
	char label[DEVICE_NAME_SIZE];
	struct mapped_device state;
	struct device device;
	int code = EXIT_OK;

	mapper_state(name, &state);
	device.major = state.major;
	device.minor = state.minor;
	device_related(&device, "slaves", &below);
	for (size_t i = 0; code == EXIT_OK && i < below.n; i++) {
		struct device next;

		if (!device_of_kernel_name(below.v[i], &next) ||
		    !device_attribute(next.major, next.minor, "dm/name", label, sizeof(label)))
			code = refuse_below(name, type, below.v[i]);
		else
			code = add_place(label, places);
	}
	return code;
}

static int add_place(const char *name, struct names *places)
{
	struct mapped_table table __cleanup(mapper_table_free) = { .n = 0 };
	struct under under;
	enum fit fit = FITS;
	size_t worst = 0;
	int code = under_look(name, &under);

	if (code == EXIT_OK && under.inserted)
		names_add(places, name);
	if (code != EXIT_OK || under.inserted)
		return code;
	if (mapper_table(name, &table) || !table.n)
		return fail(EXIT_FAILED, "%s has no table", name);
	for (size_t i = 0; i < table.n; i++) {
		if (fit_of(&table.v[i]) > fit) {
			fit = fit_of(&table.v[i]);
			worst = i;
		}
	}
	if (!strcmp(table.v[0].type, "linear") && stands_for_pool(&under))
		code = refuse_target(name, "thin-pool");
	else if (is_layered_thin(&under, table.v[0].type))
		code = refuse_target(name, "thin");
	else if (fit == FITS)
		names_add(places, name);
	else if (fit == FITS_BELOW)
		code = add_below(name, table.v[worst].type, places);
	else
		code = refuse_target(name, table.v[worst].type);
	return code;
}

/*
 * Return: the block device.  Its node may be missing: without udev, as in a container, LVM makes
 * nodes itself, and udev removes them when LVM gives the device a new table.
 */
struct device under_device(const struct under *under)
{
	struct device device = { .major = under->dm.major, .minor = under->dm.minor };

	snprintf(device.path, sizeof(device.path), "/dev/mapper/%s", under->name);
	return device;
}

/*
 * Find the devices for an insertion or extraction.
 * @spelled: as for device_find()
 * @places: the names of dm devices: this device, or devices below it
 */
int under_places(const char *spelled, struct names *places)
{
	char name[DEVICE_NAME_SIZE];
	struct device device;
	int code = device_resolve(spelled, &device);

	if (code != EXIT_OK)
		return code;
	if (device_attribute(device.major, device.minor, "dm/name", name, sizeof(name)))
		return add_place(name, places);
	return fail(EXIT_FAILED,
		    "%s is not a device of device-mapper, so its table cannot be changed while it is in use; unmount it, and 'iobandctl wrap %s'",
		    spelled, spelled);
}

/*
 * Check whether ioband is or can be in a device itself.  Repeat the check after the device
 * is locked.
 * Return: true if so; otherwise an error may have been reported.
 */
bool under_is_place(const char *name)
{
	struct names places __cleanup(names_free) = { .n = 0 };

	return add_place(name, &places) == EXIT_OK && places.n == 1 &&
	       !strcmp(places.v[0], name);
}

/* Record that ioband is to be in a device. */
void under_remember(const char *name)
{
	char *record __free = records_path(name);
	int fd;

	mkdir(records_directory(), 0755);
	fd = open(record, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

/* Remove the record of under_remember().  Return: true if there was a record. */
bool under_forget(const char *name)
{
	char *record __free = records_path(name);

	return !unlink(record);
}

/* Find unused hidden devices, and devices with a loaded table. */
static void find_half(const char *kernel_name, struct names *half)
{
	char name[MAPPER_NAME_SIZE], hidden[MAPPER_NAME_SIZE];
	struct mapped_device state;
	struct device device;

	if (!device_of_kernel_name(kernel_name, &device) ||
	    !under_is_hidden(device.major, device.minor))
		return;
	device_label(device.major, device.minor, hidden);
	snprintf(name, sizeof(name), "%s", hidden);
	if (strlen(name) > strlen(SUFFIX))
		name[strlen(name) - strlen(SUFFIX)] = 0;
	if (mapper_state(hidden, &state) && !state.open_count)
		names_add(half, name);
	else if (mapper_state(name, &state) && state.loaded)
		names_add(half, name);
}

static void find_lost(const char *name, struct names *lost)
{
	struct under under;
	struct mapped_device state;

	if (mapper_state(name, &state) && under_look(name, &under) == EXIT_OK && !under.inserted)
		names_add(lost, name);
}

typedef void (*finder)(const char *entry, struct names *names);

static void visit(const char *path, finder find, struct names *names)
{
	DIR *entries = opendir(path);
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] != '.')
			find(entry->d_name, names);
	}
	if (entries)
		closedir(entries);
}

/*
 * Find incomplete and lost insertions.
 * @half: receives the names of devices with an incomplete insertion or extraction
 * @lost: receives the names of devices that should have ioband and do not
 */
void under_trouble(struct names *half, struct names *lost)
{
	visit("/sys/class/block", find_half, half);
	visit(records_directory(), find_lost, lost);
}
