/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PRINT_H
#define IOBANDCTL_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bounds.h"
#include "base/defs.h"
#include "print/columns.h"

/* The columns of a bound as numbers, for print_rates(): one after another. */
#define PRINT_MAX(first)						\
	[first] = { "MAX-RBPS", "max_rbps", COLUMN_NUMBER, true },			\
	{ "MAX-WBPS", "max_wbps", COLUMN_NUMBER, true },				\
	{ "MAX-RIOPS", "max_riops", COLUMN_NUMBER, true },				\
	{ "MAX-WIOPS", "max_wiops", COLUMN_NUMBER, true }

#define PRINT_MIN(first)						\
	[first] = { "MIN-RBPS", "min_rbps", COLUMN_NUMBER, true },			\
	{ "MIN-WBPS", "min_wbps", COLUMN_NUMBER, true },				\
	{ "MIN-RIOPS", "min_riops", COLUMN_NUMBER, true },				\
	{ "MIN-WIOPS", "min_wiops", COLUMN_NUMBER, true }

#define PRINT_LATENCY(column)						\
	[column] = { "LATENCY-US", "latency_us", COLUMN_NUMBER, true },	\
	{ "WRITE-LATENCY-US", "write_latency_us", COLUMN_NUMBER, true }

/* All bounds in text, one after another, for print_bound_texts(). */
#define PRINT_BOUND_TEXTS(first)					\
	[first] = { "MAX", NULL, COLUMN_TEXT },				\
	{ "MIN", NULL, COLUMN_TEXT },					\
	{ "LATENCY", NULL, COLUMN_TEXT },				\
	{ "WRITE-LATENCY", NULL, COLUMN_TEXT }

/* All of them as numbers, one after another, for print_bounds(). */
#define PRINT_BOUNDS (LATENCY * RATES + BOUNDS - LATENCY)

struct args;
struct table;
struct row;

struct table *print_table(const char *name, const struct column *columns, size_t n, bool json);
struct table *print_asked(const char *name, const struct column *columns,
			  size_t n, const struct args *args);
struct row *print_row(struct table *table);
void print_below(struct row *row, struct row *parent);
void print_text(struct row *row, size_t column, const char *text);
void print_number(struct row *row, size_t column, uint64_t number);
void print_weight(struct row *row, size_t column, uint64_t weight);
void print_rates(struct row *row, size_t first, const struct rates *rates);
void print_bound_texts(struct row *row, size_t first, const struct bounds *bounds);
void print_bounds(struct row *row, size_t first, const struct bounds *bounds);
void print_real(struct row *row, size_t column, double number);
void print_flag(struct row *row, size_t column, bool flag);
void print_hide(struct table *table, size_t column);
void print_drop(struct row *row);
void print_repeats(struct table *table);
int print_end(struct table *table);
int print_some(struct table *table, int code);
__printf(1, 2) void print_line(const char *fmt, ...);
__printf(3, 4) void print_marked(const char *colour, const char *mark, const char *fmt, ...);
void print_lines(const char *indent, char *text);
bool print_is_terminal(FILE *stream);
int print_flush(void);

#endif
