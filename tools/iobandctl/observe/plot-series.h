/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLOT_SERIES_H
#define IOBANDCTL_PLOT_SERIES_H

#include <stdio.h>

#include "observe/recording.h"
#include "observe/top.h"

/* The diagrams, each in a panel of its own. */
enum plot_what { PLOT_BANDWIDTH, PLOT_IOPS, PLOT_WAIT, PLOT_SERVICE, PLOT_SHARE, PLOT_WHATS };

/* The I/O of a group between two samples. */
struct plot_point {
	/* Time of the first sample, in seconds since the start of the recording. */
	double from_s;
	/* Time of the second sample; equal to @from_s where the pool did not exist. */
	double to_s;
	double value[TOP_COLUMNS];	/* by column of top; negative if undefined */
};

/* A group over time. */
struct plot_series {
	char pool[IOBAND_POOL_SIZE];
	char *group;	/* its name in top */
	double bytes;	/* its total I/O */
	struct plot_point *v;	/* the points */
	size_t n;
};

/* A pool of a recording. */
struct plot_pool {
	char name[IOBAND_POOL_SIZE];
	/* The last sample; its at_ns is valid only with @has_before. */
	struct recording_line before;
	bool has_before;	/* there is a last sample */
};

/* A recording to be drawn. */
struct plot {
	uint64_t begun_ns;	/* start of the recording, since 1970 */
	double end_s;
	uint64_t step_ns;	/* minimum distance of samples; closer ones are skipped */
	struct plot_pool *pool;
	size_t pools;
	struct plot_series **v;	/* the groups with I/O */
	size_t n;
	void *index;	/* @v by pool and group, for tsearch() */
};

/* In plot-series.c. */
int plot_add(struct plot *plot, struct recording_line *line, struct problem *problem);
void plot_sort(struct plot *plot);
void plot_free(struct plot *plot);

/* In plot-script.c. */
const char *plot_name(enum plot_what what);
void plot_script(const struct plot *plot, struct plot_series *const *series, size_t n,
		 const bool what[PLOT_WHATS], const char *terminal, FILE *stream);

/* In gnuplot.c. */
int gnuplot_run(FILE *script, int output);

#endif
