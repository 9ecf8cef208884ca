/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLOT_SERIES_H
#define IOBANDCTL_PLOT_SERIES_H

#include <stdio.h>

#include "observe/recording.h"
#include "observe/top.h"

/* The diagrams, each in a panel of its own. */
enum plot_what { PLOT_BANDWIDTH, PLOT_IOPS, PLOT_WAIT, PLOT_SERVICE, PLOT_SHARE,
	PLOT_WHATS };

/**
 * struct plot_point - the I/O of a group between two samples
 * @from_s: time of the first sample, in seconds since the start of the
 *	recording
 * @to_s: time of the second sample; equal to @from_s where the pool did not
 *	exist
 * @value: by column of top; negative if undefined
 */
struct plot_point {
	double from_s;
	double to_s;
	double value[TOP_COLUMNS];
};

/**
 * struct plot_series - a group over time
 * @pool: its pool
 * @group: its name in top
 * @bytes: its total I/O
 * @v: the points
 * @n: length of @v
 */
struct plot_series {
	char pool[IOBAND_POOL_SIZE];
	char *group;
	double bytes;
	struct plot_point *v;
	size_t n;
};

/**
 * struct plot_pool - a pool of a recording
 * @name: its name
 * @before: the last sample; its at_ns is valid only with @has_before
 * @has_before: there is a last sample
 */
struct plot_pool {
	char name[IOBAND_POOL_SIZE];
	struct recording_line before;
	bool has_before;
};

/**
 * struct plot - a recording to be drawn
 * @begun_ns: start of the recording, since 1970
 * @end_s: its length
 * @step_ns: minimum distance of samples; closer ones are skipped
 * @pool: its pools
 * @pools: length of @pool
 * @v: the groups with I/O
 * @n: length of @v
 * @index: @v by pool and group, for tsearch()
 */
struct plot {
	uint64_t begun_ns;
	double end_s;
	uint64_t step_ns;
	struct plot_pool *pool;
	size_t pools;
	struct plot_series **v;
	size_t n;
	void *index;
};

/* In plot-series.c. */
int plot_add(struct plot *plot, struct recording_line *line,
	     struct problem *problem);
void plot_sort(struct plot *plot);
void plot_free(struct plot *plot);

/* In plot-script.c. */
const char *plot_name(enum plot_what what);
void plot_script(const struct plot *plot, struct plot_series *const *series,
		 size_t n, const bool what[PLOT_WHATS], const char *terminal,
		 FILE *stream);

/* In gnuplot.c. */
int gnuplot_run(FILE *script, int output);

#endif
