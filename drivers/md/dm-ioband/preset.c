// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: presets: settings for cgroups that do not exist yet.
 *
 * A message can give a cgroup a weight only if the cgroup exists.  A program that waits for the
 * cgroup is late by some milliseconds, in which the cgroup may do much I/O.  So a weight, a
 * maximum, a minimum and a latency target can also be given to a path, as a preset.  A group that
 * is made for the cgroup of that path begins with these settings.  Later settings of the group stay
 * until the cgroup is removed and made again.
 *
 * A path is made and looked up once for each new group, if its part of the tree has presets, and
 * the pool has presets of that depth: paths of deep trees take long.  Bios of an existing group do
 * not come here.
 */
#include "preset.h"

#include "blkcg.h"

#include <linux/build_bug.h>
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stringhash.h>

/* Most presets of a pool, more than any needs.  Their memory is charged to no cgroup. */
#define IOBAND_PRESETS_MAX	4096
static_assert(IOBAND_PRESETS_MAX <= U16_MAX);	/* at_level counts them */

#define HASH_BITS_OF_INDEX	8

/* The presets of a pool by path; made with the first preset. */
struct ioband_preset_index {
	/* changed under the pool's reap mutex and its lock */
	struct hlist_head by_path[1 << HASH_BITS_OF_INDEX];
	/* number, by depth of the path; under the pool's lock */
	u16 at_level[IOBAND_NESTING_MAX + 1];
	char path[PATH_MAX];		/* scratch; under the pool's lock */
};

/* Number of presets in all pools. */
static atomic_long_t nr_presets;

/* The depth of the cgroup of a path. */
static unsigned int level_of(const char *path)
{
	unsigned int level = 0;

	for (; *path; path++)
		level += *path == '/';
	return level;
}

static struct hlist_head *chain_of(const struct ioband_scope *scope, const char *path, size_t len,
				   struct ioband_preset_index *index)
{
	return &index->by_path[hash_32(full_name_hash(scope, path, len), HASH_BITS_OF_INDEX)];
}

/* Under the pool's lock, or its reap mutex. */
static struct ioband_preset *find(const struct ioband_pool *pool, const struct ioband_scope *scope,
				  const char *path, size_t len)
{
	struct ioband_preset *preset;

	if (!scope->nr_presets)
		return NULL;
	hlist_for_each_entry(preset, chain_of(scope, path, len, pool->preset_index), node)
		if (preset->scope == scope && !strcmp(preset->path, path))
			return preset;
	return NULL;
}

/* The initial settings of a group that is about to be made, or NULL.  Under the pool's lock. */
const struct ioband_config *ioband_preset_find(const struct ioband_scope *scope,
					       const struct ioband_key *key)
{
	const struct cgroup_subsys_state *css = key->object;
	struct ioband_pool *pool = scope->group->pool;
	struct ioband_preset_index *index = pool->preset_index;
	struct ioband_preset *preset = NULL;
	int len;

	lockdep_assert_held(&pool->lock);
	if (likely(!scope->nr_presets) || key->kind != IOBAND_KIND_CGROUP)
		return NULL;
	if (css->cgroup->level > IOBAND_NESTING_MAX || !index->at_level[css->cgroup->level])
		return NULL;
	len = cgroup_path(css->cgroup, index->path, PATH_MAX);
	if (len > 0 && len < PATH_MAX)
		preset = find(pool, scope, index->path, len);
	return preset ? &preset->config : NULL;
}

/* Allocate and count a preset, without its number.  Under the pool's reap mutex; may sleep. */
static struct ioband_preset *preset_alloc(struct ioband_scope *scope, const char *path)
{
	const size_t room = strlen(path) + 1;
	struct ioband_preset *preset = kzalloc(struct_size(preset, path, room), GFP_KERNEL);

	if (!preset)
		return NULL;
	memcpy(preset->path, path, room);
	preset->scope = scope;
	atomic_long_inc(&nr_presets);
	return preset;
}

static void preset_dealloc(struct ioband_preset *preset)
{
	kfree(preset);
	atomic_long_dec(&nr_presets);
}

/* Add an empty preset; NULL without memory.  Under the pool's reap mutex; may sleep. */
static struct ioband_preset *preset_new(struct ioband_pool *pool, struct ioband_scope *scope,
					const char *path)
{
	struct ioband_preset *preset;

	if (!pool->preset_index)
		pool->preset_index = kvzalloc(sizeof(*pool->preset_index), GFP_KERNEL);
	if (!pool->preset_index)
		return NULL;
	preset = preset_alloc(scope, path);
	if (!preset)
		return NULL;
	if (xa_alloc_cyclic(&pool->presets, &preset->seq, preset, XA_LIMIT(1, U32_MAX),
			    &pool->next_preset, GFP_KERNEL) < 0) {
		preset_dealloc(preset);
		return NULL;
	}
	spin_lock_irq(&pool->lock);
	hlist_add_head(&preset->node, chain_of(scope, path, strlen(path), pool->preset_index));
	pool->preset_index->at_level[level_of(path)]++;
	scope->nr_presets++;
	pool->nr_presets++;
	spin_unlock_irq(&pool->lock);
	return preset;
}

/* Under the pool's reap mutex; takes its lock. */
static void preset_drop(struct ioband_pool *pool, struct ioband_preset *preset)
{
	spin_lock_irq(&pool->lock);
	hlist_del(&preset->node);
	pool->preset_index->at_level[level_of(preset->path)]--;
	preset->scope->nr_presets--;
	pool->nr_presets--;
	spin_unlock_irq(&pool->lock);
	xa_erase(&pool->presets, preset->seq);
	preset_dealloc(preset);
}

/* Under the pool's reap mutex; takes its lock. */
static void preset_change(struct ioband_pool *pool, struct ioband_preset *preset,
			  const struct ioband_message *message)
{
	struct ioband_config *config = &preset->config;

	spin_lock_irq(&pool->lock);
	switch (message->verb) {
	case IOBAND_MSG_WEIGHT:
		config->weight = message->weight;
		break;
	case IOBAND_MSG_MAX:
		ioband_args_merge_rates(&config->max, message);
		break;
	case IOBAND_MSG_MIN:
		ioband_args_merge_rates(&config->min, message);
		break;
	case IOBAND_MSG_WRITE_LATENCY_TARGET:
		config->latency_us[IOBAND_DIR_WRITE] = message->latency_us;
		break;
	default:
		config->latency_us[IOBAND_DIR_READ] = message->latency_us;
		break;
	}
	spin_unlock_irq(&pool->lock);
}

static int check_new(const struct ioband_pool *pool, const char *path, struct ioband_error *error)
{
	if (level_of(path) > IOBAND_NESTING_MAX)
		return ioband_args_fail(error, -ENOENT, "preset of 'cgroup:%.64s': %s", path,
					IOBAND_TOO_DEEP);
	if (pool->nr_presets < IOBAND_PRESETS_MAX)
		return 0;
	return ioband_args_fail(error, -ENOMEM,
				"preset of 'cgroup:%.64s': the pool has %u already; take others back, with default",
				path, IOBAND_PRESETS_MAX);
}

/* Under the pool's reap mutex; may sleep. */
static int set(struct ioband_pool *pool, struct ioband_scope *scope,
	       const struct ioband_message *message, struct ioband_error *error)
{
	const char *path = message->spec.path;
	struct ioband_preset *preset = find(pool, scope, path, strlen(path));
	int ret;

	if (!preset) {
		if (!ioband_args_gives(message))
			return 0;
		ret = check_new(pool, path, error);
		if (ret)
			return ret;
		preset = preset_new(pool, scope, path);
	}
	if (!preset)
		return ioband_args_fail(error, -ENOMEM, "no memory for a preset");
	preset_change(pool, preset, message);
	if (!preset->config.weight && !ioband_config_has_limits(&preset->config))
		preset_drop(pool, preset);
	return 0;
}

/*
 * Change the preset of a path.  Existing groups keep their settings.  May sleep.  Return: 0,
 * -ENOENT if there can be no such group, or -ENOMEM.
 */
int ioband_preset_set(struct ioband_target *target, const struct ioband_message *message,
		      struct ioband_error *error)
{
	struct ioband_scope *scope = ioband_scope_of(target->member,
						     READ_ONCE(target->member->mode));
	struct ioband_pool *pool = target->pool;
	unsigned int noio;
	int ret;

	/* A device that leaves the pool takes the reap mutex under the registry's. */
	noio = memalloc_noio_save();
	mutex_lock(&pool->reap);
	ret = set(pool, scope, message, error);
	mutex_unlock(&pool->reap);
	memalloc_noio_restore(noio);
	return ret;
}

/* Free the presets of a part of the tree that no target uses any more.  May sleep. */
void ioband_preset_forget(struct ioband_pool *pool, struct ioband_scope *scope)
{
	struct ioband_preset *preset;
	unsigned long seq;

	mutex_lock(&pool->reap);
	xa_for_each(&pool->presets, seq, preset) {
		if (preset->scope == scope)
			preset_drop(pool, preset);
		cond_resched();
	}
	mutex_unlock(&pool->reap);
}

/* Free all presets of a pool that has no devices.  May sleep. */
void ioband_preset_end(struct ioband_pool *pool)
{
	ioband_preset_forget(pool, &pool->scope);
	kvfree(pool->preset_index);
}

void ioband_preset_exit(void)
{
	ioband_warn_lost(&nr_presets, "presets");
}
