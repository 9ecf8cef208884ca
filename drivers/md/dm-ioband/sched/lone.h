/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the limit of a group that is left alone.  Pure, see core.h.
 *
 * A pool does not open at once when one active group is left.  A group with an I/O now and then
 * would find all that the other group submits in the queue of the device, each time.  For
 * IOBAND_LONE_NS the pool stays shared.  Its limit then is what the device completes in 10 ms, if
 * that is more than the estimated limit.  So the next bio of another group waits for 10 ms at most,
 * and the group that is left loses throughput only on a device with a longer latency.  The pool
 * opens at once if this limit keeps no bio queued.
 *
 *	A group with 64 reads of 128 KiB in flight, at 100 MB/s, and one with a read every 60 ms
 *	that has been given ten times the weight: the limit is 8, and the read waits up to 10 ms.
 *	In an open pool it waits for 84 ms.
 *
 * While this limit is in force, no trial of the estimator compares others: it is not the load that
 * needs them.  Otherwise the estimated limit is in force, and trials go on: on a device with a
 * longer latency, and before the first result.  Trials between the I/Os of the other group alone
 * would never end.
 */
#ifndef DM_IOBAND_LONE_H
#define DM_IOBAND_LONE_H

#include "depth.h"
#include "math.h"

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * Time after which the competitors of a group are not expected any more.  In an open pool, a group
 * with an I/O now and then waits for a full queue of the device once in this time at most.
 */
#define IOBAND_LONE_NS		(2 * NSEC_PER_SEC)

/* The limit is what the device completes in this time: the longest wait for another group. */
#define IOBAND_LONE_WAIT_NS	(10 * NSEC_PER_MSEC)

/* The rate of completions is a mean over about this time, several windows of a throttled device. */
#define IOBAND_LONE_MEAN_NS	(80 * NSEC_PER_MSEC)

/* What lone.h keeps of the pool's completions. */
struct ioband_lone {
	u64 ios;			/* bios and splits completed in the last @ns, about */
	u64 ns;				/* 0..IOBAND_LONE_MEAN_NS, about */
	u64 rivals_ns;			/* time when several groups were last active; 0: never */
};

/* The shared state begins, or completions were not counted. */
static inline void ioband_lone_begin(struct ioband_lone *lone)
{
	lone->ios = 0;
	lone->ns = 0;
}

/* Account for a tick of the shared state.  @rivals: several groups are active. */
static inline void ioband_lone_tick(struct ioband_lone *lone, const struct ioband_sample *sample,
				    bool rivals, u64 now_ns)
{
	if (lone->ns >= IOBAND_LONE_MEAN_NS) {
		lone->ios -= lone->ios / 8;
		lone->ns -= lone->ns / 8;
	}
	lone->ios += sample->ios;
	lone->ns += sample->ns;
	if (rivals)
		lone->rivals_ns = now_ns;
}

/* In-flight limit while one group is active, at least @limit_ios, the estimated one. */
static inline u32 ioband_lone_limit(const struct ioband_lone *lone, u32 limit_ios)
{
	const u64 ios = ioband_mul_div(lone->ios, IOBAND_LONE_WAIT_NS, max(lone->ns, 1ULL));

	return max_t(u64, limit_ios, min_t(u64, ios, U32_MAX));
}

/* May the pool open?  @waiting: the limit keeps bios queued, or did so before a trial. */
static inline bool ioband_lone_ends(const struct ioband_lone *lone, bool waiting, u64 now_ns)
{
	return !waiting || !lone->rivals_ns || now_ns >= lone->rivals_ns + IOBAND_LONE_NS;
}

#endif /* DM_IOBAND_LONE_H */
