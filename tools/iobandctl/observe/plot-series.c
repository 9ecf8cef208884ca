// SPDX-License-Identifier: GPL-2.0-only
/* The I/O of groups between the samples of a recording.  Pure. */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "observe/plot-series.h"

/* Amounts add up and are 0 without I/O; times may be undefined. */
static bool is_amount(enum top_column column)
{
	return column > TOP_POOL && column < TOP_WAIT;
}

static int by_name(const void *left, const void *right)
{
	const struct plot_series *a = left, *b = right;
	int order = strcmp(a->pool, b->pool);

	return order ? order : strcmp(a->group, b->group);
}

static struct plot_series *find_series(struct plot *plot, const struct top_row *row)
{
	struct plot_series key = { .group = row->group };
	struct plot_series **found, *made;

	strcpy(key.pool, row->pool);
	found = tfind(&key, &plot->index, by_name);
	if (found)
		return *found;
	made = xcalloc(1, sizeof(*made));
	strcpy(made->pool, row->pool);
	made->group = xstrdup(row->group);
	if (!tsearch(made, &plot->index, by_name))
		exit(fail(EXIT_FAILED, "out of memory"));
	*XPUSH(plot->v, plot->n) = made;
	return made;
}

static struct plot_point *new_point(struct plot_series *series, double from_s, double to_s)
{
	struct plot_point *point = XPUSH(series->v, series->n);

	*point = (struct plot_point){ .from_s = from_s, .to_s = to_s };
	for (int c = 0; c < TOP_COLUMNS; c++)
		point->value[c] = to_s > from_s && is_amount(c) ? 0 : -1;
	return point;
}

/* The point that ends at @to_s; two groups may share it if a cgroup was created anew. */
static struct plot_point *point_of(struct plot_series *series, double from_s, double to_s)
{
	if (series->n && series->v[series->n - 1].to_s == to_s)
		return &series->v[series->n - 1];
	return new_point(series, from_s, to_s);
}

static void add_row(struct plot *plot, const struct top_row *row, double from_s, double to_s)
{
	struct plot_series *series = find_series(plot, row);
	struct plot_point *point = point_of(series, from_s, to_s);

	for (int c = TOP_WEIGHT; c < TOP_COLUMNS; c++) {
		if (is_amount(c))
			point->value[c] += row->value[c];
		else if (row->value[c] > point->value[c])
			point->value[c] = row->value[c];
	}
	series->bytes += row->value[TOP_BYTES] * (to_s - from_s);
}

/* Add an empty point for each group of a pool without I/O in the interval. */
static void fill_up(struct plot *plot, const char *pool, double from_s, double to_s)
{
	for (size_t i = 0; i < plot->n; i++) {
		if (!strcmp(plot->v[i]->pool, pool))
			point_of(plot->v[i], from_s, to_s);
	}
}

static struct plot_pool *find_pool(struct plot *plot, const char *name)
{
	struct plot_pool *pool;

	for (size_t i = 0; i < plot->pools; i++) {
		if (!strcmp(plot->pool[i].name, name))
			return &plot->pool[i];
	}
	pool = XPUSH(plot->pool, plot->pools);
	*pool = (struct plot_pool){ .has_before = false };
	strcpy(pool->name, name);
	return pool;
}

static void forget(struct plot_pool *pool)
{
	if (pool->has_before)
		recording_line_free(&pool->before);
	pool->has_before = false;
}

static void add_interval(struct plot *plot, const struct plot_pool *pool,
			 const struct recording_line *now)
{
	const double from_s = pool->before.at_ns / (double)NS_PER_S;
	const double to_s = now->at_ns / (double)NS_PER_S;
	struct top_view view __cleanup(top_view_free) = { .n = 0 };
	struct sample delta __cleanup(sample_delta_free);

	sample_delta(&pool->before.sample, &now->sample, &delta);
	top_view_add(&view, &now->devices, &now->speaker, &delta, false);
	for (size_t i = 0; i < view.n; i++)
		add_row(plot, &view.v[i], from_s, to_s);
	fill_up(plot, pool->name, from_s, to_s);
}

/*
 * Add a line of a recording.
 * @line: the line; left empty
 */
int plot_add(struct plot *plot, struct recording_line *line, struct problem *problem)
{
	const double at_s = line->at_ns / (double)NS_PER_S;
	struct plot_pool *pool;

	if (at_s > plot->end_s)
		plot->end_s = at_s;
	if (line->kind == RECORDING_END)
		return 0;
	pool = find_pool(plot, line->speaker.table.pool);
	if (pool->has_before && line->at_ns <= pool->before.at_ns)
		return problem_set(problem,
				   "'at_ns' is not after that of the sample before of pool %s",
				   pool->name);
	if (line->kind == RECORDING_GONE) {
		fill_up(plot, pool->name, at_s, at_s);
		forget(pool);
		return 0;
	}
	/* Counters are cumulative, so the next sample includes this one. */
	if (pool->has_before && line->at_ns - pool->before.at_ns < plot->step_ns)
		return 0;
	if (pool->has_before)
		add_interval(plot, pool, line);
	forget(pool);
	pool->before = *line;
	pool->has_before = true;
	*line = (struct recording_line){ .at_ns = 0 };
	return 0;
}

static int by_bytes(const void *left, const void *right)
{
	const struct plot_series *a = *(struct plot_series *const *)left;
	const struct plot_series *b = *(struct plot_series *const *)right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return by_name(a, b);
}

/* Sort groups by bytes, the largest first. */
void plot_sort(struct plot *plot)
{
	if (plot->n)
		qsort(plot->v, plot->n, sizeof(*plot->v), by_bytes);
}

static void keep(void *series)
{
	(void)series;
}

void plot_free(struct plot *plot)
{
	tdestroy(plot->index, keep);
	for (size_t i = 0; i < plot->n; i++) {
		free(plot->v[i]->group);
		free(plot->v[i]->v);
		free(plot->v[i]);
	}
	for (size_t i = 0; i < plot->pools; i++)
		forget(&plot->pool[i]);
	free(plot->v);
	free(plot->pool);
	*plot = (struct plot){ .n = 0 };
}
