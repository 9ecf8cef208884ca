/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: queued bios, and their dispatch. */
#ifndef DM_IOBAND_DISPATCH_H
#define DM_IOBAND_DISPATCH_H

#include "io.h"

/* For the ticks of all pools, and for bios that a dispatch has left. */
extern struct workqueue_struct *ioband_dispatch_wq;

typedef bool (*ioband_wanted_fn)(const struct ioband_io *io, const void *of);

int ioband_dispatch_init(void);
void ioband_dispatch_exit(void);
void ioband_dispatch_unpark(struct ioband_pool *pool);
void ioband_dispatch_launch(struct ioband_io *io, struct bio *bio, u64 now_ns);
u32 ioband_dispatch_split_large(const struct ioband_io *io);
void ioband_dispatch(struct ioband_pool *pool, u64 now_ns);
void ioband_dispatch_rest(struct work_struct *work);
void ioband_dispatch_wbt_waiting(struct ioband_pool *pool, struct list_head *waiting);
enum hrtimer_restart ioband_dispatch_wake(struct hrtimer *timer);
u64 ioband_dispatch_take(struct ioband_stream *stream, struct bio_list *taken, u64 most,
			 ioband_wanted_fn wanted, const void *of);
void ioband_dispatch_yield(struct ioband_pool *pool);

/* Bios in flight that count against the limit. */
static inline u32 ioband_dispatch_inflight(const struct ioband_pool *pool)
{
	return ioband_tree_counted_ios(&pool->core) - pool->core.extra_ios;
}

static inline void ioband_dispatch_note_inflight(struct ioband_pool *pool)
{
	pool->peak_ios = max(pool->peak_ios, ioband_dispatch_inflight(pool));
}

static inline enum ioband_dir ioband_dispatch_dir(const struct bio *bio)
{
	return op_is_write(bio_op(bio)) ? IOBAND_DIR_WRITE : IOBAND_DIR_READ;
}

/*
 * The size of the splits of a bio; 0: it is dispatched as a whole.  In the open state it is split
 * only if it is much of its group's maximum for a second.  Under the pool's lock.
 */
static inline u32 ioband_dispatch_split_bytes(const struct ioband_io *io)
{
	const struct ioband_pool *pool = io->group->pool;

	if (likely((io->bytes <= pool->split_bytes || !pool->split_bytes) && !pool->core.has_max))
		return 0;
	return ioband_dispatch_split_large(io);
}

#endif /* DM_IOBAND_DISPATCH_H */
