// SPDX-License-Identifier: GPL-2.0-only
/* The command line of a verb: its parser and its usage.  Pure. */
#define _GNU_SOURCE
#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "print/args.h"

static const struct option_spec help_option = {
	OPTION_HELP, "help", NULL, "print this and exit"
};

/**
 * args_option() - iterate over the options of a verb
 * @verb: the verb
 * @i: index, from 0
 *
 * Return: the option, or NULL after the last.
 */
const struct option_spec *args_option(const struct verb *verb, size_t i)
{
	const struct option_spec *spec = verb->options;

	for (; spec->name && i; i--)
		spec++;
	if (spec->name || !verb->shared)
		return spec->name ? spec : NULL;
	for (spec = verb->shared; spec->name && i; i--)
		spec++;
	return spec->name ? spec : NULL;
}

static struct option getopt_option(const struct option_spec *spec)
{
	return (struct option){
		.name = spec->name,
		.has_arg = spec->arg ? required_argument : no_argument,
		.val = spec->id,
	};
}

/* The values of letters are above those of the ids. */
static_assert(OPTIONS < 'A', "getopt tells options by one number");

/* The short form of an option; 0 if it has none. */
static char letter_of(const struct option_spec *spec)
{
	return spec->id == OPTION_OUTPUT ? 'o' : 0;
}

/* The option for a result of getopt: its id or its letter. */
static const struct option_spec *spec_found(const struct verb *verb, int found)
{
	const struct option_spec *spec;

	for (size_t i = 0; (spec = args_option(verb, i)); i++) {
		if ((int)spec->id == found || letter_of(spec) == found)
			return spec;
	}
	return &help_option;
}

static void add_letter(char *letters, const struct option_spec *spec)
{
	const char letter[] = { letter_of(spec), spec->arg ? ':' : 0, 0 };

	if (*letter)
		strcat(letters, letter);
}

static int getopt_problem(int found, char **argv, struct problem *problem)
{
	const char *word = argv[optind - 1];

	if (found == ':')
		return problem_set(problem, "option '%s' needs an argument",
				   word);
	if (optopt > OPTIONS)
		return problem_set(problem, "there is no option '-%c'", optopt);
	if (optopt)
		return problem_set(problem, "option '%s' takes no argument",
				   word);
	return problem_set(problem, "there is no option '%s' (or it is short for several)",
			   word);
}

static int check_operands(const struct verb *verb, const struct args *args,
			  struct problem *problem)
{
	if (args->value[OPTION_HELP])
		return 0;
	if (args->n < verb->min)
		return problem_set(problem, "too few arguments; it takes: %s",
				   verb->args);
	if (verb->max != ARGS_ANY && args->n > verb->max)
		return problem_set(problem, "'%s' is too much; it takes: %s",
				   args->operand[verb->max],
				   *verb->args ? verb->args : "no arguments");
	return 0;
}

/**
 * args_parse() - read the command line of a verb
 * @verb: the verb
 * @argc: number of words
 * @argv: the words, the verb first; the function permutes them
 * @args: the result, which points into @argv
 * @problem: the error
 *
 * Return: 0, or -1 with @problem set.
 */
int args_parse(const struct verb *verb, int argc, char **argv,
	       struct args *args, struct problem *problem)
{
	struct option options[OPTIONS + 1] = { getopt_option(&help_option) };
	char letters[2 * OPTIONS + 2] = ":";
	const struct option_spec *spec;
	int found;

	for (size_t i = 0; (spec = args_option(verb, i)); i++) {
		options[i + 1] = getopt_option(spec);
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
			return problem_set(problem, "option '--%s' comes twice",
					   spec->name);
		args->value[spec->id] = optarg ? optarg : spec->name;
	}
	args->operand = argv + optind;
	args->n = argc - optind;
	return check_operands(verb, args, problem);
}

static void print_option(const struct option_spec *spec, FILE *stream)
{
	int width = fprintf(stream, "  --%s%s%s", spec->name,
			    spec->arg ? " " : "", spec->arg ? spec->arg : "");

	fprintf(stream, "%*s%s\n", width < 24 ? 24 - width : 1, "", spec->help);
}

/**
 * args_usage() - print the usage of a verb
 * @verb: the verb
 * @stream: receives it
 */
void args_usage(const struct verb *verb, FILE *stream)
{
	const struct option_spec *spec;

	fprintf(stream, "Usage: iobandctl %s [OPTION...]%s%s\n\n%s.\n\n",
		verb->name, *verb->args ? " " : "", verb->args, verb->summary);
	for (size_t i = 0; (spec = args_option(verb, i)); i++)
		print_option(spec, stream);
	print_option(&help_option, stream);
}
