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

struct ioband_ent;

/**
 * enum ioband_way - direction of a bio
 * @IOBAND_WAY_READ: reads
 * @IOBAND_WAY_WRITE: everything that changes the device, including discards
 * @IOBAND_NR_WAYS: number of directions
 */
enum ioband_way {
	IOBAND_WAY_READ,
	IOBAND_WAY_WRITE,
	IOBAND_NR_WAYS,
};

/**
 * struct ioband_bill - cost of one bio
 * @charge: units of the measure of the pool
 * @bytes: bytes that occupy the device
 * @ios: bios counted by a maximum or a minimum: of a split bio, only the first part counts
 * @more: other splits of the same bio follow
 * @way: see &enum ioband_way
 * @cached: may complete in the write cache of the device, before it is on the medium
 * @async: write by a flusher; only tasks in dirty throttling wait for it
 */
struct ioband_bill {
	u32 charge;
	u32 bytes;
	u8 ios;
	u8 way;
	bool more;
	bool cached;
	bool async;
};

/**
 * struct ioband_rates - rates per second
 * @bytes: bytes, by direction; 0: no bound
 * @ios: bios, by direction; 0: no bound
 */
struct ioband_rates {
	u64 bytes[IOBAND_NR_WAYS];
	u64 ios[IOBAND_NR_WAYS];
};

/**
 * struct ioband_clock - token bucket
 * @rate: rate per second; 0: no bound
 * @next_ns: time at which the I/O so far is paid for
 * @rest: remainder of the last division, 1/@rate ns
 */
struct ioband_clock {
	u64 rate;
	u64 next_ns;
	u64 rest;
};

/**
 * struct ioband_meter - token buckets of reads and writes
 * @bytes: bytes, by direction
 * @ios: bios, by direction
 */
struct ioband_meter {
	struct ioband_clock bytes[IOBAND_NR_WAYS];
	struct ioband_clock ios[IOBAND_NR_WAYS];
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
 * struct ioband_cap - maximum of an entity
 * @ent: entity
 * @meter: token buckets
 * @bytes: trails of bytes, by direction
 * @ios: trails of bios, by direction
 * @waits_ns: by direction: since when it is active and not blocked; U64_MAX: it is not active
 * @begun: by direction: some splits of a bio are dispatched, and others follow
 * @rb: place among the blocked maxima, while blocked
 * @until_ns: when the first of its directions is no longer blocked
 * @reads_until_ns: end of the last block of reads
 * @blocked: blocked directions, as halves of &ioband_ent.waiting
 */
struct ioband_cap {
	struct ioband_ent *ent;
	struct ioband_meter meter;
	struct ioband_trail bytes[IOBAND_NR_WAYS];
	struct ioband_trail ios[IOBAND_NR_WAYS];
	u64 waits_ns[IOBAND_NR_WAYS];
	bool begun[IOBAND_NR_WAYS];
	struct rb_node rb;
	u64 until_ns;
	u64 reads_until_ns;
	u64 blocked;
};

/**
 * struct ioband_floor - minimum of an entity
 * @ent: entity
 * @meter: token buckets
 * @rb: place among the minima of active or anticipated entities
 * @due_ns: when its next bio is due
 * @away_ns: when @here last ended, while it is false
 * @inflight: bios of leaves at or below the entity, admitted and not yet completed
 * @here: bios are in flight, or queued and not blocked by a maximum at or below the entity
 * @way: direction of the last bio
 */
struct ioband_floor {
	struct ioband_ent *ent;
	struct ioband_meter meter;
	struct rb_node rb;
	u64 due_ns;
	u64 away_ns;
	u32 inflight;
	bool here;
	u8 way;
};

/**
 * struct ioband_aim - latency target of the reads of an entity
 * @ent: entity
 * @aims: place among the targets of the scheduler
 * @target_ns: target, from arrival to completion
 * @mean_ns: mean latency at the last evaluation
 * @since_ns: time of the last evaluation
 * @sum_ns: sum of latencies since then
 * @reads: number of reads since then
 * @inflight: reads in flight, except reads dispatched before the target was set
 */
struct ioband_aim {
	struct ioband_ent *ent;
	struct list_head aims;
	u64 target_ns;
	u64 mean_ns;
	u64 since_ns;
	u64 sum_ns;
	u32 reads;
	u32 inflight;
};

/**
 * struct ioband_brake - throttle of other leaves while the reads of an entity are late
 * @clock: token bucket for the bytes of the others; without a rate it holds none
 * @bytes: bytes of the others since @since_ns
 * @late_bytes: bytes of @worst since @since_ns
 * @first_rate: rate of the others when the throttle began
 * @since_ns: time of the last evaluation
 * @worst: target that was missed by the largest factor then
 */
struct ioband_brake {
	struct ioband_clock clock;
	u64 bytes;
	u64 late_bytes;
	u64 first_rate;
	u64 since_ns;
	struct ioband_aim *worst;
};

#endif /* DM_IOBAND_SCHED_POLICY_H */
