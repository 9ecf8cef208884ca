/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ARGS_H
#define IOBANDCTL_ARGS_H

#include <stdio.h>

#include "base/error.h"
#include "print/columns.h"

enum option_id {
	OPTION_BATCH = 1,	/* 0 is getopt's */
	OPTION_BYTES,
	OPTION_CONFIG,
	OPTION_COUNT,
	OPTION_DEFERRED,
	OPTION_DEPTH,
	OPTION_DEVICE,
	OPTION_DRY_RUN,
	OPTION_DURATION,
	OPTION_ENABLE_CONTROLLER,
	OPTION_EXIT_CODE,
	OPTION_FORCE,
	OPTION_FROM,
	OPTION_GONE,
	OPTION_GROUPS,
	OPTION_HELP,
	OPTION_INSERT,
	OPTION_INTERVAL,
	OPTION_JSON,
	OPTION_LOST,
	OPTION_MEASURE,
	OPTION_MODE,
	OPTION_NAME,
	OPTION_NO_HEADINGS,
	OPTION_OPENMETRICS,
	OPTION_OUTPUT,
	OPTION_POOL,
	OPTION_SLICE,
	OPTION_SORT,
	OPTION_SUM,
	OPTION_INPUT,
	OPTION_VERSION,
	OPTION_WEIGHT,
	OPTION_WEIGHTS,
	OPTION_WHAT,
	OPTION_WORDS,
	OPTION_WRITES_STARVED,
	OPTIONS,
};

/* An option of a verb. */
struct option_spec {
	enum option_id id;	/* index of its value */
	const char *name;	/* without the dashes; NULL ends a list of options */
	const char *arg;	/* the name of its argument, NULL if it takes none */
	const char *help;
};

/* The parsed command line of a verb. */
struct args {
	/* By option: its argument, or its name if it takes none; NULL if it is absent. */
	const char *value[OPTIONS];
	char **operand;	/* the remaining words */
	int n;
	const struct verb *verb;
	const struct verb *const *verbs;	/* the table of verbs, ended by NULL */
};

#define ARGS_ANY (-1)

/* A verb of iobandctl. */
struct verb {
	const char *name;	/* as typed */
	const char *args;	/* its operands, for the usage */
	const char *summary;	/* its description, for the usage */
	int min;	/* fewest operands */
	int max;	/* most operands, or ARGS_ANY */
	/* Its own options, ended by one without a name; NULL if there are none. */
	const struct option_spec *options;
	/* Further options, shared with other verbs; NULL if there are none. */
	const struct option_spec *shared;
	/* The function of the verb; returns an exit code. */
	int (*run)(const struct args *args);
	const void *about;	/* data for a function @run of several verbs */
	/* The columns for -o, if the options include SPEC_COLUMNS. */
	const struct column *columns;
	size_t n_columns;
};

/* Options of several verbs. */
#define SPEC_JSON { OPTION_JSON, "json", NULL, "print JSON" }
#define SPEC_OUTPUT(help) { OPTION_OUTPUT, "output", "FILE", help }
#define SPEC_COLUMNS { OPTION_OUTPUT, "output", "COLUMNS",		\
	"print these columns, as NAME,SIZE; with + in front, these too" }
#define SPEC_NO_HEADINGS { OPTION_NO_HEADINGS, "noheadings", NULL, "print no headings" }
#define SPEC_BYTES { OPTION_BYTES, "bytes", NULL, "print sizes and rates as plain numbers" }
#define SPEC_CONFIG { OPTION_CONFIG, "config", "FILE",			\
	"read this configuration only; - is standard input" }
#define SPEC_DEVICE { OPTION_DEVICE, "device", "DEVICE",		\
	"only the groups of this ioband device" }
#define SPEC_POOL { OPTION_POOL, "pool", "POOL",			\
	"only the groups of this pool" }

char args_letter(const struct option_spec *spec);
const struct option_spec *args_option(const struct verb *verb, size_t i);
int args_parse(const struct verb *verb, int argc, char **argv,
	       struct args *args, struct problem *problem);
void args_usage(const struct verb *verb, FILE *stream);

#endif
