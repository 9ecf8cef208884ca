// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which of what a group or a device has is to be taken back: what a former configuration
 * asked for, this one does not, and nobody has set by hand since.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/plan.h"
#include "ioband/hand.h"

/**
 * plan_load_past() - read what was asked for until now
 * @plan: gets it
 *
 * In a cgroup namespace paths begin elsewhere, and are not those that were asked about.
 */
void plan_load_past(struct plan *plan)
{
	struct hierarchy hierarchy;

	plan->is_partial = hierarchy_look(&hierarchy) &&
			   !hierarchy_is_whole(&hierarchy);
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

/* Others may ask a running "watch" for the same, which gives back what they do not. */
static bool is_watchs(const struct plan *plan, int setting)
{
	return plan->is_watched && (setting == GROUP_WEIGHT ||
				    setting == GROUP_BOUNDS + LATENCY);
}

/**
 * plan_gave_group() - see whether a group has something of a former configuration
 * @plan: the plan
 * @speaker: a device of its pool
 * @owner: in whose own tree it is; NULL for the pool's
 * @name: as the kernel lists it
 * @path: of a cgroup; else NULL
 * @setting: which
 * @now: has what it has
 *
 * Return: whether it has, so that it is to be taken back.
 */
bool plan_gave_group(const struct plan *plan, const struct future *speaker,
		     const struct future *owner, const char *name,
		     const char *path, int setting,
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
	asked = path ? past_asked_path(&plan->past, key.pool, key.device, path,
				       setting, now) :
		       past_asked_other(&plan->past, key.pool, name, setting,
					now);
	return asked && !hand_has(&key);
}

/**
 * plan_gave_own() - see whether a device's own group has something of a former one
 * @plan: the plan
 * @future: the device
 * @setting: which
 * @now: has what it has
 *
 * Return: whether it has, so that it is to be taken back.
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

/**
 * plan_gave_device() - see whether a device is what a former configuration made of it
 * @plan: the plan
 * @future: the device
 * @key: its pool, or its mode
 * @now: what it is
 *
 * Return: whether it is, so that it is to be what it would be without.
 */
bool plan_gave_device(const struct plan *plan, const struct future *future,
		      enum conf_key key, const char *now)
{
	const struct hand_key hand = {
		.device = future->name, .key = conf_key_name(key),
	};

	return past_asked_device(&plan->past, future->name, key, now) &&
	       !hand_has(&hand);
}

/**
 * plan_is_by_hand() - see whether a setting of a pool was set by hand
 * @pool: the pool
 * @key: of the setting
 *
 * Return: whether it was.
 */
bool plan_is_by_hand(const char *pool, enum conf_key key)
{
	return hand_has(&(struct hand_key){
		.pool = pool, .key = conf_key_name(key),
	});
}

/**
 * plan_gave_pool() - see whether a pool has something of a former configuration
 * @plan: the plan
 * @pool: the pool
 * @key: of the setting
 * @now: what it is
 *
 * Return: whether it has, so that it is to be taken back.
 */
bool plan_gave_pool(const struct plan *plan, const char *pool,
		    enum conf_key key, const char *now)
{
	return past_asked_pool(&plan->past, pool, key, now) &&
	       !plan_is_by_hand(pool, key);
}

static bool is_new_pool(const struct plan *plan, const char *pool)
{
	for (size_t i = 0; i < plan->devices->n; i++) {
		if (plan->devices->v[i].dm->table &&
		    !strcmp(plan->devices->v[i].table.pool, pool))
			return false;
	}
	return true;
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
		if (is_new_pool(plan, change->pool))
			hand_clear_pool(change->pool);
		return;
	case CHANGE_MOVE:
		if (is_new_pool(plan, change->to))
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
			v[(*n)++] = (struct past_device){ future->name,
							  future->section };
	}
	return v;
}

/**
 * plan_begin() - write down what the configuration asks for, before it is made so
 * @plan: the plan
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int plan_begin(const struct plan *plan)
{
	struct past_device *v;
	char *file;
	size_t n;
	int code;

	if (plan->is_partial)
		return EXIT_OK;
	code = past_keep(plan->conf, &file);
	free(file);
	if (code != EXIT_OK)
		return code;
	v = list_devices(plan, &n);
	code = past_keep_devices(&plan->past, v, n, false);
	free(v);
	return code;
}

/**
 * plan_end() - once it is made so, forget what was asked for before
 * @plan: the plan
 * @all: it was about all devices; else what was said of others is still to be taken back
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int plan_end(const struct plan *plan, bool all)
{
	struct past_device *v;
	char *file;
	size_t n;
	int code;

	for (size_t i = 0; i < plan->n; i++)
		forget_hand(plan, &plan->v[i]);
	if (plan->is_partial)
		return EXIT_OK;
	v = list_devices(plan, &n);
	code = past_keep_devices(all ? NULL : &plan->past, v, n, true);
	free(v);
	if (!all || code != EXIT_OK)
		return code;
	code = past_keep(plan->conf, &file);
	if (code == EXIT_OK)
		past_forget(file);
	free(file);
	return code;
}
