// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, with the functions of the package bash-completion. */
#include <stdio.h>

#include "verbs/completion.h"

static const char begin[] =
"# bash completion for iobandctl; made by 'iobandctl completion bash'.\n"
"\n"
"# VERB: its options, those with an argument as --option=KIND, its operands and columns.\n"
"_iobandctl_verb()\n"
"{\n"
"	options=() operands=() columns=\n"
"	case $1 in\n";

static const char middle[] = "	esac\n"
"}\n"
"\n"
"# KIND: its words, a line each.\n"
"_iobandctl_words()\n"
"{\n"
"	case $1 in\n";

static const char end[] =
"	COLUMNS) for word in $columns; do printf '%s%s\\n' \"${cur%\"${cur##*[,+]}\"}\" $word; done ;;\n"
"	DEVICE | NAMES | PLACE | POOL | GROUP | VERB) iobandctl completion --words \"$1\" 2>/dev/null ;;\n"
"	esac\n"
"}\n"
"\n"
"# KIND: those of its words that begin with $cur, quoted as it is.  Columns match in\n"
"# any case, and need no quotes.\n"
"_iobandctl_reply()\n"
"{\n"
"	local word\n"
"	while IFS= read -r word; do\n"
"		if [[ $1 == COLUMNS ]]; then\n"
"			[[ ${word,,} != \"${cur,,}\"* ]] || COMPREPLY+=(\"$word\")\n"
"			continue\n"
"		fi\n"
"		printf -v word %q \"$word\"\n"
"		[[ $word != \"$cur\"* ]] || COMPREPLY+=(\"$word\")\n"
"	done < <(_iobandctl_words \"$1\")\n"
"	case $1 in DEVICE | FILE) _filedir ;; esac\n"
"	__ltrim_colon_completions \"$cur\"\n"
"	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null\n"
"}\n"
"\n"
"# OPTION: the kind of its argument, if it takes one.\n"
"_iobandctl_argument()\n"
"{\n"
"	local option\n"
"	for option in \"${options[@]}\"; do\n"
"		[[ $option != \"$1\"=* ]] || printf '%s' \"${option#*=}\"\n"
"	done\n"
"}\n"
"\n"
"_iobandctl()\n"
"{\n"
"	local cur words cword options operands columns kind word i n=0\n"
"	COMPREPLY=()\n"
"	_get_comp_words_by_ref -n := cur words cword\n"
"	if ((cword == 1)); then\n"
"		_iobandctl_reply VERB\n"
"		return\n"
"	fi\n"
"	_iobandctl_verb \"${words[1]}\"\n"
"	for ((i = 2; i < cword; i++)); do\n"
"		case ${words[i]} in\n"
"		--*=*) ;;\n"
"		-*) [[ -z $(_iobandctl_argument \"${words[i]}\") ]] || ((i++)) ;;\n"
"		*) ((n++)) ;;\n"
"		esac\n"
"	done\n"
"	if ((i > cword)); then\n"
"		_iobandctl_reply \"$(_iobandctl_argument \"${words[cword - 1]}\")\"\n"
"	elif [[ $cur == --*=* ]]; then\n"
"		kind=$(_iobandctl_argument \"${cur%%=*}\")\n"
"		cur=${cur#*=}\n"
"		_iobandctl_reply \"$kind\"\n"
"	elif [[ $cur == -* ]]; then\n"
"		for word in \"${options[@]%%=*}\"; do\n"
"			[[ $word != \"$cur\"* ]] || COMPREPLY+=(\"$word\")\n"
"		done\n"
"	else\n"
"		((n < ${#operands[@]})) || n=$((${#operands[@]} - 1))\n"
"		((n >= 0)) || return\n"
"		kind=${operands[n]}\n"
"		_iobandctl_reply \"$kind\"\n"
"	fi\n"
"}\n"
"complete -F _iobandctl iobandctl\n";

static void print_option(const struct option_spec *option)
{
	const char *argument = option->arg ? option->arg : "";
	char letter = args_letter(option);

	printf("--%s%s%s ", option->name, *argument ? "=" : "", argument);
	if (letter)
		printf("-%c%s%s ", letter, *argument ? "=" : "", argument);
}

static void print_verb(const struct verb *verb)
{
	const struct option_spec *option;
	struct operand operand;

	printf("	%s)\n		options=(", verb->name);
	for (size_t i = 0; (option = args_option(verb, i)); i++)
		print_option(option);
	fputs(")\n		operands=(", stdout);
	for (size_t i = 0; completion_operand(verb, i, &operand); i++)
		printf("%s%s", i ? " " : "", operand.kind);
	fputs(")\n		columns='", stdout);
	completion_columns(verb);
	fputs("'\n		;;\n", stdout);
}

/* Print the script for bash. */
void completion_bash(const struct verb *const *verbs)
{
	const struct fixed_kind *fixed;

	fputs(begin, stdout);
	for (; *verbs; verbs++)
		print_verb(*verbs);
	fputs(middle, stdout);
	for (fixed = completion_fixed_kinds; fixed->kind; fixed++)
		printf("	%s) printf '%%s\\n' %s ;;\n", fixed->kind, fixed->words);
	fputs(end, stdout);
}
