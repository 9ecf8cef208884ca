/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_INSERT_H
#define IOBANDCTL_INSERT_H

#include <stdbool.h>

#include "ioband/make.h"

int insert_into(const struct settings *settings, const char *name,
		bool *had_it);

#endif
