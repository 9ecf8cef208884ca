// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what a group may have at most, what it is promised, its latency target.
 *
 * Few groups have any: memory for all comes with the first and goes with the last.
 */
#include "limits.h"

#include "io.h"

#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/slab.h>

/* Groups' bounds that there are, in all pools. */
static atomic_long_t nr_bounds;

/* What a latency target is of: of the root, all that goes. */
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
 * ioband_bound_rates() - what a group may have at most, or is promised
 * @group: group
 * @verb: which: IOBAND_MSG_MAX or IOBAND_MSG_MIN
 * @rates: the result; 0 for each that is not bounded
 *
 * Context: Process.
 *
 * Return: whether any is.
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
 * ioband_bound_latency() - what a group's reads are to take
 * @group: group
 *
 * Context: Process.
 *
 * Return: microseconds; 0 if it has no latency target.
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

/* The maximum of a group that is one of another below it, too. */
static const struct ioband_cap *cap_of(const struct ioband_group *group,
				       const struct ioband_group *below)
{
	if (likely(!group->bounds) || (!group->parent && group != below))
		return NULL;
	return ioband_group_ent(group)->cap;
}

/**
 * ioband_bound_is_set() - has somebody given a group a maximum or a minimum
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
 * ioband_bound_is_capped() - has a group a maximum, or one above it
 * @group: group
 *
 * Context: Under the pool's lock.
 *
 * Return: true if so: its bios have to go through the scheduler.
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
 * ioband_bound_piece() - what had better go at once below a maximum
 * @group: group
 * @way: of the bio
 *
 * A bio of 4 MiB is all that a group may have in a second at 4 MiB/s, and keeps the
 * device from the others for as long as it takes.
 *
 * Context: Under the pool's lock.
 *
 * Return: bytes, a power of two of what it may have in 1/16 s; U32_MAX: all.
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
 * ioband_bounds_new() - memory for a group's maximum, minimum and latency target
 * @gfp: whether to wait for it
 *
 * Context: As @gfp says.
 *
 * Return: all of them, not initialised; NULL without memory.
 */
struct ioband_bounds *ioband_bounds_new(gfp_t gfp)
{
	struct ioband_bounds *bounds = kmalloc(sizeof(*bounds), gfp);

	if (bounds)
		atomic_long_inc(&nr_bounds);
	return bounds;
}

/**
 * ioband_bounds_free() - free what ioband_bounds_new() made
 * @bounds: of no group any more, or NULL
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
 * ioband_bounds_exit() - with no pool left, complain of bounds that were lost
 */
void ioband_bounds_exit(void)
{
	ioband_warn_lost(&nr_bounds, "bounds of groups");
}

/* A bound that was taken away has left nothing behind: what had gone is forgotten. */
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
 * Bios in flight of a group and those below, or, with @above NULL, of all those that are
 * promised something.  All that have some are active.
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

/* With nothing in flight there is nothing to count, which takes a look at all active groups. */
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
 * @message: says what
 * @spare: is used up, and NULL then, if the group had none of them
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
 * ioband_bound_begin() - let a group begin with a maximum, a minimum or a latency target
 * @group: group that is new, and has no bios
 * @wishes: which; one of them at least
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
 * ioband_bound_end() - let a group have none of them
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
