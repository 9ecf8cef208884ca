// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kinds of words of a command line, as shells complete them.
 *
 * The kind of a word is its name in the usage: DEVICE, GROUP, FILE...  Shells get
 * the present words of a kind from completion --words KIND.
 */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "verbs/completion.h"

const struct fixed_kind completion_fixed_kinds[] = {
	{ "MODE", "cgroup device device+cgroup uid gid pid pgrp" },
	{ "MEASURE", "bytes ios time" },
	{ "DEPTH", "auto" },
	{ "MS", "auto" },
	{ "WEIGHT", "idle default" },
	{ "RATE", "rbps= wbps= riops= wiops= default" },
	{
		"KEY=VALUE",
		"weight= latency= write_latency= max_rbps= max_wbps= max_riops= max_wiops= max= min_rbps= min_wbps= min_riops= min_wiops= min= measure= depth= slice= writes_starved= mode=",
	},
	{ "TIME", "none" },
	{ "COLUMN", "group pool weight due share bytes ios held wait wait99 service serv99" },
	{ "WHAT", "bandwidth iops wait service share" },
	{ "SHELL", "bash zsh fish" },
	{ .kind = NULL }
};

/*
 * NAMES are names of existing ioband devices.  NAME, the name of a new device, has
 * no words.  PLACE is a pool or a device.
 */
static const char *const asked[] = { "DEVICE", "NAMES", "PLACE", "POOL", "GROUP", "VERB" };

/*
 * The arguments of a verb, one after another.
 * @i: index, from 0
 * Return: false after the last.
 */
bool completion_operand(const struct verb *verb, size_t i, struct operand *operand)
{
	struct span rest = span_of(verb->args), word;

	do {
		if (!span_word(&rest, &word))
			return false;
	} while (i--);
	if (*word.start == '[')
		word = (struct span){ word.start + 1, word.length - 2 };
	operand->repeats = word.length > 3 && !strncmp(word.start + word.length - 3, "...", 3);
	if (operand->repeats)
		word.length -= 3;
	if (operand->repeats && span_is(word, "NAME"))
		word = span_of("NAMES");
	if (span_is(word, "POOL|DEVICE"))
		word = span_of("PLACE");
	return span_copy(word, operand->kind, sizeof(operand->kind));
}

/* The words of a kind, if they are always the same.  Return: the words, or NULL. */
const char *completion_fixed(const char *kind)
{
	const struct fixed_kind *fixed;

	for (fixed = completion_fixed_kinds; fixed->kind; fixed++) {
		if (!strcmp(fixed->kind, kind))
			return fixed->words;
	}
	return NULL;
}

/* Print the names of a verb's columns. */
void completion_columns(const struct verb *verb)
{
	const char *blank = "";

	for (size_t i = 0; i < verb->n_columns; i++) {
		if (!verb->columns[i].title)
			continue;
		printf("%s%s", blank, verb->columns[i].title);
		blank = " ";
	}
}

/* Check whether completion --words supports a kind. */
bool completion_is_asked(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		if (!strcmp(asked[i], kind))
			return true;
	}
	return false;
}

/* Check whether words of a kind may be names of files. */
bool completion_is_file(const char *kind)
{
	return !strcmp(kind, "FILE") || !strcmp(kind, "DEVICE");
}

/*
 * Print a part of a word inside single quotes.
 * @backslashed: the characters that need a backslash
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
