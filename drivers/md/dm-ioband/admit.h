/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: admission under the pool's lock. */
#ifndef DM_IOBAND_ADMIT_H
#define DM_IOBAND_ADMIT_H

#include "io.h"

enum ioband_urgency {
	IOBAND_IN_TURN,	/* as the scheduler says */
	IOBAND_AS_DEBT,	/* at once, unless its group has much debt */
	IOBAND_AT_ONCE,	/* the whole system may wait for it */
};

/* The group of a bio, for the next one under the same hold of the pool's lock. */
struct ioband_found {
	const struct ioband_target *target;	/* target of the bio */
	enum ioband_mode mode;		/* mode of its mapped device */
	const void *blkg;	/* of the bio: its cgroup as the block layer knows it */
	struct ioband_group *group;	/* the group that was found; NULL: none yet */
	struct ioband_stats *stats;	/* its counters */
	bool queues;	/* it competes: bios are queued, unless the only one may be dispatched */
	struct ioband_stream *stream;	/* of the bio, for others that are alike; or NULL */
	u8 op;				/* of these, */
	u32 ios;			/* their number, not counted yet, */
	u64 bytes;			/* and their size */
};

enum ioband_urgency ioband_admit_urgency(const struct bio *bio);
unsigned int ioband_admit_times(const struct bio *bio);
bool ioband_admit_gives_back(const struct ioband_target *target);
unsigned long ioband_admit_lock_group(struct ioband_pool *pool, struct ioband_io *io,
				      struct bio *bio, enum ioband_mode mode, bool direct,
				      bool may_wait) __acquires(&pool->lock);
void ioband_admit_prepare(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
			  bool direct);
int ioband_admit(struct ioband_target *target, struct ioband_io *io, struct bio *bio,
		 enum ioband_mode mode, enum ioband_urgency urgency, bool direct);
void ioband_admit_alike(struct ioband_found *found);
bool ioband_admit_late(struct ioband_io *io, struct bio *bio, bool several, u64 now_ns,
		       struct ioband_found *found);

/* The bio has not been admitted yet. */
static inline void ioband_admit_begin(struct ioband_io *io)
{
	io->shared = false;
	io->wait_us = 0;
	io->cpu = raw_smp_processor_id();
	io->split_bytes = 0;
}

#endif /* DM_IOBAND_ADMIT_H */
