/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: estimation of the in-flight limit.
 *
 * Pure, like the scheduler.  Explained on top of sched/depth.c.
 */
#ifndef DM_IOBAND_DEPTH_H
#define DM_IOBAND_DEPTH_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define IOBAND_DEPTH_MAX	65535

/* Bounds of the size of splits, powers of two, bytes. */
#define IOBAND_SPLIT_MIN	16384
#define IOBAND_SPLIT_MAX	1048576

/**
 * struct ioband_depth_limit - limits of the bios in flight
 * @ios: number of bios or splits; 1..IOBAND_DEPTH_MAX
 * @split_bytes: size of splits, for larger bios; a power of two
 */
struct ioband_depth_limit {
	u32 ios;
	u32 split_bytes;
};

/*
 * Size of the next split of a bio of which @left bytes are left: up to the next multiple of
 * @split_bytes, a power of two, on the device.  Bits of @at above 32 do not matter.
 */
static inline u32 ioband_depth_split_bytes(u32 split_bytes, u32 at, u32 left)
{
	return min(split_bytes - (at & (split_bytes - 1)), left);
}

/**
 * struct ioband_sample - completions within a period
 * @ns: length, from the last completion before the period to the last one in it
 * @ios: bios and splits completed
 * @bytes: bytes completed
 * @work: sum of ioband_depth_work()
 * @max_bytes: size of the largest bio with a completed part
 * @held_ns: time for which the limit kept bios queued
 * @idle_ns: time for which no bio was in flight
 * @pace_ns: usual time between completions, for 1 KiB of @work
 * @longest_ns: longest excess over the usual time between two completions, with bios in flight
 * @quiet_ns: time from the last completion to the end of the period
 * @peak_ios: most bios and splits in flight
 * @min_ios: see &ioband_core.masked_ios
 * @no_effect: the limit had no effect at times
 */
struct ioband_sample {
	u64 ns;
	u64 ios;
	u64 bytes;
	u64 work;
	u32 max_bytes;
	u64 held_ns;
	u64 idle_ns;
	u64 pace_ns;
	u64 longest_ns;
	u64 quiet_ns;
	u32 peak_ios;
	u32 min_ios;
	bool no_effect;
};

/* Fixed cost of a bio, in bytes; of the order of 100 us at 300 MB/s. */
#define IOBAND_BIO_BYTES	(32U << 10)

/*
 * Contribution of a completion to throughput: its bytes, and the same part of the fixed cost of the
 * bio.  A size of the bio of 0 counts as 1.
 */
static inline u64 ioband_depth_work(u32 bytes, u32 whole_bytes)
{
	if (bytes == whole_bytes)
		return (u64)bytes + IOBAND_BIO_BYTES;
	return bytes + (u64)bytes * IOBAND_BIO_BYTES / (whole_bytes ?: 1);
}

/*
 * Add a completion @gap_ns after the last one; for @busy_ns of it, bios were in flight.  @held_ns:
 * for so long the limit has kept bios queued.
 */
static inline void ioband_depth_count(struct ioband_sample *sample, u32 bytes, u32 whole_bytes,
				      u64 gap_ns, u64 busy_ns, u64 held_ns)
{
	const u64 work = ioband_depth_work(bytes, whole_bytes);
	const u64 usual_ns = work * sample->pace_ns >> 10;

	sample->ios++;
	sample->bytes += bytes;
	sample->work += work;
	if (busy_ns > usual_ns)
		sample->longest_ns = max(sample->longest_ns, busy_ns - usual_ns);
	sample->held_ns += min(held_ns, gap_ns);
	sample->idle_ns += gap_ns - busy_ns;
}

/**
 * enum ioband_try - the rival of the chosen limit in a trial
 * @IOBAND_TRY_MORE: half as much again in flight
 * @IOBAND_TRY_LESS: two thirds in flight
 * @IOBAND_TRY_TRIM: a little less in flight
 * @IOBAND_TRY_LARGER: splits of twice the size
 * @IOBAND_TRY_SMALLER: splits of half the size
 * @IOBAND_TRY_FINER: splits of half the size, half as many again
 * @IOBAND_NR_TRIES: number of kinds
 */
enum ioband_try {
	IOBAND_TRY_MORE,
	IOBAND_TRY_LESS,
	IOBAND_TRY_TRIM,
	IOBAND_TRY_LARGER,
	IOBAND_TRY_SMALLER,
	IOBAND_TRY_FINER,
	IOBAND_NR_TRIES,
};

/**
 * enum ioband_unit - units of throughput
 * @IOBAND_UNIT_BOTH: bytes and I/Os, as in ioband_depth_work()
 * @IOBAND_UNIT_BYTES: bytes
 * @IOBAND_UNIT_IOS: I/Os, each as IOBAND_BIO_BYTES
 * @IOBAND_NR_UNITS: number of units
 */
enum ioband_unit {
	IOBAND_UNIT_BOTH,
	IOBAND_UNIT_BYTES,
	IOBAND_UNIT_IOS,
	IOBAND_NR_UNITS,
};

/**
 * struct ioband_gain - gain of the wider limit, in one unit of throughput
 * @lo_rate: throughput of the last round with the narrower limit
 * @hi_rate: throughput of the last round with the wider limit
 * @lo: sum of the throughputs with the narrower limit
 * @more: sum of the differences to those with the wider limit
 * @last: gain of the last pair of rounds, in 1024ths
 * @sum: sum of the gains of all pairs
 * @squares: sum of their squares
 */
struct ioband_gain {
	u64 lo_rate;
	u64 hi_rate;
	s64 lo;
	s64 more;
	s64 last;
	s64 sum;
	s64 squares;
};

/**
 * struct ioband_trial - comparison of two limits
 * @lo: narrower limit, which isolates better
 * @hi: wider limit, which the device may need; without a trial, its @ios is 0
 * @rounds: finished rounds: lo, hi, hi, lo and so on
 * @pairs: finished pairs of rounds
 * @gains: gain of @hi over @lo, in each unit of throughput
 */
struct ioband_trial {
	struct ioband_depth_limit lo;
	struct ioband_depth_limit hi;
	unsigned int rounds;
	u32 pairs;
	struct ioband_gain gains[IOBAND_NR_UNITS];
};

/**
 * struct ioband_depth - the estimator
 * @limit: limit in force
 * @chosen: limit in force between trials; @lo or @hi of a trial
 * @peak_ios: most bios in flight since the last trial
 * @try: kind of the next trial, or of the present one
 * @found: all kinds of trial have left @chosen unchanged, at least once
 * @stood: kinds of trial since @chosen last changed, as bits
 * @stopped: samples have stopped, and no trial of more or less in flight has ended since
 * @trial: see &struct ioband_trial
 * @round: completions of this round so far
 * @io_bytes: bound on the cost of an I/O, in bytes
 * @io_raised: it was raised, and is not lowered any more
 * @max_bytes: size of the largest bio in the last round
 * @pressed: in the last round, the limit kept bios queued for part of the time, and the
 *	device was hardly ever idle
 * @full: in the last round, the limit kept bios queued most of the time
 * @light_ns: length of the last rounds in which it did not
 * @late_ios: outstanding completions of bios dispatched under another limit
 * @settling: the limit has changed, and no sample has counted since
 * @settled_ns: length of the samples that have not counted
 * @longest_ns: longest excess of late over the usual time between two completions
 * @pace_ns: this time in the last round, for 1 KiB of work
 * @rate: usual throughput with @chosen; 0: not known
 * @odd: consecutive rounds with a throughput far from @rate
 * @phase_ns: length of the trial or the pause so far
 * @pause_ns: length of the pause
 */
struct ioband_depth {
	struct ioband_depth_limit limit;
	struct ioband_depth_limit chosen;
	u32 peak_ios;
	enum ioband_try try;
	bool found;
	unsigned int stood;
	bool stopped;
	struct ioband_trial trial;
	struct ioband_sample round;
	u32 io_bytes;
	bool io_raised;
	u32 max_bytes;
	bool pressed;
	bool full;
	u64 light_ns;
	u64 late_ios;
	bool settling;
	u64 settled_ns;
	u64 longest_ns;
	u64 pace_ns;
	u64 rate;
	unsigned int odd;
	u64 phase_ns;
	u64 pause_ns;
};

void ioband_depth_init(struct ioband_depth *depth);
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample);
void ioband_depth_stop(struct ioband_depth *depth);

/* A sample without completions. */
static inline struct ioband_sample ioband_depth_begin_sample(const struct ioband_depth *depth)
{
	return (struct ioband_sample) { .pace_ns = depth->pace_ns };
}

/* The limit in force may be wider or narrower than the chosen one. */
static inline bool ioband_depth_in_trial(const struct ioband_depth *depth)
{
	return depth->trial.hi.ios;
}

/*
 * Since the chosen limit last changed, or ioband_depth_stop(), a trial of more or less in flight
 * has changed nothing.  A load that stays well below the limit then does not fill the device.
 */
static inline bool ioband_depth_is_settled(const struct ioband_depth *depth)
{
	return !depth->stopped && depth->stood & (BIT(IOBAND_TRY_MORE) | BIT(IOBAND_TRY_LESS));
}

#endif /* DM_IOBAND_DEPTH_H */
