/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies below the scheduler, which delay the I/Os of a leaf.  A policy of 0 has ended.
 *
 *	interval_ns	a maximum (io.max): the time from one I/O to the next
 *	others		a weight (io.cost): an I/O for so many of the other leaves, or when these
 *			do nothing
 *	device		a disk of a volume: I/Os of the leaf are for this one
 */
#ifndef SIM_DELAY_H
#define SIM_DELAY_H

#include "device.h"

struct sim_delay {
	struct sim_clock *clock;
	u64 interval_ns;
	u32 others;
	struct sim_device *device;

	struct sim_device *target;	/* of the I/Os that wait */
	struct sim_io *head, *tail;
	u32 seen;			/* of others, since the last I/O */
	u32 looked;			/* the same a while ago */
	u64 next_ns;			/* of the maximum: no I/O before that, if none waits */
};

void delay_init(struct sim_delay *delay, struct sim_clock *clock);
/* An I/O of a leaf with a policy, or without (NULL), is on its way to a device. */
void delay_submit(struct sim_delay *delay, struct sim_device *device, struct sim_io *io);
/* An I/O of another leaf has completed. */
void delay_note_other(struct sim_delay *delay);

#endif /* SIM_DELAY_H */
