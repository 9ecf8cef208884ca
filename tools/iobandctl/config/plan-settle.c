// SPDX-License-Identifier: GPL-2.0-only
/* Which pool and which settings an ioband device will have. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"

/*
 * Have the settings of a pool as it will be.
 * @table: has the name of the pool, and gets its settings
 * Return: false if no device will be in the pool yet.
 */
bool plan_take_settings(const struct plan *plan, struct ioband_table *table)
{
	for (size_t i = 0; i < plan->n_future; i++) {
		const struct ioband_table *other = &plan->future[i].table;

		if (strcmp(other->pool, table->pool))
			continue;
		strcpy(table->measure, other->measure);
		strcpy(table->depth, other->depth);
		table->slice_ms = other->slice_ms;
		table->writes_starved = other->writes_starved;
		return true;
	}
	return false;
}

static const char *weight_word(const char *text)
{
	return text && !strcmp(text, "default") ? NULL : text;
}

/* Which pool a new device would be in, and with which settings. */
static int foresee(const struct plan *plan, const struct choice *choice,
		   const struct settings *settings, struct ioband_table *table)
{
	char *line __free = NULL;
	struct problem problem;
	int code = make_line(plan->devices, settings, &choice->device, &line);

	if (code == EXIT_OK && parse_table(line, table, &problem))
		code = fail(EXIT_FAILED, "%s", problem.text);
	return code;
}

/* See whether the pool of a section is there, or has a name. */
int plan_check_pool(const struct conf_section *section)
{
	const char *pool = conf_pool(section);

	if (!pool || !conf_is_pool_path(pool))
		return EXIT_OK;
	return fail(EXIT_MISSING, "pool = %s: there is no such device, so that its pool is unknown",
		    pool);
}

/* Not the default: a new pool has it, also with a module that cannot be told. */
static const char *writes_starved_word(const struct plan *plan, const char *pool)
{
	struct conf_place place;
	const char *text = conf_pool_setting(plan->conf, pool, KEY_WRITES_STARVED, &place);

	return text && strtoull(text, NULL, 10) != IOBAND_WRITES_STARVED_DEFAULT ? text : NULL;
}

/*
 * Find the settings and the table of a new ioband device.
 * @choice: the device below it
 * @settings: the settings that the configuration asks for
 * @table: the table that the device will have
 */
int plan_settle(const struct plan *plan, const struct choice *choice,
		struct settings *settings, struct ioband_table *table)
{
	const struct conf_section *section = choice->section;
	struct conf_place place;
	int code;

	*settings = (struct settings){
		.pool = conf_pool(section),
		.mode = conf_text(section, KEY_MODE),
		.weight = weight_word(conf_text(section, KEY_WEIGHT)),
	};
	code = plan_check_pool(section) ?: foresee(plan, choice, settings, table);
	if (code != EXIT_OK || plan_take_settings(plan, table))
		return code;
	settings->measure = conf_pool_setting(plan->conf, table->pool, KEY_MEASURE, &place);
	settings->depth = conf_pool_setting(plan->conf, table->pool, KEY_DEPTH, &place);
	settings->slice = conf_pool_setting(plan->conf, table->pool, KEY_SLICE, &place);
	settings->writes_starved = writes_starved_word(plan, table->pool);
	return foresee(plan, choice, settings, table);
}
