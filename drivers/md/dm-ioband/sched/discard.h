/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the size of the splits of discards, and their cost.
 *
 * Pure, like the scheduler.  Explained on top of sched/discard.c.  A discard stands for all bios
 * without data: discards, write-zeroes and secure erase.
 */
#ifndef DM_IOBAND_SCHED_DISCARD_H
#define DM_IOBAND_SCHED_DISCARD_H

#include <linux/types.h>

/*
 * Device time of the discards in flight, of all devices of a pool: that of a quarter of a seek, or
 * of 20 reads of flash.  A split costs some 50 us on its way, 2 % of this.
 */
#define IOBAND_DISCARD_US	2000U

/* Powers of two of the size of splits: the first, and the largest. */
#define IOBAND_DISCARD_FIRST	20
#define IOBAND_DISCARD_LAST	31

/* Device time of the discards of one device, of one operation. */
struct ioband_discard {
	/* mean time of splits, by the power of two of their size; 0: unknown */
	u32 us[IOBAND_DISCARD_LAST + 1];
	u32 part_us;			/* the same of discards below the size of splits */
	u8 shift;		/* power of two of the size of splits; 0: IOBAND_DISCARD_FIRST */
	u8 splits;			/* since the size was changed, or others were last tried */
};

/* Service that a pool's devices lose to discards. */
struct ioband_lost {
	u64 work;	/* units of charge served while no discard was in flight, mostly lately */
	u64 work_ns;			/* time of that service */
	u64 beside;			/* service since @since_ns, while discards were in flight */
	u64 since_ns;			/* last completion of a discard, or begin of @began_ns */
	u64 began_ns;			/* since when discards are in flight */
	u32 inflight;			/* discards and splits of discards */
};

u32 ioband_discard_bytes(const struct ioband_discard *discard, u32 granularity);
u32 ioband_discard_expect_us(const struct ioband_discard *discard, u32 granularity, u32 bytes);
void ioband_discard_learn(struct ioband_discard *discard, u32 granularity, u32 bytes, bool whole,
			  u64 ns);
void ioband_discard_init(struct ioband_lost *lost);
void ioband_discard_learn_rate(struct ioband_lost *lost, u64 work, u64 ns);
void ioband_discard_begin(struct ioband_lost *lost, u64 now_ns);
u32 ioband_discard_end(struct ioband_lost *lost, u64 now_ns, u64 *lost_ns);
bool ioband_discard_is_recent(const struct ioband_lost *lost, u64 now_ns);

#endif /* DM_IOBAND_SCHED_DISCARD_H */
