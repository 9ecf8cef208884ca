// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the configuration has asked for until now, so that it can be taken back when it
 * is not asked for any more.  Each configuration that "apply" or "watch" begins to make
 * so is written down before, with the groups and the pools that are in it, under a name
 * that its text makes; "apply" forgets the former ones once it is done with all devices.
 * What is said of devices, which it may do one by one, is in a file of its own.
 *
 * What a group, a pool or a device has was given by the configuration if a former one
 * asked for just that, and nobody has set it by hand since (see hand.c).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/outfile.h"
#include "base/records.h"
#include "config/past.h"
#include "ioband/group.h"

#define CONFIGURATION ".conf-"
#define DEVICES ".devices"

static char *path_of(const char *file)
{
	return xasprintf("%s/%s", records_directory(), file);
}

/* What cannot be read or understood, as from another version, asked for nothing. */
static bool load(const char *name, struct conf *conf)
{
	char *path = path_of(name), *text = NULL;
	FILE *file = fopen(path, "re");
	struct problem problem;
	size_t size = 0;
	bool good;

	*conf = (struct conf){ .n = 0 };
	good = file && getdelim(&text, &size, 0, file) > 0 &&
	       !conf_add(conf, path, text, &problem) &&
	       !conf_check(conf, &problem);
	if (file)
		fclose(file);
	free(text);
	free(path);
	if (good)
		conf_find_pools(conf);
	else
		conf_free(conf);
	return good;
}

static bool is_configuration(const char *name)
{
	return !strncmp(name, CONFIGURATION, strlen(CONFIGURATION)) &&
	       !strchr(name + 1, '.');
}

/**
 * past_load() - read what was asked for
 * @past: the result
 */
void past_load(struct past *past)
{
	DIR *entries = opendir(records_directory());
	struct dirent *entry;
	struct conf conf;

	*past = (struct past){ .n = 0 };
	while (entries && (entry = readdir(entries))) {
		if (is_configuration(entry->d_name) &&
		    load(entry->d_name, &conf))
			past_add(past, &conf);
	}
	if (entries)
		closedir(entries);
	load(DEVICES, &past->devices);
}

/**
 * past_add() - add a configuration that is one no more
 * @past: to this
 * @conf: the configuration; belongs to @past then
 */
void past_add(struct past *past, struct conf *conf)
{
	past->v = xgrow(past->v, past->n, sizeof(*past->v));
	past->v[past->n++] = *conf;
}

/**
 * past_free() - free what was asked for
 * @past: left empty
 */
void past_free(struct past *past)
{
	for (size_t i = 0; i < past->n; i++)
		conf_free(&past->v[i]);
	free(past->v);
	conf_free(&past->devices);
	*past = (struct past){ .n = 0 };
}

/**
 * past_says() - see whether a section says what a group has
 * @section: the section, or NULL
 * @setting: of this
 * @now: what the group has
 *
 * Return: whether it does.
 */
bool past_says(const struct conf_section *section, int setting,
	       const struct ioband_preset *now)
{
	const char *text =
		section ? conf_text(section, conf_group_keys[setting]) : NULL;
	struct bounds bounds;

	if (!text)
		return false;
	if (setting == GROUP_WEIGHT)
		return strtoull(text, NULL, 10) == now->weight;
	bounds = conf_bounds(section);
	return bound_is(&bounds, &now->bounds, setting - GROUP_BOUNDS);
}

/**
 * past_asked_path() - see whether what a cgroup has was asked for
 * @past: what was
 * @pool: in whose tree the cgroup is
 * @device: in whose own tree it is; NULL for the pool's
 * @path: of the cgroup
 * @setting: which
 * @now: has what it has
 *
 * Return: whether it was.
 */
bool past_asked_path(const struct past *past, const char *pool,
		     const char *device, const char *path, int setting,
		     const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->n; i++) {
		if (past_says(conf_setting_of(&past->v[i],
					      conf_group_keys[setting], path,
					      pool, device),
			      setting, now))
			return true;
	}
	return false;
}

static bool asked_in(const struct conf *conf, const char *pool,
		     const char *group, int setting,
		     const struct ioband_preset *now)
{
	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];
		const char *its = conf_pool(section);

		if (section->kind == CONF_GROUP && !conf_is_cgroup(section) &&
		    (!its || !strcmp(its, pool)) &&
		    group_is(conf_group(section), group) &&
		    past_says(section, setting, now))
			return true;
	}
	return false;
}

/**
 * past_asked_other() - see whether what a user, a process or the root has was asked for
 * @past: what was
 * @pool: of the group
 * @group: the group, as the kernel lists it
 * @setting: which
 * @now: has what it has
 *
 * Return: whether it was.
 */
bool past_asked_other(const struct past *past, const char *pool,
		      const char *group, int setting,
		      const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->n; i++) {
		if (asked_in(&past->v[i], pool, group, setting, now))
			return true;
	}
	return false;
}

/**
 * past_asked_pool() - see whether what a pool has was asked for
 * @past: what was
 * @pool: the pool
 * @key: of the setting
 * @now: what it has
 *
 * Return: whether it was.
 */
bool past_asked_pool(const struct past *past, const char *pool,
		     enum conf_key key, const char *now)
{
	struct conf_place place;

	for (size_t i = 0; i < past->n; i++) {
		const char *text = conf_pool_setting(&past->v[i], pool, key,
						     &place);

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

/**
 * past_asked_device() - see whether what an ioband device is was asked for
 * @past: what was
 * @name: of the device
 * @key: of the setting
 * @now: what it has
 *
 * Return: whether it was.
 */
bool past_asked_device(const struct past *past, const char *name,
		       enum conf_key key, const char *now)
{
	for (size_t i = 0; i < past->devices.n; i++) {
		const struct conf_section *section = &past->devices.v[i];
		const char *text = key == KEY_POOL ? conf_pool(section) :
						     conf_text(section, key);

		if (text && is_about(section, name) && !strcmp(text, now))
			return true;
	}
	return false;
}

/**
 * past_asked_own() - see whether what an ioband device's own group has was asked for
 * @past: what was
 * @name: of the device
 * @setting: which
 * @now: has what it has
 *
 * Return: whether it was.
 */
bool past_asked_own(const struct past *past, const char *name, int setting,
		    const struct ioband_preset *now)
{
	for (size_t i = 0; i < past->devices.n; i++) {
		const struct conf_section *section = &past->devices.v[i];

		if (is_about(section, name) && past_says(section, setting, now))
			return true;
	}
	return false;
}

static void write_keys(FILE *file, const struct conf_section *section)
{
	for (int key = 0; key < CONF_KEYS; key++) {
		if (conf_text(section, key))
			fprintf(file, "%s = %s\n", conf_key_name(key),
				conf_text(section, key));
	}
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
		fprintf(file, "[%s %s]\n", is_pool ? "pool" : "group",
			section->label);
		write_keys(file, section);
	}
	fclose(file);
	return text;
}

/* FNV: two configurations are not to have one name by chance. */
static char *name_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return xasprintf(CONFIGURATION "%016llx", (unsigned long long)hash);
}

static int write_file(const char *name, const char *text)
{
	char *path = path_of(name);
	struct outfile file;
	int code;

	mkdir(records_directory(), 0755);
	code = outfile_begin(&file, path);
	if (code == EXIT_OK) {
		fputs(text, file.stream);
		code = outfile_end(&file);
	}
	free(path);
	return code;
}

/**
 * past_keep() - write down what a configuration asks for of groups and pools
 * @conf: the configuration
 * @file: the name under which it is, to be freed
 *
 * To be called before any of it is made so.
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int past_keep(const struct conf *conf, char **file)
{
	char *text = text_of(conf);
	int code;

	*file = name_of(text);
	code = write_file(*file, text);
	free(text);
	return code;
}

/* What conf_check() wants to see: which block devices it is about. */
static void write_device(FILE *file, size_t n, const char *name,
			 const struct conf_section *section)
{
	static const enum conf_key wanted[] = {
		KEY_POOL, KEY_MODE, KEY_WEIGHT, KEY_MAXIMUM, KEY_MINIMUM,
		KEY_LATENCY
	};

	fprintf(file, "[device %zu]\nas = %s\ndevice = -\n", n, name);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (conf_text(section, wanted[i]))
			fprintf(file, "%s = %s\n", conf_key_name(wanted[i]),
				conf_text(section, wanted[i]));
	}
}

static bool has_device(const struct past_device *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(v[i].name, name))
			return true;
	}
	return false;
}

/**
 * past_keep_devices() - write down what is asked for of ioband devices
 * @past: what was asked for, and is to be kept; NULL if nothing is
 * @v: what is asked for now
 * @n: of how many devices
 * @replace: what was asked for of these is not to be kept
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int past_keep_devices(const struct past *past, const struct past_device *v,
		      size_t n, bool replace)
{
	size_t size, count = 0;
	char *text = NULL;
	FILE *file = xmemstream(&text, &size);
	int code;

	for (size_t i = 0; past && i < past->devices.n; i++) {
		const struct conf_section *old = &past->devices.v[i];
		const char *name = conf_text(old, KEY_AS);

		if (name && !(replace && has_device(v, n, name)))
			write_device(file, count++, name, old);
	}
	for (size_t i = 0; i < n; i++)
		write_device(file, count++, v[i].name, v[i].section);
	fclose(file);
	code = write_file(DEVICES, text);
	free(text);
	return code;
}

/**
 * past_forget() - forget all configurations but one, and that of a running "watch"
 * @file: the one, as from past_keep()
 */
void past_forget(const char *file)
{
	DIR *entries = opendir(records_directory());
	char *watched = past_watched();
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		const char *name = entry->d_name;

		if (is_configuration(name) && strcmp(name, file) &&
		    (!watched || strcmp(name, watched)))
			unlinkat(dirfd(entries), name, 0);
	}
	if (entries)
		closedir(entries);
	free(watched);
}
