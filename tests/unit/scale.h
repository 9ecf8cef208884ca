/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the random tests run: IOBAND_UNIT_SCALE times as long.
 */
#ifndef UNIT_SCALE_H
#define UNIT_SCALE_H

#include <linux/types.h>
#include <stdlib.h>

static inline u64 scaled(u64 n)
{
	const char *scale = getenv("IOBAND_UNIT_SCALE");

	return n * (scale ? strtod(scale, NULL) : 1);
}

#endif /* UNIT_SCALE_H */
