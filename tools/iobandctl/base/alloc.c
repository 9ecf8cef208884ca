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

/* Zeroed memory.  Return: the memory, never NULL. */
void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size));
}

/*
 * Copy a string.
 * @text: may be NULL
 * Return: the copy; NULL for NULL.
 */
char *xstrdup(const char *text)
{
	return text ? checked(strdup(text)) : NULL;
}

/* Copy the beginning of a string.  Return: the copy, with a terminating NUL. */
char *xstrndup(const char *text, size_t length)
{
	return checked(strndup(text, length));
}

/* Format into new memory.  Return: the text, never NULL. */
char *xvasprintf(const char *fmt, va_list args)
{
	char *text;
	int length = vasprintf(&text, fmt, args);

	return checked(length < 0 ? NULL : text);
}

/* Format into new memory.  Return: the text, never NULL. */
char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	return text;
}

/* Append to a text in memory of its own.  The arguments may lie in the text itself. */
void xappend(char **text, const char *fmt, ...)
{
	char *before __free = *text;
	char *more __free = NULL;
	va_list args;

	va_start(args, fmt);
	more = xvasprintf(fmt, args);
	va_end(args);
	*text = xasprintf("%s%s", before, more);
}

/*
 * Extend an array by one element.
 * @array: the array, NULL if @count is 0
 *
 * The allocation doubles, so appending takes amortised constant time.
 * Return: the array, with room for element @count.
 */
void *xgrow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return checked(reallocarray(array, count ? 2 * count : 1, size));
}

/*
 * Open a stream into new memory.
 * @text: the written text, valid after the stream is closed; to be freed
 * Return: the stream, never NULL.
 */
FILE *xmemstream(char **text, size_t *size)
{
	return checked(open_memstream(text, size));
}

/* For __free. */
void free_pointer(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
}

/* For __cleanup(): close a stream, if it is open. */
void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
