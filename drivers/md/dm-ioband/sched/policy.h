/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the limits of an entity, and what they are kept with.
 */
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
 * enum ioband_way - to the device or from it
 * @IOBAND_WAY_READ: reads
 * @IOBAND_WAY_WRITE: all that changes what is on it, discards too
 * @IOBAND_NR_WAYS: how many there are
 */
enum ioband_way {
	IOBAND_WAY_READ,
	IOBAND_WAY_WRITE,
	IOBAND_NR_WAYS,
};

/**
 * struct ioband_bill - what one bio costs
 * @charge: units of the pool's measure
 * @bytes: bytes that occupy the device
 * @ios: bios that it counts as in a maximum or a minimum: of a bio in pieces, the first
 * @more: other pieces of the same bio follow
 * @way: see &enum ioband_way
 * @cached: it may complete in the device's write cache, before the medium has it
 * @async: a write that nobody waits for but who is made to pause: a flusher's
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
 * struct ioband_rates - so much a second
 * @bytes: by way; 0: no bound
 * @ios: bios, by way; 0: no bound
 */
struct ioband_rates {
	u64 bytes[IOBAND_NR_WAYS];
	u64 ios[IOBAND_NR_WAYS];
};

/**
 * struct ioband_clock - a bound on what goes
 * @rate: so much a second; 0: no bound
 * @next_ns: when what has gone so far is used up
 * @rest: of the last division, 1/@rate ns
 */
struct ioband_clock {
	u64 rate;
	u64 next_ns;
	u64 rest;
};

/**
 * struct ioband_meter - what goes, read and written
 * @bytes: by way
 * @ios: by way
 */
struct ioband_meter {
	struct ioband_clock bytes[IOBAND_NR_WAYS];
	struct ioband_clock ios[IOBAND_NR_WAYS];
};

/* The last second of a maximum has so many parts. */
#define IOBAND_TRAIL_PARTS	32

/**
 * struct ioband_trail - when what has gone lately went
 * @at_ns: when each of the last parts was used up; a ring
 * @last: the latest of them
 * @used_ns: how much is, of the one after it
 */
struct ioband_trail {
	u64 at_ns[IOBAND_TRAIL_PARTS + 1];
	u32 last;
	u32 used_ns;
};

/**
 * struct ioband_cap - what an entity may have at most
 * @ent: the entity
 * @meter: what it has
 * @bytes: by way; what it has had within a second
 * @ios: by way
 * @waits_ns: by way: since when it has had something to do and was not blocked; U64_MAX:
 *	it has nothing
 * @begun: by way: of a bio in pieces some have gone, and others follow
 * @rb: place among the blocked ones, while it is
 * @until_ns: when one of its ways is blocked no longer
 * @reads_until_ns: until when reads are, or were
 * @blocked: ways that are, as halves of &ioband_ent.waiting
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
 * struct ioband_floor - what an entity is promised
 * @ent: the entity
 * @meter: what it has
 * @rb: place among those that are here, or think
 * @due_ns: when its next bio is due
 * @away_ns: when it was last here, while it is not
 * @inflight: bios of leaves at or below the entity, admitted and not yet completed
 * @here: something waits that no maximum at or below the entity blocks, or is in flight
 * @way: of the last bio
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
 * struct ioband_aim - what an entity's reads are to take
 * @ent: the entity
 * @aims: place among the scheduler's
 * @target_ns: so long, from when they arrive until they complete
 * @mean_ns: what they took when it was last looked
 * @since_ns: when that was
 * @sum_ns: what they have taken since
 * @reads: how many
 * @inflight: reads in flight; less than there are if some were when it got its target
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
 * struct ioband_brake - what holds back others while somebody's reads take too long
 * @clock: bytes of the others; without a rate it holds nobody
 * @bytes: that have gone since @since_ns
 * @late_bytes: of the one that it is for
 * @first_rate: at which they went when it began
 * @since_ns: when it was last looked what reads take
 * @worst: whom it is for: whose reads were the furthest from their target then
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
