// SPDX-License-Identifier: GPL-2.0-only
/* Parser for the lines of a recording.  The input is untrusted.  Pure. */
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "observe/recording.h"

/* Depth of nesting: objects in arrays in objects in an array in an object. */
#define DEPTH 8

/* -- JSON ------------------------------------------------------------------------------- */

static struct json_object *parse_json(const char *text, size_t length, struct problem *problem)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
	struct json_object *line;
	enum json_tokener_error error;

	if (!tokener)
		exit(fail(EXIT_FAILED, "out of memory"));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* The NUL marks the end of the text for the parser. */
	line = json_tokener_parse_ex(tokener, text, length + 1);
	error = json_tokener_get_error(tokener);
	if (error == json_tokener_success && json_tokener_get_parse_end(tokener) < length)
		error = json_tokener_error_parse_unexpected;
	if (error != json_tokener_success)
		problem_set(problem, "it is not JSON: %s, at byte %zu",
			    json_tokener_error_desc(error),
			    json_tokener_get_parse_end(tokener) + 1);
	else if (!json_object_is_type(line, json_type_object))
		problem_set(problem, "it is no object of JSON");
	json_tokener_free(tokener);
	if (error == json_tokener_success && json_object_is_type(line, json_type_object))
		return line;
	json_object_put(line);
	return NULL;
}

static int get_number(struct json_object *object, const char *key, uint64_t min,
		      uint64_t max, uint64_t *number, struct problem *problem)
{
	struct json_object *value = json_object_object_get(object, key);

	*number = json_object_get_uint64(value);
	if (json_object_is_type(value, json_type_int) &&
	    json_object_get_int64(value) >= 0 && *number >= min &&
	    *number <= max)
		return 0;
	return problem_set(problem, "'%s' is missing, or no number from %llu to %llu", key,
			   (unsigned long long)min, (unsigned long long)max);
}

/* Return: the text, owned by the object; NULL with @problem set. */
static const char *get_text(struct json_object *object, const char *key,
			    size_t size, struct problem *problem)
{
	struct json_object *value = json_object_object_get(object, key);
	const char *text = json_object_get_string(value);
	size_t length;

	if (json_object_is_type(value, json_type_string)) {
		length = json_object_get_string_len(value);
		if (length && length < size && strlen(text) == length)
			return text;
	}
	problem_set(problem, "'%s' is missing, or no text of 1 to %zu bytes", key, size - 1);
	return NULL;
}

/* Return: the name, freed by the caller; NULL with @problem set. */
static char *get_name(struct json_object *object, const char *key, size_t size,
		      struct problem *problem)
{
	const char *text = get_text(object, key, 4 * size, problem);
	char *name;

	if (!text)
		return NULL;
	name = span_unescape(span_of(text));
	if (name && strlen(name) < size)
		return name;
	free(name);
	problem_set(problem, "'%s' is no name: %.80s", key, text);
	return NULL;
}

static struct json_object *get_array(struct json_object *object, const char *key, size_t most,
				     struct problem *problem)
{
	struct json_object *array = json_object_object_get(object, key);

	if (json_object_is_type(array, json_type_array) && json_object_array_length(array) <= most)
		return array;
	problem_set(problem, "'%s' is missing, or no list of at most %zu", key, most);
	return NULL;
}

/* -- groups ----------------------------------------------------------------------------- */

static int get_histogram(struct json_object *object, const char *key,
			 uint64_t slots[HISTOGRAM_SLOTS], struct problem *problem)
{
	struct json_object *array;

	if (!json_object_object_get_ex(object, key, NULL))
		return 0;
	array = get_array(object, key, HISTOGRAM_SLOTS, problem);
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		struct json_object *count = json_object_array_get_idx(array, i);

		if (!json_object_is_type(count, json_type_int))
			return problem_set(problem, "'%s' has a value that is no number", key);
		slots[i] = json_object_get_uint64(count);
	}
	return array ? 0 : -1;
}

static int get_op(struct json_object *group, int op, struct group_stats *stats,
		  struct group_latency *latency, struct problem *problem)
{
	struct json_object *object = json_object_object_get(group, op_names[op]);
	struct op_stats *done = &stats->op[op];

	if (!json_object_object_get_ex(group, op_names[op], NULL))
		return 0;
	if (!json_object_is_type(object, json_type_object))
		return problem_set(problem, "'%s' is no object", op_names[op]);
	if (get_number(object, "ios", 0, UINT64_MAX, &done->ios, problem) ||
	    get_number(object, "bytes", 0, UINT64_MAX, &done->bytes, problem) ||
	    get_number(object, "held_ios", 0, UINT64_MAX, &done->held_ios, problem) ||
	    get_number(object, "wait_ns", 0, UINT64_MAX, &done->wait_ns, problem) ||
	    get_number(object, "service_ns", 0, UINT64_MAX, &done->service_ns, problem))
		return -1;
	if (get_histogram(object, "wait", latency->wait[op], problem))
		return -1;
	return get_histogram(object, "service", latency->service[op], problem);
}

static int get_stats(struct json_object *object, struct group_stats *stats,
		     struct group_latency *latency, struct problem *problem)
{
	if (get_number(object, "held_ios", 0, UINT64_MAX, &stats->held[IOS], problem) ||
	    get_number(object, "held_bytes", 0, UINT64_MAX, &stats->held[BYTES], problem) ||
	    get_number(object, "inflight_ios", 0, UINT64_MAX, &stats->inflight, problem))
		return -1;
	for (int op = 0; op < OPS; op++) {
		if (get_op(object, op, stats, latency, problem))
			return -1;
	}
	return 0;
}

static int get_group(struct json_object *object, struct ioband_group *group,
		     struct problem *problem)
{
	const char *name;

	if (!json_object_is_type(object, json_type_object))
		return problem_set(problem, "a group is no object");
	name = get_text(object, "name", sizeof(group->name), problem);
	if (!name ||
	    get_number(object, "seq", 1, UINT64_MAX, &group->seq, problem) ||
	    get_number(object, "parent", 0, UINT64_MAX, &group->parent, problem) ||
	    get_number(object, "weight", 0, IOBAND_WEIGHT_MAX, &group->weight, problem))
		return -1;
	group->weight = weight_of_number(group->weight);
	strcpy(group->name, name);
	if (!json_object_object_get_ex(object, "path", NULL))
		return 0;
	group->path = get_name(object, "path", PATH_MAX, problem);
	return group->path ? 0 : -1;
}

/* @sample has room for as many counters and histograms as groups. */
static int add_group(struct json_object *object, struct sample *sample, struct problem *problem)
{
	struct ioband_group *group = &sample->groups.v[sample->groups.n];
	struct group_stats *stats = &sample->stats.v[sample->stats.n];
	struct group_latency *latency = &sample->latency.v[sample->latency.n];
	int wrong = get_group(object, group, problem);

	if (sample->groups.n && !wrong && group->seq <= group[-1].seq)
		wrong = problem_set(problem, "its groups are not in the order of 'seq'");
	sample->groups.n++;
	if (wrong || !json_object_object_get_ex(object, "inflight_ios", NULL))
		return wrong;
	sample->stats.n++;
	sample->latency.n++;
	stats->seq = group->seq;
	latency->seq = group->seq;
	strcpy(stats->name, group->name);
	strcpy(latency->name, group->name);
	return get_stats(object, stats, latency, problem);
}

static int get_groups(struct json_object *object, struct sample *sample, struct problem *problem)
{
	struct json_object *array = get_array(object, "groups", SIZE_MAX, problem);
	size_t n = array ? json_object_array_length(array) : 0;

	if (!array)
		return -1;
	sample->groups.v = xcalloc(n, sizeof(*sample->groups.v));
	sample->stats.v = xcalloc(n, sizeof(*sample->stats.v));
	sample->latency.v = xcalloc(n, sizeof(*sample->latency.v));
	for (size_t i = 0; i < n; i++) {
		if (add_group(json_object_array_get_idx(array, i), sample, problem))
			return -1;
	}
	return 0;
}

/* -- lines ------------------------------------------------------------------------------ */

static int get_device(struct json_object *object, struct mapped_device *device,
		      struct problem *problem)
{
	char *name __free = NULL;
	const char *number;

	if (!json_object_is_type(object, json_type_object))
		return problem_set(problem, "a device is no object");
	name = get_name(object, "name", sizeof(device->name), problem);
	if (!name)
		return -1;
	strcpy(device->name, name);
	number = get_text(object, "number", 32, problem);
	if (!number)
		return -1;
	if (sscanf(number, "%u:%u", &device->major, &device->minor) == 2)
		return 0;
	return problem_set(problem, "'number' is not MAJOR:MINOR: %s", number);
}

static int get_devices(struct json_object *object, struct recording_line *line,
		       struct problem *problem)
{
	struct json_object *array = get_array(object, "devices", SIZE_MAX, problem);
	size_t n = array ? json_object_array_length(array) : 0;

	if (!array)
		return -1;
	line->mapped = xcalloc(n, sizeof(*line->mapped));
	line->devices.v = xcalloc(n, sizeof(*line->devices.v));
	for (; line->devices.n < n; line->devices.n++) {
		struct mapped_device *device = &line->mapped[line->devices.n];

		line->devices.v[line->devices.n].dm = device;
		if (get_device(json_object_array_get_idx(array, line->devices.n), device, problem))
			return -1;
	}
	return 0;
}

static int get_pool_name(struct json_object *object,
			 struct recording_line *line, struct problem *problem)
{
	const char *pool = get_text(object, "pool", sizeof(line->speaker.table.pool), problem);

	if (!pool)
		return -1;
	if (!parse_pool_name(pool))
		return problem_set(problem, "'pool' is no name of a pool");
	strcpy(line->speaker.table.pool, pool);
	return 0;
}

static int get_pool(struct json_object *object, struct recording_line *line,
		    struct problem *problem)
{
	const char *measure = get_text(object, "measure", sizeof(line->speaker.table.measure),
				       problem);

	if (!measure || get_pool_name(object, line, problem))
		return -1;
	strcpy(line->speaker.table.measure, measure);
	line->sample.ns = line->at_ns;
	if (get_devices(object, line, problem))
		return -1;
	return get_groups(object, &line->sample, problem);
}

static int get_line(struct json_object *object, struct recording_line *line,
		    bool *known, struct problem *problem)
{
	const char *type = get_text(object, "type", PATH_MAX, problem);

	if (!type)
		return -1;
	line->kind = !strcmp(type, "pool") ? RECORDING_POOL :
		     !strcmp(type, "gone") ? RECORDING_GONE : RECORDING_END;
	*known = line->kind != RECORDING_END || !strcmp(type, "end");
	if (!*known)
		return 0;
	if (get_number(object, "at_ns", 0, INT64_MAX, &line->at_ns, problem))
		return -1;
	if (line->kind == RECORDING_POOL)
		return get_pool(object, line, problem);
	return line->kind == RECORDING_GONE ? get_pool_name(object, line, problem) : 0;
}

/*
 * Parse a line of a recording except the first.
 * @text: the line, terminated by NUL
 * @length: without the NUL
 * @line: the result, for recording_line_free(), after a failure too
 * @known: whether the kind of line is known to this version
 */
int recording_parse(const char *text, size_t length, struct recording_line *line, bool *known,
		    struct problem *problem)
{
	struct json_object *object = parse_json(text, length, problem);
	int wrong = -1;

	*line = (struct recording_line){ .at_ns = 0 };
	if (object)
		wrong = get_line(object, line, known, problem);
	json_object_put(object);
	return wrong;
}

static int get_head(struct json_object *object, struct recording_reader *reader,
		    struct problem *problem)
{
	uint64_t version;

	if (get_number(object, "version", 1, UINT64_MAX, &version, problem))
		return -1;
	if (version > RECORDING_VERSION)
		return problem_set(problem,
				   "its format is of version %llu, and this iobandctl reads version %d; use a newer one",
				   (unsigned long long)version, RECORDING_VERSION);
	if (get_number(object, "begun_ns", 0, INT64_MAX, &reader->begun_ns, problem))
		return -1;
	return get_number(object, "interval_ns", 1, INT64_MAX, &reader->interval_ns, problem);
}

/*
 * Parse the first line of a recording.
 * @text: the line, terminated by NUL
 * @length: without the NUL
 * @reader: gets start and interval
 */
int recording_parse_head(const char *text, size_t length, struct recording_reader *reader,
			 struct problem *problem)
{
	struct json_object *object = parse_json(text, length, problem);
	struct json_object *type;
	int wrong;

	if (object && json_object_object_get_ex(object, "type", &type) &&
	    json_object_is_type(type, json_type_string) &&
	    !strcmp(json_object_get_string(type), RECORDING_TYPE))
		wrong = get_head(object, reader, problem);
	else
		wrong = problem_set(problem, "this is no recording of 'iobandctl record'");
	json_object_put(object);
	return wrong;
}
