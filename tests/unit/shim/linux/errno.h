/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_ERRNO_H
#define SHIM_LINUX_ERRNO_H

/* The C library's own <errno.h> asks for this one. */
#include_next <linux/errno.h>

#endif /* SHIM_LINUX_ERRNO_H */
