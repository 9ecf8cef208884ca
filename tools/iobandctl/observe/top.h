/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_TOP_H
#define IOBANDCTL_TOP_H

#include <wchar.h>

#include "host/device.h"
#include "kernel/parse.h"
#include "observe/recording.h"
#include "observe/sample.h"
#include "print/args.h"
#include "print/format.h"
#include "print/print.h"

enum top_column { TOP_GROUP, TOP_POOL, TOP_WEIGHT, TOP_DUE, TOP_SHARE,
	TOP_BYTES, TOP_IOS, TOP_HELD, TOP_WAIT, TOP_WAIT_P99, TOP_SERVICE,
	TOP_SERVICE_P99, TOP_COLUMNS };

#define TOP_TIME_SIZE 64

/* A group that did something in an interval. */
struct top_row {
	char *group;	/* as people name it, control characters escaped */
	char pool[IOBAND_POOL_SIZE];
	/*
	 * By column: percents, bytes and I/Os in a second, nanoseconds; negative if there is none.
	 */
	double value[TOP_COLUMNS];
};

/* What there is to see. */
struct top_view {
	struct top_row *v;
	size_t n;
	size_t groups;	/* how many groups there are, idle ones too */
	size_t pools;
};

/* A run of the verb. */
struct top {
	const struct args *args;
	double interval_s;	/* how often to look */
	uint64_t count;	/* how many times; 0 for no end */
	enum top_column sort;
	bool reverse;	/* the other way round */
	bool sum;	/* what groups below a group do counts as its own */
	struct top_before {
		char pool[IOBAND_POOL_SIZE];
		struct sample sample;
	} *before;	/* by pool: the sample before */
	size_t n;
	struct recording_reader *input;	/* the recording that is shown; NULL for the kernel */
	struct recording_line next;	/* the first line of the next page of it */
	bool has_next;	/* that line has been read */
	uint64_t at_ns;	/* the time of the last page, since the recording began */
	bool at_end;	/* there is no further page */
	struct names pools;	/* those of the recording so far */
};

/* In top-view.c. */
extern const struct column top_columns[TOP_COLUMNS];
void top_view_add(struct top_view *view, const struct ioband_devices *devices,
		  const struct ioband_device *speaker, const struct sample *delta, bool sum);
void top_view_sort(struct top_view *view, enum top_column column, bool reverse);
void top_view_free(struct top_view *view);
uint64_t top_number(const struct top_row *row, enum top_column column);
const char *top_cell(const struct top_row *row, enum top_column column, char text[FORMAT_SIZE]);
int top_column_named(const char *name, enum top_column *column);

/* In top.c. */
void top_print(struct row *row, const struct top_row *top);
int top_refresh(struct top *top, struct top_view *view);
void top_forget(struct top *top);
void top_time(const struct top *top, char text[TOP_TIME_SIZE]);

/* In top-screen.c. */
int top_screen(struct top *top);
wchar_t *top_widen(const char *text);

#endif
