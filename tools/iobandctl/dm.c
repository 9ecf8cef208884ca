// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that is asked of device-mapper.  Alone talks to libdevmapper.
 *
 * The library logs what goes wrong, the cause first and its consequences after
 * it; the first is kept for an error message instead of all being printed.
 */
#include <errno.h>
#include <libdevmapper.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "dm.h"
#include "error.h"

#define TARGET "ioband"
#define LOG_LEVEL_ERROR 3	/* of libdevmapper; lower is worse */

static char complaint[256];

__printf(5, 6)
static void keep_log(int level, const char *file, int line, int error,
		     const char *fmt, ...)
{
	va_list args;

	(void)file;
	(void)line;
	(void)error;
	if ((level & 0xf) > LOG_LEVEL_ERROR || complaint[0])
		return;
	va_start(args, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, args);
	va_end(args);
}

static struct dm_task *task_new(int type, const char *name)
{
	struct dm_task *task;

	complaint[0] = 0;
	task = dm_task_create(type);
	if (!task || (name && !dm_task_set_name(task, name)))
		exit(fail(EXIT_FAILED, "libdevmapper: %s", complaint));
	return task;
}

/* The errno, negative, of a task that was run; 0 if it went well. */
static int task_run(struct dm_task *task)
{
	if (dm_task_run(task))
		return 0;
	return -(dm_task_get_errno(task) ? dm_task_get_errno(task) : EIO);
}

static int task_finish(struct dm_task *task)
{
	int error = task_run(task);

	dm_task_destroy(task);
	return error;
}

/* Run a task that makes udev act, and wait until udev has. */
static int task_finish_udev(struct dm_task *task)
{
	uint32_t cookie = 0;
	int error;

	if (!dm_task_set_cookie(task, &cookie, 0)) {
		dm_task_destroy(task);
		return -ENOMEM;
	}
	error = task_finish(task);
	dm_udev_wait(cookie);
	dm_task_update_nodes();
	return error;
}

/**
 * mapper_ready() - see whether the kernel's device-mapper answers
 *
 * Must be called before all others.
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int mapper_ready(void)
{
	char version[64];

	dm_log_with_errno_init(keep_log);
	if (dm_driver_version(version, sizeof(version)))
		return EXIT_OK;
	if (geteuid())
		return fail(EXIT_DENIED,
			    "device-mapper does not answer this user; run iobandctl as root");
	return fail(EXIT_NO_KERNEL,
		    "device-mapper does not answer; is it in this kernel, or 'modprobe dm-mod' needed? (%s)",
		    complaint);
}

static struct dm_task *run_query(int type, const char *name)
{
	struct dm_task *task = task_new(type, name);

	/* Only look: a flush would wait for the device. */
	if (dm_task_no_flush(task) && !task_run(task))
		return task;
	dm_task_destroy(task);
	return NULL;
}

/* What follows the target's name, if the (first) target is ours. */
static char *target_text(struct dm_task *task, bool *ours, uint64_t *sectors)
{
	char *type = NULL, *text = NULL;
	uint64_t start;

	dm_get_next_target(task, NULL, &start, sectors, &type, &text);
	*ours = type && !strcmp(type, TARGET);
	return *ours ? xstrdup(text ? text : "") : NULL;
}

static bool describe(struct dm_task *task, struct mapped_device *device)
{
	const char *uuid = dm_task_get_uuid(task);
	struct dm_info info;
	bool ours;

	if (!dm_task_get_info(task, &info) || !info.exists)
		return false;
	device->status = target_text(task, &ours, &device->sectors);
	if (!ours && (info.live_table || !uuid ||
		      strncmp(uuid, MAPPER_UUID_PREFIX,
			      strlen(MAPPER_UUID_PREFIX))))
		return false;
	snprintf(device->uuid, sizeof(device->uuid), "%s", uuid ? uuid : "");
	device->major = info.major;
	device->minor = info.minor;
	device->suspended = info.suspended;
	device->read_only = info.read_only;
	device->open_count = info.open_count;
	return true;
}

/*
 * The status line tells what target a device has.  The table line is asked
 * for only of our own: others' may hold keys.
 */
static bool examine(const char *name, struct mapped_device *device)
{
	struct dm_task *task = run_query(DM_DEVICE_STATUS, name);
	uint64_t sectors;
	bool found, ours;

	if (!task)
		return false;
	snprintf(device->name, sizeof(device->name), "%s", name);
	found = describe(task, device);
	dm_task_destroy(task);
	if (!found || !device->status)
		return found;
	task = run_query(DM_DEVICE_TABLE, name);
	if (task) {
		device->table = target_text(task, &ours, &sectors);
		dm_task_destroy(task);
	}
	if (device->table)
		return true;
	free(device->status);	/* it went away in between */
	return false;
}

/**
 * mapper_list() - find all ioband devices
 * @devices: the result, in no particular order
 *
 * Those are the devices with an ioband table, and those without any table
 * whose UUID says that they were to have one.
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int mapper_list(struct mapped_devices *devices)
{
	struct dm_task *task = run_query(DM_DEVICE_LIST, NULL);
	struct dm_names *names = task ? dm_task_get_names(task) : NULL;

	*devices = (struct mapped_devices){ .n = 0 };
	if (!names) {
		if (task)
			dm_task_destroy(task);
		return fail(EXIT_FAILED, "cannot list the dm devices: %s",
			    complaint);
	}
	while (names->dev) {
		devices->v = xgrow(devices->v, devices->n,
				   sizeof(*devices->v));
		devices->v[devices->n] = (struct mapped_device){ .major = 0 };
		if (examine(names->name, &devices->v[devices->n]))
			devices->n++;
		if (!names->next)
			break;
		names = (struct dm_names *)((char *)names + names->next);
	}
	dm_task_destroy(task);
	return EXIT_OK;
}

/**
 * mapper_list_free() - free what mapper_list() found
 * @devices: the list, left empty
 */
void mapper_list_free(struct mapped_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		free(devices->v[i].table);
		free(devices->v[i].status);
	}
	free(devices->v);
	*devices = (struct mapped_devices){ .n = 0 };
}

/**
 * mapper_exists() - see whether there is a dm device, of any target
 * @name: its name, or NULL
 * @uuid: its UUID, if @name is NULL
 *
 * Return: whether there is.
 */
bool mapper_exists(const char *name, const char *uuid)
{
	struct dm_task *task = task_new(DM_DEVICE_INFO, name);
	struct dm_info info = { .exists = 0 };

	if ((name || dm_task_set_uuid(task, uuid)) && !task_run(task) &&
	    !dm_task_get_info(task, &info))
		info.exists = 0;
	dm_task_destroy(task);
	return info.exists;
}

/**
 * mapper_has_target() - see whether the kernel knows the target now
 *
 * Return: whether it does.
 */
bool mapper_has_target(void)
{
	struct dm_task *task = run_query(DM_DEVICE_LIST_VERSIONS, NULL);
	struct dm_versions *target = task ? dm_task_get_versions(task) : NULL;
	bool found = false;

	while (target) {
		found = found || !strcmp(target->name, TARGET);
		if (!target->next)
			break;
		target = (struct dm_versions *)((char *)target + target->next);
	}
	if (task)
		dm_task_destroy(task);
	return found;
}

/**
 * mapper_create() - make an ioband device and wait for its node
 * @device: what to make
 *
 * The kernel loads the module if it is not there.  On failure nothing is left
 * of the device.
 *
 * Return: 0 or a negative errno.
 */
int mapper_create(const struct new_device *device)
{
	struct dm_task *task = task_new(DM_DEVICE_CREATE, device->name);

	if (!dm_task_set_uuid(task, device->uuid) ||
	    !dm_task_add_target(task, 0, device->sectors, TARGET,
				device->table) ||
	    (device->read_only && !dm_task_set_ro(task))) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return task_finish_udev(task);
}

/**
 * mapper_reload() - give an ioband device another table
 * @device: its name, its size and its table
 *
 * The new table is checked before the old one goes; what is held goes down
 * first.
 *
 * Return: 0 or a negative errno.
 */
int mapper_reload(const struct new_device *device)
{
	struct dm_task *task = task_new(DM_DEVICE_RELOAD, device->name);
	int error = -EINVAL;

	if (dm_task_add_target(task, 0, device->sectors, TARGET,
			       device->table) &&
	    (!device->read_only || dm_task_set_ro(task)))
		error = task_run(task);
	dm_task_destroy(task);
	if (error)
		return error;
	error = task_finish_udev(task_new(DM_DEVICE_RESUME, device->name));
	if (error)
		task_finish(task_new(DM_DEVICE_CLEAR, device->name));
	return error;
}

/**
 * mapper_remove() - remove a device
 * @name: its name
 * @deferred: if it is open, remove it when it is closed
 *
 * A device that is busy is tried again for some seconds, as udev may be
 * looking at it.
 *
 * Return: 0 or a negative errno.
 */
int mapper_remove(const char *name, bool deferred)
{
	struct dm_task *task = task_new(DM_DEVICE_REMOVE, name);

	if (!(deferred ? dm_task_deferred_remove(task) :
			 dm_task_retry_remove(task))) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return task_finish_udev(task);
}

/**
 * mapper_message() - send a message to a device's target
 * @name: of the device
 * @message: the message
 * @answer: what the target answers, to be freed; NULL if it is not wanted
 *
 * Return: 0 or a negative errno.
 */
int mapper_message(const char *name, const char *message, char **answer)
{
	struct dm_task *task = task_new(DM_DEVICE_TARGET_MSG, name);
	const char *text;
	int error = -EINVAL;

	if (dm_task_set_sector(task, 0) && dm_task_set_message(task, message))
		error = task_run(task);
	if (!error && answer) {
		text = dm_task_get_message_response(task);
		*answer = xstrdup(text ? text : "");
	}
	dm_task_destroy(task);
	return error;
}

/**
 * mapper_volume_name() - the mapper name of a logical volume
 * @group: its volume group
 * @volume: its name in it
 *
 * Return: the name, to be freed.
 */
char *mapper_volume_name(const char *group, const char *volume)
{
	struct dm_pool *memory = dm_pool_create("names", 512);
	char *name = memory ?
		     dm_build_dm_name(memory, group, volume, NULL) : NULL;

	if (!name)
		exit(fail(EXIT_FAILED, "out of memory"));
	name = xstrdup(name);
	dm_pool_destroy(memory);
	return name;
}
