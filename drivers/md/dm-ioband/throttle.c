// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how much may be held of a group.
 *
 * A task can submit far more than its group's weight lets go.  So what is held for the tasks
 * of a group is bounded, and past that they wait, and nobody else's: after a bio of theirs,
 * which is held, or before one that discards or zeroes, see ioband_enter_make_room().
 *
 * What is written back does not count there.  The kernel's limit on dirty memory bounds it,
 * and it would keep a group full, and who reads there waiting, for as long as there is some.
 * But a flusher that hands over all it has is done, and comes again only when the kernel
 * has measured how fast that goes, and has let its cgroup dirty more: 200 ms later and more,
 * and until then nothing waits here, and another has the device.  So it waits for its own
 * group as well, but counted apart, and only where it writes back for that cgroup alone, and
 * is in no transaction of a file system (wbt and io.cost have it wait even there).  It holds
 * what keeps others from remounting the file system or freezing it, so it waits for a second
 * at most, and then not again until most of what it has written back is gone.  What it has not
 * handed over stays dirty, within the same limit.
 *
 * What it hands over counts within that limit until all of the bio is back, and file systems
 * make bios of 12 MiB and more.  Were one of those held and the next one at the door, two groups
 * would have 48 MiB in them; where 64 may be dirty their flushers would hardly ever have more to
 * write, and while one has nothing another has the device.  So while there is somebody to wait
 * for, a flusher's bio arrives in pieces of IOBAND_PIECE_MAX, each when there is room, and the
 * next bio is not made before most of this one has gone.
 *
 *	64 MiB may be dirty, and two groups write back.  In whole bios, one held and one at the
 *	door each, 48 MiB are in these and 16 are left to dirty; in pieces, with 12 MiB of a bio
 *	that is on its way for each, 40.
 *
 * A task does not only wait for room: others may come in between and keep the group full.
 * It stands in line, and goes on at the latest when as many bios have gone as were there, or
 * as it takes to fill a group.  Only those are woken who may go on.
 * So a group of many tasks holds the bound and a bio or so for each of them, or what one
 * submits in one go (batch.c).
 */
#include "throttle.h"

#include "io.h"
#include "stats.h"

#include <linux/log2.h>
#include <linux/oom.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#define IOBAND_ROOM_IOS		1024
#define IOBAND_ROOM_BYTES	(64U << 20)

/*
 * What is held for flushers before they wait; they go on at half of it.  As little as there
 * can be and a piece always waits: at 2 GB/s there is half a millisecond until the rest is
 * gone, longer than it takes for a task to be woken.
 */
#define IOBAND_ROOM_FLUSHER	(2U << 20)

/*
 * A flusher holds locks of its file system and keeps a worker: no longer than others may be
 * made to wait for those, and long enough for an eighth of a slow disk.
 */
#define IOBAND_FLUSHER_WAIT	HZ

/* What a bio is counted as: not all that it covers, if it transfers nothing. */
static u32 size_of(const struct ioband_io *io, struct bio *bio)
{
	return bio_has_data(bio) ? io->bytes : min(io->bytes, IOBAND_NO_DATA_MAX);
}

static void add_held(struct ioband_held *held, int ios, u32 bytes)
{
	WRITE_ONCE(held->ios, held->ios + ios);
	WRITE_ONCE(held->bytes, held->bytes + ios * (s64)bytes);
}

static void add(const struct ioband_io *io, int ios)
{
	struct ioband_pool *pool = io->group->pool;

	lockdep_assert_held(&pool->lock);
	add_held(&io->group->held[io->dir], ios, io->bytes);
	pool->held_ios += ios;
	pool->held_bytes += ios * (s64)io->bytes;
}

/**
 * ioband_room_take() - count a bio that is going to be held
 * @io: the bio's; knows its group
 * @bio: the bio
 *
 * Context: Under the pool's lock.
 */
void ioband_room_take(const struct ioband_io *io, struct bio *bio)
{
	add(io, 1);
	if (io->of_task)
		add_held(&io->group->held_of_tasks, 1, size_of(io, bio));
	else if (io->of_flusher)
		WRITE_ONCE(io->group->held_of_flushers,
			   io->group->held_of_flushers + io->bytes);
}

/* Less is held for flushers; who waits for that is woken once, and not with each bio. */
static void give_flusher(struct ioband_group *group, u32 bytes)
{
	const u64 before = group->held_of_flushers;

	WRITE_ONCE(group->held_of_flushers, before - bytes);
	if (before <= IOBAND_ROOM_FLUSHER / 2 || before - bytes > IOBAND_ROOM_FLUSHER / 2)
		return;
	WRITE_ONCE(group->flusher_has_waited, false);
	ioband_room_look(group);
}

/**
 * ioband_room_give() - a bio is not held any more
 * @io: the bio's
 * @bio: the bio
 *
 * Context: Under the pool's lock.
 *
 * Return: its size in bytes; if it transfers nothing, of a large bio at most.
 */
u32 ioband_room_give(const struct ioband_io *io, struct bio *bio)
{
	struct ioband_group *group = io->group;
	const u32 size = size_of(io, bio);
	bool was_full;

	add(io, -1);
	if (io->of_flusher)
		give_flusher(group, io->bytes);
	if (!io->of_task)
		return size;
	was_full = ioband_room_is_over(group, 1);
	add_held(&group->held_of_tasks, -1, size);
	WRITE_ONCE(group->released_ios, group->released_ios + 1);
	if (was_full && (!ioband_room_is_over(group, 1) ||
			 (s32)(group->released_ios - group->look_ios) >= 0))
		ioband_room_wake(group);
	return size;
}

/**
 * ioband_room_is_over() - is so much held for the tasks of a group
 * @group: group
 * @times: so many times what they may have before they wait
 *
 * Context: Any; without the pool's lock it is a look.
 *
 * Return: true if it is that, or more.
 */
bool ioband_room_is_over(const struct ioband_group *group, unsigned int times)
{
	return READ_ONCE(group->held_of_tasks.ios) >= times * (u64)IOBAND_ROOM_IOS ||
	       READ_ONCE(group->held_of_tasks.bytes) >= times * (u64)IOBAND_ROOM_BYTES;
}

/**
 * ioband_room_has_plenty() - is so much held for flushers that they are to wait
 * @group: group
 *
 * Context: Any; without the pool's lock it is a look.
 *
 * Return: true if so.
 */
bool ioband_room_has_plenty(const struct ioband_group *group)
{
	return READ_ONCE(group->held_of_flushers) >= IOBAND_ROOM_FLUSHER &&
	       !READ_ONCE(group->flusher_has_waited);
}

/*
 * Does something wait for the tasks in map()?  A suspend of the device does, so they must not wait
 * for another device's bios then.  So does a freeze of its queue, for which each of them has
 * raised the usage counter: newer kernels freeze it to change a setting in sysfs, and all groups
 * wait meanwhile.  Each task holds one bio more then, and not a second one: a frozen queue takes
 * none.  A freeze of the queue of a device above is not seen here.
 */
static bool is_waited_for(const struct ioband_line *line)
{
	return READ_ONCE(line->target->suspended) ||
	       percpu_ref_is_dying(&line->queue->q_usage_counter);
}

/* There is room, or as many have gone as were there. */
static bool has_passed(const struct ioband_line *line)
{
	if (line->flusher)
		return READ_ONCE(line->group->held_of_flushers) <= IOBAND_ROOM_FLUSHER / 2 ||
		       is_waited_for(line);
	return !ioband_room_is_over(line->group, 1) || is_waited_for(line) ||
	       (s32)(READ_ONCE(line->group->released_ios) - line->until) >= 0;
}

static void look_by(struct ioband_group *group, u32 until)
{
	if ((s32)(until - group->look_ios) < 0)
		group->look_ios = until;
}

/* Whoever wakes those in line has the pool's lock.  Return: whether this one goes on. */
static int wake_one(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	const struct ioband_line *line = container_of(entry, struct ioband_line, entry);

	/* It stays where it is until it has seen that for itself: others may be faster. */
	if (!line->flusher && (s32)(line->group->released_ios - line->until) < 0)
		look_by(line->group, line->until);
	return has_passed(line) ? default_wake_function(entry, mode, flags, key) : 0;
}

/**
 * ioband_room_wake() - wake those in line who may go on
 * @group: whose
 *
 * Context: Under the pool's lock.
 */
void ioband_room_wake(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	group->look_ios = group->released_ios + IOBAND_ROOM_IOS;
	wake_up_all(&group->room);
}

/**
 * ioband_room_look() - wake the tasks in line that may go on, if any task stands there
 * @group: group
 *
 * A freeze of a queue wakes no task here: the pool's tick has to look.
 *
 * Context: Under the pool's lock.
 */
void ioband_room_look(struct ioband_group *group)
{
	if (waitqueue_active(&group->room))	/* to stand in line takes the lock, too */
		ioband_room_wake(group);
}

/**
 * ioband_line_stand() - the task is going to wait for its full group
 * @line: the result; ioband_line_wait() has to follow
 * @target: in whose map() the task is
 * @group: the group
 * @stats: its counters
 * @flusher: it writes back
 *
 * Context: Under the pool's lock.
 */
void ioband_line_stand(struct ioband_line *line, const struct ioband_target *target,
		       struct ioband_group *group, struct ioband_stats *stats, bool flusher)
{
	/* It is full: there is one.  In eighths, so that the line is gone through seldom. */
	const u32 ahead = min_t(u32, group->held_of_tasks.ios, IOBAND_ROOM_IOS);
	const u32 step = rounddown_pow_of_two(max(ahead / 8, 1U));

	lockdep_assert_held(&group->pool->lock);
	line->target = target;
	line->queue = dm_disk(dm_table_get_md(target->ti->table))->queue;
	line->group = group;
	line->stats = stats;
	line->flusher = flusher;
	line->until = round_down(group->released_ios + ahead, step);
	init_wait_entry(&line->entry, 0);
	line->entry.func = wake_one;
	ioband_stats_pin(stats);
	/* Nobody comes meanwhile: that takes the lock. */
	if (!waitqueue_active(&group->room))
		group->look_ios = line->until;
	if (!flusher)
		look_by(group, line->until);
	add_wait_queue(&group->room, &line->entry);
}

/**
 * ioband_line_wait_flusher() - wait until little of what was written back is held
 * @line: from ioband_line_stand()
 *
 * Context: Process; sleeps for IOBAND_FLUSHER_WAIT at most.
 */
void ioband_line_wait_flusher(struct ioband_line *line)
{
	long left = IOBAND_FLUSHER_WAIT;

	while (left) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (has_passed(line))
			break;
		left = io_schedule_timeout(left);
	}
	if (!left)	/* a look at a time when it was little again does no harm */
		WRITE_ONCE(line->group->flusher_has_waited, true);
	finish_wait(&line->group->room, &line->entry);
	ioband_stats_unpin(line->stats);
}

/**
 * ioband_line_wait() - wait for room, or until what was there before has gone
 * @line: from ioband_line_stand()
 * @dying: the task is killed, and waits all the same, unless the system wants its memory
 *
 * Else a task that is killed does not wait: its bios go at once.
 *
 * Context: Process; may sleep.
 */
void ioband_line_wait(struct ioband_line *line, bool dying)
{
	for (;;) {
		set_current_state(dying ? TASK_UNINTERRUPTIBLE : TASK_KILLABLE);
		if (has_passed(line))
			break;
		if (dying ? tsk_is_oom_victim(current) : fatal_signal_pending(current))
			break;
		/* Who cannot be killed is awake now and then: it is not hung. */
		io_schedule_timeout(dying ? HZ : MAX_SCHEDULE_TIMEOUT);
	}
	finish_wait(&line->group->room, &line->entry);
	ioband_stats_unpin(line->stats);
}
