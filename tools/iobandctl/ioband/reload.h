/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_RELOAD_H
#define IOBANDCTL_RELOAD_H

#include "ioband/ioband.h"

int reload_device(const struct ioband_device *device, const char *pool,
		  uint64_t sectors, struct problem *problem);

#endif
