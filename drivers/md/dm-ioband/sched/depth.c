// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how much has to be in flight, and in what pieces.
 *
 * A device reaches its full throughput with a certain number of bios in flight.
 * Fewer, and it idles; more, and the rest stands in the device's own queue,
 * where we cannot order it.  That number follows from nothing that is seen from
 * above: rate times unloaded latency (Little's law; TCP BBR does so) is right
 * for a pipe, too small for flash with channels that are hit at random, and
 * means nothing for a disk that is the faster the more it can choose from.  Nor
 * does it say how large a bio should be: one that waits behind a large one waits
 * for all of it, so large bios had better go in pieces; but where each I/O costs
 * as much whatever its size, as on a volume with a cap on I/Os, pieces cost
 * throughput.  So both are found by trying.  A *pipe* is so many bios or pieces,
 * and the size of the pieces, and the rule is:
 *
 *	A wider pipe, with more in flight or larger pieces, is worth it while it
 *	brings some per cent more throughput.
 *
 * A trial compares two pipes, one of them the chosen one, the other wider or
 * narrower (see &enum ioband_try): half as much again in flight, two thirds, a
 * little less; pieces of twice the size, of half, and of half but half as many
 * again, for where it is the bytes in flight that count.  Each is in force for a
 * round of some completions, in the order lo hi, hi lo, lo hi..., so that what
 * drifts meanwhile cancels.  What hi, the wider one, had more than lo in each pair
 * of rounds is compared with what is wanted of it, gain_wanted(): when the mean is
 * some standard errors away, t_squared(), hi has won, or lo.  Where the difference is
 * clear that takes three pairs, some 100 ms; where noise hides it, longer.  If
 * that has not happened after IOBAND_TRIAL_PAIRS, nothing is changed.
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
 *	The laboratory's SATA SSD, 515 MB/s, with 15 readers of 128 KiB and one of
 *	4 KiB, who gets x MB/s (S5):
 *	whole: 4 in flight 515 (x 5.3), 3: 515 (7.9), 2: 409 (12.4), so 3;
 *	64 KiB: 3 in flight 507 (12.6), 1.7 % less, 32 KiB: 472 (16.9), too much
 *	less, but 5 of 32 KiB 515 (11.5), 8 of 16 KiB 515 (11.6), then fewer: 5 of
 *	16 KiB 511 (15.8), 4: 458.  It stays at 5 of 16 KiB, 80 KiB in flight
 *	where it began with 512.
 *
 *	A volume of 3000 I/Os a second: 128 KiB whole 393 MB/s, in pieces of 64 KiB
 *	197.  It stays with whole ones.
 *
 * A winner is followed by a trial of the same kind, at once; a trial that changes
 * nothing, by one of the next kind.  When all have changed nothing, trials pause,
 * for IOBAND_PAUSE_MIN_NS first and longer each time.  A trial of a narrower pipe
 * costs throughput for half of its length, so one pair is enough to leave it when
 * the cost is clear, and pauses last up to eight times as long as the trial, or
 * IOBAND_PAUSE_MAX_NS.  When the throughput changes by itself in a pause (another
 * load, another speed), the pause is over.  Before the pipe has been found for
 * the first time, IOBAND_TRIAL_LEAST_FIRST pairs do.
 *
 * It begins with a few whole bios, as large as they come: no device is slow
 * because of its bios' size until smaller ones have been tried.
 *
 * Throughput counts bytes, or bios, or bytes and each bio as IOBAND_BIO_BYTES more; each
 * piece as its part of a bio.  With bios of one size it does not matter which.  With
 * several, rounds differ by the sizes that happened to be in them, and the less the
 * more what is counted is what takes the device's time.  So all are, and a trial goes
 * by the one by which its pairs agree best.  But when by another one the wider pipe has
 * clearly lost, and more than it won, it has only changed whose bios are served, and has
 * not won; nor has it lost if it won more.
 *
 *	Two I/Os at a time, 2 ms each whatever the size; one bio in fifty has 1 MiB,
 *	the others 4 KiB.  In a round of 16 there are no large ones, one, or two: its
 *	bytes are 64 KiB, or 1.1 MB, or 2.2 MB, and a trial of 2 against 3 in flight
 *	says anything.  In bios every round is the same: 2 in flight will do.
 *
 * Light loads.  In a trial of less the limit is two thirds of what was really in
 * flight.  If it hardly ever holds bios back, or if it does and costs throughput,
 * while the chosen one never held any back, the device is not full.  The limit is
 * then twice what was in flight: out of the way of the load, and still there when
 * it grows.  A load that fills the device is as fast under the lower limit, and
 * gets that.  Smaller pieces are tried also when something is held only part of the
 * time, as long as there is always something to do: a few synchronous readers fill a
 * device with large bios, but nobody could order these if they went down at once.
 */
#include "depth.h"
#include "math.h"

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/*
 * What half as much again in flight has to bring, of throughput.  Half of that for the
 * finer steps, of which there are several.  Twice that for larger pieces: as much as
 * to go back by LESS and FINER may cost, or trials could go round for ever.
 */
#define IOBAND_DEPTH_GAIN	(1024 * 2 / 100)

/* What a narrower pipe may cost, in 1024ths, to be tried for a second time. */
#define IOBAND_DEPTH_CLEAR	(1024 * 8 / 100)

/* Before anything is known: little, for it grows fast and shrinks no slower. */
#define IOBAND_DEPTH_FIRST	4

/*
 * Something has been held back for part of the time, or all of it, if it was at one
 * completion in so many, or all but one in so many.  Of a few synchronous readers
 * all have to have gone down before the first is back.
 */
#define IOBAND_PRESSED_PART	3
#define IOBAND_SLACK_PART	8

/* More often than that without anything to do is a light load. */
#define IOBAND_DRAINED_PART	64

#define ALL_TRIES		(BIT(IOBAND_NR_TRIES) - 1)

/*
 * A round: enough for the mean of random service times, and twice what is in
 * flight.  However slow the device, it ends, so that a stall does not last.
 */
#define IOBAND_ROUND_IOS	16U

/* Completions of what was sent before a round do not matter among so many times more. */
#define IOBAND_LATE_PART	16
#define IOBAND_ROUND_MAX_NS	(500 * NSEC_PER_MSEC)

/* Pairs that it takes, and after which it is left. */
#define IOBAND_TRIAL_LEAST	3
#define IOBAND_TRIAL_LEAST_FIRST	2
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
	const struct ioband_pipe first = { IOBAND_DEPTH_FIRST, IOBAND_PIECE_MAX };

	*depth = (struct ioband_depth) {
		.pipe = first,
		.chosen = first,
		.try = IOBAND_TRY_MORE,
	};
}

static bool pipe_equal(struct ioband_pipe a, struct ioband_pipe b)
{
	return a.ios == b.ios && a.piece_bytes == b.piece_bytes;
}

/* What is in flight was sent by the old pipe: its completions do not count. */
static void depth_set_pipe(struct ioband_depth *depth, struct ioband_pipe pipe)
{
	if (!pipe_equal(pipe, depth->pipe))
		depth->late_ios = depth->round.peak_ios;
	depth->pipe = pipe;
}

/* Back to a pause, with a pipe that may be new. */
static void depth_rest(struct ioband_depth *depth, struct ioband_pipe pipe)
{
	depth->trial = (struct ioband_trial) {};
	depth->chosen = pipe;
	depth->peak_ios = 0;
	depth->rate = 0;
	depth->odd = 0;
	depth->phase_ns = 0;
	depth_set_pipe(depth, pipe);
}

/* A trial has found a better pipe: on in that direction, at once. */
static void depth_move(struct ioband_depth *depth, struct ioband_pipe pipe)
{
	depth->stood = 0;
	depth->pause_ns = 0;
	depth_rest(depth, pipe);
}

/* Twice what is in flight if the limit never came into it. */
static struct ioband_pipe depth_spare(const struct ioband_depth *depth)
{
	struct ioband_pipe pipe = depth->chosen;

	if (depth->try == IOBAND_TRY_LESS && depth->peak_ios < pipe.ios)
		pipe.ios = depth->peak_ios ? min_t(u32, 2 * depth->peak_ios, IOBAND_DEPTH_MAX) : 1;
	return pipe;
}

static void depth_next_try(struct ioband_depth *depth)
{
	depth->stood |= BIT(depth->try);
	depth->try = (depth->try + 1) % IOBAND_NR_TRIES;
}

/* A trial has changed nothing: now another one, in a while when all have been made. */
static void depth_stay(struct ioband_depth *depth)
{
	const u64 longest_ns = max_t(u64, IOBAND_PAUSE_MAX_NS,
				     IOBAND_PAUSE_TRIALS * depth->phase_ns);
	const u64 pause_ns = max_t(u64, IOBAND_PAUSE_MIN_NS, 2 * depth->pause_ns);

	depth_rest(depth, depth_spare(depth));
	depth_next_try(depth);
	if (depth->stood == ALL_TRIES) {
		depth->found = true;
		depth->pause_ns = min(pause_ns, longest_ns);
	}
}

static u32 half_more(u32 ios)
{
	return min_t(u32, ios + (ios + 1) / 2, IOBAND_DEPTH_MAX);
}

/* The largest size of pieces below so many bytes, or 0. */
static u32 piece_below(u32 bytes)
{
	u32 piece = IOBAND_PIECE_MAX;

	while (piece >= bytes && piece > IOBAND_PIECE_MIN)
		piece /= 2;
	return piece < bytes ? piece : 0;
}

/*
 * The pipe to compare the chosen one with; the chosen one itself if there is none.
 * When the limit was never reached it is not too low, and less is less than what was.
 */
static struct ioband_pipe depth_rival(const struct ioband_depth *depth)
{
	struct ioband_pipe pipe = depth->chosen;
	const u32 used = min(pipe.ios, depth->peak_ios);
	u32 smaller;

	switch (depth->try) {
	case IOBAND_TRY_MORE:
		if (used == pipe.ios)
			pipe.ios = half_more(pipe.ios);
		break;
	case IOBAND_TRY_LESS:
		if (used >= 2)
			pipe.ios = used * 2 / 3;
		break;
	case IOBAND_TRY_TRIM:
		if (used == pipe.ios && used * 5 / 6 > used * 2 / 3)
			pipe.ios = used * 5 / 6;
		break;
	case IOBAND_TRY_LARGER:
		if (used == pipe.ios && depth->max_bytes > pipe.piece_bytes &&
		    pipe.piece_bytes < IOBAND_PIECE_MAX)
			pipe.piece_bytes *= 2;
		break;
	case IOBAND_TRY_SMALLER:
	case IOBAND_TRY_FINER:
		smaller = piece_below(min(depth->max_bytes, pipe.piece_bytes));
		if (!smaller)
			break;
		pipe.piece_bytes = smaller;
		pipe.ios = depth->try == IOBAND_TRY_FINER ? half_more(used ?: 1) : used ?: 1;
		break;
	default:
		break;
	}
	return pipe;
}

static bool try_is_up(enum ioband_try try)
{
	return try == IOBAND_TRY_MORE || try == IOBAND_TRY_LARGER;
}

static void depth_start_trial(struct ioband_depth *depth)
{
	struct ioband_trial *trial = &depth->trial;
	struct ioband_pipe rival = depth_rival(depth);
	unsigned int others = IOBAND_NR_TRIES - 1;

	depth->phase_ns = 0;
	for (; pipe_equal(rival, depth->chosen) && others; others--) {
		depth_next_try(depth);
		rival = depth_rival(depth);
	}
	if (pipe_equal(rival, depth->chosen)) {
		depth_stay(depth);
		return;
	}
	if (try_is_up(depth->try))
		*trial = (struct ioband_trial) { .lo = depth->chosen, .hi = rival };
	else
		*trial = (struct ioband_trial) { .lo = rival, .hi = depth->chosen };
	depth_set_pipe(depth, trial->lo);
}

static bool trial_is_at_hi(const struct ioband_trial *trial)
{
	return (trial->rounds + 1) / 2 % 2;
}

/* What the wider pipe has to bring, in 1024ths. */
static s64 gain_wanted(enum ioband_try try)
{
	switch (try) {
	case IOBAND_TRY_MORE:
	case IOBAND_TRY_LESS:
		return IOBAND_DEPTH_GAIN;
	case IOBAND_TRY_LARGER:
		return 2 * IOBAND_DEPTH_GAIN;
	default:
		return IOBAND_DEPTH_GAIN / 2;
	}
}

enum verdict {
	UNDECIDED,
	LO_WINS,
	HI_WINS,
	NOBODY_WINS,
};

/* How much the gains of the pairs differ: their number, squared, times their variance. */
static s64 gain_spread(const struct ioband_gain *gain, s64 pairs)
{
	return pairs * gain->squares - gain->sum * gain->sum;
}

/* The gain by the yard that the pairs agree best by. */
static const struct ioband_gain *trial_gain(const struct ioband_trial *trial)
{
	const struct ioband_gain *best = trial->gains, *gain;

	for (gain = best + 1; gain < trial->gains + IOBAND_NR_YARDS; gain++)
		if (gain_spread(gain, trial->pairs) < gain_spread(best, trial->pairs))
			best = gain;
	return best;
}

/*
 * So many standard errors, squared, decide: what chance exceeds in one case of twenty on
 * either side, or in fewer when there are many pairs, after each of which it is looked.
 */
static s64 t_squared(u32 pairs)
{
	static const u8 of_few[] = { 0, 0, 40, 9, 6, 5 };

	return pairs < ARRAY_SIZE(of_few) ? of_few[pairs] : 4;
}

/*
 * Is the mean gain of the pairs away from what is wanted, by so many times its standard
 * error?  Student's t, squared, for integers.
 */
static bool gain_is_clear(const struct ioband_gain *gain, s64 pairs, s64 wanted)
{
	const s64 beyond = gain->sum - pairs * wanted;

	return beyond * beyond * (pairs - 1) >= t_squared(pairs) * gain_spread(gain, pairs);
}

/*
 * By another yard it has lost, and more than it has won by this one: what has changed is
 * which bios are served.
 */
static bool trial_lost_more(const struct ioband_trial *trial, s64 won)
{
	const struct ioband_gain *gain;

	for (gain = trial->gains; gain < trial->gains + IOBAND_NR_YARDS; gain++)
		if (gain->sum < -won && gain_is_clear(gain, trial->pairs, 0))
			return true;
	return false;
}

/*
 * The other way round: a trial of the same two pipes that goes by that other yard must not
 * take back what one that went by this gave, or they would go round.
 */
static bool trial_won_more(const struct ioband_trial *trial, s64 lost, s64 wanted)
{
	const struct ioband_gain *gain;

	for (gain = trial->gains; gain < trial->gains + IOBAND_NR_YARDS; gain++)
		if (gain->sum > max(lost, trial->pairs * wanted) &&
		    gain_is_clear(gain, trial->pairs, wanted))
			return true;
	return false;
}

/*
 * Is the gain more, or less, than what is wanted?  To stay at the chosen pipe because a
 * narrower one costs much, one pair is enough.
 */
static enum verdict trial_verdict(const struct ioband_trial *trial, enum ioband_try try, u32 least)
{
	const struct ioband_gain *gain = trial_gain(trial);
	const s64 wanted = gain_wanted(try);

	if (!try_is_up(try) && gain->last > IOBAND_DEPTH_CLEAR)
		return HI_WINS;
	if (trial->pairs >= least && gain_is_clear(gain, trial->pairs, wanted)) {
		if (gain->sum > trial->pairs * wanted && !trial_lost_more(trial, gain->sum))
			return HI_WINS;
		if (!try_is_up(try) && gain->sum < 0 && trial_won_more(trial, -gain->sum, wanted))
			return HI_WINS;
		return LO_WINS;
	}
	return trial->pairs < IOBAND_TRIAL_PAIRS ? UNDECIDED : NOBODY_WINS;
}

static void gain_add_pair(struct ioband_gain *gain)
{
	const s64 more = gain->hi_rate - gain->lo_rate;

	gain->last = clamp_t(s64, div64_s64(more * 1024, max_t(s64, gain->lo_rate, 1)),
			     -1024, 4096);
	gain->sum += gain->last;
	gain->squares += gain->last * gain->last;
}

/* Both have had a round: see who has won. */
static void depth_end_pair(struct ioband_depth *depth)
{
	const u32 least = depth->found ? IOBAND_TRIAL_LEAST : IOBAND_TRIAL_LEAST_FIRST;
	struct ioband_trial *trial = &depth->trial;
	enum verdict verdict;
	u32 yard;

	trial->pairs++;
	for (yard = 0; yard < IOBAND_NR_YARDS; yard++)
		gain_add_pair(&trial->gains[yard]);
	verdict = trial_verdict(trial, depth->try, least);
	if (verdict == UNDECIDED)
		return;
	if (verdict == (try_is_up(depth->try) ? HI_WINS : LO_WINS))
		depth_move(depth, verdict == HI_WINS ? trial->hi : trial->lo);
	else
		depth_stay(depth);
}

/*
 * Is anything to be seen in a round at lo?  If fewer do as well because there is
 * little to do, it says nothing of the device.
 */
static bool trial_tells(const struct ioband_depth *depth)
{
	switch (depth->try) {
	case IOBAND_TRY_MORE:
		return true;
	case IOBAND_TRY_LESS:
	case IOBAND_TRY_TRIM:
		return depth->full;
	default:
		return depth->pressed;
	}
}

static u64 round_work(const struct ioband_sample *round, enum ioband_yard yard)
{
	switch (yard) {
	case IOBAND_YARD_BYTES:
		return round->bytes;
	case IOBAND_YARD_BIOS:
		return round->work - round->bytes;
	default:
		return round->work;
	}
}

/* Work a millisecond; a millionth of a second is less than any round takes. */
static u64 round_rate(const struct ioband_sample *round, enum ioband_yard yard)
{
	return ioband_mul_div(round_work(round, yard), NSEC_PER_MSEC,
			      max_t(u64, round->ns, NSEC_PER_USEC));
}

static void depth_end_trial_round(struct ioband_depth *depth)
{
	struct ioband_trial *trial = &depth->trial;
	const bool at_hi = trial_is_at_hi(trial);
	u32 yard;

	if (!at_hi && !trial_tells(depth)) {	/* even less would do: nothing to be seen */
		depth_stay(depth);
		return;
	}
	for (yard = 0; yard < IOBAND_NR_YARDS; yard++) {
		const u64 rate = round_rate(&depth->round, yard);

		if (at_hi)
			trial->gains[yard].hi_rate = rate;
		else
			trial->gains[yard].lo_rate = rate;
	}
	if (++trial->rounds % 2 == 0)
		depth_end_pair(depth);
	if (ioband_depth_in_trial(depth))
		depth_set_pipe(depth, trial_is_at_hi(trial) ? trial->hi : trial->lo);
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
		depth->try = IOBAND_TRY_MORE;
		depth->stood = 0;
		depth->pause_ns = 0;
	}
	if (depth->phase_ns >= depth->pause_ns)
		depth_start_trial(depth);
}

static bool round_is_over(const struct ioband_depth *depth)
{
	const struct ioband_sample *round = &depth->round;
	const u64 whole_ios = (round->work - round->bytes) / IOBAND_BIO_BYTES;
	const u32 used = min(depth->pipe.ios, round->peak_ios);

	return (whole_ios >= IOBAND_ROUND_IOS && round->ios >= 2 * used) ||
	       (round->ios && round->ns >= IOBAND_ROUND_MAX_NS);
}

static void depth_look_at_round(struct ioband_depth *depth, const struct ioband_sample *round)
{
	depth->max_bytes = round->max_bytes;
	depth->pressed = round->held_ios >= round->ios / IOBAND_PRESSED_PART &&
			 round->drained_ios <= round->ios / IOBAND_DRAINED_PART;
	depth->full = round->held_ios >= round->ios - round->ios / IOBAND_SLACK_PART;
}

/**
 * ioband_depth_sample() - learn from what happened
 * @depth: estimator
 * @sample: since the last call
 *
 * To be called every 10 ms or so while several groups have something to do.
 *
 * Return: true when the pipe has changed.
 */
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample)
{
	const struct ioband_pipe old = depth->pipe;

	if (depth->late_ios * IOBAND_LATE_PART > sample->ios) {
		depth->late_ios -= min(depth->late_ios, sample->ios);
		return false;
	}
	depth->late_ios = 0;
	depth->round.ns += sample->ns;
	depth->round.ios += sample->ios;
	depth->round.bytes += sample->bytes;
	depth->round.work += sample->work;
	depth->round.max_bytes = max(depth->round.max_bytes, sample->max_bytes);
	depth->round.held_ios += sample->held_ios;
	depth->round.drained_ios += sample->drained_ios;
	depth->round.peak_ios = max(depth->round.peak_ios, sample->peak_ios);
	if (!round_is_over(depth))
		return false;

	depth->phase_ns += depth->round.ns;
	depth_look_at_round(depth, &depth->round);
	if (ioband_depth_in_trial(depth))
		depth_end_trial_round(depth);
	else
		depth_end_pause_round(depth, round_rate(&depth->round, IOBAND_YARD_BOTH));
	depth->round = (struct ioband_sample) {};
	return !pipe_equal(depth->pipe, old);
}

/**
 * ioband_depth_stop() - there will be no samples for a while
 * @depth: estimator
 *
 * A trial is left, the pipe is the chosen one again; when there are samples
 * again, it is soon tried.
 */
void ioband_depth_stop(struct ioband_depth *depth)
{
	depth_move(depth, depth->chosen);
	depth->round = (struct ioband_sample) {};
}
