/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_RECORDING_H
#define IOBANDCTL_RECORDING_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "ioband/ioband.h"
#include "observe/sample.h"

#define RECORDING_TYPE "ioband-recording"
#define RECORDING_VERSION 1

/**
 * struct recording - a recording that is being written
 * @fd: to write to
 * @path: what it is called
 * @begun_ns: when it began, of sample_clock()
 * @whole: how many bytes of the file are whole lines
 * @failed: it could not be written
 */
struct recording {
	int fd;
	const char *path;
	uint64_t begun_ns;
	off_t whole;
	bool failed;
};

/**
 * enum recording_kind - what a line of a recording is about
 * @RECORDING_POOL: a sample of a pool
 * @RECORDING_GONE: a pool that is gone
 * @RECORDING_END: the recording was ended, not cut off
 */
enum recording_kind { RECORDING_POOL, RECORDING_GONE, RECORDING_END };

/**
 * struct recording_line - a line of a recording
 * @kind: what it is about
 * @at_ns: when it was written, since the recording began
 * @mapped: the devices of the pool, what @devices points to
 * @devices: the devices of the pool
 * @speaker: what there is to know of the pool: its name and measure
 * @sample: what its groups did
 */
struct recording_line {
	enum recording_kind kind;
	uint64_t at_ns;
	struct mapped_device *mapped;
	struct ioband_devices devices;
	struct ioband_device speaker;
	struct sample sample;
};

/**
 * struct recording_reader - a recording that is being read
 * @stream: to read from
 * @path: what it is called
 * @line: the number of the last line read, from 1
 * @text: that line
 * @size: of the memory for @text
 * @begun_ns: when it began, since 1970
 * @interval_ns: how often there was to be a sample
 */
struct recording_reader {
	FILE *stream;
	const char *path;
	size_t line;
	char *text;
	size_t size;
	uint64_t begun_ns;
	uint64_t interval_ns;
};

/* In recording-write.c. */
int recording_create(struct recording *recording, const char *path,
		     double interval_s);
int recording_pool(struct recording *recording,
		   const struct ioband_devices *devices,
		   const struct ioband_device *speaker,
		   const struct sample *sample);
int recording_gone(struct recording *recording, const char *pool);
int recording_end(struct recording *recording, const char *because);
int recording_close(struct recording *recording);

/* In recording-read.c. */
int recording_open(struct recording_reader *reader, const char *path);
int recording_next(struct recording_reader *reader, struct recording_line *line,
		   bool *found);
int recording_length(struct recording_reader *reader, uint64_t *length_ns);
void recording_line_free(struct recording_line *line);
void recording_reader_close(struct recording_reader *reader);

/* In recording-parse.c. */
int recording_parse_head(const char *text, size_t length,
			 struct recording_reader *reader,
			 struct problem *problem);
int recording_parse(const char *text, size_t length,
		    struct recording_line *line, bool *known,
		    struct problem *problem);

#endif
