/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core's caller: does what the kernel's queue does, in virtual time.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "clock.h"
#include "device.h"
#include "sched/core.h"
#include "sched/cost.h"
#include "sched/depth.h"
#include "sched/stall.h"

#define SIM_TICK_NS	10000000ULL
#define SIM_BUCKETS	512

enum sim_control {
	SIM_NONE,	/* all goes down as it comes */
	SIM_FIXED,	/* limits given and kept */
	SIM_AUTO,	/* limits of the estimator, while groups compete (state.c) */
};

/* What is active or idle: a leaf, or several leaves of one group. */
struct sim_group {
	struct sim_group *next_active;
	bool active;
	bool touched;		/* since the last tick */
	u64 busy_ns;		/* when it was last seen to do something */
	u32 outstanding;	/* arrived and not completed */
};

/* A mapped device of the pool, and what is below it. */
struct sim_member {
	struct ioband_pulse pulse;
	struct sim_device *device;
};

struct sim_leaf {
	struct ioband_leaf leaf;
	struct sim_member *member;	/* all its I/Os are for that; NULL: the pool's own */
	struct sim_leaf *next_parked;	/* while the member is blocked */
	struct sim_group own;
	struct sim_group *group;	/* NULL: its own */
	struct sim_io *head, *tail;	/* held */
	u64 ios;			/* completed */
	u64 bytes;
	u64 charged;
	u64 head_ns;			/* of a disk */
	u64 max_held_ns;
	u64 max_passed;			/* what went down while one was held */
	u64 took_ns;			/* all of them */
	u64 first_ns;			/* when the first one completed; 0: none has */
	double parts;			/* completed: a piece counts for its part of an I/O */
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
	struct sim_leaf *parked;	/* leaves whose members are blocked */
	u32 limit_ios;			/* SIM_FIXED: of the core, but for silent devices */
	bool limit_changed;		/* for those */
	struct ioband_depth depth;
	enum sim_control control;
	enum ioband_measure measure;
	u64 wake_ns;
	u64 sent;		/* what has gone down, in bytes or I/Os as it is measured */
	struct sim_io *pieces;	/* all that there are */

	/* of this tick */
	struct ioband_sample tick;
	u64 sampled_ns;		/* the last completion before it */
	u64 done_ns;		/* the last one in it */

	/* SIM_AUTO: as in the module's pool */
	u64 slice_ns;		/* slices; then there is no limit */
	bool open;
	struct sim_group *active;
	u32 nr_active;
	u32 open_inflight;	/* went past the scheduler */
	u32 open_ios;		/* of these, what counts against the limit */
	u64 open_fell_ns;
	u32 open_shift;
	u32 calm_ticks;
	u64 calm_until_ns;

	/* of the run */
	u64 ios;
	u64 bytes;
	u64 flushes;
	u64 idle_since_ns;	/* device idle, bios waiting; 0: no */
	u64 idle_thinking_ns;	/* of that, for the sake of a thinker */
	u64 idle_ns;		/* of that, for nothing: must stay 0 */
	u32 peak_ios;		/* most that was in flight; the caller's to clear */
	u32 over_ios;		/* how far what is in flight has been above the limit */
	double inflight_area;	/* time integrals of what was in flight, */
	double inflight_bytes_area;	/* and of its bytes */
	u64 inflight_since_ns;
};

void pool_init(struct sim_pool *pool, struct sim_clock *clock, const struct sim_spec *spec,
	       enum sim_control control, enum ioband_measure measure);
void pool_free(struct sim_pool *pool);
void pool_submit(struct sim_pool *pool, struct sim_io *io);
void pool_add_member(struct sim_pool *pool, struct sim_member *member, struct sim_device *device);
/* Find devices that do not answer, given a limit. */
void pool_look(struct sim_pool *pool, u32 limit_ios, u64 slice_ns);
/* Send down what may go. */
void pool_pump(struct sim_pool *pool);
u64 leaf_percentile_ns(const struct sim_leaf *leaf, double fraction);

/* state.c */
void state_apply(struct sim_pool *pool);
void state_touch(struct sim_pool *pool, struct sim_group *group);
void state_tick(struct sim_pool *pool);

#endif /* SIM_POOL_H */
