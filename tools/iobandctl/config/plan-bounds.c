// SPDX-License-Identifier: GPL-2.0-only
/* Planning changes of maxima, minima and latency targets. */
#include "config/plan.h"
#include "ioband/query.h"
#include "ioband/tree.h"

/* The place of a bound in a section; NULL if the section does not set it. */
static const struct conf_place *place_of(const struct conf_section *section, enum bound bound)
{
	enum conf_key key = conf_group_keys[GROUP_BOUNDS + bound];

	return section && conf_text(section, key) ? &section->value[key].place : NULL;
}

/*
 * Plan a bound of a group, if it differs from the present one.
 * Return: the change, for the caller to fill in the group; NULL if the bound is the same.
 */
struct change *plan_bound(struct plan *plan, const struct future *future,
			  const struct conf_section *section, enum bound bound,
			  const struct bounds *now)
{
	const struct conf_place *place = place_of(section, bound);
	struct bounds wanted = conf_bounds(section);
	struct change *change;

	if (!place || bound_is(&wanted, now, bound))
		return NULL;
	change = plan_add(plan, CHANGE_BOUND, future, place);
	change->bound = bound;
	change->from = bound_text(now, bound);
	change->to = bound_text(&wanted, bound);
	return change;
}

/*
 * Plan the removal of a bound of a group.
 * Return: the change, for the caller to fill in the group.
 */
struct change *plan_no_bound(struct plan *plan, const struct future *future,
			     enum bound bound, const struct bounds *now)
{
	struct change *change = plan_add(plan, CHANGE_BOUND, future, NULL);

	change->bound = bound;
	change->from = bound_text(now, bound);
	change->to = bound_text(&bounds_none, bound);
	return change;
}

/*
 * Check that no planned minimum exceeds its maximum.
 * @sections: the sections with its bounds, by kind; if it is NULL or lacks the key, the
 *	present bound remains
 * @group: the group, for messages
 */
int plan_check_bounds(const struct plan *plan, const struct conf_section *const sections[BOUNDS],
		      const struct bounds *now, const char *group)
{
	const struct conf_place *place[BOUNDS];
	struct bounds then = *now, wanted;
	struct problem problem;
	char where[256] = "it has it now";
	int code;

	for (int bound = 0; bound < BOUNDS; bound++) {
		place[bound] = place_of(sections[bound], bound);
		if (!place[bound])
			continue;
		wanted = conf_bounds(sections[bound]);
		bound_copy(&then, &wanted, bound);
	}
	if ((!place[MAXIMUM] && !place[MINIMUM]) || !bounds_check(&then, &problem))
		return EXIT_OK;
	if (place[MAXIMUM])
		conf_where(plan->conf, place[MAXIMUM], where, sizeof(where));
	code = fail(EXIT_USAGE, "%s: %s (%s), which would win", group, problem.text, where);
	return plan_blame(plan, place[MINIMUM] ?: place[MAXIMUM], code);
}

/* The present bounds of the device's own group, which moves with the device to another pool. */
static int present_bounds(const struct plan *plan, const struct future *future,
			  struct bounds *bounds)
{
	const struct ioband_device *device = future->now;
	struct groups groups __cleanup(groups_free) = { .n = 0 };
	const struct ioband_group *own;
	int code;

	*bounds = bounds_none;
	if (!device || (future->moved && !ioband_has_group(device)))
		return EXIT_OK;
	code = query_groups(device, &groups);
	own = tree_own(plan->devices, &groups, device);
	if (own)
		*bounds = own->bounds;
	return code;
}

/* Check whether a bound of the device's own group is to be reverted. */
static bool gave(const struct plan *plan, const struct future *future,
		 const struct conf_section *section, enum bound bound, const struct bounds *now)
{
	const struct ioband_preset has = { .bounds = *now };

	return !place_of(section, bound) && plan_gave_own(plan, future, GROUP_BOUNDS + bound, &has);
}

static void change_own(struct plan *plan, const struct future *future,
		       const struct conf_section *section,
		       const struct bounds *now, const struct bounds *rest)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		struct change *change =
			bound_is(now, rest, bound) ?
			plan_bound(plan, future, section, bound, now) :
			plan_no_bound(plan, future, bound, now);

		if (change)
			plan_of_device(change, future);
	}
}

/*
 * Plan the bounds of a device's own group.
 * @section: the device's section in the configuration
 */
int plan_own_bounds(struct plan *plan, const struct future *future,
		    const struct conf_section *section)
{
	const struct conf_section *sections[BOUNDS];
	struct bounds now, rest;
	bool any = plan->past.devices.n;
	int code;

	for (int bound = 0; bound < BOUNDS; bound++) {
		sections[bound] = section;
		any = any || place_of(section, bound);
	}
	if (!any)
		return EXIT_OK;
	code = present_bounds(plan, future, &now);
	rest = now;
	for (int bound = 0; bound < BOUNDS && code == EXIT_OK; bound++) {
		if (gave(plan, future, section, bound, &now))
			bound_copy(&rest, &bounds_none, bound);
	}
	code = code ?: plan_check_bounds(plan, sections, &rest, future->name);
	if (code == EXIT_OK)
		change_own(plan, future, section, &now, &rest);
	return code;
}
