/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: queues of dispatched bios, for workers to submit.
 */
#ifndef DM_IOBAND_SUBMIT_H
#define DM_IOBAND_SUBMIT_H

#include "io.h"

/**
 * struct ioband_queue - dispatched bios of a target, of one lane, that arrived on one CPU
 * @ios: the bios, the latest first
 * @target: the target
 * @lane: the lane
 * @work: submits the bios on their CPU
 * @worker: task that runs @work, or NULL
 * @rescue: submits the bios on another CPU; both may run at the same time
 * @late: the CPU of the queue does not run @work, and @rescue takes its place
 * @in_hand: number of workers that have taken bios, and have not submitted all of them
 * @slept: the worker slept while it submitted the bios that it took last; of the size of xchg()
 * @waiting: streams; their next writes stay queued while a worker has bios to submit; under the
 *	pool's lock
 * @takes: how often a worker has taken bios
 * @seen: value of @takes at the last look of the pool's tick
 * @waited: bios were waiting then
 * @since: when @takes was found changed, or no bio waiting, in jiffies
 * @stuck: that is long ago; no stream waits for the worker
 */
struct ioband_queue {
	struct llist_head ios;
	struct ioband_target *target;
	enum ioband_lane lane;
	struct work_struct work;
	struct task_struct *worker;
	struct work_struct rescue;
	bool late;
	atomic_t in_hand;
	unsigned int slept;
	struct list_head waiting;
	unsigned int takes;
	unsigned int seen;
	bool waited;
	unsigned long since;
	bool stuck;
};

void ioband_submit_bio(struct ioband_io *io);
void ioband_submit_split(struct ioband_io *io);
void ioband_submit_again(struct ioband_io *io);
struct list_head *ioband_submit_wbt_waiting(struct ioband_io *io);
void ioband_submit_flush(struct ioband_target *target);
bool ioband_submit_look(struct ioband_queue *queue, int cpu);

#endif /* DM_IOBAND_SUBMIT_H */
