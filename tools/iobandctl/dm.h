/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_DM_H
#define IOBANDCTL_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest names and UUIDs of device-mapper, with the NUL. */
#define MAPPER_NAME_SIZE 128
#define MAPPER_UUID_SIZE 129
#define MAPPER_UUID_PREFIX "IOBAND-"

/**
 * struct mapped_device - an ioband device, as device-mapper describes it
 * @name: its name below /dev/mapper
 * @uuid: empty if it has none
 * @major: of the device
 * @minor: of the device
 * @suspended: no I/O passes
 * @read_only: it cannot be written
 * @open_count: how many have it open
 * @sectors: its size
 * @table: its table line after the target's name; NULL without a table
 * @status: its status line after the target's name; NULL without a table
 */
struct mapped_device {
	char name[MAPPER_NAME_SIZE];
	char uuid[MAPPER_UUID_SIZE];
	uint32_t major;
	uint32_t minor;
	bool suspended;
	bool read_only;
	int32_t open_count;
	uint64_t sectors;
	char *table;
	char *status;
};

struct mapped_devices {
	struct mapped_device *v;
	size_t n;
};

/**
 * struct new_device - an ioband device to be made
 * @name: its name below /dev/mapper
 * @uuid: its UUID
 * @sectors: its size
 * @table: what follows the target's name in the table line
 * @read_only: refuse writes
 */
struct new_device {
	const char *name;
	const char *uuid;
	uint64_t sectors;
	const char *table;
	bool read_only;
};

int mapper_ready(void);
int mapper_list(struct mapped_devices *devices);
void mapper_list_free(struct mapped_devices *devices);
bool mapper_exists(const char *name, const char *uuid);
bool mapper_has_target(void);
int mapper_create(const struct new_device *device);
int mapper_reload(const struct new_device *device);
int mapper_remove(const char *name, bool deferred);
int mapper_message(const char *name, const char *message, char **answer);
char *mapper_volume_name(const char *group, const char *volume);

#endif
