// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: counters and histograms of the groups.
 *
 * Each bio is counted on the CPU of the event, with single instructions that an interrupt cannot
 * split.  The reader adds up the CPUs.  The counters are made with a group's first bio, and retired
 * when the group has been idle for long: a hundred thousand idle groups must not take a page each
 * on every CPU.
 *
 * ioband_cpu_stats.inflight and .open also pin a group.  One of them is raised under RCU when a bio
 * finds the group, and lowered with the last access to it; .users likewise for other users.  Once
 * no new bio can find the counters (they are unlinked and a grace period has passed), the sum over
 * all CPUs only falls.  So if it reads as zero it is zero.
 *
 * A user that may make cgroups must not take all memory for counters, nor all that counters may
 * take.  So each class of groups has a budget, a part of the memory.  The budget of groups with a
 * weight or a latency target is larger, and includes groups without settings.  That of groups with
 * a maximum or a minimum is larger still, and includes both.  At each level, from the pools down, a
 * subtree may have at most alpha times the rest of the budget above it (a dynamic threshold:
 * Choudhury & Hahne, IEEE/ACM ToN 1998), here with alpha = 7.  Alone it may have 7/8, and leaves
 * 1/8.  With a budget of 4096, one pool may have 3584, and one cgroup of it, with all below, 3136.
 * A second cgroup beside it comes to 392, a third to 49.
 *
 * A group gets counters only if the group above has some.  A living group loses them before the
 * group above does.  So a refused group shares the counters, the weight and the maximum of the
 * nearest group above that has some, and no group with a maximum is skipped.
 */
#include "stats.h"

#include "limits.h"

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>

/* Number of spare counters, for groups that begin together; the first of these orders more. */
#define IOBAND_SPARE_STATS	128

/*
 * Divisors of the memory for the counters of a class and the classes before it.  The parts of
 * groups without a maximum or a minimum are small, as any user may obtain such groups.  A maximum
 * or a minimum must hold.  Only the administrator gives one, but possibly to many groups at once.
 * Or it is a preset for the path of a cgroup that other users make and remove at will.  Until the
 * next sweep they may have the groups of some seconds.  A subtree of these leaves some counters to
 * the others, as in every class.
 */
static const unsigned int parts_of_memory[] = {
	[IOBAND_STATS_UNSET] = 64,
	[IOBAND_STATS_SET] = 16,
	[IOBAND_STATS_LIMITED] = 4,
};

/* Number of counters, and of totals of retired counters, in all pools. */
static atomic_long_t nr_stats;
static atomic_long_t nr_totals;

/* Number of counters that groups have, as in &ioband_group.nr_stats. */
static atomic_long_t nr_given[IOBAND_NR_STATS_KINDS];

/* Counters without histograms, for a new group or for the spare counters of a pool, or NULL. */
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

/* The budget of a class, in counters with the histograms that they will get. */
static u64 stats_budget(enum ioband_stats_kind kind)
{
	const size_t size = sizeof(struct ioband_stats) + num_possible_cpus() *
			    (sizeof(struct ioband_cpu_stats) + sizeof(struct ioband_cpu_hist));

	return ((u64)totalram_pages() << PAGE_SHIFT) / parts_of_memory[kind] / size;
}

/*
 * Are the counters of groups without settings, spare counters included, at the budget of their
 * class?  Other pools may take or return some meanwhile: then there is one too many, or too few.
 */
static bool stats_are_too_many(void)
{
	long others = 0;

	for (int kind = IOBAND_STATS_SET; kind < IOBAND_NR_STATS_KINDS; kind++)
		others += atomic_long_read(&nr_given[kind]);
	return atomic_long_read(&nr_stats) - others >= (long)stats_budget(IOBAND_STATS_UNSET);
}

static enum ioband_stats_kind kind_of(struct ioband_group *group)
{
	if (ioband_limits_is_set(group))
		return IOBAND_STATS_LIMITED;
	return ioband_group_is_set(group) ? IOBAND_STATS_SET : IOBAND_STATS_UNSET;
}

/* Of @group and the groups above, the topmost without counters; the root always has some. */
static struct ioband_group *first_without(struct ioband_group *group)
{
	while (!rcu_access_pointer(group->parent->stats))
		group = group->parent;
	return group;
}

/*
 * The class of the counters of @above: the highest class of all groups from @group up to it, which
 * depend on these counters.  One of them may have a maximum, and no bios of its own.
 */
static enum ioband_stats_kind kind_for(struct ioband_group *above, struct ioband_group *group)
{
	enum ioband_stats_kind kind = kind_of(above);

	for (; group != above; group = group->parent)
		kind = max(kind, kind_of(group));
	return kind;
}

/*
 * Number of counters of a group and all groups below, or, without a group, of all pools, in a class
 * and the classes before it.  Counters of higher classes do not reduce the budget of a lower class.
 */
static u64 given_below(const struct ioband_group *group, enum ioband_stats_kind most)
{
	u64 given = 0;

	for (int kind = 0; kind <= most; kind++)
		given += group ? group->nr_stats[kind] : atomic_long_read(&nr_given[kind]);
	return given;
}

/*
 * May a group have counters of a class?  From below: a subtree needs a seventh of its counters left
 * above.  Other pools may take one each meanwhile.
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

/* Add @more to the number of counters of a group and of the groups above it. */
static void count_stats(struct ioband_group *group, const struct ioband_stats *stats, int more)
{
	lockdep_assert_held(&group->pool->lock);
	atomic_long_add(more, &nr_given[stats->kind]);
	for (; group; group = group->parent)
		group->nr_stats[stats->kind] += more;
}

/* Free counters that a group had.  Takes the pool's lock. */
static void take_back(struct ioband_group *group, struct ioband_stats *stats)
{
	spin_lock_irq(&group->pool->lock);
	list_del_init(&stats->list);
	count_stats(group, stats, -1);
	spin_unlock_irq(&group->pool->lock);
	ioband_stats_free(stats);
}

/* Free unused counters, or NULL. */
void ioband_stats_free(struct ioband_stats *stats)
{
	if (!stats)
		return;
	free_percpu(stats->hist);
	free_percpu(stats->cpu);
	kfree(stats);
	atomic_long_dec(&nr_stats);
}

void ioband_stats_exit(void)
{
	for (int kind = 0; kind < IOBAND_NR_STATS_KINDS; kind++)
		ioband_warn_lost(&nr_given[kind], "counters that groups had");
	ioband_warn_lost(&nr_stats, "counters of groups");
	ioband_warn_lost(&nr_totals, "totals of groups");
}

/* Give new counters to a group without any, under the pool's lock. */
void ioband_stats_give(struct ioband_group *group, struct ioband_stats *stats,
		       enum ioband_stats_kind kind)
{
	stats->kind = kind;
	count_stats(group, stats, 1);
	list_add_tail(&stats->list, &group->pool->plain_stats);
	rcu_assign_pointer(group->stats, stats);
}

/*
 * Move a group's counters to the class of its changed settings, under the pool's lock.  The class
 * is kept if the new one exceeds its budget.  Otherwise a subtree could take the share of others
 * little by little.
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

/* Add spare counters; NULL: no memory, or the budget is used up.  Takes the pool's lock. */
static void put_spare(struct ioband_pool *pool, struct ioband_stats *stats)
{
	spin_lock_irq(&pool->lock);
	WRITE_ONCE(pool->stock_failed, !stats);
	if (stats) {
		list_add(&stats->list, &pool->spare_stats);
		WRITE_ONCE(pool->nr_spare, pool->nr_spare + 1);
	}
	spin_unlock_irq(&pool->lock);
	/* The first counters suffice for the first sleeping tasks. */
	wake_up_all(&pool->stocked);
}

/*
 * Allocate spare counters.  Without waiting, the allocator has per-CPU memory for a few dozen at a
 * time.  A thousand groups that start together need more.  May sleep; not in the I/O path.
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

/*
 * May a group for which ioband_stats_ready() returned another one get counters soon, so that
 * ioband_stats_wait() may help?  A bio may wait for @left jiffies more.  After one has waited in
 * vain (0), later bios do not wait until counters have been made again.  Under the pool's lock.
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
	/* Another pool may have returned counters since the budget was used up. */
	schedule_work(&pool->stock);
	return true;
}

/*
 * Wait for spare counters for up to @left jiffies.  The time is short: the allocation may wait for
 * memory reclaim, and reclaim for this task's bios.  Another task may take the new counters first.
 * Return: remaining jiffies, not less than 0; -ERESTARTSYS: the task was killed.
 */
long ioband_stats_wait(struct ioband_pool *pool, long left)
{
	const unsigned long since = jiffies;
	const long ret = wait_event_killable_timeout(pool->stocked,
						     READ_ONCE(pool->nr_spare) ||
						     READ_ONCE(pool->stock_failed), left);

	return ret < 0 ? ret : max(left - (long)(jiffies - since), 0L);
}

/* Free the spare counters of an unused pool. */
void ioband_stats_unstock(struct ioband_pool *pool)
{
	struct ioband_stats *stats, *next;

	list_for_each_entry_safe(stats, next, &pool->spare_stats, list)
		ioband_stats_free(stats);
}

/* Under the pool's lock; does not sleep. */
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

/* Give new counters to a group, under the pool's lock; false without memory or budget. */
static bool give_new(struct ioband_group *group, enum ioband_stats_kind kind)
{
	struct ioband_stats *stats = NULL;

	if (stats_may_be_had(group, kind))
		stats = take_spare(group->pool);
	if (stats)
		ioband_stats_give(group, stats, kind);
	return stats;
}

/*
 * Give counters to the group of a bio, if it has none.  Under the pool's lock; does not sleep, as
 * this is the I/O path.  Return: the group that gets the bio; without memory, or beyond the budget,
 * the nearest group above with counters.
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

/* Give histograms to groups with counters.  May sleep and wait for memory; not in the I/O path. */
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
			/* Pairs with smp_load_acquire() where a time is counted. */
			smp_store_release(&stats->hist, hist);
			hist = NULL;
		}
		spin_unlock_irq(&pool->lock);
		free_percpu(hist);
	}
}

/*
 * Count the wait of a queued bio, unless it is dispatched at once.  Its service starts at @now_ns.
 * Under the pool's lock.  Return: the wait in ns.
 */
u64 ioband_stats_released(struct ioband_io *io, u64 now_ns)
{
	/* The dispatching CPU may have read its clock before the bio arrived. */
	const u64 wait_ns = now_ns > io->start_ns ? now_ns - io->start_ns : 0;
	/* Pairs with smp_store_release() in ioband_stats_make_hist(). */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&io->stats->hist);
	struct ioband_cpu_stats __percpu *cpu = io->stats->cpu;

	if (!wait_ns)
		return 0;
	io->start_ns += wait_ns;
	this_cpu_inc(cpu->op[io->op].held);
	if (hist)
		ioband_stats_count_time(&hist->wait[io->op], wait_ns);
	else
		this_cpu_add(cpu->op[io->op].wait_ns, wait_ns);
	return wait_ns;
}

/* Add the bios that are queued or in flight to @inflight. */
static void add_inflight(int inflight[IOBAND_NR_OPS], const struct ioband_stats *stats)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct ioband_cpu_stats *part = per_cpu_ptr(stats->cpu, cpu);

		for (int op = 0; op < IOBAND_NR_OPS; op++) {
			inflight[op] += READ_ONCE(part->inflight[op]);
			inflight[op] += READ_ONCE(part->open[op]);
		}
	}
}

/* Sum of the pins; exact only once no task can raise it. */
static int stats_pins(const struct ioband_stats *stats)
{
	int inflight[IOBAND_NR_OPS] = {};
	int cpu, pins = 0;

	add_inflight(inflight, stats);
	for (int op = 0; op < IOBAND_NR_OPS; op++)
		pins += inflight[op];
	/* A task pins for itself before the pins of its bios end (ioband_dispatch_take()). */
	smp_rmb();
	for_each_possible_cpu(cpu)
		pins += READ_ONCE(per_cpu_ptr(stats->cpu, cpu)->users);
	/* Pairs with those of ioband_stats_unpin*(): at zero all accesses are done. */
	smp_mb();
	return pins;
}

static void add_counters(struct ioband_counters total[IOBAND_NR_OPS],
			 const struct ioband_counters *part)
{
	for (int op = 0; op < IOBAND_NR_OPS; op++) {
		total[op].ios += READ_ONCE(part[op].ios);
		total[op].bytes += READ_ONCE(part[op].bytes);
		total[op].held += READ_ONCE(part[op].held);
		total[op].wait_ns += READ_ONCE(part[op].wait_ns);
		total[op].service_ns += READ_ONCE(part[op].service_ns);
	}
}

/* Add the times that are in histograms and not in counters. */
static void add_times(struct ioband_counters total[IOBAND_NR_OPS],
		      const struct ioband_cpu_hist *part)
{
	for (int op = 0; op < IOBAND_NR_OPS; op++) {
		total[op].wait_ns += READ_ONCE(part->wait[op].sum_ns);
		total[op].service_ns += READ_ONCE(part->service[op].sum_ns);
	}
}

/* Add the completed bios. */
static void add_stats(struct ioband_counters total[IOBAND_NR_OPS], const struct ioband_stats *stats)
{
	/* Pairs with smp_store_release() in ioband_stats_make_hist(). */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&stats->hist);
	int cpu;

	for_each_possible_cpu(cpu) {
		add_counters(total, per_cpu_ptr(stats->cpu, cpu)->op);
		if (hist)
			add_times(total, per_cpu_ptr(hist, cpu));
	}
}

/* May a group have bios queued or in flight?  Under the pool's lock. */
bool ioband_stats_in_use(struct ioband_group *group)
{
	const struct ioband_stats *stats = stats_of(group);

	return group->retired || (stats && stats_pins(stats));
}

/* Read the activity of a group, with counters pinned by the caller.  Walks all possible CPUs. */
void ioband_stats_progress(struct ioband_stats *stats, struct ioband_progress *progress)
{
	struct ioband_sum sum = {};
	int cpu, op, open = 0, inflight = 0;

	for_each_possible_cpu(cpu) {
		const struct ioband_cpu_stats *part = per_cpu_ptr(stats->cpu, cpu);

		add_counters(sum.op, part->op);
		for (op = 0; op < IOBAND_NR_OPS; op++)
			open += READ_ONCE(part->open[op]);
	}
	add_inflight(sum.inflight, stats);
	progress->work = 0;
	for (op = 0; op < IOBAND_NR_OPS; op++) {
		progress->work += sum.op[op].ios * IOBAND_BIO_BYTES + sum.op[op].bytes;
		inflight += sum.inflight[op];
	}
	progress->inflight = max(inflight, 0);
	progress->open = max(open, 0);
}

/* Do groups below a group have counters, so that it has to keep its own?  Under the pool's lock. */
bool ioband_stats_are_below(struct ioband_group *group)
{
	u32 own = !!stats_of(group) + !!group->retired;
	u32 all = 0;

	for (int kind = 0; kind < IOBAND_NR_STATS_KINDS; kind++)
		all += group->nr_stats[kind];
	return all > own;
}

/*
 * Detach the counters of a group that is idle or unindexed, under the pool's lock.  Bios that still
 * find the group get new ones.  A grace period and ioband_stats_reap() have to follow.
 */
void ioband_stats_retire(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	lockdep_assert_held(&pool->lock);
	if (group->retired || !rcu_access_pointer(group->stats))
		return;
	RCU_INIT_POINTER(group->open, NULL);
	group->retired = rcu_replace_pointer(group->stats, NULL, lockdep_is_held(&pool->lock));
}

/*
 * Free counters that were retired at least a grace period ago, and keep their sums.  Under the
 * pool's reap mutex; may sleep.  Return: false if bios still use them, or without memory for the
 * sums.
 */
bool ioband_stats_reap(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->reap);
	if (!group->retired)
		return true;
	if (stats_pins(group->retired))
		return false;
	if (!group->totals) {
		group->totals = kcalloc(IOBAND_NR_OPS, sizeof(*group->totals), GFP_KERNEL);
		if (!group->totals)
			return false;
		atomic_long_inc(&nr_totals);
	}
	add_stats(group->totals, group->retired);
	take_back(group, group->retired);
	group->retired = NULL;
	return true;
}

/* Free all counters of an unused group.  Under the pool's reap mutex; may sleep. */
void ioband_stats_drop(struct ioband_group *group)
{
	/* New counters exist if a bio came after the old ones were retired. */
	struct ioband_stats *stats =
		rcu_dereference_protected(group->stats, lockdep_is_held(&group->pool->reap));

	if (group->retired)
		take_back(group, group->retired);
	if (stats)
		take_back(group, stats);
	group->retired = NULL;
	RCU_INIT_POINTER(group->stats, NULL);
}

/* Free the totals of a group without counters, to which the caller has the only reference. */
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
	add_stats(sum->op, stats);
	add_inflight(sum->inflight, stats);
}

/* Sum up the counters of a group.  Under the pool's reap mutex. */
void ioband_stats_sum(struct ioband_group *group, struct ioband_sum *sum)
{
	struct ioband_pool *pool = group->pool;
	struct ioband_stats *stats, *retired;

	lockdep_assert_held(&pool->reap);
	*sum = (struct ioband_sum) {};
	if (group->totals)
		add_counters(sum->op, group->totals);
	/* Under the lock, as a bio may give the group new counters. */
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
	total->sum_ns += READ_ONCE(part->sum_ns);
	for (int i = 0; i < IOBAND_NR_BUCKETS; i++)
		total->bios[i] += READ_ONCE(part->bios[i]);
}

/* Sum up the histograms of a group; false if it has none.  Under the pool's reap mutex. */
bool ioband_stats_sum_hist(struct ioband_group *group, struct ioband_cpu_hist *total)
{
	struct ioband_cpu_hist __percpu *hist = NULL;
	struct ioband_stats *stats;
	int cpu;

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

		for (int op = 0; op < IOBAND_NR_OPS; op++) {
			add_histogram(&total->wait[op], &part->wait[op]);
			add_histogram(&total->service[op], &part->service[op]);
		}
	}
	return true;
}
