// SPDX-License-Identifier: GPL-2.0-only
/* What the groups did from one look to the next, and the columns for it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "host/device.h"
#include "observe/recording.h"
#include "observe/top.h"
#include "print/print.h"

static struct top_before *find_before(struct top_before *v, size_t n, const char *pool)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(v[i].pool, pool))
			return &v[i];
	}
	return NULL;
}

/* Forget the samples. */
void top_forget(struct top *top)
{
	for (size_t i = 0; i < top->n; i++)
		sample_free(&top->before[i].sample);
	free(top->before);
	top->before = NULL;
	top->n = 0;
}

/*
 * The time of a page of a recording.
 * @text: the result, local time
 */
void top_time(const struct top *top, char text[TOP_TIME_SIZE])
{
	const uint64_t ns = top->input->begun_ns + top->at_ns;
	const time_t seconds = ns / NS_PER_S;
	struct tm local;

	strftime(text, TOP_TIME_SIZE, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &local));
}

/* A pool that is new has a row only when it was seen twice. */
static void add_pool(struct top *top, struct top_view *view, const struct ioband_devices *devices,
		     const struct ioband_device *speaker, const struct sample *now)
{
	const struct top_before *before = find_before(top->before, top->n, speaker->table.pool);
	struct sample delta __cleanup(sample_delta_free) = { .ns = 0 };

	if (!before)
		return;
	sample_delta(&before->sample, now, &delta);
	if (delta.ns)
		top_view_add(view, devices, speaker, &delta, top->sum);
}

static int look(struct top *top, struct top_view *view, const struct ioband_devices *devices,
		const struct targets *speakers)
{
	struct top_before *now = xcalloc(speakers->n, sizeof(*now));
	int code = EXIT_OK;
	size_t n = 0;

	while (n < speakers->n && code == EXIT_OK) {
		strcpy(now[n].pool, speakers->v[n]->table.pool);
		code = sample_take(speakers->v[n], &now[n].sample);
		n++;
	}
	for (size_t i = 0; i < n && code == EXIT_OK; i++)
		add_pool(top, view, devices, speakers->v[i], &now[i].sample);
	top_forget(top);
	top->before = now;
	top->n = n;
	if (code != EXIT_OK)
		top_forget(top);
	return code;
}

static struct top_before *keep_place(struct top *top, const char *pool)
{
	struct top_before *before = find_before(top->before, top->n, pool);

	if (before) {
		sample_free(&before->sample);
		return before;
	}
	before = XPUSH(top->before, top->n);
	snprintf(before->pool, sizeof(before->pool), "%s", pool);
	return before;
}

/* A pool that is gone begins anew when it is back. */
static void replay_line(struct top *top, struct top_view *view, struct recording_line *line)
{
	const char *pool = line->speaker.table.pool;
	struct top_before *before;

	if (line->kind == RECORDING_POOL)
		add_pool(top, view, &line->devices, &line->speaker, &line->sample);
	before = keep_place(top, pool);
	before->sample = line->sample;
	line->sample = (struct sample){ .ns = 0 };
	if (line->kind == RECORDING_GONE)
		*before->pool = 0;
	top->at_ns = line->at_ns;
}

static int next_line(struct top *top, struct recording_line *line, bool *found)
{
	*found = top->has_next;
	*line = top->next;
	top->has_next = false;
	top->next = (struct recording_line){ .at_ns = 0 };
	return *found ? EXIT_OK : recording_next(top->input, line, found);
}

/* Whether a line is about a pool that is not shown. */
static bool is_left_out(struct top *top, const struct recording_line *line)
{
	const char *only = top->args->value[OPTION_POOL];

	names_add(&top->pools, line->speaker.table.pool);
	return only && strcmp(only, line->speaker.table.pool);
}

static int check_pool(const struct top *top)
{
	char *pools __free = xstrdup("");
	const char *only = top->args->value[OPTION_POOL];
	int code = EXIT_OK;

	for (size_t i = 0; i < top->pools.n; i++)
		xappend(&pools, "%s%s", i ? ", " : "", top->pools.v[i]);
	if (only && !names_has(&top->pools, only))
		code = fail(EXIT_MISSING, "there is no pool '%s' in %s; it has: %s", only,
			    top->input->path, *pools ? pools : "no pool");
	return code;
}

/* A page ends where a pool of it has its next line. */
static int replay(struct top *top, struct top_view *view)
{
	struct names seen __cleanup(names_free) = { .n = 0 };
	struct recording_line line;
	bool found;
	int code;

	*view = (struct top_view){ .n = 0 };
	do {
		code = next_line(top, &line, &found);
		if (!found || line.kind == RECORDING_END) {
			top->at_end = true;
		} else if (is_left_out(top, &line)) {
			/* its pages are not shown */
		} else if (names_has(&seen, line.speaker.table.pool)) {
			top->next = line;
			top->has_next = true;
			line = (struct recording_line){ .at_ns = 0 };
		} else {
			if (line.kind == RECORDING_POOL)
				names_add(&seen, line.speaker.table.pool);
			replay_line(top, view, &line);
		}
		recording_line_free(&line);
	} while (code == EXIT_OK && !top->at_end && !top->has_next);
	top_view_sort(view, top->sort, top->reverse);
	return code == EXIT_OK && top->at_end ? check_pool(top) : code;
}

/*
 * Look at what there is, or what a recording has next.
 * @view: the groups' I/O since the last look; nothing after the first
 */
int top_refresh(struct top *top, struct top_view *view)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct targets speakers;
	struct scope scope;
	int code;

	if (top->input)
		return replay(top, view);
	*view = (struct top_view){ .n = 0 };
	code = ioband_load(&devices) ?: ioband_scope(&devices, top->args, &scope);
	if (code == EXIT_OK) {
		ioband_pools(&devices, &scope, &speakers);
		code = look(top, view, &devices, &speakers);
		targets_free(&speakers);
	}
	top_view_sort(view, top->sort, top->reverse);
	return code;
}

static void print_cell(struct row *row, const struct top_row *top, enum top_column column)
{
	enum column_kind kind = top_columns[column].kind;
	double value = top->value[column];

	if (kind == COLUMN_TEXT)
		print_text(row, column, column == TOP_GROUP ? top->group : top->pool);
	else if (value >= 0 && kind == COLUMN_REAL)
		print_real(row, column, value);
	else if (column == TOP_WEIGHT)
		print_weight(row, column, weight_of_number(value));
	else if (value >= 0)
		print_number(row, column, top_number(top, column));
}

/* Fill a row of a table that begins with the columns of top. */
void top_print(struct row *row, const struct top_row *top)
{
	for (size_t c = 0; c < TOP_COLUMNS; c++)
		print_cell(row, top, c);
}
