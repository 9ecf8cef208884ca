// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl: the table of verbs and their dispatch. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

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
	&verb_check,
	&verb_list,
	&verb_status,
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
	&verb_stat,
	&verb_top,
	&verb_explain,
	&verb_metrics,
	&verb_record,
	&verb_plot,
	&verb_check_config,
	&verb_apply,
	&verb_dump,
	&verb_watch,
	&verb_udev,
	&verb_completion,
	&verb_help,
	NULL
};

static void usage(FILE *stream)
{
	fputs("Usage: iobandctl VERB [OPTION...] [ARGUMENT...]\n"
	      "       iobandctl --help | --version\n\n"
	      "Proportional I/O bandwidth on any block device.\n\n", stream);
	for (size_t i = 0; verbs[i]; i++)
		fprintf(stream, "  %-14s%s\n", verbs[i]->name,
			verbs[i]->summary);
	fputs("\n'iobandctl help VERB' explains a verb, 'man iobandctl-VERB' in full;\n"
	      "iobandctl(8) is about all of them.\n", stream);
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; verbs[i]; i++) {
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	}
	fail(EXIT_USAGE, "there is no verb '%s'; 'iobandctl help' lists them",
	     name);
	return NULL;
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

static const struct option_spec no_options[] = { { .name = NULL } };

static const struct verb verb_help = {
	.name = "help",
	.args = "[VERB]",
	.summary = "Explain iobandctl, or one of its verbs",
	.max = 1,
	.options = no_options,
	.run = run_help,
};

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct problem problem;
	struct args args;

	if (args_parse(verb, argc, argv, &args, &problem))
		return fail(EXIT_USAGE, "%s: %s; see 'iobandctl help %s'",
			    verb->name, problem.text, verb->name);
	args.verbs = verbs;
	if (args.value[OPTION_HELP]) {
		args_usage(verb, stdout);
		return print_flush();
	}
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
	if (!strcmp(argv[1], "--version")) {
		print_line("iobandctl %s", VERSION);
		return print_flush();
	}
	verb = find_verb(argv[1]);
	return verb ? run_verb(verb, argc - 1, argv + 1) : EXIT_USAGE;
}
