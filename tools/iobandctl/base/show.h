/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SHOW_H
#define IOBANDCTL_SHOW_H

#include <stdbool.h>
#include <stdio.h>

char *show(const char *text, FILE *stream);
bool show_is_needless(const char *text, FILE *stream);

#endif
