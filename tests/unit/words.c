// SPDX-License-Identifier: GPL-2.0-only
/*
 * A line cut into words.
 */
#include "words.h"

#include <stdlib.h>
#include <string.h>

void words_split(struct words *words, const char *line)
{
	size_t len;

	words->nr = 0;
	if (!*line)
		return;
	for (;; line += len + 1) {
		len = strcspn(line, " ");
		words->word[words->nr] = strndup(line, len);
		if (!words->word[words->nr])
			abort();
		words->nr++;
		if (!line[len] || words->nr == WORDS_MAX)
			return;
	}
}

void words_free(struct words *words)
{
	while (words->nr)
		free(words->word[--words->nr]);
}

bool words_are(const struct words *words, const char *line)
{
	struct words anew;
	bool same;
	unsigned int i;

	words_split(&anew, line);
	same = words->nr == anew.nr;
	for (i = 0; same && i < words->nr; i++)
		same = !strcmp(words->word[i], anew.word[i]);
	words_free(&anew);
	return same;
}
