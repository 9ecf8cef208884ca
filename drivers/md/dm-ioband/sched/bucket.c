// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: token buckets.
 *
 * A bucket is kept as the time at which the I/O so far is paid for.  A bio of 64 KiB at 16 MiB/s
 * advances it by 4 ms (the generic cell rate algorithm of ATM; the leaky bucket as a meter:
 * Turner 1986).  A maximum or a minimum has four buckets, for bytes and bios, of reads and
 * writes.  A maximum blocks its entity until the time of its buckets; a minimum makes its entity
 * due from then on.
 *
 * A bucket does not record when the I/O took place.  A trail does, for the I/O of the last
 * second: it keeps the time at which each 32nd of it was used up.
 */
#include "bucket.h"

#include "tree.h"

/* One part of the I/O of a second. */
#define IOBAND_TRAIL_NS		(NSEC_PER_SEC / IOBAND_TRAIL_PARTS)

/**
 * ioband_clock_move() - charge an amount to a bucket
 * @clock: bucket; without a rate it stands still
 * @amount: bytes or bios
 * @leeway: bounds of the bucket
 */
void ioband_clock_move(struct ioband_clock *clock, u32 amount, const struct ioband_leeway *leeway)
{
	u64 next_ns;

	if (!clock->rate)
		return;
	next_ns = clamp_t(u64, clock->next_ns, leeway->late_ns, leeway->early_ns);
	/* Less than 2^62, plus a remainder below the rate: less than 2^63. */
	next_ns += div64_u64_rem((u64)amount * leeway->second_ns + clock->rest, clock->rate,
				 &clock->rest);
	clock->next_ns = max(clock->next_ns, min(next_ns, leeway->most_ns));
}

/**
 * ioband_meter_move() - charge a bio
 * @meter: buckets
 * @bill: cost of the bio
 * @leeway: bounds of the buckets
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
 * ioband_meter_set() - set the rates of buckets
 * @meter: buckets
 * @rates: rates; a bucket with an unchanged rate keeps its time
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
 * ioband_meter_rates() - get the rates of buckets
 * @meter: buckets; NULL: no rates
 *
 * Return: the rates.
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

/* Index of the oldest part, which the next one replaces. */
static u32 trail_oldest(const struct ioband_trail *trail)
{
	return (trail->last + 1) % (IOBAND_TRAIL_PARTS + 1);
}

/**
 * ioband_trail_add() - add I/O to a trail
 * @trail: trail
 * @amount: bytes or bios
 * @rate: amount per second; 0: no effect
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
 * ioband_trail_until_ns() - time at which the oldest part is one second old
 * @trail: trail
 *
 * Return: time.  I/O from then on exceeds rate * 33/32 in no second by more than one bio.
 */
u64 ioband_trail_until_ns(const struct ioband_trail *trail)
{
	const u64 at_ns = trail->at_ns[trail_oldest(trail)];

	return at_ns ? at_ns + NSEC_PER_SEC : 0;
}
