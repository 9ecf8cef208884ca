// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to a pool: messages, and its status line.
 *
 * Lists arrive page by page.  They are sorted here by sequence number, the
 * first member of every struct in them.
 */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "kernel/kmsg.h"

static int report_refusal(const struct ioband_device *device, const char *message, int error)
{
	const char *reason = kmsg_reason(-error);

	for (int bound = 0; bound < BOUNDS; bound++) {
		if (parse_is_unknown(reason, bound_kinds[bound].message))
			return fail(EXIT_FORMAT,
				    "the module that is loaded knows no %s: it is older than this iobandctl; load the module of the same version",
				    bound_kinds[bound].nouns);
	}
	return fail(exit_code_of(-error), "device %s refused '%s': %s",
		    device->dm->name, message, reason);
}

static int read_page(const struct ioband_device *device, const char *kind, const char *message,
		     void *list, struct page_end *end)
{
	char *text __free = NULL;
	struct problem problem;
	int error, code = EXIT_OK;

	kmsg_mark();
	error = mapper_message(device->dm->name, message, &text);
	if (error)
		return report_refusal(device, message, error);
	if (parse_list(kind, text, list, end, &problem))
		code = fail(EXIT_FORMAT, "cannot understand what device %s answered to '%s': %s",
			    device->dm->name, message, problem.text);
	return code;
}

static int read_list(const struct ioband_device *device, const char *kind, void *list)
{
	struct page_end end = { .more = false };
	char cursor[IOBAND_CURSOR_SIZE];
	int code;

	do {
		char *message __free = xasprintf("%s%s%s", kind, end.more ? " " : "",
						 end.more ? end.cursor : "");

		strcpy(cursor, end.cursor);
		code = read_page(device, kind, message, list, &end);
		if (code == EXIT_OK && end.more && !strcmp(cursor, end.cursor))
			code = fail(EXIT_FORMAT,
				    "device %s answers '%s' with the same page over and over",
				    device->dm->name, kind);
	} while (code == EXIT_OK && end.more);
	return code;
}

static int by_seq(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static_assert(!offsetof(struct ioband_group, seq), "sorted by it");
static_assert(!offsetof(struct group_stats, seq), "sorted by it");
static_assert(!offsetof(struct group_latency, seq), "sorted by it");

/* Read the status of a device's pool. */
int query_status(const struct ioband_device *device, struct ioband_status *status)
{
	char *text __free = mapper_status(device->dm->name);
	struct problem problem;
	int code = EXIT_OK;

	if (!text)
		return fail(EXIT_FAILED, "device %s has no status any more", device->dm->name);
	if (parse_status(text, status, &problem))
		code = fail(EXIT_FORMAT, "cannot understand the status of device %s: %s",
			    device->dm->name, problem.text);
	return code;
}

/*
 * List the groups of a device's pool.
 * @groups: the result, also to be freed after a failure
 */
int query_groups(const struct ioband_device *device, struct groups *groups)
{
	int code;

	*groups = (struct groups){ .n = 0 };
	code = read_list(device, "groups", groups);
	if (groups->n)
		qsort(groups->v, groups->n, sizeof(*groups->v), by_seq);
	return code;
}

/*
 * Check whether the module accepts settings for future cgroups.  Return: false if an older
 * module is loaded.
 */
bool query_has_presets(void)
{
	unsigned int version[3];

	return !mapper_target_version(version) || version[0] > 1 || version[1] >= 1;
}

/*
 * List the presets of a device's pool.
 * @presets: the result, also to be freed after a failure; empty with an older module
 */
int query_presets(const struct ioband_device *device, struct presets *presets)
{
	*presets = (struct presets){ .n = 0 };
	if (!query_has_presets())
		return EXIT_OK;
	return read_list(device, "presets", presets);
}

/*
 * List the statistics of the groups of a device's pool.
 * @stats: the result, also to be freed after a failure
 */
int query_stats(const struct ioband_device *device, struct stats *stats)
{
	int code;

	*stats = (struct stats){ .n = 0 };
	code = read_list(device, "stats", stats);
	if (stats->n)
		qsort(stats->v, stats->n, sizeof(*stats->v), by_seq);
	return code;
}

/*
 * List the histograms of the groups of a device's pool.
 * @latency: the result, also to be freed after a failure
 */
int query_latency(const struct ioband_device *device, struct latency *latency)
{
	int code;

	*latency = (struct latency){ .n = 0 };
	code = read_list(device, "latency", latency);
	if (latency->n)
		qsort(latency->v, latency->n, sizeof(*latency->v), by_seq);
	return code;
}

__printf(2, 3)
static int send(const struct ioband_device *device, const char *fmt, ...)
{
	char *message __free = NULL;
	va_list args;
	int error;

	va_start(args, fmt);
	message = xvasprintf(fmt, args);
	va_end(args);
	kmsg_mark();
	error = mapper_message(device->dm->name, message, NULL);
	return error ? report_refusal(device, message, error) : EXIT_OK;
}

/*
 * Change a setting of a device or its pool.
 * @key: mode, measure, depth, slice or writes_starved
 * @value: the value, as in a table line
 */
int query_set(const struct ioband_device *device, const char *key, const char *value)
{
	return send(device, "set %s=%s", key, value);
}

/*
 * Set the weight of a group.
 * @weight: 1..10000, IOBAND_WEIGHT_IDLE, or 0 for the default
 */
int query_weight(const struct ioband_device *device, const char *group, uint64_t weight)
{
	char *word __free = weight_text(weight);

	return send(device, "weight %s %s", group, word);
}

/*
 * Set the maximum, the minimum or the latency target of a group.
 * @given: the rates to set, a bit for each; the others remain unchanged
 */
int query_bound(const struct ioband_device *device, const char *group, enum bound bound,
		const struct bounds *bounds, unsigned int given)
{
	char *words __free = bound_words(bounds, bound, given);

	return send(device, "%s %s %s", bound_kinds[bound].message, group, words);
}

/*
 * device-mapper takes the character after a backslash literally.  Only the
 * kernel knows its other white space: 0xa0 too, even inside a UTF-8 character.
 */
static char *quote(const char *path)
{
	char *quoted = xcalloc(2 * strlen(path) + 1, 1), *end = quoted;

	for (; *path; path++) {
		unsigned char byte = *path;

		if (!isascii(byte) || (!isalnum(byte) && !strchr("/.-_", byte)))
			*end++ = '\\';
		*end++ = *path;
	}
	return quoted;
}

static int send_preset(const struct ioband_device *device, const char *verb,
		       const char *path, const char *words)
{
	char *quoted __free = quote(path);
	int code = EXIT_OK;

	if (query_has_presets())
		code = send(device, "preset %s cgroup:%s %s", verb, quoted, words);
	return code;
}

/*
 * Set the initial weight of the group of a path.
 * @path: of the cgroup, which need not exist
 * @weight: 1..10000, IOBAND_WEIGHT_IDLE, or 0 for the default
 *
 * An older module receives no message.
 */
int query_preset_weight(const struct ioband_device *device, const char *path, uint64_t weight)
{
	char *word __free = weight_text(weight);

	return send_preset(device, "weight", path, word);
}

/*
 * Set an initial bound of the group of a path.
 * @path: of the cgroup, which need not exist
 *
 * An older module receives no message.
 */
int query_preset_bound(const struct ioband_device *device, const char *path,
		       enum bound bound, const struct bounds *bounds)
{
	char *words __free = bound_words(bounds, bound, RATES_ALL);

	return send_preset(device, bound_kinds[bound].message, path, words);
}

/*
 * Set all bounds of a group.
 * @bounds: its bounds; kinds that are not set remain unchanged
 * Return: an exit code, that of the first failure, which has been reported.
 */
int query_bounds(const struct ioband_device *device, const char *group, const struct bounds *bounds)
{
	int code = EXIT_OK;

	for (int bound = 0; bound < BOUNDS; bound++) {
		if (bound_is_set(bounds, bound))
			code = first_failure(code, query_bound(device, group, bound, bounds,
							       RATES_ALL));
	}
	return code;
}

/* Find a group by its sequence number.  Return: the group, or NULL. */
const struct ioband_group *groups_find(const struct groups *groups, uint64_t seq)
{
	return groups->n ? bsearch(&seq, groups->v, groups->n, sizeof(*groups->v), by_seq) : NULL;
}

/* Find statistics by the group's sequence number.  Return: the statistics, or NULL. */
const struct group_stats *stats_find(const struct stats *stats, uint64_t seq)
{
	return stats->n ? bsearch(&seq, stats->v, stats->n, sizeof(*stats->v), by_seq) : NULL;
}

/* Find histograms by the group's sequence number.  Return: the histograms, or NULL. */
const struct group_latency *latency_find(const struct latency *latency, uint64_t seq)
{
	return latency->n ? bsearch(&seq, latency->v, latency->n,
				    sizeof(*latency->v), by_seq) : NULL;
}
