/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_INFILE_H
#define IOBANDCTL_INFILE_H

#include <stdbool.h>
#include <stddef.h>

int infile_read(const char *path, char **text);
bool infile_line(const char *path, char *line, size_t size);

#endif
