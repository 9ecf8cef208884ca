// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how much has to be in flight.
 *
 * A device reaches its full throughput with a certain number of bios in flight.
 * Fewer, and it idles; more, and the rest stands in the device's own queue,
 * where we cannot order it.  That number follows from nothing that is seen from
 * above: rate times unloaded latency (Little's law; TCP BBR does so) is right
 * for a pipe, too small for flash with channels that are hit at random, and
 * means nothing for a disk that is the faster the more it can choose from.  So
 * it is found by trying, and the rule is:
 *
 *	More in flight is worth it while half as much again brings
 *	IOBAND_DEPTH_GAIN_PCT more throughput.
 *
 * A trial compares two limits, one of them the chosen one, the other half as
 * high again, or two thirds.  Each is in force for a round of some completions,
 * in the order lo hi, hi lo, lo hi..., so that what drifts meanwhile cancels.
 * Each pair of rounds is a vote: for hi if it had IOBAND_DEPTH_GAIN_PCT more
 * throughput, else for lo.  IOBAND_TRIAL_LEAD votes ahead, a limit has won.
 * Where the difference is clear that takes three pairs, some 100 ms; where
 * noise hides it, longer, and then little is lost by being wrong.  If nobody
 * has won after IOBAND_TRIAL_PAIRS the lower limit has: it isolates better.
 *
 *	Line of 100 MB/s and 100 us, bios of 64 KiB.  One in flight completes
 *	86.8 MB/s, two 100, three 100.  The limit is 1: trial (1, 2), 15 %
 *	more, so 2.  Trial (2, 3): nothing, stay.  Trial (1, 2): stay.
 *
 *	Flash of 7 channels, each a 4-KiB page in 150 us, hit at random:
 *	at 16 in flight 132 MB/s, 24: 147, 36: 152, 54: 153.  (16, 24): 11 %;
 *	(24, 36): 3 %; (36, 54): nothing.  It stays at 36, where the product
 *	of Little's law would have said 7.
 *
 * A winner is followed by a trial in the same direction, at once; a trial that
 * changes nothing, by one in the other.  When both have changed nothing, trials
 * pause, for IOBAND_PAUSE_MIN_NS first and longer each time.  A trial downwards
 * costs up to a third of the throughput for half of its length; so pauses last
 * up to eight times as long as the trial, or IOBAND_PAUSE_MAX_NS.  When the
 * throughput changes by itself in a pause (another load, another speed), the
 * pause is over.  Before the limit has been found for the first time,
 * IOBAND_TRIAL_LEAD_FIRST votes do.
 *
 * Throughput counts bytes, and each bio as IOBAND_BIO_BYTES more: devices have
 * a cost of either kind.  With bios of one size any mixture gives the same
 * percentages; with several, rounds differ by the sizes that happened to be in
 * them, and so the less.
 *
 * Light loads.  In a trial downwards the lower limit is two thirds of what was
 * really in flight.  If it does not hold bios back all the while, or if it does
 * and costs throughput, while the chosen one never held any back, the device
 * is not full.  The limit is then twice what was in flight: out of the way of
 * the load, and still there when it grows.  A load that fills the device is as
 * fast under the lower limit, and gets that.
 */
#include "dm-ioband-depth.h"

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* What half as much again in flight has to bring, per cent of throughput. */
#define IOBAND_DEPTH_GAIN_PCT	2

/* Before anything is known: little, for it grows fast and shrinks no slower. */
#define IOBAND_DEPTH_FIRST	4

/* What a bio costs besides its bytes; of the order of 100 us at 300 MB/s. */
#define IOBAND_BIO_BYTES	(32U << 10)

/*
 * A round: enough for the mean of random service times, and twice what is in
 * flight.  However slow the device, it ends, so that a stall does not last.
 */
#define IOBAND_ROUND_IOS	16U
#define IOBAND_ROUND_MAX_NS	(500 * NSEC_PER_MSEC)

/* Votes ahead that decide, and pairs after which it is left. */
#define IOBAND_TRIAL_LEAD	3
#define IOBAND_TRIAL_LEAD_FIRST	2
#define IOBAND_TRIAL_PAIRS	32

#define IOBAND_PAUSE_MIN_NS	(100 * NSEC_PER_MSEC)
#define IOBAND_PAUSE_MAX_NS	(4 * NSEC_PER_SEC)
#define IOBAND_PAUSE_TRIALS	8

/* Rounds in a row, a quarter faster or slower than usual: things have changed. */
#define IOBAND_ODD_ROUNDS	3

/**
 * ioband_depth_init() - start with nothing known
 * @depth: to initialise
 */
void ioband_depth_init(struct ioband_depth *depth)
{
	*depth = (struct ioband_depth) {
		.limit_ios = IOBAND_DEPTH_FIRST,
		.chosen = IOBAND_DEPTH_FIRST,
		.up = true,
		.full = true,
	};
}

/* What is in flight was sent under the old limit: its completions do not count. */
static void depth_set_limit(struct ioband_depth *depth, u32 limit)
{
	if (limit != depth->limit_ios)
		depth->late_ios = depth->round.peak_ios;
	depth->limit_ios = limit;
}

/* Back to a pause, with a limit that may be new. */
static void depth_rest(struct ioband_depth *depth, u32 limit)
{
	depth->trial = (struct ioband_trial) {};
	depth->chosen = limit;
	depth->peak_ios = 0;
	depth->rate = 0;
	depth->odd = 0;
	depth->phase_ns = 0;
	depth_set_limit(depth, limit);
}

/* A trial has found a better limit: on in that direction, at once. */
static void depth_move(struct ioband_depth *depth, u32 limit)
{
	depth->confirmed = 0;
	depth->pause_ns = 0;
	depth_rest(depth, limit);
}

/* Twice what is in flight if the limit never came into it. */
static u32 depth_spare(const struct ioband_depth *depth)
{
	if (depth->up || depth->peak_ios >= depth->chosen)
		return depth->chosen;
	return depth->peak_ios ? min_t(u32, 2 * depth->peak_ios, IOBAND_DEPTH_MAX) : 1;
}

/* A trial has found nothing better: now the other direction, in a while. */
static void depth_stay(struct ioband_depth *depth)
{
	const u64 longest_ns = max_t(u64, IOBAND_PAUSE_MAX_NS,
				     IOBAND_PAUSE_TRIALS * depth->phase_ns);
	const u64 pause_ns = max_t(u64, IOBAND_PAUSE_MIN_NS, 2 * depth->pause_ns);

	if (++depth->confirmed >= 2) {
		depth->found = true;
		depth->pause_ns = min(pause_ns, longest_ns);
	}
	depth_rest(depth, depth_spare(depth));
	depth->up = !depth->up;
}

static u32 half_more(u32 limit)
{
	return min_t(u32, limit + (limit + 1) / 2, IOBAND_DEPTH_MAX);
}

/* Two thirds, and at least one less; 0 if there is no lower limit. */
static u32 third_less(u32 limit)
{
	return limit < 2 ? 0 : limit * 2 / 3;
}

static void depth_start_trial(struct ioband_depth *depth)
{
	struct ioband_trial *trial = &depth->trial;

	depth->phase_ns = 0;
	if (depth->peak_ios < depth->chosen)	/* then it is not too low */
		depth->up = false;
	if (depth->up) {
		trial->lo = depth->chosen;
		trial->hi = half_more(depth->chosen);
	} else {
		trial->lo = third_less(min(depth->chosen, depth->peak_ios));
		trial->hi = depth->chosen;
	}
	if (!trial->lo || trial->lo == trial->hi)	/* there is no other limit */
		depth_stay(depth);
	else
		depth_set_limit(depth, trial->lo);
}

static bool trial_is_at_hi(const struct ioband_trial *trial)
{
	return (trial->rounds + 1) / 2 % 2;
}

/* Count a vote, and see who has won. */
static void depth_end_pair(struct ioband_depth *depth)
{
	const int enough = depth->found ? IOBAND_TRIAL_LEAD : IOBAND_TRIAL_LEAD_FIRST;
	struct ioband_trial *trial = &depth->trial;
	bool hi_won;

	if (trial->hi_rate * 100 > trial->lo_rate * (100 + IOBAND_DEPTH_GAIN_PCT))
		trial->lead++;
	else
		trial->lead--;

	if (trial->lead < enough && trial->lead > -enough &&
	    trial->rounds < 2 * IOBAND_TRIAL_PAIRS)
		return;
	hi_won = trial->lead >= enough;
	if (depth->up == hi_won)
		depth_move(depth, depth->up ? trial->hi : trial->lo);
	else
		depth_stay(depth);
}

static void depth_end_trial_round(struct ioband_depth *depth, u64 rate)
{
	struct ioband_trial *trial = &depth->trial;

	if (trial_is_at_hi(trial)) {
		trial->hi_rate = rate;
	} else if (depth->up || depth->full) {
		trial->lo_rate = rate;
	} else {		/* even less would do: nothing to be seen */
		depth_stay(depth);
		return;
	}
	if (++trial->rounds % 2 == 0)
		depth_end_pair(depth);
	if (ioband_depth_in_trial(depth))
		depth_set_limit(depth, trial_is_at_hi(trial) ? trial->hi : trial->lo);
}

/* Have the device or the load changed?  Only a full device can tell. */
static bool depth_has_changed(struct ioband_depth *depth, u64 rate)
{
	const u64 off = max(rate, depth->rate) - min(rate, depth->rate);

	if (!depth->full) {
		depth->odd = 0;
	} else if (!depth->rate) {
		depth->rate = rate;
	} else if (off <= depth->rate / 4) {
		depth->rate = (3 * depth->rate + rate) / 4;
		depth->odd = 0;
	} else {
		depth->odd++;
	}
	return depth->odd >= IOBAND_ODD_ROUNDS;
}

static void depth_end_pause_round(struct ioband_depth *depth, u64 rate)
{
	depth->peak_ios = max(depth->peak_ios, depth->round.peak_ios);
	if (depth_has_changed(depth, rate)) {
		depth->up = true;
		depth->confirmed = 0;
		depth->pause_ns = 0;
	}
	if (depth->phase_ns >= depth->pause_ns)
		depth_start_trial(depth);
}

/* Bytes a millisecond; a millionth of a second is less than any round takes. */
static u64 round_rate(const struct ioband_sample *round)
{
	return mul_u64_u64_div_u64(round->bytes + round->ios * IOBAND_BIO_BYTES, NSEC_PER_MSEC,
				   max_t(u64, round->ns, NSEC_PER_USEC));
}

static bool round_is_over(const struct ioband_depth *depth)
{
	const struct ioband_sample *round = &depth->round;
	const u32 used = min(depth->limit_ios, round->peak_ios);

	return round->ios >= max_t(u64, IOBAND_ROUND_IOS, 2 * used) ||
	       (round->ios && round->ns >= IOBAND_ROUND_MAX_NS);
}

/**
 * ioband_depth_sample() - learn from what happened
 * @depth: estimator
 * @sample: since the last call
 * @full: all the while the limit held bios back
 *
 * To be called every 10 ms or so while several groups have something to do.
 *
 * Return: true when the limit has changed.
 */
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample,
			 bool full)
{
	const u32 limit = depth->limit_ios;

	if (depth->late_ios) {
		depth->late_ios -= min(depth->late_ios, sample->ios);
		return false;
	}
	depth->round.ns += sample->ns;
	depth->round.ios += sample->ios;
	depth->round.bytes += sample->bytes;
	depth->round.peak_ios = max(depth->round.peak_ios, sample->peak_ios);
	depth->full &= full;
	if (!round_is_over(depth))
		return false;

	depth->phase_ns += depth->round.ns;
	if (ioband_depth_in_trial(depth))
		depth_end_trial_round(depth, round_rate(&depth->round));
	else
		depth_end_pause_round(depth, round_rate(&depth->round));
	depth->round = (struct ioband_sample) {};
	depth->full = true;
	return depth->limit_ios != limit;
}

/**
 * ioband_depth_stop() - there will be no samples for a while
 * @depth: estimator
 *
 * A trial is left, the limit is the chosen one again; when there are samples
 * again, it is soon tried.
 */
void ioband_depth_stop(struct ioband_depth *depth)
{
	depth_move(depth, depth->chosen);
	depth->round = (struct ioband_sample) {};
	depth->full = true;
}
