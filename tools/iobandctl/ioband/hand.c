// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of manual settings.  The configuration does not revert a manual setting, even if it
 * once requested the same value.  The file has one line for each setting made by "set" and similar
 * verbs.  The line remains until "apply" or "watch" sets another value there.  A cgroup is recorded
 * by its number, so a new cgroup of the same name has no record.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "base/records.h"
#include "base/words.h"
#include "ioband/hand.h"

/* The limit of presets in a pool.  The oldest lines are dropped; the new ones stay. */
#define MARKS_MAX IOBAND_PRESETS_MAX

/* The line of a device has no pool: its settings move with it to another pool. */
static char *line_of(const struct hand_key *key)
{
	return xasprintf("%s %s %s %s\n", key->device ? "-" : key->pool,
			 key->device ?: "-", key->group ?: "-", key->key);
}

/* NULL without a record. */
static char *read_all(void)
{
	char *path __free = records_path(".by-hand");
	char *text;
	int error = infile_read(path, &text);

	if (!error && *text)
		return text;
	free(text);
	return NULL;
}

static void write_all(const char *text)
{
	char *path __free = records_path(".by-hand");
	struct outfile file;

	if (!*text) {
		unlink(path);
	} else if (outfile_begin(&file, path) == EXIT_OK) {
		fputs(text, file.stream);
		outfile_end(&file);
	}
}

/* Lock the file.  Other programs hold the lock only briefly. */
static int hold(void)
{
	char *path __free = records_path(".by-hand.lock");
	int fd;

	mkdir(records_directory(), 0755);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

typedef bool (*line_test)(const char *line, size_t length, const char *with);

static bool is_same(const char *line, size_t length, const char *with)
{
	return strlen(with) == length && !memcmp(line, with, length);
}

static bool begins(const char *line, size_t length, const char *with)
{
	return length > strlen(with) && !memcmp(line, with, strlen(with));
}

/* Copy @text without the lines that match the test; NULL if no line matches. */
static char *without(const char *text, line_test test, const char *with, size_t *n)
{
	char *rest = xcalloc(strlen(text) + 1, 1), *end = rest;
	bool any = false;

	*n = 0;
	while (*text) {
		size_t length = strcspn(text, "\n");

		length += text[length] == '\n';
		if (test(text, length, with)) {
			any = true;
		} else {
			memcpy(end, text, length);
			end += length;
			++*n;
		}
		text += length;
	}
	if (any)
		return rest;
	free(rest);
	return NULL;
}

static void clear(line_test test, const char *with)
{
	char *rest __free = NULL;
	char *text = read_all();
	size_t n;
	int fd;

	if (!text)
		return;
	free(text);
	fd = hold();
	text = read_all();
	rest = text ? without(text, test, with, &n) : NULL;
	if (rest)
		write_all(rest);
	free(text);
	if (fd >= 0)
		close(fd);
}

/* Marks that are not written yet; @more says that hand_end() will write them. */
static struct {
	bool more;
	char **v;
	size_t n;
} marks;

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Split the text into lines, without those among the new marks. */
static size_t split(char *text, char ***lines)
{
	size_t n = 0;

	*lines = NULL;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (bsearch(&line, marks.v, marks.n, sizeof(*marks.v), by_text))
			continue;
		*XPUSH(*lines, n) = line;
	}
	return n;
}

static void write_marks(void)
{
	char *old __free = read_all();
	char *text __free = NULL;
	char **lines = NULL;
	size_t n = old ? split(old, &lines) : 0, size;
	FILE *file = xmemstream(&text, &size);
	size_t most = marks.n < MARKS_MAX ? MARKS_MAX - marks.n : 0;

	for (size_t i = n > most ? n - most : 0; i < n; i++)
		fprintf(file, "%s\n", lines[i]);
	for (size_t i = 0; i < marks.n; i++) {
		if (!i || strcmp(marks.v[i], marks.v[i - 1]))
			fprintf(file, "%s\n", marks.v[i]);
	}
	fclose(file);
	write_all(text);
	free(lines);
}

/* Collect the following marks until hand_end() writes them. */
void hand_begin(void)
{
	marks.more = true;
}

/* Write the marks since hand_begin(). */
void hand_end(void)
{
	int fd = marks.n ? hold() : -1;

	marks.more = false;
	if (marks.n) {
		qsort(marks.v, marks.n, sizeof(*marks.v), by_text);
		write_marks();
	}
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < marks.n; i++)
		free(marks.v[i]);
	free(marks.v);
	marks.v = NULL;
	marks.n = 0;
}

/* Record a manual setting. */
void hand_mark(const struct hand_key *key)
{
	char *line = line_of(key);

	line[strcspn(line, "\n")] = 0;
	*XPUSH(marks.v, marks.n) = line;
	if (!marks.more)
		hand_end();
}

/*
 * Record a manual setting of a group.
 * @device: the device that received the message about it
 * @group: the name of the group in the message
 * @key: the setting, with its name in the configuration
 */
void hand_mark_group(const struct ioband_device *device, const char *group, const char *key)
{
	bool own = !strcmp(group, "device") ||
		   (ioband_has_trees(device) && text_after(group, "cgroup#"));

	hand_mark(&(struct hand_key){
		.pool = device->table.pool,
		.device = own ? device->dm->name : NULL,
		.group = group, .key = key,
	});
}

/* Remove the record of a manual setting. */
void hand_clear(const struct hand_key *key)
{
	char *line __free = line_of(key);

	clear(is_same, line);
}

/* Remove all records of a device, which has been made anew. */
void hand_clear_device(const char *device)
{
	char *start __free = xasprintf("- %s ", device);

	clear(begins, start);
}

/* Remove all records of a pool, which has been made anew. */
void hand_clear_pool(const char *pool)
{
	char *start __free = xasprintf("%s - ", pool);

	clear(begins, start);
}

/*
 * Check whether a setting was made manually.  Return: true if so, and the configuration has
 * not set it since.
 */
bool hand_has(const struct hand_key *key)
{
	char *line __free = line_of(key);
	char *text __free = read_all();
	char *rest __free = NULL;
	size_t n;

	if (text)
		rest = without(text, is_same, line, &n);
	return rest;
}
