/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_POOL_H
#define IOBANDCTL_POOL_H

#include "host/device.h"
#include "kernel/parse.h"

void pool_name_of(const struct names *disks, char pool[IOBAND_POOL_SIZE]);
bool pool_is_kernels(const char *name);
bool pool_disk_seeks(const char *name, const char *rotational);

#endif
