// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the maximum, the minimum and the latency target of a group.
 *
 * Few groups have any.  The first of them allocates memory for all three, and the last frees it.
 * All static functions run under the pool's lock.
 */
#include "limits.h"

#include "sched/tree.h"

#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/slab.h>

/* Number of &struct ioband_limits in all pools. */
static atomic_long_t nr_limits;

/* The entity of a latency target: in the root, all reads, or the root's own writes. */
static struct ioband_ent *latency_ent(struct ioband_group *group, enum ioband_dir dir)
{
	if (!group->parent && dir == IOBAND_DIR_READ)
		return &group->pool->core.root.ent;
	return ioband_group_ent(group);
}

static const struct ioband_buckets *limits_buckets(struct ioband_group *group,
						   enum ioband_verb verb)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	if (verb == IOBAND_MSG_MAX)
		return ent->max ? &ent->max->buckets : NULL;
	return ent->min ? &ent->min->buckets : NULL;
}

/* Read the maximum, the minimum and the latency targets. */
void ioband_limits_get(struct ioband_group *group, struct ioband_config *config)
{
	spin_lock_irq(&group->pool->lock);
	config->max = ioband_bucket_rates(limits_buckets(group, IOBAND_MSG_MAX));
	config->min = ioband_bucket_rates(limits_buckets(group, IOBAND_MSG_MIN));
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		const struct ioband_latency *latency = latency_ent(group, dir)->latency[dir];

		config->latency_us[dir] =
			latency ? div_u64(latency->target_ns, NSEC_PER_USEC) : 0;
	}
	spin_unlock_irq(&group->pool->lock);
}

/* The maximum of @group as far as it applies to @below: that of the root is for its own bios. */
static const struct ioband_max *max_of(const struct ioband_group *group,
				       const struct ioband_group *below)
{
	if (likely(!group->limits) || (!group->parent && group != below))
		return NULL;
	return ioband_group_ent(group)->max;
}

/* Does a group have a maximum or a minimum?  Under the pool's lock. */
bool ioband_limits_is_set(struct ioband_group *group)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	return group->limits && (ent->max || ent->min);
}

/* Have a group's bios to pass the scheduler, for a maximum?  Under the pool's lock. */
bool ioband_limits_has_max(const struct ioband_group *group)
{
	if (likely(!group->pool->core.has_max))
		return false;
	for (const struct ioband_group *above = group; above; above = above->parent)
		if (max_of(above, group))
			return true;
	return false;
}

/*
 * The size of splits below a maximum, under the pool's lock: a power of two, at most 1/16 s of the
 * maximum, and at least IOBAND_SPLIT_MIN; U32_MAX: no bound.  At a maximum of 4 MiB/s a bio of 4
 * MiB is a second's worth.  Dispatched as a whole it delays other groups for as long as its
 * transfer takes.
 */
u32 ioband_limits_split_bytes(const struct ioband_group *group, enum ioband_dir dir)
{
	u64 rate = U64_MAX;

	for (const struct ioband_group *above = group; above; above = above->parent) {
		const struct ioband_max *maximum = max_of(above, group);

		if (maximum && maximum->buckets.bytes[dir].rate)
			rate = min(rate, maximum->buckets.bytes[dir].rate);
	}
	if (rate / 16 >= IOBAND_SPLIT_MAX)
		return U32_MAX;
	return max_t(u32, rounddown_pow_of_two(rate / 16 | 1), IOBAND_SPLIT_MIN);
}

/* Memory for a group's maximum, minimum and latency target, not initialised, or NULL. */
struct ioband_limits *ioband_limits_new(gfp_t gfp)
{
	struct ioband_limits *limits = kmalloc(sizeof(*limits), gfp);

	if (limits)
		atomic_long_inc(&nr_limits);
	return limits;
}

void ioband_limits_free(struct ioband_limits *limits)
{
	if (!limits)
		return;
	kfree(limits);
	atomic_long_dec(&nr_limits);
}

void ioband_limits_exit(void)
{
	ioband_warn_lost(&nr_limits, "bounds of groups");
}

/* A new maximum begins without history, also after an earlier one was removed. */
static void set_max(struct ioband_group *group, const struct ioband_rates *rates)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_max *maximum = &group->limits->max;
	struct ioband_ent *ent = ioband_group_ent(group);

	if (!ent->max)
		ioband_max_init(maximum);
	if (ioband_args_any_rate(rates))
		ioband_max_set(core, ent, maximum, rates, ktime_get_ns());
	else
		ioband_max_remove(core, ent);
}

/* As ioband_min_set() needs them.  Groups with bios in flight are active. */
static u32 inflight_ios(struct ioband_pool *pool, const struct ioband_ent *above)
{
	const struct ioband_stream *stream;
	struct ioband_group *group;
	u32 ios = 0;

	list_for_each_entry(group, &pool->active, active) {
		if (ent_is_below(&group->own.leaf.ent, above))
			ios += ioband_below_counted(&group->own.leaf);
		list_for_each_entry(stream, &group->own.streams, streams)
			if (ent_is_below(&stream->leaf.ent, above))
				ios += ioband_below_counted(&stream->leaf);
	}
	return ios;
}

static void set_min(struct ioband_group *group, const struct ioband_rates *rates, u32 inflight)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_min *minimum = &group->limits->min;
	struct ioband_ent *ent = ioband_group_ent(group);

	if (!ent->min)
		ioband_min_init(minimum);
	if (ioband_args_any_rate(rates))
		ioband_min_set(core, ent, minimum, rates, inflight, ktime_get_ns());
	else
		ioband_min_remove(core, ent);
}

static void set_rates(struct ioband_group *group, const struct ioband_message *message)
{
	struct ioband_rates rates = ioband_bucket_rates(limits_buckets(group, message->verb));

	ioband_args_merge_rates(&rates, message);
	if (message->verb == IOBAND_MSG_MAX)
		set_max(group, &rates);
	else
		set_min(group, &rates, inflight_ios(group->pool, ioband_group_ent(group)));
}

static void set_latency(struct ioband_group *group, enum ioband_dir dir, u32 latency_us)
{
	struct ioband_core *core = &group->pool->core;
	struct ioband_latency *latency = &group->limits->latency[dir];
	struct ioband_ent *ent = latency_ent(group, dir);

	if (!ent->latency[dir])
		ioband_latency_init(latency, dir);
	if (latency_us)
		ioband_latency_set(core, ent, latency, (u64)latency_us * NSEC_PER_USEC,
				   ktime_get_ns());
	else
		ioband_latency_remove(core, ent, dir);
}

/*
 * Change a group's maximum, minimum or latency target, under the pool's lock.  If the group had
 * none of the three, *@spare is used and set to NULL.
 */
void ioband_limits_set(struct ioband_group *group, const struct ioband_message *message,
		       struct ioband_limits **spare)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	if (!group->limits) {
		group->limits = *spare;
		*spare = NULL;
	}
	if (message->verb == IOBAND_MSG_LATENCY_TARGET)
		set_latency(group, IOBAND_DIR_READ, message->latency_us);
	else if (message->verb == IOBAND_MSG_WRITE_LATENCY_TARGET)
		set_latency(group, IOBAND_DIR_WRITE, message->latency_us);
	else
		set_rates(group, message);
	if (!ent->max && !ent->min &&
	    !latency_ent(group, IOBAND_DIR_READ)->latency[IOBAND_DIR_READ] &&
	    !latency_ent(group, IOBAND_DIR_WRITE)->latency[IOBAND_DIR_WRITE]) {
		ioband_limits_free(group->limits);
		group->limits = NULL;
	}
}

/* Give a new group its initial settings, with at least one of the three.  Under the pool's lock. */
void ioband_limits_begin(struct ioband_group *group, const struct ioband_config *config,
			 struct ioband_limits *limits)
{
	group->limits = limits;
	if (ioband_args_any_rate(&config->max))
		set_max(group, &config->max);
	if (ioband_args_any_rate(&config->min))
		set_min(group, &config->min, 0);
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		if (config->latency_us[dir])
			set_latency(group, dir, config->latency_us[dir]);
}

/* Remove all three, under the pool's lock. */
void ioband_limits_end(struct ioband_group *group)
{
	ioband_max_remove(&group->pool->core, ioband_group_ent(group));
	ioband_min_remove(&group->pool->core, ioband_group_ent(group));
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++)
		ioband_latency_remove(&group->pool->core, latency_ent(group, dir), dir);
	ioband_limits_free(group->limits);
	group->limits = NULL;
}
