/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ALLOC_H
#define IOBANDCTL_ALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/defs.h"

void *xcalloc(size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
__printf(1, 0) char *xvasprintf(const char *fmt, va_list args);
__printf(1, 2) char *xasprintf(const char *fmt, ...);
__printf(2, 3) void xappend(char **text, const char *fmt, ...);
void *xgrow(void *array, size_t count, size_t size);
void free_pointer(void *pointer);
void close_file(FILE **file);

/* Append an uninitialised element to an array of @count elements.  Returns its address. */
#define XPUSH(array, count) ({						\
	__auto_type array_ = &(array);					\
	__auto_type count_ = &(count);					\
	*array_ = xgrow(*array_, *count_, sizeof(**array_));		\
	&(*array_)[(*count_)++];					\
})

FILE *xmemstream(char **text, size_t *size);

/* For a pointer to memory of its own, or NULL: the memory is freed where the scope ends. */
#define __free __cleanup(free_pointer)

#endif
