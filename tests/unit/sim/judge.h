/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How good the scheduler is with a load.
 *
 * The load is simulated twice with the same dice: *ours* is with the scheduler, *none*
 * is without, where all goes down as it comes.  After a time to settle comes the window
 * in which is counted.  Besides, for each leaf by itself on the device, without control:
 * *alone*, its own load; and *most*, I/Os of its kind (sizes, reads and writes, places)
 * with 256 outstanding and no think time, which saturate the device.  None of these
 * knows a heuristic of the scheduler's.
 *
 * Utilisation: the sum over the leaves of what each got divided by its most, both counted
 * in I/Os (of one in pieces, a piece counts for its part).  It is the part of the device's
 * time that was used, whichever leaf was served.  Judged is that of ours by that of none.
 * Service that none gives a leaf beyond its maximum does not count.  Not judged beside a
 * latency target, which is there to hold others back.
 *
 * Share: the service of a leaf divided by its due.  Due is its weighted max-min share, by levels
 * (oracle.h), of all service in ours, in the unit that is shared: bytes, I/Os, or the disk's
 * time.  A leaf's high is its service alone, or its maximum if that is less; its low is
 * its minimum.  Its service may be one grain short: its largest I/O; with slices, its service
 * in one if that is more.  Of a mixture of sizes counts what so many of its I/Os are
 * on average if that is more: dice are not the scheduler's.  Where leaves rest by turns,
 * the window is cut wherever a leaf begins or ends to rest; in each part a leaf that rests has
 * a high of 0, and dues add up.  Not judged beside a latency target, or a device that stalls.
 * A load is judged by its worst leaf; leaves that had four I/Os or more outstanding on
 * average (*deep*) apart from the others (*synchronous*).
 *
 *	line of 100 MB/s; a (100) 64K*16; b (100) 64K*16; c (200) 4K*1 think=1900us
 *	c has an I/O of 41 us, 100 us beside the pipe, and thinks for 1900 us: alone it gets
 *	2.0 MB/s.  Of 100 MB/s c is due 2.0, and a and b 49.0 each.  If c's I/Os wait
 *	for two of 64 KiB, 1.3 ms, it gets 1.2 MB/s, a share of 0.61; a and b get 49.4.
 *	Most is 100 MB/s for each kind, so the utilisation is 1.0, and so is that of none.
 *	Without c, and with one I/O in flight at a time, the pipe rests for 100 us after each
 *	655 us: 87 MB/s, a utilisation of 0.87, of which a and b have their shares.
 *
 * The newcomer, if there is one, begins at the end of the window.  Its first I/O may take the
 * time that it takes alone and one largest I/O of each other leaf, at their most; with slices
 * one slice of each.  Its lag is the delay after which it gets at least four fifths of its
 * share: the least T such that at all times t since it began it has got 0.8 * due * (t - T)
 * less a grain, with its due in the second half of its time (as in latency-rate servers).
 *
 * Idle: time in which something was held, not by a maximum, and nothing was in flight; and
 * of that, the time that was not kept for a leaf that is expected back, or for a latency target:
 * which must be 0.  Over: by how many I/Os the number in flight exceeded the limit at an admission.
 * Not judged beside a minimum, which has a limit of its own.
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include "load.h"

#define JUDGE_NONE	-1.0	/* not judged */

struct judge_leaf {
	double got;		/* in the window, in the unit that is shared */
	double due;
	double alone;		/* with its maximum */
	double share;		/* or JUDGE_NONE */
	double outstanding;	/* on average */
	double ours_ios;
	double none_ios;
	double most_ios;
};

/* The ratios, and the lag, may be JUDGE_NONE. */
struct verdict {
	double used;		/* utilisation, by that of none */
	double deep;		/* share of the worst deep leaf */
	double synchronous;	/* and of the worst other */
	double first;		/* time of the newcomer's first I/O, by its bound */
	double none_first;	/* the same of none */
	double lag_ns;
	double idle;		/* of the window */
	u64 idle_ns;		/* for nothing */
	u32 over_ios;
	u64 window_ns;
	struct ioband_depth_limit limit;	/* at the end of the window */
	struct judge_leaf leaves[LOAD_ENTS];
};

/* Ours is with @control, as a rule SIM_AUTO; @fixed is for SIM_FIXED, else NULL. */
void judge(const struct load *load, enum sim_control control,
	   const struct ioband_depth_limit *fixed, struct verdict *verdict);

#endif /* SIM_JUDGE_H */
