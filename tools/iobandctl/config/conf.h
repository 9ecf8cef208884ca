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

/* A place in the configuration. */
struct conf_place {
	size_t file;	/* index in &conf.files */
	unsigned int line;	/* from 1; 0 for the whole file */
};

/* The value of a key. */
struct conf_value {
	char *text;	/* the value; NULL if it is not set */
	struct conf_place place;
};

/* One section, merged from all files. */
struct conf_section {
	enum conf_kind kind;
	char *label;
	struct conf_place place;	/* place of its title in the last file with this title */
	struct conf_value value[CONF_KEYS];
	bool lacks_key;	/* a key was skipped after its mistake was reported */
	/* The path of a cgroup, or a pattern for fnmatch(); NULL for other sections. */
	char *path;
	bool is_pattern;	/* @path is a pattern */
	/*
	 * The name of a pool that is given as the path of a disk; NULL if the path has no
	 * pool, or no path is given.
	 */
	char *pool;
};

/* A configuration. */
struct conf {
	char **files;
	size_t n_files;
	/* Its sections, in the order of the first appearance of their titles. */
	struct conf_section *v;
	size_t n;
	/* Sections with the path of a cgroup, sorted by path, then in their order. */
	const struct conf_section **named;
	size_t n_named;
	/* Sections with a pattern for cgroups, in their order. */
	const struct conf_section **patterns;
	size_t n_patterns;
	/*
	 * Called for each mistake, after which reading continues; NULL: reading ends at the
	 * first mistake.
	 */
	void (*wrong)(const struct problem *problem);
	size_t n_wrong;
};

/* The sections that match a cgroup. */
struct conf_matches {
	const struct conf_section **v;	/* the sections */
	size_t n;
};

/* The number of udev properties that may have a serial number of a device. */
#define CONF_SERIALS 4

/* The properties of a block device, for conf_selects(). */
struct conf_subject {
	const char *kernel;
	const char *mapper;	/* its name in device-mapper, or NULL */
	const char *volume;	/* vg/lv of a logical volume, else NULL */
	const char *serial[CONF_SERIALS];	/* its serial numbers, or NULL */
	const char *type;	/* disk, part, lvm, crypt, raid, mpath, dm, loop, rom... */
	bool rotational;	/* its attribute says that it rotates */
	char **paths;	/* its nodes and links, ended by NULL */
};

void conf_free(struct conf *conf);
const char *conf_text(const struct conf_section *section, enum conf_key key);
bool conf_flag(const struct conf_section *section, enum conf_key key);
void conf_where(const struct conf *conf, const struct conf_place *place, char *buffer, size_t size);
bool conf_is_pool_path(const char *text);
const char *conf_pool_text(const struct conf_section *section);
const char *conf_pool(const struct conf_section *section);
bool conf_has_patterns(const struct conf_section *device);
bool conf_may_be_several(const struct conf_section *device);
bool conf_selects(const struct conf_section *device, const struct conf_subject *subject);
const char *conf_pool_setting(const struct conf *conf, const char *pool,
			      enum conf_key key, struct conf_place *place);
const char *conf_group(const struct conf_section *group);
struct bounds conf_bounds(const struct conf_section *section);
const struct conf_value *conf_group_value(const struct conf_section *section);
extern const enum conf_key conf_group_keys[GROUP_SETTINGS];

/* conf-read.c */
int conf_add(struct conf *conf, const char *file, const char *text, struct problem *problem);
int conf_check(struct conf *conf, struct problem *problem);
const char *conf_key_name(enum conf_key key);
int conf_check_value(enum conf_key key, const char *text, struct problem *problem);

/* conf-path.c */
bool conf_is_cgroup(const struct conf_section *group);
void conf_read_paths(struct conf *conf);
int conf_check_path(const struct conf_section *group, struct problem *problem);
bool conf_names(const struct conf *conf, const char *path);
size_t conf_next_named(const struct conf *conf, size_t i);
void conf_match(const struct conf *conf, const char *path, struct conf_matches *matches);
void conf_matches_free(struct conf_matches *matches);
bool conf_is_open_at(const struct conf_section *group, const char *path);
const struct conf_section *conf_setting_in(const struct conf_matches *matches, enum conf_key key,
					   const char *pool, const char *device);
const struct conf_section *conf_setting_of(const struct conf *conf, enum conf_key key,
					   const char *path, const char *pool, const char *device);

/* conf-pool.c */
void conf_find_pools(struct conf *conf);
void conf_warn_of_pools(const struct conf *conf);

/* conf-file.c */
int conf_load(const char *file, struct conf *conf);
int conf_check_files(const char *file);
bool conf_next_plain(const struct conf *conf, size_t *next, struct problem *problem);
void conf_warn_of_units(const struct conf *conf);

#endif
