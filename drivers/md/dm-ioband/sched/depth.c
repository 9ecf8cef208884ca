// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: estimation of the in-flight limit, and of the size of splits.
 * Pure, see core.h.  The pool's tick calls it, under the pool's lock.
 *
 * A device reaches full throughput with a certain number of bios in flight.  With fewer it idles.
 * With more, the rest stands in the queue of the device, in an order beyond the control of ioband.
 * Measurements above the device do not yield that number.  Rate times unloaded latency (Little's
 * law; TCP BBR does so) is right for a line, too small for flash with channels that are hit at
 * random, and means nothing for a disk, which is faster the more requests it can choose from.
 *
 * Nor do they yield the right size of a bio.  A bio behind a large one waits for all of it, so
 * large bios should be split.  But on a volume with a cap on I/Os each I/O costs the same, and
 * splits cost throughput.  Trials therefore find both.  A *limit* is a number of bios or splits in
 * flight, and a size of splits.  The rule is:
 *
 *	A wider limit, with more in flight or larger splits, is worth it while it brings some per
 *	cent more throughput.
 *
 * A trial compares the chosen limit with a wider or a narrower one (see &enum ioband_try): half as
 * much again in flight, two thirds, or a little less; splits of twice the size, or of half.  Where
 * the bytes in flight matter, it can also be splits of half the size and half as many again.
 *
 * Each limit is in force for a round of some completions, in the order lo hi, hi lo, lo hi...,
 * which cancels drift.  The gain of hi, the wider limit, in each pair of rounds is compared with
 * the gain required, gain_wanted().  When the mean is some standard errors away, t_squared(), hi or
 * lo has won.  A clear difference takes three pairs, some 100 ms; noise makes it longer.  Without a
 * result after IOBAND_TRIAL_PAIRS, nothing changes.
 *
 *	Line of 100 MB/s and 100 us, bios of 64 KiB.  One in flight completes 86.8 MB/s, two 100,
 *	three 100.  The limit is 1: trial (1, 2), 15 % more, so 2.  Trial (2, 3): nothing, stay.
 *	Trial (1, 2): stay.
 *
 *	Flash of 7 channels, each a 4-KiB page in 150 us, hit at random: at 16 in flight 132 MB/s,
 *	24: 147, 36: 152, 54: 153.  (16, 24): 11 %; (24, 36): 3 %; (36, 54): nothing.  It stays at
 *	36.  The product of Little's law would be 7.
 *
 *	The laboratory's SATA SSD, 515 MB/s, with 15 readers of 128 KiB and one of 4 KiB, which gets
 *	x MB/s (S5):
 *	whole: 4 in flight 515 (x 5.3), 3: 515 (7.9), 2: 409 (12.4), so 3.
 *	64 KiB: 3 in flight 507 (12.6), 1.7 % less.
 *	32 KiB: 3 in flight 472 (16.9), too much less, but 5: 515 (11.5).
 *	16 KiB: 8 in flight 515 (11.6), then fewer: 5: 511 (15.8), 4: 458.
 *	It stays at 5 of 16 KiB, 80 KiB in flight.  It began with 512.
 *
 *	A volume of 3000 I/Os a second: 128 KiB whole 393 MB/s, in splits of 64 KiB 197.  It stays
 *	with whole bios.
 *
 * Volumes of clouds and hypervisors, and null_blk with mbps=, complete a limited number of bytes in
 * each window of time: in a burst, and nothing in the rest of the window.  So the throughput of a
 * round depends on the bursts in it.  The longest time between two completions, less the usual time
 * for the size, is much longer there than elsewhere.  A round then ends between two bursts, or
 * contains several, and the first burst under a limit does not count.
 *
 *	50 MB/s in windows of 21 ms, two readers with weights 200:100 (search --load "window; 200
 *	4K*1 think=20us; 100 4K*1 think=20us").  With two in flight, both get the same.  A round of
 *	10 ms has a burst, a part of one, or none, so its throughput is chance.  From burst to
 *	burst, each round has 256 bios in 21 ms.  One in flight is enough, and the readers get 32.5
 *	and 16.8 MB/s.
 *
 * A trial with a winner is followed by another of the same kind, at once, and one without a change
 * by the next kind.  When all kinds have changed nothing, trials pause, for IOBAND_PAUSE_MIN_NS
 * first and longer each time.
 *
 * A trial of a narrower limit costs throughput for half of its length.  So it ends after one pair
 * if the cost is clear.  Pauses last up to eight times as long as the trial, or
 * IOBAND_PAUSE_MAX_NS.  A change of throughput in a pause (another load, another speed) ends it.
 * While no groups compete, there are no rounds, and a pause stands still (sched/lone.h has the
 * exceptions).  Otherwise all kinds of trials would follow each burst of a second group: with
 * bursts of 200 ms each half second, beside a reader of 128 KiB that fills a flash device, these
 * cost 5 % of the throughput.  But if the load is light then, a trial of less begins soon.  It
 * costs nothing, and the pool may become open.  Before the first result, IOBAND_TRIAL_LEAST_FIRST
 * pairs are enough.
 *
 * The first limit is a few whole bios of any size: no device is slow because of the size of its
 * bios until smaller ones are tried.
 *
 * Throughput has three units: bytes, I/Os, or bytes plus IOBAND_BIO_BYTES for each I/O.  An I/O is
 * a bio or a split; in a trial of two sizes of splits it is a bio, of which a split counts as a
 * part.  With bios of several sizes, rounds differ by the sizes that occur in them, and least in
 * the unit closest to the device time.  So all units are counted, and a trial uses the unit in
 * which its pairs agree best.
 *
 *	Two I/Os at a time, 2 ms each whatever the size; one bio in fifty has 1 MiB, the others 4
 *	KiB.  A round of 16 has no large bio, one, or two: its bytes are 64 KiB, 1.1 MB or 2.2 MB,
 *	and a trial of 2 against 3 in flight has any result.  In bios every round is the same: 2 in
 *	flight are enough.
 *
 * A wider limit also changes which bios are served: a synchronous reader waits longer, and a deep
 * queue of large bios gets its place.  Then it wins in bytes and loses in I/Os, and the result
 * depends on what an I/O costs the device, in bytes.  There is one cost c at which both limits are
 * equal.  A wider limit never does less, so the cost is at most that.  The estimator keeps this
 * bound (@io_bytes).  As long as a trial lowers the bound by much, the device was not full, and the
 * wider limit wins.  On a full device, the next trial has the same bound again, because it is the
 * cost: the narrower limit wins.  Trials with such a result are decided by the throughput at this
 * cost.  (If the wider limit wins in I/Os and loses in bytes, the cost is at least c.  A bound
 * below that was wrong, and is raised.  It is not lowered again until the device or the load has
 * changed: the limit would grow with each of both.)
 *
 *	NVMe, splits of 16 KiB (search --load "nvme; 100 4K*1; 1000 16K*9; 10 64K*8").  Limit 9: 66
 *	500 I/Os and 1006 MB a second.  Limit 14: 63 900 and 1318, since the reader of 64 KiB at
 *	last gets a slot.  They are equal at c = 117 KB.  No bound is known yet, so 14 wins.  Limit
 *	21: 61 800 and 1650, at this c 1 % more: 14 stays.
 *
 *	Volume of 64 I/Os at a time, limit 90.  Limit 135 completes as many I/Os, but more bytes, as
 *	large bios have taken the places of small ones.  No c is too high: 90 stays.
 *
 * Light loads.  In a trial of less, the limit is two thirds of the peak in flight.  The device is
 * not full if this limit hardly ever queues bios, or if it costs throughput and the chosen limit
 * never queued any bio.  The limit then is twice the peak in flight: it does not affect the load,
 * but still exists when the load grows.  A load that fills the device is as fast with the lower
 * limit, and gets that.
 *
 * Smaller splits are also tried when bios are queued only part of the time, if the device hardly
 * ever drains.  A few synchronous readers fill a device with large bios, and could not be ordered
 * if all of these were dispatched at once.
 */
#include "depth.h"
#include "math.h"

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>

/*
 * The gain that half as much again in flight must bring, in 1024ths of the throughput.  Finer
 * steps, of which there are several, need half of it.  Larger splits need twice as much, no less
 * than the loss that LESS and FINER accept.  Otherwise trials could cycle.
 */
#define IOBAND_DEPTH_GAIN	(1024 * 2 / 100)

/* The largest loss, in 1024ths, after which a narrower limit gets another pair of rounds. */
#define IOBAND_DEPTH_CLEAR	(1024 * 8 / 100)

/* The first depth.  A small one is soon corrected, because a trial adds half as much again. */
#define IOBAND_DEPTH_FIRST	4

/*
 * Bios were queued part of the time if they were for one part in IOBAND_PRESSED_PART, and most of
 * the time if they were for one part in IOBAND_FULL_PART.  A few synchronous readers all have to
 * be in flight before the first completes: part of the time, none is queued.
 */
#define IOBAND_PRESSED_PART	3
#define IOBAND_FULL_PART	2

/* The load is light if the device was idle for more than one part in this many. */
#define IOBAND_IDLE_PART	64

/* The cost of an I/O while no bound is known: far more than that of its bytes. */
#define IOBAND_IO_BYTES_MAX	(16U << 20)

#define ALL_TRIES		(BIT(IOBAND_NR_TRIES) - 1)

/*
 * A round has enough completions for a mean of random service times, and twice the bios in
 * flight.  A device with a limit on the bytes in a window of time completes them in bursts.  So a
 * round also ends between two bursts, or lasts so many times as long as the longest time without
 * a completion.  However slow the device, it ends, so that a stall does not last.
 */
#define IOBAND_ROUND_IOS	16U
#define IOBAND_ROUND_GAPS	8U

/* With each sample, the longest time without a completion decreases by one part in this many. */
#define IOBAND_LONGEST_PART	16

/* A sample needs this many completions for each bio that was dispatched under another limit. */
#define IOBAND_LATE_PART	16
#define IOBAND_ROUND_MAX_NS	(500 * NSEC_PER_MSEC)

/* Least pairs of a trial, least pairs before the first result, and most pairs. */
#define IOBAND_TRIAL_LEAST	3
#define IOBAND_TRIAL_LEAST_FIRST	2
#define IOBAND_TRIAL_PAIRS	32

#define IOBAND_PAUSE_MIN_NS	(100 * NSEC_PER_MSEC)
#define IOBAND_PAUSE_MAX_NS	(4 * NSEC_PER_SEC)
#define IOBAND_PAUSE_TRIALS	8

/* After this many rounds in a row, faster or slower by a quarter, device or load have changed. */
#define IOBAND_ODD_ROUNDS	3

/* Start without knowledge of the device. */
void ioband_depth_init(struct ioband_depth *depth)
{
	const struct ioband_depth_limit first = { IOBAND_DEPTH_FIRST, IOBAND_SPLIT_MAX };

	*depth = (struct ioband_depth) {
		.limit = first,
		.chosen = first,
		.try = IOBAND_TRY_MORE,
		.io_bytes = IOBAND_IO_BYTES_MAX,
	};
}

static bool limit_equal(struct ioband_depth_limit a, struct ioband_depth_limit b)
{
	return a.ios == b.ios && a.split_bytes == b.split_bytes;
}

/* Completions of bios dispatched under the old limit do not count. */
static void depth_set_limit(struct ioband_depth *depth, struct ioband_depth_limit limit)
{
	if (!limit_equal(limit, depth->limit)) {
		depth->late_ios = depth->round.peak_ios;
		depth->settling = true;
		depth->settled_ns = 0;
	}
	depth->limit = limit;
}

/* Begin a pause, with a limit that may be new. */
static void depth_rest(struct ioband_depth *depth, struct ioband_depth_limit limit)
{
	depth->trial = (struct ioband_trial) {};
	depth->chosen = limit;
	depth->peak_ios = 0;
	depth->rate = 0;
	depth->odd = 0;
	depth->phase_ns = 0;
	depth_set_limit(depth, limit);
}

/* A trial has found a better limit: the next one continues in that direction, at once. */
static void depth_move(struct ioband_depth *depth, struct ioband_depth_limit limit)
{
	depth->stood = 0;
	depth->pause_ns = 0;
	depth_rest(depth, limit);
}

/* The chosen limit, or twice the peak in flight if the limit was never reached. */
static struct ioband_depth_limit depth_spare(const struct ioband_depth *depth)
{
	struct ioband_depth_limit limit = depth->chosen;

	if (depth->try == IOBAND_TRY_LESS && depth->peak_ios < limit.ios)
		limit.ios = clamp_t(u32, 2 * depth->peak_ios, 1, IOBAND_DEPTH_MAX);
	return limit;
}

static void depth_next_try(struct ioband_depth *depth)
{
	depth->stood |= BIT(depth->try);
	depth->stopped &= depth->try != IOBAND_TRY_MORE && depth->try != IOBAND_TRY_LESS;
	depth->try = (depth->try + 1) % IOBAND_NR_TRIES;
}

/* A trial has changed nothing.  Try the next kind, after a pause if all kinds had a trial. */
static void depth_stay(struct ioband_depth *depth)
{
	const struct ioband_depth_limit spare = depth_spare(depth);
	const u64 longest_ns = max_t(u64, IOBAND_PAUSE_MAX_NS,
				     IOBAND_PAUSE_TRIALS * depth->phase_ns);
	const u64 pause_ns = max_t(u64, IOBAND_PAUSE_MIN_NS, 2 * depth->pause_ns);

	if (!limit_equal(spare, depth->chosen)) {	/* too narrow for a heavier load */
		depth->stood = 0;
		depth->pause_ns = 0;
	}
	depth_rest(depth, spare);
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

/* The largest size of splits below so many bytes, or 0. */
static u32 split_below(u32 bytes)
{
	u32 split = IOBAND_SPLIT_MAX;

	while (split >= bytes && split > IOBAND_SPLIT_MIN)
		split /= 2;
	return split < bytes ? split : 0;
}

/*
 * The limit to compare with the chosen one, or the chosen one itself if there is none.  A limit
 * that was never reached is not too low, and a lower one starts from the peak in flight.
 */
static struct ioband_depth_limit depth_rival(const struct ioband_depth *depth)
{
	struct ioband_depth_limit limit = depth->chosen;
	const u32 used = min(limit.ios, depth->peak_ios);
	u32 smaller;

	switch (depth->try) {
	case IOBAND_TRY_MORE:
		/* A limit below both only changes which of them serves a minimum (min.c). */
		if (used == limit.ios)
			limit.ios = half_more(limit.ios + depth->round.min_ios);
		break;
	case IOBAND_TRY_LESS:
		if (used >= 2)
			limit.ios = used * 2 / 3;
		break;
	case IOBAND_TRY_TRIM:
		if (used == limit.ios && used * 5 / 6 > used * 2 / 3)
			limit.ios = used * 5 / 6;
		break;
	case IOBAND_TRY_LARGER:
		if (used == limit.ios && depth->max_bytes > limit.split_bytes &&
		    limit.split_bytes < IOBAND_SPLIT_MAX)
			limit.split_bytes *= 2;
		break;
	case IOBAND_TRY_SMALLER:
	case IOBAND_TRY_FINER:
		smaller = split_below(min(depth->max_bytes, limit.split_bytes));
		if (!smaller)
			break;
		limit.split_bytes = smaller;
		limit.ios = depth->try == IOBAND_TRY_FINER ? half_more(used ?: 1) : used ?: 1;
		break;
	default:
		break;
	}
	return limit;
}

static bool try_is_up(enum ioband_try try)
{
	return try == IOBAND_TRY_MORE || try == IOBAND_TRY_LARGER;
}

static void depth_start_trial(struct ioband_depth *depth)
{
	struct ioband_trial *trial = &depth->trial;
	struct ioband_depth_limit rival = depth_rival(depth);
	unsigned int others = IOBAND_NR_TRIES - 1;

	depth->phase_ns = 0;
	for (; limit_equal(rival, depth->chosen) && others; others--) {
		depth_next_try(depth);
		rival = depth_rival(depth);
	}
	if (limit_equal(rival, depth->chosen)) {
		depth_stay(depth);
		return;
	}
	if (try_is_up(depth->try))
		*trial = (struct ioband_trial) { .lo = depth->chosen, .hi = rival };
	else
		*trial = (struct ioband_trial) { .lo = rival, .hi = depth->chosen };
	depth_set_limit(depth, trial->lo);
}

static bool trial_is_at_hi(const struct ioband_trial *trial)
{
	return (trial->rounds + 1) / 2 % 2;
}

/* The wider limit is several steps of half as much again if minima mask all between (min.c). */
static u32 trial_steps(const struct ioband_trial *trial)
{
	u32 ios, steps = 1;

	for (ios = half_more(trial->lo.ios); ios < trial->hi.ios; ios = half_more(ios))
		steps++;
	return steps;
}

/* The gain that the wider limit must bring, in 1024ths. */
static s64 gain_wanted(enum ioband_try try, const struct ioband_trial *trial)
{
	switch (try) {
	case IOBAND_TRY_MORE:
		return trial_steps(trial) * IOBAND_DEPTH_GAIN;
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

/* The number of pairs, squared, times the variance of their gains. */
static s64 gain_spread(const struct ioband_gain *gain, s64 pairs)
{
	return pairs * gain->squares - gain->sum * gain->sum;
}

/* The gain in the unit in which the pairs agree best. */
static const struct ioband_gain *trial_gain(const struct ioband_trial *trial)
{
	const struct ioband_gain *best = trial->gains, *gain;

	for (gain = best + 1; gain < trial->gains + IOBAND_NR_UNITS; gain++)
		if (gain_spread(gain, trial->pairs) < gain_spread(best, trial->pairs))
			best = gain;
	return best;
}

/*
 * Standard errors, squared, that decide a trial: chance exceeds them in one case of twenty on
 * either side.  With many pairs it is in fewer cases, as there is a test after each pair.
 */
static s64 t_squared(u32 pairs)
{
	static const u8 of_few[] = { 0, 0, 40, 9, 6, 5 };

	return pairs < ARRAY_SIZE(of_few) ? of_few[pairs] : 4;
}

/* Is the mean gain clearly off the gain required?  Student's t, squared, in integers. */
static bool gain_is_clear(const struct ioband_gain *gain, s64 pairs, s64 wanted)
{
	const s64 beyond = gain->sum - pairs * wanted;

	return beyond * beyond * (pairs - 1) >= t_squared(pairs) * gain_spread(gain, pairs);
}

/* Has the wider limit won in some unit, and lost in another? */
static bool trial_is_mixed(const struct ioband_trial *trial, s64 wanted)
{
	const s64 pairs = trial->pairs;
	const struct ioband_gain *gain;
	bool won = false, lost = false;

	for (gain = trial->gains; gain < trial->gains + IOBAND_NR_UNITS; gain++) {
		won |= gain->sum > pairs * wanted && gain_is_clear(gain, pairs, wanted);
		lost |= gain->sum < -pairs * wanted / 2;
	}
	return won && lost;
}

/* The cost of an I/O, in bytes, at which both limits of a mixed trial are equal. */
static u32 trial_equal_cost(const struct ioband_trial *trial)
{
	const s64 bytes = trial->gains[IOBAND_UNIT_BYTES].more;
	const s64 ios = trial->gains[IOBAND_UNIT_IOS].more;
	const u64 cost = ioband_mul_div(bytes < 0 ? -bytes : bytes, IOBAND_BIO_BYTES,
					ios < 0 ? -ios : ios);

	return min_t(u64, cost, IOBAND_IO_BYTES_MAX);
}

/* The gain, in 1024ths, if an I/O costs so many bytes. */
static s64 trial_gain_at(const struct ioband_trial *trial, u32 io_bytes)
{
	const struct ioband_gain *bytes = &trial->gains[IOBAND_UNIT_BYTES];
	const struct ioband_gain *ios = &trial->gains[IOBAND_UNIT_IOS];
	const s64 more = bytes->more + div_s64(ios->more * io_bytes, IOBAND_BIO_BYTES);
	const s64 lo = bytes->lo + div_s64(ios->lo * io_bytes, IOBAND_BIO_BYTES);

	return div64_s64(more * 1024, max(lo, 1LL));
}

/* Does the wider limit win a mixed trial?  If it seems to do less, the bound was wrong. */
static bool depth_mixed_wins(struct ioband_depth *depth, s64 wanted)
{
	const struct ioband_trial *trial = &depth->trial;
	const s64 gain = trial_gain_at(trial, depth->io_bytes);
	const u64 old = depth->io_bytes, cost = trial_equal_cost(trial);

	if (gain >= 0)
		return gain > wanted;
	if (3 * min(old, cost) > 2 * max(old, cost) || (depth->io_raised && cost < old))
		return false;
	depth->io_raised |= cost > old;
	depth->io_bytes = cost;
	return true;
}

/* One pair is enough to reject a narrower limit with a high cost. */
static enum verdict depth_verdict(struct ioband_depth *depth, u32 least)
{
	const struct ioband_trial *trial = &depth->trial;
	const struct ioband_gain *gain = trial_gain(trial);
	const s64 wanted = gain_wanted(depth->try, trial);
	bool wins = gain->sum > trial->pairs * wanted;

	if (!try_is_up(depth->try) && gain->last > IOBAND_DEPTH_CLEAR)
		return HI_WINS;
	if (trial->pairs < least || !gain_is_clear(gain, trial->pairs, wanted))
		return trial->pairs < IOBAND_TRIAL_PAIRS ? UNDECIDED : NOBODY_WINS;
	/* Limits of FINER are neither wide nor narrow. */
	if (depth->try != IOBAND_TRY_FINER && trial_is_mixed(trial, wanted))
		wins = depth_mixed_wins(depth, wanted);
	return wins ? HI_WINS : LO_WINS;
}

static void gain_add_pair(struct ioband_gain *gain)
{
	const s64 more = gain->hi_rate - gain->lo_rate;

	gain->last = clamp_t(s64, div64_s64(more * 1024, max_t(s64, gain->lo_rate, 1)),
			     -1024, 4096);
	gain->lo += gain->lo_rate;
	gain->more += more;
	gain->sum += gain->last;
	gain->squares += gain->last * gain->last;
}

/* Both limits have had a round: look for a winner. */
static void depth_end_pair(struct ioband_depth *depth)
{
	const u32 least = depth->found ? IOBAND_TRIAL_LEAST : IOBAND_TRIAL_LEAST_FIRST;
	struct ioband_trial *trial = &depth->trial;
	enum verdict verdict;

	trial->pairs++;
	for (u32 unit = 0; unit < IOBAND_NR_UNITS; unit++)
		gain_add_pair(&trial->gains[unit]);
	verdict = depth_verdict(depth, least);
	if (verdict == UNDECIDED)
		return;
	if (verdict == (try_is_up(depth->try) ? HI_WINS : LO_WINS))
		depth_move(depth, verdict == HI_WINS ? trial->hi : trial->lo);
	else
		depth_stay(depth);
}

/* Does a round with lo tell about the device?  Not if lo suffices because the load is light. */
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

/* Splits are I/Os of their own, except where limits of several sizes of splits are compared. */
static u64 round_work(const struct ioband_depth *depth, enum ioband_unit unit)
{
	const struct ioband_sample *round = &depth->round;
	const bool one_size = depth->trial.lo.split_bytes == depth->trial.hi.split_bytes;
	const u64 ios = one_size ? round->ios * IOBAND_BIO_BYTES : round->work - round->bytes;

	return (unit == IOBAND_UNIT_IOS ? 0 : round->bytes) +
	       (unit == IOBAND_UNIT_BYTES ? 0 : ios);
}

/* Work per millisecond; a millionth of a second is less than any round takes. */
static u64 round_rate(const struct ioband_depth *depth, enum ioband_unit unit)
{
	return ioband_mul_div(round_work(depth, unit), NSEC_PER_MSEC,
			      max_t(u64, depth->round.ns, NSEC_PER_USEC));
}

static void depth_end_trial_round(struct ioband_depth *depth)
{
	struct ioband_trial *trial = &depth->trial;
	const bool at_hi = trial_is_at_hi(trial);

	/* A narrower limit that has no effect costs nothing. */
	if (depth->round.no_effect && !try_is_up(depth->try)) {
		depth_rest(depth, depth->chosen);
		depth_next_try(depth);
		return;
	}
	if (!at_hi && !trial_tells(depth)) {	/* the load is light */
		depth_stay(depth);
		return;
	}
	for (u32 unit = 0; unit < IOBAND_NR_UNITS; unit++) {
		const u64 rate = round_rate(depth, unit);

		if (at_hi)
			trial->gains[unit].hi_rate = rate;
		else
			trial->gains[unit].lo_rate = rate;
	}
	if (++trial->rounds % 2 == 0)
		depth_end_pair(depth);
	if (ioband_depth_in_trial(depth))
		depth_set_limit(depth, trial_is_at_hi(trial) ? trial->hi : trial->lo);
}

/* Have the device or the load changed?  Only rounds of a full device count. */
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
		depth->io_bytes = IOBAND_IO_BYTES_MAX;
		depth->io_raised = false;
		depth->try = IOBAND_TRY_MORE;
		depth->stood = 0;
		depth->pause_ns = 0;
	}
	if (depth->stopped && depth->light_ns >= IOBAND_PAUSE_MIN_NS) {
		depth->try = IOBAND_TRY_LESS;
		depth_start_trial(depth);
	} else if (depth->phase_ns >= depth->pause_ns) {
		depth_start_trial(depth);
	}
}

/* Do a few times without a completion determine the throughput? */
static bool depth_is_bursty(const struct ioband_depth *depth, u64 ns)
{
	return ns < IOBAND_ROUND_GAPS * depth->longest_ns;
}

static bool depth_is_between_bursts(const struct ioband_depth *depth,
				    const struct ioband_sample *sample)
{
	return 2 * sample->quiet_ns >= depth->longest_ns;
}

/*
 * Does a sample after a change of the limit not count?  Its bios may have been dispatched under
 * the old limit.  The first burst with the new limit may end later than the last one ended, and
 * time counts from end to end.  With several bursts in a tick, each at most two fifths of it, that
 * is a small part.  If bursts keep pace with the ticks, no tick may ever be between two of them.
 */
static bool depth_drops(struct ioband_depth *depth, const struct ioband_sample *sample)
{
	if (depth->late_ios * IOBAND_LATE_PART > sample->ios) {
		depth->late_ios -= min(depth->late_ios, sample->ios);
		return true;
	}
	depth->late_ios = 0;
	if (!depth->settling)
		return false;
	depth->settled_ns += sample->ns;
	if (5 * depth->longest_ns <= 2 * sample->ns || depth->settled_ns >= IOBAND_ROUND_MAX_NS) {
		depth->settling = false;
		return false;
	}
	depth->settling = !depth_is_between_bursts(depth, sample);
	return true;
}

static bool round_is_over(const struct ioband_depth *depth)
{
	const struct ioband_sample *round = &depth->round;
	const u64 whole_ios = (round->work - round->bytes) / IOBAND_BIO_BYTES;
	const u32 used = min(depth->limit.ios, round->peak_ios);

	if (round->ios && round->ns >= IOBAND_ROUND_MAX_NS)
		return true;
	return whole_ios >= IOBAND_ROUND_IOS && round->ios >= 2 * used &&
	       (depth_is_between_bursts(depth, round) || !depth_is_bursty(depth, round->ns));
}

static void depth_look_at_round(struct ioband_depth *depth, const struct ioband_sample *round)
{
	depth->max_bytes = round->max_bytes;
	depth->pressed = round->held_ns >= round->ns / IOBAND_PRESSED_PART &&
			 round->idle_ns <= round->ns / IOBAND_IDLE_PART;
	depth->full = round->held_ns >= round->ns / IOBAND_FULL_PART;
	depth->pace_ns = div64_u64(round->ns << 10, max(round->work, 1ULL));
	depth->light_ns = depth->full ? 0 : depth->light_ns + round->ns;
}

/*
 * Update the estimate with the completions since the last call.  To be called every 10 ms or so
 * while the limit is in force.  Return: true if the limit has changed.
 */
bool ioband_depth_sample(struct ioband_depth *depth, const struct ioband_sample *sample)
{
	const struct ioband_depth_limit old = depth->limit;

	depth->longest_ns = max(sample->longest_ns,
				depth->longest_ns - depth->longest_ns / IOBAND_LONGEST_PART);
	if (depth_drops(depth, sample))
		return false;
	depth->round.ns += sample->ns;
	depth->round.ios += sample->ios;
	depth->round.bytes += sample->bytes;
	depth->round.work += sample->work;
	depth->round.max_bytes = max(depth->round.max_bytes, sample->max_bytes);
	depth->round.held_ns += sample->held_ns;
	depth->round.idle_ns += sample->idle_ns;
	depth->round.quiet_ns = sample->quiet_ns;
	depth->round.peak_ios = max(depth->round.peak_ios, sample->peak_ios);
	depth->round.min_ios = max(depth->round.min_ios, sample->min_ios);
	depth->round.no_effect |= sample->no_effect;
	if (!round_is_over(depth))
		return false;

	depth->phase_ns += depth->round.ns;
	depth_look_at_round(depth, &depth->round);
	if (ioband_depth_in_trial(depth))
		depth_end_trial_round(depth);
	else
		depth_end_pause_round(depth, round_rate(depth, IOBAND_UNIT_BOTH));
	depth->round = (struct ioband_sample) {};
	return !limit_equal(depth->limit, old);
}

/*
 * Samples stop for a while.  Ends a trial without a result, and puts the chosen limit in force.  A
 * pause continues when samples resume, as device and load are probably the same.
 */
void ioband_depth_stop(struct ioband_depth *depth)
{
	if (ioband_depth_in_trial(depth))
		depth_rest(depth, depth->chosen);
	depth->stopped = true;
	depth->light_ns = 0;
	depth->peak_ios = 0;
	depth->round = (struct ioband_sample) {};
}
