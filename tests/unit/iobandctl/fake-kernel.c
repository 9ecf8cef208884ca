// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces dm.c, replace.c, mount.c, kmsg.c and records.c: a directory ($FAKE_KERNEL) has the
 * answers of device-mapper.
 *
 *	devices		One line for each device: name|major:minor|table|status.
 *
 *	devices.then	If the file exists, the source of later status lines.
 *
 *	answers/	Answers to messages; a file is named device@message, with _ for
 *			spaces.  The answer in a file with the suffix .then is for all
 *			messages but the first.
 *
 *	log		The messages sent.
 *
 *	cgroup/		The mounted hierarchy, of version $FAKE_VERSION.
 *
 *	refuse		A pattern and, after a blank, an error.  A message or removal
 *			with the pattern in its line of the log fails with the error.
 *			A ~ in the pattern stands for a blank.
 *
 *	interrupt	If the file exists, a SIGTERM arrives with each change.
 *
 *	run/		State until a reboot.
 *
 *	full		If the file exists, no more cgroups can be watched.
 *
 * The target's version is 1.$FAKE_MINOR, by default 1.0.
 *
 * A message without an answer gets ENOENT; messages that change settings succeed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/records.h"
#include "cgroup/cgroup.h"
#include "kernel/dm.h"
#include "kernel/kmsg.h"

static char *file_name(const char *name)
{
	return xasprintf("%s/%s", getenv("FAKE_KERNEL"), name);
}

static FILE *open_file(const char *name, const char *how)
{
	char *path = file_name(name);
	FILE *file = fopen(path, how);

	free(path);
	return file;
}

bool mapper_version(char *version, size_t size)
{
	snprintf(version, size, "4.47.0");
	return true;
}

int mapper_ready(void)
{
	return EXIT_OK;
}

static void add_device(struct mapped_devices *devices, char *line)
{
	struct mapped_device *device;
	char *number, *table, *status;

	line[strcspn(line, "\n")] = 0;
	number = strchr(line, '|');
	table = strchr(number + 1, '|');
	status = strchr(table + 1, '|');
	*number++ = 0;
	*table++ = 0;
	*status++ = 0;
	devices->v = xgrow(devices->v, devices->n, sizeof(*devices->v));
	device = &devices->v[devices->n++];
	*device = (struct mapped_device){
		.sectors = 2048,
		.table = *table ? xstrdup(table) : NULL,
		.status = *table ? xstrdup(status) : NULL,
	};
	snprintf(device->name, sizeof(device->name), "%.100s", line);
	if (sscanf(number, "%u:%u", &device->major, &device->minor) != 2)
		abort();
}

static int list(const char *name, struct mapped_devices *devices)
{
	FILE *file = open_file(name, "r");
	char line[1024];

	*devices = (struct mapped_devices){ .n = 0 };
	if (!file)
		return EXIT_FAILED;
	while (fgets(line, sizeof(line), file))
		add_device(devices, line);
	fclose(file);
	return EXIT_OK;
}

int mapper_list(struct mapped_devices *devices)
{
	return list("devices", devices);
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

char *mapper_status(const char *name)
{
	struct mapped_devices devices;
	char *status = NULL;

	if (list("devices.then", &devices) && list("devices", &devices))
		abort();
	for (size_t i = 0; i < devices.n; i++) {
		if (!strcmp(devices.v[i].name, name))
			status = xstrdup(devices.v[i].status);
	}
	mapper_list_free(&devices);
	return status;
}

bool mapper_exists(const char *name, const char *uuid)
{
	(void)uuid;
	return name;
}

bool mapper_has_target(void)
{
	return true;
}

void mapper_load_target(void)
{
}

bool mapper_target_version(unsigned int version[3])
{
	version[0] = 1;
	version[1] = atoi(getenv("FAKE_MINOR") ?: "0");
	version[2] = 0;
	return true;
}

bool mapper_state(const char *name, struct mapped_device *state)
{
	(void)name;
	*state = (struct mapped_device){ .major = 0 };
	return false;
}

int mapper_table(const char *name, struct mapped_table *table)
{
	(void)name;
	*table = (struct mapped_table){ .n = 0 };
	return -ENXIO;
}

int mapper_waiting(const char *name, struct mapped_table *table)
{
	return mapper_table(name, table);
}

bool mapper_is_pathless(const char *name)
{
	(void)name;
	return false;
}

void mapper_table_free(struct mapped_table *table)
{
	*table = (struct mapped_table){ .n = 0 };
}

int mapper_create_hidden(const char *name, const char *uuid,
			 const struct mapped_table *table, bool read_only)
{
	(void)name, (void)uuid, (void)table, (void)read_only;
	return -EBUSY;
}

int mapper_load(const char *name, const struct mapped_table *table,
		bool read_only)
{
	(void)name, (void)table, (void)read_only;
	return -EBUSY;
}

int mapper_clear(const char *name)
{
	(void)name;
	return -EBUSY;
}

int mapper_switch(const char *name)
{
	(void)name;
	return -EBUSY;
}

void mapper_wait_later(void)
{
}

void mapper_wait(void)
{
}

int mapper_create(const struct new_device *device)
{
	(void)device;
	return -EBUSY;
}

int mapper_reload(const struct new_device *device, struct problem *problem)
{
	FILE *log = open_file("log", "a");

	(void)problem;
	fprintf(log, "%s: reload %llu %s\n", device->name,
		(unsigned long long)device->sectors, device->table);
	fclose(log);
	return 0;
}

static void interrupt(void)
{
	char *path = file_name("interrupt");

	if (!access(path, F_OK))
		raise(SIGTERM);
	free(path);
}

static char refusal[512];

/* Log the message, refused or not. */
static bool is_refused(const char *name, const char *message)
{
	FILE *log = open_file("log", "a"), *file = open_file("refuse", "r");
	char *line = xasprintf("%s: %s", name, message), word[64];
	bool is = false;

	fprintf(log, "%s\n", line);
	fclose(log);
	if (file && fscanf(file, "%63s %511[^\n]", word, refusal) == 2) {
		for (char *c = word; *c; c++)
			*c = *c == '~' ? ' ' : *c;
		is = strstr(line, word);
	}
	if (file)
		fclose(file);
	free(line);
	return is;
}

int mapper_remove(const char *name, bool deferred)
{
	return is_refused(name, deferred ? "remove deferred" : "remove") ?
	       -EINVAL : 0;
}

int mapper_remove_apart(const char *name, bool deferred)
{
	return mapper_remove(name, deferred);
}

void kmsg_mark(void)
{
	refusal[0] = 0;
}

const char *kmsg_reason(int error)
{
	return refusal[0] ? refusal : strerror(error);
}

static void answer_otherwise(const char *path)
{
	char *name = file_name(path), *then = xasprintf("%s.then", name);

	rename(then, name);
	free(then);
	free(name);
}

int mapper_message(const char *name, const char *message, char **answer)
{
	char *path = xasprintf("answers/%s@%s", name, message);
	size_t size = 0;
	FILE *file;

	if (is_refused(name, message)) {
		free(path);
		return -EINVAL;
	}
	for (char *c = path; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	file = open_file(path, "r");
	answer_otherwise(path);
	free(path);
	if (!answer) {
		interrupt();
		return 0;
	}
	if (!file)
		return -ENOENT;
	*answer = NULL;
	if (getdelim(answer, &size, 0, file) < 0)
		**answer = 0;
	fclose(file);
	return 0;
}

char *mapper_volume_name(const char *group, const char *volume)
{
	return xasprintf("%s-%s", group, volume);
}

char *mapper_group_name(const char *name)
{
	return xstrndup(name, strcspn(name, "-"));
}

/* The host's LVM has no part in the tests. */
char *mapper_config_value(const char *file, const char *key)
{
	(void)file;
	(void)key;
	return NULL;
}

const char *records_directory(void)
{
	static char *directory;

	if (!directory)
		directory = file_name("run");
	return directory;
}

bool hierarchy_look(struct hierarchy *hierarchy)
{
	char *root = file_name("cgroup");

	hierarchy->version = atoi(getenv("FAKE_VERSION"));
	snprintf(hierarchy->root, sizeof(hierarchy->root), "%s", root);
	free(root);
	return true;
}

int hierarchy_find(struct hierarchy *hierarchy)
{
	hierarchy_look(hierarchy);
	return EXIT_OK;
}

bool hierarchy_is_cgroup(const char *directory)
{
	char *root = file_name("cgroup");
	struct stat info;
	bool is = !strncmp(directory, root, strlen(root)) &&
		  !stat(directory, &info) && S_ISDIR(info.st_mode);

	free(root);
	return is;
}

/* Replaces the C library's function. */
int inotify_add_watch(int fd, const char *name, uint32_t mask)
{
	char *full = file_name("full");
	bool is_full = !access(full, F_OK);

	free(full);
	if (!is_full)
		return syscall(SYS_inotify_add_watch, fd, name, mask);
	errno = ENOSPC;
	return -1;
}
