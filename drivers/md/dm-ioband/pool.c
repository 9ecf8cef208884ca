// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: pools, the devices in them, and their clockwork.
 *
 * A pool is there while tables name it.  A member is a mapped device in it; it
 * outlives a reload, so that the weight and the groups of the device do.
 */
#include "pool.h"

#include "dispatch.h"
#include "flush.h"
#include "group.h"
#include "io.h"
#include "preset.h"
#include "release.h"
#include "state.h"
#include "stats.h"
#include "worker.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>

#define DM_MSG_PREFIX "ioband"

/* A group that has done nothing for this long does not compete. */
#define IOBAND_IDLE	max(HZ / 50, 1)

/* A flush may have a large cache to write; who comes next would wait for that anyway. */
#define IOBAND_FLUSH_STUCK_NS	(5 * NSEC_PER_SEC)

/* When of the bios of the open state none has come back for so long, less goes beside them. */
#define IOBAND_OPEN_STEP	max(HZ / 20, 1)

/* And when none has for this long, they do not count: their device hangs. */
#define IOBAND_OPEN_TIME	((unsigned long)HZ / 2)

/* What is known of a device's requests fades by such a part with each tick. */
#define IOBAND_ROOMY_PART	32

/* Ticks in the shared state with room to spare until the pool opens. */
#define IOBAND_CALM_TICKS	50

/* How long the open state lasts, until it is looked again whether loads changed. */
#define IOBAND_CALM_TIME	(5 * HZ)

/* How often held bios are looked through for those of dying tasks, and for deleted disks. */
#define IOBAND_DYING_INTERVAL	max(HZ / 4, 1)

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);

/*
 * A device that is suspended may be what memory is reclaimed through, and its
 * resume takes the lock: nobody who holds it waits for I/O.
 */
static unsigned int registry_enter(void)
{
	mutex_lock(&registry_lock);
	return memalloc_noio_save();
}

static void registry_leave(unsigned int noio)
{
	memalloc_noio_restore(noio);
	mutex_unlock(&registry_lock);
}

static bool given(const struct ioband_settings *settings, enum ioband_key_word key)
{
	return settings->given & (1U << key);
}

/* ---- the clockwork ------------------------------------------------------- */

/* That a flusher has been made to pause is no reason to let others have all. */
static bool pauses(const struct ioband_group *group, u64 now_ns)
{
	const struct ioband_core *core = &group->pool->core;
	const struct ioband_stream *stream;

	list_for_each_entry(stream, &group->own.streams, streams)
		if (ioband_leaf_pauses(core, &stream->leaf, now_ns))
			return true;
	return ioband_leaf_pauses(core, &group->own.leaf, now_ns);
}

static void note_progress(struct ioband_group *group, bool progress, u64 now_ns)
{
	if (progress)
		group->busy_at = jiffies;
	else if (time_after(jiffies, group->busy_at + IOBAND_IDLE) && !pauses(group, now_ns))
		ioband_state_deactivate(group);
}

/*
 * In the shared state every bio passes under the lock, and leaves its mark; but
 * bios that went in the open state may still be at the device, and their task
 * be waiting for it.  Here the CPUs are asked only about a group that seems idle.
 */
static void scan_shared(struct ioband_pool *pool, u64 now_ns)
{
	struct ioband_group *group, *next;

	list_for_each_entry_safe(group, next, &pool->active, active) {
		const bool held = ioband_group_held_ios(group);

		note_progress(group, held || group->touched || ioband_stats_in_use(group),
			      now_ns);
		group->touched = false;
	}
}

/*
 * Of the open state the CPUs have to be asked, which takes a while if there are
 * many: one group at a time, and pinned, so that interrupts are on meanwhile.
 * Adds up what is in flight; in the open state it is also noted who is active.
 */
static void scan_open(struct ioband_pool *pool, bool note, struct ioband_progress *sum)
{
	const u64 now_ns = ktime_get_ns();
	struct ioband_group *group;
	unsigned int left;

	*sum = (struct ioband_progress) {};

	spin_lock_irq(&pool->lock);
	for (left = pool->nr_active; left && !list_empty(&pool->active); left--) {
		struct ioband_progress progress;
		struct ioband_stats *stats;
		bool moved;

		group = ioband_state_next_active(pool);
		stats = rcu_dereference_protected(group->stats, lockdep_is_held(&pool->lock));
		if (!stats) {
			/* It is dying, and its last bios keep it. */
			if (note)
				note_progress(group, group->retired, now_ns);
			continue;
		}
		ioband_stats_pin(stats);
		spin_unlock_irq(&pool->lock);
		ioband_stats_progress(stats, &progress);
		spin_lock_irq(&pool->lock);
		moved = progress.ios != group->seen_ios;
		if (note && !list_empty(&group->active))
			note_progress(group, moved || progress.inflight ||
				      ioband_group_held_ios(group), now_ns);
		group->seen_ios = progress.ios;
		sum->inflight += progress.inflight;
		sum->open += progress.open;
		ioband_stats_unpin(stats);
	}
	spin_unlock_irq(&pool->lock);
}

/*
 * So many of the bios that went in the open state are still in flight.  What was taken off
 * the limit since nothing came back stays off until all have: the next one may be stuck too.
 */
static void note_open(struct ioband_pool *pool, u32 open_ios)
{
	unsigned long waited;

	if (open_ios < pool->open_ios)
		pool->open_fell = jiffies;
	waited = jiffies - pool->open_fell;
	pool->open_shift = max_t(unsigned long, pool->open_shift,
				 min(waited, IOBAND_OPEN_TIME) / IOBAND_OPEN_STEP);
	pool->open_ios = waited < IOBAND_OPEN_TIME ? open_ios : 0;
}

/* What may be in flight while groups compete, and in what pieces. */
static void set_limit(struct ioband_pool *pool, u64 now_ns)
{
	const bool finds = ioband_pool_finds_depth(pool);

	pool->limit_ios = finds ? pool->depth.pipe.ios : pool->fixed_depth ?: U32_MAX;
	pool->piece_bytes = finds ? pool->depth.pipe.piece_bytes : pool->fixed_piece;
	/* Else a turn would be over only with the whole of what may be a slice by itself. */
	if (pool->slice_ms && !pool->piece_bytes)
		pool->piece_bytes = IOBAND_PIECE_MAX;
	ioband_state_apply(pool, now_ns);
}

/* What a worker has seen of a device's requests has to be seen again. */
static void fade_roomy(struct ioband_pool *pool)
{
	struct ioband_member *member;

	list_for_each_entry(member, &pool->members, members) {
		const u32 roomy_ios = READ_ONCE(member->roomy_ios);

		WRITE_ONCE(member->roomy_ios,
			   roomy_ios - DIV_ROUND_UP(roomy_ios, IOBAND_ROOMY_PART));
	}
}

/* Learn from what completed since the last tick. */
static void tick_depth(struct ioband_pool *pool, u64 now_ns)
{
	pool->sample.ns = pool->done_ns - pool->sampled_ns;
	pool->sample.peak_ios = pool->peak_ios;
	/*
	 * Discard the sample if a minimum or a latency target throttled others, if bios are in
	 * flight that are not in it, or if a device was silent when it began.
	 */
	if (pool->core.late || pool->open_ios || pool->stall.silent_ios)
		ioband_depth_stop(&pool->depth);
	else if (ioband_pool_finds_depth(pool))
		ioband_depth_sample(&pool->depth, &pool->sample);
	pool->core.late = false;
	pool->sample = (struct ioband_sample) {};
	pool->sampled_ns = pool->done_ns;
	fade_roomy(pool);
	if (pool->core.flush == IOBAND_FLUSH_RUNNING &&
	    now_ns > pool->core.flushing_ns + IOBAND_FLUSH_STUCK_NS)
		ioband_flush_give_up(pool, now_ns);
	set_limit(pool, now_ns);
}

/* What may be in flight without anybody being the slower for it. */
static u32 spare_ios(const struct ioband_pool *pool)
{
	return pool->limit_ios / 2;
}

/* There has been room to spare, whenever the limit was not one on trial. */
static bool is_calm(struct ioband_pool *pool)
{
	if (!ioband_depth_in_trial(&pool->depth)) {
		const bool spare = !ioband_core_has_waiting(&pool->core) &&
				   !pool->open_ios && pool->peak_ios <= spare_ios(pool);

		pool->calm_ticks = spare ? pool->calm_ticks + 1 : 0;
	}
	return pool->calm_ticks >= IOBAND_CALM_TICKS && !ioband_core_has_wishes(&pool->core) &&
	       (!ioband_pool_finds_depth(pool) || ioband_depth_is_settled(&pool->depth));
}

static void tick_shared(struct ioband_pool *pool)
{
	struct ioband_progress sum;
	u64 now_ns;

	spin_lock_irq(&pool->lock);
	if (pool->open_ios) {
		spin_unlock_irq(&pool->lock);
		scan_open(pool, false, &sum);
		spin_lock_irq(&pool->lock);
		note_open(pool, sum.open);
	}
	now_ns = ktime_get_ns();
	scan_shared(pool, now_ns);
	if (pool->nr_active > 1)
		ioband_core_look(&pool->core, now_ns);
	else	/* nobody could be held for somebody else's reads */
		ioband_brake_end(&pool->core, now_ns);
	tick_depth(pool, now_ns);
	/* Not while a device is silent: all that is held would be dispatched into it. */
	if (!pool->slice_ms && !ioband_stall_is_silent(&pool->stall) &&
	    (pool->nr_active <= 1 || is_calm(pool))) {
		ioband_depth_stop(&pool->depth);
		ioband_state_open(pool, now_ns);
		set_limit(pool, now_ns);
		pool->calm_until = jiffies + IOBAND_CALM_TIME;
	} else {
		ioband_dispatch(pool, now_ns);
	}
	pool->peak_ios = pool->core.inflight_ios;
	spin_unlock_irq(&pool->lock);
}

static void tick_open(struct ioband_pool *pool)
{
	struct ioband_progress sum;
	u32 inflight;

	scan_open(pool, true, &sum);
	spin_lock_irq(&pool->lock);
	inflight = sum.inflight - min(sum.inflight, pool->held_ios); /* a maximum holds these */
	/*
	 * More than is_calm() allows; a device with a short queue of its own
	 * makes the submitters wait, and the limit may never be reached.
	 */
	if (pool->state == IOBAND_OPEN && pool->nr_active &&
	    (pool->slice_ms ||
	     (pool->nr_active > 1 &&
	      (inflight > spare_ios(pool) || ioband_core_has_wishes(&pool->core) ||
	       time_after_eq(jiffies, pool->calm_until)))))
		ioband_state_share(pool);
	spin_unlock_irq(&pool->lock);
}

static void pool_stock(struct work_struct *work)
{
	struct ioband_pool *pool = container_of(work, struct ioband_pool, stock);
	unsigned int noio = memalloc_noio_save();

	ioband_stats_stock(pool);
	ioband_stats_make_hist(pool);
	memalloc_noio_restore(noio);
}

static void pool_tick(struct work_struct *work)
{
	struct ioband_pool *pool = container_of(work, struct ioband_pool, tick.work);
	struct ioband_target *target;

	/* Waits for memory, which the tick does not. */
	if (!list_empty_careful(&pool->plain_stats))
		schedule_work(&pool->stock);
	/* Only the tick leaves the shared state. */
	mutex_lock(&pool->walk);
	if (READ_ONCE(pool->state) == IOBAND_SHARED)
		tick_shared(pool);
	else
		tick_open(pool);
	list_for_each_entry(target, &pool->targets, targets)
		ioband_worker_look(target);
	if (time_after_eq(jiffies, pool->dying_at)) {
		ioband_release_dying(pool);
		pool->dying_at = jiffies + IOBAND_DYING_INTERVAL;
	}
	mutex_unlock(&pool->walk);

	/* A group that becomes active starts it again. */
	if (READ_ONCE(pool->nr_active))
		ioband_state_arm_tick(pool);
}

/* ---- life ---------------------------------------------------------------- */

static void scope_init(struct ioband_scope *scope)
{
	int kind;

	for (kind = 0; kind < IOBAND_NR_KEYED; kind++)
		xa_init(&scope->index[kind]);
}

static void pool_free(struct ioband_pool *pool)
{
	cancel_delayed_work_sync(&pool->tick);
	cancel_delayed_work_sync(&pool->sweep);
	hrtimer_cancel(&pool->wake);
	cancel_work_sync(&pool->stock);
	ioband_preset_end(pool);
	ioband_group_free_all(pool);
	ioband_stats_unstock(pool);
	kfree(pool);
}

static struct ioband_pool *pool_new(const char *name)
{
	struct ioband_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return NULL;
	strscpy(pool->name, name, sizeof(pool->name));
	INIT_LIST_HEAD(&pool->members);
	INIT_LIST_HEAD(&pool->targets);
	spin_lock_init(&pool->lock);
	mutex_init(&pool->walk);
	mutex_init(&pool->reap);
	ioband_core_init(&pool->core);
	ioband_stall_init(&pool->stall);
	ioband_depth_init(&pool->depth);
	pool->writes_starved = IOBAND_WRITES_STARVED_DEFAULT;
	set_limit(pool, 0);
	pool->calm_until = jiffies;
	pool->dying_at = jiffies;
	scope_init(&pool->scope);
	xa_init_flags(&pool->groups, XA_FLAGS_ALLOC1);
	xa_init_flags(&pool->presets, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&pool->active);
	INIT_LIST_HEAD(&pool->spare_stats);
	INIT_LIST_HEAD(&pool->plain_stats);
	INIT_LIST_HEAD(&pool->dirty);
	hrtimer_setup(&pool->wake, ioband_dispatch_wake, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	init_waitqueue_head(&pool->stocked);
	INIT_WORK(&pool->stock, pool_stock);
	INIT_DELAYED_WORK(&pool->tick, pool_tick);
	INIT_DELAYED_WORK(&pool->sweep, ioband_group_sweep);
	pool->root = ioband_group_new_root(pool);
	if (!pool->root) {
		kfree(pool);
		return NULL;
	}
	pool->scope.group = pool->root;
	ioband_stats_stock(pool);
	return pool;
}

static struct ioband_pool *pool_find(const char *name)
{
	struct ioband_pool *pool;

	list_for_each_entry(pool, &registry, pools)
		if (!strcmp(pool->name, name))
			return pool;
	return NULL;
}

static struct ioband_member *member_find(struct ioband_pool *pool, dev_t devno)
{
	struct ioband_member *member;

	list_for_each_entry(member, &pool->members, members)
		if (member->devno == devno)
			return member;
	return NULL;
}

static struct ioband_member *member_new(struct ioband_pool *pool, dev_t devno)
{
	struct ioband_member *member = kzalloc(sizeof(*member), GFP_KERNEL);

	if (!member)
		return NULL;
	member->pool = pool;
	member->devno = devno;
	scope_init(&member->scope);
	spin_lock_irq(&pool->lock);
	list_add_tail(&member->members, &pool->members);
	ioband_pulse_init(&member->pulse, &pool->stall);
	pool->nr_members++;
	spin_unlock_irq(&pool->lock);
	return member;
}

static void member_free(struct ioband_member *member)
{
	struct ioband_pool *pool = member->pool;
	struct ioband_group *group;
	unsigned long id;
	int kind;

	ioband_preset_forget(pool, &member->scope);
	spin_lock_irq(&pool->lock);
	list_del(&member->members);
	list_del(&member->pulse.pulses);
	pool->nr_members--;
	for (kind = 0; kind < IOBAND_NR_KEYED; kind++)
		xa_for_each(&member->scope.index[kind], id, group)
			ioband_group_unindex(group);
	if (member->scope.group)
		ioband_group_unindex(member->scope.group);
	spin_unlock_irq(&pool->lock);
	schedule_delayed_work(&pool->sweep, 0);
	kfree(member);
}

/* The device's own group, for modes that have one. */
static int member_need_group(struct ioband_member *member, enum ioband_mode mode)
{
	struct ioband_pool *pool = member->pool;

	lockdep_assert_held(&registry_lock);
	if (ioband_scope_of(member, mode) != &member->scope || member->scope.group)
		return 0;
	member->scope.group = ioband_group_new_device(pool, member, IOBAND_WEIGHT_DEFAULT);
	return member->scope.group ? 0 : -ENOMEM;
}

/* What belongs to the pool is not changed under the other devices in it. */
static int check_shared_settings(const struct ioband_pool *pool,
				 const struct ioband_settings *settings,
				 struct ioband_error *error)
{
	if (given(settings, IOBAND_KEY_MEASURE) && settings->measure != pool->measure) {
		snprintf(error->text, sizeof(error->text),
			 "measure=%s: other devices are in pool '%s', which has measure=%s; send one of them the message 'set measure=%s'",
			 ioband_measure_names[settings->measure], pool->name,
			 ioband_measure_names[pool->measure],
			 ioband_measure_names[settings->measure]);
		return -EINVAL;
	}
	if (given(settings, IOBAND_KEY_DEPTH) && (settings->depth != pool->fixed_depth ||
						  settings->piece_bytes != pool->fixed_piece)) {
		snprintf(error->text, sizeof(error->text),
			 "depth=: other devices are in pool '%s', which has depth %u/%u (0: auto); send one of them the message 'set depth=...'",
			 pool->name, pool->fixed_depth, pool->fixed_piece);
		return -EINVAL;
	}
	if (given(settings, IOBAND_KEY_SLICE) && settings->slice_ms != pool->slice_ms) {
		snprintf(error->text, sizeof(error->text),
			 "slice=%u: other devices are in pool '%s', which has slice=%u; send one of them the message 'set slice=%u'",
			 settings->slice_ms, pool->name, pool->slice_ms, settings->slice_ms);
		return -EINVAL;
	}
	if (given(settings, IOBAND_KEY_WRITES_STARVED) &&
	    settings->writes_starved != pool->writes_starved) {
		snprintf(error->text, sizeof(error->text),
			 "writes_starved=%u: other devices are in pool '%s', which has %u; send one of them the message 'set writes_starved=%u'",
			 settings->writes_starved, pool->name, pool->writes_starved,
			 settings->writes_starved);
		return -EINVAL;
	}
	return 0;
}

/* Device time is known only of who has the device to itself. */
static int check_time(const struct ioband_pool *pool, const struct ioband_settings *settings,
		      struct ioband_error *error)
{
	const enum ioband_measure measure =
		given(settings, IOBAND_KEY_MEASURE) ? settings->measure : pool->measure;
	const u32 slice_ms =
		given(settings, IOBAND_KEY_SLICE) ? settings->slice_ms : pool->slice_ms;

	if (measure != IOBAND_MEASURE_TIME || slice_ms)
		return 0;
	if (given(settings, IOBAND_KEY_MEASURE))
		snprintf(error->text, sizeof(error->text),
			 "measure=time: device time is known only with slices; give slice=<ms> as well, or set it first");
	else
		snprintf(error->text, sizeof(error->text),
			 "slice=0: pool '%s' has measure=time, which wants slices; set another measure first",
			 pool->name);
	return -EINVAL;
}

/* What belongs to the pool.  Under its lock, or before anybody knows of it. */
static void adopt_shared_settings(struct ioband_pool *pool,
				  const struct ioband_settings *settings)
{
	if (given(settings, IOBAND_KEY_MEASURE))
		WRITE_ONCE(pool->measure, settings->measure);
	if (given(settings, IOBAND_KEY_DEPTH)) {
		pool->fixed_depth = settings->depth;
		pool->fixed_piece = settings->piece_bytes;
		ioband_depth_stop(&pool->depth);
	}
	if (given(settings, IOBAND_KEY_SLICE))
		WRITE_ONCE(pool->slice_ms, settings->slice_ms);
	if (given(settings, IOBAND_KEY_WRITES_STARVED))
		pool->writes_starved = settings->writes_starved;
	set_limit(pool, ktime_get_ns());
}

static bool has_others(const struct ioband_pool *pool, const struct ioband_member *member)
{
	return pool->nr_members > (member ? 1 : 0);
}

static int join_member(struct ioband_target *target, struct ioband_pool *pool,
		       struct ioband_error *error)
{
	const dev_t devno = disk_devt(dm_disk(dm_table_get_md(target->ti->table)));
	struct ioband_member *member = member_find(pool, devno);
	int ret;

	if (member_find(pool, disk_devt(target->dev->bdev->bd_disk))) {
		snprintf(error->text, sizeof(error->text),
			 "device '%s': is itself in pool '%s', and would wait for its own bios; use another pool",
			 target->dev->name, pool->name);
		return -EINVAL;
	}
	ret = check_time(pool, &target->settings, error);
	if (!ret && has_others(pool, member))
		ret = check_shared_settings(pool, &target->settings, error);
	if (ret)
		return ret;
	if (!member)
		member = member_new(pool, devno);
	if (!member)
		goto no_memory;
	if (member_need_group(member, target->settings.mode)) {
		if (!member->refs)
			member_free(member);
		goto no_memory;
	}
	member->refs++;
	target->member = member;
	return 0;

no_memory:
	snprintf(error->text, sizeof(error->text), "no memory for a device in pool '%s'",
		 pool->name);
	return -ENOMEM;
}

/**
 * ioband_pool_join() - a table names a pool
 * @target: with its settings
 * @name: of the pool; made if it is not there
 * @error: a sentence, on failure
 *
 * Context: Process; may sleep.
 *
 * Return: 0, -EINVAL if the settings are not the pool's, or the device below is
 * in it, or -ENOMEM.
 */
int ioband_pool_join(struct ioband_target *target, const char *name,
		     struct ioband_error *error)
{
	struct ioband_pool *pool;
	unsigned int noio;
	int ret;

	noio = registry_enter();
	pool = pool_find(name);
	if (!pool) {
		pool = pool_new(name);
		if (!pool) {
			snprintf(error->text, sizeof(error->text), "no memory for a pool");
			ret = -ENOMEM;
			goto unlock;
		}
		list_add(&pool->pools, &registry);
		adopt_shared_settings(pool, &target->settings);
	}
	ret = join_member(target, pool, error);
	if (!ret) {
		target->pool = pool;
		pool->refs++;
		mutex_lock(&pool->walk);
		list_add_tail(&target->targets, &pool->targets);
		mutex_unlock(&pool->walk);
	} else if (!pool->refs) {
		list_del(&pool->pools);
		pool_free(pool);
	}
unlock:
	registry_leave(noio);
	return ret;
}

/**
 * ioband_pool_hide() - keep the tick from a table that goes
 * @target: that has joined, and has no bios any more
 *
 * Context: Process; may sleep.
 */
void ioband_pool_hide(struct ioband_target *target)
{
	struct ioband_pool *pool = target->pool;

	mutex_lock(&pool->walk);
	list_del(&target->targets);
	mutex_unlock(&pool->walk);
}

/**
 * ioband_pool_leave() - a table goes
 * @target: hidden
 *
 * Context: Process; may sleep.
 */
void ioband_pool_leave(struct ioband_target *target)
{
	struct ioband_pool *pool = target->pool;
	unsigned int noio;

	noio = registry_enter();
	if (!--target->member->refs)
		member_free(target->member);
	if (!--pool->refs) {
		list_del(&pool->pools);
		pool_free(pool);
	}
	registry_leave(noio);
}

/* ---- settings ------------------------------------------------------------ */

static void apply(struct ioband_target *target, const struct ioband_settings *settings)
{
	struct ioband_member *member = target->member;
	struct ioband_pool *pool = target->pool;

	spin_lock_irq(&pool->lock);
	if (given(settings, IOBAND_KEY_MODE))
		WRITE_ONCE(member->mode, settings->mode);
	if (given(settings, IOBAND_KEY_WEIGHT) && member->scope.group)
		ioband_group_set_weight(member->scope.group, settings->weight);
	adopt_shared_settings(pool, settings);
	ioband_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
}

/**
 * ioband_pool_set() - take over settings at run time
 * @target: that got the message
 * @settings: what was given
 * @error: a sentence, on failure
 *
 * Bios already held stay where they are.
 *
 * Context: Process; may sleep.
 *
 * Return: 0, -EINVAL if they do not go together, or -ENOMEM.
 */
int ioband_pool_set(struct ioband_target *target, const struct ioband_settings *settings,
		    struct ioband_error *error)
{
	unsigned int noio;
	int ret;

	noio = registry_enter();
	ret = check_time(target->pool, settings, error);
	if (!ret && given(settings, IOBAND_KEY_MODE)) {
		ret = member_need_group(target->member, settings->mode);
		if (ret)
			snprintf(error->text, sizeof(error->text),
				 "no memory for the device's group");
	}
	if (!ret)
		apply(target, settings);
	registry_leave(noio);
	return ret;
}

/**
 * ioband_pool_resume() - a table becomes live: take over its settings
 * @target: the table's
 *
 * The table says all about its device; what it does not say about the pool
 * stays as it is.
 *
 * Context: Process; may sleep.
 */
void ioband_pool_resume(struct ioband_target *target)
{
	struct ioband_settings settings = target->settings;
	struct ioband_error error;
	unsigned int noio;

	if (target->applied)
		return;
	noio = registry_enter();
	settings.given |= 1U << IOBAND_KEY_MODE | 1U << IOBAND_KEY_WEIGHT;
	if (check_time(target->pool, &settings, &error) ||
	    (has_others(target->pool, target->member) &&
	     check_shared_settings(target->pool, &settings, &error))) {
		/* It was changed after the table was loaded. */
		DMWARN("%s: kept the pool's own: %s", target->pool->name, error.text);
		settings.given &= ~(1U << IOBAND_KEY_MEASURE | 1U << IOBAND_KEY_DEPTH |
				    1U << IOBAND_KEY_SLICE | 1U << IOBAND_KEY_WRITES_STARVED);
	}
	apply(target, &settings);
	target->applied = true;
	registry_leave(noio);
}

/**
 * ioband_pool_settings() - what a table line would have to say now
 * @target: the table's
 * @settings: the result; @settings->given tells whether there is a weight
 *
 * Context: Process; may sleep.
 */
void ioband_pool_settings(struct ioband_target *target, struct ioband_settings *settings)
{
	const struct ioband_member *member = target->member;
	const struct ioband_pool *pool = target->pool;
	const bool live = target->applied;

	mutex_lock(&registry_lock);
	*settings = target->settings;
	if (live)
		settings->mode = member->mode;
	if (live || !given(&target->settings, IOBAND_KEY_MEASURE))
		settings->measure = pool->measure;
	if (live || !given(&target->settings, IOBAND_KEY_DEPTH)) {
		settings->depth = pool->fixed_depth;
		settings->piece_bytes = pool->fixed_piece;
	}
	if (live || !given(&target->settings, IOBAND_KEY_SLICE))
		settings->slice_ms = pool->slice_ms;
	if (live || !given(&target->settings, IOBAND_KEY_WRITES_STARVED))
		settings->writes_starved = pool->writes_starved;
	settings->given = 0;
	if (ioband_scope_of(target->member, settings->mode) == &member->scope) {
		settings->given = 1U << IOBAND_KEY_WEIGHT;
		if (live)
			settings->weight = ioband_group_weight(member->scope.group);
	}
	mutex_unlock(&registry_lock);
}

/**
 * ioband_pool_status() - print the status line
 * @target: of the device
 * @settings: what ioband_pool_settings() said
 * @result: where it goes
 * @maxlen: room there
 *
 * Context: Process.
 */
void ioband_pool_status(struct ioband_target *target, const struct ioband_settings *settings,
			char *result, unsigned int maxlen)
{
	struct ioband_pool *pool = target->pool;
	unsigned int sz = 0;
	u32 depth;

	spin_lock_irq(&pool->lock);
	depth = pool->limit_ios == U32_MAX ? 0 : pool->limit_ios;
	DMEMIT("1 pool=%s mode=%s measure=%s state=%s depth=%u", pool->name,
	       ioband_mode_names[settings->mode], ioband_measure_names[settings->measure],
	       pool->state == IOBAND_SHARED ? "shared" : "open", depth);
	DMEMIT(" groups=%u active=%u held=%u,%llu inflight=%u,%llu devices=%u", pool->nr_groups,
	       pool->nr_active, pool->held_ios, pool->held_bytes, pool->core.inflight_ios,
	       pool->core.inflight_bytes, pool->nr_members);
	DMEMIT(" slice=%u piece=%u brake=%llu writes_starved=%u", pool->slice_ms,
	       pool->piece_bytes, pool->core.brake.clock.rate, pool->writes_starved);
	spin_unlock_irq(&pool->lock);
}
