// SPDX-License-Identifier: GPL-2.0-only
/* The settings of a device, a pool or a group in the configuration.  Pure. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/conf.h"

/* Keys of a device section that select devices, besides "device". */
static const enum conf_key patterns[] = {
	KEY_PATH, KEY_NAME, KEY_VOLUME, KEY_SERIAL, KEY_TYPE, KEY_ROTATIONAL
};

const enum conf_key conf_group_keys[GROUP_SETTINGS] = {
	[GROUP_WEIGHT] = KEY_WEIGHT,
	[GROUP_BOUNDS + MAXIMUM] = KEY_MAXIMUM,
	[GROUP_BOUNDS + MINIMUM] = KEY_MINIMUM,
	[GROUP_BOUNDS + LATENCY] = KEY_LATENCY,
	[GROUP_BOUNDS + WRITE_LATENCY] = KEY_WRITE_LATENCY,
};

/* The value of a key in a section.  Return: the text, or NULL. */
const char *conf_text(const struct conf_section *section, enum conf_key key)
{
	return section->value[key].text;
}

/* Check whether a section sets a key to yes. */
bool conf_flag(const struct conf_section *section, enum conf_key key)
{
	const char *text = conf_text(section, key);

	return text && !strcmp(text, "yes");
}

/*
 * Format a place in the configuration.
 * @buffer: receives FILE:LINE
 */
void conf_where(const struct conf *conf, const struct conf_place *place, char *buffer, size_t size)
{
	const char *file = conf->files[place->file];

	if (place->line)
		snprintf(buffer, size, "%s:%u", file, place->line);
	else
		snprintf(buffer, size, "%s", file);
}

void conf_free(struct conf *conf)
{
	for (size_t i = 0; i < conf->n; i++) {
		for (int key = 0; key < CONF_KEYS; key++)
			free(conf->v[i].value[key].text);
		free(conf->v[i].label);
		free(conf->v[i].path);
		free(conf->v[i].pool);
	}
	free(conf->named);
	free(conf->patterns);
	for (size_t i = 0; i < conf->n_files; i++)
		free(conf->files[i]);
	free(conf->files);
	free(conf->v);
	*conf = (struct conf){ .n = 0 };
}

/*
 * Check whether a pool is given as the path of a disk.
 * @text: the value for the pool
 * Return: true if so; otherwise @text is a name, which has no slash.
 */
bool conf_is_pool_path(const char *text)
{
	return *text == '/';
}

/* The pool in a section, as written.  Return: a name or a path, or NULL. */
const char *conf_pool_text(const struct conf_section *section)
{
	return section->kind == CONF_POOL ? section->label : conf_text(section, KEY_POOL);
}

/* The name of the pool in a section.  Return: its name, or a path without a pool, or NULL. */
const char *conf_pool(const struct conf_section *section)
{
	return section->pool ? section->pool : conf_pool_text(section);
}

/*
 * Check whether a section selects devices by patterns.  Return: true if so; otherwise it
 * lists the devices.
 */
bool conf_has_patterns(const struct conf_section *device)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (conf_text(device, patterns[i]))
			return true;
	}
	return false;
}

/* Check whether a section can apply to several devices. */
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
		char *pattern __free = xstrndup(word.start, word.length);

		found = !fnmatch(pattern, text, 0);
	}
	return found;
}

static bool matches_any(const char *list, char *const *texts)
{
	while (*texts && !matches(list, *texts))
		texts++;
	return *texts;
}

static bool matches_serial(const char *list, const struct conf_subject *subject)
{
	bool found = false;

	for (size_t i = 0; !found && i < CONF_SERIALS; i++)
		found = matches(list, subject->serial[i]);
	return found;
}

static bool key_selects(const struct conf_section *device, enum conf_key key,
			const struct conf_subject *subject)
{
	const char *list = conf_text(device, key);

	switch (list ? key : CONF_KEYS) {
	case KEY_PATH:
		return matches_any(list, subject->paths);
	case KEY_NAME:
		return matches(list, subject->kernel) || matches(list, subject->mapper);
	case KEY_VOLUME:
		return matches(list, subject->volume);
	case KEY_SERIAL:
		return matches_serial(list, subject);
	case KEY_TYPE:
		return matches(list, subject->type);
	case KEY_ROTATIONAL:
		return !strcmp(list, subject->rotational ? "yes" : "no");
	default:
		return true;
	}
}

/*
 * Check whether the patterns of a section match a block device.
 * Return: true if all patterns of the section match.
 */
bool conf_selects(const struct conf_section *device, const struct conf_subject *subject)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (!key_selects(device, patterns[i], subject))
			return false;
	}
	return true;
}

/*
 * The setting of a pool.
 * @key: KEY_MEASURE, KEY_DEPTH, KEY_SLICE or KEY_WRITES_STARVED
 * Return: the value in the last section that matches the name, or NULL.
 */
const char *conf_pool_setting(const struct conf *conf, const char *pool,
			      enum conf_key key, struct conf_place *place)
{
	for (size_t i = conf->n; i-- > 0;) {
		const struct conf_section *section = &conf->v[i];

		/* The name of a pool that was found by its disk is not a pattern. */
		if (section->kind != CONF_POOL || !conf_text(section, key) ||
		    (section->pool ? strcmp(section->pool, pool) :
				     fnmatch(section->label, pool, 0)))
			continue;
		*place = section->value[key].place;
		return conf_text(section, key);
	}
	return NULL;
}

/* The group of a section.  Return: the group as written, with escapes. */
const char *conf_group(const struct conf_section *group)
{
	const char *text = conf_text(group, KEY_GROUP);

	return text ? text : group->label;
}

/* The bounds in a section.  Return: the bounds; 0 for bounds that the section does not set. */
struct bounds conf_bounds(const struct conf_section *section)
{
	struct bounds bounds = bounds_none;
	struct problem problem;
	unsigned int given;

	for (int bound = 0; bound < BOUNDS; bound++) {
		const char *text = conf_text(section, conf_group_keys[GROUP_BOUNDS + bound]);

		if (text)
			bound_read(text, bound, &bounds, &given, &problem);
	}
	return bounds;
}

/*
 * The first setting of a group in a section.  Return: the value, or NULL if the section
 * sets nothing.
 */
const struct conf_value *conf_group_value(const struct conf_section *section)
{
	for (size_t i = 0; i < GROUP_SETTINGS; i++) {
		const struct conf_value *value = &section->value[conf_group_keys[i]];

		if (value->text)
			return value;
	}
	return NULL;
}
