// SPDX-License-Identifier: GPL-2.0-only
/*
 * All requests to device-mapper.  No other file calls libdevmapper.
 *
 * The library logs an error with its cause first and the consequences after it.
 * The first line is kept for an error message; the others are discarded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <libdevmapper.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/handles.h"
#include "base/infile.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/words.h"
#include "kernel/dm.h"
#include "kernel/parse.h"

#define TARGET "ioband"
#define LOG_LEVEL_ERROR 3	/* of libdevmapper; lower is worse */

static char complaint[256];

/* The udev cookie of the devices made since mapper_wait_later(). */
static bool waits_later;
static uint32_t made;

__printf(5, 6)
static void keep_log(int level, const char *file, int line, int error, const char *fmt, ...)
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

/* Run a task and return a negative errno, or 0. */
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

/* Run a task that generates uevents, for wait_for_udev(). */
static int task_start_udev(struct dm_task *task, uint16_t flags, uint32_t *cookie)
{
	if (dm_task_set_cookie(task, cookie, flags))
		return task_finish(task);
	dm_task_destroy(task);
	return -ENOMEM;
}

static void wait_for_udev(uint32_t *cookie)
{
	if (!*cookie)
		return;
	dm_udev_wait(*cookie);
	dm_task_update_nodes();
	*cookie = 0;
}

/* Run a task that generates uevents, and wait until udev has processed them. */
static int task_finish_udev(struct dm_task *task, uint16_t flags)
{
	uint32_t cookie = 0;
	int error = task_start_udev(task, flags, &cookie);

	wait_for_udev(&cookie);
	return error;
}

/* Read the version of the kernel's device-mapper.  Return: true if device-mapper answers. */
bool mapper_version(char *version, size_t size)
{
	dm_log_with_errno_init(keep_log);
	return dm_driver_version(version, size);
}

/* Check that the kernel's device-mapper answers.  Must be called before all other functions. */
int mapper_ready(void)
{
	char version[64];

	if (mapper_version(version, sizeof(version)))
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

	/* Without a flush, which would wait for the device. */
	if (dm_task_no_flush(task) && !task_run(task))
		return task;
	dm_task_destroy(task);
	return NULL;
}

/* The words after the target's name, if the (first) target is ioband. */
static char *target_text(struct dm_task *task, bool *ours, uint64_t *sectors)
{
	char *type = NULL, *text = NULL;
	uint64_t start;

	dm_get_next_target(task, NULL, &start, sectors, &type, &text);
	*ours = type && !strcmp(type, TARGET);
	return *ours ? xstrdup(text ? text : "") : NULL;
}

/* Describe an existing device, without its texts. */
static void describe(struct dm_task *task, const char *name, const struct dm_info *info,
		     struct mapped_device *device)
{
	*device = (struct mapped_device){
		.major = info->major, .minor = info->minor, .suspended = info->suspended,
		.read_only = info->read_only, .loaded = info->inactive_table,
		.open_count = info->open_count,
	};
	snprintf(device->name, sizeof(device->name), "%s", name);
	snprintf(device->uuid, sizeof(device->uuid), "%s", dm_task_get_uuid(task) ?: "");
}

static bool describe_ioband(struct dm_task *task, const char *name, struct mapped_device *device)
{
	struct dm_info info;
	bool ours;

	if (!dm_task_get_info(task, &info) || !info.exists)
		return false;
	describe(task, name, &info, device);
	device->status = target_text(task, &ours, &device->sectors);
	return ours || (!info.live_table && text_after(device->uuid, MAPPER_UUID_PREFIX));
}

/*
 * The status line names the target.  The table line is read only from ioband
 * devices: tables of other targets may contain keys.
 */
static bool examine(const char *name, struct mapped_device *device)
{
	struct dm_task *task = run_query(DM_DEVICE_STATUS, name);
	uint64_t sectors;
	bool found, ours;

	if (!task)
		return false;
	found = describe_ioband(task, name, device);
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
	free(device->status);	/* the device was removed in between */
	return false;
}

/*
 * Find all ioband devices.
 * @devices: the result, in no particular order
 *
 * The list has the devices with an ioband table, and devices without a table with the UUID
 * prefix of ioband.
 */
int mapper_list(struct mapped_devices *devices)
{
	struct dm_task *task = run_query(DM_DEVICE_LIST, NULL);
	struct dm_names *names = task ? dm_task_get_names(task) : NULL;

	*devices = (struct mapped_devices){ .n = 0 };
	if (!names) {
		if (task)
			dm_task_destroy(task);
		return fail(EXIT_FAILED, "cannot list the dm devices: %s", complaint);
	}
	while (names->dev) {
		devices->v = xgrow(devices->v, devices->n, sizeof(*devices->v));
		if (examine(names->name, &devices->v[devices->n]))
			devices->n++;
		if (!names->next)
			break;
		names = (struct dm_names *)((char *)names + names->next);
	}
	dm_task_destroy(task);
	return EXIT_OK;
}

void mapper_list_free(struct mapped_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		free(devices->v[i].table);
		free(devices->v[i].status);
	}
	free(devices->v);
	*devices = (struct mapped_devices){ .n = 0 };
}

/*
 * Read the status line of an ioband device.  Return: the words after the target's name, to
 * be freed; NULL if there are none.
 */
char *mapper_status(const char *name)
{
	struct dm_task *task = run_query(DM_DEVICE_STATUS, name);
	uint64_t sectors;
	char *status;
	bool ours;

	if (!task)
		return NULL;
	status = target_text(task, &ours, &sectors);
	dm_task_destroy(task);
	return status;
}

/*
 * Check whether a dm device of any target exists.
 * @name: its name, or NULL
 * @uuid: its UUID, if @name is NULL
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

/* Read the version of the loaded target.  Return: true if the kernel has the target now. */
bool mapper_target_version(unsigned int version[3])
{
	struct dm_task *task = run_query(DM_DEVICE_LIST_VERSIONS, NULL);
	struct dm_versions *target = task ? dm_task_get_versions(task) : NULL;
	bool found = false;

	while (target && !found) {
		found = !strcmp(target->name, TARGET);
		for (int i = 0; found && i < 3; i++)
			version[i] = target->version[i];
		if (!target->next)
			break;
		target = (struct dm_versions *)((char *)target + target->next);
	}
	if (task)
		dm_task_destroy(task);
	return found;
}

bool mapper_has_target(void)
{
	unsigned int version[3];

	return mapper_target_version(version);
}

/*
 * Have the kernel load the module if it is not loaded.  A failure to load shows later, when
 * a device is made.  systemd extends the timeout, so that the following steps have the time
 * of a command of their own.
 */
void mapper_load_target(void)
{
	struct dm_task *task = run_query(DM_DEVICE_GET_TARGET_VERSION, TARGET);

	if (task)
		dm_task_destroy(task);
	sd_notify(0, "EXTEND_TIMEOUT_USEC=30000000");
}

/*
 * Make an ioband device and wait for its node, or see mapper_wait_later().  The kernel
 * loads the module if necessary.  A failure leaves nothing of the device.
 */
int mapper_create(const struct new_device *device)
{
	struct dm_task *task = task_new(DM_DEVICE_CREATE, device->name);
	uint16_t flags = device->unseen ? DM_UDEV_DISABLE_OTHER_RULES_FLAG : 0;

	if (!dm_task_set_uuid(task, device->uuid) ||
	    !dm_task_add_target(task, 0, device->sectors, TARGET, device->table) ||
	    (device->read_only && !dm_task_set_ro(task))) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return waits_later ? task_start_udev(task, flags, &made) : task_finish_udev(task, flags);
}

/*
 * Make mapper_create() return without waiting for udev.  The devices accept messages at
 * once; their nodes and links exist after mapper_wait().
 */
void mapper_wait_later(void)
{
	waits_later = true;
}

/*
 * Wait until udev has processed all new devices.  Signals stay blocked: a program that ends
 * during the wait leaves libdevmapper's semaphore behind.  systemd's timeout is extended,
 * because all other work is done and udev is slow with many disks at once.  This delays no
 * mount: a mount's device is ready as soon as udev has processed it.
 */
void mapper_wait(void)
{
	sigset_t before;

	if (!made)
		return;
	sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
	interrupt_hold(&before);
	wait_for_udev(&made);
	interrupt_release(&before);
}

/* Read the state of a device of any target. */
bool mapper_state(const char *name, struct mapped_device *state)
{
	struct dm_task *task = run_query(DM_DEVICE_INFO, name);
	struct dm_info info = { .exists = 0 };

	*state = (struct mapped_device){ .major = 0 };
	if (task && dm_task_get_info(task, &info) && info.exists)
		describe(task, name, &info, state);
	if (task)
		dm_task_destroy(task);
	return info.exists;
}

static void collect_targets(struct dm_task *task, struct mapped_table *table)
{
	char *type = NULL, *words = NULL;
	uint64_t start, sectors;
	void *next = NULL;

	do {
		next = dm_get_next_target(task, next, &start, &sectors, &type, &words);
		if (!type)
			break;
		*XPUSH(table->v, table->n) = (struct mapped_target){
			.start = start,
			.sectors = sectors,
			.type = xstrdup(type),
			.words = xstrdup(words ? words : ""),
		};
	} while (next);
}

static int read_table(const char *name, bool waiting, struct mapped_table *table)
{
	struct dm_task *task = task_new(DM_DEVICE_TABLE, name);
	int error = -ENOMEM;

	*table = (struct mapped_table){ .n = 0 };
	if (dm_task_no_flush(task) && dm_task_secure_data(task) &&
	    (!waiting || dm_task_query_inactive_table(task)))
		error = task_run(task);
	if (!error)
		collect_targets(task, table);
	dm_task_destroy(task);
	return error;
}

/*
 * Read the table in use, with its keys.
 * @table: the result, for mapper_table_free()
 */
int mapper_table(const char *name, struct mapped_table *table)
{
	return read_table(name, false, table);
}

/*
 * Read the table that is loaded for a device's next resume.
 * @table: the result, for mapper_table_free(); empty if no table is loaded
 */
int mapper_waiting(const char *name, struct mapped_table *table)
{
	return read_table(name, true, table);
}

static bool has_no_path(const char *name)
{
	struct dm_task *task = run_query(DM_DEVICE_STATUS, name);
	char *type = NULL, *text = NULL;
	uint64_t start, sectors;
	bool none;

	if (!task)
		return false;
	dm_get_next_target(task, NULL, &start, &sectors, &type, &text);
	none = type && !strcmp(type, "multipath") && text && !parse_has_path(text);
	dm_task_destroy(task);
	return none;
}

/* Check whether a multipath device queues I/O for lack of a path. */
bool mapper_is_pathless(const char *name)
{
	struct mapped_table table __cleanup(mapper_table_free) = { .n = 0 };

	return has_no_path(name) && !mapper_table(name, &table) &&
	       table.n && strstr(table.v[0].words, "queue_if_no_path");
}

/* Clear and free a table, which may contain keys. */
void mapper_table_free(struct mapped_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		explicit_bzero(table->v[i].words, strlen(table->v[i].words));
		free(table->v[i].words);
		free(table->v[i].type);
	}
	free(table->v);
	*table = (struct mapped_table){ .n = 0 };
}

static bool add_table(struct dm_task *task, const struct mapped_table *table, bool read_only)
{
	bool added = dm_task_secure_data(task) && (!read_only || dm_task_set_ro(task));

	for (size_t i = 0; added && i < table->n; i++)
		added = dm_task_add_target(task, table->v[i].start, table->v[i].sectors,
					   table->v[i].type, table->v[i].words);
	return added;
}

/*
 * Make a device for use by another device only.
 * @read_only: refuse writes
 *
 * udev makes its node, but does not scan it and makes no links to it.
 */
int mapper_create_hidden(const char *name, const char *uuid,
			 const struct mapped_table *table, bool read_only)
{
	struct dm_task *task = task_new(DM_DEVICE_CREATE, name);

	if (!dm_task_set_uuid(task, uuid) || !add_table(task, table, read_only)) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return task_finish_udev(task, DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG |
				DM_UDEV_DISABLE_DISK_RULES_FLAG |
				DM_UDEV_DISABLE_OTHER_RULES_FLAG);
}

/*
 * Load a table for a device's next resume.
 * @read_only: refuse writes
 */
int mapper_load(const char *name, const struct mapped_table *table, bool read_only)
{
	struct dm_task *task = task_new(DM_DEVICE_RELOAD, name);

	if (!add_table(task, table, read_only)) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return task_finish(task);
}

/* Clear the table that is loaded for a device's next resume. */
int mapper_clear(const char *name)
{
	return task_finish(task_new(DM_DEVICE_CLEAR, name));
}

/*
 * The udev flags with which a device was made.  A device without udev's DM rules was made by
 * libdevmapper for a program that did not use udev; the flags of these rules are then cleared.
 */
static uint16_t udev_flags(const char *name)
{
	static const struct {
		const char *property;
		uint16_t flag;
	} flags[] = {
		{ "DM_UDEV_DISABLE_DM_RULES_FLAG", DM_UDEV_DISABLE_DM_RULES_FLAG },
		{ "DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG", DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG },
		{ "DM_UDEV_DISABLE_DISK_RULES_FLAG", DM_UDEV_DISABLE_DISK_RULES_FLAG },
		{ "DM_UDEV_DISABLE_OTHER_RULES_FLAG", DM_UDEV_DISABLE_OTHER_RULES_FLAG },
		{ "DM_UDEV_LOW_PRIORITY_FLAG", DM_UDEV_LOW_PRIORITY_FLAG },
	};
	struct udev_device *device __cleanup(close_udev_device) = NULL;
	struct mapped_device state;
	const char *value;
	uint16_t all = 0;

	if (mapper_state(name, &state))
		device = udev_of(state.major, state.minor);
	for (size_t i = 0; device && i < ARRAY_SIZE(flags); i++) {
		value = udev_device_get_property_value(device, flags[i].property);
		all |= value && !strcmp(value, "1") ? flags[i].flag : 0;
	}
	if (all & DM_UDEV_DISABLE_DM_RULES_FLAG)
		all &= ~(DM_UDEV_DISABLE_DM_RULES_FLAG | DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG);
	return all;
}

/*
 * Switch a device to its loaded table.  One call to the kernel freezes the file system on
 * the device, drains all I/O, exchanges the tables and resumes.  A process killed before or
 * after this call leaves no suspended device.
 */
int mapper_switch(const char *name)
{
	return task_finish_udev(task_new(DM_DEVICE_RESUME, name), udev_flags(name));
}

/*
 * Remove a device.
 * @deferred: if the device is open, remove it at its last close
 *
 * The removal of a busy device is repeated for some seconds, because udev may have it open.
 */
int mapper_remove(const char *name, bool deferred)
{
	struct dm_task *task = task_new(DM_DEVICE_REMOVE, name);

	if (!(deferred ? dm_task_deferred_remove(task) : dm_task_retry_remove(task))) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	return task_finish_udev(task, 0);
}

/*
 * Remove a device, in a process of its own without open files: the kernel may wait for I/O.
 * @deferred: as for mapper_remove()
 *
 * The process may be killed meanwhile.  So it does not wait for udev, which would leave
 * libdevmapper's semaphore behind.
 */
int mapper_remove_apart(const char *name, bool deferred)
{
	struct dm_task *task;
	int error;

	dm_lib_release();	/* forget its file, which was closed */
	task = task_new(DM_DEVICE_REMOVE, name);
	error = deferred && !dm_task_deferred_remove(task) ? -EINVAL : task_run(task);
	dm_task_destroy(task);
	dm_task_update_nodes();
	return error;
}

/*
 * Send a message to a device's target.
 * @answer: the target's answer, to be freed; NULL to ignore it
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

/*
 * The mapper name of a logical volume.
 * @group: its volume group
 * Return: the name, to be freed.
 */
char *mapper_volume_name(const char *group, const char *volume)
{
	struct dm_pool *memory = dm_pool_create("names", 512);
	char *name = memory ? dm_build_dm_name(memory, group, volume, NULL) : NULL;

	if (!name)
		exit(fail(EXIT_FAILED, "out of memory"));
	name = xstrdup(name);
	dm_pool_destroy(memory);
	return name;
}

/*
 * The volume group of a logical volume.
 * @name: the mapper name of the volume
 * Return: the name of the group, to be freed.
 */
char *mapper_group_name(const char *name)
{
	struct dm_pool *memory = dm_pool_create("names", 512);
	char *group = NULL, *volume, *layer;

	if (!memory || !dm_split_lvm_name(memory, name, &group, &volume, &layer))
		exit(fail(EXIT_FAILED, "out of memory"));
	group = xstrdup(group);
	dm_pool_destroy(memory);
	return group;
}

/*
 * The value of a key in a file of LVM's configuration.
 * @key: with its section, as devices/filter
 * Return: the number or the text, of a list the first, to be freed; NULL without the key.
 */
char *mapper_config_value(const char *file, const char *key)
{
	char *text __free = NULL;
	char *value = NULL;
	struct dm_config_tree *tree = infile_read(file, &text) ? NULL : dm_config_from_string(text);
	const struct dm_config_node *node = tree ? dm_config_find_node(tree->root, key) : NULL;

	if (text && !tree)
		note("note: cannot understand %s: no setting in it counts", file);
	if (node && node->v && node->v->type == DM_CFG_INT)
		value = xasprintf("%lld", (long long)node->v->v.i);
	else if (node)
		value = xstrdup(node->v && node->v->type == DM_CFG_STRING ? node->v->v.str : "");
	if (tree)
		dm_config_destroy(tree);
	return value;
}
