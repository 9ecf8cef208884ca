// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the size of the splits of discards, and their cost.
 * Pure, see core.h.  The target calls it (split.c, pool.c), under the pool's lock.
 *
 * A discard covers up to 4 GiB, and transfers nothing.  Its bytes do not tell its device time: for
 * 1 GiB that is 1 ms with one device and 10 s with another.  Many devices serve nothing else
 * meanwhile.  So both the cost of a discard and the size of its splits follow from measurements.
 *
 * 1. The cost: the service that the devices lose
 * ----------------------------------------------
 * While no discard is in flight, the devices of the pool serve so many units of charge a second.
 * While one is in flight, they serve less.  The difference is the cost of the discard:
 *
 *	Reads of 4 KiB get 40 MB/s without discards.  A split takes 2 ms, in which the device would
 *	have served 80 KB, and serves one read.  The split costs 76 KB, and has taken 1.9 ms.  A
 *	device that serves its reads beside the split loses nothing.  The split costs nothing.
 *
 * The charge is known when the split has completed, and is a debt of the group that issued it, in
 * the unit of the pool's measure; with slices, device time is charged as it passes.  The rate is
 * that of the last tenth of a second, of the present load: the rate of large reads would be too
 * much for a group beside a reader of small ones.
 *
 * Debts have an effect where groups wait for each other.  A reader with one bio in flight leaves
 * most of the in-flight limit free, and suffers from every discard all the same.  So a discard is
 * dispatched only to a group that does not lead the others (ioband_core_may_discard()), as if the
 * limit was one bio.  It waits for a second at most, and does not use up the limit itself.
 *
 * 2. The size of splits
 * ---------------------
 * A read that waits for a discard should wait for about IOBAND_DISCARD_US.  That is the time of all
 * discards in flight, as far as it is known beforehand: one split, or several small discards.  The
 * size of splits is a power of two.  It doubles while splits take half of that time or less, and is
 * halved when they take longer, down to the granularity of the device.
 *
 *	1 GiB in 4 s: 1 MiB takes 3.9 ms, 512 KiB 1.95 ms.  Splits have 512 KiB.
 *
 * A discard of any size may take the device some time.  Then halving costs much and gains little.
 * So the size is halved only if that makes splits take 3/4 of the time or less, and it doubles,
 * whatever a split takes, if half of it takes 7/8 or more:
 *
 *	10 ms, and 1 ms for each 64 MiB: 1 MiB takes 10.0 ms, and so does 512 KiB.  1 GiB would take
 *	10 s in splits of 1 MiB.  At 256 MiB, 14 ms, half takes 12 ms, 6/7 of that.  The size stays,
 *	and 1 GiB takes 56 ms.
 *
 * The times of other sizes are forgotten after some splits, and measured again if splits take
 * longer than they should.
 */
#include "discard.h"
#include "math.h"

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* Splits after which the times of other sizes are forgotten: trials take 2 of 64 splits. */
#define IOBAND_DISCARD_SPLITS	64

/*
 * First rate of service, 16 KiB in 1 ms.  A low one costs others little of their share until some
 * bios have been served; a high one makes a discard beside a slow reader wait for long.
 */
#define IOBAND_DISCARD_WORK	16384

/* Discards are recent for that long: a rival may get its share without a debt afterwards. */
#define IOBAND_DISCARD_RECENT_NS	(500 * NSEC_PER_MSEC)

static u8 shift_of(const struct ioband_discard *discard)
{
	return discard->shift ?: IOBAND_DISCARD_FIRST;
}

/* The multiple of the granularity that is nearest to a power of two, from below if there is one. */
static u32 size_of(u8 shift, u32 granularity)
{
	const u32 bytes = 1U << shift;

	return max(bytes - bytes % granularity, granularity);
}

/* The size of the splits of discards, a multiple of the device's granularity, which is not 0. */
u32 ioband_discard_bytes(const struct ioband_discard *discard, u32 granularity)
{
	return size_of(shift_of(discard), granularity);
}

/* Expected device time of a discard or a split; if unknown, so long that no other is in flight. */
u32 ioband_discard_expect_us(const struct ioband_discard *discard, u32 granularity, u32 bytes)
{
	const bool full = bytes >= ioband_discard_bytes(discard, granularity);

	return (full ? discard->us[shift_of(discard)] : discard->part_us) ?: IOBAND_DISCARD_US;
}

static void mean_add(u32 *mean, u32 us)
{
	*mean = max_t(u32, *mean ? (3 * (u64)*mean + us) / 4 : us, 1);
}

/* Change the size, and forget the times of others but half and double. */
static void set_shift(struct ioband_discard *discard, u8 shift)
{
	for (u8 other = 0; other <= IOBAND_DISCARD_LAST; other++)
		if (other + 1 < shift || other > shift + 1)
			discard->us[other] = 0;
	discard->shift = shift;
	discard->splits = 0;
}

/* The size that follows from the times that are known. */
static u8 next_shift(const struct ioband_discard *discard, u32 granularity)
{
	const u8 shift = shift_of(discard);
	const bool larger = shift < IOBAND_DISCARD_LAST;
	const bool smaller = size_of(shift - 1, granularity) < size_of(shift, granularity);
	const u64 half_us = smaller ? discard->us[shift - 1] : 0;
	const u64 double_us = larger ? discard->us[shift + 1] : 0;
	const u64 us = discard->us[shift];

	if (double_us > IOBAND_DISCARD_US && 4 * us > 3 * double_us)
		return shift + 1;
	if (us <= IOBAND_DISCARD_US / 2)
		return larger ? shift + 1 : shift;
	if (us <= IOBAND_DISCARD_US)
		return shift;
	if (smaller && 4 * half_us <= 3 * us)	/* or it is unknown */
		return shift - 1;
	if (larger && !double_us && (!smaller || 8 * half_us > 7 * us))
		return shift + 1;
	return shift;
}

/* A split, or a @whole discard, has completed. */
void ioband_discard_learn(struct ioband_discard *discard, u32 granularity, u32 bytes, bool whole,
			  u64 ns)
{
	const u32 us = min_t(u64, div_u64(ns, NSEC_PER_USEC), U32_MAX);
	const u8 shift = shift_of(discard);
	u8 next;

	if (bytes < ioband_discard_bytes(discard, granularity)) {
		mean_add(&discard->part_us, us);
		/* Where no discard is large enough, no split shows that splits are too large. */
		if (whole && us > max(discard->us[shift], IOBAND_DISCARD_US))
			set_shift(discard, max(ilog2(bytes), ilog2(granularity)));
		return;
	}
	mean_add(&discard->us[shift], us);
	if (++discard->splits == IOBAND_DISCARD_SPLITS) {
		discard->splits = 0;
		discard->us[shift - 1] = 0;
		if (shift < IOBAND_DISCARD_LAST)
			discard->us[shift + 1] = 0;
	}
	next = next_shift(discard, granularity);
	if (next != shift)
		set_shift(discard, next);
}

void ioband_discard_init(struct ioband_lost *lost)
{
	*lost = (struct ioband_lost) {
		.work = IOBAND_DISCARD_WORK,
		.work_ns = NSEC_PER_MSEC,
	};
}

/*
 * Bios with data were served for @ns while no discard was in flight.  To be called every 10 ms or
 * so.  Each call counts an eighth more than the one before.
 */
void ioband_discard_learn_rate(struct ioband_lost *lost, u64 work, u64 ns)
{
	lost->work -= lost->work / 8;
	lost->work += work;
	lost->work_ns -= lost->work_ns / 8;
	lost->work_ns += ns;
}

/* A discard or a split is dispatched. */
void ioband_discard_begin(struct ioband_lost *lost, u64 now_ns)
{
	if (lost->inflight++)
		return;
	lost->began_ns = now_ns;
	lost->since_ns = now_ns;
	lost->beside = 0;
}

/*
 * A discard or a split has completed, and took @lost_ns of device time.  Discards that were in
 * flight together share the time between their completions.  Return: its cost, in units of charge.
 */
u32 ioband_discard_end(struct ioband_lost *lost, u64 now_ns, u64 *lost_ns)
{
	const u64 ns = now_ns - min(now_ns, lost->since_ns);
	const u64 due = ioband_mul_div(ns, lost->work, max(lost->work_ns, 1ULL));
	const u64 cost = due - min(due, lost->beside);

	*lost_ns = due ? ioband_mul_div(ns, cost, due) : ns;
	lost->since_ns = max(lost->since_ns, now_ns);
	lost->beside = 0;
	lost->inflight--;
	return min_t(u64, cost, U32_MAX);
}

/* Is a discard in flight, or was one lately? */
bool ioband_discard_is_recent(const struct ioband_lost *lost, u64 now_ns)
{
	return lost->inflight ||
	       (lost->since_ns && now_ns < lost->since_ns + IOBAND_DISCARD_RECENT_NS);
}
