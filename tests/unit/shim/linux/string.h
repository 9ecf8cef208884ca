/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include <linux/errno.h>
#include <linux/types.h>
#include <string.h>

static inline int match_string(const char * const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (!strcmp(array[i], string))
			return i;
	return -EINVAL;
}

#endif /* SHIM_LINUX_STRING_H */
