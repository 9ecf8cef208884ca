// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how much may be held of a group.
 *
 * A task can submit far more than its group's weight lets go.  So what is held for the tasks
 * of a group is bounded, and past that they wait, and nobody else's: after a bio of theirs,
 * which is held, or before one that discards or zeroes, see ioband_queue_make_room().
 *
 * What is written back does not count.  The kernel's limit on dirty memory bounds it, and it
 * would keep a group full, and who reads there waiting, for as long as there is some.
 *
 * A task does not only wait for room: others may come in between and keep the group full.
 * It stands in line, and goes on at the latest when as many bios have gone as were there.
 * So a group of many tasks holds the bound and a bio or so for each of them.
 */
#include "dm-ioband.h"

#include <linux/sched/signal.h>

#define IOBAND_ROOM_IOS		1024
#define IOBAND_ROOM_BYTES	(64U << 20)

/* While a group stays full, those in line look where they are each time so many have gone. */
#define IOBAND_ROOM_LOOK_IOS	128

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
	if (!io->of_task)
		return size;
	was_full = ioband_room_is_over(group, 1);
	add_held(&group->held_of_tasks, -1, size);
	WRITE_ONCE(group->released_ios, group->released_ios + 1);
	if (was_full && (!ioband_room_is_over(group, 1) ||
			 !(group->released_ios % IOBAND_ROOM_LOOK_IOS)))
		wake_up_all(&group->room);
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
	return READ_ONCE(group->held_of_tasks.ios) >= times * IOBAND_ROOM_IOS ||
	       READ_ONCE(group->held_of_tasks.bytes) >= times * (u64)IOBAND_ROOM_BYTES;
}

/**
 * ioband_line_stand() - the task is going to wait for its full group
 * @line: the result, for ioband_line_wait() or ioband_line_wait_dying()
 * @group: the group
 * @stats: its counters
 *
 * Context: Under the pool's lock.
 */
void ioband_line_stand(struct ioband_line *line, struct ioband_group *group,
		       struct ioband_stats *stats)
{
	*line = (struct ioband_line) {
		.group = group,
		.stats = stats,
		.since = group->released_ios,
		.ahead = min_t(u32, group->held_of_tasks.ios, IOBAND_ROOM_IOS),
	};
	ioband_stats_pin(stats);
}

/*
 * A suspend waits for those who are in map(), so they must not wait for another device's
 * bios then.
 */
static bool has_passed(const struct ioband_line *line, const struct ioband_target *target)
{
	return !ioband_room_is_over(line->group, 1) || READ_ONCE(target->suspended) ||
	       READ_ONCE(line->group->released_ios) - line->since >= line->ahead;
}

/**
 * ioband_line_wait() - wait for room, or until what was there before has gone
 * @line: from ioband_line_stand()
 * @target: in whose map() the task is
 *
 * A task that is killed does not wait: its bios go at once.
 *
 * Context: Process; may sleep.
 */
void ioband_line_wait(struct ioband_line *line, const struct ioband_target *target)
{
	(void)wait_event_killable(line->group->room, has_passed(line, target));
	ioband_stats_unpin(line->stats);
}

/**
 * ioband_line_wait_dying() - the same for a task that is killed
 * @line: from ioband_line_stand()
 * @target: in whose map() the task is
 *
 * It has submitted far more than is let go at once for those who die.
 *
 * Context: Process; may sleep.
 */
void ioband_line_wait_dying(struct ioband_line *line, const struct ioband_target *target)
{
	/* Now and then awake: it is not hung. */
	while (!wait_event_timeout(line->group->room, has_passed(line, target), HZ))
		;
	ioband_stats_unpin(line->stats);
}
