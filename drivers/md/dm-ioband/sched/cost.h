/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: what a bio costs.
 *
 * Pure, like the scheduler.  The measure of the pool says what is shared, and
 * so what is charged; what occupies the device is counted in bytes whatever
 * the measure.
 */
#ifndef DM_IOBAND_COST_H
#define DM_IOBAND_COST_H

#include <linux/minmax.h>
#include <linux/types.h>

#include "policy.h"

/**
 * enum ioband_measure - what the groups of a pool share
 * @IOBAND_MEASURE_BYTES: bytes transferred
 * @IOBAND_MEASURE_IOS: bios, whatever their size
 * @IOBAND_MEASURE_TIME: the time that a group has the device to itself, which is
 *	charged as it passes (see sched/slice.c), and not by bill
 * @IOBAND_NR_MEASURES: how many there are
 */
enum ioband_measure {
	IOBAND_MEASURE_BYTES,
	IOBAND_MEASURE_IOS,
	IOBAND_MEASURE_TIME,
	IOBAND_NR_MEASURES,
};

/*
 * One I/O in units of charge.  Of the order of a bio, so that virtual times
 * survive a change of measure, and that what the core allows in leads and lags
 * (a large bio, all that a group may hold) means about the same in I/Os.
 */
#define IOBAND_IO_CHARGE	65536

/*
 * Discard, write-zeroes and secure erase transfer nothing, and may cover the
 * whole device.  They cost what they cover up to this: a large bio.
 */
#define IOBAND_NO_DATA_MAX	1048576U

/**
 * ioband_cost() - make out the bill for a bio
 * @measure: of the pool
 * @bytes: that the bio covers
 * @has_data: whether it transfers them
 *
 * Return: the bill.
 */
static inline struct ioband_bill ioband_cost(enum ioband_measure measure, u32 bytes, bool has_data)
{
	struct ioband_bill bill = { .bytes = has_data ? bytes : min(bytes, IOBAND_NO_DATA_MAX) };

	bill.charge = measure == IOBAND_MEASURE_IOS ? IOBAND_IO_CHARGE : bill.bytes;
	return bill;
}

#endif /* DM_IOBAND_COST_H */
