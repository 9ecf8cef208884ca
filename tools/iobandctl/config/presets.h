/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PRESETS_H
#define IOBANDCTL_PRESETS_H

#include "cgroup/cgroup.h"
#include "config/conf.h"
#include "ioband/ioband.h"

/* The order in which settings of a path, or of an existing group, change. */
enum {
	PRESET_NARROWS,	/* a maximum */
	PRESET_TAKES,
	PRESET_GIVES,
	PRESET_WIDENS,	/* a maximum */
	PRESET_PHASES,
};

#define PRESET_STEPS (PRESET_PHASES * GROUP_SETTINGS)

/* A tree of cgroups, a pool's or a device's own. */
struct preset_tree {
	const char *pool;
	/* Name of the device with the tree as its own; NULL for the pool's tree. */
	const char *owner;
	char name[IOBAND_GROUP_SIZE];
};

/* A difference between presets and configuration. */
struct preset_change {
	const char *path;
	int setting;	/* GROUP_WEIGHT, or a bound after GROUP_BOUNDS */
	const struct ioband_preset *now;
	const struct ioband_preset *wanted;
	/* The place in the configuration that requests it; NULL without one. */
	const struct conf_place *place;
	bool late;	/* made after all other changes */
};

/* The number of paths with presets. */
struct preset_counts {
	size_t now;
	size_t added;	/* paths of one tree that have no preset yet */
	size_t dropped;	/* paths of one tree that lose all presets */
};

typedef int (*preset_visit)(const struct preset_change *change, void *data);

const char *presets_obstacle(const struct hierarchy *hierarchy);
void presets_say_obstacle(const struct conf *conf, const char *obstacle);
const struct ioband_preset *presets_find(const struct presets *presets,
					 const struct preset_tree *tree, const char *path);
void presets_tree(struct preset_tree *tree, const char *pool, const struct ioband_device *owner);
bool presets_are_same(const struct ioband_preset *a, const struct ioband_preset *b, int setting);
int presets_phase(const struct ioband_preset *now, const struct ioband_preset *wanted, int setting);
void presets_read(const struct conf_section *const sections[GROUP_SETTINGS],
		  struct ioband_preset *wanted);
bool presets_ask_for(const struct conf *conf, const struct preset_tree *tree, const char *path,
		     const struct ioband_preset *preset, int setting);
int presets_differ(const struct conf *conf, const struct preset_tree *tree,
		   const struct presets *now, preset_visit visit, void *data,
		   struct preset_counts *counts);

#endif
