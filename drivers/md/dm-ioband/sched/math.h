/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: arithmetic of the pure parts. */
#ifndef DM_IOBAND_MATH_H
#define DM_IOBAND_MATH_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math64.h>

/*
 * a * b / divisor, with 128 bits in between; U64_MAX if the quotient does not fit or the divisor is
 * 0.  x86 traps if it does not fit in 64 bits, and the kernel dies: the upper half of the product
 * is not less than the divisor.
 */
static inline u64 ioband_mul_div(u64 a, u64 b, u64 divisor)
{
	if (unlikely(mul_u64_u64_shr(a, b, 64) >= divisor))
		return U64_MAX;
	return mul_u64_u64_div_u64(a, b, divisor);
}

static inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline u64 vtime_max(u64 a, u64 b)
{
	return vtime_before(a, b) ? b : a;
}

static inline u64 vtime_min(u64 a, u64 b)
{
	return vtime_before(a, b) ? a : b;
}

#endif /* DM_IOBAND_MATH_H */
