/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WORDS_H
#define IOBANDCTL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a text in another buffer. */
struct span {
	const char *start;	/* first byte */
	size_t length;	/* in bytes; no terminating NUL */
};

struct span span_of(const char *text);
bool span_line(struct span *rest, struct span *line);
bool span_word(struct span *rest, struct span *word);
void span_item(struct span *rest, char separator, struct span *item);
bool span_key(struct span word, struct span *key, struct span *value);
bool span_is(struct span span, const char *text);
bool span_u64(struct span span, uint64_t max, uint64_t *value);
bool span_copy(struct span span, char *buffer, size_t size);
char *span_unescape(struct span span);
char *text_escape(const char *text);
char *text_escape_pattern(const char *text);
char *text_utf8(const char *text);
char *text_visible(const char *text, bool ascii);
char *text_json(const char *json);
const char *text_after(const char *text, const char *prefix);
bool text_is_in(const char *text, const char *const *words);
bool text_begins_in(const char *text, const char *const *prefixes);
const char *span_show(struct span span, char buffer[48]);

/* Whether a text is one of these words, or begins with one of them. */
#define text_is(text, ...) text_is_in(text, (const char *const []){ __VA_ARGS__, NULL })
#define text_begins(text, ...) text_begins_in(text, (const char *const []){ __VA_ARGS__, NULL })

#endif
