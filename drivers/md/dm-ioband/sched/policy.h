/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: maximum, minimum and latency target of an entity, and their state. */
#ifndef DM_IOBAND_SCHED_POLICY_H
#define DM_IOBAND_SCHED_POLICY_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#define IOBAND_WEIGHT_MIN	1
#define IOBAND_WEIGHT_MAX	10000
#define IOBAND_WEIGHT_DEFAULT	100

/* In place of a weight: the idle class, see sched/idle.c. */
#define IOBAND_WEIGHT_IDLE	(IOBAND_WEIGHT_MAX + 1)

struct ioband_ent;

/* Direction of a bio. */
enum ioband_dir {
	IOBAND_DIR_READ,		/* reads */
	IOBAND_DIR_WRITE,		/* everything that changes the device, including discards */
	IOBAND_NR_DIRS,
};

/* Cost of one bio. */
struct ioband_bill {
	u32 charge;			/* units of the measure of the pool */
	u32 bytes;			/* bytes that occupy the device */
	u8 ios;	/* bios for a maximum or minimum: of a split bio, the first part counts */
	u8 dir;
	bool more;			/* other splits of the same bio follow */
	bool cached;	/* may complete in the device's write cache, before it is on the medium */
	bool async;		/* by a flusher; only tasks in dirty throttling wait for it */
	bool awaited;		/* read, or write for which a task waits: for a latency target */
	bool no_data;		/* discard, write-zeroes or secure erase, see sched/discard.c */
	bool swap;		/* write to swap, out of turn; its bound is that of the caller */
	bool for_min;			/* at its completion: the result of ioband_core_admit() */
};

/* Per second, by direction; 0: no bound. */
struct ioband_rates {
	u64 bytes[IOBAND_NR_DIRS];
	u64 ios[IOBAND_NR_DIRS];
};

/* Token bucket. */
struct ioband_bucket {
	u64 rate;			/* per second; 0: no bound */
	u64 next_ns;			/* when the I/O so far is paid for */
	u64 rest;			/* remainder of the last division, 1/@rate ns */
};

/* Token buckets, by direction. */
struct ioband_buckets {
	struct ioband_bucket bytes[IOBAND_NR_DIRS];
	struct ioband_bucket ios[IOBAND_NR_DIRS];
};

/* A trail keeps the last second in this many parts. */
#define IOBAND_TRAIL_PARTS	32

/* Times of recent I/O. */
struct ioband_trail {
	/* when each of the last parts was used up; a ring */
	u64 at_ns[IOBAND_TRAIL_PARTS + 1];
	u32 last;			/* the latest part */
	u32 used_ns;			/* used time of the next part */
};

/* Maximum of an entity. */
struct ioband_max {
	struct ioband_ent *ent;
	struct ioband_buckets buckets;
	struct ioband_trail bytes[IOBAND_NR_DIRS];	/* by direction */
	struct ioband_trail ios[IOBAND_NR_DIRS];	/* by direction */
	u64 waits_ns[IOBAND_NR_DIRS];	/* since when active and not blocked; U64_MAX: not active */
	bool begun[IOBAND_NR_DIRS];	/* some splits of a bio are dispatched, others follow */
	struct rb_node rb;		/* place among the blocked maxima, while blocked */
	u64 until_ns;			/* when the first of its directions is no longer blocked */
	u64 held_until_ns[IOBAND_NR_DIRS];	/* end of the last block */
	u64 blocked;			/* directions, as halves of &ioband_ent.waiting */
};

/* Does a smaller limit of the others bring a missed minimum more? */
struct ioband_min_trial {
	u64 missed_ns;			/* when the minimum was last missed */
	u64 begun_ns;		/* begin of the window of measurement; 0: it is not missed */
	u64 bytes;			/* bytes dispatched in the window */
	u64 rates[2];			/* bytes a second in the last window, by @wide */
	u64 until_ns;		/* until then, the limit that was worse is not tried */
	u32 ios;			/* bios dispatched in the window */
	bool wide;	/* the others keep their limit while no bio of the minimum is queued */
	bool trying;			/* this limit of the others was the worse one so far */
};

/* Minimum of an entity. */
struct ioband_min {
	struct ioband_ent *ent;
	struct ioband_buckets buckets;
	/* place in &ioband_core.flying, unless its next bio is queued or @due_ns is U64_MAX */
	struct rb_node rb;
	/* of its next bio; U64_MAX: it is not active, or a maximum blocks all of them */
	u64 due_ns;
	u64 inactive_ns;		/* when @active last ended, while it is false */
	u32 inflight;		/* bios of @ent in flight, without those of flows that are apart */
	bool active;		/* bios are in flight, or queued and not blocked at or below @ent */
	bool queued;			/* its next bio is queued */
	u64 order;			/* greater than that of minima updated before */
	u8 dir;				/* direction of the last bio */
	bool tries;			/* counts in &ioband_core.min_tries */
	struct ioband_min_trial trial;
};

/* Latency target of an entity, for its reads or its awaited writes. */
struct ioband_latency {
	struct ioband_ent *ent;
	struct list_head latencies;	/* place in &ioband_core.latencies */
	u64 target_ns;			/* from arrival to completion */
	u64 mean_ns;			/* at the last evaluation */
	u64 since_ns;			/* time of the last evaluation */
	u64 sum_ns;			/* sum since then */
	u32 ios;			/* number of bios since then */
	u32 inflight;			/* awaited bios in flight, at least */
	u8 dir;
};

/* A round of looks at all latency targets; one look takes some of them. */
struct ioband_latency_round {
	struct ioband_latency *worst;	/* of those looked at, missed by the largest factor */
	u32 left;			/* targets that are left in the round */
	u32 forget;	/* targets of which the latencies so far have yet to be discarded */
	bool looked;			/* the mean of @worst is new */
};

/* Throttle of other leaves while an entity is late. */
struct ioband_latency_throttle {
	/* for the bytes of the others; without a rate it holds none */
	struct ioband_bucket bucket;
	u64 bytes;			/* bytes of the others since @since_ns */
	u64 late_bytes;			/* bytes of @worst since @since_ns */
	u64 first_rate;			/* rate of the others when the throttle began */
	u64 since_ns;			/* time of the last evaluation */
	struct ioband_latency *worst;	/* target that was then missed by the largest factor */
};

#endif /* DM_IOBAND_SCHED_POLICY_H */
