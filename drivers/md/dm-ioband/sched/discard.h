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

/**
 * struct ioband_discard - device time of the discards of one device, of one operation
 * @us: mean time of splits, by the power of two of their size; 0: unknown
 * @part_us: mean time of discards below the size of splits; 0: unknown
 * @shift: power of two of the size of splits; 0: IOBAND_DISCARD_FIRST
 * @splits: splits of this size since it was last changed, or others were last tried
 */
struct ioband_discard {
	u32 us[IOBAND_DISCARD_LAST + 1];
	u32 part_us;
	u8 shift;
	u8 splits;
};

/**
 * struct ioband_lost - service that a pool's devices lose to discards
 * @work: service while no discard was in flight, in units of charge; older service counts less
 * @work_ns: time of that service
 * @beside: service since @since_ns, while discards were in flight
 * @since_ns: when a discard last completed, or was dispatched while none was in flight
 * @began_ns: when discards began to be in flight
 * @inflight: number of discards and splits of discards in flight
 */
struct ioband_lost {
	u64 work;
	u64 work_ns;
	u64 beside;
	u64 since_ns;
	u64 began_ns;
	u32 inflight;
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
