/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers from a seed (splitmix64).
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <linux/types.h>

struct sim_random {
	u64 state;
};

static inline u64 random_u64(struct sim_random *random)
{
	u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 .. @n - 1 */
static inline u64 random_below(struct sim_random *random, u64 n)
{
	return random_u64(random) % n;
}

/* 0 <= x < 1 */
static inline double random_unit(struct sim_random *random)
{
	return (random_u64(random) >> 11) / 9007199254740992.0;
}

#endif /* SIM_RANDOM_H */
