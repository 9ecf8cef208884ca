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

/* A recording being written. */
struct recording {
	int fd;
	const char *path;
	uint64_t begun_ns;	/* start of the recording, of sample_clock() */
	off_t whole;	/* length of the whole lines in the file, in bytes */
	bool failed;	/* a write has failed */
};

/**
 * enum recording_kind - kinds of lines in a recording
 * @RECORDING_POOL: a sample of a pool
 * @RECORDING_GONE: a pool was removed
 * @RECORDING_END: the recording was ended, not cut off
 */
enum recording_kind { RECORDING_POOL, RECORDING_GONE, RECORDING_END };

/* A line of a recording. */
struct recording_line {
	enum recording_kind kind;
	uint64_t at_ns;	/* time since the start of the recording */
	struct mapped_device *mapped;	/* the device-mapper devices to which @devices points */
	struct ioband_devices devices;
	struct ioband_device speaker;	/* name and measure of the pool */
	struct sample sample;	/* counters of its groups */
};

/* A recording being read. */
struct recording_reader {
	FILE *stream;
	const char *path;
	size_t line;	/* number of the last line read, from 1 */
	char *text;
	size_t size;	/* size of the buffer @text */
	uint64_t begun_ns;	/* start of the recording, since 1970 */
	uint64_t interval_ns;	/* intended distance of samples */
};

/* In recording-write.c. */
int recording_create(struct recording *recording, const char *path, double interval_s);
int recording_pool(struct recording *recording, const struct ioband_devices *devices,
		   const struct ioband_device *speaker, const struct sample *sample);
int recording_gone(struct recording *recording, const char *pool);
int recording_end(struct recording *recording, const char *because);
int recording_close(struct recording *recording);

/* In recording-read.c. */
int recording_open(struct recording_reader *reader, const char *path);
int recording_next(struct recording_reader *reader, struct recording_line *line, bool *found);
int recording_length(struct recording_reader *reader, uint64_t *length_ns);
void recording_line_free(struct recording_line *line);
void recording_reader_close(struct recording_reader *reader);

/* In recording-parse.c. */
int recording_parse_head(const char *text, size_t length, struct recording_reader *reader,
			 struct problem *problem);
int recording_parse(const char *text, size_t length, struct recording_line *line, bool *known,
		    struct problem *problem);

#endif
