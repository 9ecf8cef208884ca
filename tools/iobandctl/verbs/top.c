// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl top: what the groups do now, on the whole terminal or a page at a time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/words.h"
#include "observe/interval.h"
#include "observe/top.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define INTERVAL_S 2

const struct column top_columns[TOP_COLUMNS] = {
	[TOP_GROUP] = { "GROUP", "group", COLUMN_TEXT },
	[TOP_POOL] = { "POOL", "pool", COLUMN_TEXT },
	[TOP_WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[TOP_DUE] = { "DUE%", "due_pct", COLUMN_REAL },
	[TOP_SHARE] = { "SHARE%", "share_pct", COLUMN_REAL },
	[TOP_BYTES] = { "BYTES/S", "bytes_per_s", COLUMN_BYTES },
	[TOP_IOS] = { "IOS/S", "ios_per_s", COLUMN_REAL },
	[TOP_HELD] = { "HELD", "held_now", COLUMN_NUMBER },
	[TOP_WAIT] = { "WAIT", "wait_avg_ns", COLUMN_TIME },
	[TOP_WAIT_P99] = { "WAIT99", "wait_p99_ns", COLUMN_TIME },
	[TOP_SERVICE] = { "SERVICE", "service_avg_ns", COLUMN_TIME },
	[TOP_SERVICE_P99] = { "SERV99", "service_p99_ns", COLUMN_TIME },
};

static struct top_before *find_before(struct top_before *v, size_t n,
				      const char *pool)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(v[i].pool, pool))
			return &v[i];
	}
	return NULL;
}

static void forget(struct top *top)
{
	for (size_t i = 0; i < top->n; i++)
		sample_free(&top->before[i].sample);
	free(top->before);
	top->before = NULL;
	top->n = 0;
}

/* A pool that is new has a row only when it was seen twice. */
static void add_pool(struct top *top, struct top_view *view,
		     const struct ioband_devices *devices,
		     const struct ioband_device *speaker,
		     const struct sample *now)
{
	const struct top_before *before =
		find_before(top->before, top->n, speaker->table.pool);
	struct sample delta;

	if (!before)
		return;
	sample_delta(&before->sample, now, &delta);
	if (delta.ns)
		top_view_add(view, devices, speaker, &delta);
	sample_delta_free(&delta);
}

static int look(struct top *top, struct top_view *view,
		const struct ioband_devices *devices,
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
	forget(top);
	top->before = now;
	top->n = n;
	if (code != EXIT_OK)
		forget(top);
	return code;
}

/**
 * top_refresh() - look at what there is
 * @top: this run
 * @view: what was done since the last look; nothing after the first
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int top_refresh(struct top *top, struct top_view *view)
{
	struct ioband_devices devices;
	struct targets speakers;
	struct scope scope;
	int code = ioband_load(&devices);

	*view = (struct top_view){ .n = 0 };
	if (code != EXIT_OK)
		return code;
	code = ioband_scope(&devices, top->args, &scope);
	if (code == EXIT_OK) {
		ioband_pools(&devices, &scope, &speakers);
		code = look(top, view, &devices, &speakers);
		targets_free(&speakers);
	}
	ioband_free(&devices);
	top_view_sort(view, top->sort, top->reverse);
	return code;
}

static void print_cell(struct table *table, struct row *row,
		       const struct top_row *top, enum top_column column)
{
	enum column_kind kind = top_columns[column].kind;
	double value = top->value[column];

	if (kind == COLUMN_TEXT)
		print_text(table, row, column,
			   column == TOP_GROUP ? top->group : top->pool);
	else if (value >= 0 && kind == COLUMN_REAL)
		print_real(table, row, column, value);
	else if (value >= 0)
		print_number(table, row, column, value);
}

/**
 * top_print() - fill a row of a table whose first columns are those of top
 * @table: the table
 * @row: the row
 * @top: what is in it
 */
void top_print(struct table *table, struct row *row, const struct top_row *top)
{
	for (size_t c = 0; c < TOP_COLUMNS; c++)
		print_cell(table, row, top, c);
}

static int print_view(const struct top_view *view, bool json)
{
	struct table *table = print_table("top", top_columns, TOP_COLUMNS, json);

	for (size_t i = 0; i < view->n; i++)
		top_print(table, print_row(table), &view->v[i]);
	return print_end(table);
}

static int batch(struct top *top)
{
	bool json = top->args->value[OPTION_JSON];
	uint64_t next_ns = sample_clock();
	struct top_view view;
	int code = top_refresh(top, &view);

	for (uint64_t i = 0; code == EXIT_OK && (!top->count || i < top->count);
	     i++) {
		top_view_free(&view);
		next_ns = interval_next(next_ns, top->interval_s);
		interval_sleep(next_ns);
		code = top_refresh(top, &view);
		if (i && !json)
			print_line("%s", "");
		if (code == EXIT_OK)
			code = print_view(&view, json);
	}
	top_view_free(&view);
	return code;
}

static int read_args(struct top *top)
{
	const char *count = top->args->value[OPTION_COUNT];
	const char *sort = top->args->value[OPTION_SORT];

	if (count && (!span_u64(span_of(count), UINT64_MAX, &top->count) ||
		      !top->count))
		return fail(EXIT_USAGE, "--count '%s': it is a number from 1 on",
			    count);
	if (sort && top_column_named(sort, &top->sort))
		return fail(EXIT_USAGE,
			    "--sort '%s': it is the heading of a column: group, pool, weight, due, share, bytes, ios, held, wait, wait99, service, serv99",
			    sort);
	if (top->args->value[OPTION_JSON] && !top->args->value[OPTION_BATCH])
		return fail(EXIT_USAGE, "--json needs --batch");
	return interval_of(top->args, &top->interval_s);
}

static int run(const struct args *args)
{
	struct top top = { .args = args, .interval_s = INTERVAL_S,
			   .sort = TOP_SHARE };
	int code = read_args(&top);

	if (code != EXIT_OK)
		return code;
	if (!args->value[OPTION_BATCH] &&
	    (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return fail(EXIT_USAGE,
			    "this is not a terminal; --batch prints page after page, and --count N ends that");
	code = args->value[OPTION_BATCH] ? batch(&top) : top_screen(&top);
	forget(&top);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_INTERVAL, "interval", "SECONDS",
	  "how often to look (default: 2)" },
	{ OPTION_SORT, "sort", "COLUMN",
	  "sort by the column with this heading (default: share)" },
	{ OPTION_BATCH, "batch", NULL, "print page after page, without keys" },
	{ OPTION_COUNT, "count", "N", "end after N pages" },
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_top = {
	.name = "top",
	.args = "",
	.summary = "Show what groups do, share against weight, on the terminal",
	.options = options,
	.run = run,
};
