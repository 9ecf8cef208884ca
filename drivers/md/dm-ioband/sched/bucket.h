/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: token buckets. */
#ifndef DM_IOBAND_SCHED_BUCKET_H
#define DM_IOBAND_SCHED_BUCKET_H

#include "policy.h"

/* Advance of a bucket, and its bounds. */
struct ioband_leeway {
	u64 second_ns;			/* advance for the amount of one second */
	u64 late_ns;			/* a bucket that is behind this continues from here */
	u64 early_ns;			/* so does one ahead of this, but never goes back */
	u64 most_ns;			/* no bucket advances beyond this */
};

void ioband_bucket_charge_bill(struct ioband_buckets *buckets, const struct ioband_bill *bill,
			       const struct ioband_leeway *leeway);
void ioband_bucket_charge(struct ioband_bucket *bucket, u32 amount,
			  const struct ioband_leeway *leeway);
void ioband_bucket_set_rates(struct ioband_buckets *buckets, const struct ioband_rates *rates);
struct ioband_rates ioband_bucket_rates(const struct ioband_buckets *buckets);
void ioband_bucket_trail_add(struct ioband_trail *trail, u32 amount, u64 rate, u64 now_ns);
u64 ioband_bucket_trail_until_ns(const struct ioband_trail *trail);

#endif /* DM_IOBAND_SCHED_BUCKET_H */
