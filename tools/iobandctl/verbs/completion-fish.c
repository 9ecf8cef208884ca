// SPDX-License-Identifier: GPL-2.0-only
/* Completion for fish. */
#include <stdio.h>
#include <string.h>

#include "verbs/completion.h"

static const char begin[] =
"# Completion of iobandctl for fish; made by 'iobandctl completion fish'.\n"
"\n"
"function __iobandctl_words\n"
"	iobandctl completion --words $argv[1] 2>/dev/null\n"
"end\n"
"\n"
"# Each column, behind the columns that are typed already.\n"
"function __iobandctl_columns\n"
"	set -l typed (commandline -ct | string replace -r -- '^(--output=|-o)' '' |\n"
"		string replace -r -- '[^,+]*$' '')\n"
"	printf '%s\\n' \"$typed\"$argv\n"
"end\n"
"\n"
"complete -c iobandctl -f\n";

/* The words of a kind, as the last arguments of a complete command. */
static void print_kind(const struct verb *verb, const char *kind)
{
	const char *words = completion_fixed(kind);

	if (completion_is_file(kind))
		fputs(" -F", stdout);
	if (!strcmp(kind, "COLUMNS")) {
		fputs(" -a '(__iobandctl_columns ", stdout);
		completion_columns(verb);
		fputs(")'", stdout);
	} else if (words) {
		printf(" -a '%s'", words);
	} else if (completion_is_asked(kind)) {
		printf(" -a '(__iobandctl_words %s)'", kind);
	}
}

static void print_when(const struct verb *verb)
{
	printf("complete -c iobandctl -n '__fish_seen_subcommand_from %s'", verb->name);
}

static void print_words(const struct verb *verb)
{
	const struct option_spec *option;
	struct operand operand;

	for (size_t i = 0; (option = args_option(verb, i)); i++) {
		print_when(verb);
		if (args_letter(option))
			printf(" -s %c", args_letter(option));
		printf(" -l %s -d '", option->name);
		completion_quote(option->help, "\\'");
		fputs("'", stdout);
		if (option->arg)
			fputs(completion_is_file(option->arg) ? " -r" : " -x", stdout);
		if (option->arg)
			print_kind(verb, option->arg);
		putchar('\n');
	}
	for (size_t i = 0; completion_operand(verb, i, &operand); i++) {
		print_when(verb);
		print_kind(verb, operand.kind);
		putchar('\n');
	}
}

/* Print the script for fish. */
void completion_fish(const struct verb *const *verbs)
{
	fputs(begin, stdout);
	for (size_t i = 0; verbs[i]; i++) {
		printf("complete -c iobandctl -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
		completion_quote(verbs[i]->summary, "\\'");
		fputs("'\n", stdout);
	}
	for (size_t i = 0; verbs[i]; i++)
		print_words(verbs[i]);
}
