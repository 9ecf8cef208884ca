/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the structures of counters and histograms of a group. */
#ifndef DM_IOBAND_COUNTERS_H
#define DM_IOBAND_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

/**
 * enum ioband_op - operations that are counted separately
 * @IOBAND_OP_READ: reads
 * @IOBAND_OP_WRITE: writes, including write-zeroes
 * @IOBAND_OP_DISCARD: discards and secure erases
 * @IOBAND_NR_OPS: number of operations
 */
enum ioband_op {
	IOBAND_OP_READ,
	IOBAND_OP_WRITE,
	IOBAND_OP_DISCARD,
	IOBAND_NR_OPS,
};

/* Bucket 0 is below 1 us, bucket i below 2^i us; the last bucket has no upper bound. */
#define IOBAND_NR_BUCKETS	26

/**
 * struct ioband_counters - completed bios of one operation
 * @ios: number of bios
 * @bytes: their bytes
 * @held: bios that had been queued
 * @wait_ns: total time for which they were queued
 * @service_ns: total time of all bios at the device below
 */
struct ioband_counters {
	u64 ios;
	u64 bytes;
	u64 held;
	u64 wait_ns;
	u64 service_ns;
};

/**
 * struct ioband_cpu_stats - the counters of a group on one CPU, without the times in its histograms
 * @op: counters by operation
 * @inflight: bios of the group on this CPU: submitted less completed; only the sum over all CPUs
 *	has a meaning; pins the counters and the group
 * @open: the same for bios dispatched in the open state, counted apart; pins as well
 * @users: the same for tasks that read the group's state, or wait for the group
 */
struct ioband_cpu_stats {
	struct ioband_counters op[IOBAND_NR_OPS];
	int inflight[IOBAND_NR_OPS];
	int open[IOBAND_NR_OPS];
	int users;
};

/**
 * struct ioband_histogram - the latencies of bios
 * @sum_ns: their sum
 * @bios: number of bios by bucket; with 32 bits 500 000 bios a second would wrap in 2.4 hours
 */
struct ioband_histogram {
	u64 sum_ns;
	u64 bios[IOBAND_NR_BUCKETS];
};

/**
 * struct ioband_cpu_hist - the histograms of a group on one CPU
 * @wait: time in the queue, of bios that were queued
 * @service: time below ioband
 */
struct ioband_cpu_hist {
	struct ioband_histogram wait[IOBAND_NR_OPS];
	struct ioband_histogram service[IOBAND_NR_OPS];
};

/**
 * struct ioband_sum - the sum of a group's counters
 * @op: completed bios by operation
 * @inflight: bios queued or in flight, by operation
 */
struct ioband_sum {
	struct ioband_counters op[IOBAND_NR_OPS];
	int inflight[IOBAND_NR_OPS];
};

/**
 * struct ioband_held - queued bios
 * @ios: number of bios
 * @bytes: their bytes
 */
struct ioband_held {
	u32 ios;
	u64 bytes;
};

/**
 * enum ioband_stats_kind - classes of counters, by the settings of their group
 * @IOBAND_STATS_UNSET: counters of a group without settings, or beyond the budget of another class
 * @IOBAND_STATS_SET: counters of a group with a weight or a latency target of its own, or of a
 *	group above such a group
 * @IOBAND_STATS_LIMITED: likewise with a maximum or a minimum
 * @IOBAND_NR_STATS_KINDS: number of classes
 *
 * Each class has a larger budget, which includes the classes before it.
 */
enum ioband_stats_kind {
	IOBAND_STATS_UNSET,
	IOBAND_STATS_SET,
	IOBAND_STATS_LIMITED,
	IOBAND_NR_STATS_KINDS,
};

/**
 * struct ioband_stats - the counters and histograms of a group
 * @cpu: counters
 * @hist: histograms; NULL until they could be allocated
 * @list: link in the pool's list of spare counters, or of counters without histograms; under the
 *	pool's lock
 * @kind: their class
 */
struct ioband_stats {
	struct ioband_cpu_stats __percpu *cpu;
	struct ioband_cpu_hist __percpu *hist;
	struct list_head list;
	enum ioband_stats_kind kind;
};

#endif /* DM_IOBAND_COUNTERS_H */
