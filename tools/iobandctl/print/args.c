// SPDX-License-Identifier: GPL-2.0-only
/* The command line of a verb: its parser and its usage.  Pure. */
#define _GNU_SOURCE
#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/alloc.h"
#include "base/defs.h"
#include "print/args.h"

/* The options of all verbs. */
static const struct option_spec common[] = {
	{ OPTION_HELP, "help", NULL, "print this and exit" },
	{ OPTION_VERSION, "version", NULL, "print the version and exit" },
	{ .name = NULL }
};

/* The short form of an option.  Return: a letter, or 0 if it has none. */
char args_letter(const struct option_spec *spec)
{
	static const char letters[OPTIONS] = {
		[OPTION_BYTES] = 'b',
		[OPTION_HELP] = 'h',
		[OPTION_NO_HEADINGS] = 'n',
		[OPTION_OUTPUT] = 'o',
		[OPTION_VERSION] = 'V',
	};

	return letters[spec->id];
}

/*
 * The options of a verb, one after another.
 * @i: index, from 0
 * Return: the option, or NULL after the last.
 */
const struct option_spec *args_option(const struct verb *verb, size_t i)
{
	const struct option_spec *const lists[] = { verb->options, verb->shared, common };

	for (size_t list = 0; list < ARRAY_SIZE(lists); list++) {
		const struct option_spec *spec = lists[list];

		for (; spec && spec->name; spec++) {
			if (!i--)
				return spec;
		}
	}
	return NULL;
}

static struct option getopt_option(const struct option_spec *spec)
{
	return (struct option){
		.name = spec->name,
		.has_arg = spec->arg ? required_argument : no_argument,
		.val = spec->id,
	};
}

/* getopt returns an id or a letter: ids must be below all letters. */
static_assert(OPTIONS < 'A', "getopt tells options by one number");

/* The option that getopt found, by its id or its letter. */
static const struct option_spec *spec_found(const struct verb *verb, int found)
{
	const struct option_spec *spec;

	for (size_t i = 0; (spec = args_option(verb, i)); i++) {
		if ((int)spec->id == found || args_letter(spec) == found)
			break;
	}
	return spec;
}

static void add_letter(char *letters, const struct option_spec *spec)
{
	const char letter[] = { args_letter(spec), spec->arg ? ':' : 0, 0 };

	if (*letter)
		strcat(letters, letter);
}

static int getopt_problem(int found, char **argv, struct problem *problem)
{
	const char *word = argv[optind - 1];

	if (found == ':')
		return problem_set(problem, "option '%s' needs an argument", word);
	if (optopt > OPTIONS)
		return problem_set(problem, "there is no option '-%c'", optopt);
	if (optopt)
		return problem_set(problem, "option '%s' takes no argument", word);
	return problem_set(problem, "there is no option '%s' (or it is short for several)", word);
}

static int check_columns(const struct verb *verb, const struct args *args, struct problem *problem)
{
	size_t *chosen __free = NULL;
	int count;

	if (!verb->columns)
		return 0;
	chosen = xcalloc(verb->n_columns, sizeof(*chosen));
	count = columns_choose(args->value[OPTION_OUTPUT], verb->columns, verb->n_columns,
			       args->value[OPTION_JSON], chosen, problem);
	return count < 0 ? -1 : 0;
}

static int check_operands(const struct verb *verb, const struct args *args, struct problem *problem)
{
	if (args->value[OPTION_HELP] || args->value[OPTION_VERSION])
		return 0;
	if (args->n < verb->min)
		return problem_set(problem, "too few arguments; it takes: %s", verb->args);
	if (verb->max != ARGS_ANY && args->n > verb->max)
		return problem_set(problem, "'%s' is too much; it takes: %s",
				   args->operand[verb->max],
				   *verb->args ? verb->args : "no arguments");
	return check_columns(verb, args, problem);
}

/*
 * Read the command line of a verb.
 * @argv: the words, the verb first; the function permutes them
 * @args: the result, which points into @argv
 */
int args_parse(const struct verb *verb, int argc, char **argv,
	       struct args *args, struct problem *problem)
{
	struct option options[OPTIONS + 1] = { { .name = NULL } };
	char letters[2 * OPTIONS + 2] = ":";
	const struct option_spec *spec;
	int found;

	for (size_t i = 0; (spec = args_option(verb, i)); i++) {
		options[i] = getopt_option(spec);
		add_letter(letters, spec);
	}
	*args = (struct args){ .verb = verb };
	optind = 0;
	opterr = 0;
	while ((found = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (found == '?' || found == ':')
			return getopt_problem(found, argv, problem);
		spec = spec_found(verb, found);
		if (args->value[spec->id])
			return problem_set(problem, "option '--%s' comes twice", spec->name);
		args->value[spec->id] = optarg ? optarg : spec->name;
	}
	args->operand = argv + optind;
	args->n = argc - optind;
	return check_operands(verb, args, problem);
}

static void print_option(const struct option_spec *spec, FILE *stream)
{
	const char letter[] = { '-', args_letter(spec), ',', 0 };
	int width = fprintf(stream, "  %3s --%s%s%s", letter[1] ? letter : "",
			    spec->name, spec->arg ? " " : "", spec->arg ? spec->arg : "");

	fprintf(stream, "%*s%s\n", width < 28 ? 28 - width : 1, "", spec->help);
}

/* Print the default columns, or with @more the columns for -o only. */
static void print_columns(const struct verb *verb, bool more, FILE *stream)
{
	int width = fprintf(stream, "\n%s:", more ? "More with -o" : "Columns");

	for (size_t i = 0; i < verb->n_columns; i++) {
		const struct column *column = &verb->columns[i];

		if (!column->title || column->more != more)
			continue;
		if (width + strlen(column->title) > 78)
			width = fprintf(stream, "\n ") - 1;
		width += fprintf(stream, " %s", column->title);
	}
	putc('\n', stream);
}

void args_usage(const struct verb *verb, FILE *stream)
{
	const struct option_spec *spec;

	fprintf(stream, "Usage: iobandctl %s [OPTION...]%s%s\n\n%s.\n\n",
		verb->name, *verb->args ? " " : "", verb->args, verb->summary);
	for (size_t i = 0; (spec = args_option(verb, i)); i++)
		print_option(spec, stream);
	for (int more = 0; verb->columns && more < 2; more++)
		print_columns(verb, more, stream);
}
