// SPDX-License-Identifier: GPL-2.0-only
/* Planning changes of the settings of pools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/plan.h"

/* The default slice of a pool, from its future disks. */
static const char *default_slice(const struct plan *plan, const char *pool)
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };

	for (size_t i = 0; i < plan->n_future; i++) {
		const struct ioband_table *table = &plan->future[i].table;
		const struct device below = { .major = table->device[0],
					      .minor = table->device[1] };

		if (!strcmp(table->pool, pool))
			device_disks(&below, &disks, &passed);
	}
	return make_slice_of(&disks);
}

/*
 * The default measure of a pool.  It depends on its slices, as they are or as
 * configured: time is shared only with slices.
 */
static const char *default_measure(const struct plan *plan, const struct future *future)
{
	const char *pool = future->table.pool;
	struct conf_place place;
	const char *asked = conf_pool_setting(plan->conf, pool, KEY_SLICE, &place);

	if (!strcmp(default_slice(plan, pool), "0") ||
	    !future->table.slice_ms || (asked && !strcmp(asked, "0")))
		return "bytes";
	return "time";
}

static void default_of(const struct plan *plan, const struct future *future,
		       enum conf_key key, char text[IOBAND_WORD_SIZE])
{
	if (key == KEY_SLICE)
		strcpy(text, default_slice(plan, future->table.pool));
	else if (key == KEY_WRITES_STARVED)
		snprintf(text, IOBAND_WORD_SIZE, "%d", IOBAND_WRITES_STARVED_DEFAULT);
	else
		strcpy(text, key == KEY_MEASURE ? default_measure(plan, future) : "auto");
}

static bool is_made(const struct plan *plan, const char *pool)
{
	for (size_t i = 0; i < plan->n_future; i++) {
		const struct future *future = &plan->future[i];

		if (future->makes_pool && !strcmp(future->table.pool, pool))
			return true;
	}
	return false;
}

/*
 * The value from the configuration.  Without one it is the default in two cases: the pool is new
 * because devices move to it, or a former configuration set the present value. "auto" of a slice
 * stays as it was chosen when the pool was made.
 */
static bool find_wish(const struct plan *plan, const struct future *future, enum conf_key key,
		      const char *now, char to[IOBAND_WORD_SIZE], struct conf_place *place)
{
	const char *pool = future->table.pool;
	const char *text = conf_pool_setting(plan->conf, pool, key, place);
	const bool is_auto = text && key == KEY_SLICE && !strcmp(text, "auto");

	if (!text)
		*place = (struct conf_place){ .line = 0 };
	if (text && !is_auto)
		snprintf(to, IOBAND_WORD_SIZE, "%s", text);
	else if (is_made(plan, pool) || (!text && plan_gave_pool(plan, pool, key, now)))
		default_of(plan, future, key, to);
	else
		return false;
	return true;
}

/* If slices begin or end, a measure without a setting is chosen again. */
static void set_measure(struct plan *plan, struct future *future, bool slices)
{
	char *now = future->table.measure, to[IOBAND_WORD_SIZE];
	struct conf_place place;

	if (!find_wish(plan, future, KEY_MEASURE, now, to, &place)) {
		if (!slices || plan_is_by_hand(future->table.pool, KEY_MEASURE))
			return;
		default_of(plan, future, KEY_MEASURE, to);
	}
	if (!strcmp(to, now))
		return;
	plan_set(plan, future, false, "measure", now, to, &place);
	strcpy(now, to);
}

/* A pool that shares time keeps its slices. */
static void set_slice(struct plan *plan, struct future *future, const char *from, const char *to,
		      const struct conf_place *place)
{
	uint64_t slice_ms = strtoull(to, NULL, 10);

	if (slice_ms == future->table.slice_ms ||
	    (!slice_ms && !place->line && !strcmp(future->table.measure, "time")))
		return;
	plan_set(plan, future, false, "slice", from, to, place);
	future->table.slice_ms = slice_ms;
}

static void set_depth(struct plan *plan, struct future *future)
{
	char *now = future->table.depth, to[IOBAND_WORD_SIZE];
	struct conf_place place;

	if (find_wish(plan, future, KEY_DEPTH, now, to, &place) && strcmp(to, now))
		plan_set(plan, future, false, "depth", now, to, &place);
}

static void set_writes_starved(struct plan *plan, struct future *future)
{
	char from[IOBAND_WORD_SIZE], to[IOBAND_WORD_SIZE];
	struct conf_place place;

	snprintf(from, sizeof(from), "%llu", (unsigned long long)future->table.writes_starved);
	if (find_wish(plan, future, KEY_WRITES_STARVED, from, to, &place) &&
	    strtoull(to, NULL, 10) != future->table.writes_starved)
		plan_set(plan, future, false, "writes_starved", from, to, &place);
}

/*
 * Time is shared only with slices.  Slices are therefore enabled before that
 * measure, and disabled after it.
 */
static int plan_pool(struct plan *plan, struct future *future)
{
	char from[IOBAND_WORD_SIZE], to[IOBAND_WORD_SIZE];
	struct conf_place place;
	bool begin = false, end = false, found;

	snprintf(from, sizeof(from), "%llu", (unsigned long long)future->table.slice_ms);
	found = find_wish(plan, future, KEY_SLICE, from, to, &place);
	if (found) {
		end = !strcmp(to, "0") && strcmp(from, "0");
		begin = strcmp(to, "0") && !strcmp(from, "0");
	}
	if (end)
		set_measure(plan, future, true);
	if (found)
		set_slice(plan, future, from, to, &place);
	if (!end)
		set_measure(plan, future, begin);
	set_depth(plan, future);
	set_writes_starved(plan, future);
	if (strcmp(future->table.measure, "time") || future->table.slice_ms)
		return EXIT_OK;
	fail(EXIT_USAGE,
	     "pool %s is to share time, which takes slices: set 'slice' in its section, to 124 for instance, or another 'measure'",
	     future->table.pool);
	if (!conf_pool_setting(plan->conf, future->table.pool, KEY_MEASURE, &place))
		conf_pool_setting(plan->conf, future->table.pool, KEY_SLICE, &place);
	return plan_blame(plan, &place, EXIT_USAGE);
}

/* Check whether a device is the first of its pool; present members come before future ones. */
static bool speaks(const struct plan *plan, const struct future *future)
{
	const struct future *first = NULL;

	for (size_t i = 0; i < plan->n_future; i++) {
		const struct future *other = &plan->future[i];

		if (!strcmp(other->table.pool, future->table.pool) &&
		    (!first || (first->moved && !other->moved)))
			first = other;
	}
	return first == future;
}

static bool pool_is_chosen(const struct plan *plan, const char *pool)
{
	for (size_t i = 0; i < plan->n_future; i++) {
		if (plan->future[i].chosen && !strcmp(plan->future[i].table.pool, pool))
			return true;
	}
	return false;
}

/*
 * Plan changes of the settings of pools.
 * @all: all pools; otherwise only the pools of selected devices
 */
int plan_pools(struct plan *plan, bool all)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < plan->n_future && code == EXIT_OK; i++) {
		struct future *future = &plan->future[i];

		if (speaks(plan, future) && (all || pool_is_chosen(plan, future->table.pool)))
			code = plan_pool(plan, future);
	}
	return code;
}
