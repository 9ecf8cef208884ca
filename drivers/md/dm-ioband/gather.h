/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: completions on their way to the scheduler. */
#ifndef DM_IOBAND_GATHER_H
#define DM_IOBAND_GATHER_H

#include "io.h"

/* A completion. */
struct ioband_done {
	struct ioband_stream *stream;
	struct ioband_member *member;
	struct ioband_stats *stats;	/* of the group, pinned by the bio */
	u64 now_ns;
	u64 latency_ns;		/* since the arrival of the whole bio; 0: it has not completed */
	struct ioband_bill bill;	/* of a split, not the charge */
	u32 whole_bytes;		/* of the whole bio; without data, as in its bill */
	u8 op;
	bool splittable;		/* the bio could be split */
	bool idle;			/* the completion came to a CPU that was idle */
};

int ioband_gather_init_pool(struct ioband_pool *pool);
void ioband_gather_exit_pool(struct ioband_pool *pool);
struct ioband_done *ioband_gather_begin(struct ioband_pool *pool, unsigned long *flags);
void ioband_gather_end(struct ioband_pool *pool, unsigned long flags);
void ioband_gather_pass(struct ioband_pool *pool, u64 now_ns);
void ioband_gather_pass_with(struct ioband_pool *pool, const struct ioband_done *done);
void ioband_gather_tick(struct ioband_pool *pool, u64 now_ns);
void ioband_gather_pass_any(struct ioband_pool *pool);

#endif /* DM_IOBAND_GATHER_H */
