/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/errno.h>
#include <linux/types.h>
#include <stdio.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* As in the kernel: one plus sign before and one newline after are taken. */
static inline int kstrtou64(const char *s, unsigned int base, u64 *value)
{
	u64 sum = 0;
	bool any = false;

	if (base != 10)
		return -EINVAL;
	s += *s == '+';
	for (; *s >= '0' && *s <= '9'; s++, any = true)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (u64)(*s - '0'), &sum))
			return -ERANGE;
	s += *s == '\n';
	if (!any || *s)
		return -EINVAL;
	*value = sum;
	return 0;
}

#endif /* SHIM_LINUX_KERNEL_H */
