/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_GET_H
#define IOBANDCTL_GET_H

#include "print/args.h"

int get_group(const struct args *args, int setting);
int get_pools(const struct args *args);

#endif
