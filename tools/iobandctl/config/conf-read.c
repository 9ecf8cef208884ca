// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of the configuration, and its checks.  Pure.
 *
 * libini_config reads the lines.  Each file is read by itself; a duplicate
 * title or key in it is a mistake.  A section may appear in several files; each
 * of its keys gets its value from the last file that sets it.
 *
 * The functions here return -1 at a mistake that ends the reading.  If all
 * mistakes are requested, each is reported, and its line or section is skipped.
 */
#include <errno.h>
#include <ini_configobj.h>
#include <ini_valueobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/conf.h"
#include "kernel/parse.h"

#define OF(kind) (1U << (kind))

static const char *const kind_names[CONF_KINDS] = {
	[CONF_DEVICE] = "device",
	[CONF_POOL] = "pool",
	[CONF_GROUP] = "group",
	[CONF_WATCH] = "watch",
};

typedef int (*value_check)(const char *text, struct problem *problem);

static int check_flag(const char *text, struct problem *problem)
{
	if (!strcmp(text, "yes") || !strcmp(text, "no"))
		return 0;
	return problem_set(problem, "it is yes or no");
}

static int check_number(const char *text, uint64_t min, uint64_t max,
			const char *word, struct problem *problem)
{
	uint64_t number;

	if ((word && !strcmp(text, word)) ||
	    (span_u64(span_of(text), max, &number) && number >= min))
		return 0;
	return problem_set(problem, "it is a number from %llu to %llu%s%s", (unsigned long long)min,
			   (unsigned long long)max, word ? ", or " : "", word ? word : "");
}

static int check_depth(const char *text, struct problem *problem)
{
	return parse_depth(text) ? 0 : problem_set(problem, "it is " DEPTH_SAYS);
}

static int check_slice(const char *text, struct problem *problem)
{
	return check_number(text, 0, IOBAND_SLICE_MAX_MS, "auto", problem);
}

static int check_writes_starved(const char *text, struct problem *problem)
{
	return check_number(text, 1, IOBAND_WRITES_STARVED_MAX, NULL, problem);
}

static int check_weight(const char *text, struct problem *problem)
{
	uint64_t weight;

	if (!weight_read(text, &weight, problem))
		return 0;
	return problem_set(problem, "it is a number from 1 to %u, idle or default",
			   IOBAND_WEIGHT_MAX);
}

static int check_word(const char *text, const char *const *words,
		      const char *list, struct problem *problem)
{
	for (; *words; words++) {
		if (!strcmp(text, *words))
			return 0;
	}
	return problem_set(problem, "it is one of %s", list);
}

static int check_mode(const char *text, struct problem *problem)
{
	static const char *const modes[] = {
		"cgroup", "device", "device+cgroup", "uid", "gid", "pid",
		"pgrp", NULL
	};

	return check_word(text, modes, "cgroup, device, device+cgroup, uid, gid, pid and pgrp",
			  problem);
}

static int check_measure(const char *text, struct problem *problem)
{
	static const char *const measures[] = { "bytes", "ios", "time", NULL };

	return check_word(text, measures, "bytes, ios and time", problem);
}

static int check_pool(const char *text, struct problem *problem)
{
	if (conf_is_pool_path(text) || parse_pool_name(text))
		return 0;
	return problem_set(problem,
			   "it is 1 to 63 of the characters A-Z a-z 0-9 _ . : + -, the first not '-', or the path of a disk");
}

static int check_types(const char *text, struct problem *problem)
{
	static const char *const types[] = {
		"disk", "part", "lvm", "crypt", "raid", "mpath", "dm", "loop",
		NULL
	};
	struct span rest = span_of(text), word;

	while (span_word(&rest, &word)) {
		char *type __free = xstrndup(word.start, word.length);
		int result = check_word(type, types,
					"disk, part, lvm, crypt, raid, mpath, dm and loop",
					problem);

		if (result)
			return result;
	}
	return 0;
}

/* Keys without a check have any value, or are bounds. */
static const struct {
	const char *name;
	unsigned int kinds;
	value_check check;
} keys[CONF_KEYS] = {
	[KEY_AS] = { "as", OF(CONF_DEVICE), NULL },
	[KEY_DEPTH] = { "depth", OF(CONF_POOL), check_depth },
	[KEY_DEVICE] = { "device", OF(CONF_DEVICE) | OF(CONF_GROUP), NULL },
	[KEY_ENABLE_CONTROLLER] = { "enable-controller", OF(CONF_WATCH), check_flag },
	[KEY_GROUP] = { "group", OF(CONF_GROUP), NULL },
	[KEY_INSERT] = { "insert", OF(CONF_DEVICE), check_flag },
	[KEY_LATENCY] = { "latency", OF(CONF_DEVICE) | OF(CONF_GROUP), NULL },
	[KEY_MAXIMUM] = { "maximum", OF(CONF_DEVICE) | OF(CONF_GROUP), NULL },
	[KEY_MEASURE] = { "measure", OF(CONF_POOL), check_measure },
	[KEY_MINIMUM] = { "minimum", OF(CONF_DEVICE) | OF(CONF_GROUP), NULL },
	[KEY_MODE] = { "mode", OF(CONF_DEVICE), check_mode },
	[KEY_NAME] = { "name", OF(CONF_DEVICE), NULL },
	[KEY_OPTIONAL] = { "optional", OF(CONF_DEVICE), check_flag },
	[KEY_PATH] = { "path", OF(CONF_DEVICE), NULL },
	[KEY_POOL] = { "pool", OF(CONF_DEVICE) | OF(CONF_GROUP), check_pool },
	[KEY_ROTATIONAL] = { "rotational", OF(CONF_DEVICE), check_flag },
	[KEY_SERIAL] = { "serial", OF(CONF_DEVICE), NULL },
	[KEY_SLICE] = { "slice", OF(CONF_POOL), check_slice },
	[KEY_TYPE] = { "type", OF(CONF_DEVICE), check_types },
	[KEY_VOLUME] = { "volume", OF(CONF_DEVICE), NULL },
	[KEY_WEIGHT] = { "weight", OF(CONF_DEVICE) | OF(CONF_GROUP), check_weight },
	[KEY_WRITE_LATENCY] = { "write_latency", OF(CONF_DEVICE) | OF(CONF_GROUP), NULL },
	[KEY_WRITES_STARVED] = { "writes_starved", OF(CONF_POOL), check_writes_starved },
};

/* The spelling of a key. */
const char *conf_key_name(enum conf_key key)
{
	return keys[key].name;
}

/* Check whether a key can have a value. */
int conf_check_value(enum conf_key key, const char *text, struct problem *problem)
{
	struct bounds bounds;
	unsigned int given;

	for (int bound = 0; bound < BOUNDS; bound++) {
		if (conf_group_keys[GROUP_BOUNDS + bound] == key)
			return bound_read(text, bound, &bounds, &given, problem);
	}
	return keys[key].check ? keys[key].check(text, problem) : 0;
}

/* Put the place before the error text.  0: the error was reported, and reading continues. */
static int at(struct conf *conf, const struct conf_place *place, struct problem *problem)
{
	struct problem inner = *problem;
	char where[256];

	conf_where(conf, place, where, sizeof(where));
	problem_set(problem, "%s: %.240s", where, inner.text);
	if (!conf->wrong)
		return -1;
	conf->wrong(problem);
	conf->n_wrong++;
	return 0;
}

static struct span skip(struct span text, const char *blanks)
{
	while (text.length && strchr(blanks, *text.start)) {
		text.start++;
		text.length--;
	}
	return text;
}

/* The line of a title in a text; 0 if the text lacks it. */
static unsigned int title_line(const char *text, const char *title)
{
	struct span rest = span_of(text), line;
	size_t length = strlen(title);

	for (unsigned int n = 1; span_line(&rest, &line); n++) {
		line = skip(line, " \t");
		if (!line.length || *line.start != '[')
			continue;
		line.start++;
		line.length--;
		line = skip(line, " \t");
		if (line.length > length &&
		    !strncasecmp(line.start, title, length) &&
		    memchr(" \t]", line.start[length], 3))
			return n;
	}
	return 0;
}

static const struct {
	int number;
	const char *text;
} syntax[] = {
	{ ERR_LONGDATA, "the line is too long" },
	{ ERR_NOCLOSESEC, "a title ends with ']', and nothing follows it" },
	{ ERR_NOSECTION, "a title is empty" },
	{ ERR_SECTIONLONG, "a title is too long; write it short, and the group behind 'group ='" },
	{ ERR_NOEQUAL,
	  "this is no 'key = value', no '[title]', and no comment, which begins with '#'" },
	{ ERR_NOKEY, "there is no key in front of the '='" },
	{ ERR_LONGKEY, "the key is too long" },
	{ ERR_DUPKEY, "this key comes twice in its section" },
	{ ERR_DUPKEYSEC, "this key comes twice in its section" },
	{ ERR_DUPSECTION, "this title came before in the file; upper and lower case are the same" },
	{ ERR_SPECIAL, "there are characters that cannot be read" },
};

/* A line that the library cannot read. */
struct fault {
	unsigned int line;	/* its number, from 1 */
	int number;	/* error number of the library */
	const char *text;	/* error text of the library */
};

static int by_line(const void *left, const void *right)
{
	const struct fault *a = left, *b = right;

	return (a->line > b->line) - (a->line < b->line);
}

static size_t find_faults(char *const *errors, struct fault **faults)
{
	size_t n = 0;

	*faults = NULL;
	for (; *errors; errors++) {
		struct fault fault = { .text = *errors };

		if (sscanf(*errors, "%*[^(](%d) on line %u", &fault.number, &fault.line) != 2)
			fault.line = 0;
		*XPUSH(*faults, n) = fault;
	}
	if (n)
		qsort(*faults, n, sizeof(**faults), by_line);
	return n;
}

static void describe(const struct fault *fault, struct problem *problem)
{
	problem_set(problem, "%.200s", fault->text);
	for (size_t i = 0; i < ARRAY_SIZE(syntax); i++) {
		if (syntax[i].number == fault->number)
			problem_set(problem, "%s", syntax[i].text);
	}
}

/* The keys after this line would belong to the previous section. */
static bool loses_title(const struct fault *fault)
{
	return fault->number == ERR_NOCLOSESEC ||
	       fault->number == ERR_NOSECTION ||
	       fault->number == ERR_SECTIONLONG ||
	       fault->number == ERR_DUPSECTION;
}

/*
 * Overwrite a line so that the library skips it; return true if this changes anything.  All bytes
 * of the line are overwritten, because a part of a character would not be UTF-8.
 */
static bool leave_out(char *text, unsigned int line)
{
	if (!line)
		return false;	/* the error concerns the whole file */
	while (--line && *text) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (!*text || strchr("#\n", *text))
		return false;
	memset(text, '#', strcspn(text, "\n"));
	return true;
}

enum syntax_state { SYNTAX_FINE, SYNTAX_AGAIN, SYNTAX_LOST };

/*
 * Report the errors of the library by line.  The library has read nothing after
 * an error, but may be called again without these lines.
 */
static int syntax_problem(struct ini_cfgobj *ini, struct conf *conf, char *text,
			  enum syntax_state *state, struct problem *problem)
{
	struct conf_place place = { .file = conf->n_files - 1 };
	struct fault *faults __free = NULL;
	char **errors = NULL;
	int result = 0;
	size_t n;

	*state = SYNTAX_FINE;
	if (!ini_config_error_count(ini) || ini_config_get_errors(ini, &errors))
		return 0;
	*state = SYNTAX_AGAIN;
	n = find_faults(errors, &faults);
	for (size_t i = 0; i < n && !result; i++) {
		describe(&faults[i], problem);
		place.line = faults[i].line;
		result = at(conf, &place, problem);
		if (loses_title(&faults[i]) || !leave_out(text, faults[i].line))
			*state = SYNTAX_LOST;
	}
	ini_config_free_errors(errors);
	return result;
}

static int unreadable(struct conf *conf, int error, struct problem *problem)
{
	struct conf_place place = { .file = conf->n_files - 1 };

	problem_set(problem, "it cannot be read as UTF-8 text: %s",
		    strerror(error ? error : EINVAL));
	return at(conf, &place, problem);
}

static int find_kind(const char *title, const char **label, struct problem *problem)
{
	size_t length = strcspn(title, " \t");

	*label = title + length + strspn(title + length, " \t");
	for (int kind = 0; kind < CONF_KINDS; kind++) {
		if (strlen(kind_names[kind]) == length &&
		    !strncasecmp(title, kind_names[kind], length))
			return kind;
	}
	if (!strcmp(title, INI_DEFAULT_SECTION))
		return problem_set(problem, "a key stands before the first [title]");
	return problem_set(problem,
			   "there is no section '%.60s'; it is [device NAME], [pool NAME], [group NAME] or [watch]",
			   title);
}

static struct conf_section *find_section(struct conf *conf, enum conf_kind kind, const char *label)
{
	for (size_t i = 0; i < conf->n; i++) {
		if (conf->v[i].kind == kind && !strcasecmp(conf->v[i].label, label))
			return &conf->v[i];
	}
	conf->v = xgrow(conf->v, conf->n, sizeof(*conf->v));
	conf->v[conf->n] = (struct conf_section){ .kind = kind, .label = xstrdup(label) };
	return &conf->v[conf->n++];
}

static int find_key(enum conf_kind kind, const char *name, struct problem *problem)
{
	char list[256] = "";

	for (int key = 0; key < CONF_KEYS; key++) {
		size_t length = strlen(list);

		if (!(keys[key].kinds & OF(kind)))
			continue;
		if (!strcasecmp(keys[key].name, name))
			return key;
		snprintf(list + length, sizeof(list) - length, "%s%s",
			 length ? ", " : "", keys[key].name);
	}
	return problem_set(problem, "[%s] has no key '%.40s'; it has %s",
			   kind_names[kind], name, list);
}

static int set_key(struct conf_section *section, const char *name, const char *text,
		   const struct conf_place *place, struct problem *problem)
{
	int key = find_key(section->kind, name, problem);
	struct problem inner;

	if (key < 0)
		return -1;
	if (!*text)
		return problem_set(problem, "'%s' is set to nothing", keys[key].name);
	if (conf_check_value(key, text, &inner))
		return problem_set(problem, "%s = %.60s: %.160s", keys[key].name, text, inner.text);
	free(section->value[key].text);
	section->value[key].text = xstrdup(text);
	section->value[key].place = *place;
	return 0;
}

static int read_key(struct ini_cfgobj *ini, const char *title, const char *name, struct conf *conf,
		    struct conf_section *section, struct problem *problem)
{
	struct conf_place place = { .file = conf->n_files - 1 };
	struct value_obj *value = NULL;
	const char *text = NULL;
	uint32_t line = 0;
	int error = ini_get_config_valueobj(title, name, ini, INI_GET_FIRST_VALUE, &value);

	if (!error && value) {
		error = value_get_line(value, &line);
		text = ini_get_const_string_config_value(value, NULL);
	}
	if (error || !text)
		return unreadable(conf, error, problem);
	place.line = line;
	if (!set_key(section, name, text, &place, problem))
		return 0;
	section->lacks_key = true;
	return at(conf, &place, problem);
}

static int read_section(struct ini_cfgobj *ini, const char *title, const char *text,
			struct conf *conf, struct problem *problem)
{
	struct conf_place place = { .file = conf->n_files - 1, .line = title_line(text, title) };
	struct conf_section *section;
	char **names;
	const char *label;
	int n = 0, error = 0, result = 0, kind;

	kind = find_kind(title, &label, problem);
	if (kind < 0)
		return at(conf, &place, problem);
	section = find_section(conf, kind, label);
	section->place = place;
	names = ini_get_attribute_list(ini, title, &n, &error);
	if (!names || error)
		return unreadable(conf, error, problem);
	for (int i = 0; i < n && !result; i++)
		result = read_key(ini, title, names[i], conf, section, problem);
	ini_free_attribute_list(names);
	return result;
}

static int read_sections(struct ini_cfgobj *ini, const char *text,
			 struct conf *conf, struct problem *problem)
{
	int n = 0, error = 0, result = 0;
	char **titles = ini_get_section_list(ini, &n, &error);

	if (error || !titles)
		return unreadable(conf, error, problem);
	for (int i = 0; i < n && !result; i++)
		result = read_section(ini, titles[i], text, conf, problem);
	ini_free_section_list(titles);
	return result;
}

static int read_text(struct conf *conf, char *text, enum syntax_state *state,
		     struct problem *problem)
{
	struct ini_cfgfile *source = NULL;
	struct ini_cfgobj *ini = NULL;
	int result, error = ini_config_create(&ini);

	*state = SYNTAX_LOST;
	if (!error)
		error = ini_config_file_from_mem(text, strlen(text), &source);
	if (!error)
		ini_config_parse(source, INI_STOP_ON_NONE,
				 INI_MV1S_ERROR | INI_MV2S_ERROR | INI_MS_ERROR,
				 INI_PARSE_NOWRAP | INI_PARSE_NO_C_COMMENTS, ini);
	result = error ? unreadable(conf, error, problem) :
			 syntax_problem(ini, conf, text, state, problem);
	if (!result && *state == SYNTAX_FINE)
		result = read_sections(ini, text, conf, problem);
	ini_config_file_destroy(source);
	ini_config_destroy(ini);
	return result;
}

/*
 * Read a file of the configuration.
 * @conf: the result of earlier files; keys in this file override it
 * @problem: the error and its place
 */
int conf_add(struct conf *conf, const char *file, const char *text, struct problem *problem)
{
	char *copy __free = xstrdup(text);
	enum syntax_state state;
	int result = 0;

	*XPUSH(conf->files, conf->n_files) = xstrdup(file);
	do {
		state = SYNTAX_FINE;
		if (copy[strspn(copy, " \t\n")])
			result = read_text(conf, copy, &state, problem);
	} while (!result && state == SYNTAX_AGAIN);
	return result;
}

static int check_own_group(const struct conf_section *device, const struct conf_place **place,
			   struct problem *problem)
{
	const struct conf_value *value = conf_group_value(device);
	const char *mode = conf_text(device, KEY_MODE);

	if (!value || text_after(mode, "device") || (!mode && device->lacks_key))
		return 0;
	*place = &value->place;
	return problem_set(problem,
			   "%s: a device has a group of its own only with mode device or device+cgroup",
			   keys[value - device->value].name);
}

/* A minimum may exceed its maximum because the unit of one has changed its meaning. */
static int check_bounds(const struct conf_section *section, const struct conf_place **place,
			struct problem *problem)
{
	struct bounds bounds = conf_bounds(section);
	enum rate rate = bounds_conflict(&bounds);
	struct problem inner;
	struct span word;

	if (!bounds_check(&bounds, &inner))
		return 0;
	*place = &section->value[KEY_MINIMUM].place;
	if (rate_plain(conf_text(section, KEY_MINIMUM), rate, &word) ||
	    rate_plain(conf_text(section, KEY_MAXIMUM), rate, &word))
		return problem_set(problem, "%.100s, which would win; " RATES_PLAIN_SAYS,
				   inner.text, (int)word.length, word.start);
	return problem_set(problem, "%.200s, which would win", inner.text);
}

static int check_choice(const struct conf_section *device, const struct conf_place **place,
			struct problem *problem)
{
	(void)place;
	if (!*device->label)
		return problem_set(problem, "[device] has no name: write [device NAME]");
	if (conf_text(device, KEY_DEVICE) || conf_has_patterns(device) || device->lacks_key)
		return 0;
	return problem_set(problem,
			   "[device %.40s] does not say which devices: set one or more of device, path, name, volume, serial, type, rotational",
			   device->label);
}

static int check_as(const struct conf_section *device,
		    const struct conf_place **place, struct problem *problem)
{
	const char *as = conf_text(device, KEY_AS);

	*place = &device->value[KEY_AS].place;
	if (as && conf_may_be_several(device) && !strstr(as, "%n"))
		return problem_set(problem,
				   "as = %.40s: there may be several devices, which need names of their own: write %%n for the name of the one below",
				   as);
	if (as && conf_flag(device, KEY_INSERT))
		return problem_set(problem,
				   "as: a device that ioband is inserted into keeps its name");
	return 0;
}

static int check_path(const struct conf_section *group,
		      const struct conf_place **place, struct problem *problem)
{
	struct problem inner;

	if (!*conf_group(group))
		return problem_set(problem, "[group] has no name: write [group NAME]");
	if (!conf_check_path(group, &inner))
		return 0;
	if (conf_text(group, KEY_GROUP))
		*place = &group->value[KEY_GROUP].place;
	return problem_set(problem, "group %.60s: %.160s", conf_group(group), inner.text);
}

static int check_tree(const struct conf_section *group,
		      const struct conf_place **place, struct problem *problem)
{
	if (!conf_text(group, KEY_DEVICE) || conf_is_cgroup(group))
		return 0;
	*place = &group->value[KEY_DEVICE].place;
	return problem_set(problem, "device: there are only cgroups in the own tree of a device");
}

static int check_settings(const struct conf_section *group, const struct conf_place **place,
			  struct problem *problem)
{
	(void)place;
	if (conf_group_value(group) || group->lacks_key)
		return 0;
	return problem_set(problem,
			   "[group %.60s] sets nothing: set weight, maximum, minimum, latency or write_latency",
			   group->label);
}

static int check_label(const struct conf_section *section, const struct conf_place **place,
		       struct problem *problem)
{
	(void)place;
	if (section->kind == CONF_POOL && !*section->label)
		return problem_set(problem,
				   "[pool] has no name: write [pool NAME], or [pool *] for all");
	if (section->kind == CONF_WATCH && *section->label)
		return problem_set(problem, "[watch] has no name");
	return 0;
}

typedef int (*section_check)(const struct conf_section *section, const struct conf_place **place,
			     struct problem *problem);

/* By kind; a mistake is reported at the title unless the check names another place. */
static const section_check checks[CONF_KINDS][6] = {
	[CONF_DEVICE] = { check_choice, check_as, check_own_group, check_bounds },
	[CONF_POOL] = { check_label },
	[CONF_GROUP] = { check_tree, check_path, check_settings, check_bounds },
	[CONF_WATCH] = { check_label },
};

static int check_section(struct conf *conf, const struct conf_section *section,
			 struct problem *problem)
{
	const section_check *check = checks[section->kind];

	for (; *check; check++) {
		const struct conf_place *place = &section->place;

		if ((*check)(section, &place, problem) && at(conf, place, problem))
			return -1;
	}
	return 0;
}

/*
 * Check that a configuration is complete, and prepare it for use.
 * @conf: the configuration; conf_add() must not be called on it afterwards
 * @problem: the error and its place
 */
int conf_check(struct conf *conf, struct problem *problem)
{
	conf_read_paths(conf);
	for (size_t i = 0; i < conf->n; i++) {
		if (check_section(conf, &conf->v[i], problem))
			return -1;
	}
	return 0;
}
