// SPDX-License-Identifier: GPL-2.0-only
/*
 * iobandctl completion: what shells need to complete iobandctl's command line,
 * from the table of verbs and their options.
 *
 * What a word is, its kind, is what the usage calls it: DEVICE, GROUP, FILE...
 * Shells ask for those that there are by completion --words KIND.
 */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "print/print.h"
#include "verbs/completion.h"
#include "verbs/verbs.h"

const struct fixed_kind completion_fixed_kinds[] = {
	{ "MODE", "cgroup device device+cgroup uid gid pid pgrp" },
	{ "MEASURE", "bytes ios time" },
	{ "DEPTH", "auto" },
	{ "MS", "auto" },
	{ "WEIGHT", "default" },
	{ "RATE", "rbps= wbps= riops= wiops= default" },
	{
		"KEY=VALUE",
		"weight= latency= max_rbps= max_wbps= max_riops= max_wiops= max= min_rbps= min_wbps= min_riops= min_wiops= min= measure= depth= slice= writes_starved= mode=",
	},
	{ "TIME", "none" },
	{ "COLUMN", "group pool weight due share bytes ios held wait wait99 service serv99" },
	{ "WHAT", "bandwidth iops wait service share" },
	{ "SHELL", "bash zsh fish" },
	{ .kind = NULL }
};

/*
 * NAMES are those of ioband devices that there are; NAME is to be thought of.
 * PLACE is a pool or a device.
 */
static const char *const asked[] = { "DEVICE", "NAMES", "PLACE", "POOL", "GROUP",
	"VERB" };

/**
 * completion_operand() - the arguments of a verb, one after another
 * @verb: the verb
 * @i: which, from 0
 * @operand: the result
 *
 * Return: false after the last.
 */
bool completion_operand(const struct verb *verb, size_t i,
			struct operand *operand)
{
	struct span rest = span_of(verb->args), word;

	do {
		if (!span_word(&rest, &word))
			return false;
	} while (i--);
	if (*word.start == '[')
		word = (struct span){ word.start + 1, word.length - 2 };
	operand->repeats = word.length > 3 &&
			   !strncmp(word.start + word.length - 3, "...", 3);
	if (operand->repeats)
		word.length -= 3;
	if (operand->repeats && span_is(word, "NAME"))
		word = span_of("NAMES");
	if (span_is(word, "POOL|DEVICE"))
		word = span_of("PLACE");
	return span_copy(word, operand->kind, sizeof(operand->kind));
}

/**
 * completion_fixed() - the words of a kind, if they are always the same
 * @kind: the kind
 *
 * Return: the words, or NULL.
 */
const char *completion_fixed(const char *kind)
{
	const struct fixed_kind *fixed;

	for (fixed = completion_fixed_kinds; fixed->kind; fixed++) {
		if (!strcmp(fixed->kind, kind))
			return fixed->words;
	}
	return NULL;
}

/**
 * completion_is_asked() - see whether there are words of a kind to ask for
 * @kind: the kind
 *
 * Return: whether completion --words has them.
 */
bool completion_is_asked(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		if (!strcmp(asked[i], kind))
			return true;
	}
	return false;
}

/**
 * completion_is_file() - see whether a kind of word may be the name of a file
 * @kind: the kind
 *
 * Return: whether it may.
 */
bool completion_is_file(const char *kind)
{
	return !strcmp(kind, "FILE") || !strcmp(kind, "DEVICE");
}

/**
 * completion_quote() - print a part of a word that stands in single quotes
 * @text: the part
 * @backslashed: the characters that want a backslash
 */
void completion_quote(const char *text, const char *backslashed)
{
	for (; *text; text++) {
		if (*text == '\'' && !strchr(backslashed, *text)) {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(backslashed, *text))
			putchar('\\');
		putchar(*text);
	}
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};

static int print_script(const char *shell)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (!strcmp(shells[i].name, shell)) {
			shells[i].print();
			return print_flush();
		}
	}
	return fail(EXIT_USAGE, "there is nothing for '%s'; SHELL is bash, zsh or fish",
		    shell);
}

static int run(const struct args *args)
{
	const char *kind = args->value[OPTION_WORDS];

	if (kind && args->n)
		return fail(EXIT_USAGE, "--words '%s': give no SHELL with it",
			    kind);
	if (kind && !completion_is_asked(kind))
		return fail(EXIT_USAGE,
			    "--words '%s': it is DEVICE, NAMES, PLACE, POOL, GROUP or VERB",
			    kind);
	if (kind)
		return completion_words(kind);
	if (!args->n)
		return fail(EXIT_USAGE, "name the SHELL: bash, zsh or fish");
	return print_script(args->operand[0]);
}

static const struct option_spec options[] = {
	{ OPTION_WORDS, "words", "KIND",
	  "print what there is of DEVICE, NAMES, PLACE, POOL, GROUP or VERB, a line each" },
	{ .name = NULL }
};

const struct verb verb_completion = {
	.name = "completion",
	.args = "SHELL",
	.summary = "Print what bash, zsh or fish needs to complete command lines",
	.max = 1,
	.options = options,
	.run = run,
};
