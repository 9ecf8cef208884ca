/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: how much has to be in flight.
 *
 * Pure, like the scheduler.  Explained on top of dm-ioband-depth.c.
 */
#ifndef DM_IOBAND_DEPTH_H
#define DM_IOBAND_DEPTH_H

#include <linux/types.h>

#define IOBAND_DEPTH_MAX	65535

/**
 * struct ioband_sample - what happened in a stretch of time
 * @ns: its length
 * @ios: bios completed
 * @bytes: their bytes
 * @peak_ios: most bios in flight at a time
 */
struct ioband_sample {
	u64 ns;
	u64 ios;
	u64 bytes;
	u32 peak_ios;
};

/**
 * struct ioband_trial - two limits compete
 * @lo: the lower one
 * @hi: the higher one; 0: no trial is going on
 * @rounds: finished so far: lo, hi, hi, lo and so on
 * @lo_rate: throughput of the last round at @lo
 * @hi_rate: throughput of the last round at @hi
 * @lead: pairs of rounds that spoke for @hi, less those that spoke for @lo
 */
struct ioband_trial {
	u32 lo;
	u32 hi;
	unsigned int rounds;
	u64 lo_rate;
	u64 hi_rate;
	int lead;
};

/**
 * struct ioband_depth - the estimator
 * @limit_ios: how many bios should be in flight at most; 1..IOBAND_DEPTH_MAX
 * @chosen: the limit between trials; in a trial @limit_ios is one of the two
 * @peak_ios: most bios in flight since the last trial
 * @up: the next trial, or this, is of @chosen and a higher limit
 * @found: both directions have been tried without a change, at least once
 * @confirmed: trials in a row that did not change @chosen
 * @trial: see &struct ioband_trial
 * @round: what happened in this round so far
 * @full: in this round, the limit held bios back all the while
 * @late_ios: completions to come of what was sent under another limit
 * @rate: usual throughput at @chosen; 0: not known
 * @odd: rounds in a row that were far from @rate
 * @phase_ns: how long this trial, or the pause, has taken so far
 * @pause_ns: how long the pause is to be
 */
struct ioband_depth {
	u32 limit_ios;
	u32 chosen;
	u32 peak_ios;
	bool up;
	bool found;
	unsigned int confirmed;
	struct ioband_trial trial;
	struct ioband_sample round;
	bool full;
	u64 late_ios;
	u64 rate;
	unsigned int odd;
	u64 phase_ns;
	u64 pause_ns;
};

void ioband_depth_init(struct ioband_depth *depth);
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample,
			 bool full);
void ioband_depth_stop(struct ioband_depth *depth);

/**
 * ioband_depth_in_trial() - is the limit an attempt
 * @depth: estimator
 *
 * Return: true while the limit may be lower, or higher, than it is meant to be.
 */
static inline bool ioband_depth_in_trial(const struct ioband_depth *depth)
{
	return depth->trial.hi;
}

/**
 * ioband_depth_is_settled() - has the limit stood a trial of late
 * @depth: estimator
 *
 * Return: true if the last trial since ioband_depth_stop() changed nothing: a
 * load that stays well below the limit does not fill the device.
 */
static inline bool ioband_depth_is_settled(const struct ioband_depth *depth)
{
	return depth->confirmed;
}

#endif /* DM_IOBAND_DEPTH_H */
