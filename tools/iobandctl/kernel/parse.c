// SPDX-License-Identifier: GPL-2.0-only
/*
 * The texts of the ioband target, and the file of weights.  Pure.
 *
 * A text consists of lines of words; some words are key=value.  A table of
 * struct field lists the keys of a line and the places of their values.
 * Unknown keys and lines are skipped, because newer kernels may append them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "kernel/parse.h"

#define FORMAT "1"

const char *const op_names[OPS] = { "read", "write", "discard" };

enum field_kind { WORD, NUMBERS, WEIGHT, TEXT, BOUND };

/* A key and the place of its value. */
struct field {
	const char *key;
	/*
	 * A word into a buffer, numbers into an array, a weight into a number, escaped text
	 * into a pointer, a list of rates into those of a bound.
	 */
	enum field_kind kind;
	void *target;	/* the buffer, the array, the number, the pointer or the rates */
	/*
	 * Bytes of the buffer, the required number of numbers, or the bound; for a weight,
	 * whether 0 is idle.
	 */
	size_t count;
	enum { REQUIRED, OPTIONAL } optional;	/* OPTIONAL if the line may lack it */
};

#define FIELDS_MAX 16

/* The field of a bound; bounds are optional in a line. */
static struct field bound_field(struct bounds *bounds, enum bound bound)
{
	if (bound >= LATENCY)
		return (struct field){
			bound_kinds[bound].key, NUMBERS,
			&bounds->latency_us[bound - LATENCY], 1, OPTIONAL
		};
	return (struct field){ bound_kinds[bound].key, BOUND, &bounds->of[bound], bound, OPTIONAL };
}

static int wrong(struct problem *problem, const char *what, struct span found)
{
	char shown[48];

	return problem_set(problem, "%s: '%s'", what, span_show(found, shown));
}

static int wrong_bound(struct problem *problem, enum bound bound, struct span found)
{
	char what[48];

	snprintf(what, sizeof(what), "a %s is malformed", bound_kinds[bound].noun);
	return wrong(problem, what, found);
}

static int read_numbers(struct span list, uint64_t *numbers, size_t count, char separator)
{
	struct span item;

	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count)
			span_item(&list, separator, &item);
		else
			item = list;
		if (!span_u64(item, UINT64_MAX, &numbers[i]))
			return -1;
	}
	return 0;
}

static int read_weight(struct span word, uint64_t *weight, bool zero_is_idle)
{
	if (span_is(word, "idle"))
		*weight = IOBAND_WEIGHT_IDLE;
	else if (!span_u64(word, IOBAND_WEIGHT_MAX, weight))
		return -1;
	else if (zero_is_idle)
		*weight = weight_of_number(*weight);
	return 0;
}

static int read_field(const struct field *field, struct span word,
		      struct span value, struct problem *problem)
{
	char **text = field->target;

	switch (field->kind) {
	case WORD:
		if (!span_copy(value, field->target, field->count))
			return wrong(problem, "a value is empty or too long", word);
		break;
	case NUMBERS:
		if (read_numbers(value, field->target, field->count, ','))
			return wrong(problem, "a number is malformed", word);
		break;
	case WEIGHT:
		if (read_weight(value, field->target, field->count))
			return wrong(problem, "a weight is malformed", word);
		break;
	case TEXT:
		free(*text);
		*text = span_unescape(value);
		if (!*text)
			return wrong(problem, "an escape is malformed", word);
		break;
	case BOUND:
		if (!rates_read_list(value, field->count, field->target))
			return wrong_bound(problem, field->count, word);
		break;
	}
	return 0;
}

static int read_fields(struct span line, const struct field *fields, size_t n,
		       struct problem *problem)
{
	struct span word, key, value;
	bool seen[FIELDS_MAX] = { false };

	while (span_word(&line, &word)) {
		if (!span_key(word, &key, &value))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (!span_is(key, fields[i].key))
				continue;
			if (seen[i])
				return wrong(problem, "a key comes twice", key);
			seen[i] = true;
			if (read_field(&fields[i], word, value, problem))
				return -1;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!seen[i] && !fields[i].optional)
			return problem_set(problem, "'%s=' is missing", fields[i].key);
	}
	return 0;
}

/* The numbers and names without a key at the start of a line. */
static int read_number(struct span *line, const char *what, uint64_t *value,
		       struct problem *problem)
{
	struct span word;

	if (!span_word(line, &word))
		return problem_set(problem, "the %s is missing", what);
	if (!span_u64(word, UINT64_MAX, value))
		return wrong(problem, "a number is malformed", word);
	return 0;
}

static int read_name(struct span *line, const char *what, char *buffer,
		     size_t size, struct problem *problem)
{
	struct span word;

	if (!span_word(line, &word))
		return problem_set(problem, "the %s is missing", what);
	if (!span_copy(word, buffer, size))
		return wrong(problem, "a name is too long", word);
	return 0;
}

/*
 * Read a table line.
 * @text: the words after the target's name, as printed by the kernel
 * @table: the result; an absent key gets its default
 */
int parse_table(const char *text, struct ioband_table *table, struct problem *problem)
{
	const struct field fields[] = {
		{ "mode", WORD, table->mode, sizeof(table->mode), OPTIONAL },
		{ "weight", WEIGHT, &table->weight, true, OPTIONAL },
		{ "measure", WORD, table->measure, sizeof(table->measure), OPTIONAL },
		{ "depth", WORD, table->depth, sizeof(table->depth), OPTIONAL },
		{ "slice", NUMBERS, &table->slice_ms, 1, OPTIONAL },
		{ "writes_starved", NUMBERS, &table->writes_starved, 1, OPTIONAL },
	};
	struct span line = span_of(text), word;

	*table = (struct ioband_table){
		.mode = "cgroup", .weight = IOBAND_WEIGHT_DEFAULT,
		.measure = "bytes", .depth = "auto",
		.writes_starved = IOBAND_WRITES_STARVED_DEFAULT,
	};
	if (!span_word(&line, &word))
		return problem_set(problem, "the table line is empty");
	if (read_numbers(word, table->device, 2, ':'))
		return wrong(problem, "the device below is no <major>:<minor>", word);
	if (read_number(&line, "offset", &table->offset, problem) ||
	    read_name(&line, "pool", table->pool, sizeof(table->pool), problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

static int check_format(struct span word, struct problem *problem)
{
	char shown[48];

	if (span_is(word, FORMAT))
		return 0;
	return problem_set(problem, "its format is '%s' and this iobandctl knows "
			   FORMAT "; use an iobandctl as new as the module",
			   span_show(word, shown));
}

/*
 * Read a status line.
 * @text: the words after the target's name
 */
int parse_status(const char *text, struct ioband_status *status, struct problem *problem)
{
	const struct field fields[] = {
		{ "pool", WORD, status->pool, sizeof(status->pool), REQUIRED },
		{ "mode", WORD, status->mode, sizeof(status->mode), REQUIRED },
		{ "measure", WORD, status->measure, sizeof(status->measure), REQUIRED },
		{ "state", WORD, status->state, sizeof(status->state), REQUIRED },
		{ "depth", NUMBERS, &status->depth, 1, REQUIRED },
		{ "groups", NUMBERS, &status->groups, 1, REQUIRED },
		{ "active", NUMBERS, &status->active, 1, REQUIRED },
		{ "held", NUMBERS, status->held, AMOUNTS, REQUIRED },
		{ "inflight", NUMBERS, status->inflight, AMOUNTS, REQUIRED },
		{ "devices", NUMBERS, &status->devices, 1, REQUIRED },
		{ "slice", NUMBERS, &status->slice_ms, 1, OPTIONAL },
		{ "piece", NUMBERS, &status->piece_bytes, 1, OPTIONAL },
		{ "brake", NUMBERS, &status->brake_bytes_per_s, 1, OPTIONAL },
		{ "writes_starved", NUMBERS, &status->writes_starved, 1, OPTIONAL },
	};
	struct span line = span_of(text), word;

	*status = (struct ioband_status){ .writes_starved = IOBAND_WRITES_STARVED_DEFAULT };
	if (!span_word(&line, &word))
		return problem_set(problem, "the status line is empty");
	if (check_format(word, problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

typedef int (*line_reader)(struct span line, void *list, struct problem *problem);

static bool read_end(struct span line, struct page_end *end)
{
	struct span word;

	if (!span_word(&line, &word))
		return false;
	if (span_is(word, "end"))
		return true;
	end->more = span_is(word, "next") && span_word(&line, &word) &&
		    span_copy(word, end->cursor, sizeof(end->cursor));
	return end->more;
}

static int read_title(struct span *rest, const char *kind, struct problem *problem)
{
	struct span line, word;

	if (!span_line(rest, &line) || !span_word(&line, &word))
		return problem_set(problem, "the text is empty");
	if (check_format(word, problem))
		return -1;
	if (!span_word(&line, &word) || !span_is(word, kind))
		return problem_set(problem, "the first line is not '" FORMAT " %s'", kind);
	return 0;
}

static int read_group(struct span line, void *list, struct problem *problem)
{
	struct groups *groups = list;
	struct ioband_group *group = XPUSH(groups->v, groups->n);
	const struct field fields[] = {
		{ "weight", WEIGHT, &group->weight, true, REQUIRED },
		{ "set", NUMBERS, &group->set, 1, REQUIRED },
		{ "path", TEXT, &group->path, 0, OPTIONAL },
		bound_field(&group->bounds, MAXIMUM),
		bound_field(&group->bounds, MINIMUM),
		bound_field(&group->bounds, LATENCY),
		bound_field(&group->bounds, WRITE_LATENCY),
	};

	*group = (struct ioband_group){ .path = NULL };
	if (read_number(&line, "sequence number", &group->seq, problem) ||
	    read_number(&line, "parent", &group->parent, problem) ||
	    read_name(&line, "group", group->name, sizeof(group->name), problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

static int read_preset(struct span line, void *list, struct problem *problem)
{
	struct presets *presets = list;
	struct ioband_preset *preset = XPUSH(presets->v, presets->n);
	uint64_t seq;
	const struct field fields[] = {
		{ "weight", WEIGHT, &preset->weight, true, OPTIONAL },
		{ "path", TEXT, &preset->path, 0, REQUIRED },
		bound_field(&preset->bounds, MAXIMUM),
		bound_field(&preset->bounds, MINIMUM),
		bound_field(&preset->bounds, LATENCY),
		bound_field(&preset->bounds, WRITE_LATENCY),
	};

	*preset = (struct ioband_preset){ .path = NULL };
	if (read_number(&line, "sequence number", &seq, problem) ||
	    read_name(&line, "tree", preset->tree, sizeof(preset->tree), problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

static struct group_stats *append_stats(struct stats *stats)
{
	struct group_stats *group = XPUSH(stats->v, stats->n);

	*group = (struct group_stats){ .seq = 0 };
	for (int op = 0; op < OPS; op++)
		group->now[op].inflight = NOT_TOLD;
	return group;
}

static int read_stats(struct span line, void *list, struct problem *problem)
{
	struct group_stats *group = append_stats(list);
	const struct field fields[] = {
		{ "held", NUMBERS, group->held, AMOUNTS, REQUIRED },
		{ "inflight", NUMBERS, &group->inflight, 1, REQUIRED },
		{ "read", NUMBERS, &group->op[READ], OP_STATS_NUMBERS, OPTIONAL },
		{ "write", NUMBERS, &group->op[WRITE], OP_STATS_NUMBERS, OPTIONAL },
		{ "discard", NUMBERS, &group->op[DISCARD], OP_STATS_NUMBERS, OPTIONAL },
		{ "read.held", NUMBERS, group->now[READ].held, AMOUNTS, OPTIONAL },
		{ "read.inflight", NUMBERS, &group->now[READ].inflight, 1, OPTIONAL },
		{ "write.held", NUMBERS, group->now[WRITE].held, AMOUNTS, OPTIONAL },
		{ "write.inflight", NUMBERS, &group->now[WRITE].inflight, 1, OPTIONAL },
		{ "discard.held", NUMBERS, group->now[DISCARD].held, AMOUNTS, OPTIONAL },
		{ "discard.inflight", NUMBERS, &group->now[DISCARD].inflight, 1, OPTIONAL },
		{ "below", NUMBERS, &group->below, 1, OPTIONAL },
	};

	if (read_number(&line, "sequence number", &group->seq, problem) ||
	    read_name(&line, "group", group->name, sizeof(group->name), problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

static struct group_latency *append_latency(struct latency *latency)
{
	struct group_latency *group = XPUSH(latency->v, latency->n);

	*group = (struct group_latency){ .seq = 0 };
	for (int op = 0; op < OPS; op++) {
		group->wait_ns[op] = NO_SUM;
		group->service_ns[op] = NO_SUM;
	}
	return group;
}

static int read_latency(struct span line, void *list, struct problem *problem)
{
	struct group_latency *group = append_latency(list);
	const struct field fields[] = {
		{ "read.wait", NUMBERS, group->wait[READ], HISTOGRAM_SLOTS, OPTIONAL },
		{ "read.service", NUMBERS, group->service[READ], HISTOGRAM_SLOTS, OPTIONAL },
		{ "write.wait", NUMBERS, group->wait[WRITE], HISTOGRAM_SLOTS, OPTIONAL },
		{ "write.service", NUMBERS, group->service[WRITE], HISTOGRAM_SLOTS, OPTIONAL },
		{ "discard.wait", NUMBERS, group->wait[DISCARD], HISTOGRAM_SLOTS, OPTIONAL },
		{ "discard.service", NUMBERS, group->service[DISCARD], HISTOGRAM_SLOTS, OPTIONAL },
		{ "read.wait_ns", NUMBERS, &group->wait_ns[READ], 1, OPTIONAL },
		{ "read.service_ns", NUMBERS, &group->service_ns[READ], 1, OPTIONAL },
		{ "write.wait_ns", NUMBERS, &group->wait_ns[WRITE], 1, OPTIONAL },
		{ "write.service_ns", NUMBERS, &group->service_ns[WRITE], 1, OPTIONAL },
		{ "discard.wait_ns", NUMBERS, &group->wait_ns[DISCARD], 1, OPTIONAL },
		{ "discard.service_ns", NUMBERS, &group->service_ns[DISCARD], 1, OPTIONAL },
	};

	if (read_number(&line, "sequence number", &group->seq, problem) ||
	    read_name(&line, "group", group->name, sizeof(group->name), problem))
		return -1;
	return read_fields(line, fields, ARRAY_SIZE(fields), problem);
}

static const struct {
	const char *kind;
	line_reader read;
} lists[] = {
	{ "groups", read_group },
	{ "presets", read_preset },
	{ "stats", read_stats },
	{ "latency", read_latency },
};

/*
 * Read a page of a list.  Its lines begin with a number; other lines come from a newer kernel.
 * @kind: groups, presets, stats or latency, which is the message that asks for it
 * @list: the struct of that name, appended to, also before a failure
 * @end: whether there is another page
 */
int parse_list(const char *kind, const char *text, void *list, struct page_end *end,
	       struct problem *problem)
{
	struct span rest = span_of(text), line;
	size_t i = 0;

	while (strcmp(lists[i].kind, kind))
		i++;
	*end = (struct page_end){ .more = false };
	if (read_title(&rest, kind, problem))
		return -1;
	while (span_line(&rest, &line)) {
		if (line.length && *line.start >= '0' && *line.start <= '9') {
			if (lists[i].read(line, list, problem))
				return -1;
		} else if (read_end(line, end)) {
			return 0;
		}
	}
	return problem_set(problem, "it breaks off before 'end' or 'next'");
}

static int read_saved(struct span line, struct saved_weight *saved, struct problem *problem)
{
	const struct field fields[] = {
		{ "pool", WORD, saved->pool, sizeof(saved->pool), REQUIRED },
		{ "device", TEXT, &saved->device, 0, OPTIONAL },
		{ "group", TEXT, &saved->group, 0, REQUIRED },
		{ "weight", WEIGHT, &saved->weight, false, OPTIONAL },
		bound_field(&saved->bounds, MAXIMUM),
		bound_field(&saved->bounds, MINIMUM),
		bound_field(&saved->bounds, LATENCY),
		bound_field(&saved->bounds, WRITE_LATENCY),
	};

	if (read_fields(line, fields, ARRAY_SIZE(fields), problem))
		return -1;
	for (int bound = LATENCY; bound < BOUNDS; bound++) {
		if (saved->bounds.latency_us[bound - LATENCY] > LATENCY_MAX_US)
			return problem_set(problem, "the %s is not from 1 to %d microseconds",
					   bound_kinds[bound].noun, LATENCY_MAX_US);
	}
	if (!saved->weight && !bounds_are_set(&saved->bounds))
		return problem_set(problem,
				   "there is neither a weight from 1 to %d nor a maximum, a minimum or a latency",
				   IOBAND_WEIGHT_MAX);
	return 0;
}

/*
 * Read a file of weights.
 * @weights: appended to, also before a failure
 * @problem: the error and its line
 */
int parse_saved_weights(const char *text, struct saved_weights *weights, struct problem *problem)
{
	struct span rest = span_of(text), line;
	struct saved_weight *saved;
	struct problem inner;
	size_t number = 1;

	if (read_title(&rest, "weights", &inner))
		return problem_set(problem, "line 1: %.400s", inner.text);
	while (span_line(&rest, &line)) {
		number++;
		if (!line.length || *line.start == '#')
			continue;
		saved = XPUSH(weights->v, weights->n);
		*saved = (struct saved_weight){ .line = number };
		if (read_saved(line, saved, &inner))
			return problem_set(problem, "line %zu: %.400s", number, inner.text);
	}
	return 0;
}

/* Check the name of a pool.  Return: true if the kernel accepts it. */
bool parse_pool_name(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) ||
	       (text[length] && strchr("_.:+-", text[length])))
		length++;
	return length && length < IOBAND_POOL_SIZE && !text[length] && *text != '-';
}

static bool is_device_number(struct span word)
{
	bool colon = false;

	for (; word.length; word.start++, word.length--) {
		if (!isdigit((unsigned char)*word.start) && (colon || *word.start != ':'))
			return false;
		colon |= *word.start == ':';
	}
	return colon;
}

/*
 * Check whether a multipath device has a path that works.
 * @status: its status line, with <major>:<minor> and A (active) or F for each path
 */
bool parse_has_path(const char *status)
{
	struct span rest = span_of(status), word;
	bool is_path = false;

	while (span_word(&rest, &word)) {
		if (is_path && span_is(word, "A"))
			return true;
		is_path = is_device_number(word);
	}
	return false;
}

/*
 * Check a value of depth.
 * @text: "auto", <ios> or <ios>/<piece bytes>
 * Return: true if the kernel accepts it.
 */
bool parse_depth(const char *text)
{
	const char *slash = strchr(text, '/');
	struct span ios = span_of(text);
	uint64_t number, piece;

	if (!strcmp(text, "auto"))
		return true;
	if (slash) {
		ios.length = slash - text;
		if (!span_u64(span_of(slash + 1), IOBAND_PIECE_MAX, &piece) ||
		    piece < IOBAND_PIECE_MIN || piece & (piece - 1))
			return false;
	}
	return span_u64(ios, IOBAND_DEPTH_MAX, &number) && number;
}

/*
 * Check whether the module does not know a message.
 * @reason: the module's reason for refusing it
 * Return: true if the module is older than the message.
 */
bool parse_is_unknown(const char *reason, const char *message)
{
	char *says __free = xasprintf("'%s': must be weight", message);

	return strstr(reason, says);
}

/*
 * Extract the text of ioband from a record of the kernel log.
 * @record: as in /dev/kmsg: "priority,seq,time,flags;text\n key=..."
 * Return: false if the record is not from ioband.
 */
bool parse_kernel_log(const char *record, char *sentence, size_t size)
{
	const char *text = strchr(record, ';');
	const char *said;
	size_t length;

	if (!text || !size)
		return false;
	said = strstr(text, "ioband: ");
	length = strcspn(text, "\n");
	if (!said || said > text + length || !strstr(text, "device-mapper: "))
		return false;
	said += strlen("ioband: ");
	length -= said - text;
	if (length >= size)
		length = size - 1;
	memcpy(sentence, said, length);
	sentence[length] = 0;
	return true;
}

void groups_free(struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		free(groups->v[i].path);
	free(groups->v);
	*groups = (struct groups){ .n = 0 };
}

void presets_free(struct presets *presets)
{
	for (size_t i = 0; i < presets->n; i++)
		free(presets->v[i].path);
	free(presets->v);
	*presets = (struct presets){ .n = 0 };
}

void stats_free(struct stats *stats)
{
	free(stats->v);
	*stats = (struct stats){ .n = 0 };
}

void latency_free(struct latency *latency)
{
	free(latency->v);
	*latency = (struct latency){ .n = 0 };
}

void saved_weights_free(struct saved_weights *weights)
{
	for (size_t i = 0; i < weights->n; i++) {
		free(weights->v[i].device);
		free(weights->v[i].group);
	}
	free(weights->v);
	*weights = (struct saved_weights){ .n = 0 };
}
