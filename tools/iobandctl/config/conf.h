/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_CONF_H
#define IOBANDCTL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/error.h"

/* In place of a device: the tree of the pool.  No device can have this name. */
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
	KEY_WRITE_LATENCY,
	KEY_WRITES_STARVED,
	CONF_KEYS,
};

/* The settings of a group: its weight, and its bounds, by kind. */
enum { GROUP_WEIGHT, GROUP_BOUNDS, GROUP_SETTINGS = GROUP_BOUNDS + BOUNDS };

/**
 * struct conf_place - a place in the configuration
 * @file: index in &conf.files
 * @line: from 1; 0 for the whole file
 */
struct conf_place {
	size_t file;
	unsigned int line;
};

/**
 * struct conf_value - the value of a key
 * @text: the value; NULL if it is not set
 * @place: its place
 */
struct conf_value {
	char *text;
	struct conf_place place;
};

/**
 * struct conf_section - one section, merged from all files
 * @kind: the first word of its title
 * @label: the rest of its title
 * @place: place of its title in the last file with this title
 * @value: by key
 * @lacks_key: a key was skipped after its mistake was reported
 * @path: the path of a cgroup, or a pattern for fnmatch(); NULL for other
 *	sections
 * @is_pattern: @path is a pattern
 * @pool: the name of a pool that is given as the path of a disk; NULL if the
 *	path has no pool, or no path is given
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
 * @files: names of its files
 * @n_files: number of files
 * @v: its sections, in the order of the first appearance of their titles
 * @n: number of sections
 * @named: sections with the path of a cgroup, sorted by path, then in their
 *	order
 * @n_named: their number
 * @patterns: sections with a pattern for cgroups, in their order
 * @n_patterns: their number
 * @wrong: called for each mistake, after which reading continues; NULL: reading
 *	ends at the first mistake
 * @n_wrong: number of mistakes
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
 * struct conf_matches - the sections that match a cgroup
 * @v: the sections
 * @n: their number
 */
struct conf_matches {
	const struct conf_section **v;
	size_t n;
};

/* The number of udev properties that may have a serial number of a device. */
#define CONF_SERIALS 4

/**
 * struct conf_subject - the properties of a block device, for conf_selects()
 * @kernel: the kernel's name
 * @mapper: its name in device-mapper, or NULL
 * @volume: vg/lv of a logical volume, else NULL
 * @serial: its serial numbers, or NULL
 * @type: disk, part, lvm, crypt, raid, mpath, dm, loop, rom...
 * @rotational: its attribute says that it rotates
 * @paths: its nodes and links, ended by NULL
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
bool conf_next_plain(const struct conf *conf, size_t *next,
		     struct problem *problem);
void conf_warn_of_units(const struct conf *conf);

#endif
