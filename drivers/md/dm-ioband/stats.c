// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: counters and histograms of the groups.
 *
 * Everything that is counted per bio is counted on the CPU it happens on, with
 * single instructions that an interrupt cannot split, and added up by whoever
 * wants to know.  The counters come with a group's first bio and are retired
 * when it has been idle for long, because a hundred thousand idle groups must
 * not cost a page each on every CPU.
 *
 * ioband_cpu_stats.inflight and .open are also what pins a group: one is raised under RCU
 * when a bio finds the group, and lowered with the last access to it; .users likewise for
 * what is not a bio.  Once no new
 * bio can find the counters (they are unlinked and a grace period has passed),
 * the sum over all CPUs only falls, so if it reads as zero it is zero.
 *
 * Whoever may make cgroups must not take all memory for counters, nor all of what
 * counters may take.  So there is a budget: a part of the memory for those that have
 * been given nothing, a larger one with those that have a weight or a latency target,
 * and a larger one yet with those that have a maximum or a minimum.  And at each level,
 * from the pools down, a subtree may have at most alpha times what is left of the budget
 * of the one above (a dynamic threshold: Choudhury & Hahne, IEEE/ACM ToN 1998), here
 * with alpha = 7: alone it may have 7/8, and leaves 1/8.  With a budget of 4096, one
 * pool may have 3584 and one cgroup of it, with all below, 3136; a second one beside it
 * comes to 392, a third to 49.
 *
 * A group gets counters only if the one above has some, and while it lives loses them
 * before it.  So who is refused shares those of the nearest group above that has some, its
 * weight and its maximum, and none with a maximum is passed over.
 */
#include "stats.h"

#include "io.h"
#include "limits.h"

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>

/* Taken by groups that begin together; from the first one on more are made. */
#define IOBAND_SPARE_STATS	128

/*
 * Which part of the memory counters may take, with those of the kinds before.  What others
 * may ask for is bounded as they would be by themselves; a maximum or a minimum, which must
 * hold, is only given by whoever configures the machine, but may be to many at once.  Or it is
 * given to the path of a cgroup that others make and remove, as often as they like: until the
 * sweep has come they may have some seconds' worth of such groups, of which what is below one
 * cgroup leaves some to the others, as of all.
 */
static const unsigned int parts_of_memory[] = {
	[IOBAND_STATS_UNSET] = 64,
	[IOBAND_STATS_SET] = 16,
	[IOBAND_STATS_BOUND] = 4,
};

/* Counters that there are, in all pools, and what is kept of those that were retired. */
static atomic_long_t nr_stats;
static atomic_long_t nr_totals;

/* Counters that groups have, as in &ioband_group.nr_stats. */
static atomic_long_t nr_given[IOBAND_NR_STATS_KINDS];

/**
 * ioband_stats_new() - make counters
 * @gfp: how to allocate
 *
 * Return: counters without histograms, or NULL.
 */
struct ioband_stats *ioband_stats_new(gfp_t gfp)
{
	struct ioband_stats *stats = kzalloc(sizeof(*stats), gfp);

	if (!stats)
		return NULL;
	stats->cpu = alloc_percpu_gfp(struct ioband_cpu_stats, gfp);
	if (!stats->cpu) {
		kfree(stats);
		return NULL;
	}
	INIT_LIST_HEAD(&stats->list);
	atomic_long_inc(&nr_stats);
	return stats;
}

static struct ioband_stats *stats_of(struct ioband_group *group)
{
	return rcu_dereference_protected(group->stats, lockdep_is_held(&group->pool->lock));
}

/* How many counters there may be, with the histograms that they will get. */
static u64 stats_budget(enum ioband_stats_kind kind)
{
	const size_t size = sizeof(struct ioband_stats) + num_possible_cpus() *
			    (sizeof(struct ioband_cpu_stats) + sizeof(struct ioband_cpu_hist));

	return ((u64)totalram_pages() << PAGE_SHIFT) / parts_of_memory[kind] / size;
}

/*
 * As many as those that were given nothing may have are kept ready, beside what the others
 * have.  Other pools may give and take meanwhile: then it is one too many, or too few.
 */
static bool stats_are_too_many(void)
{
	long others = 0;
	int kind;

	for (kind = IOBAND_STATS_SET; kind < IOBAND_NR_STATS_KINDS; kind++)
		others += atomic_long_read(&nr_given[kind]);
	return atomic_long_read(&nr_stats) - others >= (long)stats_budget(IOBAND_STATS_UNSET);
}

static enum ioband_stats_kind kind_of(struct ioband_group *group)
{
	if (ioband_bound_is_set(group))
		return IOBAND_STATS_BOUND;
	return ioband_group_is_set(group) ? IOBAND_STATS_SET : IOBAND_STATS_UNSET;
}

/* Of @group, or one above it, who needs counters; the topmost always has them. */
static struct ioband_group *first_without(struct ioband_group *group)
{
	while (!rcu_access_pointer(group->parent->stats))
		group = group->parent;
	return group;
}

/*
 * What the counters of one above a group are counted as: they are for the sake of all on the
 * way.  One of those may have a maximum, and no bios of its own.
 */
static enum ioband_stats_kind kind_for(struct ioband_group *above, struct ioband_group *group)
{
	enum ioband_stats_kind kind = kind_of(above);

	for (; group != above; group = group->parent)
		kind = max(kind, kind_of(group));
	return kind;
}

/*
 * What a group with all below it has, or, without one, what all pools have: of a kind and
 * those before.  What others were given more for is not held against who was given less.
 */
static u64 given_below(const struct ioband_group *group, enum ioband_stats_kind most)
{
	u64 given = 0;
	int kind;

	for (kind = 0; kind <= most; kind++)
		given += group ? group->nr_stats[kind] : atomic_long_read(&nr_given[kind]);
	return given;
}

/*
 * May a group have counters of a kind?  From below: what a subtree has needs a seventh of it
 * left above.  Other pools may give meanwhile, one each.
 */
static bool stats_may_be_had(const struct ioband_group *group, enum ioband_stats_kind kind)
{
	const u64 budget = stats_budget(kind);
	u64 needed = given_below(group, kind);

	lockdep_assert_held(&group->pool->lock);
	for (; group && needed < budget; group = group->parent)
		needed += needed / IOBAND_SUBTREE_ALPHA +
			  given_below(group->parent, kind) - given_below(group, kind);
	return needed < budget;
}

/* The group has them, and so have those above it: so many more, or less. */
static void count_stats(struct ioband_group *group, const struct ioband_stats *stats, int more)
{
	lockdep_assert_held(&group->pool->lock);
	atomic_long_add(more, &nr_given[stats->kind]);
	for (; group; group = group->parent)
		group->nr_stats[stats->kind] += more;
}

/* Free counters that a group had. */
static void take_back(struct ioband_group *group, struct ioband_stats *stats)
{
	spin_lock_irq(&group->pool->lock);
	list_del_init(&stats->list);
	count_stats(group, stats, -1);
	spin_unlock_irq(&group->pool->lock);
	ioband_stats_free(stats);
}

/**
 * ioband_stats_free() - free counters and histograms
 * @stats: counters that nobody uses, or NULL
 */
void ioband_stats_free(struct ioband_stats *stats)
{
	if (!stats)
		return;
	free_percpu(stats->hist);
	free_percpu(stats->cpu);
	kfree(stats);
	atomic_long_dec(&nr_stats);
}

/**
 * ioband_stats_exit() - with no pool left, complain of counters that were lost
 */
void ioband_stats_exit(void)
{
	int kind;

	for (kind = 0; kind < IOBAND_NR_STATS_KINDS; kind++)
		ioband_warn_lost(&nr_given[kind], "counters that groups had");
	ioband_warn_lost(&nr_stats, "counters of groups");
	ioband_warn_lost(&nr_totals, "totals of groups");
}

/**
 * ioband_stats_give() - let a group have counters
 * @group: that has none
 * @stats: new ones
 * @kind: what they are counted as
 *
 * Context: Under the pool's lock.
 */
void ioband_stats_give(struct ioband_group *group, struct ioband_stats *stats,
		       enum ioband_stats_kind kind)
{
	stats->kind = kind;
	count_stats(group, stats, 1);
	list_add_tail(&stats->list, &group->pool->plain_stats);
	rcu_assign_pointer(group->stats, stats);
}

/**
 * ioband_stats_sort() - count a group's counters as what it has been given by now asks for
 * @group: that was given something, or had something taken away
 *
 * Not if there are too many of the kind: else one could have others' share by and by.
 *
 * Context: Under the pool's lock.
 */
void ioband_stats_sort(struct ioband_group *group)
{
	const enum ioband_stats_kind kind = kind_of(group);
	struct ioband_stats *stats = stats_of(group);

	if (!stats || stats->kind == kind || !stats_may_be_had(group, kind))
		return;
	count_stats(group, stats, -1);
	stats->kind = kind;
	count_stats(group, stats, 1);
}

/* Put new counters by; NULL: there is no memory for them, or enough is taken. */
static void put_spare(struct ioband_pool *pool, struct ioband_stats *stats)
{
	spin_lock_irq(&pool->lock);
	WRITE_ONCE(pool->stock_failed, !stats);
	if (stats) {
		list_add(&stats->list, &pool->spare_stats);
		WRITE_ONCE(pool->nr_spare, pool->nr_spare + 1);
	}
	spin_unlock_irq(&pool->lock);
	/* With the first ones the first of those who wait can go on. */
	wake_up_all(&pool->stocked);
}

/**
 * ioband_stats_stock() - keep counters ready for groups to come
 * @pool: pool
 *
 * Without waiting, the allocator has per-CPU memory for a few dozen at a time;
 * a thousand groups that start together want more.
 *
 * Context: Process; may sleep.  Not in the I/O path.
 */
void ioband_stats_stock(struct ioband_pool *pool)
{
	while (READ_ONCE(pool->nr_spare) < IOBAND_SPARE_STATS) {
		struct ioband_stats *stats = NULL;

		if (!stats_are_too_many())
			stats = ioband_stats_new(GFP_KERNEL);
		put_spare(pool, stats);
		if (!stats)
			break;
	}
}

/**
 * ioband_stats_may_come() - is it worth while to wait for a group's counters
 * @group: for which ioband_stats_ready() found another one
 * @left: jiffies that a bio may wait yet; 0: it has waited in vain
 *
 * What one bio has waited for in vain, the next ones do not wait for, until counters have
 * been made again.
 *
 * Context: Under the pool's lock.
 *
 * Return: true if ioband_stats_wait() may help.
 */
bool ioband_stats_may_come(struct ioband_group *group, long left)
{
	struct ioband_group *first = first_without(group);
	struct ioband_pool *pool = group->pool;

	lockdep_assert_held(&pool->lock);
	if (!left)
		WRITE_ONCE(pool->stock_failed, true);
	if (left <= 0 || pool->stock_failed || stats_are_too_many() ||
	    !stats_may_be_had(first, kind_for(first, group)))
		return false;
	/* Other pools may have taken and given back what there was when that was not begun. */
	schedule_work(&pool->stock);
	return true;
}

/**
 * ioband_stats_wait() - wait for counters for groups to come
 * @pool: pool of which ioband_stats_may_come()
 * @left: jiffies, at most
 *
 * Not for long: they are made where memory may be waited for, and what frees memory may
 * be waiting for this task's bios.  Who was faster may have taken those that came.
 *
 * Context: Process; sleeps.
 *
 * Return: jiffies that are left, not less than 0; -ERESTARTSYS: the task is killed.
 */
long ioband_stats_wait(struct ioband_pool *pool, long left)
{
	const unsigned long since = jiffies;
	const long ret = wait_event_killable_timeout(pool->stocked,
						     READ_ONCE(pool->nr_spare) ||
						     READ_ONCE(pool->stock_failed), left);

	return ret < 0 ? ret : max(left - (long)(jiffies - since), 0L);
}

/**
 * ioband_stats_unstock() - free the counters that were kept ready
 * @pool: pool that nobody uses
 */
void ioband_stats_unstock(struct ioband_pool *pool)
{
	struct ioband_stats *stats, *next;

	list_for_each_entry_safe(stats, next, &pool->spare_stats, list)
		ioband_stats_free(stats);
}

static struct ioband_stats *take_spare(struct ioband_pool *pool)
{
	struct ioband_stats *stats =
		list_first_entry_or_null(&pool->spare_stats, struct ioband_stats, list);

	if (!stats_are_too_many())
		schedule_work(&pool->stock);
	if (!stats)
		return ioband_stats_new(GFP_NOWAIT | __GFP_NOWARN);
	list_del_init(&stats->list);
	WRITE_ONCE(pool->nr_spare, pool->nr_spare - 1);
	return stats;
}

/* Return: false if there is no memory, or enough is taken. */
static bool give_new(struct ioband_group *group, enum ioband_stats_kind kind)
{
	struct ioband_stats *stats = NULL;

	if (stats_may_be_had(group, kind))
		stats = take_spare(group->pool);
	if (stats)
		ioband_stats_give(group, stats, kind);
	return stats;
}

/**
 * ioband_stats_ready() - see that a group has counters
 * @group: that has a bio
 *
 * Context: Under the pool's lock; does not wait: this is the I/O path.
 *
 * Return: the group; if there is no memory, or enough is taken, the nearest above that has
 * some, whose the bio is then.
 */
struct ioband_group *ioband_stats_ready(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	while (unlikely(!rcu_access_pointer(group->stats))) {
		struct ioband_group *first = first_without(group);

		if (!give_new(first, kind_for(first, group)))
			return first->parent;
	}
	return group;
}

/**
 * ioband_stats_make_hist() - give histograms to the groups that have counters
 * @pool: pool
 *
 * Context: Process; may sleep.  Not in the I/O path, so that it may wait for
 * memory.
 */
void ioband_stats_make_hist(struct ioband_pool *pool)
{
	struct ioband_cpu_hist __percpu *hist;
	struct ioband_stats *stats;

	while (!list_empty_careful(&pool->plain_stats)) {
		hist = alloc_percpu(struct ioband_cpu_hist);
		if (!hist)
			return;
		spin_lock_irq(&pool->lock);
		stats = list_first_entry_or_null(&pool->plain_stats, struct ioband_stats, list);
		if (stats) {
			list_del_init(&stats->list);
			/* Pairs with the acquire where a time is counted. */
			smp_store_release(&stats->hist, hist);
			hist = NULL;
		}
		spin_unlock_irq(&pool->lock);
		free_percpu(hist);
	}
}

/**
 * ioband_stats_released() - count a bio that had been held, but for one that goes at once
 * @io: the bio's; its service starts at @now_ns
 * @now_ns: time
 *
 * Context: Under the pool's lock.
 *
 * Return: how long it was held, in ns.
 */
u64 ioband_stats_released(struct ioband_io *io, u64 now_ns)
{
	/* Whoever releases it may have looked at the clock before it arrived. */
	const u64 wait_ns = now_ns > io->start_ns ? now_ns - io->start_ns : 0;
	/* Pairs with the release of who made them. */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&io->stats->hist);
	struct ioband_cpu_stats __percpu *cpu = io->stats->cpu;

	if (!wait_ns)
		return 0;
	io->start_ns += wait_ns;
	this_cpu_inc(cpu->dir[io->dir].held);
	if (hist)
		ioband_stats_count_time(&hist->wait[io->dir], wait_ns);
	else
		this_cpu_add(cpu->dir[io->dir].wait_ns, wait_ns);
	return wait_ns;
}

/* Bios that are held or in flight, added to @inflight. */
static void add_inflight(int inflight[IOBAND_NR_DIRS], const struct ioband_stats *stats)
{
	int cpu, dir;

	for_each_possible_cpu(cpu) {
		const struct ioband_cpu_stats *part = per_cpu_ptr(stats->cpu, cpu);

		for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
			inflight[dir] += READ_ONCE(part->inflight[dir]);
			inflight[dir] += READ_ONCE(part->open[dir]);
		}
	}
}

/* What pins these counters; exact only once nobody can raise it. */
static int stats_pins(const struct ioband_stats *stats)
{
	int inflight[IOBAND_NR_DIRS] = {};
	int cpu, dir, pins = 0;

	add_inflight(inflight, stats);
	for (dir = 0; dir < IOBAND_NR_DIRS; dir++)
		pins += inflight[dir];
	for_each_possible_cpu(cpu)
		pins += READ_ONCE(per_cpu_ptr(stats->cpu, cpu)->users);
	/* Pairs with those of the ioband_stats_unpin*(): zero means that all is done. */
	smp_mb();
	return pins;
}

static void add_counters(struct ioband_counters total[IOBAND_NR_DIRS],
			 const struct ioband_counters *part)
{
	int dir;

	for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		total[dir].ios += READ_ONCE(part[dir].ios);
		total[dir].bytes += READ_ONCE(part[dir].bytes);
		total[dir].held += READ_ONCE(part[dir].held);
		total[dir].wait_ns += READ_ONCE(part[dir].wait_ns);
		total[dir].service_ns += READ_ONCE(part[dir].service_ns);
	}
}

/* The times that are in histograms and not in counters. */
static void add_times(struct ioband_counters total[IOBAND_NR_DIRS],
		      const struct ioband_cpu_hist *part)
{
	int dir;

	for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		total[dir].wait_ns += READ_ONCE(part->wait[dir].sum_ns);
		total[dir].service_ns += READ_ONCE(part->service[dir].sum_ns);
	}
}

/* What completed. */
static void add_stats(struct ioband_counters total[IOBAND_NR_DIRS],
		      const struct ioband_stats *stats)
{
	/* Pairs with the release of who made them. */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&stats->hist);
	int cpu;

	for_each_possible_cpu(cpu) {
		add_counters(total, per_cpu_ptr(stats->cpu, cpu)->dir);
		if (hist)
			add_times(total, per_cpu_ptr(hist, cpu));
	}
}

/**
 * ioband_stats_in_use() - has a group bios held or in flight
 * @group: group
 *
 * Context: Under the pool's lock.
 *
 * Return: true if it may have.
 */
bool ioband_stats_in_use(struct ioband_group *group)
{
	const struct ioband_stats *stats = stats_of(group);

	return group->retired || (stats && stats_pins(stats));
}

/**
 * ioband_stats_progress() - what a group has done and is doing
 * @stats: its counters, pinned by the caller
 * @progress: the result
 */
void ioband_stats_progress(struct ioband_stats *stats, struct ioband_progress *progress)
{
	struct ioband_sum sum = {};
	int cpu, dir, open = 0, inflight = 0;

	for_each_possible_cpu(cpu) {
		const struct ioband_cpu_stats *part = per_cpu_ptr(stats->cpu, cpu);

		add_counters(sum.dir, part->dir);
		for (dir = 0; dir < IOBAND_NR_DIRS; dir++)
			open += READ_ONCE(part->open[dir]);
	}
	add_inflight(sum.inflight, stats);
	progress->ios = 0;
	for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		progress->ios += sum.dir[dir].ios;
		inflight += sum.inflight[dir];
	}
	progress->inflight = max(inflight, 0);
	progress->open = max(open, 0);
}

/**
 * ioband_stats_are_below() - have groups below a group counters
 * @group: group
 *
 * Context: Under the pool's lock.
 *
 * Return: true if so: it has to keep its own.
 */
bool ioband_stats_are_below(struct ioband_group *group)
{
	u32 own = !!stats_of(group) + !!group->retired;
	u32 all = 0;
	int kind;

	for (kind = 0; kind < IOBAND_NR_STATS_KINDS; kind++)
		all += group->nr_stats[kind];
	return all > own;
}

/**
 * ioband_stats_retire() - take a group's counters away
 * @group: idle, or no longer found by new bios
 *
 * New bios get new counters, if they still find the group.  To be followed by
 * a grace period and ioband_stats_reap().
 *
 * Context: Under the pool's lock.
 */
void ioband_stats_retire(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	lockdep_assert_held(&pool->lock);
	if (group->retired || !rcu_access_pointer(group->stats))
		return;
	WRITE_ONCE(group->open, false);
	group->retired = rcu_replace_pointer(group->stats, NULL, lockdep_is_held(&pool->lock));
}

/* Return: what is kept of a group's retired counters; NULL without memory. */
static struct ioband_counters *find_totals(struct ioband_group *group)
{
	if (group->totals)
		return group->totals;
	group->totals = kcalloc(IOBAND_NR_DIRS, sizeof(*group->totals), GFP_KERNEL);
	if (group->totals)
		atomic_long_inc(&nr_totals);
	return group->totals;
}

/**
 * ioband_stats_reap() - free retired counters that nobody uses any more
 * @group: whose counters were retired at least a grace period ago
 *
 * What they had counted is kept.
 *
 * Context: Process; under the pool's reap mutex.
 *
 * Return: false if bios still use them.
 */
bool ioband_stats_reap(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->reap);
	if (!group->retired)
		return true;
	if (stats_pins(group->retired))
		return false;
	if (!find_totals(group))
		return false;
	add_stats(group->totals, group->retired);
	take_back(group, group->retired);
	group->retired = NULL;
	return true;
}

/**
 * ioband_stats_drop() - free all counters of a group
 * @group: that nobody uses any more
 *
 * Context: Process; may sleep; under the pool's reap mutex.
 */
void ioband_stats_drop(struct ioband_group *group)
{
	/* New ones, if the old ones were retired while its last bio was long in coming. */
	struct ioband_stats *stats =
		rcu_dereference_protected(group->stats, lockdep_is_held(&group->pool->reap));

	if (group->retired)
		take_back(group, group->retired);
	if (stats)
		take_back(group, stats);
	group->retired = NULL;
	RCU_INIT_POINTER(group->stats, NULL);
}

/**
 * ioband_stats_end() - forget what a group did
 * @group: whose counters were reaped, or dropped
 *
 * Context: Any; nobody else uses the group.
 */
void ioband_stats_end(struct ioband_group *group)
{
	if (!group->totals)
		return;
	kfree(group->totals);
	group->totals = NULL;
	atomic_long_dec(&nr_totals);
}

static void add_sum(struct ioband_sum *sum, const struct ioband_stats *stats)
{
	add_stats(sum->dir, stats);
	add_inflight(sum->inflight, stats);
}

/**
 * ioband_stats_sum() - what a group did so far, and what it is doing
 * @group: group
 * @sum: the sum
 *
 * Context: Under the pool's reap mutex.
 */
void ioband_stats_sum(struct ioband_group *group, struct ioband_sum *sum)
{
	struct ioband_pool *pool = group->pool;
	struct ioband_stats *stats, *retired;

	lockdep_assert_held(&pool->reap);
	*sum = (struct ioband_sum) {};
	if (group->totals)
		add_counters(sum->dir, group->totals);
	/* Both at once: a bio could retire and renew them in between. */
	spin_lock_irq(&pool->lock);
	stats = stats_of(group);
	retired = group->retired;
	spin_unlock_irq(&pool->lock);
	if (stats)
		add_sum(sum, stats);
	if (retired)
		add_sum(sum, retired);
}

static void add_histogram(struct ioband_histogram *total, const struct ioband_histogram *part)
{
	int i;

	total->sum_ns += READ_ONCE(part->sum_ns);
	for (i = 0; i < IOBAND_NR_BUCKETS; i++)
		total->bios[i] += READ_ONCE(part->bios[i]);
}

/**
 * ioband_stats_sum_hist() - the histograms of a group
 * @group: group
 * @total: the sum
 *
 * Context: Under the pool's reap mutex.
 *
 * Return: false if it has none.
 */
bool ioband_stats_sum_hist(struct ioband_group *group, struct ioband_cpu_hist *total)
{
	struct ioband_cpu_hist __percpu *hist = NULL;
	struct ioband_stats *stats;
	int cpu, dir;

	lockdep_assert_held(&group->pool->reap);
	spin_lock_irq(&group->pool->lock);
	stats = stats_of(group);
	if (stats)
		hist = stats->hist;
	spin_unlock_irq(&group->pool->lock);
	if (!hist)
		return false;

	memset(total, 0, sizeof(*total));
	for_each_possible_cpu(cpu) {
		const struct ioband_cpu_hist *part = per_cpu_ptr(hist, cpu);

		for (dir = 0; dir < IOBAND_NR_DIRS; dir++) {
			add_histogram(&total->wait[dir], &part->wait[dir]);
			add_histogram(&total->service[dir], &part->service[dir]);
		}
	}
	return true;
}
