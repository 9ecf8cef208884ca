/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: events in order.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <linux/types.h>

struct sim_event {
	u64 at_ns;
	u64 seq;		/* events of one instant run in order of scheduling */
	void (*fn)(void *arg);
	void *arg;
};

struct sim_clock {
	u64 now_ns;
	u64 seq;
	struct sim_event *heap;
	size_t n;
	size_t room;
};

void clock_init(struct sim_clock *clock);
void clock_free(struct sim_clock *clock);
/* Run @fn at @at_ns, or now if that is past. */
void clock_at(struct sim_clock *clock, u64 at_ns, void (*fn)(void *arg), void *arg);
/* Run all events up to and including @until_ns, which is then the time. */
void clock_run(struct sim_clock *clock, u64 until_ns);

#endif /* SIM_CLOCK_H */
