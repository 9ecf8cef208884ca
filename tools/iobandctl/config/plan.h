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

/**
 * struct kept_group - a group for which something was set
 * @group: the group, for the kernel
 * @weight: its weight; 0 if none was set
 * @bounds: its maximum, its minimum and its latency target
 */
struct kept_group {
	char *group;
	uint64_t weight;
	struct bounds bounds;
};

/**
 * struct kept - what a change took away besides
 * @has_pool: the pool, whose settings are in @table
 * @lost: there are weights or bounds that nobody can give back
 * @table: of the device
 * @presets: what groups of paths began with
 * @v: groups
 * @n: how many
 */
struct kept {
	bool has_pool;
	bool lost;
	struct ioband_table table;
	struct presets presets;
	struct kept_group *v;
	size_t n;
};

/**
 * struct change - one step from what is to what the configuration says
 * @kind: what it does
 * @bound: of CHANGE_BOUND: which; of CHANGE_PRESET likewise, or BOUNDS: the weight
 * @device: the ioband device that is made or spoken to
 * @pool: the pool
 * @tree: the device whose setting it is, or in whose own tree the group is;
 *	NULL for the pool's
 * @group: the group, for people; NULL if it is about none
 * @message: the group, for the kernel
 * @setting: the key that is set, or NULL
 * @from: what it is; NULL if it is not there
 * @to: what it becomes
 * @place: what in the configuration asks for it
 * @choice: of CHANGE_CREATE: the device below
 * @settings: of CHANGE_CREATE and CHANGE_INSERT
 * @kept: to be given back when it is undone
 * @late: it is to come after all that is not
 */
struct change {
	enum change_kind kind;
	enum bound bound;
	bool late;
	char *device;
	char *pool;
	char *tree;
	char *group;
	char *message;
	const char *setting;
	char *from;
	char *to;
	struct conf_place place;
	const struct choice *choice;
	struct settings settings;
	struct kept kept;
};

/**
 * struct future - an ioband device as it will be
 * @name: its name
 * @table: its table line
 * @now: the device as it is; NULL if it is to be made
 * @moved: it changes its pool, which makes its groups anew
 * @makes_pool: it moves to a pool that no device is in then
 * @chosen: the plan is about it, and about its pool
 * @section: what the configuration says of it; NULL if it does not choose it
 */
struct future {
	char *name;
	struct ioband_table table;
	const struct ioband_device *now;
	bool moved;
	bool makes_pool;
	bool chosen;
	const struct conf_section *section;
};

/**
 * struct plan - all changes, in order
 * @conf: what they are to reach
 * @devices: what there is
 * @choices: the devices below
 * @future: the devices as they will be
 * @n_future: how many
 * @v: the changes
 * @n: how many
 * @finder: for groups
 * @past: what was asked for until now
 * @is_partial: the cgroups that are seen are a part of all
 * @is_watched: "watch" is running
 */
struct plan {
	const struct conf *conf;
	const struct ioband_devices *devices;
	struct choices choices;
	struct future *future;
	size_t n_future;
	struct change *v;
	size_t n;
	struct finder finder;
	struct past past;
	bool is_partial;
	bool is_watched;
};

void plan_free(struct plan *plan);
struct change *plan_add(struct plan *plan, enum change_kind kind,
			const struct future *future,
			const struct conf_place *place);
void plan_of_device(struct change *change, const struct future *future);
void plan_set(struct plan *plan, const struct future *future, bool of_device,
	      const char *key, const char *from, const char *to,
	      const struct conf_place *place);
int plan_blame(const struct plan *plan, const struct conf_place *place,
	       int code);
struct future *plan_future(struct plan *plan, const char *name);
struct future *plan_over(const struct plan *plan, const struct device *device);

/* plan-make.c */
int plan_make(struct plan *plan, const struct conf *conf,
	      const struct ioband_devices *devices, char *const *only,
	      int n_only);

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
		     const struct future *owner, const char *name,
		     const char *path, int setting,
		     const struct ioband_preset *now);
bool plan_gave_own(const struct plan *plan, const struct future *future,
		   int setting, const struct ioband_preset *now);
bool plan_gave_device(const struct plan *plan, const struct future *future,
		      enum conf_key key, const char *now);
bool plan_is_by_hand(const char *pool, enum conf_key key);
bool plan_gave_pool(const struct plan *plan, const char *pool,
		    enum conf_key key, const char *now);
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
int plan_check_bounds(const struct plan *plan,
		      const struct conf_section *const sections[BOUNDS],
		      const struct bounds *now, const char *group);
int plan_own_bounds(struct plan *plan, const struct future *future,
		    const struct conf_section *section);
int plan_run_bound(const struct change *change,
		   const struct ioband_device *speaker, const char *to);

/* plan-undo.c */
int plan_keep(struct change *change);
int plan_give_back(const struct change *change,
		   const struct ioband_device *speaker);
int plan_carry(const struct change *change);

/* plan-presets.c */
int plan_presets(struct plan *plan, const struct future *speaker,
		 const struct future *asked, const struct future *owner,
		 struct preset_counts *counts);
void plan_say_untold(const struct plan *plan);
int plan_run_preset(const struct change *change,
		    const struct ioband_device *speaker, const char *to);

/* plan-groups.c */
int plan_groups(struct plan *plan);

/* plan-run.c */
int plan_run(struct plan *plan);

/* plan-print.c */
int plan_print(const struct plan *plan, bool json);

#endif
