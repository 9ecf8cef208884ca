// SPDX-License-Identifier: GPL-2.0-only
/* What the configuration says about a device, a pool or a group.  Pure. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "words.h"

/* Keys of a device that say which devices are meant, besides "device". */
static const enum conf_key patterns[] = {
	KEY_PATH, KEY_NAME, KEY_VOLUME, KEY_SERIAL, KEY_TYPE, KEY_ROTATIONAL
};

const enum conf_key conf_group_keys[GROUP_SETTINGS] = {
	[GROUP_WEIGHT] = KEY_WEIGHT,
	[GROUP_BOUNDS + MAXIMUM] = KEY_MAXIMUM,
	[GROUP_BOUNDS + MINIMUM] = KEY_MINIMUM,
	[GROUP_BOUNDS + LATENCY] = KEY_LATENCY,
};

/**
 * conf_has_patterns() - see whether a section may mean several devices
 * @device: the section
 *
 * Return: whether it may; else it names them one by one.
 */
bool conf_has_patterns(const struct conf_section *device)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (conf_text(device, patterns[i]))
			return true;
	}
	return false;
}

/**
 * conf_may_be_several() - see whether a section is about one device at most
 * @device: the section
 *
 * Return: false if it is.
 */
bool conf_may_be_several(const struct conf_section *device)
{
	const char *list = conf_text(device, KEY_DEVICE);

	return !list || strpbrk(list, " \t");
}

static bool matches(const char *list, const char *text)
{
	struct span rest = span_of(list), word;
	bool found = false;

	while (text && !found && span_word(&rest, &word)) {
		char *pattern = xstrndup(word.start, word.length);

		found = !fnmatch(pattern, text, 0);
		free(pattern);
	}
	return found;
}

static bool matches_any(const char *list, char *const *texts)
{
	while (*texts && !matches(list, *texts))
		texts++;
	return *texts;
}

static bool key_selects(const struct conf_section *device, enum conf_key key,
			const struct conf_subject *subject)
{
	const char *list = conf_text(device, key);

	switch (list ? key : CONF_KEYS) {
	case KEY_PATH:
		return matches_any(list, subject->paths);
	case KEY_NAME:
		return matches(list, subject->kernel) ||
		       matches(list, subject->mapper);
	case KEY_VOLUME:
		return matches(list, subject->volume);
	case KEY_SERIAL:
		return matches(list, subject->serial[0]) ||
		       matches(list, subject->serial[1]);
	case KEY_TYPE:
		return matches(list, subject->type);
	case KEY_ROTATIONAL:
		return !strcmp(list, subject->rotational ? "yes" : "no");
	default:
		return true;
	}
}

/**
 * conf_selects() - see whether the patterns of a section fit a block device
 * @device: the section
 * @subject: what is known of the block device
 *
 * Return: whether all that the section has do.
 */
bool conf_selects(const struct conf_section *device,
		  const struct conf_subject *subject)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (!key_selects(device, patterns[i], subject))
			return false;
	}
	return true;
}

/**
 * conf_pool_setting() - what a pool is to have
 * @conf: the configuration
 * @pool: its name
 * @key: KEY_MEASURE, KEY_DEPTH or KEY_SLICE
 * @place: where that is said
 *
 * Return: the value of the last section that fits the name, or NULL.
 */
const char *conf_pool_setting(const struct conf *conf, const char *pool,
			      enum conf_key key, struct conf_place *place)
{
	for (size_t i = conf->n; i-- > 0;) {
		const struct conf_section *section = &conf->v[i];

		if (section->kind != CONF_POOL || !conf_text(section, key) ||
		    fnmatch(section->label, pool, 0))
			continue;
		*place = section->value[key].place;
		return conf_text(section, key);
	}
	return NULL;
}

/**
 * conf_group() - the group that a section is about
 * @group: the section
 *
 * Return: the group as it is written, with escapes.
 */
const char *conf_group(const struct conf_section *group)
{
	const char *text = conf_text(group, KEY_GROUP);

	return text ? text : group->label;
}

/**
 * conf_is_cgroup() - see whether a section is about cgroups
 * @group: the section
 *
 * Return: whether it is; else about a user, a process, the root's own I/O...
 */
bool conf_is_cgroup(const struct conf_section *group)
{
	static const char *const others[] = { "uid:", "gid:", "pid:", "pgrp:" };
	const char *text = conf_group(group);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (!strncmp(text, others[i], strlen(others[i])))
			return false;
	}
	return strcmp(text, "root") && strcmp(text, "/");
}

/* The byte that \ooo at @text stands for, or -1. */
static int escaped(const char *text)
{
	int byte = 0;

	if (*text != '\\' || text[1] > '3')
		return -1;
	for (int i = 1; i <= 3; i++) {
		if (text[i] < '0' || text[i] > '7')
			return -1;
		byte = 8 * byte + text[i] - '0';
	}
	return byte ? byte : -1;
}

/* Without "cgroup:" and slashes that do not matter. */
static const char *cgroup_part(const char *group)
{
	size_t prefix = strlen("cgroup:");

	if (!strncmp(group, "cgroup:", prefix))
		group += prefix;
	return group + strspn(group, "/");
}

/* For fnmatch(): what is escaped, and a backslash, stands for itself. */
static char *pattern_of(const char *group)
{
	char *pattern = xcalloc(2 * strlen(group) + 2, 1), *end = pattern;
	int byte;

	*end++ = '/';
	for (group = cgroup_part(group); *group; group++) {
		byte = escaped(group);
		if (byte >= 0 || *group == '\\')
			*end++ = '\\';
		*end++ = byte >= 0 ? byte : *group;
		group += byte >= 0 ? 3 : 0;
	}
	while (end > pattern + 1 && end[-1] == '/')
		*--end = 0;
	return pattern;
}

/**
 * conf_literal() - the one path that a section about cgroups names
 * @group: as from conf_group()
 *
 * Return: the path with a leading slash, to be freed; NULL if @group is a
 * pattern.
 */
char *conf_literal(const char *group)
{
	char *pattern = pattern_of(group), *from = pattern, *to = pattern;
	bool is_pattern = false;

	for (; *from; from++) {
		is_pattern = is_pattern || strchr("*?[", *from);
		from += *from == '\\';
		*to++ = *from;
	}
	*to = 0;
	if (!is_pattern)
		return pattern;
	free(pattern);
	return NULL;
}

/**
 * conf_names_cgroup() - see whether a section is about a cgroup
 * @group: the section
 * @path: of the cgroup, with a leading slash
 *
 * A star stands for any part of a name, not for a slash.
 *
 * Return: whether it is.
 */
bool conf_names_cgroup(const struct conf_section *group, const char *path)
{
	char *pattern;
	bool found;

	if (group->kind != CONF_GROUP || !conf_is_cgroup(group))
		return false;
	pattern = pattern_of(conf_group(group));
	found = !fnmatch(pattern, path, FNM_PATHNAME);
	free(pattern);
	return found;
}

/* Whether a section is about a tree; "-" stands for that of the pool. */
static bool is_about(const char *its_device, const char *device)
{
	return !its_device ||
	       !strcmp(its_device, device ? device : CONF_POOL_TREE);
}

/* How closely a section fits, 0 if it does not. */
static int fit(const struct conf_section *group, const char *path,
	       const char *pool, const char *device)
{
	const char *its_pool = conf_text(group, KEY_POOL);
	const char *its_device = conf_text(group, KEY_DEVICE);
	char *literal;
	int score = 1;

	if (!conf_names_cgroup(group, path) ||
	    (its_pool && strcmp(its_pool, pool)) ||
	    !is_about(its_device, device))
		return 0;
	literal = conf_literal(conf_group(group));
	score += (literal ? 4 : 0) + (its_device ? 2 : 0) + (its_pool ? 1 : 0);
	free(literal);
	return score;
}

/**
 * conf_setting_of() - the section that sets something of a cgroup in a tree
 * @conf: the configuration
 * @key: KEY_WEIGHT, KEY_MAXIMUM, KEY_MINIMUM or KEY_LATENCY
 * @path: of the cgroup
 * @pool: whose tree it is, or the pool of @device
 * @device: whose own tree it is, by name; NULL for the pool's
 *
 * A path goes before a pattern, a section for one device or pool before one
 * for all, a later section before an earlier one.
 *
 * Return: the section, or NULL.
 */
const struct conf_section *conf_setting_of(const struct conf *conf,
					   enum conf_key key, const char *path,
					   const char *pool,
					   const char *device)
{
	const struct conf_section *best = NULL;
	int closest = 0;

	for (size_t i = 0; i < conf->n; i++) {
		int score = 0;

		if (conf_text(&conf->v[i], key))
			score = fit(&conf->v[i], path, pool, device);
		if (score && score >= closest) {
			closest = score;
			best = &conf->v[i];
		}
	}
	return best;
}

/**
 * conf_bounds() - the bounds that a section sets
 * @section: the section
 *
 * Return: they; 0 for what the section does not name.
 */
struct bounds conf_bounds(const struct conf_section *section)
{
	struct bounds bounds = bounds_none;
	struct problem problem;
	unsigned int given;

	for (int bound = 0; bound < BOUNDS; bound++) {
		const char *text = conf_text(section,
					     conf_group_keys[GROUP_BOUNDS + bound]);

		if (text)
			bound_read(text, bound, &bounds, &given, &problem);
	}
	return bounds;
}

/**
 * conf_group_value() - what a section sets of a group
 * @section: the section
 *
 * Return: the first of it, or NULL if it sets nothing.
 */
const struct conf_value *conf_group_value(const struct conf_section *section)
{
	for (size_t i = 0; i < GROUP_SETTINGS; i++) {
		const struct conf_value *value =
			&section->value[conf_group_keys[i]];

		if (value->text)
			return value;
	}
	return NULL;
}
