/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: flushes of the devices' write caches. */
#ifndef DM_IOBAND_FLUSH_H
#define DM_IOBAND_FLUSH_H

#include "io.h"

void ioband_flush_init_target(struct ioband_target *target);
void ioband_flush_exit_target(struct ioband_target *target);
bool ioband_flush_end(struct ioband_target *target, bool failed, u64 now_ns);
bool ioband_flush_start(struct ioband_pool *pool);
void ioband_flush_give_up(struct ioband_pool *pool, u64 now_ns);
void ioband_flush_suspend(struct ioband_target *target);
u64 ioband_flush_covers(const struct ioband_target *target);
void ioband_flush_note_from_above(struct ioband_target *target, u64 covers, u64 ns);
void ioband_flush_tell(struct ioband_target *target, const struct bio *bio, blk_status_t *error);

/* Does only a flush put a completed bio onto the medium?  Without a lock. */
static inline bool ioband_flush_is_needed(const struct ioband_target *target,
					  const struct bio *bio)
{
	return READ_ONCE(target->pool->slice_ms) && bio_op(bio) == REQ_OP_WRITE &&
	       !(bio->bi_opf & REQ_FUA) && bdev_write_cache(target->dev->bdev);
}

/* Under the pool's lock: a bio is dispatched that may stay in the device's cache. */
static inline void ioband_flush_note(struct ioband_target *target)
{
	if (list_empty(&target->dirty))
		list_add_tail(&target->dirty, &target->pool->dirty);
}

#endif /* DM_IOBAND_FLUSH_H */
