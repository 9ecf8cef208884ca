// SPDX-License-Identifier: GPL-2.0-only
/* Tables and trees, as text or as JSON.  No other file depends on the format. */
#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/show.h"
#include "base/weight.h"
#include "base/words.h"
#include "print/args.h"
#include "print/format.h"
#include "print/print.h"

#define HIDDEN ((size_t)-1)

/* A table under construction. */
struct table {
	struct libscols_table *scols;	/* the table of libsmartcols */
	bool json;
	bool bytes;	/* print sizes and rates as plain numbers */
	bool repeats;	/* others follow: in JSON one line each */
	const struct column *columns;	/* what the caller described */
	size_t *place;	/* the column of @scols by column, or HIDDEN */
	size_t n;
};

static void check(int error)
{
	if (error)
		exit(fail(EXIT_FAILED, "cannot print: %s", strerror(-error)));
}

static void *made(void *object)
{
	check(object ? 0 : -ENOMEM);
	return object;
}

static int json_type(enum column_kind kind)
{
	switch (kind) {
	case COLUMN_TEXT:
	case COLUMN_PATH:
	case COLUMN_TREE:
		return SCOLS_JSON_STRING;
	case COLUMN_FLAG:
	case COLUMN_SET:
		return SCOLS_JSON_BOOLEAN_OPTIONAL;
	default:
		return SCOLS_JSON_NUMBER;
	}
}

static int column_flags(enum column_kind kind)
{
	switch (kind) {
	case COLUMN_TEXT:
	case COLUMN_FLAG:
	case COLUMN_SET:
		return 0;
	case COLUMN_PATH:
		return SCOLS_FL_WRAP;
	case COLUMN_TREE:
		return SCOLS_FL_TREE | SCOLS_FL_WRAP;
	default:
		return SCOLS_FL_RIGHT;
	}
}

static void add_column(struct table *table, size_t i, size_t place)
{
	const struct column *column = &table->columns[i];
	const char *name = table->json ? column->key : column->title;
	struct libscols_column *added;

	added = made(scols_table_new_column(table->scols, name, 0, column_flags(column->kind)));
	check(scols_column_set_json_type(added, json_type(column->kind)));
	table->place[i] = place;
}

static struct table *begin(const char *name, const struct column *columns,
			   size_t n, bool json, const char *names)
{
	size_t *chosen __free = xcalloc(n, sizeof(*chosen));
	struct table *table = xcalloc(1, sizeof(*table));
	struct problem problem;
	int count = columns_choose(names, columns, n, json, chosen, &problem);

	if (count < 0)
		exit(fail(EXIT_USAGE, "%s", problem.text));

	table->scols = made(scols_new_table());
	table->json = json;
	table->columns = columns;
	table->place = xcalloc(n, sizeof(*table->place));
	table->n = n;
	check(scols_table_enable_json(table->scols, json));
	check(scols_table_set_name(table->scols, name));
	for (size_t i = 0; i < n; i++)
		table->place[i] = HIDDEN;
	for (int i = 0; i < count; i++)
		add_column(table, chosen[i], i);
	return table;
}

/*
 * Begin a table.
 * @columns: must outlive the table
 * Return: the table, for print_end().
 */
struct table *print_table(const char *name, const struct column *columns, size_t n, bool json)
{
	return begin(name, columns, n, json, NULL);
}

/*
 * Begin a table as a command line asks for it.
 * @columns: must outlive the table
 * @args: has the options SPEC_COLUMNS and SPEC_JSON of a verb with these columns
 * Return: the table, for print_end().
 */
struct table *print_asked(const char *name, const struct column *columns,
			  size_t n, const struct args *args)
{
	struct table *table = begin(name, columns, n, args->value[OPTION_JSON],
				    args->value[OPTION_OUTPUT]);

	table->bytes = args->value[OPTION_BYTES];
	check(scols_table_enable_noheadings(table->scols, !!args->value[OPTION_NO_HEADINGS]));
	return table;
}

static struct libscols_line *line_of(struct row *row)
{
	return (struct libscols_line *)row;
}

static struct table *table_of(struct row *row)
{
	return scols_line_get_userdata(line_of(row));
}

static void set(struct row *row, size_t column, const char *text)
{
	size_t place = table_of(row)->place[column];

	if (place != HIDDEN)
		check(scols_line_set_data(line_of(row), place, text));
}

/* Begin a row.  A cell without a value shows as "-", in JSON as null. */
struct row *print_row(struct table *table)
{
	struct row *row = made(scols_table_new_line(table->scols, NULL));

	check(scols_line_set_userdata(line_of(row), table));
	for (size_t i = 0; !table->json && i < table->n; i++)
		set(row, i, "-");
	return row;
}

/*
 * Make a row the child of another in the tree.
 * @parent: its parent, in the same table
 */
void print_below(struct row *row, struct row *parent)
{
	check(scols_line_add_child(line_of(parent), line_of(row)));
}

/*
 * Fill a cell of kind TEXT, PATH or TREE.
 * @text: NULL leaves the cell empty
 *
 * The name of a cgroup need not be UTF-8, as JSON must be.  print_end() escapes other characters.
 */
void print_text(struct row *row, size_t column, const char *text)
{
	char *shown __free = NULL;

	if (text)
		shown = table_of(row)->json ? text_utf8(text) : show(text, stdout);
	if (shown)
		set(row, column, shown);
}

/*
 * Fill a cell of kind NUMBER, BYTES or TIME.
 * @number: in bytes for BYTES, in nanoseconds for TIME
 */
void print_number(struct row *row, size_t column, uint64_t number)
{
	const struct table *table = table_of(row);
	enum column_kind kind = table->columns[column].kind;
	char text[FORMAT_SIZE];

	if (!table->json && kind == COLUMN_BYTES && !table->bytes)
		format_bytes(number, text);
	else if (!table->json && kind == COLUMN_TIME)
		format_time(number, text);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	set(row, column, text);
}

/*
 * Fill a cell of kind NUMBER with a weight.
 * @weight: the weight; idle is 0 in JSON, and a word in text
 */
void print_weight(struct row *row, size_t column, uint64_t weight)
{
	if (weight == IOBAND_WEIGHT_IDLE && !table_of(row)->json)
		set(row, column, "idle");
	else
		print_number(row, column, weight_number(weight));
}

/*
 * Fill the columns that PRINT_MAX() or PRINT_MIN() describes.
 * @rates: the cell of a rate without a bound stays empty
 */
void print_rates(struct row *row, size_t first, const struct rates *rates)
{
	for (int rate = 0; rate < RATES; rate++) {
		if (rates->rate[rate])
			print_number(row, first + rate, rates->rate[rate]);
	}
}

/* With --bytes the rates are plain numbers. */
static char *text_of_bound(const struct table *table, const struct bounds *bounds, enum bound bound)
{
	if (!bound_is_set(bounds, bound))
		return NULL;
	if (table->bytes && bound < RATE_BOUNDS)
		return rates_numbers(&bounds->of[bound]);
	return bound_text(bounds, bound);
}

/*
 * Fill the columns that PRINT_BOUND_TEXTS() describes.
 * @bounds: the cell of a bound that is not set stays empty
 */
void print_bound_texts(struct row *row, size_t first, const struct bounds *bounds)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		char *text __free = text_of_bound(table_of(row), bounds, bound);

		print_text(row, first + bound, text);
	}
}

/*
 * Fill the columns of all bounds, one kind after another.
 * @bounds: the cell of a bound that is not set stays empty
 */
void print_bounds(struct row *row, size_t first, const struct bounds *bounds)
{
	for (int bound = 0; bound < RATE_BOUNDS; bound++)
		print_rates(row, first + bound * RATES, &bounds->of[bound]);
	for (int i = 0; i < BOUNDS - LATENCY; i++) {
		if (bounds->latency_us[i])
			print_number(row, first + LATENCY * RATES + i, bounds->latency_us[i]);
	}
}

/*
 * Fill a cell of kind REAL.
 * @number: printed with two decimals
 */
void print_real(struct row *row, size_t column, double number)
{
	char text[64];

	snprintf(text, sizeof(text), "%.2f", number);
	set(row, column, text);
}

/*
 * Fill a cell of kind FLAG or SET.
 * @flag: yes or no, or set or default; true or false in JSON
 */
void print_flag(struct row *row, size_t column, bool flag)
{
	const struct table *table = table_of(row);

	if (table->json)
		set(row, column, flag ? "1" : "0");
	else if (table->columns[column].kind == COLUMN_SET)
		set(row, column, flag ? "set" : "default");
	else
		set(row, column, flag ? "yes" : "no");
}

/* Hide a column. */
void print_hide(struct table *table, size_t column)
{
	size_t place = table->place[column];

	if (place != HIDDEN)
		check(scols_column_set_flags(scols_table_get_column(table->scols, place),
					     SCOLS_FL_HIDDEN));
}

/*
 * Remove a row.
 * @row: the row, which has no children
 */
void print_drop(struct row *row)
{
	check(scols_table_remove_line(table_of(row)->scols, line_of(row)));
}

static void free_table(struct table *table)
{
	scols_unref_table(table->scols);
	free(table->place);
	free(table);
}

/* Other tables of the same kind follow, so that in JSON each is one line: JSON Lines. */
void print_repeats(struct table *table)
{
	table->repeats = true;
}

/* A string in JSON has no line break. */
static void print_on_one_line(char *json)
{
	for (char *line = strtok(json, "\n"); line; line = strtok(NULL, "\n"))
		fputs(line + strspn(line, " "), stdout);
	putchar('\n');
}

static void print_json(const struct table *table)
{
	char *json __free = NULL;
	char *shown __free = NULL;
	size_t size;
	FILE *stream = xmemstream(&json, &size);

	check(scols_table_set_stream(table->scols, stream));
	check(scols_print_table(table->scols));
	fclose(stream);
	shown = text_json(json);
	if (table->repeats)
		print_on_one_line(shown);
	else
		fputs(shown, stdout);
}

/* Print a table and free it. */
int print_end(struct table *table)
{
	if (table->json)
		print_json(table);
	else
		check(scols_print_table(table->scols));
	free_table(table);
	return print_flush();
}

/*
 * Print a table of completed actions, and free it.
 * @table: the table; not printed if it is empty and @code is a failure
 * @code: the exit code so far
 * Return: @code, or if that is EXIT_OK, the exit code of printing.
 */
int print_some(struct table *table, int code)
{
	if (code == EXIT_OK || !scols_table_is_empty(table->scols))
		return first_failure(code, print_end(table));
	free_table(table);
	return code;
}

/* Check whether a stream accepts escape sequences.  Return: true for a terminal that does. */
bool print_is_terminal(FILE *stream)
{
	const char *terminal = getenv("TERM");

	return isatty(fileno(stream)) && terminal && *terminal && strcmp(terminal, "dumb");
}

/* See no-color.org. */
static bool is_coloured(void)
{
	const char *unwanted = getenv("NO_COLOR");

	return print_is_terminal(stdout) && !(unwanted && *unwanted);
}

/* A mark occupies a column of its own. */
static void print_args(const char *colour, const char *mark, const char *plain,
		       const char *fmt, va_list args)
{
	char *text __free = xvasprintf(fmt, args);
	char *shown __free = show(text, stdout);

	printf("%s%-*s%s%s\n", colour, *mark ? 6 : 0, mark, plain, shown);
}

void print_line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_args("", "", "", fmt, args);
	va_end(args);
}

/*
 * Print a line of text that begins with a mark in colour.
 * @colour: its escape sequence
 * @mark: a short word
 */
void print_marked(const char *colour, const char *mark, const char *fmt, ...)
{
	bool coloured = is_coloured();
	va_list args;

	va_start(args, fmt);
	print_args(coloured ? colour : "", mark, coloured ? "\033[0m" : "", fmt, args);
	va_end(args);
}

/*
 * Print lines of text.
 * @indent: text before each line
 * @text: the lines, each with its newline; modified
 */
void print_lines(const char *indent, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && text)
		print_line("%s%s", indent, line);
}

/* Write all output and check for errors. */
int print_flush(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	return fail(EXIT_FAILED, "cannot write the output: %s", strerror(errno));
}
