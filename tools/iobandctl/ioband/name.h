/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_NAME_H
#define IOBANDCTL_NAME_H

#include "host/device.h"

#define NAME_SIZE 512	/* longer than any that can be used */

bool name_is_lasting(const char *link);
void name_join(const char *core, char name[NAME_SIZE]);
void name_wrapped(const struct device *device, char name[NAME_SIZE]);

#endif
