/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_COMPLETION_H
#define IOBANDCTL_COMPLETION_H

#include <stdbool.h>

#include "print/args.h"

#define KIND_SIZE 16

/* A kind of word with a constant list of words. */
struct fixed_kind {
	const char *kind;	/* the kind; NULL ends an array of them */
	const char *words;
};

extern const struct fixed_kind completion_fixed_kinds[];

/* An argument of a verb. */
struct operand {
	char kind[KIND_SIZE];	/* its name in the usage */
	bool repeats;	/* it may be repeated any number of times */
};

/* completion-kinds.c */
bool completion_operand(const struct verb *verb, size_t i, struct operand *operand);
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
