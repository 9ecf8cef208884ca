/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

/* As strict about types as Linux 6.1: both sides must have the same one. */
#define __same_type(x, y) \
	((void)sizeof((__typeof__(x) *)1 == (__typeof__(y) *)1))

#define min_t(type, x, y) ({ type __x = (x), __y = (y); __x < __y ? __x : __y; })
#define max_t(type, x, y) ({ type __x = (x), __y = (y); __x > __y ? __x : __y; })
#define min(x, y) ({ __same_type(x, y); min_t(__typeof__(x), x, y); })
#define max(x, y) ({ __same_type(x, y); max_t(__typeof__(x), x, y); })
#define clamp_t(type, val, lo, hi) min_t(type, max_t(type, val, lo), hi)

#endif /* SHIM_LINUX_MINMAX_H */
