// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: queues of dispatched bios, for workers to submit (worker.c).
 *
 * A completion, a timer or the bio of another task dispatches a bio, and may not submit it.  So the
 * bio is put on a queue, for a worker on the CPU on which it arrived.  There the device below has a
 * queue of its own for it, and completes it.
 *
 * Each CPU has two queues for a target, the lanes.  Writeback throttling (blk-wbt) puts the
 * submitter of a buffered write to sleep for as long as reads of others are slow.  Reads and direct
 * writes have another worker, which continues.  But the scheduler counts the write as in flight
 * while it waits for the worker, and four of them reach a limit of 4.  Here are the reads a second
 * of a device that serves two at a time in 2 ms each, at depth 4, beside a buffered writer:
 *
 *	985	without writeback throttling
 *	662	with it
 *	987	with it, and at most one write with the worker
 *
 * So a worker that slept with its last bios gets no other write of a stream until the earlier ones
 * are submitted.  The writes behind that one wait too.  All of them are dispatched if the
 * worker sleeps for long: its device may hang, and the other devices of the pool continue.
 *
 * A worker runs on one CPU, and a real-time task there may keep it from running:
 *
 *	time	CPU 0				CPU 1
 *	0 ms	a SCHED_FIFO task spins.
 *	1 ms	a bio is dispatched; its worker
 *		is woken and does not run.
 *	10 ms					the tick notes that bios wait.
 *	20 ms					the tick: none was taken since, and the worker
 *						is not asleep.  So a worker that may run
 *						anywhere submits them, and later ones.
 *
 * That lasts until the first worker runs again.  Bios that this worker had taken wait for it.  A
 * worker that sleeps in the device below is left alone: another one would sleep there as well.
 */
#include "submit.h"

#include "io.h"

#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

/* A worker that sleeps for longer is in a device that does not answer (sched/stall.c). */
#define IOBAND_STUCK	(HZ / 2)

/* As wbt_should_throttle() of the kernel; other bios without data are slow as well. */
static enum ioband_lane lane_of(const struct bio *bio)
{
	const blk_opf_t direct = REQ_SYNC | REQ_IDLE;

	if (bio_op(bio) == REQ_OP_READ || (bio->bi_opf & direct) == direct)
		return IOBAND_LANE_PROMPT;
	return IOBAND_LANE_WBT;
}

static struct ioband_queue *queue_of(const struct ioband_io *io, enum ioband_lane lane)
{
	return per_cpu_ptr(io->target->queues[lane], io->cpu);
}

static void add(struct ioband_io *io)
{
	const bool read = io->bill.dir == IOBAND_DIR_READ;
	struct ioband_queue *queue = queue_of(io, likely(read) ? IOBAND_LANE_PROMPT :
						  lane_of(ioband_bio_of(io)));
	struct ioband_target *target = io->target;
	const unsigned int cpu = io->cpu;

	/*
	 * The bio may be gone from here on.  llist_add() is a full barrier, as in submit_here():
	 * either the end of a worker is seen here, or that worker sees the bio.
	 */
	if (!llist_add(&io->queued, &queue->ios))
		return;
	if (unlikely(READ_ONCE(queue->late)))
		queue_work(target->late_wq, &queue->rescue);
	else if (!READ_ONCE(queue->worker))
		queue_work_on(cpu, target->submit_wq, &queue->work);
}

/* Put a bio, which may be gone on return, on a queue for a worker.  Under the pool's lock. */
void ioband_submit_bio(struct ioband_io *io)
{
	atomic_inc(&io->target->ready_ios);
	add(io);
}

/*
 * Put the next split of a bio, with its bill, on a queue for a worker.  While splits of a bio are
 * on a queue, or a worker submits them, later ones are added to them.  Under the pool's lock.
 */
void ioband_submit_split(struct ioband_io *io)
{
	const u32 bytes = io->bill.no_data ? io->split_bytes : io->bill.bytes;

	atomic_inc(&io->target->ready_ios);
	if (atomic_fetch_add(bytes, &io->due_bytes) == 0)
		add(io);
}

/*
 * The worker that submitted splits of a bio puts it on a queue again, as others were added
 * meanwhile.
 */
void ioband_submit_again(struct ioband_io *io)
{
	add(io);
}

/*
 * If a bio has to wait until earlier ones were submitted: the list for its stream, which is passed
 * to ioband_dispatch_wbt_waiting() when the worker is done.  Under the pool's lock.
 */
struct list_head *ioband_submit_wbt_waiting(struct ioband_io *io)
{
	struct ioband_queue *queue = queue_of(io, IOBAND_LANE_WBT);

	/* The lock orders this before note_slept() of the worker, which looks for the stream. */
	if (likely(!READ_ONCE(queue->slept)) || READ_ONCE(queue->late) ||
	    READ_ONCE(queue->stuck) ||
	    (!atomic_read(&queue->in_hand) && llist_empty(&queue->ios)) ||
	    lane_of(ioband_bio_of(io)) != IOBAND_LANE_WBT)
		return NULL;
	return &queue->waiting;
}

/* Let a worker submit a target's own flush, which is due.  Under the pool's lock. */
void ioband_submit_flush(struct ioband_target *target)
{
	queue_work(target->late_wq, &target->flush_work);
}

/* Does the worker of a queue sleep in the device below?  Without a lock. */
static bool is_asleep(struct ioband_queue *queue)
{
	struct task_struct *worker;
	bool asleep;

	rcu_read_lock();	/* a task is freed a grace period after it has cleared @worker */
	worker = READ_ONCE(queue->worker);
	asleep = worker && !task_is_running(worker);
	rcu_read_unlock();
	return asleep;
}

/*
 * In the pool's tick, which runs on any CPU that has time for it: find a queue with a worker that
 * makes no progress.  Return: true if streams wait for a worker that may never be done.
 */
bool ioband_submit_look(struct ioband_queue *queue, int cpu)
{
	const bool waits = !llist_empty(&queue->ios) || atomic_read(&queue->in_hand) ||
			   !list_empty_careful(&queue->waiting);
	const unsigned int takes = READ_ONCE(queue->takes);
	const bool stays = waits && queue->waited && takes == queue->seen;
	struct ioband_target *target = queue->target;

	queue->seen = takes;
	queue->waited = waits;
	if (!stays)
		queue->since = jiffies;
	WRITE_ONCE(queue->stuck, time_after(jiffies, queue->since + IOBAND_STUCK));
	if (stays && !is_asleep(queue)) {
		WRITE_ONCE(queue->late, true);
		queue_work(target->late_wq, &queue->rescue);
		/* This work clears @late when it runs. */
		queue_work_on(cpu, target->submit_wq, &queue->work);
	}
	/* A look at the list, which changes under the pool's lock; the next tick looks again. */
	return (READ_ONCE(queue->late) || queue->stuck) && !list_empty_careful(&queue->waiting);
}
