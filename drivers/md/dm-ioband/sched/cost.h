/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: cost of a bio.
 *
 * Pure, like the scheduler.  The measure of the pool defines the shared quantity, and thereby
 * the charge.  The bytes that occupy the device are counted with any measure.
 */
#ifndef DM_IOBAND_COST_H
#define DM_IOBAND_COST_H

#include <linux/minmax.h>
#include <linux/types.h>

#include "policy.h"

/* Quantity that the groups of a pool share. */
enum ioband_measure {
	IOBAND_MEASURE_BYTES,		/* bytes transferred */
	IOBAND_MEASURE_IOS,		/* bios of any size */
	IOBAND_MEASURE_TIME,		/* device time, charged as it passes (sched/slice.c) */
	IOBAND_NR_MEASURES,
};

/*
 * One I/O in units of charge.  It is of the order of a bio, so that virtual times survive a
 * change of measure.  The bounds of leads and lags (a large bio, all bios that a group may
 * queue) thereby mean about the same in I/Os.
 */
#define IOBAND_IO_CHARGE	65536

/*
 * Discard, write-zeroes and secure erase transfer no data, and may cover the whole device.  In a
 * maximum or a minimum they count as the bytes that they cover, up to this: a large bio.  Their
 * charge is measured (sched/discard.c).
 */
#define IOBAND_NO_DATA_MAX	1048576U

/* The bill of a bio that covers so many bytes. */
static inline struct ioband_bill ioband_cost(enum ioband_measure measure, u32 bytes, bool has_data)
{
	struct ioband_bill bill = {
		.bytes = has_data ? bytes : min(bytes, IOBAND_NO_DATA_MAX),
		.no_data = !has_data,
	};

	if (has_data)
		bill.charge = measure == IOBAND_MEASURE_IOS ? IOBAND_IO_CHARGE : bytes;
	return bill;
}

/* Units of charge of a completed bio or split; a size of the bio of 0 counts as 1. */
static inline u64 ioband_cost_done(enum ioband_measure measure, u32 bytes, u32 whole_bytes)
{
	if (measure != IOBAND_MEASURE_IOS)
		return bytes;
	return (u64)bytes * IOBAND_IO_CHARGE / (whole_bytes ?: 1);
}

#endif /* DM_IOBAND_COST_H */
