/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: how much has to be in flight.
 *
 * Pure, like the scheduler.  Explained on top of sched/depth.c.
 */
#ifndef DM_IOBAND_DEPTH_H
#define DM_IOBAND_DEPTH_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define IOBAND_DEPTH_MAX	65535

/* Sizes of pieces are powers of two between these, bytes. */
#define IOBAND_PIECE_MIN	16384
#define IOBAND_PIECE_MAX	1048576

/**
 * struct ioband_pipe - what may be in flight
 * @ios: how many bios or pieces at most; 1..IOBAND_DEPTH_MAX
 * @piece_bytes: larger bios go in pieces of this size, a power of two
 */
struct ioband_pipe {
	u32 ios;
	u32 piece_bytes;
};

/**
 * ioband_pipe_piece() - size of a piece
 * @piece_bytes: size of the pieces, a power of two
 * @at: where on the device it begins, bytes; those above 32 bits do not matter
 * @left: of the bio, bytes
 *
 * Return: as far as the next multiple of @piece_bytes, or the end of the bio.
 */
static inline u32 ioband_pipe_piece(u32 piece_bytes, u32 at, u32 left)
{
	return min(piece_bytes - (at & (piece_bytes - 1)), left);
}

/**
 * struct ioband_sample - what happened in a stretch of time
 * @ns: its length, from the last completion before it to its last one
 * @ios: bios and pieces completed
 * @bytes: bytes completed
 * @work: what that is worth, see ioband_depth_work()
 * @max_bytes: size of the largest bio of which something completed
 * @held_ios: of @ios, those at whose completion something was held
 * @drained_ios: those after which nothing was held or in flight
 * @peak_ios: most bios and pieces in flight at a time
 */
struct ioband_sample {
	u64 ns;
	u64 ios;
	u64 bytes;
	u64 work;
	u32 max_bytes;
	u64 held_ios;
	u64 drained_ios;
	u32 peak_ios;
};

/* What a bio costs besides its bytes; of the order of 100 us at 300 MB/s. */
#define IOBAND_BIO_BYTES	(32U << 10)

/**
 * ioband_depth_work() - what a completion adds to the throughput
 * @bytes: of the bio or piece
 * @whole_bytes: of the bio; 0 is taken for 1
 *
 * Return: its bytes, and its part of what a bio costs besides.
 */
static inline u64 ioband_depth_work(u32 bytes, u32 whole_bytes)
{
	if (bytes == whole_bytes)
		return (u64)bytes + IOBAND_BIO_BYTES;
	return bytes + (u64)bytes * IOBAND_BIO_BYTES / (whole_bytes ?: 1);
}

/**
 * enum ioband_try - what a trial compares with the chosen pipe
 * @IOBAND_TRY_MORE: half as much again in flight
 * @IOBAND_TRY_LESS: two thirds
 * @IOBAND_TRY_TRIM: a little less
 * @IOBAND_TRY_LARGER: pieces of twice the size
 * @IOBAND_TRY_SMALLER: pieces of half the size
 * @IOBAND_TRY_FINER: pieces of half the size, half as many again
 * @IOBAND_NR_TRIES: how many there are
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
 * enum ioband_yard - what throughput is counted in
 * @IOBAND_YARD_BOTH: bytes and bios, see ioband_depth_work()
 * @IOBAND_YARD_BYTES: bytes
 * @IOBAND_YARD_BIOS: bios
 * @IOBAND_NR_YARDS: how many there are
 */
enum ioband_yard {
	IOBAND_YARD_BOTH,
	IOBAND_YARD_BYTES,
	IOBAND_YARD_BIOS,
	IOBAND_NR_YARDS,
};

/**
 * struct ioband_gain - what the wider pipe had more, by one yard
 * @lo_rate: throughput of the last round at the narrower one
 * @hi_rate: throughput of the last round at the wider one
 * @last: of the last pair of rounds, in 1024ths
 * @sum: of all pairs
 * @squares: the squares of these, summed
 */
struct ioband_gain {
	u64 lo_rate;
	u64 hi_rate;
	s64 last;
	s64 sum;
	s64 squares;
};

/**
 * struct ioband_trial - two pipes compete
 * @lo: the one that isolates better
 * @hi: the one that the device may need; its @ios is 0: no trial is going on
 * @rounds: finished so far: lo, hi, hi, lo and so on
 * @pairs: pairs of rounds finished
 * @gains: what @hi had more than @lo, by each yard
 */
struct ioband_trial {
	struct ioband_pipe lo;
	struct ioband_pipe hi;
	unsigned int rounds;
	u32 pairs;
	struct ioband_gain gains[IOBAND_NR_YARDS];
};

/**
 * struct ioband_depth - the estimator
 * @pipe: what may be in flight now
 * @chosen: the pipe between trials; in a trial @pipe is one of the two
 * @peak_ios: most in flight since the last trial
 * @try: what the next trial, or this, compares @chosen with
 * @found: everything has been tried without a change, at least once
 * @stood: what has been tried since @chosen last changed, a bit for each try
 * @trial: see &struct ioband_trial
 * @round: what happened in this round so far
 * @max_bytes: size of the largest bio in the last round
 * @pressed: in the last round, the limit held something back for part of the time,
 *	and there was always something to do
 * @full: or nearly all of it
 * @late_ios: completions to come of what was sent under another limit
 * @rate: usual throughput at @chosen; 0: not known
 * @odd: rounds in a row that were far from @rate
 * @phase_ns: how long this trial, or the pause, has taken so far
 * @pause_ns: how long the pause is to be
 */
struct ioband_depth {
	struct ioband_pipe pipe;
	struct ioband_pipe chosen;
	u32 peak_ios;
	enum ioband_try try;
	bool found;
	unsigned int stood;
	struct ioband_trial trial;
	struct ioband_sample round;
	u32 max_bytes;
	bool pressed;
	bool full;
	u64 late_ios;
	u64 rate;
	unsigned int odd;
	u64 phase_ns;
	u64 pause_ns;
};

void ioband_depth_init(struct ioband_depth *depth);
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample);
void ioband_depth_stop(struct ioband_depth *depth);

/**
 * ioband_depth_in_trial() - is the limit an attempt
 * @depth: estimator
 *
 * Return: true while the pipe may be narrower, or wider, than it is meant to be.
 */
static inline bool ioband_depth_in_trial(const struct ioband_depth *depth)
{
	return depth->trial.hi.ios;
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
	return depth->stood & (BIT(IOBAND_TRY_MORE) | BIT(IOBAND_TRY_LESS));
}

#endif /* DM_IOBAND_DEPTH_H */
