// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: workers submit dispatched bios.
 *
 * Each target has workers of its own, so that a device that puts its workers to sleep does not
 * delay the other devices.  Each CPU has workers of its own for a target, so that a bio is
 * submitted on the CPU on which it arrived (submit.c).  A worker also makes the splits of large
 * bios.  A worker that may run on any CPU submits the flush at the end of a slice.
 *
 * A worker finds out how many bios may be in flight before the next one has to sleep for a request,
 * see note_nosleep().  Its count of voluntary context switches tells whether it slept.  With
 * PREEMPT_RT a wait for a spinlock counts as well, and the estimate is lower.
 */
#include "worker.h"

#include "complete.h"
#include "dispatch.h"
#include "flush.h"
#include "io.h"
#include "split.h"
#include "submit.h"

#include <linux/percpu.h>
#include <linux/sched.h>

/* The clone for a split. */
struct ioband_split {
	struct ioband_io *io;
	u32 bytes;
	struct bio bio;
};

#define SPLIT_POOL	16

/* For so many bios requests are allocated together: as many as the block layer's plugs have. */
#define IOBAND_PLUG_IOS	32

static void split_end_io(struct bio *bio)
{
	struct ioband_split *split = container_of(bio, struct ioband_split, bio);
	struct bio *whole = ioband_bio_of(split->io);
	struct ioband_io *io = split->io;
	const blk_status_t status = bio->bi_status;
	const u32 bytes = split->bytes;

	/* Which of two errors stays does not matter. */
	if (unlikely(status))
		whole->bi_status = status;
	bio_put(bio);
	if (ioband_complete_split(io, bytes, status))
		bio_endio(whole);
}

/* Let other tasks have the CPU.  A task that does not run must not keep bios in its plug. */
static void yield_cpu(struct blk_plug *plug)
{
	if (likely(!need_resched()))
		return;
	blk_finish_plug(plug);
	cond_resched();
	blk_start_plug(plug);
}

/* Submit the next splits of a bio, in all @bytes.  After the last one the bio may be gone. */
static void submit_bytes(struct ioband_io *io, u32 bytes, struct blk_plug *plug)
{
	struct ioband_target *target = io->target;
	struct bio *whole = ioband_bio_of(io);
	struct ioband_split *split;
	u32 offset, size;
	struct bio *bio;

	for (; bytes; bytes -= size) {
		offset = io->sent;
		size = ioband_io_has_no_data(whole) ? bytes : ioband_split_bytes(io, whole, offset);
		io->sent += size;
		bio = bio_alloc_clone(whole->bi_bdev, whole, GFP_NOIO, &target->splits);
		split = container_of(bio, struct ioband_split, bio);
		split->io = io;
		split->bytes = size;
		bio_trim(bio, offset >> SECTOR_SHIFT, size >> SECTOR_SHIFT);
		bio->bi_end_io = split_end_io;
		if (size != io->bytes)		/* or the disk's queue would merge them */
			bio->bi_opf |= REQ_NOMERGE;
		dm_submit_bio_remap(whole, bio);
		atomic_dec(&target->ready_ios);
		yield_cpu(plug);
	}
}

/*
 * Submit the splits of a bio that have been admitted so far.  Splits that are admitted meanwhile
 * wait until other bios have been submitted.  As long as splits are missing, the bio stays, and
 * only this worker has it.
 */
static void submit_splits(struct ioband_io *io, struct blk_plug *plug)
{
	const u32 bytes = atomic_read(&io->due_bytes);
	const bool last = io->sent + bytes == io->bytes;

	submit_bytes(io, bytes, plug);
	if (!last && atomic_sub_return(bytes, &io->due_bytes))
		ioband_submit_again(io);
}

static void flush_end_io(struct bio *bio)
{
	struct ioband_target *target = container_of(bio, struct ioband_target, flush);
	const bool failed = bio->bi_status;
	struct ioband_pool *pool = target->pool;
	const u64 now_ns = ktime_get_ns();
	unsigned long flags;

	bio_uninit(bio);
	spin_lock_irqsave(&pool->lock, flags);
	if (ioband_flush_end(target, failed, now_ns))
		ioband_dispatch(pool, now_ns);
	wake_up_all(&target->flushed);
	spin_unlock_irqrestore(&pool->lock, flags);
}

static void submit_flush(struct work_struct *work)
{
	struct ioband_target *target = container_of(work, struct ioband_target, flush_work);

	bio_init(&target->flush, target->dev->bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	target->flush.bi_end_io = flush_end_io;
	submit_bio(&target->flush);
}

/*
 * Note whether the last of @sent bios in flight had to sleep.  That holds for a while only: with
 * another load, or other users of the device, a request may be harder to get (the tick decreases
 * the estimate).  Two workers may overwrite each other's values.
 */
static void note_nosleep(struct ioband_member *member, u32 sent, bool slept)
{
	const u32 nosleep_ios = READ_ONCE(member->nosleep_ios);

	if (slept)
		WRITE_ONCE(member->nosleep_ios, nosleep_ios / 2);
	else if (sent > nosleep_ios + 1)
		WRITE_ONCE(member->nosleep_ios, sent - 1);
}

/* Bios that were not dispatched because the queue's worker slept may follow now. */
static void note_slept(struct ioband_queue *queue, bool slept)
{
	const bool before = xchg(&queue->slept, slept);

	if (slept || before)
		ioband_dispatch_wbt_waiting(queue->target->pool, &queue->waiting);
}

/* Number of a device's bios in flight that do not wait for a worker; without a lock. */
static u32 count_sent(const struct ioband_target *target)
{
	const u32 ready = atomic_read(&target->ready_ios);

	return max(READ_ONCE(target->member->stall_dev.inflight_ios), ready) - ready;
}

/* The number of bios in a list, up to IOBAND_PLUG_IOS. */
static unsigned short count_list(const struct llist_node *list)
{
	unsigned short ios = 0;

	for (; list && ios < IOBAND_PLUG_IOS; list = list->next)
		ios++;
	return ios;
}

/*
 * Submit the bios of a list, plugged.  The block layer allocates requests for all of them at once.
 * Return: number of the device's bios in flight then.
 */
static u32 submit_list(struct ioband_target *target, struct llist_node *list)
{
	struct ioband_io *io, *next;
	struct blk_plug plug;
	u32 sent;

	blk_start_plug(&plug);
	plug.nr_ios = count_list(list);
	llist_for_each_entry_safe(io, next, list, queued) {
		if (io->split_bytes) {
			submit_splits(io, &plug);
		} else {
			dm_submit_bio_remap(ioband_bio_of(io), NULL);
			atomic_dec(&target->ready_ios);
			yield_cpu(&plug);
		}
	}
	/* While they are plugged each bio has a request. */
	sent = count_sent(target);
	blk_finish_plug(&plug);
	return sent;
}

/* Submit the bios of a queue; return: false if there were none. */
static bool submit_queued(struct ioband_queue *queue)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&queue->ios));
	const unsigned long switches = current->nvcsw;
	struct ioband_target *target = queue->target;
	bool slept;
	u32 sent;

	if (!list)
		return false;
	atomic_inc(&queue->in_hand);
	WRITE_ONCE(queue->takes, READ_ONCE(queue->takes) + 1);
	sent = submit_list(target, list);
	slept = current->nvcsw != switches;
	atomic_dec(&queue->in_hand);
	if (queue->lane == IOBAND_LANE_PROMPT)
		note_nosleep(target->member, sent, slept);
	else
		note_slept(queue, slept);
	return true;
}

static void submit_here(struct work_struct *work)
{
	struct ioband_queue *queue = container_of(work, struct ioband_queue, work);

	do {
		WRITE_ONCE(queue->worker, current);
		WRITE_ONCE(queue->late, false);
		while (submit_queued(queue))
			cond_resched();
		WRITE_ONCE(queue->worker, NULL);
		smp_mb();	/* pairs with llist_add() in submit.c */
	} while (!llist_empty(&queue->ios));
}

static void submit_elsewhere(struct work_struct *work)
{
	struct ioband_queue *queue = container_of(work, struct ioband_queue, rescue);

	while (submit_queued(queue))
		cond_resched();
}

static int make_queues(struct ioband_target *target, enum ioband_lane lane)
{
	struct ioband_queue *queue;
	int cpu;

	target->queues[lane] = alloc_percpu(struct ioband_queue);
	if (!target->queues[lane])
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		queue = per_cpu_ptr(target->queues[lane], cpu);
		init_llist_head(&queue->ios);
		queue->target = target;
		queue->lane = lane;
		INIT_LIST_HEAD(&queue->waiting);
		INIT_WORK(&queue->work, submit_here);
		INIT_WORK(&queue->rescue, submit_elsewhere);
	}
	return 0;
}

static void free_queues(struct ioband_target *target)
{
	int lane;

	for (lane = 0; lane < IOBAND_NR_LANES; lane++)
		free_percpu(target->queues[lane]);
}

static void end_workers(struct ioband_target *target)
{
	if (target->submit_wq)
		destroy_workqueue(target->submit_wq);
	if (target->late_wq)
		destroy_workqueue(target->late_wq);
	bioset_exit(&target->splits);
	free_queues(target);
}

/*
 * Wait until the workers of a suspended target with nothing queued are idle.  A worker that has not
 * begun has no bios, and need not wait for its CPU.
 */
void ioband_worker_drain(struct ioband_target *target)
{
	struct ioband_queue *queue;
	int lane, cpu;

	for (lane = 0; lane < IOBAND_NR_LANES; lane++) {
		for_each_possible_cpu(cpu) {
			queue = per_cpu_ptr(target->queues[lane], cpu);
			cancel_work_sync(&queue->work);
			cancel_work_sync(&queue->rescue);
			WRITE_ONCE(queue->late, false);
		}
	}
	flush_work(&target->flush_work);
}

/* In the pool's tick: find CPUs that run no workers.  The target may be suspended. */
void ioband_worker_look(struct ioband_target *target)
{
	struct ioband_queue *queue;
	int lane, cpu;

	if (!atomic_read(&target->ready_ios) && !READ_ONCE(target->pool->wbt_streams))
		return;
	for (lane = 0; lane < IOBAND_NR_LANES; lane++) {
		for_each_possible_cpu(cpu) {
			queue = per_cpu_ptr(target->queues[lane], cpu);
			if (ioband_submit_look(queue, cpu))
				ioband_dispatch_wbt_waiting(target->pool, &queue->waiting);
		}
	}
}

/*
 * When memory is short, the bio set of the splits has one as soon as an earlier one has completed.
 * Return: 0 or -ENOMEM.
 */
int ioband_worker_init_target(struct ioband_target *target)
{
	const char *name;
	int lane, ret = 0;

	for (lane = 0; lane < IOBAND_NR_LANES && !ret; lane++)
		ret = make_queues(target, lane);
	if (!ret)
		ret = bioset_init(&target->splits, SPLIT_POOL, offsetof(struct ioband_split, bio),
				  0);
	if (ret)
		goto free;
	INIT_WORK(&target->flush_work, submit_flush);
	ioband_flush_init_target(target);
	name = dm_device_name(dm_table_get_md(target->ti->table));
	target->submit_wq = alloc_workqueue("ioband/%s", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU,
					    0, name);
	target->late_wq = alloc_workqueue("ioband-late/%s",
					  WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_UNBOUND, 0, name);
	if (target->submit_wq && target->late_wq)
		return 0;
	end_workers(target);
	return -ENOMEM;

free:
	free_queues(target);
	return ret;
}

/* The target has no bios.  May sleep. */
void ioband_worker_exit_target(struct ioband_target *target)
{
	ioband_flush_exit_target(target);
	end_workers(target);
}
