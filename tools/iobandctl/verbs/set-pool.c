// SPDX-License-Identifier: GPL-2.0-only
/* What iobandctl set does with a pool, or with a device. */
#include <stdio.h>
#include <stdlib.h>

#include "config/conf.h"
#include "host/lock.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "verbs/set.h"

enum setting { MEASURE, DEPTH, SLICE, WRITES_STARVED, MODE, SETTINGS };

static const enum conf_key keys[SETTINGS] = {
	[MEASURE] = KEY_MEASURE,
	[DEPTH] = KEY_DEPTH,
	[SLICE] = KEY_SLICE,
	[WRITES_STARVED] = KEY_WRITES_STARVED,
	[MODE] = KEY_MODE,
};

/*
 * Time is shared in slices only: they come before it, and go after it.  With
 * another mode, groups go that nobody can give back, so it comes last.
 */
static const enum setting to_time[SETTINGS] = {
	SLICE, MEASURE, DEPTH, WRITES_STARVED, MODE
};

static const enum setting from_time[SETTINGS] = {
	MEASURE, SLICE, DEPTH, WRITES_STARVED, MODE
};

static int find_setting(struct span key)
{
	int setting = 0;

	while (setting < SETTINGS && !span_is(key, conf_key_name(keys[setting])))
		setting++;
	return setting;
}

/**
 * set_pool_knows() - see whether a key is one of a pool, or of a device
 * @key: the key
 *
 * Return: whether it is.
 */
bool set_pool_knows(struct span key)
{
	return find_setting(key) < SETTINGS;
}

static int check(int setting, const char *text)
{
	struct problem problem;

	if (conf_check_value(keys[setting], text, &problem))
		return fail(EXIT_USAGE, "%s=%s: %s",
			    conf_key_name(keys[setting]), text, problem.text);
	if (setting == SLICE && span_is(span_of(text), "auto"))
		return fail(EXIT_USAGE,
			    "slice=auto is for pools that are made; give a number, 0 for none");
	return EXIT_OK;
}

static int read_word(const char *word, const char *to[SETTINGS])
{
	struct span key, value;
	int setting = SETTINGS;

	if (span_key(span_of(word), &key, &value))
		setting = find_setting(key);
	if (setting == SETTINGS)
		return fail(EXIT_USAGE, "'%s': it is " SET_POOL_SAYS, word);
	if (to[setting])
		return set_twice(word);
	to[setting] = value.start;
	return check(setting, to[setting]);
}

static int read_words(const struct args *args, const char *to[SETTINGS])
{
	int code = EXIT_OK;

	for (int i = 0; i < args->n && code == EXIT_OK; i++)
		code = read_word(args->operand[i], to);
	if (code != EXIT_OK)
		return code;
	if (to[MODE] && !args->value[OPTION_DEVICE])
		return fail(EXIT_USAGE,
			    "mode=%s is of a device: name it with --device",
			    to[MODE]);
	if (!args->value[OPTION_DEVICE] && !args->value[OPTION_POOL])
		return fail(EXIT_USAGE,
			    "say which pool, with --pool; 'iobandctl get' shows all");
	return EXIT_OK;
}

static void undo(const struct ioband_device *speaker,
		 const enum setting order[SETTINGS],
		 const char *const to[SETTINGS], int n)
{
	const struct ioband_table *table = &speaker->table;
	bool complete = true;
	char slice[24], writes_starved[24];
	const char *const from[SETTINGS] = {
		[MEASURE] = table->measure, [DEPTH] = table->depth,
		[SLICE] = slice, [WRITES_STARVED] = writes_starved,
		[MODE] = table->mode,
	};

	snprintf(slice, sizeof(slice), "%llu",
		 (unsigned long long)table->slice_ms);
	snprintf(writes_starved, sizeof(writes_starved), "%llu",
		 (unsigned long long)table->writes_starved);
	while (n-- > 0) {
		enum setting setting = order[n];

		if (to[setting] &&
		    query_set(speaker, conf_key_name(keys[setting]),
			      from[setting]) != EXIT_OK)
			complete = false;
	}
	set_say_undone(complete);
}

static int change(const struct ioband_device *speaker,
		  const char *const to[SETTINGS])
{
	bool times = to[MEASURE] && span_is(span_of(to[MEASURE]), "time");
	const enum setting *order = times ? to_time : from_time;
	int code = EXIT_OK;

	for (int n = 0; n < SETTINGS; n++) {
		enum setting setting = order[n];

		if (to[setting])
			code = query_set(speaker, conf_key_name(keys[setting]),
					 to[setting]);
		if (code == EXIT_OK)
			continue;
		undo(speaker, order, to, n);
		return code;
	}
	return EXIT_OK;
}

static void mark(const struct ioband_device *speaker,
		 const char *const to[SETTINGS])
{
	for (int setting = 0; setting < SETTINGS; setting++) {
		if (to[setting])
			hand_mark(&(struct hand_key){
				.pool = speaker->table.pool,
				.device = setting == MODE ? speaker->dm->name :
							    NULL,
				.key = conf_key_name(keys[setting]),
			});
	}
}

static int load_and_change(const struct args *args,
			   const char *const to[SETTINGS])
{
	struct targets targets = { .n = 0 };
	struct ioband_devices devices;
	struct scope scope;
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	code = ioband_scope(&devices, args, &scope);
	if (code == EXIT_OK) {
		ioband_pools(&devices, &scope, &targets);
		code = change(targets.v[0], to);
		if (code == EXIT_OK)
			mark(targets.v[0], to);
	}
	targets_free(&targets);
	ioband_free(&devices);
	return code;
}

/**
 * set_pool() - change settings of a pool, or of a device
 * @args: the command line
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int set_pool(const struct args *args)
{
	const char *to[SETTINGS] = { NULL };
	struct lock lock = { .name = NULL };
	int code = read_words(args, to);

	if (code == EXIT_OK)
		code = lock_changes(&lock);
	if (code == EXIT_OK)
		code = load_and_change(args, to);
	unlock(&lock);
	if (code == EXIT_OK && args->value[OPTION_JSON])
		code = get_pools(args);
	return code;
}
