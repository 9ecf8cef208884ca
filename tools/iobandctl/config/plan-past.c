// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of groups and devices to revert: they are in a former
 * configuration, not in the present one, and were not set manually since.
 */
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"
#include "ioband/hand.h"

/*
 * Read the record of former configurations.  Not in a cgroup namespace: paths begin
 * elsewhere there, and differ from those in the record.
 */
void plan_load_past(struct plan *plan)
{
	struct hierarchy hierarchy;

	plan->is_partial = hierarchy_look(&hierarchy) && !hierarchy_is_whole(&hierarchy);
	plan->is_watched = past_is_watched();
	if (!plan->is_partial)
		past_load(&plan->past);
}

static bool is_set(const struct ioband_preset *now, int setting)
{
	return setting == GROUP_WEIGHT ?
	       now->weight :
	       bound_is_set(&now->bounds, setting - GROUP_BOUNDS);
}

/*
 * Other programs may have requested the setting from a running "watch".
 * "watch" reverts it when no program requests it.
 */
static bool is_watchs(const struct plan *plan, int setting)
{
	return plan->is_watched && (setting == GROUP_WEIGHT || setting == GROUP_BOUNDS + LATENCY);
}

/*
 * Check whether a group's setting is to be reverted.
 * @owner: the device with the group in its own tree; NULL for the pool's tree
 * @path: of a cgroup; else NULL
 * Return: true if it came from a former configuration.
 */
bool plan_gave_group(const struct plan *plan, const struct future *speaker,
		     const struct future *owner, const char *name, const char *path, int setting,
		     const struct ioband_preset *now)
{
	const struct hand_key key = {
		.pool = speaker->table.pool,
		.device = owner ? owner->name : NULL,
		.group = name, .key = conf_key_name(conf_group_keys[setting]),
	};
	bool asked;

	if (!is_set(now, setting) || (path && is_watchs(plan, setting)))
		return false;
	asked = path ? past_asked_path(&plan->past, key.pool, key.device, path, setting, now) :
		       past_asked_other(&plan->past, key.pool, name, setting, now);
	return asked && !hand_has(&key);
}

/*
 * Check whether a setting of a device's own group is to be reverted.  Return: true if it
 * came from a former configuration.
 */
bool plan_gave_own(const struct plan *plan, const struct future *future,
		   int setting, const struct ioband_preset *now)
{
	const struct hand_key key = {
		.device = future->name, .group = "device",
		.key = conf_key_name(conf_group_keys[setting]),
	};

	return is_set(now, setting) &&
	       past_asked_own(&plan->past, future->name, setting, now) &&
	       !hand_has(&key);
}

/*
 * Check whether a setting of a device is to be reverted.
 * @key: its pool, or its mode
 * Return: true if it came from a former configuration.
 */
bool plan_gave_device(const struct plan *plan, const struct future *future,
		      enum conf_key key, const char *now)
{
	const struct hand_key hand = { .device = future->name, .key = conf_key_name(key) };

	return past_asked_device(&plan->past, future->name, key, now) && !hand_has(&hand);
}

/* Check whether a setting of a pool was set manually. */
bool plan_is_by_hand(const char *pool, enum conf_key key)
{
	return hand_has(&(struct hand_key){ .pool = pool, .key = conf_key_name(key) });
}

/*
 * Check whether a setting of a pool is to be reverted.  Return: true if it came from a
 * former configuration.
 */
bool plan_gave_pool(const struct plan *plan, const char *pool, enum conf_key key, const char *now)
{
	return past_asked_pool(&plan->past, pool, key, now) && !plan_is_by_hand(pool, key);
}

static void forget_hand(const struct plan *plan, const struct change *change)
{
	struct hand_key key = {
		.pool = change->pool, .device = change->tree,
		.group = change->message, .key = change->setting,
	};

	switch (change->kind) {
	case CHANGE_CREATE:
	case CHANGE_INSERT:
		hand_clear_device(change->device);
		if (!ioband_in_pool(plan->devices, change->pool))
			hand_clear_pool(change->pool);
		return;
	case CHANGE_MOVE:
		if (!ioband_in_pool(plan->devices, change->to))
			hand_clear_pool(change->to);
		break;
	case CHANGE_WEIGHT:
		key.key = conf_key_name(KEY_WEIGHT);
		break;
	case CHANGE_BOUND:
		key.key = bound_kinds[change->bound].noun;
		break;
	case CHANGE_PRESET:
		return;
	default:
		break;
	}
	hand_clear(&key);
}

static struct past_device *list_devices(const struct plan *plan, size_t *n)
{
	struct past_device *v = xcalloc(plan->n_future, sizeof(*v));

	*n = 0;
	for (size_t i = 0; i < plan->n_future; i++) {
		const struct future *future = &plan->future[i];

		if (future->section)
			v[(*n)++] = (struct past_device){ future->name, future->section };
	}
	return v;
}

/* Record the configuration before it is applied. */
int plan_begin(const struct plan *plan)
{
	struct past_device *v __free = NULL;
	char *file __free = NULL;
	size_t n;
	int code;

	if (plan->is_partial)
		return EXIT_OK;
	code = past_keep(plan->conf, &file);
	if (code != EXIT_OK)
		return code;
	v = list_devices(plan, &n);
	return past_keep_devices(&plan->past, v, n, false);
}

/*
 * Drop the records of former configurations after this one is applied.
 * @all: the plan covers all devices; otherwise the records of other devices remain
 */
int plan_end(const struct plan *plan, bool all)
{
	struct past_device *v __free = NULL;
	char *file __free = NULL;
	size_t n;
	int code;

	for (size_t i = 0; i < plan->n; i++)
		forget_hand(plan, &plan->v[i]);
	if (plan->is_partial)
		return EXIT_OK;
	v = list_devices(plan, &n);
	code = past_keep_devices(all ? NULL : &plan->past, v, n, true);
	if (!all || code != EXIT_OK)
		return code;
	code = past_keep(plan->conf, &file);
	if (code == EXIT_OK)
		past_forget(file);
	return code;
}
