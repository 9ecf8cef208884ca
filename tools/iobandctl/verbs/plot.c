// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl plot: a recording as a picture or as figures. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/outfile.h"
#include "base/words.h"
#include "observe/plot-series.h"
#include "print/print.h"
#include "verbs/verbs.h"

#define GROUPS_MOST 8	/* by default: the number of colours */
#define POINTS_MOST 1000	/* about the width of the picture */
#define WHAT_DEFAULT "bandwidth,wait,service"

/* The contents of the plot. */
struct chosen {
	bool what[PLOT_WHATS];	/* by panel: whether it is drawn */
	struct plot_series **series;	/* the groups, in descending order of their I/O */
	size_t n;
};

static int read_what(const char *text, bool what[PLOT_WHATS])
{
	struct span rest = span_of(text ? text : WHAT_DEFAULT), item;
	char shown[48];

	do {
		enum plot_what w = 0;

		span_item(&rest, ',', &item);
		while (w < PLOT_WHATS && !span_is(item, plot_name(w)))
			w++;
		if (w == PLOT_WHATS)
			return fail(EXIT_USAGE,
				    "--what '%s': it is bandwidth, iops, wait, service or share, or several with commas between",
				    span_show(item, shown));
		what[w] = true;
	} while (rest.length);
	return EXIT_OK;
}

/* Return: the name of gnuplot's terminal; NULL if there is none. */
static const char *terminal_for(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : ".svg";

	if (dot && !strcmp(dot, ".svg"))
		return "svg";
	return dot && !strcmp(dot, ".png") ? "pngcairo" : NULL;
}

static int check_args(const struct args *args)
{
	const char *output = args->value[OPTION_OUTPUT];

	if (args->value[OPTION_JSON])
		return !output && !args->value[OPTION_WHAT] ? EXIT_OK :
		       fail(EXIT_USAGE, "--json prints all figures; leave out --%s",
			    output ? "output" : "what");
	if (!terminal_for(output))
		return fail(EXIT_USAGE,
			    "--output '%s': its name has to end in .svg or .png, the format of the file",
			    output);
	if (!output && isatty(STDOUT_FILENO))
		return fail(EXIT_USAGE,
			    "a picture is not for the terminal; give --output FILE.svg or FILE.png, or --json");
	return EXIT_OK;
}

/* -- reading ---------------------------------------------------------------------------- */

static int load_lines(struct recording_reader *reader, struct plot *plot)
{
	struct recording_line line;
	struct problem problem;
	bool found;
	int code;

	do {
		code = recording_next(reader, &line, &found);
		if (code == EXIT_OK && found && plot_add(plot, &line, &problem))
			code = fail(EXIT_USAGE, "%s, line %zu: %s",
				    reader->path, reader->line, problem.text);
		recording_line_free(&line);
	} while (code == EXIT_OK && found);
	return code;
}

/* Pictures are reduced to one point per pixel; figures are complete. */
static int load(const struct args *args, struct plot *plot)
{
	struct recording_reader reader;
	int code = recording_open(&reader, args->operand[0]);

	*plot = (struct plot){ .begun_ns = reader.begun_ns };
	if (code == EXIT_OK && !args->value[OPTION_JSON])
		code = recording_length(&reader, &plot->step_ns);
	plot->step_ns /= POINTS_MOST;
	code = code ?: load_lines(&reader, plot);
	recording_reader_close(&reader);
	plot_sort(plot);
	return code;
}

/* -- which groups ----------------------------------------------------------------------- */

static bool matches(const char *pattern, const char *group)
{
	const int flags = FNM_PATHNAME | FNM_NOESCAPE;

	return !fnmatch(pattern, group, flags) ||
	       (*group == '/' && !fnmatch(pattern, group + 1, flags));
}

/* Mark the groups that match a pattern. */
static int mark(const struct plot *plot, struct span item, const char *path, bool *wanted)
{
	char *pattern __free = xstrndup(item.start, item.length);
	int code = EXIT_MISSING;

	for (size_t i = 0; i < plot->n; i++) {
		if (!matches(pattern, plot->v[i]->group))
			continue;
		wanted[i] = true;
		code = EXIT_OK;
	}
	if (code != EXIT_OK)
		fail(code,
		     "no group '%s' did anything in %s; 'iobandctl plot --json %s' lists the groups that did",
		     pattern, path, path);
	return code;
}

static int choose(const struct plot *plot, const struct args *args, struct chosen *chosen)
{
	bool *wanted __free = xcalloc(plot->n, sizeof(*wanted));
	const char *groups = args->value[OPTION_GROUPS];
	struct span rest = span_of(groups ? groups : ""), item;
	int code = EXIT_OK;

	while (groups && code == EXIT_OK) {
		span_item(&rest, ',', &item);
		code = mark(plot, item, args->operand[0], wanted);
		if (!rest.length)
			break;
	}
	chosen->series = xcalloc(plot->n, sizeof(*chosen->series));
	for (size_t i = 0; i < plot->n; i++) {
		if (wanted[i] || !groups)
			chosen->series[chosen->n++] = plot->v[i];
	}
	return code;
}

static void leave_out_some(struct chosen *chosen)
{
	if (chosen->n <= GROUPS_MOST)
		return;
	note("of %zu groups those %d are drawn that did most; --groups chooses others",
	     chosen->n, GROUPS_MOST);
	chosen->n = GROUPS_MOST;
}

/* -- pictures and figures --------------------------------------------------------------- */

static int draw_to(const struct plot *plot, const struct chosen *chosen,
		   const char *terminal, int output)
{
	int fd = memfd_create("gnuplot-script", MFD_CLOEXEC);
	FILE *script = fd < 0 ? NULL : fdopen(fd, "w");
	int code;

	if (!script)
		return fail(EXIT_FAILED, "cannot write for gnuplot: %m");
	plot_script(plot, chosen->series, chosen->n, chosen->what, terminal, script);
	code = gnuplot_run(script, output);
	fclose(script);
	return code;
}

static int draw(const struct plot *plot, const struct chosen *chosen, const char *path)
{
	const char *terminal = terminal_for(path);
	struct outfile outfile;
	int code;

	if (!path)
		return draw_to(plot, chosen, terminal, STDOUT_FILENO);
	code = outfile_begin(&outfile, path);
	if (code != EXIT_OK)
		return code;
	code = draw_to(plot, chosen, terminal, fileno(outfile.stream));
	if (code == EXIT_OK)
		return outfile_end(&outfile);
	outfile_drop(&outfile);
	return code;
}

enum { FROM = TOP_COLUMNS, TO, COLUMNS };

static int print_figures(const struct chosen *chosen)
{
	struct column columns[COLUMNS] = {
		[FROM] = { NULL, "from_s", COLUMN_REAL },
		[TO] = { NULL, "to_s", COLUMN_REAL },
	};
	struct table *table;

	memcpy(columns, top_columns, TOP_COLUMNS * sizeof(*columns));
	table = print_table("plot", columns, COLUMNS, true);
	for (size_t i = 0; i < chosen->n; i++) {
		const struct plot_series *series = chosen->series[i];
		struct top_row top = { .group = series->group };

		strcpy(top.pool, series->pool);
		for (size_t j = 0; j < series->n; j++) {
			const struct plot_point *point = &series->v[j];
			struct row *row;

			if (point->from_s == point->to_s)
				continue;
			memcpy(top.value, point->value, sizeof(top.value));
			row = print_row(table);
			top_print(row, &top);
			print_real(row, FROM, point->from_s);
			print_real(row, TO, point->to_s);
		}
	}
	return print_end(table);
}

static int show(const struct plot *plot, const struct args *args, struct chosen *chosen)
{
	int code = choose(plot, args, chosen);

	if (code != EXIT_OK)
		return code;
	if (args->value[OPTION_JSON])
		return print_figures(chosen);
	if (!chosen->n)
		return fail(EXIT_FAILED,
			    "there is nothing to draw: between two samples in %s no group did anything",
			    args->operand[0]);
	if (!args->value[OPTION_GROUPS])
		leave_out_some(chosen);
	return draw(plot, chosen, args->value[OPTION_OUTPUT]);
}

static int run(const struct args *args)
{
	struct chosen chosen = { .n = 0 };
	struct plot plot;
	int code = read_what(args->value[OPTION_WHAT], chosen.what) ?: check_args(args);

	if (code != EXIT_OK)
		return code;
	code = load(args, &plot) ?: show(&plot, args, &chosen);
	free(chosen.series);
	plot_free(&plot);
	return code;
}

static const struct option_spec options[] = {
	SPEC_OUTPUT("draw into this file, a .svg or .png (default: SVG to the standard output)"),
	{ OPTION_WHAT, "what", "WHAT",
	  "any of bandwidth,iops,wait,service,share (default: " WHAT_DEFAULT ")" },
	{ OPTION_GROUPS, "groups", "GROUPS",
	  "these, with commas between, or patterns (default: the groups with most I/O)" },
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_plot = {
	.name = "plot",
	.args = "FILE",
	.summary = "Draw a recording: bandwidth and latency over time",
	.min = 1,
	.max = 1,
	.options = options,
	.run = run,
};
