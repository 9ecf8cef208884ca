/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_EXTRACT_H
#define IOBANDCTL_EXTRACT_H

#include <stdbool.h>

int extract_from(const char *name, bool *had_it);

#endif
