/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_CLOCK_H
#define IOBANDCTL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ULL

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

#endif
