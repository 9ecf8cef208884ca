// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of former configurations, so that settings can be reverted when they are not in the
 * configuration any more.  "apply" and "watch" record each configuration before they apply it, with
 * its groups and pools.  The name of the file is a hash of its text.  "apply" deletes the former
 * files once it has applied the configuration to all devices.  Devices have a file of their own,
 * because "apply" may handle them one by one.
 *
 * A setting of a group, a pool or a device came from the configuration if two
 * conditions hold.  A former configuration has exactly this value, and the
 * value was not set manually since (see hand.c).
 *
 * Rates are recorded with explicit units, which do not change their meaning.  A
 * plain unit of bytes is from a former version, and a power of 1024.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "base/records.h"
#include "base/words.h"
#include "config/past.h"
#include "ioband/group.h"

#define CONFIGURATION ".conf-"
#define DEVICES ".devices"

static void read_units(struct conf *conf)
{
	for (size_t i = 0; i < conf->n * RATE_BOUNDS; i++) {
		enum conf_key key = conf_group_keys[GROUP_BOUNDS + i % RATE_BOUNDS];
		char **text = &conf->v[i / RATE_BOUNDS].value[key].text;
		char *former = *text;

		if (former)
			*text = rates_explicit(former);
		free(former);
	}
}

/* Between conf_add() and conf_check(), which compares rates. */
static int read_conf(struct conf *conf, const char *path, const char *text)
{
	struct problem problem;

	if (conf_add(conf, path, text, &problem))
		return -1;
	read_units(conf);
	return conf_check(conf, &problem);
}

/* A file that cannot be read or parsed, as from another version, counts as empty. */
static bool load(const char *name, struct conf *conf)
{
	char *path __free = records_path(name);
	char *text __free = NULL;
	bool good = !infile_read(path, &text) && *text;

	*conf = (struct conf){ .n = 0 };
	good = good && !read_conf(conf, path, text);
	if (good)
		conf_find_pools(conf);
	else
		conf_free(conf);
	return good;
}

static bool is_configuration(const char *name)
{
	return text_after(name, CONFIGURATION) && !strchr(name + 1, '.');
}

/* Read the record of former configurations. */
void past_load(struct past *past)
{
	DIR *entries = opendir(records_directory());
	struct dirent *entry;
	struct conf conf;

	*past = (struct past){ .n = 0 };
	while (entries && (entry = readdir(entries))) {
		if (is_configuration(entry->d_name) && load(entry->d_name, &conf))
			past_add(past, &conf);
	}
	if (entries)
		closedir(entries);
	load(DEVICES, &past->devices);
}

/*
 * Add a configuration that has just been replaced.
 * @conf: the configuration; @past takes ownership
 */
void past_add(struct past *past, struct conf *conf)
{
	*XPUSH(past->v, past->n) = *conf;
}

void past_free(struct past *past)
{
	for (size_t i = 0; i < past->n; i++)
		conf_free(&past->v[i]);
	free(past->v);
	conf_free(&past->devices);
	*past = (struct past){ .n = 0 };
}

/* Check whether a section has the present value of a setting. */
static bool says(const struct conf_section *section, int setting, const struct ioband_preset *now)
{
	const char *text = section ? conf_text(section, conf_group_keys[setting]) : NULL;
	struct bounds bounds;

	if (!text)
		return false;
	if (setting == GROUP_WEIGHT)
		return weight_of(text) == now->weight;
	bounds = conf_bounds(section);
	return bound_is(&bounds, &now->bounds, setting - GROUP_BOUNDS);
}

/*
 * Check whether a cgroup's setting is in a former configuration.
 * @device: the device with the cgroup in its own tree; NULL for the pool's tree
 */
bool past_asked_path(const struct past *past, const char *pool, const char *device,
		     const char *path, int setting, const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->n; i++) {
		if (says(conf_setting_of(&past->v[i], conf_group_keys[setting], path,
					 pool, device),
			 setting, now))
			return true;
	}
	return false;
}

static bool asked_in(const struct conf *conf, const char *pool, const char *group, int setting,
		     const struct ioband_preset *now)
{
	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];
		const char *its = conf_pool(section);

		if (section->kind == CONF_GROUP && !conf_is_cgroup(section) &&
		    (!its || !strcmp(its, pool)) &&
		    group_is(conf_group(section), group) &&
		    says(section, setting, now))
			return true;
	}
	return false;
}

/* The same for a user, a process or the root. */
bool past_asked_other(const struct past *past, const char *pool, const char *group, int setting,
		      const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->n; i++) {
		if (asked_in(&past->v[i], pool, group, setting, now))
			return true;
	}
	return false;
}

/* Check whether a pool's setting is in a former configuration. */
bool past_asked_pool(const struct past *past, const char *pool, enum conf_key key, const char *now)
{
	struct conf_place place;

	for (size_t i = 0; i < past->n; i++) {
		const char *text = conf_pool_setting(&past->v[i], pool, key, &place);

		if (text && !strcmp(text, now))
			return true;
	}
	return false;
}

static bool is_about(const struct conf_section *section, const char *name)
{
	const char *its = conf_text(section, KEY_AS);

	return its && !strcmp(its, name);
}

/*
 * Check whether a device's setting is in a former configuration.
 * @name: of the ioband device
 */
bool past_asked_device(const struct past *past, const char *name,
		       enum conf_key key, const char *now)
{
	for (size_t i = 0; i < past->devices.n; i++) {
		const struct conf_section *section = &past->devices.v[i];
		const char *text = key == KEY_POOL ? conf_pool(section) : conf_text(section, key);

		if (text && is_about(section, name) && !strcmp(text, now))
			return true;
	}
	return false;
}

/*
 * Check whether a setting of a device's own group is in a former configuration.
 * @name: of the ioband device
 */
bool past_asked_own(const struct past *past, const char *name, int setting,
		    const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->devices.n; i++) {
		const struct conf_section *section = &past->devices.v[i];

		if (is_about(section, name) && says(section, setting, now))
			return true;
	}
	return false;
}

/* Bounds are written in the canonical form, with explicit units. */
static void write_key(FILE *file, const struct conf_section *section, enum conf_key key)
{
	char *canonical __free = NULL;
	struct bounds bounds = conf_bounds(section);
	const char *text = conf_text(section, key);

	if (!text)
		return;
	for (int bound = 0; bound < BOUNDS; bound++) {
		if (conf_group_keys[GROUP_BOUNDS + bound] == key)
			canonical = bound_text(&bounds, bound);
	}
	fprintf(file, "%s = %s\n", conf_key_name(key), canonical ? canonical : text);
}

static char *text_of(const struct conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *file = xmemstream(&text, &size);

	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];
		bool is_pool = section->kind == CONF_POOL;

		if (!is_pool && section->kind != CONF_GROUP)
			continue;
		fprintf(file, "[%s %s]\n", is_pool ? "pool" : "group", section->label);
		for (int key = 0; key < CONF_KEYS; key++)
			write_key(file, section, key);
	}
	fclose(file);
	return text;
}

/* FNV, so that two configurations do not have the same name by chance. */
static char *name_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return xasprintf(CONFIGURATION "%016llx", (unsigned long long)hash);
}

static int write_file(const char *name, const char *text)
{
	char *path __free = records_path(name);
	struct outfile file;
	int code;

	mkdir(records_directory(), 0755);
	code = outfile_begin(&file, path);
	if (code == EXIT_OK) {
		fputs(text, file.stream);
		code = outfile_end(&file);
	}
	return code;
}

/*
 * Record the groups and pools of a configuration.
 * @file: the name of its file, to be freed
 *
 * Call this before any part of the configuration is applied.
 */
int past_keep(const struct conf *conf, char **file)
{
	char *text __free = text_of(conf);

	*file = name_of(text);
	return write_file(*file, text);
}

/* Write a device's section.  conf_check() requires the key "device". */
static void write_device(FILE *file, size_t n, const char *name, const struct conf_section *section)
{
	static const enum conf_key wanted[] = {
		KEY_POOL, KEY_MODE, KEY_WEIGHT, KEY_MAXIMUM, KEY_MINIMUM,
		KEY_LATENCY, KEY_WRITE_LATENCY
	};

	fprintf(file, "[device %zu]\nas = %s\ndevice = -\n", n, name);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		write_key(file, section, wanted[i]);
}

static bool has_device(const struct past_device *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(v[i].name, name))
			return true;
	}
	return false;
}

/*
 * Record the settings of ioband devices.
 * @past: former settings to keep; NULL to keep none
 * @replace: drop the former settings of the devices in @v
 */
int past_keep_devices(const struct past *past, const struct past_device *v, size_t n, bool replace)
{
	char *text __free = NULL;
	size_t size, count = 0;
	FILE *file = xmemstream(&text, &size);

	for (size_t i = 0; past && i < past->devices.n; i++) {
		const struct conf_section *old = &past->devices.v[i];
		const char *name = conf_text(old, KEY_AS);

		if (name && !(replace && has_device(v, n, name)))
			write_device(file, count++, name, old);
	}
	for (size_t i = 0; i < n; i++)
		write_device(file, count++, v[i].name, v[i].section);
	fclose(file);
	return write_file(DEVICES, text);
}

/*
 * Delete all records but one, and but that of a running "watch".
 * @file: the record to keep, as from past_keep()
 */
void past_forget(const char *file)
{
	char *watched __free = past_watched();
	DIR *entries = opendir(records_directory());
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		const char *name = entry->d_name;

		if (is_configuration(name) && strcmp(name, file) &&
		    (!watched || strcmp(name, watched)))
			unlinkat(dirfd(entries), name, 0);
	}
	if (entries)
		closedir(entries);
}
