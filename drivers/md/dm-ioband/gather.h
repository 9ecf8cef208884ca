/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: completions on their way to the scheduler.
 */
#ifndef DM_IOBAND_GATHER_H
#define DM_IOBAND_GATHER_H

#include "io.h"

/**
 * struct ioband_done - a completion
 * @stream: stream of the bio
 * @member: mapped device
 * @stats: counters of the group, pinned by the bio
 * @now_ns: time
 * @latency_ns: time since the arrival of the whole bio; 0: the bio has not completed
 * @bill: cost of the bio; of a split, not the charge
 * @whole_bytes: size of the whole bio; without data, as in its bill
 * @op: see &enum ioband_op
 * @splittable: the bio could be split
 * @idle: the completion came to a CPU that was idle
 */
struct ioband_done {
	struct ioband_stream *stream;
	struct ioband_member *member;
	struct ioband_stats *stats;
	u64 now_ns;
	u64 latency_ns;
	struct ioband_bill bill;
	u32 whole_bytes;
	u8 op;
	bool splittable;
	bool idle;
};

int ioband_gather_init_pool(struct ioband_pool *pool);
void ioband_gather_exit_pool(struct ioband_pool *pool);
bool ioband_gather_add(struct ioband_pool *pool, const struct ioband_done *done);
void ioband_gather_pass(struct ioband_pool *pool, u64 now_ns);
void ioband_gather_pass_with(struct ioband_pool *pool, const struct ioband_done *done);
void ioband_gather_tick(struct ioband_pool *pool, u64 now_ns);
void ioband_gather_pass_any(struct ioband_pool *pool);

#endif /* DM_IOBAND_GATHER_H */
