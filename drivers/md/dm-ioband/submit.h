/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: queues of dispatched bios, for workers to submit. */
#ifndef DM_IOBAND_SUBMIT_H
#define DM_IOBAND_SUBMIT_H

#include "io.h"

/* Dispatched bios of a target, of one lane, that arrived on one CPU. */
struct ioband_queue {
	struct llist_head ios;		/* the latest first */
	struct ioband_target *target;
	enum ioband_lane lane;
	struct work_struct work;	/* submits the bios on their CPU */
	struct task_struct *worker;	/* task that runs @work, or NULL */
	struct work_struct rescue;	/* submits them on another CPU, maybe at the same time */
	bool late;		/* the CPU does not run @work, and @rescue takes its place */
	atomic_t in_hand;	/* workers that have not submitted all bios that they have taken */
	/* while a worker submitted the bios last taken; of the size of xchg() */
	unsigned int slept;
	/* streams with writes that wait for a worker; under the pool's lock */
	struct list_head waiting;
	unsigned int takes;		/* how often a worker has taken bios */
	unsigned int seen;		/* value of @takes at the last look of the pool's tick */
	bool waited;			/* bios were waiting then */
	unsigned long since;	/* when @takes had changed, or no bio was waiting, in jiffies */
	bool stuck;			/* that is long ago; no stream waits for the worker */
};

void ioband_submit_bio(struct ioband_io *io);
void ioband_submit_split(struct ioband_io *io);
void ioband_submit_again(struct ioband_io *io);
struct list_head *ioband_submit_wbt_waiting(struct ioband_io *io);
void ioband_submit_flush(struct ioband_target *target);
bool ioband_submit_look(struct ioband_queue *queue, int cpu);

#endif /* DM_IOBAND_SUBMIT_H */
