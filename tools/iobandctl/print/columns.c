// SPDX-License-Identifier: GPL-2.0-only
/* Which columns of a table are printed, as lsblk has it.  Pure. */
#include <strings.h>

#include "base/alloc.h"
#include "base/words.h"
#include "print/columns.h"

static bool is_offered(const struct column *column, bool json)
{
	return json ? column->key : column->title;
}

static bool is_called(const char *called, struct span name)
{
	return called && !strncasecmp(called, name.start, name.length) && !called[name.length];
}

/* By its heading or its key, in capitals or not; @n if there is none. */
static size_t find_column(struct span name, const struct column *columns, size_t n, bool json)
{
	size_t i = 0;

	while (i < n && !(is_offered(&columns[i], json) &&
			  (is_called(columns[i].title, name) || is_called(columns[i].key, name))))
		i++;
	return i;
}

static int add(size_t *chosen, int count, size_t column)
{
	for (int i = 0; i < count; i++) {
		if (chosen[i] == column)
			return count;
	}
	chosen[count] = column;
	return count + 1;
}

/* Name all columns.  Return: the names with commas between them, to be freed. */
char *columns_names(const struct column *columns, size_t n, bool json)
{
	char *names = xstrdup("");

	for (size_t i = 0; i < n; i++) {
		if (is_offered(&columns[i], json))
			xappend(&names, "%s%s", *names ? ", " : "",
				json ? columns[i].key : columns[i].title);
	}
	return names;
}

/*
 * Choose the columns of a table.
 * @names: of columns, with commas between them; a + in front adds them to the default
 *	columns; NULL: the default columns
 * @json: for JSON
 * @chosen: the result, with room for @n
 * @problem: the mistake in @names
 * Return: how many, or -1 with @problem set.
 */
int columns_choose(const char *names, const struct column *columns, size_t n,
		   bool json, size_t *chosen, struct problem *problem)
{
	bool adds = !names || *names == '+';
	struct span rest, name;
	char shown[48];
	int count = 0;

	for (size_t i = 0; adds && i < n; i++) {
		if (is_offered(&columns[i], json) && (json || !columns[i].more))
			chosen[count++] = i;
	}
	if (!names)
		return count;
	rest = span_of(names + adds);
	do {
		size_t column;

		span_item(&rest, ',', &name);
		column = find_column(name, columns, n, json);
		if (column == n) {
			char *all __free = columns_names(columns, n, json);

			problem_set(problem, "there is no column '%s'%s; the columns are %s",
				    span_show(name, shown), json ? " in JSON" : "", all);
			return -1;
		}
		count = add(chosen, count, column);
	} while (rest.length);
	return count;
}

/*
 * Check whether a choice of columns names a column.
 * @names: as for columns_choose()
 * Return: true if it does; false for the default columns.
 */
bool columns_has(const char *names, const struct column *column)
{
	struct span rest, name;

	if (!names)
		return false;
	rest = span_of(names + (*names == '+'));
	while (rest.length) {
		span_item(&rest, ',', &name);
		if (is_called(column->title, name) || is_called(column->key, name))
			return true;
	}
	return false;
}
