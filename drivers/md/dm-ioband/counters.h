/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of counters and histograms of a group. */
#ifndef DM_IOBAND_COUNTERS_H
#define DM_IOBAND_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

/* Operations that are counted separately. */
enum ioband_op {
	IOBAND_OP_READ,
	IOBAND_OP_WRITE,		/* and write-zeroes */
	IOBAND_OP_DISCARD,		/* and secure erase */
	IOBAND_NR_OPS,
};

/* Bucket 0 is below 1 us, bucket i below 2^i us; the last bucket has no upper bound. */
#define IOBAND_NR_BUCKETS	26

/* Completed bios of one operation. */
struct ioband_counters {
	u64 ios;
	u64 bytes;
	u64 held;			/* bios that had been queued */
	u64 wait_ns;			/* total time for which they were queued */
	u64 service_ns;			/* total time of all bios at the device below */
};

/*
 * Counters of a group on one CPU.  The sum of the last three over all CPUs, which alone has a
 * meaning, pins the counters and the group.
 */
struct ioband_cpu_stats {
	struct ioband_counters op[IOBAND_NR_OPS];	/* without the times in histograms */
	int inflight[IOBAND_NR_OPS];	/* submitted less completed */
	int open[IOBAND_NR_OPS];	/* the same for bios dispatched in the open state */
	int users;			/* tasks that read the group's state, or wait for it */
};

/* Latencies of bios. */
struct ioband_histogram {
	u64 sum_ns;
	u64 bios[IOBAND_NR_BUCKETS];	/* 32 bits would wrap in 2.4 hours of 500 000 a second */
};

/* The histograms of a group on one CPU. */
struct ioband_cpu_hist {
	struct ioband_histogram wait[IOBAND_NR_OPS];	/* of bios that were queued */
	struct ioband_histogram service[IOBAND_NR_OPS];	/* time below ioband */
};

/* The sum of a group's counters. */
struct ioband_sum {
	struct ioband_counters op[IOBAND_NR_OPS];
	int inflight[IOBAND_NR_OPS];	/* or queued */
};

/* Queued bios. */
struct ioband_held {
	u32 ios;
	u64 bytes;
};

/*
 * Classes of counters, by the settings of their group.  Each class has a larger budget, which
 * includes the classes before it.
 */
enum ioband_stats_kind {
	IOBAND_STATS_UNSET,		/* no settings, or beyond the budget of another class */
	IOBAND_STATS_SET,	/* a weight or latency target, of the group or of one below */
	IOBAND_STATS_LIMITED,		/* likewise a maximum or a minimum */
	IOBAND_NR_STATS_KINDS,
};

/* The counters and histograms of a group. */
struct ioband_stats {
	struct ioband_cpu_stats __percpu *cpu;
	struct ioband_cpu_hist __percpu *hist;	/* NULL until it could be allocated */
	/* in &ioband_pool.spare_stats or .plain_stats; under the pool's lock */
	struct list_head list;
	enum ioband_stats_kind kind;
};

#endif /* DM_IOBAND_COUNTERS_H */
