// SPDX-License-Identifier: GPL-2.0-only
/*
 * The script for gnuplot.  Names are in single quotes, where gnuplot interprets
 * neither escapes nor commands; the rest are constant words and numbers.  Pure.
 */
#include <string.h>
#include <time.h>

#include "observe/plot-series.h"

/* In pixels. */
#define WIDTH 1000
#define TITLE_HEIGHT 40
#define NAME_HEIGHT 20
#define PANEL_HEIGHT 200
#define SPACE_HEIGHT 55	/* below each panel, for its axis */
#define COLOURS 8	/* gnuplot's podo, distinct for the colour-blind */
#define SECONDS_MOST 180	/* above, the axis shows hours and minutes */

/* A unit of an axis. */
struct unit {
	double size;	/* in the unit of the values */
	const char *name;	/* for people */
};

static const struct unit ones[] = { { 1, "" }, { 0, NULL } };
static const struct unit percents[] = { { 1, ", %" }, { 0, NULL } };

static const struct unit rates[] = {
	{ 1, ", B/s" }, { 1 << 10, ", KiB/s" }, { 1 << 20, ", MiB/s" },
	{ 1 << 30, ", GiB/s" }, { 0, NULL }
};

static const struct unit times[] = {
	{ 1, ", ns" }, { 1e3, ", us" }, { 1e6, ", ms" }, { 1e9, ", s" },
	{ 0, NULL }
};

/* A diagram. */
static const struct panel {
	const char *name;	/* its name on the command line */
	const char *title;	/* for people */
	enum top_column line;	/* the column drawn as a line */
	enum top_column dots;	/* the column drawn dotted; same as @line for none */
	const char *dotted;	/* description of the dots */
	const struct unit *units;	/* units of its axis, from the smallest */
} panels[] = {
	[PLOT_BANDWIDTH] = { "bandwidth", "bandwidth", TOP_BYTES, TOP_BYTES, "", rates },
	[PLOT_IOPS] = { "iops", "I/Os in a second", TOP_IOS, TOP_IOS, "", ones },
	[PLOT_WAIT] = { "wait", "held for", TOP_WAIT, TOP_WAIT_P99,
		"dotted: 99 of 100 I/Os", times },
	[PLOT_SERVICE] = { "service", "at the device for", TOP_SERVICE,
		TOP_SERVICE_P99, "dotted: 99 of 100 I/Os", times },
	[PLOT_SHARE] = { "share", "share", TOP_SHARE, TOP_DUE,
		"dotted: what its weight gives", percents },
};

/* Name of a diagram.  Return: its name on the command line. */
const char *plot_name(enum plot_what what)
{
	return panels[what].name;
}

static void print_quoted(const char *text, FILE *stream)
{
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char []){ *text, 0 }, stream);
}

/* Each point lies in the middle of its interval. */
static void print_data(const struct plot_series *series, size_t number, FILE *stream)
{
	fprintf(stream, "$s%zu << END\n", number);
	for (size_t i = 0; i < series->n; i++) {
		const struct plot_point *point = &series->v[i];

		fprintf(stream, "%.9g", (point->from_s + point->to_s) / 2);
		for (int c = TOP_WEIGHT; c < TOP_COLUMNS; c++) {
			if (point->value[c] < 0)
				fputs(" NaN", stream);
			else
				fprintf(stream, " %.9g", point->value[c]);
		}
		fputc('\n', stream);
	}
	fputs("END\n", stream);
}

static double greatest(struct plot_series *const *series, size_t n, const struct panel *panel)
{
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < series[i]->n; j++) {
			const double *value = series[i]->v[j].value;

			if (value[panel->line] > most)
				most = value[panel->line];
			if (value[panel->dots] > most)
				most = value[panel->dots];
		}
	}
	return most;
}

static const struct unit *unit_for(const struct panel *panel, double most)
{
	const struct unit *unit = panel->units;

	while (unit[1].name && most >= unit[1].size)
		unit++;
	return unit;
}

static void print_curve(const struct plot *plot, const struct plot_series *series, size_t i,
			const struct panel *panel, double scale, FILE *stream)
{
	const char *style = i / COLOURS % 2 ? "dt 2" : "dt 1";

	fprintf(stream,
		"$s%zu using 1:($%d/%.9g) with linespoints pt 7 ps 0.3 lw 2 lc %zu %s title '",
		i, panel->line - TOP_WEIGHT + 2, scale, i % COLOURS + 1, style);
	if (plot->pools > 1)
		fprintf(stream, "%s: ", series->pool);
	print_quoted(series->group, stream);
	fputc('\'', stream);
	if (panel->dots != panel->line)
		fprintf(stream, ", $s%zu using 1:($%d/%.9g) with lines dt 3 lw 1.5 lc %zu notitle",
			i, panel->dots - TOP_WEIGHT + 2, scale, i % COLOURS + 1);
}

static void print_panel(const struct plot *plot, struct plot_series *const *series, size_t n,
			const struct panel *panel, FILE *stream)
{
	const double most = greatest(series, n, panel);
	const struct unit *unit = unit_for(panel, most);

	fprintf(stream, "set ylabel '%s%s'\n", panel->title, unit->name);
	fprintf(stream, "set yrange [0:%.9g]\n", most > 0 ? most / unit->size * 1.05 : 1);
	fprintf(stream, "set label 1 '%s' at graph 1,1.06 right font ',9'\n", panel->dotted);
	fputs("plot ", stream);
	for (size_t i = 0; i < n; i++) {
		print_curve(plot, series[i], i, panel, unit->size, stream);
		fputs(i + 1 < n ? ", \\\n     " : "\n", stream);
	}
}

static void print_title(const struct plot *plot, FILE *stream)
{
	time_t begun = plot->begun_ns / NS_PER_S;
	struct tm parts;
	char text[64];

	localtime_r(&begun, &parts);
	strftime(text, sizeof(text), "%F %T %z", &parts);
	fprintf(stream, "title '%s%s, from %s on'", plot->pools > 1 ? "ioband" : "ioband, pool ",
		plot->pools > 1 ? "" : plot->pool[0].name, text);
}

/* The title, the names of the groups, and below them the panels. */
static void print_layout(const struct plot *plot, size_t n, int panels_drawn,
			 const char *terminal, FILE *stream)
{
	const double above = TITLE_HEIGHT + n * NAME_HEIGHT;
	const double height = above + panels_drawn * (PANEL_HEIGHT + SPACE_HEIGHT);

	fprintf(stream,
		"set terminal %s size %d,%.0f noenhanced font 'sans,11' background '#ffffff'\n",
		terminal, WIDTH, height);
	fprintf(stream,
		"set multiplot layout %d,1 margins screen 0.09,0.97,%.6f,%.6f spacing screen %.6f ",
		panels_drawn, SPACE_HEIGHT / height, 1 - above / height, SPACE_HEIGHT / height);
	print_title(plot, stream);
	fprintf(stream,
		"\nset key at screen 0.09,%.6f left top Left reverse maxcols 1 noenhanced\n",
		1 - (TITLE_HEIGHT - NAME_HEIGHT / 2) / height);
}

static void print_axes(const struct plot *plot, FILE *stream)
{
	const bool seconds = plot->end_s <= SECONDS_MOST;

	fputs("set encoding utf8\n"
	      "set colorsequence podo\n"
	      "set grid lt 1 lw 0.5 lc '#dddddd'\n", stream);
	fprintf(stream, "set xrange [0:%.9g]\n", plot->end_s);
	if (!seconds)
		fputs("set xtics time format '%tH:%tM:%tS'\n", stream);
}

/*
 * Write the script for gnuplot, with panels below each other.
 * @terminal: svg or pngcairo
 */
void plot_script(const struct plot *plot, struct plot_series *const *series, size_t n,
		 const bool what[PLOT_WHATS], const char *terminal, FILE *stream)
{
	int left = 0;

	for (int w = 0; w < PLOT_WHATS; w++)
		left += what[w];
	for (size_t i = 0; i < n; i++)
		print_data(series[i], i, stream);
	print_layout(plot, n, left, terminal, stream);
	print_axes(plot, stream);
	for (int w = 0; w < PLOT_WHATS; w++) {
		if (!what[w])
			continue;
		if (!--left)
			fprintf(stream, "set xlabel '%s since then'\n",
				plot->end_s <= SECONDS_MOST ? "seconds" : "time");
		print_panel(plot, series, n, &panels[w], stream);
		fputs("unset key\n", stream);
	}
	fputs("unset multiplot\n", stream);
}
