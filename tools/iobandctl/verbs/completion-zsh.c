// SPDX-License-Identifier: GPL-2.0-only
/* Completion for zsh. */
#include <stdio.h>
#include <string.h>

#include "verbs/completion.h"

static const char begin[] = "#compdef iobandctl\n"
"# Made by 'iobandctl completion zsh'.\n"
"\n"
"_iobandctl_words() {\n"
"	local -a found\n"
"	found=(${(f)\"$(iobandctl completion --words $1 2>/dev/null)\"})\n"
"	compadd -a found\n"
"}\n"
"\n"
"_iobandctl_device() {\n"
"	_iobandctl_words DEVICE\n"
"	_files\n"
"}\n"
"\n"
"_iobandctl() {\n"
"	local -a verbs=(\n";

static const char middle[] = "	)\n"
"	if (( CURRENT == 2 )); then\n"
"		_describe verb verbs\n"
"		return\n"
"	fi\n"
"	shift words\n"
"	(( CURRENT-- ))\n"
"	case $words[1] in\n";

static const char end[] = "	esac\n"
"}\n"
"\n"
"_iobandctl \"$@\"\n";

static void print_kind(const struct verb *verb, const char *kind)
{
	const char *words = completion_fixed(kind);

	printf(":%s:", kind);
	if (!strcmp(kind, "COLUMNS")) {
		fputs(" _values -s , column ", stdout);
		completion_columns(verb);
	} else if (words) {
		printf("(%s)", words);
	} else if (completion_is_file(kind)) {
		fputs(completion_is_asked(kind) ? "_iobandctl_device" : "_files", stdout);
	} else if (completion_is_asked(kind)) {
		printf(" _iobandctl_words %s", kind);
	} else {
		/* An empty list: the alternative, a message, would suppress options. */
		fputs("()", stdout);
	}
}

static void print_form(const struct verb *verb, const struct option_spec *option,
		       const char *dashes, const char *name, const char *joint)
{
	printf(" \\\n			'%s%s%s[", dashes, name, option->arg ? joint : "");
	completion_quote(option->help, "\\[]:");
	putchar(']');
	if (option->arg)
		print_kind(verb, option->arg);
	putchar('\'');
}

static void print_option(const struct verb *verb, const struct option_spec *option)
{
	const char letter[] = { args_letter(option), 0 };

	print_form(verb, option, "--", option->name, "=");
	if (*letter)
		print_form(verb, option, "-", letter, "+");
}

static void print_verb(const struct verb *verb)
{
	const struct option_spec *option;
	struct operand operand;

	printf("	%s)\n		_arguments", verb->name);
	for (size_t i = 0; (option = args_option(verb, i)); i++)
		print_option(verb, option);
	for (size_t i = 0; completion_operand(verb, i, &operand); i++) {
		fputs(" \\\n			'", stdout);
		if (operand.repeats)
			putchar('*');
		else
			printf("%zu", i + 1);
		print_kind(verb, operand.kind);
		putchar('\'');
	}
	fputs("\n		;;\n", stdout);
}

/* Print the script for zsh. */
void completion_zsh(const struct verb *const *verbs)
{
	fputs(begin, stdout);
	for (size_t i = 0; verbs[i]; i++) {
		printf("		'%s:", verbs[i]->name);
		completion_quote(verbs[i]->summary, "\\:");
		fputs("'\n", stdout);
	}
	fputs(middle, stdout);
	for (size_t i = 0; verbs[i]; i++)
		print_verb(verbs[i]);
	fputs(end, stdout);
}
