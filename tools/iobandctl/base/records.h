/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_RECORDS_H
#define IOBANDCTL_RECORDS_H

#include "base/alloc.h"

const char *records_directory(void);

/* The path of a file there, to be freed. */
static inline char *records_path(const char *file)
{
	return xasprintf("%s/%s", records_directory(), file);
}

#endif
