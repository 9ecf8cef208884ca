/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_DEFS_H
#define IOBANDCTL_DEFS_H

/* As in the kernel. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define __printf(text, first) __attribute((format(printf, text, first)))
#define __aligned(size) __attribute((aligned(size)))
#define __cleanup(function) __attribute((cleanup(function)))

#endif
