// SPDX-License-Identifier: GPL-2.0-only
/* Allocation.  Without memory the program ends; it leaves nothing to undo. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void *checked(void *memory)
{
	if (!memory) {
		fputs("iobandctl: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return memory;
}

/**
 * xcalloc() - zeroed memory
 * @count: number of elements
 * @size: bytes of an element
 *
 * Return: the memory, never NULL.
 */
void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size));
}

/**
 * xstrdup() - copy a string
 * @text: may be NULL
 *
 * Return: the copy; NULL for NULL.
 */
char *xstrdup(const char *text)
{
	return text ? checked(strdup(text)) : NULL;
}

/**
 * xstrndup() - copy the beginning of a string
 * @text: its first byte
 * @length: number of bytes
 *
 * Return: the copy, with a terminating NUL.
 */
char *xstrndup(const char *text, size_t length)
{
	return checked(strndup(text, length));
}

/**
 * xvasprintf() - format into new memory
 * @fmt: printf-like
 * @args: for @fmt
 *
 * Return: the text, never NULL.
 */
char *xvasprintf(const char *fmt, va_list args)
{
	char *text;
	int length = vasprintf(&text, fmt, args);

	return checked(length < 0 ? NULL : text);
}

/**
 * xasprintf() - format into new memory
 * @fmt: printf-like
 *
 * Return: the text, never NULL.
 */
char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	return text;
}

/**
 * xgrow() - extend an array by one element
 * @array: the array, NULL if @count is 0
 * @count: its number of elements
 * @size: bytes of an element
 *
 * The allocation doubles, so appending takes amortised constant time.
 *
 * Return: the array, with room for element @count.
 */
void *xgrow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return checked(reallocarray(array, count ? 2 * count : 1, size));
}

/**
 * xmemstream() - open a stream into new memory
 * @text: the written text, valid after the stream is closed; to be freed
 * @size: its length in bytes
 *
 * Return: the stream, never NULL.
 */
FILE *xmemstream(char **text, size_t *size)
{
	return checked(open_memstream(text, size));
}
