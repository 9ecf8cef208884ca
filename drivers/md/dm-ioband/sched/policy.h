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

/**
 * enum ioband_dir - direction of a bio
 * @IOBAND_DIR_READ: reads
 * @IOBAND_DIR_WRITE: everything that changes the device, including discards
 * @IOBAND_NR_DIRS: number of directions
 */
enum ioband_dir {
	IOBAND_DIR_READ,
	IOBAND_DIR_WRITE,
	IOBAND_NR_DIRS,
};

/**
 * struct ioband_bill - cost of one bio
 * @charge: units of the measure of the pool
 * @bytes: bytes that occupy the device
 * @ios: bios counted by a maximum or a minimum: of a split bio, only the first part counts
 * @more: other splits of the same bio follow
 * @dir: see &enum ioband_dir
 * @cached: may complete in the write cache of the device, before it is on the medium
 * @async: write by a flusher; only tasks in dirty throttling wait for it
 * @awaited: read, or write for which a task waits; counts for a latency target
 * @no_data: discard, write-zeroes or secure erase, see sched/discard.c
 * @swap: write to swap, out of turn; its bound is that of the caller
 * @for_min: at its completion: the result of ioband_core_admit(), it was dispatched for a minimum
 */
struct ioband_bill {
	u32 charge;
	u32 bytes;
	u8 ios;
	u8 dir;
	bool more;
	bool cached;
	bool async;
	bool awaited;
	bool no_data;
	bool swap;
	bool for_min;
};

/**
 * struct ioband_rates - rates per second
 * @bytes: bytes, by direction; 0: no bound
 * @ios: bios, by direction; 0: no bound
 */
struct ioband_rates {
	u64 bytes[IOBAND_NR_DIRS];
	u64 ios[IOBAND_NR_DIRS];
};

/**
 * struct ioband_bucket - token bucket
 * @rate: rate per second; 0: no bound
 * @next_ns: time at which the I/O so far is paid for
 * @rest: remainder of the last division, 1/@rate ns
 */
struct ioband_bucket {
	u64 rate;
	u64 next_ns;
	u64 rest;
};

/**
 * struct ioband_buckets - token buckets of reads and writes
 * @bytes: bytes, by direction
 * @ios: bios, by direction
 */
struct ioband_buckets {
	struct ioband_bucket bytes[IOBAND_NR_DIRS];
	struct ioband_bucket ios[IOBAND_NR_DIRS];
};

/* A trail keeps the last second in this many parts. */
#define IOBAND_TRAIL_PARTS	32

/**
 * struct ioband_trail - times of recent I/O
 * @at_ns: time at which each of the last parts was used up; a ring
 * @last: the latest part
 * @used_ns: used time of the next part
 */
struct ioband_trail {
	u64 at_ns[IOBAND_TRAIL_PARTS + 1];
	u32 last;
	u32 used_ns;
};

/**
 * struct ioband_max - maximum of an entity
 * @ent: entity
 * @buckets: token buckets
 * @bytes: trails of bytes, by direction
 * @ios: trails of bios, by direction
 * @waits_ns: by direction: since when it is active and not blocked; U64_MAX: it is not active
 * @begun: by direction: some splits of a bio are dispatched, and others follow
 * @rb: place among the blocked maxima, while blocked
 * @until_ns: when the first of its directions is no longer blocked
 * @held_until_ns: end of the last block, by direction
 * @blocked: blocked directions, as halves of &ioband_ent.waiting
 */
struct ioband_max {
	struct ioband_ent *ent;
	struct ioband_buckets buckets;
	struct ioband_trail bytes[IOBAND_NR_DIRS];
	struct ioband_trail ios[IOBAND_NR_DIRS];
	u64 waits_ns[IOBAND_NR_DIRS];
	bool begun[IOBAND_NR_DIRS];
	struct rb_node rb;
	u64 until_ns;
	u64 held_until_ns[IOBAND_NR_DIRS];
	u64 blocked;
};

/**
 * struct ioband_min_trial - does a smaller limit of the others bring a missed minimum more?
 * @missed_ns: when the minimum was last missed
 * @begun_ns: begin of the window of measurement; 0: the minimum is not missed
 * @bytes: bytes dispatched in the window
 * @ios: bios dispatched in the window
 * @rates: bytes a second in the last window with and without the smaller limit, as @wide says
 * @until_ns: until then, the limit that was worse is not tried
 * @wide: the others keep their limit while no bio of the minimum is queued
 * @trying: this limit of the others was the worse one so far
 */
struct ioband_min_trial {
	u64 missed_ns;
	u64 begun_ns;
	u64 bytes;
	u64 rates[2];
	u64 until_ns;
	u32 ios;
	bool wide;
	bool trying;
};

/**
 * struct ioband_min - minimum of an entity
 * @ent: entity
 * @buckets: token buckets
 * @rb: place in &ioband_core.minima, while @due_ns is not U64_MAX
 * @due_ns: when its next bio is due; U64_MAX: it is not active or anticipated, or a maximum at or
 *	below the entity blocks all queued bios
 * @queued: its next bio is queued
 * @inactive_ns: when @active last ended, while it is false
 * @inflight: bios of leaves at or below the entity, admitted and not yet completed, without those
 *	of flows that are apart
 * @active: bios are in flight, or queued and not blocked by a maximum at or below the entity
 * @dir: direction of the last bio
 * @tries: counts in &ioband_core.min_tries
 * @trial: see &struct ioband_min_trial
 */
struct ioband_min {
	struct ioband_ent *ent;
	struct ioband_buckets buckets;
	struct rb_node rb;
	u64 due_ns;
	u64 inactive_ns;
	u32 inflight;
	bool active;
	bool queued;
	u8 dir;
	bool tries;
	struct ioband_min_trial trial;
};

/**
 * struct ioband_latency - latency target of an entity, for its reads or its awaited writes
 * @ent: entity
 * @dir: direction
 * @latencies: place among the targets of the scheduler
 * @target_ns: target, from arrival to completion
 * @mean_ns: mean latency at the last evaluation
 * @since_ns: time of the last evaluation
 * @sum_ns: sum of latencies since then
 * @ios: number of bios since then
 * @inflight: awaited bios in flight, except bios dispatched before the target was set
 */
struct ioband_latency {
	struct ioband_ent *ent;
	struct list_head latencies;
	u64 target_ns;
	u64 mean_ns;
	u64 since_ns;
	u64 sum_ns;
	u32 ios;
	u32 inflight;
	u8 dir;
};

/**
 * struct ioband_latency_throttle - throttle of other leaves while an entity is late
 * @bucket: token bucket for the bytes of the others; without a rate it holds none
 * @bytes: bytes of the others since @since_ns
 * @late_bytes: bytes of @worst since @since_ns
 * @first_rate: rate of the others when the throttle began
 * @since_ns: time of the last evaluation
 * @worst: target that was missed by the largest factor then
 */
struct ioband_latency_throttle {
	struct ioband_bucket bucket;
	u64 bytes;
	u64 late_bytes;
	u64 first_rate;
	u64 since_ns;
	struct ioband_latency *worst;
};

#endif /* DM_IOBAND_SCHED_POLICY_H */
