// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: delay of tasks for the debt of their group.
 *
 * Swap, memory reclaim, metadata and reads in a transaction are dispatched at once, as other tasks
 * may wait for them.  Their group pays with its next bios, but its debt is bounded, see
 * IOBAND_DEBT_MAX.  A task that only swaps has no next bios.  Beyond the bound its I/O would be
 * free.
 *
 * So a task that has submitted such a bio for its own group sleeps on its way back to user space,
 * where it holds no lock or transaction.  It sleeps until the group has repaid half of the largest
 * debt, or until no sibling has bios, for IOBAND_DEBT_WAIT at most.  What a task swaps or reclaims
 * may be the memory of others.  For these bios it sleeps for a second for each MiB at most.  After
 * the first second, a signal ends the sleep.
 *
 * The same holds for a group of the class idle while others are active.  A task may owe for several
 * groups, as with two swap devices in two pools, and for reads and writes.  All of it counts.
 *
 * If the group is far ahead of a maximum, the task sleeps until it is not, whatever the size of the
 * bio: a bio that is held waits longer.
 *
 *	64 KiB/s, and a task truncates file after file, which reads 4 KiB each
 *	a second for each MiB:	250 files a second, 1000 KiB/s
 *	until paid:		16 files a second after the first 80
 *
 *	weight 1 beside weight 1000 at 40 MB/s, and the task swaps out 16 MiB for each call
 *	without a delay:	the first two calls are charged; then half of the device is free
 *	with it:		16 MiB in 16 s: the other group has 97 % of the device
 *
 * The pool stays in the shared state meanwhile: in the open state, siblings are not charged, and a
 * debt would last, or be forgotten.
 *
 * Kernel threads do not return to user space, nor do workers of io_uring and vhost.  A task that
 * reclaims the memory of other groups does not sleep for these.  blk-iocost delays tasks at the
 * same place, but there the work is built into the kernel.
 */
#include "debt.h"

#include "blkcg.h"
#include "io.h"
#include "sched/max.h"

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>

/* Longest sleep: for the largest debt to siblings, and for a maximum. */
#define IOBAND_DEBT_WAIT	(64L * HZ)

/* A task that has to sleep for a group. */
struct debtor {
	/* of the task's first: runs on the task's way to user space */
	struct callback_head work;
	struct hlist_node node;		/* in @debtors, by the task */
	const struct task_struct *task;
	struct ioband_group *group;	/* NULL after it was freed */
	u64 bytes;			/* swapped or reclaimed for @group; U32_MAX for others */
	unsigned int dirs;		/* their directions, as bits */
};

/* Protects the following, and the groups in the table; taken before a pool's lock. */
static DEFINE_SPINLOCK(debtors_lock);
static DEFINE_HASHTABLE(debtors, 8);
static bool had_debtors;

/* Without @siblings, a debt to these does not count.  Under the pool's lock. */
static bool is_due(const struct ioband_group *group, unsigned int dirs, bool siblings, u64 now_ns)
{
	const struct ioband_leaf *leaf = &group->own.leaf;
	struct ioband_pool *pool = group->pool;
	bool is = siblings && ioband_tree_is_in_debt(leaf, true);
	enum ioband_dir dir;

	for (dir = 0; dir < IOBAND_NR_DIRS && !is; dir++)
		is = dirs & BIT(dir) && ioband_max_is_far_ahead(&pool->core, leaf, dir, now_ns);
	if (is)
		pool->owed_ns = now_ns;
	return is;
}

/* Does the current task pay for the bio?  In the modes by cgroup only for its own group's. */
static bool is_of_task(const struct ioband_io *io)
{
	const void *object = io->group->key.object;
	struct cgroup_subsys_state *css;
	bool is;

	if (!ioband_debt_task_pays())
		return false;
	if (!ioband_mode_is_cgroup(READ_ONCE(io->target->member->mode)))
		return true;
	rcu_read_lock();
	css = ioband_blkcg_css(ioband_blkcg_of_task());
	is = object ? object == css : !css->parent;	/* without an object: of the root */
	rcu_read_unlock();
	return is;
}

/*
 * Has the current task to sleep later for a bio that was dispatched out of turn?  Under the pool's
 * lock.  Return: true if ioband_debt_delay() has to follow.
 */
bool ioband_debt_is_due(const struct ioband_io *io, u64 now_ns)
{
	return unlikely(is_due(io->group, BIT(io->bill.dir), true, now_ns)) && is_of_task(io);
}

/* The current task's entry for a group, or without one any.  Under the lock. */
static struct debtor *find(const struct ioband_group *group)
{
	struct debtor *debtor;

	hash_for_each_possible(debtors, debtor, node, (unsigned long)current)
		if (debtor->task == current && (!group || debtor->group == group))
			return debtor;
	return NULL;
}

/* Jiffies for which a task sleeps for a debt to siblings at most. */
static long for_siblings(const struct debtor *debtor)
{
	return min_t(u64, DIV_ROUND_UP_ULL(debtor->bytes * HZ, 1 << 20), IOBAND_DEBT_WAIT);
}

/*
 * How long may the current task have to sleep yet, after @slept jiffies?  All its debts are looked
 * at, so that all their pools stay shared.
 */
static long left_to_sleep(long slept)
{
	struct debtor *debtor;
	long left = 0;

	spin_lock_irq(&debtors_lock);
	hash_for_each_possible(debtors, debtor, node, (unsigned long)current) {
		const bool siblings = slept < for_siblings(debtor);
		const long most = siblings ? for_siblings(debtor) : IOBAND_DEBT_WAIT;
		bool is;

		if (debtor->task != current || !debtor->group)
			continue;
		spin_lock(&debtor->group->pool->lock);
		is = is_due(debtor->group, debtor->dirs, siblings, ktime_get_ns());
		spin_unlock(&debtor->group->pool->lock);
		if (is)
			left = max(left, most - slept);
	}
	spin_unlock_irq(&debtors_lock);
	return left;
}

/* The current task owes no longer. */
static void end(void)
{
	struct hlist_node *next;
	struct debtor *debtor;

	spin_lock_irq(&debtors_lock);
	hash_for_each_possible_safe(debtors, debtor, next, node, (unsigned long)current) {
		if (debtor->task != current)
			continue;
		hash_del(&debtor->node);
		kfree(debtor);
	}
	spin_unlock_irq(&debtors_lock);
	module_put(THIS_MODULE);
}

static void sleep_for_debt(struct callback_head *work)
{
	long slept = 0, step = IOBAND_TICK, left;

	/*
	 * The latest work runs first.  Other tasks may wait for earlier work of this one, as for
	 * the end of a pipe that it has closed.
	 */
	if (work->next && !task_work_add(current, work, TWA_RESUME))
		return;
	while (!(current->flags & PF_EXITING) && !fatal_signal_pending(current) &&
	       (slept < HZ || !signal_pending(current)) && (left = left_to_sleep(slept)) > 0) {
		left = min(step, left);
		set_current_state(TASK_KILLABLE | TASK_FREEZABLE);
		io_schedule_timeout(left);
		slept += left;
		step = min(2 * step, IOBAND_DEBT_LOOK);
	}
	end();
}

/* Does the current task read for itself: metadata, or in a transaction? */
static bool is_for_itself(const struct bio *bio)
{
	return bio_op(bio) == REQ_OP_READ && !(bio->bi_opf & REQ_SWAP) &&
	       !(current->flags & PF_MEMALLOC);
}

/*
 * Let the current task sleep on its way back to user space.  The bio is not submitted yet, so its
 * group is pinned.  Without memory the task does not sleep.
 */
void ioband_debt_delay(const struct ioband_io *io, const struct bio *bio)
{
	struct debtor *debtor;
	bool first = false;

	spin_lock_irq(&debtors_lock);
	debtor = find(io->group);
	if (!debtor) {
		debtor = kzalloc(sizeof(*debtor), IOBAND_GFP);
		first = debtor && !find(NULL);
		if (debtor) {
			had_debtors = true;
			debtor->task = current;
			debtor->group = io->group;
			hash_add(debtors, &debtor->node, (unsigned long)current);
		}
	}
	if (debtor) {
		debtor->bytes += is_for_itself(bio) ? U32_MAX : io->bytes;
		debtor->dirs |= BIT(io->bill.dir);
	}
	spin_unlock_irq(&debtors_lock);
	if (!first)
		return;
	__module_get(THIS_MODULE);
	init_task_work(&debtor->work, sleep_for_debt);
	if (task_work_add(current, &debtor->work, TWA_RESUME))
		end();
}

/* A group is going to be freed: its tasks sleep no longer.  Not under the pool's lock. */
void ioband_debt_forget(const struct ioband_group *group)
{
	struct debtor *debtor;

	for (u32 chain = 0; chain < HASH_SIZE(debtors); chain++) {
		spin_lock_irq(&debtors_lock);
		hlist_for_each_entry(debtor, &debtors[chain], node)
			if (debtor->group == group)
				debtor->group = NULL;
		spin_unlock_irq(&debtors_lock);
	}
}

/*
 * Wait for the tasks that return from this file.  A task has given its reference to the module
 * back, but may have been preempted since.  Without CONFIG_TASKS_RCU the call is synchronize_rcu(),
 * which does not wait for preempted tasks.  A preemptible kernel has the option with BPF, kprobes
 * or ftrace.
 */
void ioband_debt_exit(void)
{
	if (had_debtors)
		synchronize_rcu_tasks();
}
