// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: how much goes a second.
 *
 * A clock says when what has gone so far is used up: a bio of 64 KiB at 16 MiB/s moves
 * it on by 4 ms (the generic cell rate algorithm of ATM; the leaky bucket as a meter:
 * Turner 1986).  A meter has four, for bytes and bios, read and written: that of a maximum
 * holds back who is before its clocks, that of a minimum favours who is after them.
 *
 * A clock does not say when it went.  A trail does, for the last second's worth: it keeps
 * the time at which each 32nd of that was used up.
 */
#include "bucket.h"

#include "tree.h"

/* A part of a second's worth. */
#define IOBAND_TRAIL_NS		(NSEC_PER_SEC / IOBAND_TRAIL_PARTS)

/**
 * ioband_clock_move() - so much goes
 * @clock: of a bound on it; without a rate it stands still
 * @amount: so much
 * @leeway: of the clock
 */
void ioband_clock_move(struct ioband_clock *clock, u32 amount, const struct ioband_leeway *leeway)
{
	u64 next_ns;

	if (!clock->rate)
		return;
	next_ns = clamp_t(u64, clock->next_ns, leeway->late_ns, leeway->early_ns);
	/* Less than 2^62, and a rest that is less than the rate: less than 2^63. */
	next_ns += div64_u64_rem((u64)amount * leeway->second_ns + clock->rest, clock->rate,
				 &clock->rest);
	clock->next_ns = max(clock->next_ns, min(next_ns, leeway->most_ns));
}

/**
 * ioband_meter_move() - a bio goes
 * @meter: that counts it
 * @bill: of the bio
 * @leeway: of its clocks
 */
void ioband_meter_move(struct ioband_meter *meter, const struct ioband_bill *bill,
		       const struct ioband_leeway *leeway)
{
	ioband_clock_move(&meter->bytes[bill->way], bill->bytes, leeway);
	ioband_clock_move(&meter->ios[bill->way], bill->ios, leeway);
}

static void clock_set(struct ioband_clock *clock, u64 rate)
{
	if (rate != clock->rate)
		*clock = (struct ioband_clock) { .rate = rate };
}

/**
 * ioband_meter_set() - from now on it is so much a second
 * @meter: meter
 * @rates: so much; a rate that stays as it is keeps its clock
 */
void ioband_meter_set(struct ioband_meter *meter, const struct ioband_rates *rates)
{
	enum ioband_way way;

	for (way = 0; way < IOBAND_NR_WAYS; way++) {
		clock_set(&meter->bytes[way], rates->bytes[way]);
		clock_set(&meter->ios[way], rates->ios[way]);
	}
}

/**
 * ioband_meter_rates() - how much a second it is
 * @meter: meter; NULL: nothing
 *
 * Return: so much.
 */
struct ioband_rates ioband_meter_rates(const struct ioband_meter *meter)
{
	struct ioband_rates rates = {};
	enum ioband_way way;

	for (way = 0; meter && way < IOBAND_NR_WAYS; way++) {
		rates.bytes[way] = meter->bytes[way].rate;
		rates.ios[way] = meter->ios[way].rate;
	}
	return rates;
}

/* The one whose place the next one takes. */
static u32 trail_oldest(const struct ioband_trail *trail)
{
	return (trail->last + 1) % (IOBAND_TRAIL_PARTS + 1);
}

/**
 * ioband_trail_add() - so much goes
 * @trail: trail
 * @amount: so much
 * @rate: so much is for a second; 0: no matter
 * @now_ns: time
 */
void ioband_trail_add(struct ioband_trail *trail, u32 amount, u64 rate, u64 now_ns)
{
	u64 used_ns;

	if (!rate)
		return;
	used_ns = trail->used_ns + ioband_mul_div(amount, NSEC_PER_SEC, rate);
	used_ns = min(used_ns, (u64)NSEC_PER_SEC + IOBAND_TRAIL_NS);	/* all of it is now */
	for (; used_ns >= IOBAND_TRAIL_NS; used_ns -= IOBAND_TRAIL_NS) {
		trail->last = trail_oldest(trail);
		trail->at_ns[trail->last] = now_ns;
	}
	trail->used_ns = used_ns;
}

/**
 * ioband_trail_until_ns() - when a second is over since a second's worth ago
 * @trail: trail
 *
 * Return: time; what goes from then on is no more than rate * 33/32 in any second, and one
 * bio.
 */
u64 ioband_trail_until_ns(const struct ioband_trail *trail)
{
	const u64 at_ns = trail->at_ns[trail_oldest(trail)];

	return at_ns ? at_ns + NSEC_PER_SEC : 0;
}
