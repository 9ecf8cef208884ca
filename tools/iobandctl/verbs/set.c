// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl set: settings of a group or of a pool; either all take effect or none.
 * The names of settings are those of "get --json", without the unit at their end.
 *
 * set-weight, set-max, set-min and set-latency are short forms for one setting.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/words.h"
#include "config/presets.h"
#include "config/weights.h"
#include "host/lock.h"
#include "ioband/group.h"
#include "ioband/hand.h"
#include "ioband/query.h"
#include "verbs/verbs.h"

/* The settings of a pool, and of a device, follow those of a group. */
enum { MEASURE = GROUP_SETTINGS, DEPTH, SLICE, WRITES_STARVED, MODE, SETTINGS };

#define POOL_SETTINGS (SETTINGS - GROUP_SETTINGS)

static const enum conf_key keys[SETTINGS] = {
	[GROUP_WEIGHT] = KEY_WEIGHT,
	[GROUP_BOUNDS + MAXIMUM] = KEY_MAXIMUM,
	[GROUP_BOUNDS + MINIMUM] = KEY_MINIMUM,
	[GROUP_BOUNDS + LATENCY] = KEY_LATENCY,
	[GROUP_BOUNDS + WRITE_LATENCY] = KEY_WRITE_LATENCY,
	[MEASURE] = KEY_MEASURE,
	[DEPTH] = KEY_DEPTH,
	[SLICE] = KEY_SLICE,
	[WRITES_STARVED] = KEY_WRITES_STARVED,
	[MODE] = KEY_MODE,
};

/*
 * Measure "time" needs slices: set slices before it, and remove them after it.  A new
 * mode drops groups, which an undo cannot restore, so the mode comes last.
 */
static const int to_time[POOL_SETTINGS] = { SLICE, MEASURE, DEPTH, WRITES_STARVED, MODE };

static const int from_time[POOL_SETTINGS] = { MEASURE, SLICE, DEPTH, WRITES_STARVED, MODE };

#define GROUP_SAYS							\
	"one or more of weight=, max_rbps=, max_wbps=, max_riops=, max_wiops=, min_rbps=, min_wbps=, min_riops=, min_wiops=, latency= and write_latency=, or max=default, min=default"
#define POOL_SAYS							\
	"one or more of measure=, depth=, slice= and writes_starved=, or --device DEVICE and mode= as well"

/* The arguments of each short form after GROUP. */
#define RATES_SAY							\
	": rbps=, wbps=, riops=, wiops=, such as rbps=50MiB wiops=1K, or default"
static const char *const short_says[GROUP_SETTINGS] = {
	[GROUP_WEIGHT] = "its weight, from 1 to 10000, 'idle' or 'default'; or --from FILE",
	[GROUP_BOUNDS + MAXIMUM] = "its largest rates" RATES_SAY,
	[GROUP_BOUNDS + MINIMUM] = "the rates it is to have at least" RATES_SAY,
	[GROUP_BOUNDS + LATENCY] =
		"how long its reads may take: a number with us, ms or s behind it, such as 5ms, or none",
};

/* The requested settings. */
struct wish {
	const struct args *args;
	const struct ioband_devices *devices;
	char *text[SETTINGS];	/* by setting: its new value; NULL if it is not named */
	unsigned int given[BOUNDS];	/* by bound: the named rates, a bit for each */
	struct ioband_preset to;
	struct place *v;
	size_t n;
};

/* A pool, or a tree that has the group. */
struct place {
	const struct ioband_device *device;	/* the receiver of messages */
	struct group_ref group;
	struct ioband_preset from;
	struct ioband_preset to;
};

/* A change of one setting. */
struct step {
	const struct place *place;
	int setting;
};

static bool is_of_pool(int setting)
{
	return setting >= GROUP_SETTINGS;
}

static bool is_rates(int setting)
{
	return setting == GROUP_BOUNDS + MAXIMUM || setting == GROUP_BOUNDS + MINIMUM;
}

/* "max_rbps=5M" is "rbps=5M" of the maximum; "max=default" resets all its rates. */
static int find_setting(const char *word, const char **rest)
{
	size_t length = strcspn(word, "=");

	for (int i = 0; word[length] && i < SETTINGS; i++) {
		const char *key = is_rates(i) ?
				  bound_kinds[i - GROUP_BOUNDS].key :
				  conf_key_name(keys[i]);
		size_t n = strlen(key);

		if (strncmp(word, key, n))
			continue;
		*rest = word + n + 1;
		if (is_rates(i) ? word[n] == '_' || !strcmp(word + n, "=default") : n == length)
			return i;
	}
	return SETTINGS;
}

/* A group with the name of a pool's setting is written as cgroup:measure=... */
static bool names_pool_setting(const char *word)
{
	const char *rest;
	int setting = find_setting(word, &rest);

	return setting < SETTINGS && is_of_pool(setting);
}

/* A bound has several words, one for each rate. */
static void add_text(struct wish *wish, int setting, const char *more)
{
	if (wish->text[setting])
		xappend(&wish->text[setting], " %s", more);
	else
		wish->text[setting] = xstrdup(more);
}

static int read_word(struct wish *wish, const char *word, bool of_pool)
{
	const char *rest = NULL;
	int setting = find_setting(word, &rest);

	if (setting == SETTINGS || is_of_pool(setting) != of_pool)
		return fail(EXIT_USAGE, "'%s': it is %s", word, of_pool ? POOL_SAYS : GROUP_SAYS);
	if (wish->text[setting] && !is_rates(setting))
		return fail(EXIT_USAGE, "%s= is given twice", conf_key_name(keys[setting]));
	add_text(wish, setting, rest);
	return EXIT_OK;
}

static int check_pool_value(int setting, const char *text)
{
	struct problem problem;

	if (conf_check_value(keys[setting], text, &problem))
		return fail(EXIT_USAGE, "%s=%s: %s",
			    conf_key_name(keys[setting]), text, problem.text);
	if (setting == SLICE && !strcmp(text, "auto"))
		return fail(EXIT_USAGE,
			    "slice=auto is for pools that are made; give a number, 0 for none");
	return EXIT_OK;
}

/* Short forms omit the name of the setting in errors: the verb implies it. */
static int read_value(struct wish *wish, int setting)
{
	const char *text = wish->text[setting];
	int bound = setting - GROUP_BOUNDS, result;
	bool named = is_rates(setting) && !wish->args->verb->about;
	struct problem problem;
	struct span word;

	if (!text)
		return EXIT_OK;
	if (is_of_pool(setting))
		return check_pool_value(setting, text);
	result = setting == GROUP_WEIGHT ?
		 weight_read(text, &wish->to.weight, &problem) :
		 bound_read(text, bound, &wish->to.bounds, &wish->given[bound], &problem);
	if (!result && is_rates(setting) && rates_plain(text, &word))
		note("note: " RATES_PLAIN_SAYS "; " RATES_PLAIN_REMEDY,
		     (int)word.length, word.start);
	if (!result)
		return EXIT_OK;
	return fail(EXIT_USAGE, "%s%s%s", named ? bound_kinds[bound].key : "",
		    named ? ": " : "", problem.text);
}

static int read_values(struct wish *wish)
{
	const struct args *args = wish->args;
	struct problem problem;
	int code = EXIT_OK;

	for (int i = 0; i < SETTINGS && code == EXIT_OK; i++)
		code = read_value(wish, i);
	if (code != EXIT_OK)
		return code;
	if (bounds_check(&wish->to.bounds, &problem))
		return fail(EXIT_USAGE, "%s, which would win", problem.text);
	if (wish->text[MODE] && !args->value[OPTION_DEVICE])
		return fail(EXIT_USAGE, "mode=%s is of a device: name it with --device",
			    wish->text[MODE]);
	return EXIT_OK;
}

static int read_short(struct wish *wish, const char *const *says)
{
	const struct args *args = wish->args;
	const char *name = args->verb->name;

	if (args->n < 2)
		return fail(EXIT_USAGE, "%s takes GROUP and %s; see 'iobandctl help %s'", name,
			    *says, name);
	for (int i = 1; i < args->n; i++)
		add_text(wish, says - short_says, args->operand[i]);
	return read_values(wish);
}

static int read_words(struct wish *wish, bool of_pool)
{
	const struct args *args = wish->args;
	int code = EXIT_OK;

	if (!of_pool && args->n < 2)
		return fail(EXIT_USAGE,
			    "set takes GROUP and " GROUP_SAYS "; or --pool POOL and " POOL_SAYS);
	for (int i = !of_pool; i < args->n && code == EXIT_OK; i++)
		code = read_word(wish, args->operand[i], of_pool);
	code = code ?: read_values(wish);
	if (code == EXIT_OK && of_pool && !args->value[OPTION_DEVICE] && !args->value[OPTION_POOL])
		return fail(EXIT_USAGE, "say which pool, with --pool; 'iobandctl get' shows all");
	return code;
}

/* Overwrite the settings that the command line names; keep the others. */
static void add_wish(const struct wish *wish, struct ioband_preset *to)
{
	if (wish->text[GROUP_WEIGHT])
		to->weight = wish->to.weight;
	for (int bound = LATENCY; bound < BOUNDS; bound++) {
		if (wish->text[GROUP_BOUNDS + bound])
			bound_copy(&to->bounds, &wish->to.bounds, bound);
	}
	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		for (int rate = 0; rate < RATES; rate++) {
			if (wish->given[bound] & 1U << rate)
				to->bounds.of[bound].rate[rate] =
					wish->to.bounds.of[bound].rate[rate];
		}
	}
}

/* A cgroup without a group gets one by the first message, with the preset of its path. */
static int read_preset(struct place *place)
{
	const struct ioband_device *device = place->device;
	const struct ioband_preset *preset;
	struct preset_tree tree;
	struct presets presets __cleanup(presets_free) = { .n = 0 };
	int code;

	if (!*place->group.path)
		return EXIT_OK;
	presets_tree(&tree, device->table.pool, ioband_has_trees(device) ? device : NULL);
	code = query_presets(device, &presets);
	preset = presets_find(&presets, &tree, place->group.path);
	if (preset) {
		place->from.weight = preset->weight;
		place->from.bounds = preset->bounds;
	}
	return code;
}

static int read_place(const struct wish *wish, struct place *place)
{
	const struct ioband_group *group;
	struct groups groups __cleanup(groups_free);
	int code = query_groups(place->device, &groups);

	group = group_listed(wish->devices, &groups, &place->group, place->device);
	if (group) {
		place->from.weight = group->set ? group->weight : 0;
		place->from.bounds = group->bounds;
	} else if (code == EXIT_OK) {
		code = read_preset(place);
	}
	return code;
}

/*
 * The kernel accepts a minimum above the maximum; the maximum has priority.  Rates that
 * the command line does not name may be so already.
 */
static int check_place(const struct wish *wish, const struct place *place)
{
	unsigned int given = wish->given[MAXIMUM] | wish->given[MINIMUM];
	struct bounds bounds = place->to.bounds;
	struct problem problem;

	for (int rate = 0; rate < RATES; rate++) {
		if (!(given & 1U << rate))
			bounds.of[MAXIMUM].rate[rate] = 0;
	}
	if (!bounds_check(&bounds, &problem))
		return EXIT_OK;
	return fail(EXIT_USAGE,
		    "%s in pool %s: %s, which would win; give both with one 'iobandctl set'",
		    wish->args->operand[0], place->device->table.pool, problem.text);
}

static struct place *add_place(struct wish *wish, const struct ioband_device *device)
{
	struct place *place = XPUSH(wish->v, wish->n);

	*place = (struct place){ .device = device };
	return place;
}

static int add_tree(const struct ioband_device *device, const struct group_ref *group, void *wish)
{
	add_place(wish, device)->group = *group;
	return EXIT_OK;
}

/* Query the present settings only if an undo or a comparison may need them. */
static int find_trees(struct wish *wish)
{
	const struct bounds *bounds = &wish->to.bounds;
	int code = group_visit(wish->devices, wish->args, add_tree, wish);
	bool is_one = wish->n == 1 && wish->args->verb->about &&
		      !bound_is_set(bounds, MAXIMUM) &&
		      !bound_is_set(bounds, MINIMUM);

	for (size_t i = 0; i < wish->n && code == EXIT_OK; i++) {
		struct place *place = &wish->v[i];

		if (!is_one)
			code = read_place(wish, place);
		place->to = place->from;
		add_wish(wish, &place->to);
		code = code ?: check_place(wish, place);
	}
	return code;
}

static int find_pool(struct wish *wish)
{
	struct targets targets __cleanup(targets_free) = { .n = 0 };
	struct scope scope;
	int code = ioband_scope(wish->devices, wish->args, &scope);

	if (code != EXIT_OK)
		return code;
	ioband_pools(wish->devices, &scope, &targets);
	add_place(wish, targets.v[0]);
	return EXIT_OK;
}

static char *pool_text(const struct ioband_table *table, int setting)
{
	switch (setting) {
	case MEASURE:
		return xstrdup(table->measure);
	case DEPTH:
		return xstrdup(table->depth);
	case MODE:
		return xstrdup(table->mode);
	}
	return xasprintf("%llu", (unsigned long long)(setting == SLICE ?
			 table->slice_ms : table->writes_starved));
}

static char *pool_value(const struct wish *wish, const struct step *step, bool back)
{
	return back ? pool_text(&step->place->device->table, step->setting) :
		      xstrdup(wish->text[step->setting]);
}

static int send(const struct wish *wish, const struct step *step, bool back)
{
	char *text __free = NULL;
	const struct ioband_device *device = step->place->device;
	const char *group = step->place->group.message;
	const struct ioband_preset *to = back ? &step->place->from : &step->place->to;
	int bound = step->setting - GROUP_BOUNDS;

	if (step->setting == GROUP_WEIGHT)
		return query_weight(device, group, to->weight);
	if (!is_of_pool(step->setting))
		return query_bound(device, group, bound, &to->bounds, wish->given[bound]);
	text = pool_value(wish, step, back);
	return query_set(device, conf_key_name(keys[step->setting]), text);
}

/* The rates of a bound that the command line names, in the notation of "set". */
static char *rates_of(const struct wish *wish, const struct bounds *bounds, enum bound bound)
{
	char *words = xstrdup(""), *text;

	for (int rate = 0; rate < RATES; rate++) {
		if (!(wish->given[bound] & 1U << rate))
			continue;
		text = rate_text(&bounds->of[bound], bound, rate);
		xappend(&words, "%s%s_%s=%s", *words ? " " : "", bound_kinds[bound].key,
			rate_names[rate], text);
		free(text);
	}
	return words;
}

/* The new or, with @back, the former value of a step, in the notation of "set". */
static char *step_words(const struct wish *wish, const struct step *step, bool back)
{
	const struct ioband_preset *to = back ? &step->place->from : &step->place->to;
	const char *key = conf_key_name(keys[step->setting]);
	char *value, *words;

	if (is_rates(step->setting))
		return rates_of(wish, &to->bounds, step->setting - GROUP_BOUNDS);
	if (is_of_pool(step->setting))
		value = pool_value(wish, step, back);
	else if (step->setting == GROUP_WEIGHT)
		value = weight_text(to->weight);
	else
		value = bound_text(&to->bounds, step->setting - GROUP_BOUNDS);
	words = xasprintf("%s=%s", key, value);
	free(value);
	return words;
}

/* A group is named with a device of its tree: its pool may have several trees with it. */
static void tell_left(const struct wish *wish, const struct step *step)
{
	char *left __free = step_words(wish, step, false);
	char *before __free = step_words(wish, step, true);
	char *group __free = NULL;
	const struct ioband_device *device = step->place->device;
	bool of_pool = is_of_pool(step->setting);
	bool by_device = !of_pool || step->setting == MODE;

	group = text_visible(of_pool ? "" : wish->args->operand[0], false);
	note("... %s stays in pool %s; 'iobandctl set --%s %s %s%s%s' sets it back",
	     left, device->table.pool, by_device ? "device" : "pool",
	     by_device ? device->dm->name : device->table.pool, group, *group ? " " : "", before);
}

/* Undo the first @n steps after a failure. */
static void undo(const struct wish *wish, const struct step *steps, size_t n)
{
	bool complete = true;

	while (n-- > 0) {
		if (send(wish, &steps[n], true) == EXIT_OK)
			continue;
		complete = false;
		tell_left(wish, &steps[n]);
	}
	if (complete)
		note("... nothing was changed");
}

/* Plan an order in which a group never has more than both its old and its new settings. */
static size_t plan_place(const struct wish *wish, const struct place *place, struct step *steps)
{
	const char *measure = wish->text[MEASURE];
	const int *order = measure && !strcmp(measure, "time") ? to_time : from_time;
	size_t n = 0;

	for (int i = 0; i < PRESET_STEPS; i++) {
		int phase = i / GROUP_SETTINGS, setting = i % GROUP_SETTINGS;

		if (wish->text[setting] &&
		    presets_phase(&place->from, &place->to, setting) == phase)
			steps[n++] = (struct step){ place, setting };
	}
	for (int i = 0; i < POOL_SETTINGS; i++) {
		if (wish->text[order[i]])
			steps[n++] = (struct step){ place, order[i] };
	}
	return n;
}

/* Mark the setting as made by hand, so that apply does not change it. */
static void mark(const struct step *step)
{
	const struct ioband_device *device = step->place->device;
	const char *key = conf_key_name(keys[step->setting]);

	if (is_of_pool(step->setting))
		hand_mark(&(struct hand_key){
			.pool = device->table.pool,
			.device = step->setting == MODE ? device->dm->name : NULL,
			.key = key,
		});
	else
		hand_mark_group(device, step->place->group.message, key);
}

/*
 * Signals stay blocked until the manual settings are recorded.  A pending signal has the
 * earlier steps undone.
 */
static int change(const struct wish *wish)
{
	struct step *steps __free = xcalloc(wish->n * SETTINGS, sizeof(*steps));
	int code = EXIT_OK;
	sigset_t before;
	size_t n = 0;

	for (size_t i = 0; i < wish->n; i++)
		n += plan_place(wish, &wish->v[i], steps + n);
	interrupt_hold(&before);
	for (size_t i = 0; i < n && code == EXIT_OK; i++) {
		code = interrupt_check() ?: send(wish, &steps[i], false);
		if (code != EXIT_OK && n > 1)
			undo(wish, steps, i);
	}
	for (size_t i = 0; i < n && code == EXIT_OK; i++)
		mark(&steps[i]);
	interrupt_release(&before);
	return code;
}

static int load_and_change(struct wish *wish, bool of_pool)
{
	struct ioband_devices devices __cleanup(ioband_free);
	int code = ioband_load(&devices);

	wish->devices = &devices;
	code = code ?: (of_pool ? find_pool(wish) : find_trees(wish)) ?: change(wish);
	free(wish->v);
	return code;
}

static int restore(const struct args *args)
{
	if (args->n || args->value[OPTION_DEVICE] || args->value[OPTION_POOL])
		return fail(EXIT_USAGE,
			    "with --from, groups, pools and devices are taken from the file; give nothing else");
	return weights_restore(args->value[OPTION_FROM], args->value[OPTION_JSON]);
}

static int run(const struct args *args)
{
	const char *const *says = args->verb->about;
	struct wish wish = { .args = args };
	struct lock lock = { .name = NULL };
	bool of_pool;
	int code;

	if (args->value[OPTION_FROM])
		return restore(args);
	of_pool = !says && args->n && names_pool_setting(args->operand[0]);
	code = says ? read_short(&wish, says) : read_words(&wish, of_pool);
	code = code ?: lock_changes(&lock) ?: load_and_change(&wish, of_pool);
	if (code == EXIT_OK && args->value[OPTION_JSON])
		code = of_pool ? get_pools(args) :
		       get_group(args, says ? says - short_says : GROUP_SETTINGS);
	unlock(&lock);
	for (int i = 0; i < SETTINGS; i++)
		free(wish.text[i]);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE, SPEC_POOL, SPEC_JSON, { .name = NULL }
};

static const struct option_spec option_from[] = {
	{ OPTION_FROM, "from", "FILE", "set what 'groups --weights' printed; - is standard input" },
	{ .name = NULL }
};

const struct verb verb_set = {
	.name = "set",
	.args = "[GROUP] KEY=VALUE...",
	.summary = "Change settings of a group, or with --pool of a pool, all or none",
	.max = ARGS_ANY,
	.options = option_from,
	.shared = options,
	.run = run,
};

const struct verb verb_set_weight = {
	.name = "set-weight",
	.args = "GROUP WEIGHT",
	.summary = "Set the weight of a group to 1..10000, to 'idle' or to 'default'",
	.max = 2,
	.options = option_from,
	.shared = options,
	.run = run,
	.about = &short_says[GROUP_WEIGHT],
};

const struct verb verb_set_max = {
	.name = "set-max",
	.args = "GROUP RATE...",
	.summary = "Bound what a group may have: rbps=, wbps=, riops=, wiops=N, or 'default'",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
	.about = &short_says[GROUP_BOUNDS + MAXIMUM],
};

const struct verb verb_set_min = {
	.name = "set-min",
	.args = "GROUP RATE...",
	.summary = "Set what a group has at least: rbps=, wbps=, riops=, wiops=N, or 'default'",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
	.about = &short_says[GROUP_BOUNDS + MINIMUM],
};

const struct verb verb_set_latency = {
	.name = "set-latency",
	.args = "GROUP TIME",
	.summary = "Throttle others while a group's reads take longer than 1us..10s, or 'none'",
	.max = 2,
	.options = options,
	.run = run,
	.about = &short_says[GROUP_BOUNDS + LATENCY],
};
