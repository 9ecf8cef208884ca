/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ROOTS_H
#define IOBANDCTL_ROOTS_H

#include <stdbool.h>
#include <sys/stat.h>

bool roots_is(const struct stat *info);

#endif
