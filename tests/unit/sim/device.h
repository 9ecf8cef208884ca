/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Models of devices.
 *
 * A device takes any number of I/Os; past what its hardware queue holds they
 * stand in a first-come queue in front of it, as blk-mq does without a
 * scheduler.
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
	struct sim_io *next_piece;	/* of all pieces that there are */
	struct sim_io **prev_piece;	/* what points to this one */
	struct sim_job *job;
	struct sim_leaf *leaf;
	struct sim_device *device;
	u64 pos;
	u32 bytes;
	bool write;
	bool cached;	/* a copy in the disk's write cache */
	u64 born_ns;	/* arrived */
	u64 born_at;	/* what had gone down then, see struct sim_pool */
	u64 sent_ns;	/* went down to the device */
	struct sim_io *whole;	/* this is a piece of that; else NULL */
	u32 piece_bytes;	/* it goes in pieces of this size; 0: as a whole */
	u32 admitted_bytes;	/* of these pieces, what has gone down */
	u32 unfinished_bytes;	/* what has not completed */
	u64 head_ns;	/* a disk: the time that it took, the way there included */
	bool open;	/* went down in the pool's open state, past the scheduler */
};

enum sim_model {
	/* A pipe: a rate, a time per I/O on the pipe, a latency beside it. */
	SIM_LINE,
	/* Channels of 4-KiB pages behind one link; large reads are favoured. */
	SIM_FLASH,
	/* One head: seek, rotation, transfer; picks the nearest of its queue. */
	SIM_DISK,
	/* A fixed time for each I/O, so many at once (scsi_debug, a capped volume). */
	SIM_VOLUME,
};

/* All but @name, @model and @queue may be 0 where the model does not use it. */
struct sim_spec {
	const char *name;
	enum sim_model model;
	u32 queue;		/* what the hardware queue holds */
	u64 bps;		/* line, flash link, disk media: bytes a second */
	u64 latency_ns;		/* line: beside the pipe; flash: of a page read; volume */
	u64 per_io_ns;		/* line: on the pipe */
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
	double slow;		/* everything takes so many times longer; 1 at first */
	u64 stalled_until_ns;	/* completes nothing before that */

	struct sim_io *fifo_head, *fifo_tail;	/* not yet in the hardware queue */
	u32 queued;			/* in it */
	u64 pipe_free_ns;
	u64 channel_free_ns[64];

	struct sim_io *disk_queue;
	struct sim_io *disk_dirty;	/* completed writes in the cache */
	struct sim_io *disk_busy;
	u32 disk_dirty_bytes;
	u64 disk_head;
	void (*flushed)(void *owner);	/* what a flush that goes on calls at its end */
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
