// SPDX-License-Identifier: GPL-2.0-only
/* What iobandctl set does with a group, in each pool and tree that has it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/presets.h"
#include "host/lock.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "verbs/answer.h"
#include "verbs/set.h"

/**
 * struct wish - what is asked for
 * @args: the command line
 * @devices: all
 * @settings: by setting: it is asked for
 * @given: by bound: which of its rates, a bit for each
 * @to: what it is to be
 * @v: where
 * @n: at how many places
 */
struct wish {
	const struct args *args;
	const struct ioband_devices *devices;
	bool settings[GROUP_SETTINGS];
	unsigned int given[BOUNDS];
	struct ioband_preset to;
	struct place *v;
	size_t n;
};

/**
 * struct place - a tree that has the group
 * @device: that messages about it go to
 * @message: the group, as they have it
 * @from: what it has
 * @to: what it is to have
 */
struct place {
	const struct ioband_device *device;
	char message[IOBAND_GROUP_SIZE];
	struct ioband_preset from;
	struct ioband_preset to;
};

/**
 * struct step - something that was changed
 * @place: where
 * @setting: what
 */
struct step {
	const struct place *place;
	int setting;
};

/**
 * set_twice() - refuse a word whose key was there before
 * @word: the word
 *
 * Return: EXIT_USAGE.
 */
int set_twice(const char *word)
{
	return fail(EXIT_USAGE, "%.*s= is given twice",
		    (int)strcspn(word, "="), word);
}

/**
 * set_say_undone() - after a failure, tell what was done about what went before
 * @complete: all of it is as it was
 */
void set_say_undone(bool complete)
{
	if (complete)
		note("... nothing was changed");
	else
		note("... and what was set before could not be put back; 'iobandctl get' shows it");
}

/* "max_rbps=5M" is "rbps=5M" of the maximum, and "max=default" all of it. */
static bool is_of_bound(const char *word, enum bound bound, const char **rest)
{
	const char *key = bound_kinds[bound].key;
	size_t length = strlen(key);

	if (strncmp(word, key, length))
		return false;
	*rest = word + length + 1;
	return word[length] == '_' || !strcmp(word + length, "=default");
}

static int read_single(struct wish *wish, const char *word, char *texts[BOUNDS])
{
	struct span key, value;
	struct problem problem;

	if (!span_key(span_of(word), &key, &value))
		key = span_of("");
	if (span_is(key, bound_kinds[LATENCY].key)) {
		if (texts[LATENCY])
			return set_twice(word);
		texts[LATENCY] = xstrdup(value.start);
		return EXIT_OK;
	}
	if (!span_is(key, "weight"))
		return fail(EXIT_USAGE, "'%s': it is " SET_GROUP_SAYS, word);
	if (wish->settings[GROUP_WEIGHT])
		return set_twice(word);
	wish->settings[GROUP_WEIGHT] = true;
	if (parse_weight(value.start, &wish->to.weight, &problem))
		return fail(EXIT_USAGE, "%s", problem.text);
	return EXIT_OK;
}

static int read_word(struct wish *wish, const char *word, char *texts[BOUNDS])
{
	const char *rest;

	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		char *before = texts[bound];

		if (!is_of_bound(word, bound, &rest))
			continue;
		texts[bound] = before ? xasprintf("%s %s", before, rest) :
					xstrdup(rest);
		free(before);
		return EXIT_OK;
	}
	return read_single(wish, word, texts);
}

static int read_bounds(struct wish *wish, char *const texts[BOUNDS])
{
	struct problem problem;

	for (int bound = 0; bound < BOUNDS; bound++) {
		if (!texts[bound])
			continue;
		wish->settings[GROUP_BOUNDS + bound] = true;
		if (bound_read(texts[bound], bound, &wish->to.bounds,
			       &wish->given[bound], &problem))
			return fail(EXIT_USAGE, "%s%s%s",
				    bound == LATENCY ? "" :
						       bound_kinds[bound].key,
				    bound == LATENCY ? "" : ": ", problem.text);
	}
	return EXIT_OK;
}

static int read_words(struct wish *wish)
{
	char *texts[BOUNDS] = { NULL };
	struct problem problem;
	int code = EXIT_OK;

	for (int i = 1; i < wish->args->n && code == EXIT_OK; i++)
		code = read_word(wish, wish->args->operand[i], texts);
	if (code == EXIT_OK)
		code = read_bounds(wish, texts);
	if (code == EXIT_OK && bounds_check(&wish->to.bounds, &problem))
		code = fail(EXIT_USAGE, "%s, which would win", problem.text);
	for (int bound = 0; bound < BOUNDS; bound++)
		free(texts[bound]);
	return code;
}

/* What is not named stays as it is. */
static void add_wish(const struct wish *wish, struct ioband_preset *to)
{
	if (wish->settings[GROUP_WEIGHT])
		to->weight = wish->to.weight;
	if (wish->settings[GROUP_BOUNDS + LATENCY])
		to->bounds.latency_us = wish->to.bounds.latency_us;
	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		for (int rate = 0; rate < RATES; rate++) {
			if (wish->given[bound] & 1U << rate)
				to->bounds.of[bound].rate[rate] =
					wish->to.bounds.of[bound].rate[rate];
		}
	}
}

static int check_place(const struct wish *wish, const struct place *place)
{
	struct problem problem;

	if (!wish->given[MAXIMUM] && !wish->given[MINIMUM])
		return EXIT_OK;
	if (!bounds_check(&place->to.bounds, &problem))
		return EXIT_OK;
	return fail(EXIT_USAGE,
		    "%s in pool %s: %s, which would win; give both with one 'iobandctl set'",
		    wish->args->operand[0], place->device->table.pool,
		    problem.text);
}

/* A cgroup without a group gets one with the first message, and with what its path has. */
static int read_preset(const struct group_ref *ref, struct place *place)
{
	const struct ioband_device *device = place->device;
	struct preset_tree tree;
	struct presets presets;
	int code;

	if (!*ref->path)
		return EXIT_OK;
	presets_tree(&tree, device->table.pool,
		     ioband_has_trees(device) ? device : NULL);
	code = query_presets(device, &presets);
	for (size_t i = 0; i < presets.n; i++) {
		const struct ioband_preset *preset = &presets.v[i];

		if (strcmp(preset->tree, tree.name) ||
		    strcmp(preset->path, ref->path))
			continue;
		place->from.weight = preset->weight;
		place->from.bounds = preset->bounds;
	}
	presets_free(&presets);
	return code;
}

static int add_place(const struct ioband_device *device,
		     const struct group_ref *ref, void *data)
{
	struct wish *wish = data;
	const struct ioband_group *group;
	struct place *place;
	struct groups groups;
	int code = query_groups(device, &groups);

	if (code == EXIT_OK) {
		wish->v = xgrow(wish->v, wish->n, sizeof(*wish->v));
		place = &wish->v[wish->n++];
		*place = (struct place){ .device = device };
		strcpy(place->message, ref->message);
		group = group_listed(wish->devices, &groups, ref, device);
		if (group) {
			place->from.weight = group->set ? group->weight : 0;
			place->from.bounds = group->bounds;
		} else {
			code = read_preset(ref, place);
		}
		place->to = place->from;
		add_wish(wish, &place->to);
		if (code == EXIT_OK)
			code = check_place(wish, place);
	}
	groups_free(&groups);
	return code;
}

static int send(const struct place *place, int setting,
		const struct ioband_preset *to)
{
	if (setting == GROUP_WEIGHT)
		return query_weight(place->device, place->message, to->weight);
	return query_bound(place->device, place->message,
			   setting - GROUP_BOUNDS, &to->bounds, RATES_ALL);
}

static void undo(const struct step *steps, size_t n)
{
	bool complete = true;

	while (n-- > 0) {
		const struct place *place = steps[n].place;

		if (send(place, steps[n].setting, &place->from) != EXIT_OK)
			complete = false;
	}
	set_say_undone(complete);
}

/* In the order in which it never has more than before and afterwards. */
static size_t plan_place(const struct wish *wish, const struct place *place,
			 struct step *steps)
{
	size_t n = 0;

	for (int i = 0; i < PRESET_STEPS; i++) {
		int phase = i / GROUP_SETTINGS, setting = i % GROUP_SETTINGS;

		if (wish->settings[setting] &&
		    presets_phase(&place->from, &place->to, setting) == phase)
			steps[n++] = (struct step){ place, setting };
	}
	return n;
}

static void mark(const struct step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum conf_key key = conf_group_keys[steps[i].setting];

		hand_mark_group(steps[i].place->device,
				steps[i].place->message, conf_key_name(key));
	}
}

static int change(const struct wish *wish)
{
	struct step *steps = xcalloc(wish->n * GROUP_SETTINGS, sizeof(*steps));
	int code = EXIT_OK;
	size_t n = 0;

	for (size_t i = 0; i < wish->n; i++)
		n += plan_place(wish, &wish->v[i], steps + n);
	for (size_t i = 0; i < n && code == EXIT_OK; i++) {
		code = send(steps[i].place, steps[i].setting,
			    &steps[i].place->to);
		if (code != EXIT_OK)
			undo(steps, i);
	}
	if (code == EXIT_OK)
		mark(steps, n);
	free(steps);
	return code;
}

static int load_and_change(struct wish *wish)
{
	struct ioband_devices devices;
	int code = ioband_load(&devices);

	if (code != EXIT_OK)
		return code;
	wish->devices = &devices;
	code = group_visit(&devices, wish->args, add_place, wish);
	if (code == EXIT_OK)
		code = change(wish);
	free(wish->v);
	ioband_free(&devices);
	return code;
}

/**
 * set_group() - change settings of a group
 * @args: the command line
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int set_group(const struct args *args)
{
	struct wish wish = { .args = args };
	struct lock lock = { .name = NULL };
	int code = read_words(&wish);

	if (code == EXIT_OK)
		code = lock_changes(&lock);
	if (code == EXIT_OK)
		code = load_and_change(&wish);
	unlock(&lock);
	if (code == EXIT_OK && args->value[OPTION_JSON])
		code = answer_run(&answer_settings, args);
	return code;
}
