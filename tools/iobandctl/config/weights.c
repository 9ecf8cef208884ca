// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of weights.  It has one line for each group with a weight, a maximum, a minimum or a
 * latency target.  Its names survive a reboot, unlike the kernel's ids.
 *
 *	1 weights
 *	pool=<pool> [device=<mapper name>] group=<group> [weight=<n>|idle] [max=<rates>]
 *		[min=<rates>] [latency=<us>] [write_latency=<us>]
 *
 * The first number is the version of the format.  device= is present for groups
 * in the own tree of that device.  White space, backslashes and control bytes
 * in names are written as \ooo.  Empty lines and lines with # are skipped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/infile.h"
#include "base/interrupt.h"
#include "base/words.h"
#include "config/weights.h"
#include "host/lock.h"
#include "ioband/group.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "print/print.h"

enum { POOL, DEVICE, GROUP, ID, WEIGHT, BOUND_NUMBERS, COLUMNS = BOUND_NUMBERS + PRINT_BOUNDS };

static const struct column columns[COLUMNS] = {
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT },
	[GROUP] = { "GROUP", "group", COLUMN_TEXT },
	[ID] = { "ID", "id", COLUMN_TEXT },
	[WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	PRINT_MAX(BOUND_NUMBERS + MAXIMUM * RATES),
	PRINT_MIN(BOUND_NUMBERS + MINIMUM * RATES),
	PRINT_LATENCY(BOUND_NUMBERS + LATENCY * RATES),
};

static struct table *begin_json(void)
{
	return print_table("weights", columns, COLUMNS, true);
}

static void print_saved(struct table *table, const struct saved_weight *saved,
			const char *name, const char *id)
{
	struct row *row = print_row(table);

	print_text(row, POOL, saved->pool);
	print_text(row, DEVICE, saved->device);
	print_text(row, GROUP, name);
	print_text(row, ID, id);
	if (saved->weight)
		print_weight(row, WEIGHT, saved->weight);
	print_bounds(row, BOUND_NUMBERS, &saved->bounds);
}

/* The words of all bounds that are set, each after a blank. */
static char *all_words(const struct bounds *bounds)
{
	char *words = xstrdup(""), *list;

	for (int bound = 0; bound < BOUNDS; bound++) {
		if (!bound_is_set(bounds, bound))
			continue;
		list = bound_list(bounds, bound);
		xappend(&words, " %s=%s", bound_kinds[bound].key, list);
		free(list);
	}
	return words;
}

static void write_saved(const struct saved_weight *saved)
{
	char *group __free = text_escape(saved->group);
	char *device __free = text_escape(saved->device ? saved->device : "");
	char *weight __free = weight_text(saved->weight);
	char *bounds __free = all_words(&saved->bounds);

	print_line("pool=%s%s%s group=%s%s%s%s", saved->pool, *device ? " device=" : "", device,
		   group, saved->weight ? " weight=" : "", saved->weight ? weight : "", bounds);
}

/* The name of a group that survives a reboot. */
static char *lasting_name(const struct ioband_group *group)
{
	if (group->path)
		return xasprintf("cgroup:%s", group->path);
	if (tree_is_device(group))
		return xstrdup("device");
	return xstrdup(group->name);
}

static void save_group(const struct ioband_devices *devices, const struct groups *groups,
		       const struct ioband_group *group, const char *pool, struct table *table)
{
	const struct ioband_device *owner = tree_owner(devices, groups, group);
	struct saved_weight saved = {
		.device = xstrdup(owner ? owner->dm->name : NULL),
		.group = lasting_name(group),
		.weight = group->set ? group->weight : 0,
		.bounds = group->bounds,
	};

	char *name = tree_name(devices, groups, group);

	snprintf(saved.pool, sizeof(saved.pool), "%s", pool);
	if (table)
		print_saved(table, &saved, name, group->name);
	else
		write_saved(&saved);
	free(name);
	free(saved.device);
	free(saved.group);
}

static int save_pool(const struct ioband_devices *devices, const struct scope *scope,
		     const struct ioband_device *speaker, struct table *table)
{
	struct groups groups __cleanup(groups_free);
	int code = query_groups(speaker, &groups);

	for (size_t i = 0; code == EXIT_OK && i < groups.n; i++) {
		if ((groups.v[i].set || bounds_are_set(&groups.v[i].bounds)) &&
		    tree_lasts(&groups.v[i]) &&
		    tree_has(devices, &groups, &groups.v[i], scope->device))
			save_group(devices, &groups, &groups.v[i], speaker->table.pool, table);
	}
	return code;
}

/*
 * Print all weights and bounds that are set.
 * @json: print JSON, which weights_restore() does not read
 */
int weights_save(const struct ioband_devices *devices, const struct scope *scope, bool json)
{
	struct table *table = json ? begin_json() : NULL;
	struct targets speakers __cleanup(targets_free);
	int code = EXIT_OK;

	if (!table)
		print_line("1 weights");
	ioband_pools(devices, scope, &speakers);
	for (size_t i = 0; i < speakers.n && code == EXIT_OK; i++)
		code = save_pool(devices, scope, speakers.v[i], table);
	return first_failure(code, table ? print_end(table) : print_flush());
}

static int read_file(const char *name, char **text)
{
	int error = infile_read(name, text);

	if (error == EILSEQ)
		return fail(EXIT_USAGE, "%s has a NUL byte in it: it is no file of weights", name);
	if (error)
		return fail(exit_code_of(error), "cannot read %s: %s", name, strerror(error));
	if (!**text)
		return fail(EXIT_USAGE, "%s is empty: it is no file of weights", name);
	return EXIT_OK;
}

static int find_scope(const struct ioband_devices *devices,
		      const struct saved_weight *saved, struct scope *scope)
{
	int code;

	*scope = (struct scope){ .pool = saved->pool };
	if (!saved->device)
		return EXIT_OK;
	code = ioband_find(devices, saved->device, &scope->device);
	if (code == EXIT_OK && strcmp(scope->device->table.pool, saved->pool))
		code = fail(EXIT_MISSING, "device %s is in pool %s, not %s", saved->device,
			    scope->device->table.pool, saved->pool);
	return code;
}

/* Record manual settings, also after a failure: a part may have been set. */
static void mark(const struct ioband_device *device,
		 const struct saved_weight *saved, const char *group)
{
	if (saved->weight)
		hand_mark_group(device, group, "weight");
	for (int bound = 0; bound < BOUNDS; bound++) {
		if (bound_is_set(&saved->bounds, bound))
			hand_mark_group(device, group, bound_kinds[bound].noun);
	}
}

static int apply_one(const struct ioband_device *device,
		     const struct saved_weight *saved, const char *group)
{
	int code = EXIT_OK;

	if (saved->weight)
		code = query_weight(device, group, saved->weight);
	code = code ?: query_bounds(device, group, &saved->bounds);
	mark(device, saved, group);
	return code;
}

/* Skip devices with their own tree; these have lines of their own. */
static int apply_to(const struct targets *targets, const struct saved_weight *saved,
		    const struct group_ref *group)
{
	int code = EXIT_OK;
	size_t sent = 0;

	for (size_t i = 0; i < targets->n && code == EXIT_OK; i++) {
		if (!saved->device && group->mode && ioband_has_trees(targets->v[i]))
			continue;
		code = apply_one(targets->v[i], saved, group->message);
		sent++;
	}
	if (sent)
		return code;
	return fail(EXIT_MISSING,
		    "pool %s has no tree of its own any more: its devices have mode device+cgroup",
		    saved->pool);
}

static int apply(struct finder *finder, const struct saved_weight *saved, struct group_ref *group)
{
	struct targets targets __cleanup(targets_free) = { .n = 0 };
	struct scope scope;
	int code = find_scope(finder->devices, saved, &scope) ?:
		   group_find(finder, saved->group, &scope, group) ?:
		   group_targets(finder, group, &scope, &targets);

	if (code != EXIT_OK)
		return code;
	return apply_to(&targets, saved, group);
}

/* The kernel accepts a minimum above the maximum, and enforces the maximum. */
static void check_bounds(const struct saved_weight *saved, const char *file)
{
	struct problem problem;

	if (bounds_check(&saved->bounds, &problem))
		note("note: line %zu of %s: %s, which wins", saved->line, file, problem.text);
}

/* With @json, add the settings to a table. */
static int apply_line(struct finder *finder, const char *file, const struct saved_weight *saved,
		      bool json, struct table **table)
{
	char *name __free = NULL;
	struct group_ref group;
	int code = apply(finder, saved, &group);

	if (code != EXIT_OK) {
		note("... in line %zu of %s", saved->line, file);
		return code;
	}
	check_bounds(saved, file);
	if (json && !*table)
		*table = begin_json();
	if (!*table)
		return EXIT_OK;
	name = group_name(&group);
	print_saved(*table, saved, name, group.name);
	return EXIT_OK;
}

/* Signals stay blocked until the manual settings are recorded. */
static int apply_all(const struct ioband_devices *devices, const char *file,
		     const struct saved_weights *weights, bool json)
{
	struct finder finder = { .devices = devices };
	struct table *table = json && !weights->n ? begin_json() : NULL;
	int first = EXIT_OK, stopped = EXIT_OK;
	size_t failed = 0, i;
	sigset_t before;

	interrupt_hold(&before);
	for (i = 0; i < weights->n && stopped == EXIT_OK; i++) {
		int code = apply_line(&finder, file, &weights->v[i], json, &table);

		first = first_failure(first, code);
		failed += code != EXIT_OK;
		stopped = interrupt_check();
	}
	interrupt_release(&before);
	failed += weights->n - i;
	if (failed)
		note("%zu of %zu lines were not restored", failed, weights->n);
	return table ? first_failure(first, print_end(table)) : first;
}

static int lock_and_apply(const char *file, const struct saved_weights *weights, bool json)
{
	struct ioband_devices devices;
	struct lock lock;
	int code = lock_changes(&lock) ?: ioband_load(&devices);

	if (code == EXIT_OK) {
		code = apply_all(&devices, file, weights, json);
		ioband_free(&devices);
	}
	unlock(&lock);
	return code;
}

/*
 * Set the weights and bounds in a file.
 * @file: its name, "-" for standard input
 *
 * Other changes are excluded once the file is read, which may take long.  A malformed file
 * changes nothing.  Lines that cannot be applied, for instance because their cgroup is
 * gone, are reported and skipped.
 * Return: the exit code of the first failure, which has been reported; else EXIT_OK.
 */
int weights_restore(const char *file, bool json)
{
	char *text __free = NULL;
	struct saved_weights weights __cleanup(saved_weights_free) = { .n = 0 };
	struct problem problem;
	int code = read_file(file, &text);

	if (code == EXIT_OK && parse_saved_weights(text, &weights, &problem))
		code = fail(EXIT_USAGE, "%s, %s; nothing was changed", file, problem.text);
	return code ?: lock_and_apply(file, &weights, json);
}
