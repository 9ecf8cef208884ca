/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_INTERVAL_H
#define IOBANDCTL_INTERVAL_H

#include <stdint.h>

#include "args.h"

int interval_of(const struct args *args, double *interval_s);
void interval_sleep(uint64_t until_ns);

#endif
