/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MATH64_H
#define SHIM_LINUX_MATH64_H

/*
 * As in the kernel, but a quotient that does not fit, which raises an exception
 * there, aborts here.
 */
#include <linux/types.h>
#include <stdlib.h>

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline s64 div_s64(s64 dividend, s32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline s64 div64_s64(s64 dividend, s64 divisor)
{
	return dividend / divisor;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 divisor)
{
	const unsigned __int128 quotient = (unsigned __int128)a * b / divisor;

	if (quotient > U64_MAX)
		abort();
	return quotient;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return ((unsigned __int128)a * b) >> shift;
}

#endif /* SHIM_LINUX_MATH64_H */
