/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_CONF_H
#define IOBANDCTL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/error.h"

/* In place of a device: the tree of the pool, which no device can be named. */
#define CONF_POOL_TREE "-"

enum conf_kind {
	CONF_DEVICE,
	CONF_POOL,
	CONF_GROUP,
	CONF_WATCH,
	CONF_KINDS,
};

enum conf_key {
	KEY_AS,
	KEY_DEPTH,
	KEY_DEVICE,
	KEY_ENABLE_CONTROLLER,
	KEY_GROUP,
	KEY_INSERT,
	KEY_LATENCY,
	KEY_MAXIMUM,
	KEY_MEASURE,
	KEY_MINIMUM,
	KEY_MODE,
	KEY_NAME,
	KEY_OPTIONAL,
	KEY_PATH,
	KEY_POOL,
	KEY_ROTATIONAL,
	KEY_SERIAL,
	KEY_SLICE,
	KEY_TYPE,
	KEY_VOLUME,
	KEY_WEIGHT,
	KEY_WRITES_STARVED,
	CONF_KEYS,
};

/* What is set for a group: its weight, and its bounds, by kind. */
enum { GROUP_WEIGHT, GROUP_BOUNDS, GROUP_SETTINGS = GROUP_BOUNDS + BOUNDS };

/**
 * struct conf_place - where something is said
 * @file: index in &conf.files
 * @line: from 1; 0 for the whole file
 */
struct conf_place {
	size_t file;
	unsigned int line;
};

/**
 * struct conf_value - what a key is set to
 * @text: NULL if it is not set
 * @place: where
 */
struct conf_value {
	char *text;
	struct conf_place place;
};

/**
 * struct conf_section - one section, as all files together have it
 * @kind: the first word of its title
 * @label: the rest of its title
 * @place: of its title in the last file that has it
 * @value: by key
 * @lacks_key: a key of it was reported as a mistake, and left out
 * @path: the cgroup that it is about, or a pattern for fnmatch(); NULL if it is
 *	about none
 * @is_pattern: whether it is one
 * @pool: the name of the pool that it is about by the path of a disk; NULL if that
 *	leads nowhere, or it has no path
 */
struct conf_section {
	enum conf_kind kind;
	char *label;
	struct conf_place place;
	struct conf_value value[CONF_KEYS];
	bool lacks_key;
	char *path;
	bool is_pattern;
	char *pool;
};

/**
 * struct conf - a configuration
 * @files: the names of the files it is from
 * @n_files: how many
 * @v: its sections, in the order in which their titles came first
 * @n: how many
 * @named: those that name a cgroup by its path, sorted by it, then in their order
 * @n_named: how many
 * @patterns: those with a pattern for cgroups, in their order
 * @n_patterns: how many
 * @wrong: told of each mistake, after which reading goes on; NULL: it ends at the first
 * @n_wrong: how many there were
 */
struct conf {
	char **files;
	size_t n_files;
	struct conf_section *v;
	size_t n;
	const struct conf_section **named;
	size_t n_named;
	const struct conf_section **patterns;
	size_t n_patterns;
	void (*wrong)(const struct problem *problem);
	size_t n_wrong;
};

/**
 * struct conf_matches - sections that are about a cgroup
 * @v: they
 * @n: how many
 */
struct conf_matches {
	const struct conf_section **v;
	size_t n;
};

/* In how many properties udev may have a serial number of a device. */
#define CONF_SERIALS 4

/**
 * struct conf_subject - what is known of a block device, for conf_selects()
 * @kernel: the kernel's name
 * @mapper: its name in device-mapper, or NULL
 * @volume: vg/lv of a logical volume, else NULL
 * @serial: its serial numbers, or NULL
 * @type: disk, part, lvm, crypt, raid, mpath, dm, loop, rom...
 * @rotational: it says that it has a head
 * @paths: all nodes and links for it; ended by NULL
 */
struct conf_subject {
	const char *kernel;
	const char *mapper;
	const char *volume;
	const char *serial[CONF_SERIALS];
	const char *type;
	bool rotational;
	char **paths;
};

void conf_free(struct conf *conf);
const char *conf_text(const struct conf_section *section, enum conf_key key);
bool conf_flag(const struct conf_section *section, enum conf_key key);
void conf_where(const struct conf *conf, const struct conf_place *place,
		char *buffer, size_t size);
bool conf_is_pool_path(const char *text);
const char *conf_pool_text(const struct conf_section *section);
const char *conf_pool(const struct conf_section *section);
bool conf_has_patterns(const struct conf_section *device);
bool conf_may_be_several(const struct conf_section *device);
bool conf_selects(const struct conf_section *device,
		  const struct conf_subject *subject);
const char *conf_pool_setting(const struct conf *conf, const char *pool,
			      enum conf_key key, struct conf_place *place);
const char *conf_group(const struct conf_section *group);
struct bounds conf_bounds(const struct conf_section *section);
const struct conf_value *conf_group_value(const struct conf_section *section);
extern const enum conf_key conf_group_keys[GROUP_SETTINGS];

/* conf-read.c */
int conf_add(struct conf *conf, const char *file, const char *text,
	     struct problem *problem);
int conf_check(struct conf *conf, struct problem *problem);
const char *conf_key_name(enum conf_key key);
int conf_check_value(enum conf_key key, const char *text, struct problem *problem);

/* conf-path.c */
bool conf_is_cgroup(const struct conf_section *group);
void conf_read_paths(struct conf *conf);
int conf_check_path(const struct conf_section *group, struct problem *problem);
bool conf_names(const struct conf *conf, const char *path);
size_t conf_next_named(const struct conf *conf, size_t i);
void conf_match(const struct conf *conf, const char *path,
		struct conf_matches *matches);
void conf_matches_free(struct conf_matches *matches);
bool conf_is_open_at(const struct conf_section *group, const char *path);
const struct conf_section *conf_setting_in(const struct conf_matches *matches,
					   enum conf_key key, const char *pool,
					   const char *device);
const struct conf_section *conf_setting_of(const struct conf *conf,
					   enum conf_key key, const char *path,
					   const char *pool,
					   const char *device);

/* conf-pool.c */
void conf_find_pools(struct conf *conf);
void conf_warn_of_pools(const struct conf *conf);

/* conf-file.c */
int conf_load(const char *file, struct conf *conf);
int conf_check_files(const char *file);
void conf_warn_of_units(const struct conf *conf);

#endif
