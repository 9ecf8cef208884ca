/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WEIGHTS_H
#define IOBANDCTL_WEIGHTS_H

#include <stdbool.h>

#include "ioband/ioband.h"

int weights_save(const struct ioband_devices *devices, const struct scope *scope, bool json);
int weights_restore(const char *file, bool json);

#endif
