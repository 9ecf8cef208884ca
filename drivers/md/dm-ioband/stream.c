// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the streams of a group's own bios.
 *
 * A group has one queue for its own bios, as long as their order does not matter.  It matters in
 * two cases.  Then the group gets more queues, streams.  They are leaves of the same tree, under a
 * node in the place of the one queue:
 *
 *	group -- own queue (100)		group -- own queue (100, runs empty)
 *	     `-- child (200)			     |-- streams (100) -- usual (100)
 *						     |                |-- best-effort 0 (400)
 *						     |                `-- a run (100)
 *						     `-- child (200)
 *
 * Levels: a bio has an I/O priority, its own or that of the task that submits it for itself.  Each
 * level that occurs is a stream.  Its weight doubles with every second level.  Best-effort 4, the
 * default, has 100, best-effort 0 has 400 and 7 has 35.  Real-time 7 begins at 884, and real-time 0
 * has 10000; idle has 1.  So higher levels go first, and none starves: beside usual bios, one in a
 * hundred is of the idle class.  In a pool with slices streams share device time, whatever groups
 * share: a sequential reader does not wait for the bytes of a random reader.
 *
 * Runs: on a disk that seeks, several sequential readers lose all but a few per cent of the disk's
 * speed if their bios alternate.  A run is a stream of reads, each of which begins where the
 * previous read ended.  Any task may submit them, so runs are found behind a file server or the
 * image of a guest as well.  A run gets slices (see sched/slice.c) that begin and end with those of
 * its group.  16 readers of a group are served one after the other, a slice each, and the disk
 * seeks no more often than for one reader.  sched/ahead.c explains their order.
 *
 *	4-KiB reads at sectors	0 800 8 808 16 816 24 824
 *	are seen as		. .   . .   a  b   a  b		two in a row: a run
 */
#include "stream.h"

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/slab.h>

/*
 * Largest number of runs of a group.  With more, the order of reads is no better than without runs.
 * Reads outside of runs share one slice beside a slice of each run.
 */
#define IOBAND_RUNS_MAX		16

/* Number of reads, each beginning where the previous one ended, that make a run. */
#define IOBAND_RUN_READS	2

/* Size of the table of recent ends of reads. */
#define IOBAND_SEEN_BITS	6

/* The end of a recent read. */
struct ioband_seen {
	struct ioband_place place;
	u8 reads;			/* in a row that ended there, without the first */
};

/* The streams of a group. */
struct ioband_streams {
	struct ioband_node node;	/* in which they compete */
	struct ioband_stream *level[IOBAND_NR_LEVELS];	/* made when a level occurs */
	unsigned int nr_runs;		/* all in the group's list */
	struct ioband_seen seen[1 << IOBAND_SEEN_BITS];	/* by hash */
};

/* Number of streams beside the groups' own queues, and of &struct ioband_streams, in all pools. */
static atomic_long_t nr_streams;

/* Weights by level, doubled with every second level. */
static const u16 level_weights[IOBAND_NR_LEVELS] = {
	10000, 7071, 5000, 3536, 2500, 1768, 1250, 884,	/* real-time 0 to 7 */
	400, 283, 200, 141, 100, 71, 50, 35,		/* best-effort 0 to 7 */
	1,						/* idle */
};

/*
 * The level of a bio that the current task submits, below IOBAND_NR_LEVELS; lower ones go first.
 * The priority of a kernel thread does not count, as it submits for other tasks.
 */
u8 ioband_stream_level(const struct bio *bio)
{
	int prio = bio->bi_ioprio;
	const bool silent = IOPRIO_PRIO_CLASS(prio) == IOPRIO_CLASS_NONE;

	if (current->flags & PF_KTHREAD) {
		/* Newer kernels copy the thread's own priority into a bio without one. */
		if (silent || prio == get_current_ioprio())
			return IOBAND_LEVEL_USUAL;
	} else if (silent) {
		prio = get_current_ioprio();
	}
	switch (IOPRIO_PRIO_CLASS(prio)) {
	case IOPRIO_CLASS_RT:
		return prio & 7;
	case IOPRIO_CLASS_BE:
		return 8 + (prio & 7);
	case IOPRIO_CLASS_IDLE:
		return IOBAND_NR_LEVELS - 1;
	default:
		return IOBAND_LEVEL_USUAL;
	}
}

void ioband_stream_init(struct ioband_stream *stream, struct ioband_group *group,
			struct ioband_node *node, u8 level)
{
	*stream = (struct ioband_stream) { .group = group, .level = level };
	INIT_LIST_HEAD(&stream->streams);
	INIT_LIST_HEAD(&stream->park);
	INIT_LIST_HEAD(&stream->wbt_wait);
	INIT_LIST_HEAD(&stream->discard_wait);
	for (int kept = 0; kept < IOBAND_NR_KEPT; kept++)
		bio_list_init(&stream->held[kept]);
	ioband_tree_init_leaf(&stream->leaf, node, level_weights[level]);
}

static bool place_equal(const struct ioband_place *a, const struct ioband_place *b)
{
	return a->member == b->member && a->sector == b->sector;
}

static struct ioband_seen *seen_at(struct ioband_streams *streams, const struct ioband_place *place)
{
	return &streams->seen[hash_64((u64)(unsigned long)place->member ^ place->sector,
				      IOBAND_SEEN_BITS)];
}

static bool stream_is_idle(const struct ioband_stream *stream)
{
	for (int kept = 0; kept < IOBAND_NR_KEPT; kept++)
		if (stream->parked[kept])
			return false;
	return stream->leaf.state == IOBAND_LEAF_IDLE && !stream->leaf.inflight &&
	       stream != stream->group->pool->looking && list_empty(&stream->wbt_wait) &&
	       list_empty(&stream->discard_wait);
}

static bool stream_is_run(const struct ioband_stream *stream)
{
	return stream->next.member;
}

static void stream_free(struct ioband_stream *stream)
{
	struct ioband_group *group = stream->group;

	WARN_ON_ONCE(!ioband_core_leaf_is_idle(&stream->leaf) || stream->leaf.inflight ||
		     !list_empty(&stream->discard_wait));
	ioband_core_remove_leaf(&group->pool->core, &stream->leaf);
	list_del(&stream->streams);
	list_del(&stream->park);
	if (stream_is_run(stream))
		group->streams->nr_runs--;
	else
		group->streams->level[stream->level] = NULL;
	kfree(stream);
	atomic_long_dec(&nr_streams);
}

/* Add a stream to the end of the group's list; NULL without memory.  Under the pool's lock. */
static struct ioband_stream *stream_new(struct ioband_group *group, u8 level)
{
	struct ioband_stream *stream =
		kmalloc(sizeof(*stream), IOBAND_GFP | __GFP_ACCOUNT);

	if (!stream)
		return NULL;
	atomic_long_inc(&nr_streams);
	ioband_stream_init(stream, group, &group->streams->node, level);
	list_add_tail(&stream->streams, &group->own.streams);
	return stream;
}

/* Make room for one more run: free the idle run that was not used for the longest time. */
static bool make_room(struct ioband_group *group)
{
	struct ioband_stream *stream;

	if (group->streams->nr_runs < IOBAND_RUNS_MAX)
		return true;
	list_for_each_entry(stream, &group->own.streams, streams) {
		if (stream_is_run(stream) && stream_is_idle(stream)) {
			stream_free(stream);
			return true;
		}
	}
	return false;
}

/* Return: NULL if there is no memory, or the group has too many runs. */
static struct ioband_stream *run_new(struct ioband_group *group, u8 level,
				     const struct ioband_place *next)
{
	struct ioband_stream *stream = make_room(group) ? stream_new(group, level) : NULL;
	const struct ioband_stream *before = group->streams->level[level];

	if (!stream)
		return NULL;
	if (before)
		ioband_tree_follow(&stream->leaf, &before->leaf);
	stream->next = *next;
	stream->leaf.is_run = true;
	group->streams->nr_runs++;
	return stream;
}

static bool streams_begin(struct ioband_group *group)
{
	struct ioband_streams *streams =
		kzalloc(sizeof(*streams), IOBAND_GFP | __GFP_ACCOUNT);

	if (!streams)
		return false;
	atomic_long_inc(&nr_streams);
	ioband_tree_init_node(&streams->node, &group->node, IOBAND_WEIGHT_DEFAULT);
	streams->node.streams = true;
	group->streams = streams;
	schedule_delayed_work(&group->pool->sweep, IOBAND_SWEEP_INTERVAL);
	return true;
}

/* The stream of a level, made if need be; NULL without memory. */
static struct ioband_stream *find_level(struct ioband_group *group, u8 level)
{
	struct ioband_stream **stream = &group->streams->level[level];

	if (!*stream)
		*stream = stream_new(group, level);
	return *stream;
}

/* The run that a read continues or makes; NULL if there is none. */
static struct ioband_stream *find_run(struct ioband_group *group, const struct ioband_io *io,
				      const struct bio *bio)
{
	const struct ioband_place begin = { io->target->member, bio->bi_iter.bi_sector };
	const struct ioband_place end = { begin.member, bio_end_sector(bio) };
	struct ioband_stream *stream;
	struct ioband_seen *seen;
	u8 reads = 0;

	list_for_each_entry(stream, &group->own.streams, streams) {
		if (place_equal(&stream->next, &begin) && stream->level == io->level) {
			stream->next = end;
			if (stream != group->pool->looking)	/* or a walk would skip others */
				list_move_tail(&stream->streams, &group->own.streams);
			return stream;
		}
	}
	seen = seen_at(group->streams, &begin);
	if (place_equal(&seen->place, &begin)) {
		reads = seen->reads + 1;
		if (reads >= IOBAND_RUN_READS)
			return run_new(group, io->level, &end);
	}
	*seen_at(group->streams, &end) = (struct ioband_seen) { end, reads };
	return NULL;
}

/*
 * The stream of a bio, in a group that has or needs streams; without memory, the group's own queue.
 * The root keeps one queue, to which its weight, its maximum and its minimum belong.  Under the
 * pool's lock.
 */
struct ioband_stream *ioband_stream_sort(struct ioband_group *group, const struct ioband_io *io,
					 const struct bio *bio)
{
	struct ioband_stream *stream = NULL;

	if (!group->parent || (!group->streams && !streams_begin(group)))
		return &group->own;
	if (ioband_stream_may_run(group, bio))
		stream = find_run(group, io, bio);
	return stream ?: find_level(group, io->level) ?: &group->own;
}

/* Free the streams of a group without bios, other than its own queue.  Under the pool's lock. */
void ioband_stream_end(struct ioband_group *group)
{
	struct ioband_stream *stream, *next;

	list_for_each_entry_safe(stream, next, &group->own.streams, streams)
		stream_free(stream);
	if (!group->streams)
		return;
	kfree(group->streams);
	group->streams = NULL;
	atomic_long_dec(&nr_streams);
}

void ioband_stream_exit(void)
{
	ioband_warn_lost(&nr_streams, "streams of groups");
}
