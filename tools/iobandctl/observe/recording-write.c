// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings: files with one JSON object a line.  Each line is written by one
 * call, so that a killed writer leaves whole lines, and at most one cut line at
 * the end.  iobandctl(8) describes the format.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/recording.h"

/* -- JSON ------------------------------------------------------------------------------- */

static struct json_object *made(struct json_object *object)
{
	if (!object)
		exit(fail(EXIT_FAILED, "out of memory"));
	return object;
}

static void put(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, made(value)))
		made(NULL);
}

static void append(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, made(value)))
		made(NULL);
}

static void put_number(struct json_object *object, const char *key, uint64_t number)
{
	put(object, key, json_object_new_uint64(number));
}

static void put_text(struct json_object *object, const char *key, const char *text)
{
	put(object, key, json_object_new_string(text));
}

/* User-chosen names may have any bytes. */
static void put_name(struct json_object *object, const char *key, const char *name)
{
	char *escaped __free = text_escape(name);

	put_text(object, key, escaped);
}

/* Without trailing zeros; an all-zero histogram is left out. */
static void put_histogram(struct json_object *object, const char *key,
			  const uint64_t slots[HISTOGRAM_SLOTS])
{
	struct json_object *array;
	int n = HISTOGRAM_SLOTS;

	while (n && !slots[n - 1])
		n--;
	if (!n)
		return;
	array = made(json_object_new_array());
	for (int slot = 0; slot < n; slot++)
		append(array, json_object_new_uint64(slots[slot]));
	put(object, key, array);
}

/* -- the file --------------------------------------------------------------------------- */

/* In a file of this recording, remove the incomplete line. */
static int report(struct recording *recording, int error)
{
	recording->failed = true;
	if (recording->fd != STDOUT_FILENO && recording->whole &&
	    !ftruncate(recording->fd, recording->whole))
		return fail(exit_code_of(error),
			    "cannot write %s: %s; it has the samples until then",
			    recording->path, strerror(error));
	return fail(exit_code_of(error), "cannot write %s: %s", recording->path, strerror(error));
}

static int write_text(struct recording *recording, const char *text, size_t length)
{
	while (length) {
		ssize_t written = write(recording->fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return report(recording, errno);
		text += written;
		length -= written;
	}
	return EXIT_OK;
}

/* Frees @object. */
static int write_line(struct recording *recording, struct json_object *object)
{
	const char *json =
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					       JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line = xasprintf("%s\n", json ? json : (made(NULL), ""));
	const size_t length = strlen(line);
	int code = write_text(recording, line, length);

	if (code == EXIT_OK)
		recording->whole += length;
	free(line);
	json_object_put(object);
	return code;
}

static struct json_object *new_line(const struct recording *recording,
				    const char *type, uint64_t ns)
{
	struct json_object *line = made(json_object_new_object());

	put_text(line, "type", type);
	put_number(line, "at_ns", ns - recording->begun_ns);
	return line;
}

/* A non-empty file is not overwritten, as it may be an important recording. */
static int open_file(struct recording *recording, const char *path)
{
	struct stat info;

	recording->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (recording->fd < 0 || fstat(recording->fd, &info))
		return fail(exit_code_of(errno), "cannot write %s: %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode) || !info.st_size)
		return EXIT_OK;
	close(recording->fd);
	return fail(EXIT_IN_USE, "%s is there already; name another file, or remove it", path);
}

/*
 * Begin a recording.
 * @recording: the result, for recording_close() after success
 * @path: the file; must outlive @recording; NULL is the standard output
 * @interval_s: distance of the samples
 */
int recording_create(struct recording *recording, const char *path, double interval_s)
{
	struct json_object *head;
	int code = EXIT_OK;

	*recording = (struct recording){
		.fd = STDOUT_FILENO,
		.path = path ? path : "the standard output",
		.begun_ns = sample_clock(),
	};
	if (path)
		code = open_file(recording, path);
	if (code != EXIT_OK)
		return code;
	head = made(json_object_new_object());
	put_text(head, "type", RECORDING_TYPE);
	put_number(head, "version", RECORDING_VERSION);
	put_number(head, "begun_ns", clock_ns(CLOCK_REALTIME));
	put_number(head, "interval_ns", interval_s * NS_PER_S);
	code = write_line(recording, head);
	if (code != EXIT_OK)
		close(recording->fd);
	return code;
}

/* End the file. */
int recording_close(struct recording *recording)
{
	if (close(recording->fd))
		return fail(exit_code_of(errno), "cannot write %s: %s",
			    recording->path, strerror(errno));
	return EXIT_OK;
}

/* -- what a pool did -------------------------------------------------------------------- */

static void put_devices(struct json_object *line,
			const struct ioband_devices *devices, const char *pool)
{
	const struct scope scope = { .pool = pool };
	struct json_object *array = made(json_object_new_array());

	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];
		struct json_object *object;
		char number[32];

		if (!ioband_in_scope(device, &scope))
			continue;
		snprintf(number, sizeof(number), "%u:%u", device->dm->major, device->dm->minor);
		object = made(json_object_new_object());
		put_name(object, "name", device->dm->name);
		put_text(object, "number", number);
		append(array, object);
	}
	put(line, "devices", array);
}

static void put_op(struct json_object *object, int op, const struct group_stats *stats,
		   const struct group_latency *latency)
{
	const struct op_stats *done = &stats->op[op];
	struct json_object *counters;

	if (!done->ios && !done->held_ios)
		return;
	counters = made(json_object_new_object());
	put_number(counters, "ios", done->ios);
	put_number(counters, "bytes", done->bytes);
	put_number(counters, "held_ios", done->held_ios);
	put_number(counters, "wait_ns", done->wait_ns);
	put_number(counters, "service_ns", done->service_ns);
	if (latency) {
		put_histogram(counters, "wait", latency->wait[op]);
		put_histogram(counters, "service", latency->service[op]);
	}
	put(object, op_names[op], counters);
}

static struct json_object *group_object(const struct sample *sample,
					const struct ioband_group *group)
{
	const struct group_stats *stats = stats_find(&sample->stats, group->seq);
	struct json_object *object = made(json_object_new_object());

	put_number(object, "seq", group->seq);
	put_number(object, "parent", group->parent);
	put_text(object, "name", group->name);
	if (group->path)
		put_name(object, "path", group->path);
	put_number(object, "weight", weight_number(group->weight));
	if (!stats)
		return object;
	put_number(object, "held_ios", stats->held[IOS]);
	put_number(object, "held_bytes", stats->held[BYTES]);
	put_number(object, "inflight_ios", stats->inflight);
	for (int op = 0; op < OPS; op++)
		put_op(object, op, stats, latency_find(&sample->latency, group->seq));
	return object;
}

/* The groups that did any I/O, and their ancestors. */
static bool *find_wanted(const struct sample *sample)
{
	const struct groups *groups = &sample->groups;
	bool *wanted = xcalloc(groups->n, sizeof(*wanted));

	for (size_t i = 0; i < sample->stats.n; i++) {
		const struct ioband_group *group = groups_find(groups, sample->stats.v[i].seq);

		if (group && !tree_is_sound(groups, group))
			continue;
		for (; group; group = tree_parent(groups, group))
			wanted[group - groups->v] = true;
	}
	return wanted;
}

/* Record a sample of a pool. */
int recording_pool(struct recording *recording, const struct ioband_devices *devices,
		   const struct ioband_device *speaker, const struct sample *sample)
{
	bool *wanted __free = find_wanted(sample);
	struct json_object *line = new_line(recording, "pool", sample->ns);
	struct json_object *array = made(json_object_new_array());

	put_text(line, "pool", speaker->table.pool);
	put_text(line, "measure", speaker->table.measure);
	put_text(line, "state", speaker->status.state);
	put_devices(line, devices, speaker->table.pool);
	for (size_t i = 0; i < sample->groups.n; i++) {
		if (wanted[i])
			append(array, group_object(sample, &sample->groups.v[i]));
	}
	put(line, "groups", array);
	return write_line(recording, line);
}

int recording_gone(struct recording *recording, const char *pool)
{
	struct json_object *line = new_line(recording, "gone", sample_clock());

	put_text(line, "pool", pool);
	return write_line(recording, line);
}

/*
 * Record the end of the recording.
 * @because: the reason: duration, signal or failure
 */
int recording_end(struct recording *recording, const char *because)
{
	struct json_object *line = new_line(recording, "end", sample_clock());

	put_text(line, "because", because);
	return write_line(recording, line);
}
