// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: queued bios, and their dispatch.
 *
 * A completion, a new bio or a timer dispatches queued bios.  None of these may submit a bio.  A
 * worker of the target does (worker.c), and finds out how many bios may be in flight.  In the
 * shared state a task submits its bio itself only in two cases: the bio is known not to block it,
 * or other tasks wait for the bio.  A device without a free request puts the submitter to sleep
 * (blk_mq_get_tag()).  A task that sleeps there queues no bios here.  If the limit exceeds the
 * device's requests by N, N tasks would alternate in the device, one bio each, whatever their
 * weights.
 *
 * When a pool opens, or a maximum is taken away, a million bios may be dispatched.  That is done in
 * parts, as interrupts are off under the pool's lock.  A work dispatches the next part as soon as a
 * CPU has time for it.  Completions and new bios dispatch a few meanwhile.
 *
 * All static functions run under the pool's lock.
 */
#include "dispatch.h"

#include "flush.h"
#include "io.h"
#include "limits.h"
#include "split.h"
#include "stats.h"
#include "stream.h"
#include "submit.h"
#include "throttle.h"

#include <linux/sched/task.h>

#include "trace.h"

/*
 * Most bios or splits that are dispatched, skipped or looked at in one hold of the pool's lock,
 * with interrupts off.  Any number of bios may be queued: writeback of an fsync is not bounded.
 */
#define IOBAND_HOLD_IOS		256

/* Most streams of which bios are shown to the core again, after a wait, in one dispatch. */
#define IOBAND_HOLD_STREAMS	64

/*
 * The same for other calls while a work is going to continue.  An interrupt may complete many bios,
 * each of which calls.
 */
#define IOBAND_BESIDE_IOS	8

/* Longest wait of a bio without data, or of its next split, for the share of other groups. */
#define IOBAND_DISCARD_WAIT_NS	NSEC_PER_SEC

/*
 * The workqueue is unbound, and has a rescuer for memory shortage: a tick handles devices that do
 * not answer and CPUs that run no worker.
 */
struct workqueue_struct *ioband_dispatch_wq;

/* Return: 0 or -ENOMEM. */
int __init ioband_dispatch_init(void)
{
	ioband_dispatch_wq = alloc_workqueue("ioband", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return ioband_dispatch_wq ? 0 : -ENOMEM;
}

/* When no pool is left. */
void ioband_dispatch_exit(void)
{
	destroy_workqueue(ioband_dispatch_wq);
}

static struct ioband_stream *stream_of_leaf(struct ioband_leaf *leaf)
{
	return container_of(leaf, struct ioband_stream, leaf);
}

/* The next bio of a queue; NULL: none. */
static struct bio *next_held(struct ioband_stream *stream, int kept)
{
	const struct bio *parked = stream->parked[kept];

	return unlikely(parked) ? parked->bi_next : bio_list_peek(&stream->held[kept]);
}

/* Remove and return the bio behind another one in a list; NULL: the first. */
static struct bio *pop_behind(struct bio_list *list, struct bio *before)
{
	struct bio *bio;

	if (likely(!before))
		return bio_list_pop(list);
	bio = before->bi_next;
	before->bi_next = bio->bi_next;
	bio->bi_next = NULL;
	if (!before->bi_next)
		list->tail = before;
	return bio;
}

/* Remove the bio that next_held() returns. */
static void pop_held(struct ioband_stream *stream, int kept)
{
	struct ioband_pool *pool = stream->group->pool;
	struct bio *parked = stream->parked[kept];

	if (unlikely(pop_behind(&stream->held[kept], parked) == pool->looked))
		pool->looked = parked;	/* the bios before it were dispatched, too */
}

/* A stream does not wait for a worker any more; return: whether it did. */
static bool end_wait(struct ioband_stream *stream)
{
	if (likely(list_empty(&stream->wbt_wait)))
		return false;
	list_del_init(&stream->wbt_wait);
	stream->group->pool->wbt_streams--;
	return true;
}

/* Directions with queued bios that may be dispatched, as bits. */
static u8 stream_dirs(struct ioband_stream *stream)
{
	u8 dirs = 0;
	int dir;

	for (dir = 0; dir < IOBAND_NR_DIRS; dir++)
		dirs |= !!next_held(stream, dir) << dir;
	if (unlikely(next_held(stream, IOBAND_KEPT_NO_DATA)) && list_empty(&stream->discard_wait))
		dirs |= BIT(IOBAND_DIR_WRITE);
	if (likely(list_empty(&stream->wbt_wait)))
		return dirs;
	if (!(dirs & BIT(IOBAND_DIR_WRITE)))
		end_wait(stream);
	return dirs & ~BIT(IOBAND_DIR_WRITE);
}

/* Has the next split of a bio without data waited for long? */
static bool discard_is_late(const struct ioband_stream *stream, struct bio *bio, u64 now_ns)
{
	return now_ns >
	       max(ioband_io_of(bio)->start_ns, stream->discard_ns) + IOBAND_DISCARD_WAIT_NS;
}

/*
 * Let the next write of a stream wait for a worker, see ioband_submit_wbt_waiting().  For the
 * core, the stream has no writes meanwhile.
 */
static void wait_for_worker(struct ioband_stream *stream, struct list_head *waiting)
{
	list_add_tail(&stream->wbt_wait, waiting);
	stream->group->pool->wbt_streams++;
	ioband_core_withdraw(&stream->group->pool->core, &stream->leaf, stream_dirs(stream));
}

/* The same for its bios without data, until these may be dispatched. */
static void wait_for_others(struct ioband_stream *stream, u64 now_ns)
{
	struct ioband_pool *pool = stream->group->pool;

	if (discard_is_late(stream, next_held(stream, IOBAND_KEPT_NO_DATA), now_ns))
		list_move(&stream->discard_wait, &pool->discarders);
	else
		list_move_tail(&stream->discard_wait, &pool->discarders);
	if (!stream->leaf.inflight)
		stream->leaf.done_ns = 0;	/* the time of the wait is no think time */
	ioband_core_withdraw(&pool->core, &stream->leaf, stream_dirs(stream));
}

/* Skip the next bio of a queue, as its device is blocked. */
static void park_next(struct ioband_stream *stream, int kept)
{
	struct ioband_pool *pool = stream->group->pool;

	stream->parked[kept] = next_held(stream, kept);
	if (list_empty(&stream->park))
		list_add_tail(&stream->park, &pool->parked);
	ioband_core_withdraw(&pool->core, &stream->leaf, stream_dirs(stream));
}

static void unpark_stream(struct ioband_stream *stream, u64 now_ns)
{
	int kept;

	for (kept = 0; kept < IOBAND_NR_KEPT; kept++) {
		if (!stream->parked[kept])
			continue;
		stream->parked[kept] = NULL;
		ioband_core_wait(&stream->group->pool->core, &stream->leaf,
				 min_t(int, kept, IOBAND_DIR_WRITE), now_ns);
	}
}

/* Let the core know of bios that are not skipped any more, of some streams in a call. */
static void unpark_some(struct ioband_pool *pool, u64 now_ns)
{
	struct ioband_stream *stream;

	for (u32 some = IOBAND_HOLD_STREAMS; some && !list_empty(&pool->unparked); some--) {
		stream = list_first_entry(&pool->unparked, struct ioband_stream, park);
		list_del_init(&stream->park);
		unpark_stream(stream, now_ns);
	}
}

/*
 * Stop skipping bios with the next dispatches, as a device is no longer blocked.  Under the pool's
 * lock, when the limits of the pool's state are applied.
 */
void ioband_dispatch_unpark(struct ioband_pool *pool)
{
	lockdep_assert_held(&pool->lock);
	list_splice_tail_init(&pool->parked, &pool->unparked);
}

/*
 * Account for a bio that the core has admitted: it is in flight from now on.  Under the pool's
 * lock.
 */
void ioband_dispatch_launch(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	ioband_stall_admit(&io->target->member->stall_dev, now_ns);
	if (unlikely(io->bill.swap))
		io->target->member->stall_dev.extra_ios++;
	io->shared = !io->split_bytes;
	if (io->bill.cached)
		ioband_flush_note(io->target);
	trace_ioband_charge(io, bio);
}

/* Account for the dispatch of a queued bio, or of its last split. */
static void note_released(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	const u64 wait_ns = ioband_stats_released(io, now_ns);

	io->wait_us = min_t(u64, div_u64(wait_ns, NSEC_PER_USEC), U32_MAX);
	trace_ioband_release(io, bio, wait_ns);
}

/* Account for a bio that has left its stream.  Return: its size. */
static u32 unqueue(struct ioband_io *io)
{
	const u32 size = ioband_throttle_remove(io);

	if (io->task)
		put_task_struct(io->task);
	return size;
}

/* The same for a bio that is large, or where some group has a maximum. */
u32 ioband_dispatch_split_large(const struct ioband_io *io)
{
	const struct ioband_pool *pool = io->group->pool;
	u32 split_bytes = U32_MAX;

	if (io->bytes <= io->split_min_bytes)
		return 0;
	if (pool->state == IOBAND_SHARED && pool->split_bytes)
		split_bytes = pool->split_bytes;
	if (unlikely(pool->core.has_max))
		split_bytes = min(split_bytes, ioband_limits_split_bytes(io->group, io->bill.dir));
	return io->split_min_bytes && split_bytes >= io->split_min_bytes &&
	       io->bytes > split_bytes ? split_bytes : 0;
}

static void begin_splits(struct ioband_io *io)
{
	io->admitted = 0;
	io->min_splits = 0;
	atomic_set(&io->due_bytes, 0);
	io->sent = 0;
	io->unfinished = io->bytes;
}

/* Decide whether a bio is split, when the first part of it is about to be dispatched. */
static void settle_split(struct ioband_io *io, const struct bio *bio, u64 now_ns)
{
	if (unlikely(io->bill.no_data)) {
		if (!io->split_bytes)
			begin_splits(io);
		ioband_split_begin_discard(io, bio, now_ns);
	} else if (!io->split_bytes) {
		io->split_bytes = ioband_dispatch_split_bytes(io);
		if (io->split_bytes)
			begin_splits(io);
	}
}

/* The bytes of a split without data that count. */
static u32 nominal_bytes(const struct ioband_io *io, u64 before, u64 after)
{
	const u32 whole = min(io->bytes, IOBAND_NO_DATA_MAX);

	return after * whole / io->bytes - before * whole / io->bytes;
}

/* Set the bill for the next split.  Return: whether it is the last one. */
static bool bill_split(struct ioband_io *io, const struct bio *bio)
{
	const struct ioband_bill whole = io->bill;
	const u32 bytes = whole.no_data ? io->split_bytes :
					  ioband_split_bytes(io, bio, io->admitted);
	const u64 before = io->admitted, after = before + bytes;

	io->bill = ioband_cost(io->group->pool->measure,
			       whole.no_data ? nominal_bytes(io, before, after) : bytes,
			       !whole.no_data);
	io->bill.cached = whole.cached;
	io->bill.async = whole.async;
	io->bill.awaited = whole.awaited;
	io->bill.dir = ioband_dispatch_dir(bio);
	io->bill.ios = !before;
	io->bill.more = after < io->bytes;
	if (io->bill.charge && io->group->pool->measure == IOBAND_MEASURE_IOS)
		/* all splits together cost one */
		io->bill.charge = after * IOBAND_IO_CHARGE / io->bytes -
				  before * IOBAND_IO_CHARGE / io->bytes;
	io->admitted = after;
	return io->admitted == io->bytes;
}

static_assert(IOBAND_WRITES_STARVED_MAX <= U8_MAX);	/* reads_ahead counts them */

/* The direction of the next bio, of the directions @dirs. */
static enum ioband_dir next_dir(struct ioband_stream *stream, u8 dirs)
{
	if (dirs == BIT(IOBAND_DIR_READ))
		return IOBAND_DIR_READ;
	if (dirs == BIT(IOBAND_DIR_WRITE) ||
	    stream->reads_ahead >= stream->group->pool->writes_starved) {
		stream->reads_ahead = 0;
		return IOBAND_DIR_WRITE;
	}
	stream->reads_ahead++;
	return IOBAND_DIR_READ;
}

/* Does another stream wait for the end of all bios without data, and has it waited for long? */
static bool discard_is_late_elsewhere(struct ioband_stream *stream, u64 now_ns)
{
	struct list_head *waiting = &stream->group->pool->discarders;
	struct ioband_stream *first;
	struct bio *bio;

	first = list_first_entry_or_null(waiting, struct ioband_stream, discard_wait);
	if (!first || first == stream)
		return false;
	bio = next_held(first, IOBAND_KEPT_NO_DATA);
	return bio && discard_is_late(first, bio, now_ns);
}

/*
 * May the next split of a bio without data be dispatched in turn?  Those in flight are expected to
 * take @us.  Also true if its device is blocked: then the caller skips the bio.
 */
static bool may_discard(struct ioband_stream *stream, struct bio *bio, u64 us, u64 now_ns)
{
	const struct ioband_io *io = ioband_io_of(bio);

	return io->target->member->stall_dev.blocked ||
	       (ioband_split_may_discard(io, bio, us) &&
		!(us && discard_is_late_elsewhere(stream, now_ns)) &&
		(discard_is_late(stream, bio, now_ns) ||
		 ioband_core_may_discard(&stream->group->pool->core, &stream->leaf, now_ns)));
}

/* The queue of the next bio in a direction. */
static int next_kept(struct ioband_stream *stream, enum ioband_dir dir, u64 now_ns)
{
	struct bio *bio = next_held(stream, IOBAND_KEPT_NO_DATA);

	if (likely(dir == IOBAND_DIR_READ || !bio))
		return dir;
	if (!next_held(stream, dir) ||
	    may_discard(stream, bio, ioband_split_discards_us(stream->group->pool), now_ns))
		return IOBAND_KEPT_NO_DATA;
	return dir;
}

/* Dispatch the next bio or split of a stream, unless it has to wait. */
static void release_next(struct ioband_stream *stream, u64 now_ns)
{
	struct ioband_core *core = &stream->group->pool->core;
	const enum ioband_dir dir = next_dir(stream, ioband_tree_dirs(core, &stream->leaf));
	const int kept = next_kept(stream, dir, now_ns);
	struct bio *bio = next_held(stream, kept);
	struct ioband_io *io = ioband_io_of(bio);
	struct list_head *waiting;
	bool last = true;

	/* Behind the write that waits for a worker there may be writes for other devices. */
	if (dir == IOBAND_DIR_WRITE)
		end_wait(stream);
	if (unlikely(io->target->member->stall_dev.blocked)) {
		park_next(stream, kept);
		return;
	}
	if (kept == IOBAND_KEPT_NO_DATA &&
	    !may_discard(stream, bio, ioband_split_discards_us(stream->group->pool), now_ns)) {
		wait_for_others(stream, now_ns);
		return;
	}
	waiting = dir == IOBAND_DIR_WRITE ? ioband_submit_wbt_waiting(io) : NULL;
	if (unlikely(waiting)) {
		wait_for_worker(stream, waiting);
		return;
	}
	if (unlikely(kept == IOBAND_KEPT_NO_DATA)) {
		stream->discard_ns = now_ns;
		list_del_init(&stream->discard_wait);
	}
	settle_split(io, bio, now_ns);
	if (io->split_bytes)
		last = bill_split(io, bio);
	if (last) {
		pop_held(stream, kept);
		unqueue(io);
	}
	io->bill.for_min = ioband_core_admit(core, &stream->leaf, &io->bill, stream_dirs(stream),
					     now_ns);
	ioband_dispatch_launch(io, bio, now_ns);
	if (!io->split_bytes) {
		note_released(io, bio, now_ns);
		ioband_submit_bio(io);
		return;
	}
	io->min_splits += io->bill.for_min;
	if (last)
		note_released(io, bio, now_ns);
	ioband_submit_split(io);
}

static void arm_wake(struct ioband_pool *pool, u64 wake_ns)
{
	const ktime_t when = ns_to_ktime(wake_ns);

	if (wake_ns == IOBAND_NO_WAKEUP ||
	    (hrtimer_is_queued(&pool->wake) && hrtimer_get_expires(&pool->wake) == when))
		return;
	hrtimer_start(&pool->wake, when, HRTIMER_MODE_ABS);
}

/*
 * Dispatch the next split of a bio that no queue has.  Return: whether it is the last one; then the
 * bio may be gone.
 */
static bool release_split_now(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	const bool last = bill_split(io, bio);

	ioband_core_admit_now(&io->group->pool->core, &io->stream->leaf, &io->bill, now_ns);
	ioband_dispatch_launch(io, bio, now_ns);
	if (last)
		note_released(io, bio, now_ns);
	ioband_submit_split(io);
	return last;
}

/*
 * Dispatch splits of the bios without data that are out of turn, at most one of each bio.  The next
 * split of a bio may have to wait for long, if its device hangs.
 */
static void release_discards(struct ioband_pool *pool, u64 now_ns)
{
	struct bio_list tried = BIO_EMPTY_LIST;
	u32 tries = IOBAND_HOLD_IOS;
	struct bio *bio;
	u64 us;

	if (likely(bio_list_empty(&pool->discards)))
		return;
	us = ioband_split_discards_us(pool);
	while (tries-- && us < IOBAND_DISCARD_US && (bio = bio_list_pop(&pool->discards))) {
		struct ioband_io *io = ioband_io_of(bio);

		if (!ioband_split_may_discard(io, bio, us)) {
			bio_list_add(&tried, bio);
			continue;
		}
		settle_split(io, bio, now_ns);
		if (io->admitted + io->split_bytes < io->bytes)
			bio_list_add(&tried, bio);
		release_split_now(io, bio, now_ns);
		us = ioband_split_discards_us(pool);
	}
	bio_list_merge(&pool->discards, &tried);
}

/* Let the core know of bios without data that may be dispatched again, all of them together. */
static void show_discards(struct ioband_pool *pool, u64 now_ns)
{
	struct ioband_stream *stream, *next;
	u32 some = IOBAND_HOLD_STREAMS;
	struct bio *bio;
	u64 us;

	if (likely(list_empty(&pool->discarders)))
		return;
	us = ioband_split_discards_us(pool);
	list_for_each_entry_safe(stream, next, &pool->discarders, discard_wait) {
		if (us >= IOBAND_DISCARD_US || !some--)
			return;
		bio = next_held(stream, IOBAND_KEPT_NO_DATA);
		if (bio && !may_discard(stream, bio, us, now_ns))
			continue;
		list_del_init(&stream->discard_wait);
		if (!bio)
			continue;
		us += ioband_split_expect_us(ioband_io_of(bio), bio);
		ioband_core_wait_again(&pool->core, &stream->leaf, now_ns);
	}
}

/* Dispatch up to @left queued bios or splits; if there may be more, a work continues. */
static void dispatch_some(struct ioband_pool *pool, u64 now_ns, u32 left)
{
	u64 wake_ns = IOBAND_NO_WAKEUP;
	struct ioband_leaf *leaf;

	unpark_some(pool, now_ns);
	release_discards(pool, now_ns);
	show_discards(pool, now_ns);
	do {
		while (left && (leaf = ioband_core_pick(&pool->core, now_ns, &wake_ns))) {
			release_next(stream_of_leaf(leaf), now_ns);
			left--;
		}
	} while (left && ioband_slice_start_flush(&pool->core, now_ns) &&
		 !ioband_flush_start(pool));
	pool->has_rest = !left || !list_empty(&pool->unparked);
	if (unlikely(pool->has_rest))
		queue_work(ioband_dispatch_wq, &pool->rest);
	if (unlikely(!list_empty(&pool->discarders)) && !pool->lost.inflight)
		wake_ns = min(wake_ns, ioband_core_discard_wake(&pool->core));
	arm_wake(pool, wake_ns);
	ioband_dispatch_note_inflight(pool);
}

/*
 * Dispatch queued bios as the core decides, under the pool's lock.  A work continues after
 * IOBAND_HOLD_IOS of them.  Until it is done no group becomes open, so that bios which arrive
 * meanwhile are queued behind the others of their group.
 */
void ioband_dispatch(struct ioband_pool *pool, u64 now_ns)
{
	dispatch_some(pool, now_ns, pool->has_rest ? IOBAND_BESIDE_IOS : IOBAND_HOLD_IOS);
}

/* Continue with the bios that a dispatch has left. */
void ioband_dispatch_rest(struct work_struct *work)
{
	struct ioband_pool *pool = container_of(work, struct ioband_pool, rest);

	spin_lock_irq(&pool->lock);
	dispatch_some(pool, ktime_get_ns(), IOBAND_HOLD_IOS);
	spin_unlock_irq(&pool->lock);
}

/* Dispatch writes of these streams that waited for a worker; some may have to wait again. */
void ioband_dispatch_wbt_waiting(struct ioband_pool *pool, struct list_head *waiting)
{
	u32 some = IOBAND_HOLD_STREAMS;
	struct ioband_stream *stream;
	LIST_HEAD(ended);

	spin_lock_irq(&pool->lock);
	list_splice_init(waiting, &ended);
	while (!list_empty(&ended)) {
		stream = list_first_entry(&ended, struct ioband_stream, wbt_wait);
		end_wait(stream);
		if (stream_dirs(stream) & BIT(IOBAND_DIR_WRITE))
			ioband_core_wait(&pool->core, &stream->leaf, IOBAND_DIR_WRITE,
					 ktime_get_ns());
		if (!--some) {
			some = IOBAND_HOLD_STREAMS;
			spin_unlock_irq(&pool->lock);
			cond_resched();
			spin_lock_irq(&pool->lock);
		}
	}
	ioband_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
}

/* The end of a grace period, or of a wait for a maximum or the throttle. */
enum hrtimer_restart ioband_dispatch_wake(struct hrtimer *timer)
{
	struct ioband_pool *pool = container_of(timer, struct ioband_pool, wake);
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	ioband_dispatch(pool, ktime_get_ns());
	spin_unlock_irqrestore(&pool->lock, flags);
	return HRTIMER_NORESTART;
}

/*
 * Remove bios of a queue that @wanted selects, until @bytes is @most or more, beginning behind
 * @looked of the pool.  Return: true if the lock has to be dropped before the next bio.
 */
static bool take_some(struct ioband_stream *stream, int kept, struct bio_list *taken, u64 most,
		      u64 *bytes, ioband_wanted_fn wanted, const void *of)
{
	struct ioband_pool *pool = stream->group->pool;
	struct bio_list *held = &stream->held[kept];
	struct bio **looked = &pool->looked, *bio;

	while (*bytes < most) {
		bio = *looked ? (*looked)->bi_next : bio_list_peek(held);
		if (!bio)
			return false;
		if (pool->hold_ios++ >= IOBAND_HOLD_IOS)
			return true;
		if (!wanted(ioband_io_of(bio), of)) {
			*looked = bio;
			continue;
		}
		if (bio == stream->parked[kept])
			stream->parked[kept] = *looked;
		pop_behind(held, *looked);
		*bytes += unqueue(ioband_io_of(bio));
		bio_list_add(taken, bio);
	}
	return false;
}

/* Let the core know of the bios that are left in a stream, which @waited for a worker. */
static void show_rest(struct ioband_stream *stream, bool waited)
{
	struct ioband_core *core = &stream->group->pool->core;
	u8 dirs;

	if (!next_held(stream, IOBAND_KEPT_NO_DATA))
		list_del_init(&stream->discard_wait);
	dirs = stream_dirs(stream);
	ioband_core_withdraw(core, &stream->leaf, dirs);
	if (waited && dirs & BIT(IOBAND_DIR_WRITE))	/* for other devices, or on other CPUs */
		ioband_core_wait(core, &stream->leaf, IOBAND_DIR_WRITE, ktime_get_ns());
}

/*
 * Let other tasks have the pool's lock.  Under the pool's walk mutex and its lock, which is dropped
 * meanwhile.
 */
void ioband_dispatch_yield(struct ioband_pool *pool)
	__must_hold(&pool->lock)
{
	spin_unlock_irq(&pool->lock);
	cond_resched();
	spin_lock_irq(&pool->lock);
	pool->hold_ios = 0;
}

/*
 * Dispatch bios without a pick; their groups get a debt.  Bios without data are dispatched one
 * split after the other.  The lock is dropped only between splits.
 */
static void release_now(struct ioband_pool *pool, struct bio_list *taken)
{
	u64 now_ns = ktime_get_ns();
	unsigned int splits = 0;
	struct bio *bio;

	while ((bio = bio_list_pop(taken))) {
		struct ioband_io *io = ioband_io_of(bio);

		if (io->bill.no_data) {
			bio_list_add(&pool->discards, bio);
			continue;
		}
		if (io->split_bytes) {
			while (!release_split_now(io, bio, now_ns)) {
				if (++splits % IOBAND_HOLD_IOS)
					continue;
				ioband_dispatch_yield(pool);
				now_ns = ktime_get_ns();
			}
			continue;
		}
		ioband_core_admit_now(&pool->core, &io->stream->leaf, &io->bill, now_ns);
		ioband_dispatch_launch(io, bio, now_ns);
		note_released(io, bio, now_ns);
		ioband_submit_bio(io);
	}
	release_discards(pool, now_ns);
}

/* A queued bio of a stream; NULL: there is none. */
static struct bio *any_held(struct ioband_stream *stream)
{
	struct bio *bio = NULL;
	int kept;

	for (kept = 0; kept < IOBAND_NR_KEPT && !bio; kept++)
		bio = bio_list_peek(&stream->held[kept]);
	return bio;
}

/*
 * Remove @wanted bios from a stream, and stop at @most bytes or more.  They are added to @taken, or
 * without it dispatched without a pick: their group gets a debt.  Under the pool's walk mutex and
 * its lock, which is dropped after each IOBAND_HOLD_IOS bios.  The bios that were removed until
 * then are dispatched before.  Return: number of bytes.
 */
u64 ioband_dispatch_take(struct ioband_stream *stream, struct bio_list *taken, u64 most,
			 ioband_wanted_fn wanted, const void *of)
{
	struct ioband_pool *pool = stream->group->pool;
	struct bio_list going = BIO_EMPTY_LIST;
	struct bio *bio = any_held(stream);
	struct ioband_stats *stats;
	u64 bytes = 0;
	bool waited;
	int kept;

	lockdep_assert_held(&pool->walk);
	if (!bio)
		return 0;
	stats = ioband_io_of(bio)->stats;
	ioband_stats_pin(stats);	/* keeps the group while the lock is dropped */
	waited = end_wait(stream);
	pool->looking = stream;
	for (kept = 0; kept < IOBAND_NR_KEPT && bytes < most; kept++) {
		pool->looked = NULL;
		while (take_some(stream, kept, taken ?: &going, most, &bytes, wanted, of)) {
			show_rest(stream, waited);
			release_now(pool, &going);
			ioband_dispatch_yield(pool);
			waited = end_wait(stream);
		}
	}
	show_rest(stream, waited);
	release_now(pool, &going);
	pool->looked = NULL;
	pool->looking = NULL;
	ioband_stats_unpin(stats);
	return bytes;
}
