// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl top: the present I/O of groups, on the whole terminal or page by page. */
#include <unistd.h>

#include "base/words.h"
#include "observe/interval.h"
#include "observe/recording.h"
#include "observe/top.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define INTERVAL_S 2

static int print_view(const struct top_view *view, bool json)
{
	struct table *table = print_table("top", top_columns, TOP_COLUMNS, json);

	print_repeats(table);
	for (size_t i = 0; i < view->n; i++)
		top_print(print_row(table), &view->v[i]);
	return print_end(table);
}

static void print_time(const struct top *top)
{
	char text[TOP_TIME_SIZE];

	top_time(top, text);
	print_line("%s", text);
}

static void pause_for(struct top *top, uint64_t *next_ns)
{
	if (top->input)
		return;
	*next_ns = interval_next(*next_ns, top->interval_s);
	interval_sleep(*next_ns);
}

static int batch(struct top *top)
{
	bool json = top->args->value[OPTION_JSON];
	uint64_t next_ns = sample_clock();
	struct top_view view;
	int code = top_refresh(top, &view);

	for (uint64_t i = 0; code == EXIT_OK && !top->at_end;) {
		top_view_free(&view);
		pause_for(top, &next_ns);
		code = top_refresh(top, &view);
		if (top->input && !view.n)
			continue;
		if (i && !json)
			print_line("%s", "");
		if (code == EXIT_OK && top->input && !json)
			print_time(top);
		code = code ?: print_view(&view, json);
		if (++i == top->count)
			break;
	}
	top_view_free(&view);
	return code;
}

static int read_args(struct top *top)
{
	const char *count = top->args->value[OPTION_COUNT];
	const char *sort = top->args->value[OPTION_SORT];

	if (count && (!span_u64(span_of(count), UINT64_MAX, &top->count) || !top->count))
		return fail(EXIT_USAGE, "--count '%s': it is a number from 1 on", count);
	if (sort && top_column_named(sort, &top->sort))
		return fail(EXIT_USAGE,
			    "--sort '%s': it is the heading of a column: group, pool, weight, due, share, bytes, ios, held, wait, wait99, service, serv99",
			    sort);
	if (top->args->value[OPTION_INPUT] && top->args->value[OPTION_DEVICE])
		return fail(EXIT_USAGE,
			    "--input and --device: of a recording --pool chooses a part");
	if (top->args->value[OPTION_JSON] && !top->args->value[OPTION_BATCH])
		return fail(EXIT_USAGE, "--json needs --batch");
	return interval_of(top->args, &top->interval_s);
}

static int show_all(struct top *top)
{
	const struct args *args = top->args;
	const char *input = args->value[OPTION_INPUT];
	struct recording_reader reader;
	int code = EXIT_OK;

	if (input) {
		code = recording_open(&reader, input);
		top->input = &reader;
	}
	if (code == EXIT_OK)
		code = args->value[OPTION_BATCH] ? batch(top) : top_screen(top);
	recording_line_free(&top->next);
	names_free(&top->pools);
	if (input)
		recording_reader_close(&reader);
	return code;
}

static int run(const struct args *args)
{
	struct top top = { .args = args, .interval_s = INTERVAL_S,
			   .sort = TOP_SHARE, .sum = args->value[OPTION_SUM] };
	int code = read_args(&top);

	if (code != EXIT_OK)
		return code;
	if (!args->value[OPTION_BATCH] && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return fail(EXIT_USAGE,
			    "this is not a terminal; --batch prints page after page, and --count N ends that");
	code = show_all(&top);
	top_forget(&top);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_INTERVAL, "interval", "SECONDS", "how often to look (default: 2)" },
	{ OPTION_SORT, "sort", "COLUMN", "sort by the column with this heading (default: share)" },
	{ OPTION_SUM, "sum", NULL, "count what groups below a group do as its own" },
	{ OPTION_INPUT, "input", "FILE", "show a recording of 'iobandctl record'" },
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
