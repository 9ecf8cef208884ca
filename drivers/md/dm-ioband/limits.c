// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the maximum, the minimum and the latency target of a group.
 *
 * Few groups have any.  The first of them allocates memory for all three, and the last frees it.
 * All static functions run under the pool's lock.
 */
#include "limits.h"

#include "io.h"

#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/slab.h>

/* Number of &struct ioband_bounds in all pools. */
static atomic_long_t nr_bounds;

/* The entity of a latency target: in the root, all bios. */
static struct ioband_ent *aim_ent(struct ioband_group *group)
{
	return group->parent ? &group->node.ent : &group->pool->core.root.ent;
}

static const struct ioband_meter *bound_meter(struct ioband_group *group, enum ioband_verb verb)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	if (verb == IOBAND_MSG_MAX)
		return ent->cap ? &ent->cap->meter : NULL;
	return ent->floor ? &ent->floor->meter : NULL;
}

/**
 * ioband_bound_rates() - read the maximum or the minimum of a group
 * @group: group
 * @verb: IOBAND_MSG_MAX or IOBAND_MSG_MIN
 * @rates: the result; 0 for each rate that is not bounded
 *
 * Context: Process.
 *
 * Return: true if any rate is bounded.
 */
bool ioband_bound_rates(struct ioband_group *group, enum ioband_verb verb,
			struct ioband_rates *rates)
{
	spin_lock_irq(&group->pool->lock);
	*rates = ioband_meter_rates(bound_meter(group, verb));
	spin_unlock_irq(&group->pool->lock);
	return ioband_rates_any(rates);
}

/**
 * ioband_bound_latency() - read the latency target of a group
 * @group: group
 *
 * Context: Process.
 *
 * Return: microseconds; 0 if it has none.
 */
u32 ioband_bound_latency(struct ioband_group *group)
{
	const struct ioband_aim *aim;
	u64 target_ns;

	spin_lock_irq(&group->pool->lock);
	aim = aim_ent(group)->aim;
	target_ns = aim ? aim->target_ns : 0;
	spin_unlock_irq(&group->pool->lock);
	return div_u64(target_ns, NSEC_PER_USEC);
}

/* The maximum of @group as far as it applies to @below: that of the root is for its own bios. */
static const struct ioband_cap *cap_of(const struct ioband_group *group,
				       const struct ioband_group *below)
{
	if (likely(!group->bounds) || (!group->parent && group != below))
		return NULL;
	return ioband_group_ent(group)->cap;
}

/**
 * ioband_bound_is_set() - does a group have a maximum or a minimum
 * @group: group
 *
 * Context: Under the pool's lock.
 *
 * Return: true if so.
 */
bool ioband_bound_is_set(struct ioband_group *group)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	return group->bounds && (ent->cap || ent->floor);
}

/**
 * ioband_bound_is_capped() - does a group have a maximum, itself or above
 * @group: group
 *
 * Context: Under the pool's lock.
 *
 * Return: true if so: its bios have to pass the scheduler.
 */
bool ioband_bound_is_capped(const struct ioband_group *group)
{
	const struct ioband_group *above;

	if (likely(!group->pool->core.capped))
		return false;
	for (above = group; above; above = above->parent)
		if (cap_of(above, group))
			return true;
	return false;
}

/**
 * ioband_bound_piece() - the size of splits below a maximum
 * @group: group
 * @way: direction of the bio
 *
 * At a maximum of 4 MiB/s a bio of 4 MiB is a second's worth.  Dispatched as a whole it delays
 * other groups for as long as its transfer takes.
 *
 * Context: Under the pool's lock.
 *
 * Return: bytes, a power of two: at most 1/16 s of the maximum, and at least IOBAND_PIECE_MIN;
 * U32_MAX: no bound.
 */
u32 ioband_bound_piece(const struct ioband_group *group, enum ioband_way way)
{
	const struct ioband_group *above;
	u64 rate = U64_MAX;

	for (above = group; above; above = above->parent) {
		const struct ioband_cap *cap = cap_of(above, group);

		if (cap && cap->meter.bytes[way].rate)
			rate = min(rate, cap->meter.bytes[way].rate);
	}
	if (rate / 16 >= IOBAND_PIECE_MAX)
		return U32_MAX;
	return max_t(u32, rounddown_pow_of_two(rate / 16 | 1), IOBAND_PIECE_MIN);
}

/**
 * ioband_bounds_new() - allocate a group's maximum, minimum and latency target
 * @gfp: flags of the allocation
 *
 * Context: As @gfp says.
 *
 * Return: all three, not initialised; NULL without memory.
 */
struct ioband_bounds *ioband_bounds_new(gfp_t gfp)
{
	struct ioband_bounds *bounds = kmalloc(sizeof(*bounds), gfp);

	if (bounds)
		atomic_long_inc(&nr_bounds);
	return bounds;
}

/**
 * ioband_bounds_free() - free the memory from ioband_bounds_new()
 * @bounds: no longer used by a group, or NULL
 *
 * Context: Any.
 */
void ioband_bounds_free(struct ioband_bounds *bounds)
{
	if (!bounds)
		return;
	kfree(bounds);
	atomic_long_dec(&nr_bounds);
}

/**
 * ioband_bounds_exit() - warn of bounds that were not freed, when no pool is left
 */
void ioband_bounds_exit(void)
{
	ioband_warn_lost(&nr_bounds, "bounds of groups");
}

/* A new maximum begins without history, also after an earlier one was removed. */
static void set_max(struct ioband_group *group, const struct ioband_rates *rates)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_cap *cap = &group->bounds->cap;
	struct ioband_ent *ent = ioband_group_ent(group);

	if (!ent->cap)
		ioband_cap_init(cap);
	if (ioband_rates_any(rates))
		ioband_cap_set(core, ent, cap, rates, ktime_get_ns());
	else
		ioband_cap_remove(core, ent);
}

static bool counts(const struct ioband_leaf *leaf, const struct ioband_ent *above)
{
	const struct ioband_ent *ent = &leaf->ent;

	if (!above)
		return ioband_leaf_is_promised(leaf);
	while (ent != above && ent->parent)
		ent = &ent->parent->ent;
	return ent == above;
}

/*
 * Bios in flight of @above and the groups below it; with @above NULL, of all groups that have a
 * minimum, themselves or above.  Groups with bios in flight are active.
 */
static u32 inflight_ios(struct ioband_pool *pool, const struct ioband_ent *above)
{
	const struct ioband_stream *stream;
	struct ioband_group *group;
	u32 ios = 0;

	list_for_each_entry(group, &pool->active, active) {
		if (counts(&group->own.leaf, above))
			ios += group->own.leaf.inflight;
		list_for_each_entry(stream, &group->own.streams, streams)
			if (counts(&stream->leaf, above))
				ios += stream->leaf.inflight;
	}
	return ios;
}

static void set_min(struct ioband_group *group, const struct ioband_rates *rates)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_floor *floor = &group->bounds->floor;
	struct ioband_ent *ent = ioband_group_ent(group);

	if (!ent->floor)
		ioband_floor_init(floor);
	if (ioband_rates_any(rates))
		ioband_floor_set(core, ent, floor, rates, inflight_ios(group->pool, ent),
				 ktime_get_ns());
	else
		ioband_floor_remove(core, ent);
	ioband_floor_recount(core, inflight_ios(group->pool, NULL));
}

/* A new group has no bios in flight, so the walk over the active groups is not needed. */
static void begin_min(struct ioband_group *group, const struct ioband_rates *rates)
{
	struct ioband_floor *floor = &group->bounds->floor;

	ioband_floor_init(floor);
	ioband_floor_set(&group->pool->core, ioband_group_ent(group), floor, rates, 0,
			 ktime_get_ns());
}

static void set_rates(struct ioband_group *group, const struct ioband_message *message)
{
	struct ioband_rates rates = ioband_meter_rates(bound_meter(group, message->verb));

	ioband_rates_merge(&rates, message);
	if (message->verb == IOBAND_MSG_MAX)
		set_max(group, &rates);
	else
		set_min(group, &rates);
}

static void set_latency(struct ioband_group *group, u32 latency_us)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_aim *aim = &group->bounds->aim;
	struct ioband_ent *ent = aim_ent(group);

	if (!ent->aim)
		ioband_aim_init(aim);
	if (latency_us)
		ioband_aim_set(core, ent, aim, (u64)latency_us * NSEC_PER_USEC, ktime_get_ns());
	else
		ioband_aim_remove(core, ent);
}

/**
 * ioband_bound_set() - change a group's maximum, minimum or latency target
 * @group: group
 * @message: the change
 * @spare: memory; used and set to NULL if the group had none of the three
 *
 * Context: Under the pool's lock.
 */
void ioband_bound_set(struct ioband_group *group, const struct ioband_message *message,
		      struct ioband_bounds **spare)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	if (!group->bounds) {
		group->bounds = *spare;
		*spare = NULL;
	}
	if (message->verb == IOBAND_MSG_LATENCY_TARGET)
		set_latency(group, message->latency_us);
	else
		set_rates(group, message);
	if (!ent->cap && !ent->floor && !aim_ent(group)->aim) {
		ioband_bounds_free(group->bounds);
		group->bounds = NULL;
	}
}

/**
 * ioband_bound_begin() - give a new group its maximum, minimum and latency target
 * @group: new group without bios
 * @wishes: initial settings with at least one of the three
 * @bounds: memory for them
 *
 * Context: Under the pool's lock.
 */
void ioband_bound_begin(struct ioband_group *group, const struct ioband_wishes *wishes,
			struct ioband_bounds *bounds)
{
	group->bounds = bounds;
	if (ioband_rates_any(&wishes->max))
		set_max(group, &wishes->max);
	if (ioband_rates_any(&wishes->min))
		begin_min(group, &wishes->min);
	if (wishes->latency_us)
		set_latency(group, wishes->latency_us);
}

/**
 * ioband_bound_end() - remove a group's maximum, minimum and latency target
 * @group: group
 *
 * Context: Under the pool's lock.
 */
void ioband_bound_end(struct ioband_group *group)
{
	ioband_cap_remove(&group->pool->core, ioband_group_ent(group));
	ioband_floor_remove(&group->pool->core, ioband_group_ent(group));
	ioband_aim_remove(&group->pool->core, aim_ent(group));
	ioband_bounds_free(group->bounds);
	group->bounds = NULL;
}
