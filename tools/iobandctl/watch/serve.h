/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SERVE_H
#define IOBANDCTL_SERVE_H

#include <stdbool.h>

int watch_serve(const char *config, bool enable);

#endif
