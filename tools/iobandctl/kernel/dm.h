/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_DM_H
#define IOBANDCTL_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest names and UUIDs of device-mapper, with the NUL. */
#define MAPPER_NAME_SIZE 128
#define MAPPER_UUID_SIZE 129
#define MAPPER_UUID_PREFIX "IOBAND-"
#define MAPPER_LVM_UUID_PREFIX "LVM-"

/* A device, as device-mapper describes it.  Only ioband devices have texts. */
struct mapped_device {
	char name[MAPPER_NAME_SIZE];	/* its name below /dev/mapper */
	char uuid[MAPPER_UUID_SIZE];	/* empty if it has none */
	uint32_t major;
	uint32_t minor;
	bool suspended;
	bool read_only;	/* it refuses writes */
	bool loaded;	/* it has a table for the next resume */
	int32_t open_count;	/* number of times it is open */
	uint64_t sectors;	/* its size in sectors of 512 bytes */
	char *table;	/* its table line after the target's name; NULL without a table */
	char *status;	/* its status line after the target's name; NULL without a table */
};

struct mapped_devices {
	struct mapped_device *v;
	size_t n;
};

/* The description of a new ioband device. */
struct new_device {
	const char *name;	/* its name below /dev/mapper */
	const char *uuid;
	uint64_t sectors;	/* its size in sectors of 512 bytes */
	const char *table;	/* the words after the target's name in the table line */
	bool read_only;	/* refuse writes */
	bool unseen;	/* udev does not scan its contents */
};

/* A line of a table. */
struct mapped_target {
	uint64_t start;	/* first sector */
	uint64_t sectors;
	char *type;
	char *words;	/* the words after it; may contain a key */
};

struct mapped_table {
	struct mapped_target *v;
	size_t n;
};

bool mapper_version(char *version, size_t size);
int mapper_ready(void);
int mapper_list(struct mapped_devices *devices);
void mapper_list_free(struct mapped_devices *devices);
char *mapper_status(const char *name);
bool mapper_exists(const char *name, const char *uuid);
bool mapper_has_target(void);
bool mapper_target_version(unsigned int version[3]);
void mapper_load_target(void);
int mapper_create(const struct new_device *device);
void mapper_wait_later(void);
void mapper_wait(void);
int mapper_create_hidden(const char *name, const char *uuid,
			 const struct mapped_table *table, bool read_only);
bool mapper_state(const char *name, struct mapped_device *state);
int mapper_table(const char *name, struct mapped_table *table);
int mapper_waiting(const char *name, struct mapped_table *table);
bool mapper_is_pathless(const char *name);
void mapper_table_free(struct mapped_table *table);
int mapper_load(const char *name, const struct mapped_table *table, bool read_only);
int mapper_clear(const char *name);
int mapper_switch(const char *name);
int mapper_remove(const char *name, bool deferred);
int mapper_remove_apart(const char *name, bool deferred);
int mapper_message(const char *name, const char *message, char **answer);
char *mapper_volume_name(const char *group, const char *volume);
char *mapper_group_name(const char *name);
char *mapper_config_value(const char *file, const char *key);

/* replace.c */
int mapper_reload(const struct new_device *device, struct problem *problem);

#endif
