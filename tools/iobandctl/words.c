// SPDX-License-Identifier: GPL-2.0-only
/* Lines, words, numbers and escapes of the texts that ioband speaks. Pure. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "words.h"

/**
 * span_of() - a whole string
 * @text: the string, which must outlive the span
 *
 * Return: the span.
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

/**
 * span_line() - take the first line
 * @rest: shortened by the line and its newline
 * @line: the line, without the newline
 *
 * Return: false at the end of the text.
 */
bool span_line(struct span *rest, struct span *line)
{
	return until(rest, '\n', line);
}

/**
 * span_word() - take the first word of a line
 * @rest: shortened by the word and the blanks around it
 * @word: the word, never empty
 *
 * Return: false if only blanks are left.
 */
bool span_word(struct span *rest, struct span *word)
{
	while (rest->length && (*rest->start == ' ' || *rest->start == '\t'))
		take(rest, 0, 1);
	return until(rest, ' ', word);
}

/**
 * span_item() - take the first item of a list
 * @rest: shortened by the item and the separator
 * @separator: what is between items
 * @item: the item; empty at the end of the list
 */
void span_item(struct span *rest, char separator, struct span *item)
{
	if (!until(rest, separator, item))
		*item = *rest;
}

/**
 * span_key() - split key=value at its first equal sign
 * @word: the word
 * @key: what precedes the sign
 * @value: what follows it, may be empty
 *
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

/**
 * span_is() - compare with a string
 * @span: the span
 * @text: the string
 *
 * Return: whether they are equal.
 */
bool span_is(struct span span, const char *text)
{
	return span.length == strlen(text) &&
	       !memcmp(span.start, text, span.length);
}

/**
 * span_u64() - read a decimal number
 * @span: digits only: no sign, no blank
 * @max: largest number accepted
 * @value: the number
 *
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

/**
 * span_copy() - copy to a buffer
 * @span: not empty, without NUL bytes
 * @buffer: the copy, terminated by NUL
 * @size: of the buffer
 *
 * Return: false if it does not fit.
 */
bool span_copy(struct span span, char *buffer, size_t size)
{
	if (!span.length || span.length >= size ||
	    memchr(span.start, 0, span.length))
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

/**
 * span_unescape() - read a text in which odd bytes are written as \ooo
 * @span: the escaped text
 *
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

/* How many bytes the character that is encoded here has; 0 if none is. */
static size_t utf8_length(const unsigned char *text)
{
	const size_t length = *text < 0x80 ? 1 : *text < 0xc2 ? 0 :
			      *text < 0xe0 ? 2 : *text < 0xf0 ? 3 :
			      *text < 0xf5 ? 4 : 0;
	unsigned int code = length > 1 ? *text & (0x7f >> length) : *text;

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	/* Too long a form, a half of a pair, no character, beyond the last. */
	if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) ||
	    (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe ||
	    code > 0x10ffff)
		return 0;
	return length;
}

static char *escape(const char *text, bool (*is_odd)(unsigned char byte))
{
	char *escaped = xcalloc(4 * strlen(text) + 1, 1), *end = escaped;

	while (*text) {
		unsigned char byte = *text;
		size_t length = utf8_length((const unsigned char *)text);

		if (!length || is_odd(byte)) {
			end = escape_byte(end, byte);
			length = 1;
		} else {
			memcpy(end, text, length);
			end += length;
		}
		text += length;
	}
	return escaped;
}

static bool is_odd_in_word(unsigned char byte)
{
	return byte <= ' ' || byte == '\\' || byte == 0x7f;
}

/**
 * text_escape() - write blanks, backslashes, control bytes and what is not
 * UTF-8 as \ooo
 * @text: any string
 *
 * Return: one word, to be freed.
 */
char *text_escape(const char *text)
{
	return escape(text, is_odd_in_word);
}

static bool is_odd_in_pattern(unsigned char byte)
{
	return is_odd_in_word(byte) || strchr("*?[]", byte);
}

/**
 * text_escape_pattern() - write what patterns are made of as \ooo too
 * @text: any string
 *
 * Return: one word, to be freed.
 */
char *text_escape_pattern(const char *text)
{
	return escape(text, is_odd_in_pattern);
}

static bool is_never_odd(unsigned char byte)
{
	(void)byte;
	return false;
}

/**
 * text_utf8() - write what is not UTF-8, and nothing else, as \ooo
 * @text: any string
 *
 * Return: the text, to be freed.
 */
char *text_utf8(const char *text)
{
	return escape(text, is_never_odd);
}

/**
 * span_show() - make a span fit for an error message
 * @span: whatever was found
 * @buffer: where the readable form goes
 *
 * Return: @buffer.
 */
const char *span_show(struct span span, char buffer[48])
{
	size_t i;

	for (i = 0; i < span.length && i < 43; i++)
		buffer[i] = isprint((unsigned char)span.start[i]) ?
			    span.start[i] : '?';
	strcpy(buffer + i, i < span.length ? "..." : "");
	return buffer;
}
