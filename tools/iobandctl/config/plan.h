/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PLAN_H
#define IOBANDCTL_PLAN_H

#include "config/conf.h"
#include "config/past.h"
#include "config/presets.h"
#include "config/select.h"
#include "ioband/group.h"
#include "ioband/ioband.h"
#include "ioband/make.h"

enum change_kind {
	CHANGE_CREATE,
	CHANGE_INSERT,
	CHANGE_MOVE,	/* to another pool */
	CHANGE_SET,
	CHANGE_WEIGHT,
	CHANGE_BOUND,
	CHANGE_PRESET,
};

/* The settings of a group. */
struct kept_group {
	char *group;	/* its name in messages to the kernel */
	uint64_t weight;	/* its weight; 0 for the default */
	struct bounds bounds;	/* its maximum, minimum and latency target */
};

/* The settings that a change destroys. */
struct kept {
	bool has_pool;	/* the pool disappears; its settings are in @table */
	bool lost;	/* there are weights or bounds that cannot be restored */
	struct ioband_table table;
	struct presets presets;
	struct kept_group *v;
	size_t n;
};

/* One step towards the configuration. */
struct change {
	enum change_kind kind;
	/* Of CHANGE_BOUND the bound; of CHANGE_PRESET the same, or BOUNDS for the weight. */
	enum bound bound;
	bool late;	/* made after all changes that are not late */
	char *device;	/* the ioband device that is made, or receives the message */
	char *pool;
	/* The device that has the setting, or has the group in its own tree; NULL for the pool. */
	char *tree;
	char *group;	/* the group, for messages to the user; NULL without a group */
	char *message;	/* its name in messages to the kernel */
	const char *setting;	/* the key that is set, or NULL */
	char *from;	/* the present value; NULL if there is none */
	char *to;
	struct conf_place place;	/* the place in the configuration that requests it */
	const struct choice *choice;	/* of CHANGE_CREATE: the device below */
	struct settings settings;	/* of CHANGE_CREATE and CHANGE_INSERT */
	struct kept kept;	/* settings to restore after an undo */
};

/* The future state of an ioband device. */
struct future {
	char *name;
	struct ioband_table table;
	const struct ioband_device *now;	/* the present device; NULL for a new device */
	bool moved;	/* it changes its pool, which makes its groups anew */
	bool makes_pool;	/* it moves to a pool that has no devices yet */
	bool chosen;	/* the plan covers it and its pool */
	/* Its section in the configuration; NULL if the configuration does not select it. */
	const struct conf_section *section;
};

/* All changes, in order. */
struct plan {
	const struct conf *conf;
	const struct ioband_devices *devices;	/* the present ioband devices */
	struct choices choices;	/* the selected devices below */
	struct future *future;	/* the future ioband devices */
	size_t n_future;
	struct change *v;
	size_t n;
	struct finder finder;	/* for groups */
	struct past past;	/* former configurations */
	bool is_partial;	/* only a part of the cgroups is visible */
	bool is_watched;	/* "watch" is running */
};

void plan_free(struct plan *plan);
struct change *plan_add(struct plan *plan, enum change_kind kind, const struct future *future,
			const struct conf_place *place);
void plan_of_device(struct change *change, const struct future *future);
void plan_set(struct plan *plan, const struct future *future, bool of_device, const char *key,
	      const char *from, const char *to, const struct conf_place *place);
int plan_blame(const struct plan *plan, const struct conf_place *place, int code);
struct future *plan_future(struct plan *plan, const char *name);
struct future *plan_over(const struct plan *plan, const struct device *device);

/* plan-make.c */
int plan_make(struct plan *plan, const struct conf *conf, const struct ioband_devices *devices,
	      char *const *only, int n_only);

/* plan-settle.c */
bool plan_take_settings(const struct plan *plan, struct ioband_table *table);
int plan_check_pool(const struct conf_section *section);
int plan_settle(const struct plan *plan, const struct choice *choice,
		struct settings *settings, struct ioband_table *table);

/* plan-devices.c */
int plan_devices(struct plan *plan);
int plan_left(struct plan *plan);

/* plan-insert.c */
bool plan_may_insert(const struct choice *choice);
int plan_insert(struct plan *plan, const struct choice *choice);
int plan_run_insert(const struct change *change, bool undo);

/* plan-past.c */
void plan_load_past(struct plan *plan);
bool plan_gave_group(const struct plan *plan, const struct future *speaker,
		     const struct future *owner, const char *name, const char *path, int setting,
		     const struct ioband_preset *now);
bool plan_gave_own(const struct plan *plan, const struct future *future,
		   int setting, const struct ioband_preset *now);
bool plan_gave_device(const struct plan *plan, const struct future *future,
		      enum conf_key key, const char *now);
bool plan_is_by_hand(const char *pool, enum conf_key key);
bool plan_gave_pool(const struct plan *plan, const char *pool, enum conf_key key, const char *now);
int plan_begin(const struct plan *plan);
int plan_end(const struct plan *plan, bool all);

/* plan-pools.c */
int plan_pools(struct plan *plan, bool all);

/* plan-bounds.c */
struct change *plan_no_bound(struct plan *plan, const struct future *future,
			     enum bound bound, const struct bounds *now);
struct change *plan_bound(struct plan *plan, const struct future *future,
			  const struct conf_section *section, enum bound bound,
			  const struct bounds *now);
int plan_check_bounds(const struct plan *plan, const struct conf_section *const sections[BOUNDS],
		      const struct bounds *now, const char *group);
int plan_own_bounds(struct plan *plan, const struct future *future,
		    const struct conf_section *section);

/* plan-undo.c */
int plan_keep(struct change *change);
int plan_give_back(const struct change *change, const struct ioband_device *speaker);
int plan_carry(const struct change *change);

/* plan-presets.c */
int plan_presets(struct plan *plan, const struct future *speaker, const struct future *asked,
		 const struct future *owner, struct preset_counts *counts);
void plan_say_untold(const struct plan *plan);

/* plan-groups.c */
int plan_groups(struct plan *plan);

/* plan-run.c */
int plan_run(struct plan *plan);

/* plan-print.c */
int plan_print(const struct plan *plan, bool json);

#endif
