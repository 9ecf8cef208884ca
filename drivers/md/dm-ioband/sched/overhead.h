/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the overhead of the shared state.  Pure, see core.h.
 *
 * In the shared state each bio passes the scheduler under the pool's lock, and a worker may have to
 * submit it.  That takes some 2000 instructions.  A RAM disk needs hardly more for the whole bio,
 * and a fast SSD completes it in the same time.  There the CPUs limit the groups, not the device:
 * the device's queue is empty, so its order does not matter, and the shared state makes all groups
 * slower.  The search for the limit (depth.h) cannot find that out, as the pool is shared with any
 * limit.
 *
 * The rule is that of the search: the open state, which is the widest limit, is worth it if it
 * brings a sixth more throughput.  It must also divide the throughput among the groups as the
 * shared state does.  A trial measures both between two phases of the shared state:
 *
 *	null_blk, 10 us a bio, one CPU, two groups with 64 reads of 4 KiB each
 *	shared   50 ms	87 000 I/Os a second, half of each group
 *	open     90 ms	110 000, half of each group
 *	shared   50 ms	the same as before: the pool is open for IOBAND_OVERHEAD_OPEN_NS, then
 *			there is another trial
 *
 *	So it is with weights 400:100: the queue of a task drains while the other one has the CPU.
 *
 * A trial costs the groups their weights for its open phase.  So there are trials only if nearly
 * all completions come to CPUs that are not idle, within IOBAND_OVERHEAD_GAP_NS of each other, and
 * not in bursts.  In the open state the device may become the limit: of a group that submits more,
 * or larger bios.  So the pool is shared as soon as the throughput falls to that of the shared
 * state, twice as many bios are in flight, or groups have other parts of the throughput.  A trial
 * without success is repeated after IOBAND_OVERHEAD_REST_NS, and later each time; where the states
 * divide the throughput in other ways, after IOBAND_OVERHEAD_REST_MAX_NS.
 *
 * A thread that completes bios never seems idle, so for such a device only the throughput decides.
 */
#ifndef DM_IOBAND_OVERHEAD_H
#define DM_IOBAND_OVERHEAD_H

#include "math.h"

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* The open state has to bring this part of the throughput more. */
#define IOBAND_OVERHEAD_PART	6

/*
 * The part of the throughput, in 1024ths, that may be of other groups than in the shared state: in
 * the trial, and later, when it is measured more often.  Two tasks that share a CPU have slices of
 * it of some milliseconds, so their parts of a phase differ by chance.
 */
#define IOBAND_OVERHEAD_MOVED	(1024 / 8)
#define IOBAND_OVERHEAD_MOVED_LATER	(1024 / 4)

/* Length of a phase of a trial; the open one has two, and each measurement later four. */
#define IOBAND_OVERHEAD_NS	(40 * NSEC_PER_MSEC)

/* For how long a trial opens the pool, and for how long, at first and at most, it does not. */
#define IOBAND_OVERHEAD_OPEN_NS	(5 * NSEC_PER_SEC)
#define IOBAND_OVERHEAD_REST_NS	(8 * NSEC_PER_SEC)
#define IOBAND_OVERHEAD_REST_MAX_NS	(64 * NSEC_PER_SEC)

/* A device with a longer mean time between completions leaves the CPUs time for the scheduler. */
#define IOBAND_OVERHEAD_GAP_NS	(50 * NSEC_PER_USEC)

/* A device with longer times without a completion is throttled in windows. */
#define IOBAND_OVERHEAD_BURST_NS	(5 * NSEC_PER_MSEC)

/* CPUs are busy if at most one completion in so many comes to an idle one, for some ticks. */
#define IOBAND_OVERHEAD_IDLE_PART	8
#define IOBAND_OVERHEAD_TICKS	8

/* Bios in flight that are not many, whatever the trial has seen. */
#define IOBAND_OVERHEAD_FEW	64U

enum ioband_overhead_phase {
	IOBAND_OVERHEAD_NONE,
	IOBAND_OVERHEAD_BEFORE,		/* shared */
	IOBAND_OVERHEAD_OPEN,		/* open */
	IOBAND_OVERHEAD_AFTER,		/* shared again */
	IOBAND_OVERHEAD_FOUND,		/* open: it is faster */
};

/**
 * struct ioband_overhead - trial of the open state
 * @phase: see &enum ioband_overhead_phase
 * @ready: in this phase, bios of the one before are done
 * @from_ns: begin of the measurement
 * @from_work: &ioband_overhead_look.work then
 * @shared_rate: work a second in the shared state, the higher of both phases
 * @open_rate: the same in the open state
 * @peak_ios: most bios in flight in the open phase
 * @rest_ns: time until the next trial, after one without success
 * @until_ns: end of that time, or of the open state
 */
struct ioband_overhead {
	enum ioband_overhead_phase phase;
	bool ready;
	u64 from_ns;
	u64 from_work;
	u64 shared_rate;
	u64 open_rate;
	u32 peak_ios;
	u64 rest_ns;
	u64 until_ns;
};

/**
 * struct ioband_overhead_look - the pool at a tick
 * @now_ns: time
 * @work: work completed so far; see ioband_depth_work(); not used without a trial
 * @moved: part of the throughput, in 1024ths, that is of other groups in one of the two states
 * @inflight_ios: bios queued or in flight, while the pool is open
 * @shared: the pool is in the shared state
 * @possible: several groups are active, and nothing asks for one of the two states
 * @busy: the CPUs limit the groups, as far as is known; while the pool is shared
 * @late: bios of the other state may be in flight
 */
struct ioband_overhead_look {
	u64 now_ns;
	u64 work;
	u32 moved;
	u32 inflight_ios;
	bool shared;
	bool possible;
	bool busy;
	bool late;
};

static inline void ioband_overhead_begin_phase(struct ioband_overhead *overhead,
					       enum ioband_overhead_phase phase)
{
	overhead->phase = phase;
	overhead->ready = false;
}

/* The pool stays shared, and the next trial is later than the last one was. */
static inline void ioband_overhead_rest(struct ioband_overhead *overhead, u64 now_ns)
{
	overhead->rest_ns = clamp_t(u64, 2 * overhead->rest_ns, IOBAND_OVERHEAD_REST_NS,
				    IOBAND_OVERHEAD_REST_MAX_NS);
	overhead->until_ns = now_ns + overhead->rest_ns;
	ioband_overhead_begin_phase(overhead, IOBAND_OVERHEAD_NONE);
}

/* Measure for @ns; return: whether that is over, and @rate is set. */
static inline bool ioband_overhead_measure(struct ioband_overhead *overhead,
					   const struct ioband_overhead_look *look, u64 ns,
					   u64 *rate)
{
	const u64 took_ns = look->now_ns - overhead->from_ns;

	if (!overhead->ready) {
		overhead->ready = !look->late;
		overhead->from_ns = look->now_ns;
		overhead->from_work = look->work;
		return false;
	}
	if (took_ns < ns)
		return false;
	*rate = ioband_mul_div(look->work - overhead->from_work, NSEC_PER_SEC, took_ns);
	overhead->ready = false;
	return true;
}

/* Is the open state better so far?  Then begin the next phase, else rest. */
static inline void ioband_overhead_compare(struct ioband_overhead *overhead,
					   const struct ioband_overhead_look *look,
					   enum ioband_overhead_phase next)
{
	const u64 least = overhead->shared_rate + overhead->shared_rate / IOBAND_OVERHEAD_PART;

	if (look->moved > IOBAND_OVERHEAD_MOVED)
		overhead->rest_ns = IOBAND_OVERHEAD_REST_MAX_NS;
	if (look->moved > IOBAND_OVERHEAD_MOVED || overhead->open_rate <= least)
		ioband_overhead_rest(overhead, look->now_ns);
	else
		ioband_overhead_begin_phase(overhead, next);
}

/* The pool is open because of a trial: is it still faster so, while several groups are active? */
static inline void ioband_overhead_check(struct ioband_overhead *overhead,
					 const struct ioband_overhead_look *look)
{
	const u32 most_ios = 2 * max(overhead->peak_ios, IOBAND_OVERHEAD_FEW);
	u64 rate = U64_MAX;
	bool measured;

	overhead->ready &= look->possible && !look->shared;
	measured = ioband_overhead_measure(overhead, look, 4 * IOBAND_OVERHEAD_NS, &rate);
	if (rate <= overhead->shared_rate || (look->possible && look->inflight_ios > most_ios) ||
	    (measured && look->moved > IOBAND_OVERHEAD_MOVED_LATER))
		ioband_overhead_rest(overhead, look->now_ns);
	else if (look->now_ns >= overhead->until_ns)	/* the next trial may begin */
		ioband_overhead_begin_phase(overhead, IOBAND_OVERHEAD_NONE);
}

/**
 * ioband_overhead_is_measured() - does a trial compare the two states
 * @overhead: state
 *
 * Return: true if so: the search for the limit stops.
 */
static inline bool ioband_overhead_is_measured(const struct ioband_overhead *overhead)
{
	return overhead->phase != IOBAND_OVERHEAD_NONE && overhead->phase != IOBAND_OVERHEAD_FOUND;
}

/* A weight or a limit has changed: the shared state may divide the throughput otherwise now. */
static inline void ioband_overhead_forget(struct ioband_overhead *overhead)
{
	ioband_overhead_begin_phase(overhead, IOBAND_OVERHEAD_NONE);
}

/**
 * ioband_overhead_tick() - account for a tick, which comes every 10 ms or so
 * @overhead: state
 * @look: the pool
 *
 * Return: true if the pool is to be open because the shared state costs throughput.
 */
static inline bool ioband_overhead_tick(struct ioband_overhead *overhead,
					const struct ioband_overhead_look *look)
{
	const bool other = look->shared == (overhead->phase == IOBAND_OVERHEAD_OPEN);
	u64 rate;

	if (ioband_overhead_is_measured(overhead) && (!look->possible || other))
		ioband_overhead_rest(overhead, look->now_ns);
	switch (overhead->phase) {
	case IOBAND_OVERHEAD_NONE:
		if (look->possible && look->shared && look->busy &&
		    look->now_ns >= overhead->until_ns)
			ioband_overhead_begin_phase(overhead, IOBAND_OVERHEAD_BEFORE);
		break;
	case IOBAND_OVERHEAD_BEFORE:
		if (!ioband_overhead_measure(overhead, look, IOBAND_OVERHEAD_NS, &rate))
			break;
		overhead->shared_rate = rate;
		overhead->peak_ios = 0;
		ioband_overhead_begin_phase(overhead, IOBAND_OVERHEAD_OPEN);
		break;
	case IOBAND_OVERHEAD_OPEN:
		overhead->peak_ios = max(overhead->peak_ios, look->inflight_ios);
		if (!ioband_overhead_measure(overhead, look, 2 * IOBAND_OVERHEAD_NS, &rate))
			break;
		overhead->open_rate = rate;
		ioband_overhead_compare(overhead, look, IOBAND_OVERHEAD_AFTER);
		break;
	case IOBAND_OVERHEAD_AFTER:
		if (!ioband_overhead_measure(overhead, look, IOBAND_OVERHEAD_NS, &rate))
			break;
		overhead->shared_rate = max(overhead->shared_rate, rate);
		ioband_overhead_compare(overhead, look, IOBAND_OVERHEAD_FOUND);
		if (overhead->phase != IOBAND_OVERHEAD_FOUND)
			break;
		overhead->rest_ns = 0;
		overhead->until_ns = look->now_ns + IOBAND_OVERHEAD_OPEN_NS;
		break;
	case IOBAND_OVERHEAD_FOUND:
		ioband_overhead_check(overhead, look);
		break;
	}
	return look->possible && (overhead->phase == IOBAND_OVERHEAD_OPEN ||
				  overhead->phase == IOBAND_OVERHEAD_FOUND);
}

/**
 * ioband_overhead_begins() - has a measurement begun
 * @overhead: state
 * @now_ns: time of the last ioband_overhead_tick()
 *
 * Return: true if so: only work from now on counts in &ioband_overhead_look.moved for this state.
 */
static inline bool ioband_overhead_begins(const struct ioband_overhead *overhead, u64 now_ns)
{
	return overhead->phase != IOBAND_OVERHEAD_NONE && overhead->from_ns == now_ns;
}

/**
 * ioband_overhead_opens() - may several groups be open until the next tick
 * @overhead: state
 * @now_ns: time
 *
 * Return: true in the open phase of a trial, and for some seconds after one with success.
 */
static inline bool ioband_overhead_opens(const struct ioband_overhead *overhead, u64 now_ns)
{
	return overhead->phase == IOBAND_OVERHEAD_OPEN ||
	       (overhead->phase == IOBAND_OVERHEAD_FOUND && now_ns < overhead->until_ns);
}

#endif /* DM_IOBAND_OVERHEAD_H */
