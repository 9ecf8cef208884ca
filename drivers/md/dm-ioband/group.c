// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the tree of groups, and their lifetime.
 *
 * A cgroup's group is made by its first bio, or by a message that sets its weight, maximum or
 * minimum.  It begins with the preset of its path.  No kernel tells a module that a cgroup is
 * removed, so a sweep looks for dying cgroups every second.  A group holds a reference to its
 * cgroup: the cgroup's id is not used again before the group is gone.
 *
 * A group is removed in steps.  It is unindexed: new bios of the dying cgroup (there can be some,
 * from writeback) go to the nearest living ancestor.  Its last bio completes.  Its counters are
 * retired, and reaped after a grace period.  Then the group is freed.
 *
 * The I/O path does not wait for memory, except for a moment for a new group's counters
 * (ioband_stats_wait()).  Without memory, a bio belongs to the nearest ancestor that has a group.
 * A group is charged to the memory cgroup of the task that submits its first bio, and so are the
 * maximum, minimum and latency target with which it begins.  A memory cgroup at its limit must not
 * evade a maximum, so in that case they are not charged.  Per-CPU counters are not charged; all of
 * them are bounded by a part of the memory.  Beyond it groups share the counters and the picks of
 * their ancestors.  Some are left, at each level of the tree, for groups that come later.  So a
 * user that makes many cgroups exhausts no other user.
 *
 * A group without a weight, maximum or minimum of its own is freed after a minute without I/O, with
 * its counters.  Its next bio makes it again as it was.  That does not hold for a group that began
 * with a preset which was removed meanwhile: such a group stays.
 */
#include "group.h"

#include "blkcg.h"
#include "debt.h"
#include "limits.h"
#include "preset.h"
#include "stats.h"
#include "stream.h"

#include <linux/atomic.h>
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "trace.h"

/* More than any host has cgroups; beyond it cgroups share the groups of their ancestors. */
#define IOBAND_GROUPS_MAX	BIT(17)

/* Idle time after which counters are retired, and groups without settings are freed. */
#define IOBAND_IDLE_LONG	(60 * HZ)

/* kmalloc() would use 1 KiB for a group. */
static struct kmem_cache *group_cache;

/*
 * Number of groups in all pools.  The cache may be merged with others of its size, and then does
 * not tell how many objects are left in it.
 */
static atomic_long_t nr_groups;

/* Return: 0, or -ENOMEM. */
int __init ioband_group_init(void)
{
	group_cache = KMEM_CACHE(ioband_group, SLAB_HWCACHE_ALIGN);
	return group_cache ? 0 : -ENOMEM;
}

/* When no pool is left; warns of groups that were not freed. */
void ioband_group_exit(void)
{
	ioband_warn_lost(&nr_groups, "groups");
	kmem_cache_destroy(group_cache);
}

static struct ioband_group *group_alloc(gfp_t gfp)
{
	struct ioband_group *group = kmem_cache_zalloc(group_cache, gfp);

	if (group)
		atomic_long_inc(&nr_groups);
	return group;
}

static void group_dealloc(struct ioband_group *group)
{
	kmem_cache_free(group_cache, group);
	atomic_long_dec(&nr_groups);
}

static void object_get(const struct ioband_key *key)
{
	if (key->kind == IOBAND_KIND_CGROUP)
		css_get((struct cgroup_subsys_state *)key->object);
	else if (key->object)
		get_pid(key->object);
}

static void object_put(const struct ioband_key *key)
{
	if (!key->object)
		return;
	if (key->kind == IOBAND_KIND_CGROUP)
		css_put(key->object);
	else
		put_pid(key->object);
}

/* The node in which a group's children and its own bios compete. */
static struct ioband_node *group_node(struct ioband_group *group)
{
	return group->parent ? &group->node : &group->pool->core.root;
}

static void group_init(struct ioband_group *group, struct ioband_pool *pool,
		       struct ioband_group *parent, u8 kind)
{
	group->pool = pool;
	group->parent = parent;
	group->kind = kind;
	group->idle_since = jiffies;
	group->busy_at = jiffies;
	init_waitqueue_head(&group->waiters);
	INIT_LIST_HEAD(&group->active);
	if (parent)
		ioband_tree_init_node(&group->node, group_node(parent), IOBAND_WEIGHT_DEFAULT);
	ioband_stream_init(&group->own, group, group_node(group), IOBAND_LEVEL_USUAL);
}

/* Add to the number of groups below each ancestor of a group that is new, or gone (-1). */
static void count_below(struct ioband_group *group, int more)
{
	lockdep_assert_held(&group->pool->lock);
	while ((group = group->parent))
		group->below += more;
}

/*
 * May a group have one more group below it?  A subtree needs a seventh of its groups left above, as
 * it does of counters.  Otherwise one user could make so many cgroups that the cgroups of other
 * users get no groups.  So of 131072 groups a subtree has some 115000 at most, and a subtree of it
 * 100000.  The first 512 of a subtree need nothing left, so that cgroups nest as deeply as the
 * kernel allows.
 */
static bool may_have_more(const struct ioband_group *group)
{
	const u64 free = IOBAND_GROUPS_MAX / 256;
	u64 needed = group->below + 1;

	lockdep_assert_held(&group->pool->lock);
	for (; group->parent; group = group->parent)
		needed += (max(needed, free) - free) / IOBAND_SUBTREE_ALPHA +
			  group->parent->below - group->below;
	return needed < IOBAND_GROUPS_MAX;
}

/* Give a new group its number.  Messages can see it from now on.  Under the pool's lock. */
static int group_publish(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;
	int ret;

	ret = xa_alloc_cyclic(&pool->groups, &group->seq, group, XA_LIMIT(1, U32_MAX),
			      &pool->next_seq, GFP_NOWAIT | __GFP_NOWARN);
	if (ret < 0)
		return ret;
	pool->nr_groups++;
	count_below(group, 1);
	trace_ioband_group_create(group);
	return 0;
}

/* Bios must always find these groups: they have counters from the start.  NULL: no memory. */
static struct ioband_group *new_permanent(struct ioband_pool *pool, struct ioband_group *parent,
					  enum ioband_kind kind, dev_t devno)
{
	struct ioband_group *group = group_alloc(GFP_KERNEL);
	struct ioband_stats *stats = ioband_stats_new(GFP_KERNEL);

	if (!group || !stats)
		goto free;
	group_init(group, pool, parent, kind);
	group->devno = devno;
	spin_lock_irq(&pool->lock);
	if (!group_publish(group)) {
		ioband_stats_give(group, stats, IOBAND_STATS_UNSET);
		spin_unlock_irq(&pool->lock);
		return group;
	}
	spin_unlock_irq(&pool->lock);
free:
	ioband_stats_free(stats);
	if (group)
		group_dealloc(group);
	return NULL;
}

/* The root of a pool's tree, with the core's root as its node; NULL without memory.  May sleep. */
struct ioband_group *ioband_group_new_root(struct ioband_pool *pool)
{
	return new_permanent(pool, NULL, IOBAND_KIND_ROOT, 0);
}

/* The group of a mapped device; NULL without memory.  May sleep. */
struct ioband_group *ioband_group_new_device(struct ioband_pool *pool, struct ioband_member *member)
{
	return new_permanent(pool, pool->root, IOBAND_KIND_DEVICE, member->devno);
}

static struct ioband_key css_key(struct cgroup_subsys_state *css)
{
	return (struct ioband_key) { IOBAND_KIND_CGROUP, css->id, css };
}

/*
 * Does a cgroup on the path from @top down to @css have a preset with a maximum, minimum or latency
 * target, which it would evade without a group?  Under the pool's lock.
 */
static bool begins_limited(struct ioband_scope *scope, const struct ioband_key *top,
			   struct cgroup_subsys_state *css)
{
	for (; css; css = css == top->object ? NULL : css->parent) {
		const struct ioband_key key = css_key(css);
		const struct ioband_config *config = ioband_preset_find(scope, &key);

		if (config && ioband_config_has_limits(config))
			return true;
	}
	return false;
}

/*
 * The task that makes a group is charged for it.  If its memory cgroup is at the limit no task is
 * charged, so that the cgroup does not evade its maximum.
 */
static struct ioband_limits *limits_alloc(gfp_t gfp)
{
	return ioband_limits_new(gfp | __GFP_ACCOUNT) ?: ioband_limits_new(gfp);
}

/*
 * Make a group below @parent with the key @key; NULL without memory.  If it is made for a cgroup,
 * @css is that cgroup or one below.  Under the pool's lock.
 */
static struct ioband_group *group_create(struct ioband_scope *scope, struct ioband_group *parent,
					 const struct ioband_key *key,
					 struct cgroup_subsys_state *css)
{
	const gfp_t gfp = IOBAND_GFP;
	struct ioband_pool *pool = parent->pool;
	const struct ioband_config *config;
	struct ioband_limits *limits = NULL;
	struct ioband_group *group;

	if (!may_have_more(parent))
		return NULL;
	group = group_alloc(gfp | __GFP_ACCOUNT);
	if (!group && begins_limited(scope, key, css))
		group = group_alloc(gfp);
	if (!group)
		return NULL;
	group_init(group, pool, parent, key->kind);
	group->scope = scope;
	group->key = *key;
	config = ioband_preset_find(scope, key);
	group->preset = config;
	if (unlikely(config) && ioband_config_has_limits(config)) {
		limits = limits_alloc(gfp);
		if (!limits)
			goto free;
	}
	/* Reserve the slot first: a group that can be found must not fail any more. */
	if (xa_reserve(&scope->index[key->kind], key->id, gfp))
		goto free;
	if (group_publish(group) < 0)
		goto release;
	if (unlikely(config) && config->weight)
		ioband_group_set_weight(group, config->weight);
	if (unlikely(limits))
		ioband_limits_begin(group, config, limits);
	object_get(key);
	xa_store(&scope->index[key->kind], key->id, group, gfp);
	schedule_delayed_work(&pool->sweep, IOBAND_SWEEP_INTERVAL);
	return group;

release:
	xa_release(&scope->index[key->kind], key->id);
free:
	ioband_limits_free(limits);
	group_dealloc(group);
	return NULL;
}

/*
 * The group of a cgroup, made with all missing groups above it, or of the nearest ancestor for
 * which that is possible.  Under the pool's lock.
 */
static struct ioband_group *get_cgroup(struct ioband_scope *scope, struct cgroup_subsys_state *css)
{
	for (;;) {
		struct cgroup_subsys_state *above, *missing = NULL;
		struct ioband_group *group = NULL;
		struct ioband_key key;

		for (above = css; above->parent && !group; above = above->parent) {
			key = css_key(above);
			group = ioband_group_find(scope, &key);
			if (!group)
				missing = above;
		}
		group = group ?: scope->group;
		if (!missing || css_is_dying(missing))
			return group;
		key = css_key(missing);
		if (!group_create(scope, group, &key, css))
			return group;
	}
}

/* The group of a key, or NULL if there is none yet.  Under RCU, or the pool's lock. */
struct ioband_group *ioband_group_find(struct ioband_scope *scope, const struct ioband_key *key)
{
	struct ioband_group *group;

	if (key->kind == IOBAND_KIND_CGROUP && !((struct cgroup_subsys_state *)key->object)->parent)
		return scope->group;
	group = xa_load(&scope->index[key->kind], key->id);
	/* The process id may have been reused. */
	return group && group->key.object == key->object ? group : NULL;
}

/*
 * The group of a key, made if there is none, or that of the nearest ancestor for which it can be
 * made; never NULL.  Under the pool's lock.
 */
struct ioband_group *ioband_group_get(struct ioband_scope *scope, const struct ioband_key *key)
{
	struct ioband_group *group;

	lockdep_assert_held(&scope->group->pool->lock);
	if (key->kind == IOBAND_KIND_CGROUP)
		return get_cgroup(scope, key->object);

	group = xa_load(&scope->index[key->kind], key->id);
	if (group && group->key.object != key->object) {
		ioband_group_unindex(group);
		group = NULL;
	}
	if (!group)
		group = group_create(scope, scope->group, key, NULL);
	return group ?: scope->group;
}

/*
 * Change a group's weight, of the root that of its own bios; 0 for the default.  Under the pool's
 * lock.  The caller dispatches, as the group may no longer yield.
 */
void ioband_group_set_weight(struct ioband_group *group, u32 weight)
{
	lockdep_assert_held(&group->pool->lock);
	group->weight_set = weight;
	ioband_tree_set_weight(&group->pool->core, ioband_group_ent(group),
			       weight ?: IOBAND_WEIGHT_DEFAULT);
}

/* The weight, or IOBAND_WEIGHT_IDLE.  Without the pool's lock it may be outdated. */
u32 ioband_group_weight(const struct ioband_group *group)
{
	const struct ioband_ent *ent = ioband_group_ent(group);

	return READ_ONCE(ent->idle_class) ? IOBAND_WEIGHT_IDLE : READ_ONCE(ent->weight);
}

/* Hide a group from new bios, under the pool's lock.  The sweep frees it when its bios are done. */
void ioband_group_unindex(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	if (group->scope) {
		struct ioband_group __rcu **recent =
			&group->scope->recent[ioband_recent_slot(group->key.id)];

		xa_erase(&group->scope->index[group->key.kind], group->key.id);
		if (rcu_access_pointer(*recent) == group)
			RCU_INIT_POINTER(*recent, NULL);
	}
	group->scope = NULL;
	group->unindexed = true;
	RCU_INIT_POINTER(group->open, NULL);
}

static bool group_is_idle_long(const struct ioband_group *group)
{
	return list_empty(&group->active) &&
	       time_after(jiffies, group->idle_since + IOBAND_IDLE_LONG);
}

static bool pid_is_gone(struct pid *pid, enum pid_type type)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(pid, type);
	rcu_read_unlock();
	return gone;
}

/* Is the cgroup or process of a group gone, or may the group be freed while idle? */
static bool group_is_gone(const struct ioband_group *group)
{
	const bool forgotten = !ioband_group_is_set(group) && !group->preset &&
			       group_is_idle_long(group);

	switch (group->kind) {
	case IOBAND_KIND_CGROUP:
		return (forgotten && !group->below) || css_is_dying(group->key.object);
	case IOBAND_KIND_PID:
		return forgotten || pid_is_gone(group->key.object, PIDTYPE_TGID);
	case IOBAND_KIND_PGRP:
		return forgotten || pid_is_gone(group->key.object, PIDTYPE_PGID);
	case IOBAND_KIND_UID:
	case IOBAND_KIND_GID:
		return forgotten;
	default:
		return false;
	}
}

/* Bios must always find these groups.  Their lifetime is that of the pool or the device. */
static bool group_is_permanent(const struct ioband_group *group)
{
	return !group->unindexed &&
	       (group->kind == IOBAND_KIND_ROOT || group->kind == IOBAND_KIND_DEVICE);
}

/* First step of the sweep, under both locks: are there counters or groups to free? */
static bool sweep_retire(struct ioband_group *group)
{
	if (!group->unindexed && group_is_gone(group))
		ioband_group_unindex(group);
	if (group_is_idle_long(group))
		ioband_stream_end(group);
	if (group->unindexed || (!group_is_permanent(group) && group_is_idle_long(group) &&
				 !ioband_stats_are_below(group)))
		ioband_stats_retire(group);
	group->doomed = group->unindexed;
	return group->retired || group->doomed;
}

/* Under the reap mutex; takes the pool's lock. */
static void group_free(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	trace_ioband_group_free(group);
	ioband_debt_forget(group);
	spin_lock_irq(&pool->lock);
	if (!list_empty(&group->active)) {
		list_del(&group->active);
		pool->nr_active--;
	}
	ioband_limits_end(group);
	ioband_group_set_weight(group, 0);	/* leaves the idle class */
	ioband_stream_end(group);
	WARN_ON_ONCE(!list_empty(&group->own.discard_wait));
	list_del(&group->own.park);
	ioband_core_remove_leaf(&pool->core, &group->own.leaf);
	xa_erase(&pool->groups, group->seq);
	pool->nr_groups--;
	count_below(group, -1);
	spin_unlock_irq(&pool->lock);

	object_put(&group->key);
	ioband_stats_end(group);
	group_dealloc(group);
}

/*
 * Last step of the sweep: free the group, and the doomed groups above that waited for it.  Under
 * the reap mutex; takes the pool's lock.
 */
static void sweep_free(struct ioband_group *group)
{
	while (group && group->doomed && !group->below && !group->retired &&
	       !rcu_access_pointer(group->stats)) {
		struct ioband_group *parent = group->parent;

		group_free(group);
		group = parent;
	}
}

/* Free unused groups and counters. */
void ioband_group_sweep(struct work_struct *work)
{
	struct ioband_pool *pool = container_of(work, struct ioband_pool, sweep.work);
	const unsigned int noio = memalloc_noio_save();
	bool found = false, again = false;
	struct ioband_group *group;
	unsigned long seq;

	mutex_lock(&pool->reap);
	/* Groups are freed only under the reap mutex, so the walk needs no reference. */
	xa_for_each(&pool->groups, seq, group) {
		spin_lock_irq(&pool->lock);
		found |= sweep_retire(group);
		again |= !group_is_permanent(group) || group->streams;
		spin_unlock_irq(&pool->lock);
		cond_resched();
	}
	if (found) {
		synchronize_rcu();
		xa_for_each(&pool->groups, seq, group)
			if (ioband_stats_reap(group))
				sweep_free(group);
	}
	mutex_unlock(&pool->reap);
	memalloc_noio_restore(noio);
	if (again)
		schedule_delayed_work(&pool->sweep, IOBAND_SWEEP_INTERVAL);
}

/* Free the groups of a pool without devices; its scopes are no longer used.  May sleep. */
void ioband_group_free_all(struct ioband_pool *pool)
{
	struct ioband_group *group;
	unsigned long seq;

	mutex_lock(&pool->reap);
	xa_for_each(&pool->groups, seq, group) {
		spin_lock_irq(&pool->lock);
		ioband_group_unindex(group);
		ioband_stats_retire(group);
		group->doomed = true;
		spin_unlock_irq(&pool->lock);
		cond_resched();
	}
	synchronize_rcu();
	/* Most children have higher numbers than their parents, so some rounds free all groups. */
	while (!xa_empty(&pool->groups)) {
		xa_for_each(&pool->groups, seq, group) {
			ioband_stats_drop(group);
			sweep_free(group);
			cond_resched();
		}
	}
	mutex_unlock(&pool->reap);
}

static int say_of_cgroup(const struct ioband_spec *spec, const char *what,
			 struct ioband_error *error)
{
	if (spec->path)
		return ioband_args_fail(error, -ENOENT, "group 'cgroup:%.64s': %s", spec->path,
					what);
	return ioband_args_fail(error, -ENOENT, "group 'cgroup#%llu': %s", spec->id, what);
}

static int say_no_cgroup(const struct ioband_spec *spec, struct ioband_error *error)
{
	return say_of_cgroup(spec,
			     "there is no such cgroup; name its path from the root of the hierarchy, or the inode number of its directory",
			     error);
}

/* cgroup v2.  May sleep.  Return: the css, with a reference. */
static struct cgroup_subsys_state *css_get_v2(const struct ioband_spec *spec,
					      struct ioband_error *error)
{
	struct cgroup *cgroup = spec->path ? cgroup_get_from_path(spec->path) :
					     cgroup_get_from_id(spec->id);
	struct cgroup_subsys_state *css;

	if (IS_ERR_OR_NULL(cgroup))
		return ERR_PTR(say_no_cgroup(spec, error));
	/* The css of the nearest ancestor, if the controller is not enabled. */
	css = cgroup_get_e_css(cgroup, &io_cgrp_subsys);
	if (css->cgroup != cgroup) {
		css_put(css);
		css = ERR_PTR(say_of_cgroup(spec,
					    "the io controller is not enabled for it; write +io to cgroup.subtree_control of its parent",
					    error));
	}
	cgroup_put(cgroup);
	return css;
}

static bool css_matches(struct cgroup_subsys_state *css, const struct ioband_spec *spec, char *buf)
{
	if (!spec->path)
		return cgroup_id(css->cgroup) == spec->id;
	cgroup_path(css->cgroup, buf, PATH_MAX);
	return !strcmp(buf, spec->path);
}

/* cgroup v1 has no look-up for modules, so walk.  May sleep.  Return: the css, with a reference. */
static struct cgroup_subsys_state *css_get_v1(const struct ioband_spec *spec,
					      struct ioband_error *error)
{
	char *buf = kmalloc(PATH_MAX, GFP_KERNEL);
	struct cgroup_subsys_state *css;

	if (!buf)
		return ERR_PTR(-ENOMEM);
	rcu_read_lock();
	/* A cgroup that is being removed may have the path of its successor. */
	css_for_each_descendant_pre(css, blkcg_root_css)
		if (css_matches(css, spec, buf) && css_tryget_online(css))
			break;
	rcu_read_unlock();
	kfree(buf);
	return css ?: ERR_PTR(say_no_cgroup(spec, error));
}

/* A change of a group by a message. */
struct change {
	const struct ioband_message *message;
	/* for a group that has no maximum, minimum or latency target yet */
	struct ioband_limits *limits;
};

/* Under the pool's lock. */
static void change_group(struct ioband_group *group, struct change *change)
{
	if (change->message->verb == IOBAND_MSG_WEIGHT)
		ioband_group_set_weight(group, change->message->weight);
	else
		ioband_limits_set(group, change->message, &change->limits);
	ioband_stats_sort(group);
}

/* Change the group of @key, and make it if necessary.  Takes the pool's lock. */
static int set_keyed(struct ioband_scope *scope, const struct ioband_key *key,
		     struct change *change, struct ioband_error *error)
{
	struct ioband_pool *pool = scope->group->pool;
	const bool gives = ioband_args_gives(change->message);
	struct ioband_group *group;
	bool preset, found;

	spin_lock_irq(&pool->lock);
	preset = ioband_preset_find(scope, key);
	/*
	 * A group is made to store a setting.  When a setting is removed, it is made so that a
	 * later group does not begin with the preset.
	 */
	group = gives || preset ? ioband_group_get(scope, key) : ioband_group_find(scope, key);
	found = group && ioband_key_equal(&group->key, key);
	if (found) {
		group->preset |= preset;
		change_group(group, change);
	}
	spin_unlock_irq(&pool->lock);
	if (found || (!gives && (!preset || css_is_dying(key->object))))
		return 0;
	return ioband_args_fail(error, -ENOMEM,
				"no memory for another group, or too many groups below the same cgroup or in the pool (at most %lu), or it has just gone",
				IOBAND_GROUPS_MAX);
}

static int set_group(struct ioband_pool *pool, struct ioband_group *group, struct change *change)
{
	spin_lock_irq(&pool->lock);
	change_group(group, change);
	spin_unlock_irq(&pool->lock);
	return 0;
}

static int set_cgroup(struct ioband_target *target, const struct ioband_spec *spec,
		      struct change *change, struct ioband_error *error)
{
	struct ioband_scope *scope = ioband_scope_of(target->member,
						     READ_ONCE(target->member->mode));
	struct cgroup_subsys_state *css;
	struct ioband_key key;
	int ret;

	css = cgroup_subsys_on_dfl(io_cgrp_subsys) ? css_get_v2(spec, error) :
						     css_get_v1(spec, error);
	if (IS_ERR(css))
		return PTR_ERR(css);
	key = css_key(css);
	if (ioband_blkcg_css(css) != css)
		ret = say_of_cgroup(spec, IOBAND_TOO_DEEP, error);
	else if (css->parent)
		ret = set_keyed(scope, &key, change, error);
	else
		ret = set_group(target->pool, scope->group, change);
	css_put(css);
	return ret;
}

static int set_pid(struct ioband_target *target, const struct ioband_spec *spec,
		   struct change *change, struct ioband_error *error)
{
	const enum pid_type type = spec->kind == IOBAND_KIND_PID ? PIDTYPE_TGID : PIDTYPE_PGID;
	struct pid *pid = find_get_pid(spec->id);
	struct ioband_key key = { spec->kind, pid_nr(pid), pid };
	int ret;

	if (!pid || pid_is_gone(pid, type)) {
		put_pid(pid);
		return ioband_args_fail(error, -ENOENT, "there is no process%s %llu",
					type == PIDTYPE_PGID ? " group" : "", spec->id);
	}
	ret = set_keyed(&target->pool->scope, &key, change, error);
	put_pid(pid);
	return ret;
}

static int set_device(struct ioband_target *target, const struct ioband_spec *spec,
		      struct change *change, struct ioband_error *error)
{
	const dev_t devno = spec->self ? target->member->devno : spec->id;
	struct ioband_pool *pool = target->pool;
	struct ioband_group *group = NULL;
	struct ioband_member *member;

	spin_lock_irq(&pool->lock);
	list_for_each_entry(member, &pool->members, members)
		if (member->devno == devno)
			group = member->scope.group;
	if (group)
		change_group(group, change);
	spin_unlock_irq(&pool->lock);
	if (group)
		return 0;
	return ioband_args_fail(error, -ENOENT,
				"device %u:%u is not in pool '%s', or has no group of its own: give it mode=device or mode=device+cgroup first",
				MAJOR(devno), MINOR(devno), pool->name);
}

static int set_spec(struct ioband_target *target, struct change *change, struct ioband_error *error)
{
	const struct ioband_spec *spec = &change->message->spec;
	const struct ioband_key key = { spec->kind, spec->id, NULL };

	switch (spec->kind) {
	case IOBAND_KIND_CGROUP:
		return set_cgroup(target, spec, change, error);
	case IOBAND_KIND_PID:
	case IOBAND_KIND_PGRP:
		return set_pid(target, spec, change, error);
	case IOBAND_KIND_UID:
	case IOBAND_KIND_GID:
		return set_keyed(&target->pool->scope, &key, change, error);
	case IOBAND_KIND_DEVICE:
		return set_device(target, spec, change, error);
	case IOBAND_KIND_ROOT:
		return set_group(target->pool, target->pool->root, change);
	}
	return -EINVAL;
}

/*
 * Set the weight, or another setting, of the group in a message.  May sleep.  Return: 0, -ENOENT if
 * the group's cgroup, process or device does not exist, or -ENOMEM.
 */
int ioband_group_set(struct ioband_target *target, const struct ioband_message *message,
		     struct ioband_error *error)
{
	struct change change = { .message = message };
	int ret;

	if (message->verb != IOBAND_MSG_WEIGHT) {
		change.limits = ioband_limits_new(GFP_KERNEL);
		if (!change.limits)
			return ioband_args_fail(error, -ENOMEM,
						"no memory for a maximum, a minimum or a latency target");
	}
	ret = set_spec(target, &change, error);
	ioband_limits_free(change.limits);
	return ret;
}
