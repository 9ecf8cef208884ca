// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies below the scheduler.
 */
#include "delay.h"

#include <linux/minmax.h>
#include <linux/time64.h>

/* The other leaves do nothing if none of their I/Os completes for so long. */
#define DELAY_IDLE_NS	(20 * NSEC_PER_MSEC)

static void release(struct sim_delay *delay)
{
	struct sim_io *io = delay->head;

	delay->seen = 0;
	if (!io)
		return;
	delay->head = io->next;
	device_submit(delay->target, io);
}

static void release_next(void *arg)
{
	struct sim_delay *delay = arg;

	do
		release(delay);
	while (delay->head && !delay->interval_ns);
	if (delay->head)
		clock_at(delay->clock, delay->clock->now_ns + delay->interval_ns, release_next,
			 delay);
	else
		delay->next_ns = delay->clock->now_ns + delay->interval_ns;
}

static void look(void *arg)
{
	struct sim_delay *delay = arg;

	if (delay->others && delay->seen == delay->looked)
		release(delay);
	delay->looked = delay->seen;
	clock_at(delay->clock, delay->clock->now_ns + DELAY_IDLE_NS, look, delay);
}

void delay_init(struct sim_delay *delay, struct sim_clock *clock)
{
	*delay = (struct sim_delay) { .clock = clock };
	look(delay);
}

void delay_note_other(struct sim_delay *delay)
{
	if (++delay->seen == delay->others)
		release(delay);
}

void delay_submit(struct sim_delay *delay, struct sim_device *device, struct sim_io *io)
{
	if (delay && delay->device)
		device = delay->device;
	if (!delay || (!delay->interval_ns && !delay->others)) {
		device_submit(device, io);
		return;
	}
	io->next = NULL;
	delay->target = device;
	if (delay->head) {
		delay->tail->next = io;
	} else {
		delay->head = io;
		if (delay->interval_ns)
			clock_at(delay->clock, max(delay->next_ns, delay->clock->now_ns),
				 release_next, delay);
	}
	delay->tail = io;
}
