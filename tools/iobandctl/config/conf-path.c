// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cgroups of the sections of the configuration.  Pure.
 *
 * Each section is parsed once.  There may be thousands of cgroups, and of
 * sections that name a cgroup by its path.  These sections are sorted, and
 * found by bisection.  Patterns are tried in sequence.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "cgroup/cgroup.h"
#include "config/conf.h"

#define NESTING_MAX 128		/* the limit of nesting in the kernel's module */
#define NAME_LENGTH_MAX 255

/*
 * Check whether a section is about cgroups.  Return: true if so; false for users,
 * processes, the root's own I/O and the like.
 */
bool conf_is_cgroup(const struct conf_section *group)
{
	const char *text = conf_group(group);

	return group->kind == CONF_GROUP && !text_is(text, "root", "/") &&
	       !text_begins(text, "uid:", "gid:", "pid:", "pgrp:");
}

/* The byte of the escape \ooo at @text, or -1. */
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

/*
 * The pattern for fnmatch().  An escaped byte and a backslash stand for
 * themselves.  Characters of several bytes stay whole.
 */
static char *pattern_of(const char *group)
{
	char *pattern = xcalloc(2 * strlen(group) + 2, 1), *end = pattern;
	int byte;

	*end++ = '/';
	group = text_after(group, "cgroup:") ?: group;
	for (group += strspn(group, "/"); *group; group++) {
		byte = escaped(group);
		if (byte >= 0 ? isascii(byte) : *group == '\\')
			*end++ = '\\';
		*end++ = byte >= 0 ? byte : *group;
		group += byte >= 0 ? 3 : 0;
	}
	while (end > pattern + 1 && end[-1] == '/')
		*--end = 0;
	return pattern;
}

/* Check whether a pattern can match more than one path. */
static bool has_wildcard(const char *pattern)
{
	for (; *pattern && !strchr("*?[", *pattern); pattern++)
		pattern += *pattern == '\\';
	return *pattern;
}

/* Remove the backslashes. */
static void unquote(const char *pattern, char *path)
{
	for (; *pattern; pattern++) {
		pattern += *pattern == '\\';
		*path++ = *pattern;
	}
	*path = 0;
}

static int check_name(const char *name, size_t length, bool is_pattern, struct problem *problem)
{
	if (!length)
		return problem_set(problem, "there is no name between two '/'");
	if (length <= 2 && !strncmp(name, "..", length))
		return problem_set(problem,
				   "no cgroup is called '.' or '..': write its path from the root");
	if (!is_pattern && length > NAME_LENGTH_MAX)
		return problem_set(problem, "a name of %zu bytes is too long: %d are the most",
				   length, NAME_LENGTH_MAX);
	return 0;
}

static int check_path(const char *path, bool is_pattern, struct problem *problem)
{
	size_t length = strlen(path), levels = 0;

	if (!path[1])
		return problem_set(problem, "the cgroup at the root is written as root");
	if (strchr(path, '\n'))
		return problem_set(problem, "no cgroup has a newline in its name");
	if (!is_pattern && length >= CGROUP_PATH_SIZE)
		return problem_set(problem, "a path of %zu bytes is too long: %d are the most",
				   length, CGROUP_PATH_SIZE - 1);
	for (; *path; levels++) {
		length = strcspn(++path, "/");
		if (check_name(path, length, is_pattern, problem))
			return -1;
		path += length;
	}
	if (levels > NESTING_MAX)
		return problem_set(problem,
				   "%zu cgroups, each in the one before, are too many: %d are the most that have I/O of their own",
				   levels, NESTING_MAX);
	return 0;
}

/*
 * Check that a cgroup can have the path in a section.
 * @group: the section, after conf_read_paths()
 *
 * The kernel would refuse other paths, has no group for them, or never has such cgroups.
 */
int conf_check_path(const struct conf_section *group, struct problem *problem)
{
	char *path __free = NULL;

	if (!group->path)
		return 0;
	path = xstrdup(group->path);
	if (group->is_pattern)
		unquote(group->path, path);
	return check_path(path, group->is_pattern, problem);
}

static void read_path(struct conf_section *section)
{
	char *pattern = pattern_of(conf_group(section));

	section->is_pattern = has_wildcard(pattern);
	if (!section->is_pattern)
		unquote(pattern, pattern);
	section->path = pattern;
}

static int by_path(const void *left, const void *right)
{
	const struct conf_section *a = *(struct conf_section *const *)left;
	const struct conf_section *b = *(struct conf_section *const *)right;
	int order = strcmp(a->path, b->path);

	return order ? order : (a > b) - (a < b);
}

/* Parse the cgroup paths of all sections. */
void conf_read_paths(struct conf *conf)
{
	conf->named = xcalloc(conf->n, sizeof(*conf->named));
	conf->patterns = xcalloc(conf->n, sizeof(*conf->patterns));
	for (size_t i = 0; i < conf->n; i++) {
		struct conf_section *section = &conf->v[i];

		if (!conf_is_cgroup(section))
			continue;
		read_path(section);
		if (section->is_pattern)
			conf->patterns[conf->n_patterns++] = section;
		else
			conf->named[conf->n_named++] = section;
	}
	qsort(conf->named, conf->n_named, sizeof(*conf->named), by_path);
}

/* The index of the first section with this path, or of the next greater path. */
static size_t lower_bound(const struct conf *conf, const char *path)
{
	size_t from = 0, to = conf->n_named;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(conf->named[middle]->path, path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * Check whether a section names this cgroup by its path.
 * @path: of the cgroup, with a leading slash
 */
bool conf_names(const struct conf *conf, const char *path)
{
	size_t i = lower_bound(conf, path);

	return i < conf->n_named && !strcmp(conf->named[i]->path, path);
}

/*
 * The next path among the sections that name one.
 * @i: index in &conf.named
 * Return: the index of the first section with another path than that of @i.
 */
size_t conf_next_named(const struct conf *conf, size_t i)
{
	const char *path = conf->named[i]->path;

	while (i < conf->n_named && !strcmp(conf->named[i]->path, path))
		i++;
	return i;
}

static void add(struct conf_matches *matches, const struct conf_section *section)
{
	*XPUSH(matches->v, matches->n) = section;
}

/*
 * Find the sections that match a cgroup.
 * @path: of the cgroup, with a leading slash
 * @matches: the result: sections with the path first, then patterns, each in their order;
 *	to be freed with conf_matches_free()
 *
 * A star matches any part of a name, but no slash.
 */
void conf_match(const struct conf *conf, const char *path, struct conf_matches *matches)
{
	*matches = (struct conf_matches){ .n = 0 };
	for (size_t i = lower_bound(conf, path);
	     i < conf->n_named && !strcmp(conf->named[i]->path, path); i++)
		add(matches, conf->named[i]);
	for (size_t i = 0; i < conf->n_patterns; i++) {
		if (!fnmatch(conf->patterns[i]->path, path, FNM_PATHNAME))
			add(matches, conf->patterns[i]);
	}
}

/*
 * Check whether a pattern has a wildcard at or below a cgroup.
 * @group: the section with the pattern
 * Return: true if the beginning of the pattern matches the cgroup, and a wildcard is in its
 *	own name or after it.
 */
bool conf_is_open_at(const struct conf_section *group, const char *path)
{
	char *head __free = NULL;
	const char *name = group->path, *end = name;

	for (const char *slash = path; end && slash; slash = strchr(slash + 1, '/')) {
		name = end;
		end = strchr(name + 1, '/');
	}
	head = end ? xstrndup(group->path, end - group->path) : xstrdup(group->path);
	return has_wildcard(name) && !fnmatch(head, path, FNM_PATHNAME);
}

void conf_matches_free(struct conf_matches *matches)
{
	free(matches->v);
	*matches = (struct conf_matches){ .n = 0 };
}

/* The precedence of a cgroup's section in a tree; 0 if it does not apply there. */
static int fit(const struct conf_section *group, const char *pool, const char *device)
{
	const char *its_pool = conf_pool(group);
	const char *its_device = conf_text(group, KEY_DEVICE);

	/* "-" stands for the tree of the pool. */
	if ((its_pool && strcmp(its_pool, pool)) ||
	    (its_device && strcmp(its_device, device ?: CONF_POOL_TREE)))
		return 0;
	return 1 + (group->is_pattern ? 0 : 4) + (its_device ? 2 : 0) + (its_pool ? 1 : 0);
}

/*
 * The section with a setting of a cgroup in a tree.
 * @matches: the sections that match the cgroup
 * @key: KEY_WEIGHT, KEY_MAXIMUM, KEY_MINIMUM or KEY_LATENCY
 * @pool: the pool of the tree, or of @device
 * @device: name of the device with the tree as its own; NULL for the pool's tree
 *
 * A path takes precedence over a pattern, a section for one device or pool over a section
 * for all, and a later section over an earlier one.
 * Return: the section, or NULL.
 */
const struct conf_section *conf_setting_in(const struct conf_matches *matches, enum conf_key key,
					   const char *pool, const char *device)
{
	const struct conf_section *best = NULL;
	int closest = 0;

	for (size_t i = 0; i < matches->n; i++) {
		const struct conf_section *section = matches->v[i];
		int score = 0;

		if (conf_text(section, key))
			score = fit(section, pool, device);
		if (score && score >= closest) {
			closest = score;
			best = section;
		}
	}
	return best;
}

/* conf_setting_in() for a single lookup.  Return: the section, or NULL. */
const struct conf_section *conf_setting_of(const struct conf *conf, enum conf_key key,
					   const char *path, const char *pool, const char *device)
{
	struct conf_matches matches __cleanup(conf_matches_free);

	conf_match(conf, path, &matches);
	return conf_setting_in(&matches, key, pool, device);
}
