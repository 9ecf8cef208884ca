/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A line cut into words at single spaces, each in its own piece of memory, so
 * that a step past the end of one is seen.
 */
#ifndef UNIT_WORDS_H
#define UNIT_WORDS_H

#include <linux/types.h>

#define WORDS_MAX	64

struct words {
	unsigned int nr;
	char *word[WORDS_MAX];
};

/* An empty line has no words; past WORDS_MAX the rest is left out. */
void words_split(struct words *words, const char *line);
void words_free(struct words *words);
/* Whether they still are what words_split() made of @line. */
bool words_are(const struct words *words, const char *line);

#endif /* UNIT_WORDS_H */
