/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLOT_SERIES_H
#define IOBANDCTL_PLOT_SERIES_H

#include <stdio.h>

#include "observe/recording.h"
#include "observe/top.h"

/* What can be drawn, each in a panel of its own. */
enum plot_what { PLOT_BANDWIDTH, PLOT_IOPS, PLOT_WAIT, PLOT_SERVICE, PLOT_SHARE,
	PLOT_WHATS };

/**
 * struct plot_point - what a group did between two samples
 * @from_s: the first of them, in seconds since the recording began
 * @to_s: the second; the same as @from_s where the pool was gone
 * @value: by column of top; negative if there is none
 */
struct plot_point {
	double from_s;
	double to_s;
	double value[TOP_COLUMNS];
};

/**
 * struct plot_series - a group over time
 * @pool: of the group
 * @group: as top names it
 * @bytes: all that it did
 * @v: the points
 * @n: how many
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
 * @before: the sample before; its at_ns is of no use without @has_before
 * @has_before: there is one
 */
struct plot_pool {
	char name[IOBAND_POOL_SIZE];
	struct recording_line before;
	bool has_before;
};

/**
 * struct plot - a recording, as it is drawn
 * @begun_ns: when it began, since 1970
 * @end_s: how long it is
 * @step_ns: samples that follow the one before in less are left out
 * @pool: the pools in it
 * @pools: how many
 * @v: the groups that did something
 * @n: how many
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
