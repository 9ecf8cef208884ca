/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Models of devices.
 *
 * A device takes any number of I/Os.  I/Os beyond its hardware queue wait in a first-come
 * queue in front of it, as in blk-mq without a scheduler.
 */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <linux/types.h>

#include "clock.h"
#include "random.h"

struct sim_job;
struct sim_leaf;

struct sim_io {
	struct sim_io *next;
	struct sim_io *next_split;	/* in the list of all splits */
	struct sim_io **prev_split;	/* the pointer to this split */
	struct sim_job *job;
	struct sim_leaf *leaf;
	struct sim_device *device;
	u64 pos;
	u32 bytes;
	bool write;
	bool awaited;	/* a write for which a task waits */
	bool cached;	/* a copy in the disk's write cache */
	u64 born_ns;	/* arrived */
	u64 born_at;	/* the amount dispatched until then, see struct sim_pool */
	u64 sent_ns;	/* dispatched to the device */
	struct sim_io *whole;	/* the I/O of which this is a split; else NULL */
	u32 split_bytes;	/* size of its splits; 0: not split */
	u32 admitted_bytes;	/* of its splits: dispatched */
	u32 unfinished_bytes;	/* not completed yet */
	u64 head_ns;	/* a disk: its service time, seek included */
	bool open;	/* dispatched in the pool's open state, without the scheduler */
	bool for_min;	/* the result of ioband_core_admit() */
};

enum sim_model {
	/* A line: a rate, a time per I/O on the line, a latency beside it. */
	SIM_LINE,
	/* Channels of 4-KiB pages behind one link; large reads are favoured. */
	SIM_FLASH,
	/* One head: seek, rotation, transfer; picks the nearest of its queue. */
	SIM_DISK,
	/* A fixed time for each I/O, several at once (scsi_debug, a capped volume). */
	SIM_VOLUME,
	/* As a line, but no more than so many bytes in each window (null_blk's mbps). */
	SIM_WINDOW,
};

/* Members other than @name, @model and @queue may be 0 if the model does not use them. */
struct sim_spec {
	const char *name;
	enum sim_model model;
	u32 queue;		/* size of the hardware queue */
	u64 bps;		/* line, flash link, disk media, window: bytes a second */
	u64 latency_ns;		/* line: beside its rate; flash: of a page read; volume */
	u64 per_io_ns;		/* line, window: added to each I/O */
	u64 window_ns;		/* window: its length */
	u64 write_ns;		/* flash: of a page written */
	u32 channels;		/* flash */
	u32 favour;		/* flash: I/Os of 32 KiB and more, times faster */
	u32 cache;		/* disk: write cache, bytes */
};

struct sim_device {
	struct sim_clock *clock;
	struct sim_spec spec;
	void (*done)(void *owner, struct sim_io *io);
	void *owner;
	struct sim_random random;
	double slow;		/* factor for all times; 1 at first */
	u64 stalled_until_ns;	/* no completion before that */

	struct sim_io *fifo_head, *fifo_tail;	/* not yet in the hardware queue */
	u32 queued;			/* in the hardware queue */
	u64 pipe_free_ns;
	u64 window;			/* number of the window at @pipe_free_ns, */
	u32 window_bytes;		/* and the bytes that it has left */
	u64 channel_free_ns[64];

	struct sim_io *disk_queue;
	struct sim_io *disk_dirty;	/* completed writes in the cache */
	struct sim_io *disk_busy;
	u32 disk_dirty_bytes;
	u64 disk_head;
	void (*flushed)(void *owner);	/* called at the end of the present flush */
};

extern const struct sim_spec sim_specs[];

const struct sim_spec *sim_spec_find(const char *name);
void device_init(struct sim_device *device, struct sim_clock *clock, const struct sim_spec *spec,
		 void (*done)(void *owner, struct sim_io *io), void *owner);
void device_free(struct sim_device *device);
void device_submit(struct sim_device *device, struct sim_io *io);
/* Empty the write cache; one at a time.  May call @flushed before it returns. */
void device_flush(struct sim_device *device, void (*flushed)(void *owner));

#endif /* SIM_DEVICE_H */
