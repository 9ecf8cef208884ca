/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random loads.
 */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include <linux/bits.h>

#include "load.h"

/* Features that may be random; generate.c has the word that switches each off. */
enum feature {
	FEATURE_NESTED,
	FEATURE_WEIGHTS,
	FEATURE_MIXED,
	FEATURE_THINK,
	FEATURE_THINK_RANDOM,
	FEATURE_BURSTS,
	FEATURE_WRITES,
	FEATURE_SEQUENTIAL,
	FEATURE_LEVELS,
	FEATURE_MIN,
	FEATURE_MAX,
	FEATURE_TARGET,
	FEATURE_LATE,
	FEATURE_STALL,
	FEATURE_IOS,
	FEATURE_SLICES,
	FEATURE_DEVICES,	/* all; without: line, cloud, flash, nvme and volume64 */
	FEATURE_OCCASIONAL,	/* all groups but one have an I/O now and then */
	NR_FEATURES,
};

/* With nothing set: loads that an administrator has given weights at most. */
#define FEATURES_PLAIN	(BIT(FEATURE_NESTED) | BIT(FEATURE_WEIGHTS) | BIT(FEATURE_MIXED) |	\
			 BIT(FEATURE_THINK) | BIT(FEATURE_THINK_RANDOM) |		\
			 BIT(FEATURE_WRITES) | BIT(FEATURE_SEQUENTIAL) | BIT(FEATURE_LATE))
#define FEATURES_ALL	(BIT(FEATURE_OCCASIONAL) - 1)
/* One group, and others that are idle most of the time. */
#define FEATURES_OCCASIONAL	(BIT(FEATURE_WEIGHTS) | BIT(FEATURE_MIXED) |			\
				 BIT(FEATURE_THINK_RANDOM) | BIT(FEATURE_WRITES) |		\
				 BIT(FEATURE_SEQUENTIAL) | BIT(FEATURE_SLICES) |		\
				 BIT(FEATURE_DEVICES) | BIT(FEATURE_OCCASIONAL))

extern const char * const feature_names[NR_FEATURES];

/* The load of so many features that is number @nr of a seed. */
void generate(struct load *load, u32 features, u64 seed, u64 nr);

#endif /* SIM_GENERATE_H */
