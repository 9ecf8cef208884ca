/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_GONE_H
#define IOBANDCTL_GONE_H

#include <stdbool.h>

/* What udev has of an ioband device: the kernel's name of the hidden one below. */
#define GONE_OVER "IOBAND_OVER"

bool gone_is_lost(const char *name);
int gone_drop(const char *gone);

#endif
