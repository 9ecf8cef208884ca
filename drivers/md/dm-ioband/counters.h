/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the structures of counters and histograms of a group.
 */
#ifndef DM_IOBAND_COUNTERS_H
#define DM_IOBAND_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

/**
 * enum ioband_dir - what is counted apart
 * @IOBAND_READ: reads
 * @IOBAND_WRITE: writes, write-zeroes among them
 * @IOBAND_DISCARD: discards and secure erases
 * @IOBAND_NR_DIRS: how many there are
 */
enum ioband_dir {
	IOBAND_READ,
	IOBAND_WRITE,
	IOBAND_DISCARD,
	IOBAND_NR_DIRS,
};

/* Bucket 0 is below 1 us, bucket i below 2^i us, the last takes the rest. */
#define IOBAND_NR_BUCKETS	26

/**
 * struct ioband_counters - what completed, in one direction
 * @ios: bios
 * @bytes: their bytes
 * @held: bios that had been held
 * @wait_ns: how long they were, in all
 * @service_ns: time of all bios at the device below, in all
 */
struct ioband_counters {
	u64 ios;
	u64 bytes;
	u64 held;
	u64 wait_ns;
	u64 service_ns;
};

/**
 * struct ioband_cpu_stats - the counters of a group on one CPU, without the times
 * that are in its histograms
 * @dir: counters
 * @inflight: bios of the group on this CPU: submitted less completed; only the
 *	sum over all CPUs has a meaning.  Pins the counters and the group.
 * @open: likewise, and apart, of those that went in the open state; pins as well
 * @users: likewise, who looks at the group, or waits for it
 */
struct ioband_cpu_stats {
	struct ioband_counters dir[IOBAND_NR_DIRS];
	int inflight[IOBAND_NR_DIRS];
	int open[IOBAND_NR_DIRS];
	int users;
};

/**
 * struct ioband_histogram - how long bios took
 * @sum_ns: all of them
 * @bios: by bucket; those in use are mostly in the cache line of the sum
 */
struct ioband_histogram {
	u64 sum_ns;
	u32 bios[IOBAND_NR_BUCKETS];
};

/**
 * struct ioband_cpu_hist - the histograms of a group on one CPU
 * @wait: time held in ioband, of bios that were held
 * @service: time below ioband
 */
struct ioband_cpu_hist {
	struct ioband_histogram wait[IOBAND_NR_DIRS];
	struct ioband_histogram service[IOBAND_NR_DIRS];
};

/**
 * struct ioband_sum - what a group did, and has to do
 * @dir: what completed
 * @inflight: bios held or in flight, by direction
 */
struct ioband_sum {
	struct ioband_counters dir[IOBAND_NR_DIRS];
	int inflight[IOBAND_NR_DIRS];
};

/**
 * struct ioband_held - bios that wait
 * @ios: how many
 * @bytes: of all of them
 */
struct ioband_held {
	u32 ios;
	u64 bytes;
};

/**
 * enum ioband_stats_kind - whose counters they are
 * @IOBAND_STATS_UNSET: of a group that has been given nothing, or of one for which those of
 *	its kind were too many
 * @IOBAND_STATS_SET: of one that had a weight or a latency target of its own, or of one
 *	above such a group
 * @IOBAND_STATS_BOUND: likewise, a maximum or a minimum
 * @IOBAND_NR_STATS_KINDS: how many there are
 *
 * Each has a larger budget, with those before.
 */
enum ioband_stats_kind {
	IOBAND_STATS_UNSET,
	IOBAND_STATS_SET,
	IOBAND_STATS_BOUND,
	IOBAND_NR_STATS_KINDS,
};

/**
 * struct ioband_stats - what is counted of a group
 * @cpu: counters
 * @hist: histograms; NULL until there was memory for them
 * @list: place among the pool's spare counters, or among those without histograms; under the
 *	pool's lock
 * @kind: whose they are
 */
struct ioband_stats {
	struct ioband_cpu_stats __percpu *cpu;
	struct ioband_cpu_hist __percpu *hist;
	struct list_head list;
	enum ioband_stats_kind kind;
};

#endif /* DM_IOBAND_COUNTERS_H */
