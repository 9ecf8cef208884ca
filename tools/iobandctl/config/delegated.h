/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_DELEGATED_H
#define IOBANDCTL_DELEGATED_H

#include <stdbool.h>

#include "config/conf.h"

bool delegated_is(int directory);
void delegated_warn(const struct conf *conf);

#endif
