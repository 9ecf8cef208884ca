// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: token buckets.
 * Pure, see core.h.  The policies call it (min.c, max.c, latency.c), under the pool's lock.
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

/* Charge bytes or bios.  Without a rate a bucket stands still. */
void ioband_bucket_charge(struct ioband_bucket *bucket, u32 amount,
			  const struct ioband_leeway *leeway)
{
	u64 next_ns;

	if (!bucket->rate)
		return;
	next_ns = clamp_t(u64, bucket->next_ns, leeway->late_ns, leeway->early_ns);
	/* Less than 2^62, plus a remainder below the rate: less than 2^63. */
	next_ns += div64_u64_rem((u64)amount * leeway->second_ns + bucket->rest, bucket->rate,
				 &bucket->rest);
	bucket->next_ns = max(bucket->next_ns, min(next_ns, leeway->most_ns));
}

void ioband_bucket_charge_bill(struct ioband_buckets *buckets, const struct ioband_bill *bill,
			       const struct ioband_leeway *leeway)
{
	ioband_bucket_charge(&buckets->bytes[bill->dir], bill->bytes, leeway);
	ioband_bucket_charge(&buckets->ios[bill->dir], bill->ios, leeway);
}

static void bucket_set(struct ioband_bucket *bucket, u64 rate)
{
	if (rate != bucket->rate)
		*bucket = (struct ioband_bucket) { .rate = rate };
}

/* A bucket with an unchanged rate keeps its time. */
void ioband_bucket_set_rates(struct ioband_buckets *buckets, const struct ioband_rates *rates)
{
	for (enum ioband_dir dir = 0; dir < IOBAND_NR_DIRS; dir++) {
		bucket_set(&buckets->bytes[dir], rates->bytes[dir]);
		bucket_set(&buckets->ios[dir], rates->ios[dir]);
	}
}

/* The rates of buckets; none without @buckets. */
struct ioband_rates ioband_bucket_rates(const struct ioband_buckets *buckets)
{
	struct ioband_rates rates = {};

	for (enum ioband_dir dir = 0; buckets && dir < IOBAND_NR_DIRS; dir++) {
		rates.bytes[dir] = buckets->bytes[dir].rate;
		rates.ios[dir] = buckets->ios[dir].rate;
	}
	return rates;
}

/* Index of the oldest part, which the next one replaces. */
static u32 trail_oldest(const struct ioband_trail *trail)
{
	return (trail->last + 1) % (IOBAND_TRAIL_PARTS + 1);
}

/* Add bytes or bios to a trail; without a rate, no effect. */
void ioband_bucket_trail_add(struct ioband_trail *trail, u32 amount, u64 rate, u64 now_ns)
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

/*
 * When the oldest part is one second old.  I/O from then on exceeds rate * 33/32 in no second by
 * more than one bio.
 */
u64 ioband_bucket_trail_until_ns(const struct ioband_trail *trail)
{
	const u64 at_ns = trail->at_ns[trail_oldest(trail)];

	return at_ns ? at_ns + NSEC_PER_SEC : 0;
}
