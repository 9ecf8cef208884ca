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

/* Limits of the bios in flight. */
struct ioband_depth_limit {
	u32 ios;			/* number of bios or splits; 1..IOBAND_DEPTH_MAX */
	u32 split_bytes;		/* size of splits, for larger bios; a power of two */
};

/*
 * Size of the next split of a bio of which @left bytes are left: up to the next multiple of
 * @split_bytes, a power of two, on the device.  Bits of @at above 32 do not matter.
 */
static inline u32 ioband_depth_split_bytes(u32 split_bytes, u32 at, u32 left)
{
	return min(split_bytes - (at & (split_bytes - 1)), left);
}

/* Completions within a period. */
struct ioband_sample {
	u64 ns;	/* from the last completion before the period to the last one in it */
	u64 ios;			/* bios and splits completed */
	u64 bytes;			/* bytes completed */
	u64 work;			/* sum of ioband_depth_work() */
	u32 max_bytes;			/* size of the largest bio with a completed part */
	u64 held_ns;			/* time for which the limit kept bios queued */
	u64 idle_ns;			/* time for which no bio was in flight */
	u64 pace_ns;			/* usual time between completions, for 1 KiB of @work */
	u64 longest_ns;	/* longest excess of a time between completions over the usual one */
	u64 quiet_ns;			/* time from the last completion to the end of the period */
	u32 peak_ios;			/* most bios and splits in flight */
	u32 min_ios;
	bool no_effect;			/* the limit had no effect at times */
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

/* The rival of the chosen limit in a trial. */
enum ioband_try {
	IOBAND_TRY_MORE,		/* half as much again in flight */
	IOBAND_TRY_LESS,		/* two thirds in flight */
	IOBAND_TRY_TRIM,		/* a little less in flight */
	IOBAND_TRY_LARGER,		/* splits of twice the size */
	IOBAND_TRY_SMALLER,		/* splits of half the size */
	IOBAND_TRY_FINER,		/* splits of half the size, half as many again */
	IOBAND_NR_TRIES,
};

/* Units of throughput. */
enum ioband_unit {
	IOBAND_UNIT_BOTH,		/* bytes and I/Os, as in ioband_depth_work() */
	IOBAND_UNIT_BYTES,		/* bytes */
	IOBAND_UNIT_IOS,		/* I/Os, each as IOBAND_BIO_BYTES */
	IOBAND_NR_UNITS,
};

/* Gain of the wider limit, in one unit of throughput. */
struct ioband_gain {
	u64 lo_rate;			/* throughput of the last round with the narrower limit */
	u64 hi_rate;			/* throughput of the last round with the wider limit */
	s64 lo;				/* sum of the throughputs with the narrower limit */
	s64 more;			/* sum of the differences to those with the wider limit */
	s64 last;			/* gain of the last pair of rounds, in 1024ths */
	s64 sum;			/* sum of the gains of all pairs */
	s64 squares;			/* sum of their squares */
};

/* Comparison of two limits. */
struct ioband_trial {
	struct ioband_depth_limit lo;	/* narrower limit, which isolates better */
	/* wider limit, which the device may need; @ios 0: no trial */
	struct ioband_depth_limit hi;
	unsigned int rounds;		/* finished rounds: lo, hi, hi, lo and so on */
	u32 pairs;			/* finished pairs of rounds */
	/* of @hi over @lo, in each unit of throughput */
	struct ioband_gain gains[IOBAND_NR_UNITS];
};

/* The estimator. */
struct ioband_depth {
	struct ioband_depth_limit limit;	/* in force */
	struct ioband_depth_limit chosen;	/* in force between trials; @lo or @hi of a trial */
	u32 peak_ios;			/* most bios in flight since the last trial */
	enum ioband_try try;		/* kind of the next trial, or of the present one */
	bool found;		/* all kinds of trial have left @chosen unchanged, at least once */
	unsigned int stood;		/* kinds of trial since @chosen last changed, as bits */
	bool stopped;	/* samples have stopped, and no trial of MORE or LESS has ended since */
	struct ioband_trial trial;
	struct ioband_sample round;	/* completions of this round so far */
	u32 io_bytes;			/* bound on the cost of an I/O, in bytes */
	bool io_raised;			/* it was raised, and is not lowered any more */
	u32 max_bytes;			/* size of the largest bio in the last round */
	/* last round: bios were queued part of the time, and the device hardly idle */
	bool pressed;
	bool full;			/* last round: bios were queued most of the time */
	u64 light_ns;			/* length of the last rounds in which it did not */
	u64 late_ios;		/* outstanding completions of bios dispatched under another limit */
	bool settling;			/* the limit has changed, and no sample has counted since */
	u64 settled_ns;			/* length of the samples that have not counted */
	u64 longest_ns;	/* longest excess of a time between completions over the usual one */
	u64 pace_ns;			/* usual time in the last round, for 1 KiB of work */
	u64 rate;			/* usual throughput with @chosen; 0: not known */
	unsigned int odd;		/* consecutive rounds with a throughput far from @rate */
	u64 phase_ns;			/* length of the trial or the pause so far */
	u64 pause_ns;			/* length of the pause */
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
