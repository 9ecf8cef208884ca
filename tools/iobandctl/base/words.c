// SPDX-License-Identifier: GPL-2.0-only
/* Lines, words, numbers and escapes in the texts of ioband.  Pure. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/defs.h"
#include "base/words.h"

/*
 * A whole string.
 * @text: the string, which must outlive the span
 */
struct span span_of(const char *text)
{
	return (struct span){ .start = text, .length = strlen(text) };
}

static struct span take(struct span *rest, size_t length, size_t skip)
{
	struct span taken = { .start = rest->start, .length = length };

	rest->start += length + skip;
	rest->length -= length + skip;
	return taken;
}

static bool until(struct span *rest, char separator, struct span *piece)
{
	const char *end;

	if (!rest->length)
		return false;
	end = memchr(rest->start, separator, rest->length);
	if (end)
		*piece = take(rest, end - rest->start, 1);
	else
		*piece = take(rest, rest->length, 0);
	return true;
}

/*
 * Take the first line.
 * @rest: shortened by the line and its newline
 * @line: the line, without the newline
 * Return: false at the end of the text.
 */
bool span_line(struct span *rest, struct span *line)
{
	return until(rest, '\n', line);
}

/*
 * Take the first word of a line.
 * @rest: shortened by the word and the blanks around it
 * @word: the word, never empty
 * Return: false if only blanks are left.
 */
bool span_word(struct span *rest, struct span *word)
{
	while (rest->length && (*rest->start == ' ' || *rest->start == '\t'))
		take(rest, 0, 1);
	return until(rest, ' ', word);
}

/*
 * Take the first item of a list.
 * @rest: shortened by the item and the separator
 * @separator: the character between items
 * @item: the item; empty at the end of the list
 */
void span_item(struct span *rest, char separator, struct span *item)
{
	if (!until(rest, separator, item))
		*item = *rest;
}

/*
 * Split key=value at its first equal sign.
 * @key: the text before the sign
 * @value: the text after it, may be empty
 * Return: false if there is no sign, or no key before it.
 */
bool span_key(struct span word, struct span *key, struct span *value)
{
	const char *sign = memchr(word.start, '=', word.length);

	if (!sign || sign == word.start)
		return false;
	*key = take(&word, sign - word.start, 1);
	*value = word;
	return true;
}

/* Compare with a string. */
bool span_is(struct span span, const char *text)
{
	return span.length == strlen(text) && !memcmp(span.start, text, span.length);
}

/*
 * Read a decimal number.
 * @span: digits only: no sign, no blank
 * @max: largest number accepted
 * Return: false if it is no number or larger than @max.
 */
bool span_u64(struct span span, uint64_t max, uint64_t *value)
{
	uint64_t number = 0;

	if (!span.length)
		return false;
	for (size_t i = 0; i < span.length; i++) {
		unsigned int digit = (unsigned char)span.start[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*value = number;
	return number <= max;
}

/*
 * Copy to a buffer.
 * @span: not empty, without NUL bytes
 * @buffer: the copy, terminated by NUL
 * Return: false if it does not fit.
 */
bool span_copy(struct span span, char *buffer, size_t size)
{
	if (!span.length || span.length >= size || memchr(span.start, 0, span.length))
		return false;
	memcpy(buffer, span.start, span.length);
	buffer[span.length] = 0;
	return true;
}

static int octal(struct span span)
{
	int value = 0;

	if (span.length < 4)
		return -1;
	for (int i = 1; i < 4; i++) {
		if (span.start[i] < '0' || span.start[i] > '7')
			return -1;
		value = value * 8 + span.start[i] - '0';
	}
	return value > 0 && value < 256 ? value : -1;
}

/*
 * Read a text that has bytes written as \ooo.
 * @span: the escaped text
 * Return: the text, to be freed; NULL if an escape is malformed.
 */
char *span_unescape(struct span span)
{
	char *text = xcalloc(span.length + 1, 1), *end = text;
	int byte;

	while (span.length) {
		if (*span.start != '\\') {
			*end++ = *take(&span, 1, 0).start;
			continue;
		}
		byte = octal(span);
		if (byte < 0) {
			free(text);
			return NULL;
		}
		*end++ = byte;
		take(&span, 4, 0);
	}
	return text;
}

static char *escape_byte(char *end, unsigned char byte)
{
	*end++ = '\\';
	*end++ = '0' + (byte >> 6);
	*end++ = '0' + (byte >> 3 & 7);
	*end++ = '0' + (byte & 7);
	return end;
}

/* The length of the UTF-8 character at @text, and its code; 0 if it is invalid. */
static size_t utf8_length(const unsigned char *text, unsigned int *code)
{
	const size_t length = *text < 0x80 ? 1 : *text < 0xc2 ? 0 :
			      *text < 0xe0 ? 2 : *text < 0xf0 ? 3 :
			      *text < 0xf5 ? 4 : 0;
	unsigned int value = length > 1 ? *text & (0x7f >> length) : *text;

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	/* Overlong form, surrogate, noncharacter, above the last code point. */
	if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000) ||
	    (value >= 0xd800 && value < 0xe000) || (value & 0xfffe) == 0xfffe ||
	    value > 0x10ffff)
		return 0;
	*code = value;
	return length;
}

/*
 * Unicode's control and format characters (Cc, Cf), its line separators (Zl, Zp), and other
 * characters that a terminal may not display (Default_Ignorable_Code_Point).
 */
static const struct {
	unsigned int first;
	unsigned int last;
} invisible[] = {
	{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f },
	{ 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd },
	{ 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_invisible(unsigned int code)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(invisible) && code > invisible[i].last)
		i++;
	return i < ARRAY_SIZE(invisible) && code >= invisible[i].first;
}

static char *escape(const char *text, bool (*is_odd)(unsigned int code))
{
	char *escaped = xcalloc(4 * strlen(text) + 1, 1), *end = escaped;
	unsigned int code = 0;

	while (*text) {
		size_t length = utf8_length((const unsigned char *)text, &code);
		bool plain = length && !is_odd(code);

		for (size_t i = 0; i < (length ? length : 1); i++) {
			if (plain)
				*end++ = *text++;
			else
				end = escape_byte(end, *text++);
		}
	}
	return escaped;
}

static bool is_odd_in_word(unsigned int code)
{
	return code == ' ' || code == '\\' || is_invisible(code);
}

/*
 * Write blanks, backslashes, invisible characters and bytes that are not UTF-8 as \ooo.
 * Return: one word, to be freed.
 */
char *text_escape(const char *text)
{
	return escape(text, is_odd_in_word);
}

static bool is_odd_in_pattern(unsigned int code)
{
	return is_odd_in_word(code) || code == '*' || code == '?' || code == '[' || code == ']';
}

/* text_escape(), with *, ?, [ and ] as \ooo too.  Return: one word, to be freed. */
char *text_escape_pattern(const char *text)
{
	return escape(text, is_odd_in_pattern);
}

static bool is_never_odd(unsigned int code)
{
	(void)code;
	return false;
}

/* Write only the bytes that are not UTF-8 as \ooo.  Return: the text, to be freed. */
char *text_utf8(const char *text)
{
	return escape(text, is_never_odd);
}

static bool is_odd_in_ascii(unsigned int code)
{
	return code > 0x7e || is_invisible(code);
}

/*
 * Write invisible characters and bytes that are not UTF-8 as \ooo.
 * @ascii: write other characters beyond ASCII as \ooo too
 * Return: one line, to be freed.
 */
char *text_visible(const char *text, bool ascii)
{
	return escape(text, ascii ? is_odd_in_ascii : is_invisible);
}

static char *escape_in_json(char *end, unsigned int code)
{
	if (code < 0x10000)
		return end + sprintf(end, "\\u%04x", code);
	return end + sprintf(end, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

/*
 * Write invisible characters except newlines as \uXXXX.
 * @json: JSON in UTF-8, with such characters only in strings
 * Return: the same JSON, to be freed.
 */
char *text_json(const char *json)
{
	char *escaped = xcalloc(6 * strlen(json) + 1, 1), *end = escaped;
	unsigned int code = 0;

	while (*json) {
		size_t length = utf8_length((const unsigned char *)json, &code);

		if (length && *json != '\n' && is_invisible(code))
			end = escape_in_json(end, code);
		else
			end = mempcpy(end, json, length ? length : 1);
		json += length ? length : 1;
	}
	return escaped;
}

/* The rest of a text after its prefix; NULL for another text, and for NULL. */
const char *text_after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return text && !strncmp(text, prefix, length) ? text + length : NULL;
}

bool text_is_in(const char *text, const char *const *words)
{
	while (*words && strcmp(text, *words))
		words++;
	return *words;
}

bool text_begins_in(const char *text, const char *const *prefixes)
{
	while (*prefixes && !text_after(text, *prefixes))
		prefixes++;
	return *prefixes;
}

/*
 * Shorten a span for an error message.
 * @buffer: receives its beginning
 */
const char *span_show(struct span span, char buffer[48])
{
	int shown = span.length > 43 ? 43 : span.length;

	sprintf(buffer, "%.*s%s", shown, span.start, span.length > 43 ? "..." : "");
	return buffer;
}
