/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PRESETS_H
#define IOBANDCTL_PRESETS_H

#include "cgroup/cgroup.h"
#include "config/conf.h"
#include "ioband/ioband.h"

/* In which order the settings of a path change, and those of a group that is there. */
enum {
	PRESET_NARROWS,	/* a maximum */
	PRESET_TAKES,
	PRESET_GIVES,
	PRESET_WIDENS,	/* a maximum */
	PRESET_PHASES,
};

#define PRESET_STEPS (PRESET_PHASES * GROUP_SETTINGS)

/**
 * struct preset_tree - a tree of cgroups, a pool's or a device's own
 * @pool: the pool
 * @owner: whose own tree it is, by name; NULL for the pool's
 * @name: what it is called in lists of presets
 */
struct preset_tree {
	const char *pool;
	const char *owner;
	char name[IOBAND_GROUP_SIZE];
};

/**
 * struct preset_change - something that the group of a path is to begin with
 * @path: of the cgroup
 * @setting: what it is: GROUP_WEIGHT, or a bound after GROUP_BOUNDS
 * @now: has what it is
 * @wanted: has what it is to be
 * @place: what in the configuration asks for it; NULL if nothing does
 * @late: it comes after all else
 */
struct preset_change {
	const char *path;
	int setting;
	const struct ioband_preset *now;
	const struct ioband_preset *wanted;
	const struct conf_place *place;
	bool late;
};

/**
 * struct preset_counts - how many paths have something
 * @now: in all trees of the pool
 * @added: that have nothing now, in one tree
 * @dropped: that have nothing then, in one tree
 */
struct preset_counts {
	size_t now;
	size_t added;
	size_t dropped;
};

typedef int (*preset_visit)(const struct preset_change *change, void *data);

const char *presets_obstacle(const struct hierarchy *hierarchy);
void presets_say_obstacle(const struct conf *conf, const char *obstacle);
void presets_tree(struct preset_tree *tree, const char *pool,
		  const struct ioband_device *owner);
bool presets_are_same(const struct ioband_preset *a,
		      const struct ioband_preset *b, int setting);
int presets_phase(const struct ioband_preset *now,
		  const struct ioband_preset *wanted, int setting);
void presets_read(const struct conf_section *const sections[GROUP_SETTINGS],
		  struct ioband_preset *wanted);
bool presets_ask_for(const struct conf *conf, const struct preset_tree *tree,
		     const char *path, const struct ioband_preset *preset,
		     int setting);
int presets_differ(const struct conf *conf, const struct preset_tree *tree,
		   const struct presets *now, preset_visit visit, void *data,
		   struct preset_counts *counts);

#endif
