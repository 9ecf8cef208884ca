// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: arrival of a bio, and the lockless path of the open state.
 */
#include "enter.h"

#include "admit.h"
#include "batch.h"
#include "blkcg.h"
#include "group.h"
#include "io.h"
#include "stats.h"
#include "throttle.h"

/* The open state: the bio goes, and nobody else is bothered. */
static bool pass_open(struct ioband_io *io, struct ioband_group *group)
{
	struct ioband_stats *stats;

	if (!READ_ONCE(group->open))
		return false;
	stats = rcu_dereference_sched(group->stats);
	if (unlikely(!stats))
		return false;
	ioband_stats_pin_open(stats, io->dir);
	io->group = group;
	io->stats = stats;
	io->open = true;
	return true;
}

/* Under RCU: the group of a cgroup, if it was active lately. */
static struct ioband_group *find_recent_css(struct ioband_scope *scope,
					    const struct cgroup_subsys_state *css)
{
	struct ioband_group *group =
		rcu_dereference_sched(scope->recent[ioband_recent_slot(css->id)]);

	return likely(group && group->key.owner == css) ? group : NULL;
}

/* Under RCU: the group of a cgroup, if it has one. */
static __always_inline struct ioband_group *find_group_of_css(struct ioband_scope *scope,
							      struct cgroup_subsys_state *css)
{
	struct ioband_group *group = find_recent_css(scope, css);

	if (group)
		return group;
	css = ioband_owner_css(css);
	if (!css->parent)
		return scope->group;
	/* The css is the key: it cannot be another's while the caller or RCU keeps it. */
	return xa_load(&scope->index[IOBAND_KIND_CGROUP], css->id);
}

static noinline struct ioband_group *find_group_of_task(struct ioband_scope *scope,
							enum ioband_mode mode, struct bio *bio)
{
	struct ioband_key key;

	if (mode == IOBAND_MODE_DEVICE)
		return scope->group;
	ioband_owner_key(&key, mode, bio);
	return ioband_scope_recent(scope, &key) ?: ioband_group_find(scope, &key);
}

/* Under RCU: the group of a bio, if it has one. */
static struct ioband_group *find_group_of_bio(struct ioband_target *target, enum ioband_mode mode,
					      struct bio *bio, bool direct)
{
	struct ioband_scope *scope = ioband_scope_of(target->member, mode);

	if (unlikely(!ioband_mode_is_cgroup(mode)))
		return find_group_of_task(scope, mode, bio);
	return find_group_of_css(scope, direct ? ioband_owner_of_task() : bio_blkcg_css(bio));
}

/*
 * A task may submit some bios as somebody else, and is itself again when all enter.  (What is
 * gathered while a message sets such a mode is that of the moment when it enters.)
 */
static bool mode_is_of_moment(enum ioband_mode mode)
{
	return mode == IOBAND_MODE_UID || mode == IOBAND_MODE_GID;
}

/*
 * Any bio: the group is looked for, and if the bio must not just go, it is gathered, or the lock
 * taken.  A @direct one comes from the task that owns it, which can be made to wait.
 */
static noinline int enter_any(struct ioband_target *target, struct ioband_io *io,
			      struct bio *bio, bool direct)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	struct ioband_group *group;
	bool passed, soon;

	rcu_read_lock_sched();
	group = find_group_of_bio(target, mode, bio, direct);
	passed = likely(group) && pass_open(io, group);
	/* It need not wait, now, for counters or for room. */
	soon = !passed && direct && !mode_is_of_moment(mode) && group &&
	       rcu_access_pointer(group->stats) && !ioband_room_is_over(group, 1);
	rcu_read_unlock_sched();
	if (passed) {
		io->start_ns = ktime_get_ns();
		return DM_MAPIO_REMAPPED;
	}
	ioband_admit_prepare(target, io, bio, direct);
	if (soon && ioband_admit_urgency(bio) == IOBAND_IN_TURN && ioband_batch_add(io, bio))
		return DM_MAPIO_SUBMITTED;
	return ioband_admit(target, io, bio, mode, direct);
}

/* A look, without the lock: is there a group, and has it room. */
static bool has_room(struct ioband_target *target, enum ioband_mode mode, struct bio *bio,
		     unsigned int times)
{
	struct ioband_group *group;
	bool room;

	rcu_read_lock_sched();
	group = find_group_of_bio(target, mode, bio, true);
	room = group && rcu_access_pointer(group->stats) && !ioband_room_is_over(group, times);
	rcu_read_unlock_sched();
	return room;
}

/**
 * ioband_enter_make_room() - have the task wait before its bio arrives
 * @target: the bio's
 * @io: the bio's
 * @bio: clone, given its device, that the task submits for itself; not known to the pool yet
 *
 * For as long as its group holds as much as it may, or until what that was has gone.  Not
 * before a bio for which the system waits, or with REQ_NOWAIT; and a task that is killed
 * waits only if far more is held for it.  The bio itself keeps the target from going.
 *
 * Context: Process, in the target's map(); may sleep.  Not on the detour: whoever sleeps
 * there would keep the hidden disk's limits from being changed, and that all others.
 */
void ioband_enter_make_room(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	const unsigned int times = ioband_admit_times(bio);
	struct ioband_pool *pool = target->pool;
	unsigned long flags;
	struct ioband_line line;
	bool wait;

	if (ioband_admit_urgency(bio) == IOBAND_AT_ONCE || bio->bi_opf & REQ_NOWAIT ||
	    has_room(target, mode, bio, times))
		return;
	flags = ioband_admit_lock_group(pool, io, bio, mode, true, true);
	wait = ioband_room_is_over(io->group, times);
	if (wait)
		ioband_line_stand(&line, target, io->group, io->stats, false);
	ioband_stats_unpin_io(io->stats, io->dir);
	io->group = NULL;
	spin_unlock_irqrestore(&pool->lock, flags);
	if (wait)
		ioband_line_wait(&line, times > 1);
}

/*
 * Under RCU: the group in which a cgroup's flusher's bio is going to be, if there is such a one,
 * and the bio does not just go.
 */
static struct ioband_group *find_group_of_flusher(struct ioband_target *target,
						  struct cgroup_subsys_state *css)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	struct ioband_scope *scope = ioband_scope_of(target->member, mode);
	struct ioband_group *group =
		ioband_mode_is_cgroup(mode) ? find_group_of_css(scope, css) : NULL;

	return group && rcu_access_pointer(group->stats) && !READ_ONCE(group->open) ? group : NULL;
}

/**
 * ioband_enter_pace() - have a flusher wait before its bio arrives
 * @target: the bio's
 * @css: whose flusher it is
 *
 * For as long as much that it has written back before is still held, but not for long.
 *
 * Context: Process, in the target's map(); may sleep.  Not on the detour, as in
 * ioband_enter_make_room().
 *
 * Return: true if the bio may have to wait now: so that not more is held than there is room
 * for, it should arrive piece by piece.
 */
bool ioband_enter_pace(struct ioband_target *target, struct cgroup_subsys_state *css)
{
	struct ioband_pool *pool = target->pool;
	struct ioband_group *group;
	struct ioband_stats *stats;
	struct ioband_line line;
	bool waits;

	rcu_read_lock_sched();
	group = find_group_of_flusher(target, css);
	waits = group && ioband_room_has_plenty(group);
	rcu_read_unlock_sched();
	if (likely(!waits))
		return group;
	spin_lock_irq(&pool->lock);
	rcu_read_lock_sched();
	group = find_group_of_flusher(target, css);
	waits = group && ioband_room_has_plenty(group);
	stats = waits ? rcu_dereference_sched(group->stats) : NULL;
	rcu_read_unlock_sched();
	/* The pool's lock keeps both.  The lock of the line sleeps in a PREEMPT_RT kernel. */
	if (waits)
		ioband_line_stand(&line, target, group, stats, true);
	spin_unlock_irq(&pool->lock);
	if (waits)
		ioband_line_wait_flusher(&line);
	return group;
}

/**
 * ioband_enter() - a bio arrives, whose owner is the current task
 * @target: whose map() took it
 * @io: the bio's; says what it covers
 * @bio: clone, given its device
 *
 * Context: Process; may sleep, unless the bio is marked REQ_NOWAIT.
 *
 * Return: DM_MAPIO_REMAPPED: the caller sends it down; DM_MAPIO_SUBMITTED: it
 * is taken care of.
 */
int ioband_enter(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	bool passed = false;

	/*
	 * What is most common calls nothing, so that the compiler has nothing to save.
	 * Cheaper than rcu_read_lock(), and so few instructions need no other.
	 */
	rcu_read_lock_sched();
	if (likely(ioband_mode_is_cgroup(mode))) {
		struct cgroup_subsys_state *css = ioband_owner_of_task();
		struct ioband_group *group =
			find_recent_css(ioband_scope_of(target->member, mode), css);

		passed = likely(group) && pass_open(io, group);
	}
	rcu_read_unlock_sched();
	if (unlikely(!passed))
		return enter_any(target, io, bio, true);
	io->start_ns = ktime_get_ns();
	return DM_MAPIO_REMAPPED;
}

/**
 * ioband_enter_known() - a bio arrives that knows its owner
 * @target: whose map() took it
 * @io: the bio's; says what it covers, and whether it is the task's
 * @bio: clone, given its device, back from the detour
 *
 * Context: Process; does not sleep.
 *
 * Return: as ioband_enter().
 */
int ioband_enter_known(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	return enter_any(target, io, bio, false);
}
