// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl: the table of verbs and their dispatch.
 *
 * main() finds the verb, args_parse() in print/args.c reads its options and operands, and run()
 * in verbs/ does the rest.  Most verbs read all ioband devices with ioband_load(), ask or change
 * them with the messages in ioband/query.c, and print a table with print/print.c.  An error is
 * reported by fail() where it is found, and its exit code is returned up to main().
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "host/reach.h"
#include "print/print.h"
#include "verbs/verbs.h"

static const struct verb verb_help;

static const struct verb *const verbs[] = {
	&verb_wrap,
	&verb_unwrap,
	&verb_insert,
	&verb_extract,
	&verb_create,
	&verb_remove,
	&verb_resize,
	&verb_table,
	&verb_list,
	&verb_set,
	&verb_get,
	&verb_set_weight,
	&verb_get_weight,
	&verb_set_max,
	&verb_get_max,
	&verb_set_min,
	&verb_get_min,
	&verb_set_latency,
	&verb_get_latency,
	&verb_groups,
	&verb_status,
	&verb_stat,
	&verb_top,
	&verb_explain,
	&verb_metrics,
	&verb_record,
	&verb_plot,
	&verb_check_config,
	&verb_apply,
	&verb_dump,
	&verb_check,
	&verb_watch,
	&verb_udev,
	&verb_completion,
	&verb_help,
	NULL
};

/* Where "help" has a heading. */
static const struct {
	const char *title;
	const struct verb *first;
} sections[] = {
	{ "Devices", &verb_wrap },
	{ "Groups", &verb_set },
	{ "Observe", &verb_status },
	{ "Configure", &verb_check_config },
	{ "Service", &verb_check },
};

static void print_verb(FILE *stream, const struct verb *verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (sections[i].first == verb)
			fprintf(stream, "\n%s:\n", sections[i].title);
	}
	fprintf(stream, "  %-14s%s\n", verb->name, verb->summary);
}

static void usage(FILE *stream)
{
	fputs("Usage: iobandctl VERB [OPTION...] [ARGUMENT...]\n"
	      "       iobandctl --help | --version\n\n"
	      "Proportional I/O bandwidth on any block device.\n", stream);
	for (size_t i = 0; verbs[i]; i++)
		print_verb(stream, verbs[i]);
	fputs("\n'iobandctl help VERB' explains a verb, 'man iobandctl-VERB' in full;\n"
	      "iobandctl(8) is about all of them.\n", stream);
}

/* How many letters are missing, too many, wrong or swapped; @most + 1 if it is more. */
static int distance(const char *a, const char *b, int most)
{
	int best = most;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!*a && !*b)
		return 0;
	if (!most)
		return 1;
	if (*a)
		best = MIN(best, distance(a + 1, b, most - 1));
	if (*b)
		best = MIN(best, distance(a, b + 1, most - 1));
	if (*a && *b)
		best = MIN(best, distance(a + 1, b + 1, most - 1));
	if (*a && *b && a[0] == b[1] && a[1] == b[0])
		best = MIN(best, distance(a + 2, b + 2, most - 1));
	return best + 1;
}

/* The verb that was most likely meant, if there is one. */
static const struct verb *near_miss(const char *name)
{
	const struct verb *found = NULL;
	int most = strlen(name) > 3 ? 2 : 1;

	for (size_t i = 0; verbs[i] && most >= 0; i++) {
		int away = distance(name, verbs[i]->name, most);

		if (away > most)
			continue;
		found = verbs[i];
		most = away - 1;
	}
	return found;
}

static const struct verb *find_verb(const char *name)
{
	const struct verb *near;

	for (size_t i = 0; verbs[i]; i++) {
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	}
	near = near_miss(name);
	fail(EXIT_USAGE, "there is no verb '%s'; %s%s%s'iobandctl help' lists them", name,
	     near ? "did you mean '" : "", near ? near->name : "", near ? "'? " : "");
	return NULL;
}

static int print_version(void)
{
	print_line("iobandctl %s", VERSION);
	return print_flush();
}

static int run_help(const struct args *args)
{
	const struct verb *verb = NULL;

	if (args->n) {
		verb = find_verb(args->operand[0]);
		if (!verb)
			return EXIT_USAGE;
		args_usage(verb, stdout);
	} else {
		usage(stdout);
	}
	return print_flush();
}

static const struct verb verb_help = {
	.name = "help",
	.args = "[VERB]",
	.summary = "Explain iobandctl, or one of its verbs",
	.max = 1,
	.run = run_help,
};

/* The first file of a command line on a file system without an answer, or NULL. */
static const char *silent_file(const struct args *args)
{
	const struct option_spec *spec;
	const char *path;

	for (size_t i = 0; (spec = args_option(args->verb, i)); i++) {
		path = args->value[spec->id];
		if (path && spec->arg && !strcmp(spec->arg, "FILE") && !reach_answers(path))
			return path;
	}
	path = args->operand[0];
	return path && !strcmp(args->verb->args, "FILE") && !reach_answers(path) ? path : NULL;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct problem problem;
	struct args args;
	const char *silent;

	if (args_parse(verb, argc, argv, &args, &problem))
		return fail(EXIT_USAGE, "%s: %s; see 'iobandctl help %s'",
			    verb->name, problem.text, verb->name);
	args.verbs = verbs;
	if (args.value[OPTION_HELP]) {
		args_usage(verb, stdout);
		return print_flush();
	}
	if (args.value[OPTION_VERSION])
		return print_version();
	silent = silent_file(&args);
	if (silent)
		return fail(EXIT_FAILED, "%s: its file system does not answer", silent);
	return verb->run(&args);
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	/* LC_NUMERIC stays "C": the decimal mark of JSON is a point. */
	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return print_flush();
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return print_version();
	verb = find_verb(argv[1]);
	return verb ? run_verb(verb, argc - 1, argv + 1) : EXIT_USAGE;
}
