// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: pools, the devices in them, and the tick.
 *
 * A pool exists while tables name it.  A member is a mapped device in it.  A member outlives a
 * reload of the table, and so do the weight and the groups of the device.
 */
#include "pool.h"

#include "debt.h"
#include "dispatch.h"
#include "flush.h"
#include "gather.h"
#include "group.h"
#include "io.h"
#include "preset.h"
#include "release.h"
#include "state.h"
#include "stats.h"
#include "worker.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#define DM_MSG_PREFIX "ioband"

/* Time without activity after which a group does not compete. */
#define IOBAND_IDLE	max(HZ / 50, 1)

/*
 * Longest wait for a flush.  It may have a large cache to write, and the next group's I/O would
 * wait for that anyway.
 */
#define IOBAND_FLUSH_STUCK_NS	(5 * NSEC_PER_SEC)

/*
 * Time without a completion of the open state's bios after which the limit beside them is halved.
 */
#define IOBAND_OPEN_STEP	max(HZ / 20, 1)

/* Time after which they no longer count: their device hangs. */
#define IOBAND_OPEN_TIME	((unsigned long)HZ / 2)

/* Divisor by which the estimate of a device's requests decreases with each tick. */
#define IOBAND_NOSLEEP_PART	32

/* Number of ticks in the shared state with capacity to spare, until the pool opens. */
#define IOBAND_CALM_TICKS	50

/* Time after which the open state ends, to see whether the load has changed. */
#define IOBAND_CALM_TIME	(5 * HZ)

/* Most groups at which a tick of the shared state looks. */
#define IOBAND_SCAN_GROUPS	64U

/* Interval of the scan for queued bios of dying tasks, and for deleted disks. */
#define IOBAND_DYING_INTERVAL	max(HZ / 4, 1)

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);
static bool system_sleeps;	/* or is going to; under the lock */

/*
 * Memory may be reclaimed through a device that is suspended, and its resume takes the lock.  So a
 * holder of the lock must not wait for I/O.
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

/* ---- the tick ------------------------------------------------------------ */

/*
 * Is a flusher of the group in writeback idle?  Then the group stays active, so that others do not
 * get the whole device.  Under the pool's lock.
 */
static bool pauses(const struct ioband_group *group, u64 now_ns)
{
	const struct ioband_core *core = &group->pool->core;
	const struct ioband_stream *stream;

	list_for_each_entry(stream, &group->own.streams, streams)
		if (ioband_pause_is_possible(core, &stream->leaf, now_ns))
			return true;
	return ioband_pause_is_possible(core, &group->own.leaf, now_ns);
}

/* Under the pool's lock. */
static void note_progress(struct ioband_group *group, bool progress, u64 now_ns)
{
	if (progress)
		group->busy_at = jiffies;
	else if (time_after(jiffies, group->busy_at + IOBAND_IDLE) && !pauses(group, now_ns))
		ioband_state_deactivate(group);
}

/*
 * In the shared state every bio takes the lock and sets @touched.  But bios of the open state may
 * still be in flight, and their submitters wait for them.  So the CPUs' counters of a group that
 * seems idle are read, and the lock is dropped after each.  A tick looks at some of the groups, the
 * next tick at others: with 1000 groups an idle one competes for up to 0.3 s.  Under the walk mutex
 * and the pool's lock.
 */
static void scan_shared(struct ioband_pool *pool)
{
	struct ioband_group *group;
	unsigned int left;

	for (left = min(pool->nr_active, IOBAND_SCAN_GROUPS); left && !list_empty(&pool->active);
	     left--) {
		bool busy;

		group = ioband_state_next_active(pool);
		busy = ioband_group_held_ios(group) || group->touched;
		note_progress(group, busy || ioband_stats_in_use(group), ktime_get_ns());
		group->touched = false;
		if (!busy)
			ioband_dispatch_yield(pool);
	}
}

/*
 * In the open state the CPUs' counters have to be read, which takes time with many CPUs.  One group
 * at a time is pinned, so that interrupts are on meanwhile.  Sums up the bios in flight, and the
 * work since the last scan; with @note, also updates the activity of the groups.  Under the walk
 * mutex; takes the pool's lock.
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
			/* A dying group is kept by its last bios. */
			if (note)
				note_progress(group, group->retired, now_ns);
			continue;
		}
		ioband_stats_pin(stats);
		spin_unlock_irq(&pool->lock);
		ioband_stats_progress(stats, &progress);
		spin_lock_irq(&pool->lock);
		moved = progress.work != group->seen_work;
		if (note && !list_empty(&group->active))
			note_progress(group, moved || progress.inflight ||
				      ioband_group_held_ios(group), now_ns);
		if (group->seen_work <= progress.work) {
			group->works[pool->state] += progress.work - group->seen_work;
			sum->work += progress.work - group->seen_work;
		}
		group->seen_work = progress.work;
		sum->inflight += progress.inflight;
		sum->open += progress.open;
		ioband_stats_unpin(stats);
	}
	spin_unlock_irq(&pool->lock);
}

/*
 * Account for @open_ios, the bios of the open state that are in flight.  The limit that was halved
 * because none completed stays so until all have: the next one may hang as well.  Bios that a
 * policy below delays do not count for long.  Under the pool's lock.
 */
static void note_open(struct ioband_pool *pool, u32 open_ios, u64 now_ns)
{
	unsigned long waited;

	if (open_ios < pool->open_ios)
		pool->open_fell = jiffies;
	waited = jiffies - pool->open_fell;
	pool->open_shift = max_t(unsigned long, pool->open_shift,
				 min(waited, IOBAND_OPEN_TIME) / IOBAND_OPEN_STEP);
	pool->open_ios = waited < IOBAND_OPEN_TIME && !ioband_below_went_on(&pool->core, now_ns) ?
			 open_ios : 0;
}

/*
 * Set the in-flight limit of the shared state, and the size of splits.  Under the pool's lock, or
 * before the pool has targets.
 */
static void set_limit(struct ioband_pool *pool, u64 now_ns)
{
	const bool finds = ioband_pool_finds_depth(pool);

	pool->limit_ios = finds ? pool->depth.limit.ios : pool->fixed_depth ?: U32_MAX;
	pool->split_bytes = finds ? pool->depth.limit.split_bytes : pool->fixed_split;
	/* Otherwise a slice could end only after a whole bio, which may take a slice by itself. */
	if (pool->slice_ms && !pool->split_bytes)
		pool->split_bytes = IOBAND_SPLIT_MAX;
	ioband_state_apply(pool, now_ns);
}

/*
 * Let the estimate of a device's requests decrease: the workers have to confirm it.  Under the
 * pool's lock.
 */
static void fade_nosleep(struct ioband_pool *pool)
{
	struct ioband_member *member;

	list_for_each_entry(member, &pool->members, members) {
		const u32 nosleep_ios = READ_ONCE(member->nosleep_ios);

		WRITE_ONCE(member->nosleep_ios,
			   nosleep_ios - DIV_ROUND_UP(nosleep_ios, IOBAND_NOSLEEP_PART));
	}
}

/* Learn the rate of service without discards.  Under the pool's lock. */
static void learn_rate(struct ioband_pool *pool)
{
	const struct ioband_sample *sample = &pool->sample;
	u64 work = sample->bytes;

	if (pool->measure == IOBAND_MEASURE_IOS)
		work = (sample->work - work) * (IOBAND_IO_CHARGE / IOBAND_BIO_BYTES);
	if (sample->ios)
		ioband_discard_learn_rate(&pool->lost, work, sample->ns);
}

/*
 * Update the depth from the completions since the last tick; @reduced: bios of the open state took
 * a part of the limit then.  Under the pool's lock.
 */
static void tick_depth(struct ioband_pool *pool, bool reduced, u64 now_ns)
{
	const bool lone = ioband_state_is_lone(pool);

	pool->sample.ns = pool->done_ns - pool->sampled_ns;
	pool->sample.quiet_ns = now_ns > pool->done_ns ? now_ns - pool->done_ns : 0;
	pool->sample.peak_ios = pool->peak_ios;
	pool->sample.min_ios = pool->core.masked_ios;
	pool->core.masked_ios = 0;
	pool->sample.no_effect = pool->core.others_have_one;
	pool->core.others_have_one = false;
	learn_rate(pool);
	ioband_lone_tick(&pool->lone, &pool->sample, pool->nr_active > 1, now_ns);
	/*
	 * Discard the sample if the limit had no effect (@late), was reduced or that of a lone
	 * group, or if a device has been silent.  No trial lasts as long as a discard, or during
	 * one of the open state.
	 */
	if (pool->core.late || pool->core.min_tries || reduced || lone || pool->was_lone ||
	    pool->stall.silent_ns > pool->sampled_ns ||
	    ioband_overhead_is_measured(&pool->overhead) ||
	    (pool->lost.inflight && !pool->sample.ios))
		ioband_depth_stop(&pool->depth);
	else if (ioband_pool_finds_depth(pool))
		ioband_depth_sample(&pool->depth, &pool->sample);
	pool->was_lone = lone;
	pool->core.late = false;
	pool->sample = ioband_depth_begin_sample(&pool->depth);
	pool->sampled_ns = pool->done_ns;
	fade_nosleep(pool);
	if (pool->core.flush == IOBAND_FLUSH_RUNNING &&
	    now_ns > pool->core.flushing_ns + IOBAND_FLUSH_STUCK_NS)
		ioband_flush_give_up(pool, now_ns);
	set_limit(pool, now_ns);
}

/* The number of bios in flight with which no group is slowed down. */
static u32 spare_ios(const struct ioband_pool *pool)
{
	return pool->limit_ios / 2;
}

/* Has there been capacity to spare for some time, without ticks that tried another limit? */
static bool is_calm(struct ioband_pool *pool, u64 now_ns)
{
	const bool discards = !list_empty(&pool->discarders) ||
			      ioband_discard_is_recent(&pool->lost, now_ns);

	if (!ioband_depth_in_trial(&pool->depth)) {
		const bool spare = !ioband_core_has_waiting(&pool->core) &&
				   !pool->wbt_streams && !pool->open_ios && !discards &&
				   !pool->core.extra_ios &&
				   pool->peak_ios <= spare_ios(pool);

		pool->calm_ticks = spare ? pool->calm_ticks + 1 : 0;
	}
	if (ioband_core_has_guarantees(&pool->core))
		return false;
	if (!ioband_pool_finds_depth(pool))
		return pool->calm_ticks >= IOBAND_CALM_TICKS;
	return pool->calm_ticks >= IOBAND_CALM_TICKS && ioband_depth_is_settled(&pool->depth);
}

/*
 * May the pool be open?  Not while a device is silent, or a policy below delays: all bios would be
 * dispatched.  Nor while a task owes.  Under the pool's lock.
 */
static bool may_open(const struct ioband_pool *pool, u64 now_ns)
{
	return !pool->slice_ms && !ioband_stall_is_silent(&pool->stall) &&
	       !pool->core.below.apart && now_ns > pool->owed_ns + IOBAND_OWED_NS;
}

/*
 * The part of the throughput, in 1024ths, that is of other groups in one of the two states.  Under
 * the pool's lock.
 */
static u32 moved_part(const struct ioband_pool *pool)
{
	u64 sums[2] = {}, same = 0;
	struct ioband_group *group;

	list_for_each_entry(group, &pool->active, active) {
		sums[IOBAND_OPEN] += group->works[IOBAND_OPEN];
		sums[IOBAND_SHARED] += group->works[IOBAND_SHARED];
	}
	list_for_each_entry(group, &pool->active, active)
		same += min(div64_u64(group->works[IOBAND_OPEN] << 10, sums[IOBAND_OPEN] + 1),
			    div64_u64(group->works[IOBAND_SHARED] << 10, sums[IOBAND_SHARED] + 1));
	return 1024 - min(same + pool->nr_active, 1024ULL);	/* they are rounded down */
}

/*
 * Does the shared state cost several groups throughput?  @sum: of a scan since the last tick;
 * @late: bios in flight do not belong to the present state.  Under the pool's lock.
 */
static bool is_overhead_high(struct ioband_pool *pool, const struct ioband_progress *sum,
			     bool late, u64 now_ns)
{
	struct ioband_overhead_look look = {
		.now_ns = now_ns,
		.inflight_ios = sum->inflight,
		.shared = pool->state == IOBAND_SHARED,
		.possible = pool->nr_active > 1 && pool->nr_active <= IOBAND_SCAN_GROUPS &&
			    ioband_pool_finds_depth(pool) && may_open(pool, now_ns) &&
			    !ioband_core_has_guarantees(&pool->core) &&
			    list_empty(&pool->discarders) &&
			    !ioband_discard_is_recent(&pool->lost, now_ns),
		.busy = pool->busy_ticks >= IOBAND_OVERHEAD_TICKS &&
			pool->core.gap_ns <= IOBAND_OVERHEAD_GAP_NS &&
			pool->depth.longest_ns <= IOBAND_OVERHEAD_BURST_NS,
		.late = late,
	};
	struct ioband_group *group;
	bool high;

	pool->work += sum->work;
	look.work = pool->work;
	if (look.possible && pool->overhead.phase)
		look.moved = moved_part(pool);
	high = ioband_overhead_tick(&pool->overhead, &look);
	if (look.possible && ioband_overhead_begins(&pool->overhead, now_ns))
		list_for_each_entry(group, &pool->active, active)
			group->works[pool->state] = 0;
	return high;
}

/* Does at most one group want the device, and probably for some time? */
static bool is_alone(const struct ioband_pool *pool, u64 now_ns)
{
	const bool waiting = ioband_core_has_waiting(&pool->core) ||
			     ioband_depth_in_trial(&pool->depth);

	return !pool->nr_active ||
	       (pool->nr_active == 1 && ioband_lone_ends(&pool->lone, waiting, now_ns));
}

/* Under the walk mutex; takes the pool's lock. */
static void tick_shared(struct ioband_pool *pool)
{
	struct ioband_progress sum = {};
	bool reduced, high;
	u64 now_ns;

	spin_lock_irq(&pool->lock);
	reduced = pool->open_ios;
	if (reduced || ioband_overhead_is_measured(&pool->overhead)) {
		spin_unlock_irq(&pool->lock);
		scan_open(pool, false, &sum);
		spin_lock_irq(&pool->lock);
		if (reduced)
			note_open(pool, sum.open, ktime_get_ns());
	}
	ioband_gather_tick(pool, ktime_get_ns());
	scan_shared(pool);
	now_ns = ktime_get_ns();
	if (pool->nr_active > 1)
		ioband_latency_look(&pool->core, now_ns);
	else	/* no other group could be throttled */
		ioband_latency_end_throttle(&pool->core, now_ns);
	tick_depth(pool, reduced, now_ns);
	ioband_below_look(&pool->core, now_ns);		/* at the limit from now on */
	high = is_overhead_high(pool, &sum, reduced, now_ns);
	if (may_open(pool, now_ns) && (is_alone(pool, now_ns) || is_calm(pool, now_ns) || high)) {
		ioband_depth_stop(&pool->depth);
		ioband_state_open(pool, now_ns);
		set_limit(pool, now_ns);
		pool->calm_until = jiffies + (high ? 0 : IOBAND_CALM_TIME);
	} else {
		ioband_dispatch(pool, now_ns);
	}
	pool->peak_ios = ioband_dispatch_inflight(pool);
	spin_unlock_irq(&pool->lock);
}

/* Under the walk mutex; takes the pool's lock. */
static void tick_open(struct ioband_pool *pool)
{
	struct ioband_progress sum;
	bool may_hang, high;
	u32 inflight;
	u64 now_ns;

	scan_open(pool, true, &sum);
	spin_lock_irq(&pool->lock);
	now_ns = ktime_get_ns();
	ioband_gather_pass(pool, now_ns);	/* of the last shared state */
	inflight = sum.inflight - min(sum.inflight, pool->held_ios); /* queued by a maximum */
	high = is_overhead_high(pool, &sum, false, now_ns);
	/*
	 * More is in flight than is_calm() allows.  The limit may never be reached, as a device
	 * with a short queue of its own makes submitters wait.
	 */
	if (pool->state == IOBAND_OPEN && pool->nr_active &&
	    (pool->slice_ms ||
	     (pool->nr_active > 1 && !high &&
	      (inflight > spare_ios(pool) || ioband_core_has_guarantees(&pool->core) ||
	       time_after_eq(jiffies, pool->calm_until)))))
		ioband_state_share(pool);
	may_hang = pool->lost.inflight || ioband_stall_is_silent(&pool->stall);
	if (may_hang)
		ioband_state_apply(pool, now_ns);
	if (may_hang || !list_empty(&pool->discarders) ||
	    !bio_list_empty(&pool->discards))
		ioband_dispatch(pool, now_ns);
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

	/* The work waits for memory, which the tick does not. */
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

	/* A group that becomes active arms the tick again. */
	if (READ_ONCE(pool->nr_active))
		ioband_state_arm_tick(pool);
}

/* ---- lifetime ------------------------------------------------------------ */

static void scope_init(struct ioband_scope *scope)
{
	int kind;

	for (kind = 0; kind < IOBAND_NR_KEYED; kind++)
		xa_init(&scope->index[kind]);
}

/* Under the registry's mutex; waits for the pool's work to end. */
static void pool_free(struct ioband_pool *pool)
{
	cancel_delayed_work_sync(&pool->tick);
	cancel_delayed_work_sync(&pool->sweep);
	hrtimer_cancel(&pool->wake);
	cancel_work_sync(&pool->rest);
	cancel_work_sync(&pool->stock);
	ioband_preset_end(pool);
	ioband_group_free_all(pool);
	ioband_stats_unstock(pool);
	ioband_gather_exit_pool(pool);
	kfree(pool);
}

/* Under the registry's mutex. */
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
	pool->sleeps = system_sleeps;
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
	INIT_LIST_HEAD(&pool->discarders);
	INIT_LIST_HEAD(&pool->parked);
	INIT_LIST_HEAD(&pool->unparked);
	bio_list_init(&pool->discards);
	ioband_discard_init(&pool->lost);
	hrtimer_setup(&pool->wake, ioband_dispatch_wake, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	init_waitqueue_head(&pool->stocked);
	INIT_WORK(&pool->rest, ioband_dispatch_rest);
	INIT_WORK(&pool->stock, pool_stock);
	INIT_DELAYED_WORK(&pool->tick, pool_tick);
	INIT_DELAYED_WORK(&pool->sweep, ioband_group_sweep);
	if (ioband_gather_init_pool(pool))
		goto free;
	pool->root = ioband_group_new_root(pool);
	if (!pool->root)
		goto exit_gather;
	pool->scope.group = pool->root;
	ioband_stats_stock(pool);
	return pool;

exit_gather:
	ioband_gather_exit_pool(pool);
free:
	kfree(pool);
	return NULL;
}

/* Under the registry's mutex. */
static struct ioband_pool *pool_find(const char *name)
{
	struct ioband_pool *pool;

	list_for_each_entry(pool, &registry, pools)
		if (!strcmp(pool->name, name))
			return pool;
	return NULL;
}

/* Under the registry's mutex. */
static struct ioband_member *member_find(struct ioband_pool *pool, dev_t devno)
{
	struct ioband_member *member;

	list_for_each_entry(member, &pool->members, members)
		if (member->devno == devno)
			return member;
	return NULL;
}

/* Under the pool's lock. */
static void member_set_mode(struct ioband_member *member, enum ioband_mode mode)
{
	WRITE_ONCE(member->mode, mode);
	ioband_state_set_recent(member);
}

/* Under the registry's mutex; takes the pool's lock. */
static struct ioband_member *member_new(struct ioband_pool *pool, dev_t devno)
{
	struct ioband_member *member = kzalloc(sizeof(*member), GFP_KERNEL);

	if (!member)
		return NULL;
	member->pool = pool;
	member->devno = devno;
	init_waitqueue_head(&member->swap_waiters);
	scope_init(&member->scope);
	spin_lock_irq(&pool->lock);
	member_set_mode(member, IOBAND_MODE_CGROUP);
	list_add_tail(&member->members, &pool->members);
	ioband_stall_add(&member->stall_dev, &pool->stall);
	pool->nr_members++;
	spin_unlock_irq(&pool->lock);
	return member;
}

/* Under the registry's mutex; takes the reap mutex and the pool's lock. */
static void member_free(struct ioband_member *member)
{
	struct ioband_pool *pool = member->pool;
	struct ioband_group *group;
	unsigned long id;
	int kind;

	WARN_ON_ONCE(atomic_long_read(&member->swap_bytes));
	ioband_preset_forget(pool, &member->scope);
	spin_lock_irq(&pool->lock);
	ioband_gather_pass_any(pool);
	list_del(&member->members);
	list_del(&member->stall_dev.stall_devs);
	pool->nr_members--;
	if (member->scope.group)
		ioband_group_unindex(member->scope.group);
	spin_unlock_irq(&pool->lock);
	mutex_lock(&pool->reap);	/* the sweep frees no group meanwhile */
	for (kind = 0; kind < IOBAND_NR_KEYED; kind++) {
		xa_for_each(&member->scope.index[kind], id, group) {
			spin_lock_irq(&pool->lock);
			ioband_group_unindex(group);
			spin_unlock_irq(&pool->lock);
			cond_resched();
		}
	}
	mutex_unlock(&pool->reap);
	schedule_delayed_work(&pool->sweep, 0);
	kfree(member);
}

/* Make the device's own group, if the mode needs one. */
static int member_need_group(struct ioband_member *member, enum ioband_mode mode)
{
	struct ioband_pool *pool = member->pool;

	lockdep_assert_held(&registry_lock);
	if (ioband_scope_of(member, mode) != &member->scope || member->scope.group)
		return 0;
	member->scope.group = ioband_group_new_device(pool, member);
	return member->scope.group ? 0 : -ENOMEM;
}

/*
 * Check that the pool's settings stay as they are, as other devices share them.  Under the
 * registry's mutex.
 */
static int check_shared_settings(const struct ioband_pool *pool,
				 const struct ioband_settings *settings,
				 struct ioband_error *error)
{
	if (given(settings, IOBAND_KEY_MEASURE) && settings->measure != pool->measure) {
		snprintf(error->text, sizeof(error->text),
			 "measure=%s: other devices are in pool '%s', which has measure=%s; send one of them the message 'set measure=%s'",
			 ioband_args_measure_names[settings->measure], pool->name,
			 ioband_args_measure_names[pool->measure],
			 ioband_args_measure_names[settings->measure]);
		return -EINVAL;
	}
	if (given(settings, IOBAND_KEY_DEPTH) && (settings->depth != pool->fixed_depth ||
						  settings->split_bytes != pool->fixed_split)) {
		snprintf(error->text, sizeof(error->text),
			 "depth=: other devices are in pool '%s', which has depth %u/%u (0: auto); send one of them the message 'set depth=...'",
			 pool->name, pool->fixed_depth, pool->fixed_split);
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

/*
 * Check that measure=time has slices: device time is known only if one group at a time has the
 * device.  Under the registry's mutex.
 */
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

/* Adopt the settings of the pool.  Under its lock, or before it has targets. */
static void adopt_shared_settings(struct ioband_pool *pool,
				  const struct ioband_settings *settings)
{
	if (given(settings, IOBAND_KEY_MEASURE))
		WRITE_ONCE(pool->measure, settings->measure);
	if (given(settings, IOBAND_KEY_DEPTH)) {
		pool->fixed_depth = settings->depth;
		pool->fixed_split = settings->split_bytes;
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

/* Under the registry's mutex; may sleep. */
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

/*
 * Let a table join a pool, which is made if it does not exist.  May sleep.  Return: 0; -EINVAL if
 * the settings are not those of the pool, or the device below is in it; or -ENOMEM.
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

/* Hide a table that is removed, without bios, from the tick.  May sleep. */
void ioband_pool_hide(struct ioband_target *target)
{
	struct ioband_pool *pool = target->pool;

	mutex_lock(&pool->walk);
	list_del(&target->targets);
	mutex_unlock(&pool->walk);
}

/*
 * Let a hidden table leave its pool.  Frees the member and the pool with their last table.  May
 * sleep; takes the mutex of the registry.
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

/* ---- sleep of the system ------------------------------------------------- */

static int pool_pm_event(struct notifier_block *block, unsigned long event, void *data)
{
	const unsigned int noio = registry_enter();
	struct ioband_pool *pool;

	system_sleeps = event == PM_SUSPEND_PREPARE || event == PM_HIBERNATION_PREPARE ||
			event == PM_RESTORE_PREPARE;
	list_for_each_entry(pool, &registry, pools)
		ioband_release_sleep(pool, system_sleeps);
	registry_leave(noio);
	return NOTIFY_DONE;
}

static struct notifier_block pool_pm = { .notifier_call = pool_pm_event };

/* Be told when the system is going to sleep.  Return: 0 or a negative errno. */
int __init ioband_pool_init(void)
{
	return register_pm_notifier(&pool_pm);
}

void ioband_pool_exit(void)
{
	unregister_pm_notifier(&pool_pm);
}

/* ---- settings ------------------------------------------------------------ */

/* Under the registry's mutex; takes the pool's lock. */
static void apply(struct ioband_target *target, const struct ioband_settings *settings)
{
	struct ioband_member *member = target->member;
	struct ioband_pool *pool = target->pool;

	spin_lock_irq(&pool->lock);
	if (given(settings, IOBAND_KEY_MODE))
		member_set_mode(member, settings->mode);
	if (given(settings, IOBAND_KEY_WEIGHT) && member->scope.group)
		ioband_group_set_weight(member->scope.group, settings->weight);
	adopt_shared_settings(pool, settings);
	ioband_overhead_forget(&pool->overhead);
	ioband_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
}

/*
 * Change settings at run time.  Queued bios stay in their groups.  May sleep.  Return: 0, -EINVAL
 * if the settings contradict each other, or -ENOMEM.
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

/*
 * Adopt the settings of a table that becomes live.  The table determines all settings of its
 * device.  Settings of the pool that it does not give stay as they are.  May sleep.
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
		/* The pool was changed after the table was loaded. */
		DMWARN("%s: kept the pool's own: %s", target->pool->name, error.text);
		settings.given &= ~(1U << IOBAND_KEY_MEASURE | 1U << IOBAND_KEY_DEPTH |
				    1U << IOBAND_KEY_SLICE | 1U << IOBAND_KEY_WRITES_STARVED);
	}
	apply(target, &settings);
	target->applied = true;
	registry_leave(noio);
}

/*
 * The present settings, as a table line would give them; @settings->given tells whether there is a
 * weight.  May sleep.
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
		settings->split_bytes = pool->fixed_split;
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

/* Print the status line, with the settings from ioband_pool_settings(). */
void ioband_pool_status(struct ioband_target *target, const struct ioband_settings *settings,
			char *result, unsigned int maxlen)
{
	struct ioband_pool *pool = target->pool;
	unsigned int sz = 0;
	u32 depth;

	spin_lock_irq(&pool->lock);
	depth = pool->limit_ios == U32_MAX ? 0 : pool->limit_ios;
	DMEMIT("1 pool=%s mode=%s measure=%s state=%s depth=%u", pool->name,
	       ioband_args_mode_names[settings->mode], ioband_args_measure_names[settings->measure],
	       pool->state == IOBAND_SHARED ? "shared" : "open", depth);
	DMEMIT(" groups=%u active=%u held=%u,%llu inflight=%u,%llu devices=%u", pool->nr_groups,
	       pool->nr_active, pool->held_ios, pool->held_bytes, pool->core.inflight_ios,
	       pool->core.inflight_bytes, pool->nr_members);
	DMEMIT(" slice=%u piece=%u brake=%llu writes_starved=%u", pool->slice_ms,
	       pool->split_bytes, pool->core.throttle.bucket.rate, pool->writes_starved);
	spin_unlock_irq(&pool->lock);
}
