// SPDX-License-Identifier: GPL-2.0-only
/* Reading of recordings line by line; error messages have the number of the line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "observe/recording.h"

static int wrong_line(const struct recording_reader *reader, const struct problem *problem)
{
	return fail(EXIT_USAGE, "%s, line %zu: %s", reader->path, reader->line, problem->text);
}

/*
 * Read the next line.
 *
 * Return: its length without the newline; -1 at the end of the file, or if the
 * line is cut off; -2 if the file cannot be read.
 */
static ssize_t read_line(struct recording_reader *reader)
{
	ssize_t length = getline(&reader->text, &reader->size, reader->stream);

	if (length < 0 && ferror(reader->stream))
		return -2;
	if (length <= 0)
		return -1;
	reader->line++;
	if (reader->text[length - 1] == '\n') {
		reader->text[length - 1] = 0;
		return length - 1;
	}
	/* recording_open() reports a cut first line. */
	if (reader->line > 1)
		note("%s, line %zu is cut off and left out: the recording was killed, or goes on",
		     reader->path, reader->line);
	return -1;
}

static int read_failed(const struct recording_reader *reader)
{
	return fail(exit_code_of(errno), "cannot read %s: %s", reader->path, strerror(errno));
}

/*
 * Open a recording.
 * @reader: the result, for recording_reader_close(), after a failure too
 * @path: the file, or - for the standard input; must outlive @reader
 */
int recording_open(struct recording_reader *reader, const char *path)
{
	struct problem problem = { "this is no recording of 'iobandctl record'" };
	ssize_t length;

	*reader = (struct recording_reader){ .path = path };
	if (strcmp(path, "-")) {
		reader->stream = fopen(path, "re");
	} else {
		reader->path = "the standard input";
		reader->stream = stdin;
	}
	if (!reader->stream)
		return read_failed(reader);
	length = read_line(reader);
	if (length == -2)
		return read_failed(reader);
	reader->line = 1;
	if (length < 0 || recording_parse_head(reader->text, length, reader, &problem))
		return wrong_line(reader, &problem);
	return EXIT_OK;
}

/*
 * Read the next line of a known kind.
 * @line: the result, for recording_line_free(), after a failure too
 * @found: whether there was such a line
 */
int recording_next(struct recording_reader *reader, struct recording_line *line, bool *found)
{
	struct problem problem;
	ssize_t length;

	*line = (struct recording_line){ .at_ns = 0 };
	*found = false;
	while (!*found) {
		length = read_line(reader);
		if (length == -2)
			return read_failed(reader);
		if (length < 0)
			return EXIT_OK;
		if (recording_parse(reader->text, length, line, found, &problem))
			return wrong_line(reader, &problem);
	}
	return EXIT_OK;
}

/* The time of the last whole line; 0 if it has none. */
static uint64_t last_time(FILE *stream)
{
	char *text __free = NULL;
	char *last __free = NULL;
	struct recording_line line;
	struct problem problem;
	uint64_t at_ns = 0;
	size_t size = 0, last_size = 0;
	ssize_t length;
	bool known;

	while ((length = getline(&text, &size, stream)) > 0 && text[length - 1] == '\n') {
		char *other = last;
		size_t other_size = last_size;

		last = text;
		last_size = size;
		text = other;
		size = other_size;
	}
	if (last && !recording_parse(last, strcspn(last, "\n"), &line, &known, &problem))
		at_ns = line.at_ns;
	if (last)
		recording_line_free(&line);
	return at_ns;
}

/*
 * Find the length of a recording.
 * @reader: the recording; lines may have been read before
 * @length_ns: the result; 0 if unknown, as for a pipe
 */
int recording_length(struct recording_reader *reader, uint64_t *length_ns)
{
	off_t here = ftello(reader->stream);

	*length_ns = 0;
	if (here < 0)
		return EXIT_OK;
	*length_ns = last_time(reader->stream);
	clearerr(reader->stream);
	return fseeko(reader->stream, here, SEEK_SET) ? read_failed(reader) : EXIT_OK;
}

void recording_line_free(struct recording_line *line)
{
	sample_free(&line->sample);
	free(line->devices.v);
	free(line->mapped);
	*line = (struct recording_line){ .at_ns = 0 };
}

void recording_reader_close(struct recording_reader *reader)
{
	if (reader->stream && reader->stream != stdin)
		fclose(reader->stream);
	free(reader->text);
	*reader = (struct recording_reader){ .line = 0 };
}
