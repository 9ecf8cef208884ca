// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: may a bio go.
 *
 * Two states.  In the open state nothing has to be held: one group is active,
 * or all of them together do not fill the device.  A bio finds its group, sees
 * that the group is open, is counted on its CPU, and goes: no lock, no cache
 * line written that another CPU writes.  In the shared state groups compete:
 * every bio goes through the scheduler, under the pool's lock, and may be held
 * in its group.
 *
 * With slices there is no open state.  What one group alone has sent to a disk that seeks,
 * and to its write cache, the next one would wait for, for nobody to be charged; and the
 * lock is nothing to such a disk.
 *
 * What has a maximum, itself or above it, goes through the scheduler in the open
 * state too, and is held until the maximum lets it go.
 *
 * A group that becomes active takes the lock once, so the pool knows how many
 * there are.  With more than one the state is shared, until it turns out that
 * they do not fill the device, and nobody has a minimum or a latency target.  That holds for
 * a few seconds, for another load may, and for as long as no more than half of
 * the limit is in flight (the pool's tick looks).  Service taken past the
 * scheduler is not charged: it was nobody else's.  What of it is still in flight
 * when groups begin to compete counts there, see ioband_queue_apply().
 *
 * Held bios are released by whatever makes room: a completion, a new bio, a
 * timer.  As none of these may submit a bio, a worker of its target does (submit.c),
 * and finds out how many may be in flight.  In the shared state a task sends its bio down
 * itself only if that is known not to block it, or if others wait for the bio.  A device that
 * has no request left puts to sleep whoever comes with a bio (blk_mq_get_tag()), and a task
 * that sleeps there has no other bios waiting here: as many tasks as the limit exceeds the
 * device's requests by would take turns there, one bio each, whatever their weights.
 */
#include "dm-ioband.h"

#include <linux/oom.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "trace.h"

/*
 * What goes for dying tasks of groups that owe much, on the average each time they
 * are looked for: all that a group can hold within a minute, so that they end, and
 * who kills its tasks all the time wins 1 MB/s.
 */
#define IOBAND_DYING_BYTES	(256U << 10)

/*
 * How many bios for blocked devices are passed over at once, with interrupts off: as many as a
 * group may hold for its tasks.  The tick goes on with the rest.
 */
#define IOBAND_PARK_IOS		1024

static struct ioband_stream *stream_of_leaf(struct ioband_leaf *leaf)
{
	return container_of(leaf, struct ioband_stream, leaf);
}

/* A group's own queue, then its other streams, then NULL. */
static struct ioband_stream *next_stream(struct ioband_stream *stream)
{
	stream = list_next_entry(stream, streams);
	return stream == &stream->group->own ? NULL : stream;
}

/* ---- held bios ----------------------------------------------------------- */

/* Of the bios that wait in a stream, the next one of a way; NULL: none. */
static struct bio *next_held(struct ioband_stream *stream, int way)
{
	const struct bio *parked = stream->parked[way];

	return unlikely(parked) ? parked->bi_next : bio_list_peek(&stream->held[way]);
}

/* Take it out. */
static void pop_held(struct ioband_stream *stream, int way)
{
	struct bio *parked = stream->parked[way], *bio;

	if (likely(!parked)) {
		bio_list_pop(&stream->held[way]);
		return;
	}
	bio = parked->bi_next;
	parked->bi_next = bio->bi_next;
	bio->bi_next = NULL;
	if (!parked->bi_next)
		stream->held[way].tail = parked;
}

/* In which ways bios wait, as bits. */
static u8 stream_ways(struct ioband_stream *stream)
{
	u8 ways = 0;
	int way;

	for (way = 0; way < IOBAND_NR_WAYS; way++)
		ways |= !!next_held(stream, way) << way;
	return ways;
}

/* Pass over the next bio of a way, whose device is blocked. */
static void park_next(struct ioband_stream *stream, int way)
{
	stream->parked[way] = next_held(stream, way);
	ioband_core_withdraw(&stream->group->pool->core, &stream->leaf, stream_ways(stream));
}

static void unpark_stream(struct ioband_stream *stream, u64 now_ns)
{
	int way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		if (!stream->parked[way])
			continue;
		stream->parked[way] = NULL;
		ioband_core_wait(&stream->group->pool->core, &stream->leaf, way, now_ns);
	}
}

/* Some device is not blocked any more.  Groups that hold bios are active. */
static void unpark(struct ioband_pool *pool, u64 now_ns)
{
	struct ioband_stream *stream;
	struct ioband_group *group;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(group, &pool->active, active)
		for (stream = &group->own; stream; stream = next_stream(stream))
			unpark_stream(stream, now_ns);
}

/* ---- the two states ------------------------------------------------------ */

static bool group_may_be_open(const struct ioband_group *group)
{
	return group->pool->state == IOBAND_OPEN && !group->unindexed &&
	       !ioband_bound_is_capped(group);
}

/* The state has changed, or who has a maximum, a minimum or a latency target. */
static void update_open(struct ioband_pool *pool)
{
	struct ioband_group *group;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(group, &pool->active, active)
		WRITE_ONCE(group->open, group_may_be_open(group));
}

/**
 * ioband_queue_apply() - tell the scheduler what holds in the pool's state
 * @pool: pool
 * @now_ns: time
 *
 * In the open state there is nothing but maxima.  In flight at a device that hangs: more than
 * the limit may go, to others.  While the pool probes: a single bio may, to a device that is
 * not silent.  In flight from the open state: less, by up to half; those that the device has
 * are soon back.  It may also have put to sleep tasks that came while it had no request left,
 * and would not wake them for as long as what is sent next always found the one that is free:
 * so, if nothing comes back, by half of that, and so on.
 *
 * Bios for a device that is not blocked any more are not passed over any more.
 *
 * Context: Under the pool's lock, or before anybody knows of it.  The caller dispatches.
 */
void ioband_queue_apply(struct ioband_pool *pool, u64 now_ns)
{
	const bool shared = pool->state == IOBAND_SHARED;
	const u64 slice_ns = shared ? pool->slice_ms * (u64)NSEC_PER_MSEC : 0;
	u32 limit_ios = shared ? pool->limit_ios : U32_MAX;

	if (unlikely(ioband_stall_look(&pool->stall, limit_ios, slice_ns, now_ns)))
		unpark(pool, now_ns);
	if (shared && pool->open_ios && limit_ios < U32_MAX)
		limit_ios = (limit_ios - min(pool->open_ios, limit_ios / 2)) >> pool->open_shift;
	ioband_stall_apply(&pool->stall, &pool->core, limit_ios);
	ioband_core_set_slice(&pool->core, slice_ns, pool->measure == IOBAND_MEASURE_TIME, now_ns);
	if (!shared)
		ioband_brake_end(&pool->core, now_ns);
	/* 2 % of 100 ms: a timer is late, or the device is another group's. */
	ioband_core_set_slack(&pool->core, 2 * NSEC_PER_MSEC + hrtimer_resolution + slice_ns / 2);
}

/**
 * ioband_queue_share() - groups compete from now on
 * @pool: pool in the open state
 *
 * Context: Under the pool's lock.
 */
void ioband_queue_share(struct ioband_pool *pool)
{
	const u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_SHARED);	/* pairs with that of a batch */
	pool->sample = (struct ioband_sample) {};
	pool->sampled_ns = now_ns;
	pool->done_ns = now_ns;
	pool->peak_ios = pool->core.inflight_ios;
	pool->calm_ticks = 0;
	pool->open_ios = pool->limit_ios < U32_MAX ? IOBAND_OPEN_UNKNOWN : 0;
	pool->open_fell = jiffies;
	pool->open_shift = 0;
	ioband_core_begin(&pool->core, now_ns);
	ioband_queue_apply(pool, now_ns);
	update_open(pool);
}

/**
 * ioband_queue_open() - nothing needs to be held any more, but by a maximum
 * @pool: pool in the shared state; what it holds is released
 * @now_ns: time
 *
 * Context: Under the pool's lock.
 */
void ioband_queue_open(struct ioband_pool *pool, u64 now_ns)
{
	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->state, IOBAND_OPEN);
	/* Who pauses is not waited for any longer, and what comes now the core is not told of. */
	ioband_core_note_sync(&pool->core, now_ns);
	ioband_queue_apply(pool, now_ns);
	ioband_queue_dispatch(pool, now_ns);
	update_open(pool);
}

/* A group has a bio, and was not open: note that it is active. */
static void activate(struct ioband_group *group)
{
	struct ioband_pool *pool = group->pool;

	group->touched = true;
	if (list_empty(&group->active)) {
		if (!pool->nr_active && pool->state == IOBAND_SHARED && !pool->slice_ms)
			ioband_core_begin(&pool->core, ktime_get_ns());
		group->busy_at = jiffies;
		list_add_tail(&group->active, &pool->active);
		pool->nr_active++;
		schedule_delayed_work(&pool->tick, IOBAND_TICK);
	}
	if (pool->state == IOBAND_SHARED)
		return;
	if (pool->slice_ms ||
	    (pool->nr_active > 1 &&
	     (ioband_core_has_wishes(&pool->core) || !ioband_pool_finds_depth(pool) ||
	      !ioband_depth_is_settled(&pool->depth))))
		ioband_queue_share(pool);
	else
		WRITE_ONCE(group->open, group_may_be_open(group));
}

/**
 * ioband_queue_deactivate() - a group has done nothing for a while
 * @group: active, with nothing held and nothing in flight
 *
 * Context: Under the pool's lock.
 */
void ioband_queue_deactivate(struct ioband_group *group)
{
	lockdep_assert_held(&group->pool->lock);
	WRITE_ONCE(group->open, false);
	list_del_init(&group->active);
	group->pool->nr_active--;
	group->idle_since = jiffies;
}

/* ---- releasing ----------------------------------------------------------- */

/* The core has admitted a bio: it is in flight from now on. */
static void launch(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	ioband_pulse_admit(&io->target->member->pulse, now_ns);
	io->shared = !io->piece;
	if (io->bill.cached)
		ioband_flush_note(io->target);
	trace_ioband_charge(io, bio);
}

/* A bio that was held goes; one in pieces, its last one. */
static void note_released(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	const u64 wait_ns = ioband_stats_released(io, now_ns);

	io->wait_us = min_t(u64, div_u64(wait_ns, NSEC_PER_USEC), U32_MAX);
	trace_ioband_release(io, bio, wait_ns);
}

/* A bio that was held and admitted goes down, all of it. */
static void release_whole(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	note_released(io, bio, now_ns);
	ioband_submit_bio(io, bio);
}

/* A bio has been taken out of its stream; return: its size. */
static u32 unhold(struct ioband_io *io, struct bio *bio)
{
	const u32 size = ioband_room_give(io, bio);

	if (io->task)
		put_task_struct(io->task);
	return size;
}

/*
 * Does a bio go in pieces, and of what size?  Not while there is nobody who could go in
 * between, unless it is a lot of what its group may have in a second.
 */
static u32 goes_in_pieces(const struct ioband_io *io)
{
	const struct ioband_pool *pool = io->group->pool;
	u32 piece = U32_MAX;

	if (pool->state == IOBAND_SHARED && pool->piece_bytes &&
	    (pool->nr_active > 1 || pool->slice_ms))
		piece = pool->piece_bytes;
	if (unlikely(pool->core.capped))
		piece = min(piece, ioband_bound_piece(io->group, io->bill.way));
	return io->piece_least && piece >= io->piece_least && io->bytes > piece ? piece : 0;
}

static enum ioband_way bio_way(const struct bio *bio)
{
	return op_is_write(bio_op(bio)) ? IOBAND_WAY_WRITE : IOBAND_WAY_READ;
}

/* In pieces or not: settled when the first of it is about to go. */
static void settle_pieces(struct ioband_io *io)
{
	const u32 piece = io->piece ? 0 : goes_in_pieces(io);

	if (!piece)
		return;
	io->piece = piece;
	io->admitted = 0;
	io->due_bytes = 0;
	io->sent = 0;
	io->unfinished = io->bytes;
}

/* Make out the bill for the next piece; return: whether it is the last one. */
static bool bill_piece(struct ioband_io *io, const struct bio *bio)
{
	const u32 bytes = ioband_piece_bytes(io, bio, io->admitted);
	const u64 before = io->admitted, after = before + bytes;
	const struct ioband_bill whole = io->bill;

	io->bill = ioband_cost(io->group->pool->measure, bytes, true);
	io->bill.cached = whole.cached;
	io->bill.async = whole.async;
	io->bill.way = bio_way(bio);
	io->bill.ios = !before;
	io->bill.more = after < io->bytes;
	if (io->group->pool->measure == IOBAND_MEASURE_IOS)	/* all of them cost one */
		io->bill.charge = after * IOBAND_IO_CHARGE / io->bytes -
				  before * IOBAND_IO_CHARGE / io->bytes;
	io->admitted = after;
	return io->admitted == io->bytes;
}

static_assert(IOBAND_WRITES_STARVED_MAX <= U8_MAX);	/* reads_ahead counts them */

/* Of the ways in which bios wait, that of the next one. */
static enum ioband_way next_way(struct ioband_stream *stream, u8 ways)
{
	if (ways == BIT(IOBAND_WAY_READ))
		return IOBAND_WAY_READ;
	if (ways == BIT(IOBAND_WAY_WRITE) ||
	    stream->reads_ahead >= stream->group->pool->writes_starved) {
		stream->reads_ahead = 0;
		return IOBAND_WAY_WRITE;
	}
	stream->reads_ahead++;
	return IOBAND_WAY_READ;
}

/* Return: false if the device of the stream's next bio is blocked. */
static bool release_next(struct ioband_stream *stream, u64 now_ns)
{
	struct ioband_core *core = &stream->group->pool->core;
	const enum ioband_way way = next_way(stream, ioband_leaf_may(core, &stream->leaf));
	struct bio *bio = next_held(stream, way);
	struct ioband_io *io = ioband_io_of(bio);
	bool last = true;

	if (unlikely(io->target->member->pulse.blocked)) {
		park_next(stream, way);
		return false;
	}
	settle_pieces(io);
	if (io->piece)
		last = bill_piece(io, bio);
	if (last) {
		pop_held(stream, way);
		unhold(io, bio);
	}
	ioband_core_admit(core, &stream->leaf, &io->bill, stream_ways(stream), now_ns);
	launch(io, bio, now_ns);
	if (!io->piece) {
		release_whole(io, bio, now_ns);
		return true;
	}
	if (last)
		note_released(io, bio, now_ns);
	ioband_submit_piece(io);
	return true;
}

static void arm_wake(struct ioband_pool *pool, u64 wake_ns)
{
	const ktime_t when = ns_to_ktime(wake_ns);

	if (wake_ns == IOBAND_NO_WAKEUP ||
	    (hrtimer_is_queued(&pool->wake) && hrtimer_get_expires(&pool->wake) == when))
		return;
	hrtimer_start(&pool->wake, when, HRTIMER_MODE_ABS);
}

static void note_inflight(struct ioband_pool *pool)
{
	pool->peak_ios = max(pool->peak_ios, pool->core.inflight_ios);
}

/**
 * ioband_queue_dispatch() - release what may go
 * @pool: pool
 * @now_ns: time
 *
 * Context: Under the pool's lock, interrupts off.
 */
void ioband_queue_dispatch(struct ioband_pool *pool, u64 now_ns)
{
	u64 wake_ns = IOBAND_NO_WAKEUP;
	struct ioband_leaf *leaf;
	u32 parked_ios = 0;

	do {
		while (parked_ios < IOBAND_PARK_IOS &&
		       (leaf = ioband_core_pick(&pool->core, now_ns, &wake_ns)))
			parked_ios += !release_next(stream_of_leaf(leaf), now_ns);
	} while (ioband_core_start_flush(&pool->core, now_ns) && !ioband_flush_start(pool));
	arm_wake(pool, wake_ns);
	note_inflight(pool);
}

/**
 * ioband_queue_update_bounds() - groups have got, lost or changed a bound
 * @pool: pool
 *
 * Context: Process.
 */
void ioband_queue_update_bounds(struct ioband_pool *pool)
{
	spin_lock_irq(&pool->lock);
	update_open(pool);
	ioband_queue_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
}

/**
 * ioband_queue_wake() - a leaf's grace has ended, or a maximum or the brake lets go
 * @timer: the pool's
 *
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart ioband_queue_wake(struct hrtimer *timer)
{
	struct ioband_pool *pool = container_of(timer, struct ioband_pool, wake);
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	ioband_queue_dispatch(pool, ktime_get_ns());
	spin_unlock_irqrestore(&pool->lock, flags);
	return HRTIMER_NORESTART;
}

/* ---- entering ------------------------------------------------------------ */

/* What it waits for must not wait: who killed it wants its memory back. */
static bool is_dying(struct task_struct *task)
{
	return task->flags & PF_EXITING || fatal_signal_pending(task);
}

enum urgency {
	IN_TURN,	/* as the scheduler says */
	OWED,		/* at once, unless its group owes much already */
	AT_ONCE,	/* the whole system may wait for it */
};

/*
 * Others wait for some bios, whoever submitted them.  What a task submits for
 * itself, metadata that it reads or what it wants to be rid of to die, goes at
 * once too; but a group that does nothing else would have all of the device.
 */
static enum urgency urgency_of(const struct bio *bio)
{
	const blk_opf_t marked = bio->bi_opf & (REQ_META | REQ_PRIO);

	if (bio->bi_opf & REQ_SWAP || current->flags & PF_MEMALLOC ||
	    tsk_is_oom_victim(current))
		return AT_ONCE;
	if (marked && (op_is_write(bio_op(bio)) || current->flags & PF_KTHREAD))
		return AT_ONCE;
	return marked || is_dying(current) ? OWED : IN_TURN;
}

/* It waits; the caller sees to it that what may go goes. */
static void hold(struct ioband_io *io, struct bio *bio)
{
	/* It has waited: what it was not to wait for is past, and nobody polls here. */
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_clear_polled(bio);
	io->task = current->flags & PF_KTHREAD ? NULL : get_task_struct(current);
	bio_list_add(&io->stream->held[io->bill.way], bio);
	ioband_room_take(io, bio);
	trace_ioband_hold(io, bio);
}

/**
 * ioband_queue_gives_back() - is what comes now for device-mapper to keep
 * @target: target
 *
 * A suspend that is given up takes bios again before it says so.  Without the pool's
 * lock the answer may be an old one: who is told no is told when it enters.
 *
 * Context: Any.
 *
 * Return: true while a suspend gives bios back.
 */
bool ioband_queue_gives_back(const struct ioband_target *target)
{
	return READ_ONCE(target->suspended) && READ_ONCE(target->requeue) &&
	       dm_noflush_suspending(target->ti);
}

enum verdict {
	GO,		/* the caller sends it down */
	HELD,		/* it waits in its group */
	REFUSED,	/* it must not wait, and would have to */
	GIVEN_BACK,	/* the device is being suspended */
};

/*
 * Would the task have to wait for a request of the device, as far as is known?  What the
 * worker has still to send has taken none.
 */
static bool may_sleep_below(const struct ioband_io *io)
{
	const struct ioband_pool *pool = io->group->pool;
	const struct ioband_target *target = io->target;

	return pool->state == IOBAND_SHARED &&
	       pool->core.inflight_ios + pool->open_ios >
	       target->member->roomy_ios + target->ready_ios;
}

static enum verdict admit(struct ioband_io *io, struct bio *bio, enum urgency urgency)
{
	struct ioband_group *group = io->group;
	struct ioband_pool *pool = group->pool;
	struct ioband_core *core = &pool->core;
	const bool nowait = bio->bi_opf & REQ_NOWAIT;
	/*
	 * Not one that device-mapper submits again by a worker when it is refused, as it does
	 * with what is polled for: the second time, nobody is there to come again.
	 */
	const bool refuse = nowait && !(bio->bi_opf & REQ_POLLED) &&
			    !(current->flags & PF_KTHREAD) && ioband_room_is_over(group, 1);
	const u64 now_ns = io->start_ns;
	struct ioband_leaf *leaf;
	bool first;
	u64 wake_ns;

	if (io->target->suspended)
		return nowait || !ioband_queue_gives_back(io->target) ? GO : GIVEN_BACK;
	if (pool->state == IOBAND_OPEN && !ioband_bound_is_capped(group)) {
		ioband_stats_pin_open(io->stats, io->dir);	/* in place of the other pin */
		ioband_stats_unpin_io(io->stats, io->dir);
		io->open = true;
		return GO;
	}
	if (refuse && urgency == IN_TURN)
		return REFUSED;
	io->stream = urgency == AT_ONCE ? &group->own : ioband_stream_of(group, io, bio);
	leaf = &io->stream->leaf;
	if (urgency == AT_ONCE ||
	    (urgency == OWED && !ioband_leaf_owes_much(leaf) &&
	     !ioband_leaf_is_far_ahead(core, leaf, io->bill.way, now_ns))) {
		ioband_core_admit_now(core, leaf, &io->bill, now_ns);
		goto go;
	}
	if (refuse)
		return REFUSED;
	first = leaf->state != IOBAND_WAITING;
	if (!io->bill.async)
		ioband_core_note_sync(core, now_ns);
	ioband_core_wait(core, leaf, io->bill.way, now_ns);
	if (!first || goes_in_pieces(io) || may_sleep_below(io) ||
	    io->target->member->pulse.blocked ||
	    ioband_core_pick(core, now_ns, &wake_ns) != leaf) {
		hold(io, bio);
		return HELD;
	}
	ioband_core_admit(core, leaf, &io->bill, 0, now_ns);
go:
	launch(io, bio, now_ns);
	note_inflight(pool);
	return GO;
}

/* A group that was active lately. */
static struct ioband_group *find_recent(struct ioband_scope *scope, const struct ioband_key *key)
{
	struct ioband_group *group =
		rcu_dereference_check(scope->recent[ioband_recent_slot(key->id)],
				      rcu_read_lock_sched_held());

	return group && ioband_key_equal(&group->key, key) ? group : NULL;
}

/*
 * Under the lock: the bio's group, which has counters; pinned.  Found again, so
 * that it is known not to have gone meanwhile.  Return: NULL, or the group for which one
 * above stands in, for want of counters.
 */
static struct ioband_group *find_group(struct ioband_io *io, enum ioband_mode mode,
				       const struct ioband_key *key)
{
	struct ioband_scope *scope = ioband_scope_of(io->target->member, mode);
	struct ioband_group *group = scope->group;
	struct ioband_group *wanted;

	if (mode != IOBAND_MODE_DEVICE) {
		group = find_recent(scope, key) ?: ioband_group_get(scope, key);
		if (ioband_key_equal(&group->key, key))
			rcu_assign_pointer(scope->recent[ioband_recent_slot(key->id)], group);
	}
	wanted = group;
	group = ioband_stats_ready(wanted);
	io->group = group;
	io->stats = rcu_dereference_protected(group->stats, lockdep_is_held(&group->pool->lock));
	ioband_stats_pin_io(io->stats, io->dir);
	return wanted == group ? NULL : wanted;
}

/*
 * Lock the pool, with the bio's group found and pinned.  A group that begins while there
 * are no counters for it gets them in a moment, for which a task waits if it may: in the
 * group above, which would stand in, the bio could be held for long, behind another weight.
 */
static unsigned long lock_group(struct ioband_pool *pool, struct ioband_io *io, struct bio *bio,
				enum ioband_mode mode, bool direct, bool may_wait)
	__acquires(&pool->lock)
{
	struct cgroup_subsys_state *css = NULL;
	long left = IOBAND_STATS_WAIT;
	struct ioband_group *wanting;
	struct ioband_key key;
	unsigned long flags;

	for (;;) {
		rcu_read_lock();
		if (mode != IOBAND_MODE_DEVICE)
			ioband_owner_key(&key, mode, bio);
		if (direct && ioband_mode_is_cgroup(mode))
			css = ioband_owner_correct(&key);
		spin_lock_irqsave(&pool->lock, flags);
		wanting = find_group(io, mode, &key);
		rcu_read_unlock();
		if (unlikely(css))
			css_put(css);
		if (likely(!wanting) || !may_wait || !ioband_stats_may_come(wanting, left))
			return flags;
		ioband_stats_unpin_io(io->stats, io->dir);
		spin_unlock_irqrestore(&pool->lock, flags);
		left = ioband_stats_wait(pool, left);
	}
}

/* A bio that is not taken: its error says why. */
static void turn_away(struct ioband_io *io, struct bio *bio, blk_status_t status)
{
	io->group = NULL;
	ioband_stats_unpin_io(io->stats, io->dir);
	bio->bi_status = status;
	bio_endio(bio);
}

/*
 * How many times what a group may hold before the task waits.  One that is killed does not
 * read or write much more, but discards on, on the older kernels.
 */
static unsigned int times_for(const struct bio *bio)
{
	if (likely(!is_dying(current)) || ioband_owner_is_direct(bio))
		return 1;
	return IOBAND_ROOM_DYING;
}

/* What is known of a bio before the pool is locked. */
static void prepare(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
		    bool direct)
{
	if (direct) {
		io->of_task = ioband_owner_may_wait(bio);
		io->of_flusher = false;
	}
	io->bill = ioband_cost(READ_ONCE(target->pool->measure), io->bytes, bio_has_data(bio));
	io->bill.way = bio_way(bio);
	io->bill.ios = 1;
	io->level = ioband_stream_level(bio);
	io->bill.cached = ioband_flush_is_needed(target, bio);
	io->bill.async = bio_op(bio) == REQ_OP_WRITE && !op_is_sync(bio->bi_opf);
	io->shared = false;
	io->wait_us = 0;
	io->piece = 0;
	io->piece_least = ioband_piece_least(bio);
	io->nowait = bio->bi_opf & REQ_NOWAIT;
}

/* Not inlined: the open state has no use for what this keeps on the stack. */
static noinline int enter_locked(struct ioband_target *target, struct ioband_io *io,
				 struct bio *bio, enum ioband_mode mode, bool direct)
{
	struct ioband_pool *pool = target->pool;
	const enum urgency urgency = urgency_of(bio);
	const unsigned int times = times_for(bio);
	struct ioband_group *group;
	struct ioband_stats *stats;
	enum verdict verdict;
	unsigned long flags;
	struct ioband_line line;
	bool may_wait, wait;
	u64 now_ns;

	may_wait = direct && io->of_task && !(bio->bi_opf & REQ_NOWAIT);
	flags = lock_group(pool, io, bio, mode, direct, may_wait && urgency == IN_TURN);
	group = io->group;
	stats = io->stats;
	now_ns = ktime_get_ns();
	io->start_ns = now_ns;
	activate(group);
	verdict = admit(io, bio, urgency);
	if (verdict == HELD)
		ioband_queue_dispatch(pool, now_ns);
	/* From here on a held bio can be anywhere, and gone. */
	wait = may_wait && verdict == HELD && ioband_room_is_over(group, times);
	if (wait)
		ioband_line_stand(&line, target, group, stats, false);
	spin_unlock_irqrestore(&pool->lock, flags);

	if (wait)
		ioband_line_wait(&line, times > 1);
	if (verdict == REFUSED)
		turn_away(io, bio, BLK_STS_AGAIN);
	if (verdict == GIVEN_BACK)
		turn_away(io, bio, BLK_STS_DM_REQUEUE);
	return verdict == GO ? DM_MAPIO_REMAPPED : DM_MAPIO_SUBMITTED;
}

/**
 * ioband_queue_enter_late() - a bio arrives that was gathered before
 * @io: the bio's
 * @bio: one that ioband_batch_add() has taken
 * @now_ns: time
 *
 * What may go is to be looked for later, ioband_queue_dispatch().  A suspend waits for it, and
 * does not get it back: what device-mapper is given back outside of map() it may fail.
 *
 * Context: Under the pool's lock, interrupts off; of the task that has submitted it.
 *
 * Return: whether it waits in its group; else it is to be sent down.
 */
bool ioband_queue_enter_late(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	const enum ioband_mode mode = READ_ONCE(io->target->member->mode);
	struct cgroup_subsys_state *css = NULL;
	struct ioband_key key;

	rcu_read_lock();
	if (mode != IOBAND_MODE_DEVICE)
		ioband_owner_key(&key, mode, bio);
	if (ioband_mode_is_cgroup(mode))
		css = ioband_owner_correct(&key);
	find_group(io, mode, &key);
	rcu_read_unlock();
	if (unlikely(css))
		css_put(css);
	io->start_ns = now_ns;
	activate(io->group);
	return admit(io, bio, IN_TURN) == HELD;
}

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
	return find_recent(scope, &key) ?: ioband_group_find(scope, &key);
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
	prepare(target, io, bio, direct);
	if (soon && urgency_of(bio) == IN_TURN && ioband_batch_add(io, bio))
		return DM_MAPIO_SUBMITTED;
	return enter_locked(target, io, bio, mode, direct);
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
 * ioband_queue_make_room() - have the task wait before its bio arrives
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
void ioband_queue_make_room(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	const enum ioband_mode mode = READ_ONCE(target->member->mode);
	const unsigned int times = times_for(bio);
	struct ioband_pool *pool = target->pool;
	unsigned long flags;
	struct ioband_line line;
	bool wait;

	if (urgency_of(bio) == AT_ONCE || bio->bi_opf & REQ_NOWAIT ||
	    has_room(target, mode, bio, times))
		return;
	flags = lock_group(pool, io, bio, mode, true, true);
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
 * ioband_queue_pace() - have a flusher wait before its bio arrives
 * @target: the bio's
 * @css: whose flusher it is
 *
 * For as long as much that it has written back before is still held, but not for long.
 *
 * Context: Process, in the target's map(); may sleep.  Not on the detour, as in
 * ioband_queue_make_room().
 *
 * Return: true if the bio may have to wait now: so that not more is held than there is room
 * for, it should arrive piece by piece.
 */
bool ioband_queue_pace(struct ioband_target *target, struct cgroup_subsys_state *css)
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
 * ioband_queue_enter() - a bio arrives, whose owner is the current task
 * @target: whose map() took it
 * @io: the bio's; says what it covers
 * @bio: clone, given its device
 *
 * Context: Process; may sleep, unless the bio is marked REQ_NOWAIT.
 *
 * Return: DM_MAPIO_REMAPPED: the caller sends it down; DM_MAPIO_SUBMITTED: it
 * is taken care of.
 */
int ioband_queue_enter(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
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
 * ioband_queue_enter_known() - a bio arrives that knows its owner
 * @target: whose map() took it
 * @io: the bio's; says what it covers, and whether it is the task's
 * @bio: clone, given its device, back from the detour
 *
 * Context: Process; does not sleep.
 *
 * Return: as ioband_queue_enter().
 */
int ioband_queue_enter_known(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	return enter_any(target, io, bio, false);
}

/* ---- leaving ------------------------------------------------------------- */

/* A bio has completed, all of it; what is to be done about its time the pool's tick says. */
static void note_took(const struct ioband_io *io, u64 now_ns)
{
	if (unlikely(io->group->pool->core.aiming) && io->bill.way == IOBAND_WAY_READ)
		ioband_leaf_took(&io->stream->leaf, io->wait_us * (u64)NSEC_PER_USEC +
				 now_ns - min(now_ns, io->start_ns));
}

/* Return: whether there is no more of the bio to come; else it may be gone now. */
static noinline bool complete_shared(struct ioband_io *io, const struct ioband_bill *bill,
				     u64 now_ns)
{
	struct ioband_pool *pool = io->group->pool;
	unsigned long flags;
	bool last = true;

	spin_lock_irqsave(&pool->lock, flags);
	if (io->piece) {
		io->unfinished -= bill->bytes;
		last = !io->unfinished;
	}
	if (last)
		note_took(io, now_ns);
	ioband_core_complete(&pool->core, &io->stream->leaf, bill, now_ns);
	if (unlikely(ioband_pulse_complete(&io->target->member->pulse, &pool->stall, now_ns)))
		ioband_queue_apply(pool, now_ns);
	pool->done_ns = max(pool->done_ns, now_ns);
	pool->sample.ios++;
	pool->sample.bytes += bill->bytes;
	pool->sample.work += ioband_depth_work(bill->bytes,
					       io->piece ? io->bytes : bill->bytes);
	if (io->piece_least)
		pool->sample.max_bytes = max(pool->sample.max_bytes, io->bytes);
	if (ioband_core_has_waiting(&pool->core)) {
		pool->sample.held_ios++;
		ioband_queue_dispatch(pool, now_ns);
	} else {
		if (!pool->core.inflight_ios)
			pool->sample.drained_ios++;
		if (pool->held_ios)	/* by a maximum: see to the timer */
			ioband_queue_dispatch(pool, now_ns);
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return last;
}

/**
 * ioband_queue_done() - a bio has completed
 * @io: the bio's; not accounted any more on return
 *
 * Context: Any.
 */
void ioband_queue_done(struct ioband_io *io)
{
	const u64 now_ns = ktime_get_ns();

	ioband_stats_completed(io, now_ns);
	if (likely(io->open)) {
		ioband_stats_unpin_open(io->stats, io->dir);
	} else {
		if (io->shared)
			complete_shared(io, &io->bill, now_ns);
		ioband_stats_unpin_io(io->stats, io->dir);
	}
	io->group = NULL;
}

/**
 * ioband_queue_piece_done() - a piece of a bio has completed
 * @io: the bio's
 * @bytes: of the piece
 *
 * Context: Any.
 *
 * Return: true if it was the last one; else the bio may be gone.
 */
bool ioband_queue_piece_done(struct ioband_io *io, u32 bytes)
{
	/* Others are billed for meanwhile. */
	const struct ioband_bill bill = { .bytes = bytes, .way = bio_way(ioband_bio_of(io)) };

	return complete_shared(io, &bill, ktime_get_ns());
}

typedef bool (*wanted_fn)(const struct ioband_io *io, const void *of);

/* Take the bios of a way that @wanted says out of a stream, until they are @most bytes or more. */
static u64 take_from(struct ioband_stream *stream, int way, struct bio_list *taken, u64 most,
		     wanted_fn wanted, const void *of)
{
	struct bio_list *held = &stream->held[way];
	struct bio *parked = stream->parked[way];
	struct bio_list keep = BIO_EMPTY_LIST;
	u64 bytes = 0;
	struct bio *bio;

	stream->parked[way] = NULL;
	while ((bio = bio_list_pop(held))) {
		struct ioband_io *io = ioband_io_of(bio);
		const bool is_parked = parked;

		if (bio == parked)
			parked = NULL;
		if (bytes < most && wanted(io, of)) {
			bytes += unhold(io, bio);
			bio_list_add(taken, bio);
		} else {
			bio_list_add(&keep, bio);
			if (is_parked)
				stream->parked[way] = bio;
		}
	}
	*held = keep;
	return bytes;
}

/* Take such bios out of a stream. */
static u64 take_held(struct ioband_stream *stream, struct bio_list *taken, u64 most,
		     wanted_fn wanted, const void *of)
{
	u64 bytes = 0;
	int way;

	for (way = 0; way < IOBAND_NR_WAYS && bytes < most; way++)
		bytes += take_from(stream, way, taken, most - bytes, wanted, of);
	ioband_core_withdraw(&stream->group->pool->core, &stream->leaf, stream_ways(stream));
	return bytes;
}

/* The pieces of a bio that have not gone yet. */
static void release_rest(struct ioband_io *io, struct bio *bio, u64 now_ns)
{
	bool last;

	do {
		last = bill_piece(io, bio);
		ioband_core_admit_now(&io->group->pool->core, &io->stream->leaf, &io->bill, now_ns);
		launch(io, bio, now_ns);
		ioband_submit_piece(io);
	} while (!last);
	note_released(io, bio, now_ns);
}

/* Bios that were taken out of a stream go out of turn, and are owed. */
static void release_now(struct bio_list *taken)
{
	const u64 now_ns = ktime_get_ns();
	struct bio *bio;

	while ((bio = bio_list_pop(taken))) {
		struct ioband_io *io = ioband_io_of(bio);

		if (io->piece) {
			release_rest(io, bio, now_ns);
			continue;
		}
		ioband_core_admit_now(&io->group->pool->core, &io->stream->leaf, &io->bill, now_ns);
		launch(io, bio, now_ns);
		release_whole(io, bio, now_ns);
	}
}

/**
 * ioband_queue_next_active() - go through the active groups
 * @pool: pool
 *
 * For as many as there are, each comes once, and the lock may be dropped in
 * between.  One that becomes active meanwhile may not come.
 *
 * Context: Under the pool's walk mutex and its lock; there is an active group.
 *
 * Return: the next.
 */
struct ioband_group *ioband_queue_next_active(struct ioband_pool *pool)
{
	struct ioband_group *group =
		list_first_entry(&pool->active, struct ioband_group, active);

	lockdep_assert_held(&pool->walk);
	list_move_tail(&group->active, &pool->active);
	return group;
}

static bool io_is_of_dying(const struct ioband_io *io, const void *of)
{
	return io->task && is_dying(io->task);
}

/*
 * Was the disk below deleted?  GD_DEAD is set before the bios in flight there complete, and
 * stays.  Unlike the end of the disk's queue it does not depend on the disk's driver, and unlike
 * the error of a bio it needs none in flight.
 */
static bool io_is_of_deleted(const struct ioband_io *io)
{
	return unlikely(test_bit(GD_DEAD, &io->target->dev->bdev->bd_disk->state));
}

static bool io_goes_at_once(const struct ioband_io *io, const void *of)
{
	return (io->task && tsk_is_oom_victim(io->task)) || io_is_of_deleted(io);
}

/*
 * Release the bios of dying tasks, of one stream.  A bio for a deleted disk goes to @failed,
 * unless pieces of it were submitted.
 */
static void release_dying(struct ioband_stream *stream, struct bio_list *failed)
{
	struct ioband_pool *pool = stream->group->pool;
	struct bio_list taken = BIO_EMPTY_LIST, release = BIO_EMPTY_LIST;
	struct bio *bio;

	take_held(stream, &taken, U64_MAX, io_goes_at_once, NULL);
	if (!ioband_leaf_owes_much(&stream->leaf))
		take_held(stream, &taken, U64_MAX, io_is_of_dying, NULL);
	else if (pool->dying_bytes > 0)
		pool->dying_bytes -= take_held(stream, &taken, pool->dying_bytes,
					       io_is_of_dying, NULL);
	while ((bio = bio_list_pop(&taken))) {
		const struct ioband_io *io = ioband_io_of(bio);

		bio_list_add(io_is_of_deleted(io) && !io->piece ? failed : &release, bio);
	}
	release_now(&release);
}

static void turn_all_away(struct bio_list *bios, blk_status_t status)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		turn_away(ioband_io_of(bio), bio, status);
}

/**
 * ioband_queue_release_dying() - let go of bios of dying tasks, and for deleted disks
 * @pool: pool
 *
 * The former are dispatched.  The latter fail, whatever the weights and maxima; later ones fail
 * below, or here the next time.
 *
 * Context: Process; under the pool's walk mutex.
 */
void ioband_queue_release_dying(struct ioband_pool *pool)
{
	struct bio_list failed = BIO_EMPTY_LIST;
	struct ioband_stream *stream;
	struct ioband_group *group;
	unsigned int left;

	spin_lock_irq(&pool->lock);
	pool->dying_bytes = min_t(s64, pool->dying_bytes + IOBAND_DYING_BYTES, IOBAND_DYING_BYTES);
	for (left = pool->nr_active; left && pool->held_ios && !list_empty(&pool->active);
	     left--) {
		group = ioband_queue_next_active(pool);
		for (stream = &group->own; stream; stream = next_stream(stream))
			release_dying(stream, &failed);
		ioband_room_look(group);
		spin_unlock_irq(&pool->lock);
		spin_lock_irq(&pool->lock);
	}
	spin_unlock_irq(&pool->lock);
	turn_all_away(&failed, BLK_STS_IOERR);
}

static bool io_is_of_target(const struct ioband_io *io, const void *of)
{
	return io->target == of;
}

/*
 * What has begun, and what came with REQ_NOWAIT: device-mapper would submit that again from a
 * worker, as it came.  If the device below must split it, or has no request left, it is refused
 * there, and io_uring of 6.12 and before takes that for an error.
 */
static bool io_of_target_must_go(const struct ioband_io *io, const void *of)
{
	return io->target == of && (io->piece || io->nowait);
}

/* Take what a stream holds for a target: into @taken, if @requeue, what may be given back. */
static void suspend_stream(struct ioband_stream *stream, const struct ioband_target *target,
			   bool requeue, struct bio_list *taken)
{
	struct bio_list going = BIO_EMPTY_LIST;

	if (requeue)
		take_held(stream, &going, U64_MAX, io_of_target_must_go, target);
	take_held(stream, requeue ? taken : &going, U64_MAX, io_is_of_target, target);
	release_now(&going);
}

/**
 * ioband_queue_suspend() - hold nothing of a target any more
 * @target: that is being suspended
 * @requeue: give bios back to device-mapper, instead of sending them down
 *
 * Context: Process; may sleep.
 */
void ioband_queue_suspend(struct ioband_target *target, bool requeue)
{
	struct bio_list taken = BIO_EMPTY_LIST;
	struct ioband_pool *pool = target->pool;
	struct ioband_stream *stream;
	struct ioband_group *group;
	unsigned int left;

	mutex_lock(&pool->walk);
	spin_lock_irq(&pool->lock);
	WRITE_ONCE(target->requeue, requeue);
	WRITE_ONCE(target->suspended, true);
	/*
	 * Who holds something is active, and nobody holds more for this target
	 * from now on.  In turn, so that interrupts are not off for long.
	 */
	for (left = pool->nr_active; left && !list_empty(&pool->active); left--) {
		group = ioband_queue_next_active(pool);
		for (stream = &group->own; stream; stream = next_stream(stream))
			suspend_stream(stream, target, requeue, &taken);
		ioband_room_wake(group);
		spin_unlock_irq(&pool->lock);
		cond_resched();
		spin_lock_irq(&pool->lock);
	}
	ioband_queue_dispatch(pool, ktime_get_ns());
	spin_unlock_irq(&pool->lock);
	mutex_unlock(&pool->walk);
	turn_all_away(&taken, BLK_STS_DM_REQUEUE);
}

/**
 * ioband_queue_resume() - bios of a target may be held again
 * @target: that is being resumed
 *
 * Context: Process.
 */
void ioband_queue_resume(struct ioband_target *target)
{
	spin_lock_irq(&target->pool->lock);
	WRITE_ONCE(target->suspended, false);
	spin_unlock_irq(&target->pool->lock);
}
