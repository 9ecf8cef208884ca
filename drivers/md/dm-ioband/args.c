// SPDX-License-Identifier: GPL-2.0-only
/* dm-ioband: parser of the table line and of messages. */
#include "args.h"
#include "sched/depth.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/stringify.h>

const char * const ioband_args_mode_names[IOBAND_NR_MODES] = {
	[IOBAND_MODE_CGROUP]		= "cgroup",
	[IOBAND_MODE_DEVICE]		= "device",
	[IOBAND_MODE_DEVICE_CGROUP]	= "device+cgroup",
	[IOBAND_MODE_UID]		= "uid",
	[IOBAND_MODE_GID]		= "gid",
	[IOBAND_MODE_PID]		= "pid",
	[IOBAND_MODE_PGRP]		= "pgrp",
};

const char * const ioband_args_measure_names[] = {
	[IOBAND_MEASURE_BYTES]	= "bytes",
	[IOBAND_MEASURE_IOS]	= "ios",
	[IOBAND_MEASURE_TIME]	= "time",
};

/* The names of io.max.  No maximum is "max" there; no minimum is 0. */
#define IOBAND_NR_RATES		4

static const char * const rate_names[IOBAND_NR_RATES] = { "rbps", "wbps", "riops", "wiops" };

/* In sectors; the number of bytes must fit into a loff_t. */
#define IOBAND_START_MAX	((u64)S64_MAX >> 9)

/* As in a dev_t. */
#define IOBAND_MAJOR_MAX	((1U << 12) - 1)
#define IOBAND_MINOR_MAX	((1U << 20) - 1)

#define fail(error, ...)	ioband_args_fail(error, -EINVAL, __VA_ARGS__)

/* Digits only: kstrtou64() alone would accept a plus sign, and a newline at the end. */
static int parse_u64(const char *word, u64 min, u64 max, u64 *value)
{
	u64 parsed;

	if (word[strspn(word, "0123456789")] || kstrtou64(word, 10, &parsed) ||
	    parsed < min || parsed > max)
		return -EINVAL;
	*value = parsed;
	return 0;
}

static int parse_u32(const char *word, u32 min, u32 max, u32 *value)
{
	u64 wide;

	if (parse_u64(word, min, max, &wide))
		return -EINVAL;
	*value = wide;
	return 0;
}

static int set_mode(struct ioband_settings *settings, const char *value)
{
	int mode = match_string(ioband_args_mode_names, IOBAND_NR_MODES, value);

	settings->mode = mode;
	return mode < 0 ? -EINVAL : 0;
}

/* A number, or the idle class. */
static int parse_weight(const char *word, u32 *weight)
{
	if (strcmp(word, "idle"))
		return parse_u32(word, IOBAND_WEIGHT_MIN, IOBAND_WEIGHT_MAX, weight);
	*weight = IOBAND_WEIGHT_IDLE;
	return 0;
}

static int set_weight(struct ioband_settings *settings, const char *value)
{
	return parse_weight(value, &settings->weight);
}

static int set_measure(struct ioband_settings *settings, const char *value)
{
	int measure = match_string(ioband_args_measure_names, IOBAND_NR_MEASURES, value);

	settings->measure = measure;
	return measure < 0 ? -EINVAL : 0;
}

/* <ios> or <ios>/<piece> */
static int parse_depth(const char *value, u32 *ios, u32 *split_bytes)
{
	const char *slash = strchr(value, '/');
	const size_t len = slash ? (size_t)(slash - value) : strlen(value);
	char digits[8];

	if (len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, value, len);
	digits[len] = 0;
	if (parse_u32(digits, 1, IOBAND_DEPTH_MAX, ios))
		return -EINVAL;
	if (slash && (parse_u32(slash + 1, IOBAND_SPLIT_MIN, IOBAND_SPLIT_MAX, split_bytes) ||
		      *split_bytes & (*split_bytes - 1)))
		return -EINVAL;
	return 0;
}

static int set_depth(struct ioband_settings *settings, const char *value)
{
	settings->depth = 0;
	settings->split_bytes = 0;
	return strcmp(value, "auto") ?
	       parse_depth(value, &settings->depth, &settings->split_bytes) : 0;
}

static int set_slice(struct ioband_settings *settings, const char *value)
{
	return parse_u32(value, 0, IOBAND_SLICE_MAX_MS, &settings->slice_ms);
}

static int set_writes_starved(struct ioband_settings *settings, const char *value)
{
	return parse_u32(value, 1, IOBAND_WRITES_STARVED_MAX, &settings->writes_starved);
}

#define FROM_TO(min, max)	"from " __stringify(min) " to " __stringify(max)

static const struct {
	const char *name;
	int (*set)(struct ioband_settings *settings, const char *value);
	const char *must_be;
} keys[IOBAND_NR_KEYS] = {
	[IOBAND_KEY_MODE] = { "mode", set_mode,
		"cgroup, device, device+cgroup, uid, gid, pid or pgrp" },
	[IOBAND_KEY_WEIGHT] = { "weight", set_weight,
		"a whole number " FROM_TO(IOBAND_WEIGHT_MIN, IOBAND_WEIGHT_MAX) ", or idle" },
	[IOBAND_KEY_MEASURE] = { "measure", set_measure, "bytes, ios or time" },
	[IOBAND_KEY_DEPTH] = { "depth", set_depth,
		"auto or a whole number " FROM_TO(1, IOBAND_DEPTH_MAX)
		", then at will / and the size of pieces, a power of two "
		FROM_TO(IOBAND_SPLIT_MIN, IOBAND_SPLIT_MAX) },
	[IOBAND_KEY_SLICE] = { "slice", set_slice,
		"0 for none, or milliseconds up to " __stringify(IOBAND_SLICE_MAX_MS) },
	[IOBAND_KEY_WRITES_STARVED] = { "writes_starved", set_writes_starved,
		"a whole number " FROM_TO(1, IOBAND_WRITES_STARVED_MAX) },
};

static int parse_setting(struct ioband_settings *settings, const char *word,
			 struct ioband_error *error)
{
	const char *equals = strchr(word, '=');
	unsigned int key;

	if (!equals)
		return fail(error, "'%.32s': must be <key>=<value>", word);

	for (key = 0; key < IOBAND_NR_KEYS; key++) {
		const size_t len = strlen(keys[key].name);

		if (equals == word + len && !strncmp(word, keys[key].name, len))
			break;
	}
	if (key == IOBAND_NR_KEYS)
		return fail(error,
			    "'%.32s': unknown key; there are mode, weight, measure, depth, slice and writes_starved",
			    word);
	if (settings->given & (1U << key))
		return fail(error, "%s= is given twice", keys[key].name);
	settings->given |= 1U << key;
	if (keys[key].set(settings, equals + 1))
		return fail(error, "%s=%.32s: must be %s", keys[key].name, equals + 1,
			    keys[key].must_be);
	return 0;
}

static bool mode_has_device_group(enum ioband_mode mode)
{
	return mode == IOBAND_MODE_DEVICE || mode == IOBAND_MODE_DEVICE_CGROUP;
}

static bool pool_name_is_valid(const char *name)
{
	static const char others[] = "_.:+-";
	size_t i;

	for (i = 0; name[i]; i++) {
		const char c = name[i];
		const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				  (c >= '0' && c <= '9');

		if (!word && !strchr(others, c))
			return false;
	}
	return i >= 1 && i <= IOBAND_POOL_NAME_MAX && name[0] != '-';
}

/* Parse the words after "ioband".  @table points into @argv.  Return: 0, or -EINVAL with @error. */
int ioband_args_table(struct ioband_table *table, unsigned int argc, char **argv,
		      struct ioband_error *error)
{
	u32 nr = 0;
	int ret;

	*table = (struct ioband_table) {};
	if (argc < 3)
		return fail(error,
			    "%u words after 'ioband': must be <dev> <offset> <pool> [<#args> <key>=<value>...]",
			    argc);
	table->device = argv[0];
	if (parse_u64(argv[1], 0, IOBAND_START_MAX, &table->start))
		return fail(error,
			    "offset '%.32s': must be a number of 512-byte sectors, at most %llu",
			    argv[1], IOBAND_START_MAX);
	table->pool = argv[2];
	if (!pool_name_is_valid(table->pool))
		return fail(error,
			    "pool '%.70s': must be 1 to %u of A-Z a-z 0-9 _ . : + -, not starting with -",
			    table->pool, IOBAND_POOL_NAME_MAX);
	if (argc > 3 && parse_u32(argv[3], 0, U32_MAX, &nr))
		return fail(error,
			    "'%.32s' after the pool: must be the number of words that follow",
			    argv[3]);
	if (argc > 3 && nr != argc - 4)
		return fail(error, "%u words follow the pool's '%.32s': they must agree",
			    argc - 4, argv[3]);
	for (unsigned int i = 4; i < argc; i++) {
		ret = parse_setting(&table->settings, argv[i], error);
		if (ret)
			return ret;
	}
	if (table->settings.given & (1U << IOBAND_KEY_WEIGHT) &&
	    !mode_has_device_group(table->settings.mode))
		return fail(error,
			    "weight= is the device's: it wants mode=device or mode=device+cgroup");
	if (!(table->settings.given & (1U << IOBAND_KEY_WEIGHT)))
		table->settings.weight = IOBAND_WEIGHT_DEFAULT;
	return 0;
}

/* "<maj>:<min>" */
static int parse_devno(char *word, u64 *id)
{
	char *colon = strchr(word, ':');
	u32 maj, min;
	int ret;

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	ret = parse_u32(word, 0, IOBAND_MAJOR_MAX, &maj) ?:
	      parse_u32(colon + 1, 0, IOBAND_MINOR_MAX, &min);
	*colon = ':';
	if (!ret)
		*id = (u64)maj << 20 | min;
	return ret;
}

static int parse_cgroup(struct ioband_spec *spec, const char *word, struct ioband_error *error)
{
	const char *rest = word + strlen("cgroup");

	spec->kind = IOBAND_KIND_CGROUP;
	if (rest[0] == '#') {
		if (parse_u64(rest + 1, 1, U64_MAX, &spec->id))
			return fail(error,
				    "group '%.64s': a cgroup's id is the inode number of its directory",
				    word);
		return 0;
	}
	if (rest[0] != ':' || rest[1] != '/')
		return fail(error,
			    "group '%.64s': must be cgroup:</path> or cgroup#<id>", word);
	spec->path = rest + 1;
	return 0;
}

static int parse_numbered(struct ioband_spec *spec, const char *word, struct ioband_error *error)
{
	static const struct {
		const char *prefix;
		enum ioband_kind kind;
		u32 max;
	} kinds[] = {
		{ "uid:", IOBAND_KIND_UID, U32_MAX - 1 },
		{ "gid:", IOBAND_KIND_GID, U32_MAX - 1 },
		{ "pid:", IOBAND_KIND_PID, S32_MAX },
		{ "pgrp:", IOBAND_KIND_PGRP, S32_MAX },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		const size_t len = strlen(kinds[i].prefix);

		if (strncmp(word, kinds[i].prefix, len))
			continue;
		spec->kind = kinds[i].kind;
		if (parse_u64(word + len, 0, kinds[i].max, &spec->id))
			return fail(error,
				    "group '%.64s': must be %s<number>, at most %u",
				    word, kinds[i].prefix, kinds[i].max);
		return 0;
	}
	return fail(error,
		    "group '%.64s': must be root, device, device:<maj>:<min>, cgroup:</path>, cgroup#<id>, uid:<n>, gid:<n>, pid:<n> or pgrp:<n>",
		    word);
}

static int parse_spec(struct ioband_spec *spec, char *word, struct ioband_error *error)
{
	if (!strcmp(word, "root")) {
		spec->kind = IOBAND_KIND_ROOT;
		return 0;
	}
	if (!strcmp(word, "device")) {
		spec->kind = IOBAND_KIND_DEVICE;
		spec->self = true;
		return 0;
	}
	if (!strncmp(word, "device:", 7)) {
		spec->kind = IOBAND_KIND_DEVICE;
		if (parse_devno(word + 7, &spec->id))
			return fail(error,
				    "group '%.64s': must be device:<major>:<minor>, at most %u:%u",
				    word, IOBAND_MAJOR_MAX, IOBAND_MINOR_MAX);
		return 0;
	}
	if (!strncmp(word, "cgroup", 6))
		return parse_cgroup(spec, word, error);
	return parse_numbered(spec, word, error);
}

static int parse_weight_message(struct ioband_message *message, unsigned int argc, char **argv,
				struct ioband_error *error)
{
	int ret;

	if (argc != 3)
		return fail(error, "weight: %u words follow; must be <group> <weight>", argc - 1);
	ret = parse_spec(&message->spec, argv[1], error);
	if (ret)
		return ret;
	if (!strcmp(argv[2], "default"))
		return 0;
	if (parse_weight(argv[2], &message->weight))
		return fail(error,
			    "weight '%.32s': must be a whole number from %u to %u, idle or default",
			    argv[2], IOBAND_WEIGHT_MIN, IOBAND_WEIGHT_MAX);
	return 0;
}

static u64 *rate_of(struct ioband_rates *rates, unsigned int i)
{
	return i < IOBAND_NR_DIRS ? &rates->bytes[i] : &rates->ios[i - IOBAND_NR_DIRS];
}

/* Apply a message to a maximum or a minimum. */
void ioband_args_merge_rates(struct ioband_rates *rates, const struct ioband_message *message)
{
	struct ioband_rates given = message->rates;

	for (unsigned int i = 0; i < IOBAND_NR_RATES; i++)
		if (message->rates_given & (1U << i))
			*rate_of(rates, i) = *rate_of(&given, i);
}

/* Is any rate of a maximum or a minimum set? */
bool ioband_args_any_rate(const struct ioband_rates *rates)
{
	return rates->bytes[IOBAND_DIR_READ] || rates->bytes[IOBAND_DIR_WRITE] ||
	       rates->ios[IOBAND_DIR_READ] || rates->ios[IOBAND_DIR_WRITE];
}

/* Does a message set something, or does it only remove settings? */
bool ioband_args_gives(const struct ioband_message *message)
{
	if (message->verb == IOBAND_MSG_WEIGHT)
		return message->weight;
	if (message->verb == IOBAND_MSG_LATENCY_TARGET ||
	    message->verb == IOBAND_MSG_WRITE_LATENCY_TARGET)
		return message->latency_us;
	return ioband_args_any_rate(&message->rates);
}

static int parse_rate(struct ioband_message *message, const char *word, struct ioband_error *error)
{
	const char *none = message->verb == IOBAND_MSG_MAX ? "max" : "0";
	const char *equals = strchr(word, '=');
	unsigned int i;
	u64 *rate;

	for (i = 0; equals && i < IOBAND_NR_RATES; i++)
		if (equals == word + strlen(rate_names[i]) &&
		    !strncmp(word, rate_names[i], equals - word))
			break;
	if (!equals || i == IOBAND_NR_RATES)
		return fail(error,
			    "'%.32s': must be rbps=, wbps=, riops= or wiops=, or default alone",
			    word);
	if (message->rates_given & (1U << i))
		return fail(error, "%s= is given twice", rate_names[i]);
	message->rates_given |= 1U << i;
	rate = rate_of(&message->rates, i);
	*rate = 0;
	if (strcmp(equals + 1, none) && parse_u64(equals + 1, 1, IOBAND_RATE_MAX, rate))
		return fail(error,
			    "%s=%.32s: must be %s, or a whole number from 1 to %llu a second",
			    rate_names[i], equals + 1, none, IOBAND_RATE_MAX);
	return 0;
}

static int parse_rates_message(struct ioband_message *message, unsigned int argc, char **argv,
			       struct ioband_error *error)
{
	int ret;

	if (argc < 3)
		return fail(error,
			    "%s: %u words follow; must be <group> and rbps=, wbps=, riops= or wiops=, or <group> default",
			    argv[0], argc - 1);
	ret = parse_spec(&message->spec, argv[1], error);
	if (!ret && argc == 3 && !strcmp(argv[2], "default")) {
		message->rates_given = (1U << IOBAND_NR_RATES) - 1;
		return 0;
	}
	for (unsigned int i = 2; !ret && i < argc; i++)
		ret = parse_rate(message, argv[i], error);
	return ret;
}

static int parse_latency_message(struct ioband_message *message, unsigned int argc, char **argv,
				 struct ioband_error *error)
{
	int ret;

	if (argc != 3)
		return fail(error, "%s: %u words follow; must be <group> <microseconds>",
			    argv[0], argc - 1);
	ret = parse_spec(&message->spec, argv[1], error);
	if (ret || !strcmp(argv[2], "default"))
		return ret;
	if (parse_u32(argv[2], 1, IOBAND_LATENCY_MAX_US, &message->latency_us))
		return fail(error,
			    "%s '%.32s': must be a whole number of microseconds from 1 to %u, or default",
			    argv[0], argv[2], IOBAND_LATENCY_MAX_US);
	return 0;
}

static int parse_set_message(struct ioband_message *message, unsigned int argc, char **argv,
			     struct ioband_error *error)
{
	if (argc != 2)
		return fail(error, "set: %u words follow; must be one <key>=<value>", argc - 1);
	if (!strncmp(argv[1], "weight=", 7))
		return fail(error,
			    "set weight=: use 'weight device <weight>', or name another group");
	return parse_setting(&message->settings, argv[1], error);
}

static int parse_page_message(struct ioband_message *message, unsigned int argc, char **argv,
			      struct ioband_error *error)
{
	if (argc > 2)
		return fail(error, "%s: %u words follow; at most a cursor may", argv[0], argc - 1);
	if (argc == 2 && parse_u32(argv[1], 0, U32_MAX, &message->cursor))
		return fail(error,
			    "%s: cursor '%.32s' must be what the last page said after 'next'",
			    argv[0], argv[1]);
	return 0;
}

/* The settings, which a preset may have too, come first. */
static const struct {
	const char *name;
	int (*parse)(struct ioband_message *message, unsigned int argc, char **argv,
		     struct ioband_error *error);
} verbs[] = {
	[IOBAND_MSG_WEIGHT]	= { "weight", parse_weight_message },
	[IOBAND_MSG_MAX]	= { "max", parse_rates_message },
	[IOBAND_MSG_MIN]	= { "min", parse_rates_message },
	[IOBAND_MSG_LATENCY_TARGET] = { "latency-target", parse_latency_message },
	[IOBAND_MSG_WRITE_LATENCY_TARGET] = { "write-latency-target", parse_latency_message },
	[IOBAND_MSG_SET]	= { "set", parse_set_message },
	[IOBAND_MSG_GROUPS]	= { "groups", parse_page_message },
	[IOBAND_MSG_STATS]	= { "stats", parse_page_message },
	[IOBAND_MSG_LATENCY]	= { "latency", parse_page_message },
	[IOBAND_MSG_PRESETS]	= { "presets", parse_page_message },
};

/* Parse a message with one of the first @nr verbs; -ENOENT: it has none of these. */
static int parse_verb(struct ioband_message *message, unsigned int nr, unsigned int argc,
		      char **argv, struct ioband_error *error)
{
	for (unsigned int verb = 0; verb < nr; verb++) {
		if (strcmp(verbs[verb].name, argv[0]))
			continue;
		message->verb = verb;
		return verbs[verb].parse(message, argc, argv, error);
	}
	return -ENOENT;
}

/* Is the path in the form in which the kernel writes that of a cgroup?  No other would match. */
static bool path_is_whole(const char *path)
{
	if (strlen(path) >= PATH_MAX || strchr(path, '\n'))
		return false;
	while (*path == '/') {
		const size_t len = strcspn(++path, "/");

		if (!len || len > NAME_MAX || (len <= 2 && !strncmp(path, "..", len)))
			return false;
		path += len;
	}
	return true;
}

/* The words after "preset" are the message for an existing cgroup. */
static int parse_preset(struct ioband_message *message, unsigned int argc, char **argv,
			struct ioband_error *error)
{
	int ret;

	if (!argc)
		return fail(error,
			    "preset: 0 words follow; must be weight, max, min, latency-target or write-latency-target, and what follows that");
	message->preset = true;
	ret = parse_verb(message, IOBAND_MSG_WRITE_LATENCY_TARGET + 1, argc, argv, error);
	if (ret == -ENOENT)
		return fail(error,
			    "preset '%.32s': must be weight, max, min, latency-target or write-latency-target",
			    argv[0]);
	if (!ret && (!message->spec.path || !path_is_whole(message->spec.path)))
		return fail(error,
			    "group '%.64s': a preset is of cgroup:</path>: must be without // and . and .. and newlines, and not end with /",
			    argv[1]);
	return ret;
}

/* Parse a message, as ioband_args_table() does a table line. */
int ioband_args_message(struct ioband_message *message, unsigned int argc, char **argv,
			struct ioband_error *error)
{
	int ret;

	*message = (struct ioband_message) {};
	if (!argc)
		return fail(error,
			    "empty message: must be weight, max, min, latency-target, write-latency-target, set, groups, stats, latency, preset or presets");
	if (!strcmp(argv[0], "preset"))
		return parse_preset(message, argc - 1, argv + 1, error);
	ret = parse_verb(message, ARRAY_SIZE(verbs), argc, argv, error);
	if (ret == -ENOENT)
		return fail(error,
			    "'%.32s': must be weight, max, min, latency-target, write-latency-target, set, groups, stats, latency, preset or presets",
			    argv[0]);
	return ret;
}
