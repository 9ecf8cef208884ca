/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_COMPLETION_H
#define IOBANDCTL_COMPLETION_H

#include <stdbool.h>

#include "print/args.h"

#define KIND_SIZE 16

/**
 * struct fixed_kind - a kind of word with a constant list of words
 * @kind: the kind; NULL ends an array of them
 * @words: the words
 */
struct fixed_kind {
	const char *kind;
	const char *words;
};

extern const struct fixed_kind completion_fixed_kinds[];

/**
 * struct operand - an argument of a verb
 * @kind: its name in the usage
 * @repeats: it may be repeated any number of times
 */
struct operand {
	char kind[KIND_SIZE];
	bool repeats;
};

/* completion-kinds.c */
bool completion_operand(const struct verb *verb, size_t i,
			struct operand *operand);
const char *completion_fixed(const char *kind);
void completion_columns(const struct verb *verb);
bool completion_is_asked(const char *kind);
bool completion_is_file(const char *kind);
void completion_quote(const char *text, const char *backslashed);

void completion_bash(const struct verb *const *verbs);
void completion_zsh(const struct verb *const *verbs);
void completion_fish(const struct verb *const *verbs);
int completion_words(const char *kind, const struct verb *const *verbs);

#endif
