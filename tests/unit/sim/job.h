/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A closed loop: so many I/Os outstanding, each followed by a think time and
 * the next.
 */
#ifndef SIM_JOB_H
#define SIM_JOB_H

#include "pool.h"

struct sim_workload {
	u32 depth;
	u32 bytes;		/* of an I/O; the smaller size of two */
	u32 large_bytes;	/* the other, 0: none */
	u32 large_pct;		/* how many of those */
	u32 write_pct;
	bool awaited;		/* its writes are */
	bool sequential;
	bool decks;		/* sizes and directions are drawn from decks */
	u64 think_ns;
	bool think_random;	/* anything from 0 to twice that */
	u64 on_ns;		/* with off_ns: how long it runs, and rests, by turns */
	u64 off_ns;
};

/* So many of a hundred at random, and of each deck nearly exactly: dice differ little. */
struct sim_deck {
	u32 left;
	u32 hits;
};

struct sim_job {
	struct sim_pool *pool;
	struct sim_workload work;
	struct sim_random random;
	struct sim_deck large;
	struct sim_deck writes;
	u64 base;		/* where its data lies */
	u64 next;		/* sequential: offset of the next */
	u64 stop_ns;		/* issues nothing any more from then on */
	struct sim_io *ios;
};

void job_start(struct sim_job *job, struct sim_pool *pool, struct sim_leaf *leaf,
	       const struct sim_workload *work, u64 seed);
void job_free(struct sim_job *job);
void job_completed(struct sim_io *io);

#endif /* SIM_JOB_H */
