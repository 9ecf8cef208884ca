/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core's caller: the kernel's queue in virtual time.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "clock.h"
#include "delay.h"
#include "device.h"
#include "sched/core.h"
#include "sched/cost.h"
#include "sched/depth.h"
#include "sched/lone.h"
#include "sched/stall.h"

#define SIM_TICK_NS	10000000ULL
#define SIM_BUCKETS	512

enum sim_control {
	SIM_NONE,	/* I/Os are dispatched as they arrive */
	SIM_FIXED,	/* limits that tests set */
	SIM_AUTO,	/* limits of the estimator, while groups compete (state.c) */
};

/* The unit of activity: a leaf, or several leaves of one group. */
struct sim_group {
	struct sim_group *next_active;
	bool active;
	bool touched;		/* since the last tick */
	u64 busy_ns;		/* when it was last active */
	u32 outstanding;	/* arrived and not completed */
};

/* A mapped device of the pool, and the device below it. */
struct sim_member {
	struct ioband_stall_dev stall_dev;
	struct sim_device *device;
};

struct sim_leaf {
	struct ioband_leaf leaf;
	struct sim_member *member;	/* the device of all its I/Os; NULL: the pool's own */
	struct sim_delay *delay;	/* below, for its I/Os; NULL: none */
	struct sim_leaf *next_parked;	/* while the member is blocked */
	struct sim_group own;
	struct sim_group *group;	/* NULL: its own */
	struct sim_io *head, *tail;	/* queued */
	u64 ios;			/* completed */
	u64 bytes;
	u64 charged;
	u64 head_ns;			/* on a disk */
	u64 max_held_ns;
	u64 max_passed;			/* most dispatches while one was queued */
	u64 took_ns;			/* sum of all latencies */
	u64 first_ns;			/* the first completion; 0: none */
	double parts;			/* completed: a split counts for its part of an I/O */
	u32 outstanding;		/* arrived and not completed, */
	double outstanding_area;	/* its time integral */
	u64 outstanding_since_ns;
	u32 latency[SIM_BUCKETS];	/* of whole I/Os, see latency_bucket() */
};

struct sim_pool {
	struct sim_clock *clock;
	struct sim_device device;
	struct sim_member own;
	struct ioband_core core;
	struct ioband_stall stall;
	struct sim_leaf *parked;	/* leaves of blocked members */
	struct sim_delay *delay;	/* counts I/Os of leaves without one; NULL: none */
	u32 limit_ios;			/* SIM_FIXED: of the core, without silent devices */
	bool limit_changed;		/* because of silent devices */
	struct ioband_depth depth;
	enum sim_control control;
	enum ioband_measure measure;
	u64 wake_ns;
	u64 sent;		/* dispatched, in bytes or I/Os by the measure */
	struct sim_io *splits;	/* all splits */

	/* of this tick */
	struct ioband_sample tick;
	u64 sampled_ns;		/* the last completion before it */
	u64 done_ns;		/* the last one in it */

	/* SIM_AUTO: as in the module's pool */
	u64 slice_ns;		/* slices; then there is no limit */
	bool open;
	struct sim_group *active;
	u32 nr_active;
	u32 open_inflight;	/* dispatched without the scheduler */
	u32 open_ios;		/* the part of them that counts against the limit */
	u64 open_fell_ns;
	u32 open_shift;
	u32 calm_ticks;
	struct ioband_lone lone;
	bool was_lone;
	u64 calm_until_ns;

	/* of the run */
	u64 ios;
	u64 bytes;
	u64 flushes;
	u64 idle_since_ns;	/* device idle, bios queued; 0: no */
	u64 idle_thinking_ns;	/* of that, for anticipation */
	u64 idle_ns;		/* of that, without a reason: must stay 0 */
	u32 peak_ios;		/* most in flight; the caller clears it */
	u32 over_ios;		/* the largest excess in flight over the limit */
	double inflight_area;	/* time integrals of the I/Os in flight, */
	double inflight_bytes_area;	/* and of their bytes */
	u64 inflight_since_ns;
};

void pool_init(struct sim_pool *pool, struct sim_clock *clock, const struct sim_spec *spec,
	       enum sim_control control, enum ioband_measure measure);
void pool_free(struct sim_pool *pool);
void pool_submit(struct sim_pool *pool, struct sim_io *io);
void pool_add_member(struct sim_pool *pool, struct sim_member *member, struct sim_device *device);
/* The pool gets the I/Os that a device completes. */
void pool_adopt(struct sim_pool *pool, struct sim_device *device);
/* Find devices that do not answer, for a given limit. */
void pool_look(struct sim_pool *pool, u32 limit_ios, u64 slice_ns);
/* Dispatch all eligible I/Os. */
void pool_pump(struct sim_pool *pool);
u64 leaf_percentile_ns(const struct sim_leaf *leaf, double fraction);

/* state.c */
/* The in-flight limit in the shared state, if no device hangs. */
u32 state_limit(const struct sim_pool *pool);
void state_apply(struct sim_pool *pool);
void state_touch(struct sim_pool *pool, struct sim_group *group);
void state_tick(struct sim_pool *pool);

#endif /* SIM_POOL_H */
