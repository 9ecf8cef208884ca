// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: completions on their way to the scheduler.
 *
 * A completion frees a slot of the in-flight limit, so the scheduler has to be told, under the
 * pool's lock.  On a fast disk with many CPUs, these calls would take the lock more often than all
 * others.  So a CPU gathers completions, and passes several at once.  Charges are not affected: a
 * bio is charged when it is admitted, under the lock.
 *
 * A gathered completion keeps a slot of the limit empty.
 *
 * A busy CPU passes all of them when it has as many as the quantum.  This is so small that all busy
 * CPUs together have at most a quarter of the bios in flight, as the scheduler counts them.
 * Another bio is outstanding then, and some CPU reaches the quantum before the last one (the
 * pigeonhole principle):
 *
 *	2 CPUs complete bios, 64 are in flight: the quantum is 1 + 64 / (4 * 2) = 9, or 8 as a
 *	power of two.  After 2 * (8 - 1) + 1 = 15 completions at most, one CPU has 8.  It passes
 *	those of both CPUs, and up to 15 bios are admitted under one lock.  The device always has
 *	at least 64 - 14 = 50.
 *
 * The outstanding bios may wait for a worker that does not run, or for a device that hangs.  Then
 * the pool's tick passes the gathered completions.
 *
 * An interrupt may complete many bios, one after the other.  Where the quantum does not allow a
 * completion to wait, it waits until the end of the interrupt: for a tasklet, which follows in any
 * case.  So no other bio has to be outstanding, and an idle CPU gathers too, which may get no other
 * interrupt.  The wait is that in which the interrupt completes other bios, by half of the limit at
 * most:
 *
 *	A CPU idles, 64 bios are in flight, an interrupt completes 5 of them.  The tasklet passes
 *	these under one lock.  If it completes 40, 31 are passed with the 32nd, and 8 at the end.
 *
 * Each completion is passed at once:
 *
 * - outside of an interrupt, on an idle CPU, or where a slot would stay empty for more than
 *   IOBAND_GATHER_NS.  (If a thread handles the interrupt, as with PREEMPT_RT, no CPU seems idle,
 *   and no completion is in an interrupt.)
 * - on a device with more than IOBAND_BURST_NS between completions: where only the device takes
 *   time, the order of events is that of the device;
 * - with slices, a minimum or a latency target, which depend on the moment of a completion.
 *
 * Every bio that takes the lock to be admitted, and each tick, passes what all CPUs have gathered.
 * So the decision for that bio is the same as without gathering.
 */
#include "gather.h"

#include "dispatch.h"
#include "state.h"
#include "stats.h"

#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>

/* Most completions that a CPU gathers, a power of two: as many as a batch of arrivals. */
#define IOBAND_GATHER_MAX	32

/*
 * Longest mean time for which a slot stays empty.  A device with a longer time between completions
 * needs little CPU time.
 */
#define IOBAND_GATHER_NS	(500 * NSEC_PER_USEC)

/* A device with a longer mean time between completions seldom has two of them in an interrupt. */
#define IOBAND_BURST_NS	(100 * NSEC_PER_USEC)

/* Completions that a CPU has gathered. */
struct ioband_ring {
	struct ioband_pool *pool;	/* the pool */
	struct tasklet_struct end;	/* passes them at the end of an interrupt */
	struct list_head joined;	/* in &ioband_pool.gather_cpus; under the pool's lock */
	bool may;			/* in that list; written under the pool's lock */
	bool busy;	/* the CPU may gather while it is busy; written under the pool's lock */
	u32 head;			/* passed to the core; written under the pool's lock */
	/* gathered; written by the CPU, with interrupts off */
	u32 tail ____cacheline_aligned_in_smp;
	struct ioband_done done[IOBAND_GATHER_MAX];	/* from @head to @tail */
};

/* A completion while discards are in flight, or of a discard: it is no sample of the device. */
static void note_beside(struct ioband_pool *pool, const struct ioband_done *done)
{
	if (!done->bill.no_data)
		pool->lost.beside += ioband_cost_done(pool->measure, done->bill.bytes,
						      done->whole_bytes);
}

/* Pass a completion to the core.  Under the pool's lock; the caller dispatches. */
static void account(struct ioband_pool *pool, const struct ioband_done *done)
{
	u64 gap_ns, busy_ns, held_ns;

	/* The pool's tick acts on the latency. */
	if (unlikely(pool->core.nr_latencies) && done->latency_ns && done->bill.awaited)
		ioband_latency_sample(&done->stream->leaf, done->bill.dir, done->latency_ns);
	ioband_core_complete_one(&pool->core, &done->stream->leaf, &done->bill, done->now_ns);
	if (unlikely(done->bill.swap))
		done->member->stall_dev.extra_ios--;
	if (unlikely(ioband_stall_complete(&done->member->stall_dev, &pool->stall, done->now_ns)))
		ioband_state_apply(pool, done->now_ns);
	if (unlikely(done->bill.no_data || pool->lost.inflight)) {
		note_beside(pool, done);
		return;
	}
	pool->idle_ios += done->idle;
	gap_ns = done->now_ns > pool->done_ns ? done->now_ns - pool->done_ns : 0;
	busy_ns = ioband_core_busy_ns(&pool->core, pool->done_ns, done->now_ns);
	pool->done_ns += gap_ns;
	if (done->splittable)
		pool->sample.max_bytes = max(pool->sample.max_bytes, done->whole_bytes);
	held_ns = ioband_core_held_ns(&pool->core, done->now_ns);
	ioband_depth_count(&pool->sample, done->bill.bytes, done->whole_bytes, gap_ns, busy_ns,
			   held_ns);
}

/* Dispatch if bios are queued; the timer of a maximum is updated then. */
static void dispatch_queued(struct ioband_pool *pool, u64 now_ns)
{
	if (ioband_core_has_waiting(&pool->core) || pool->held_ios ||
	    unlikely(!bio_list_empty(&pool->discards)))
		ioband_dispatch(pool, now_ns);
}

/* A quantum of about @ios: it seldom changes, so that the other CPUs keep it in their caches. */
static u32 quantum_of(u64 ios)
{
	return ios ? rounddown_pow_of_two(min_t(u64, ios, IOBAND_GATHER_MAX)) : 0;
}

/* Set the quanta, see above; 0: no CPU gathers.  Under the pool's lock.  Return: is one smaller? */
static bool set_quanta(struct ioband_pool *pool)
{
	const struct ioband_core *core = &pool->core;
	const u32 cpus = pool->nr_gather_cpus, before = pool->quantum;
	const u64 part = 1 + ioband_dispatch_inflight(pool) / (4ULL * max(cpus, 1U));
	u32 quantum = 0, burst = 0;

	if (pool->state == IOBAND_SHARED && !core->slice_ns && !ioband_core_has_guarantees(core)) {
		if (cpus)
			quantum = quantum_of(min(part, div64_u64(IOBAND_GATHER_NS,
								 cpus * core->gap_ns + 1)));
		if (core->gap_ns < IOBAND_BURST_NS)
			burst = quantum_of(2 * part);
	}
	if (burst != pool->burst)
		WRITE_ONCE(pool->burst, burst);
	if (quantum == before)
		return false;
	WRITE_ONCE(pool->quantum, quantum);
	smp_mb();	/* pairs with ioband_gather_end() */
	return quantum < before;
}

/*
 * Pass what a CPU has gathered to the core.  @newest_ns: time of the latest so far.  Under the
 * pool's lock.  Return: how many there were.
 */
static u32 pass(struct ioband_pool *pool, struct ioband_ring *ring, u64 *newest_ns)
{
	const u32 tail = smp_load_acquire(&ring->tail);	/* pairs with ioband_gather_end() */
	const u32 head = ring->head;
	u32 at;

	if (head == tail)
		return 0;
	for (at = head; at != tail; at++) {
		const struct ioband_done *done = &ring->done[at % IOBAND_GATHER_MAX];

		account(pool, done);
		*newest_ns = max(*newest_ns, done->now_ns);
		ioband_stats_unpin_io(done->stats, done->op);
	}
	smp_store_release(&ring->head, tail);	/* pairs with ioband_gather_end() */
	return tail - head;
}

/*
 * Pass what all CPUs have gathered to the core, and set the quanta.  A CPU that has not seen a
 * smaller quantum yet may add a completion after its ring was read.  So the rings are read again.
 * (Completions added until the end of an interrupt are passed there.)  Under the pool's lock.
 * Return: how many there were.
 */
static u32 pass_all(struct ioband_pool *pool)
{
	struct ioband_ring *ring;
	u64 newest_ns = 0;
	u32 passed, all = 0;

	do {
		passed = 0;
		list_for_each_entry(ring, &pool->gather_cpus, joined)
			passed += pass(pool, ring, &newest_ns);
		if (passed)
			ioband_core_learn_gap(&pool->core, passed, newest_ns);
		all += passed;
	} while (set_quanta(pool));
	return all;
}

/* May a CPU gather as many completions as @count, until it has the quantum? */
static bool may_wait(const struct ioband_pool *pool, const struct ioband_ring *ring, u32 count)
{
	return READ_ONCE(ring->busy) && count < READ_ONCE(pool->quantum) && !is_idle_task(current);
}

/* May it until the end of the interrupt? */
static bool may_burst(const struct ioband_pool *pool, const struct ioband_ring *ring, u32 count)
{
	return READ_ONCE(ring->may) && count < READ_ONCE(pool->burst) && in_hardirq();
}

/* A CPU, which is @busy now, may gather completions until the next tick.  Under the pool's lock. */
static void join(struct ioband_pool *pool, struct ioband_ring *ring, bool busy)
{
	if (!ring->may) {
		list_add_tail(&ring->joined, &pool->gather_cpus);
		WRITE_ONCE(ring->may, true);
	}
	if (busy && !ring->busy) {
		pool->nr_gather_cpus++;
		WRITE_ONCE(ring->busy, true);
	}
}

/* Pass what a CPU and the others have gathered, and dispatch. */
static void pass_late(struct ioband_pool *pool, struct ioband_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	join(pool, ring, false);	/* the tick may have taken it off the list */
	if (pass_all(pool))
		dispatch_queued(pool, ktime_get_ns());
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* An interrupt has ended in which bios completed. */
static void end_interrupt(struct tasklet_struct *end)
{
	struct ioband_ring *ring = container_of(end, struct ioband_ring, end);

	if (READ_ONCE(ring->head) != READ_ONCE(ring->tail))
		pass_late(ring->pool, ring);
}

/* Return: 0 or -ENOMEM. */
int ioband_gather_init_pool(struct ioband_pool *pool)
{
	int cpu;

	pool->rings = alloc_percpu(struct ioband_ring);
	if (!pool->rings)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct ioband_ring *ring = per_cpu_ptr(pool->rings, cpu);

		ring->pool = pool;
		tasklet_setup(&ring->end, end_interrupt);
	}
	INIT_LIST_HEAD(&pool->gather_cpus);
	return 0;
}

/* The pool has no bios. */
void ioband_gather_exit_pool(struct ioband_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(pool->rings, cpu)->end);
	free_percpu(pool->rings);
}

/**
 * ioband_gather_begin() - gather the completion of a whole bio, if this CPU may
 * @pool: pool
 * @flags: set to the interrupt flags
 *
 * Return: NULL if the caller passes the completion; otherwise the caller describes it there, and
 * calls ioband_gather_end().  Interrupts are off until then.  The completion is passed later, and
 * the counters unpinned.
 */
struct ioband_done *ioband_gather_begin(struct ioband_pool *pool, unsigned long *flags)
{
	struct ioband_ring *ring;
	u32 tail, count;

	if (!READ_ONCE(pool->quantum) && !READ_ONCE(pool->burst))
		return NULL;
	local_irq_save(*flags);
	ring = this_cpu_ptr(pool->rings);
	tail = ring->tail;
	count = tail - smp_load_acquire(&ring->head) + 1;	/* pairs with pass() */
	if (may_wait(pool, ring, count) || may_burst(pool, ring, count))
		return &ring->done[tail % IOBAND_GATHER_MAX];
	local_irq_restore(*flags);
	return NULL;
}

/**
 * ioband_gather_end() - gather the completion that ioband_gather_begin() has returned
 * @pool: pool
 * @flags: interrupt flags
 *
 * If the CPU may not gather it any more, the ring is passed at once.  Otherwise it is read again,
 * see pass_all().
 */
void ioband_gather_end(struct ioband_pool *pool, unsigned long flags)
{
	struct ioband_ring *ring = this_cpu_ptr(pool->rings);
	const u32 tail = ring->tail + 1, count = tail - READ_ONCE(ring->head);
	bool late = false;

	smp_store_release(&ring->tail, tail);	/* pairs with pass() */
	smp_mb();	/* pairs with set_quanta() and ioband_gather_tick() */
	if (!may_wait(pool, ring, count)) {
		late = !may_burst(pool, ring, count);
		if (likely(!late))
			tasklet_schedule(&ring->end);
	}
	local_irq_restore(flags);
	if (unlikely(late))
		pass_late(pool, ring);
}

/* Pass all gathered completions to the core, and dispatch.  Under the pool's lock. */
void ioband_gather_pass(struct ioband_pool *pool, u64 now_ns)
{
	lockdep_assert_held(&pool->lock);
	if ((pool->quantum || pool->burst) && pass_all(pool))
		dispatch_queued(pool, now_ns);
}

/* Pass a completion and all that are gathered to the core, and dispatch.  Under the pool's lock. */
void ioband_gather_pass_with(struct ioband_pool *pool, const struct ioband_done *done)
{
	const bool busy = !is_idle_task(current);

	lockdep_assert_held(&pool->lock);
	if (busy || pool->burst)
		join(pool, this_cpu_ptr(pool->rings), busy);
	pass_all(pool);
	if (likely(!done->bill.no_data))
		ioband_core_learn_gap(&pool->core, 1, done->now_ns);
	account(pool, done);
	dispatch_queued(pool, done->now_ns);
}

/*
 * In the shared state: pass gathered completions, and find out anew which CPUs are busy.  Under the
 * pool's lock.
 */
void ioband_gather_tick(struct ioband_pool *pool, u64 now_ns)
{
	struct ioband_ring *ring, *next;

	list_for_each_entry(ring, &pool->gather_cpus, joined) {
		WRITE_ONCE(ring->may, false);
		WRITE_ONCE(ring->busy, false);
	}
	pool->nr_gather_cpus = 0;
	smp_mb();	/* pairs with ioband_gather_end() */
	ioband_gather_pass(pool, now_ns);
	list_for_each_entry_safe(ring, next, &pool->gather_cpus, joined)
		list_del(&ring->joined);
	if (pool->idle_ios * (u64)IOBAND_OVERHEAD_IDLE_PART > pool->sample.ios)
		pool->busy_ticks = 0;
	else if (pool->sample.ios && pool->busy_ticks < IOBAND_OVERHEAD_TICKS)
		pool->busy_ticks++;
	pool->idle_ios = 0;
}

/* Pass gathered completions, as a mapped device is freed.  Under the pool's lock. */
void ioband_gather_pass_any(struct ioband_pool *pool)
{
	u64 newest_ns = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		pass(pool, per_cpu_ptr(pool->rings, cpu), &newest_ns);
	dispatch_queued(pool, ktime_get_ns());
}
