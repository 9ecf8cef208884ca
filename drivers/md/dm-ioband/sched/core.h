/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the scheduler.
 *
 * Pure: uses no bio, lock, clock, allocator or printk, and compiles unchanged in user space.
 * The caller embeds the structures, serialises all calls for one scheduler, and passes the time.
 * No function here sleeps or allocates.  The algorithm is explained on top of core.c.
 */
#ifndef DM_IOBAND_SCHED_CORE_H
#define DM_IOBAND_SCHED_CORE_H

#include "below.h"
#include "bucket.h"
#include "idle.h"
#include "latency.h"
#include "max.h"
#include "min.h"
#include "pause.h"
#include "scheduler.h"
#include "slice.h"

#include <linux/compiler.h>
#include <linux/minmax.h>

void ioband_core_init(struct ioband_core *core);
void ioband_core_set_limit(struct ioband_core *core, u32 ios, u32 stuck_ios);
void ioband_core_set_slice(struct ioband_core *core, u64 slice_ns, bool charge_time, u64 now_ns);
void ioband_core_remove_leaf(struct ioband_core *core, struct ioband_leaf *leaf);
void ioband_core_end_pauses(struct ioband_core *core, u64 now_ns);
void ioband_core_begin(struct ioband_core *core, u64 now_ns);
void ioband_core_wait_first(struct ioband_core *core, struct ioband_leaf *leaf,
			    enum ioband_dir dir, u64 now_ns);
struct ioband_leaf *ioband_core_pick(struct ioband_core *core, u64 now_ns, u64 *wake_ns);
bool ioband_core_admit(struct ioband_core *core, struct ioband_leaf *leaf,
		       const struct ioband_bill *bill, u8 dirs, u64 now_ns);
void ioband_core_admit_now(struct ioband_core *core, struct ioband_leaf *leaf,
			   const struct ioband_bill *bill, u64 now_ns);
void ioband_core_withdraw(struct ioband_core *core, struct ioband_leaf *leaf, u8 dirs);
bool ioband_core_may_discard(struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns);
void ioband_core_wait_again(struct ioband_core *core, struct ioband_leaf *leaf, u64 now_ns);
u64 ioband_core_discard_wake(const struct ioband_core *core);
void ioband_core_charge_discard(struct ioband_core *core, struct ioband_leaf *leaf, u32 charge);
void ioband_core_learn_gap(struct ioband_core *core, u32 ios, u64 now_ns);
void ioband_core_complete_one(struct ioband_core *core, struct ioband_leaf *leaf,
			      const struct ioband_bill *bill, u64 now_ns);
void ioband_core_complete(struct ioband_core *core, struct ioband_leaf *leaf,
			  const struct ioband_bill *bill, u64 now_ns);

/*
 * A synchronous bio has arrived, or is dispatched.  For IOBAND_PAUSE_NS no leaf keeps the lag of a
 * pause, and the device does not idle for one.
 */
static inline void ioband_core_note_sync(struct ioband_core *core, u64 now_ns)
{
	core->sync_ns = max(core->sync_ns, now_ns);
	if (unlikely(core->pausing))
		ioband_core_end_pauses(core, now_ns);
}

/*
 * A bio is queued, or may be dispatched again.  Only the first in each direction has an effect,
 * where no flow of the leaf is apart.
 */
static inline void ioband_core_wait(struct ioband_core *core, struct ioband_leaf *leaf,
				    enum ioband_dir dir, u64 now_ns)
{
	core->now_ns = now_ns;
	if (!(leaf->dirs & 1 << dir) || unlikely(leaf->apart_dirs))
		ioband_core_wait_first(core, leaf, dir, now_ns);
}

/* Some minimum, latency target or entity of the idle class depends on the order of dispatch. */
static inline bool ioband_core_has_guarantees(const struct ioband_core *core)
{
	return core->nr_minima || core->nr_latencies || core->nr_idlers;
}

/* Bios are queued that no maximum blocks. */
static inline bool ioband_core_has_waiting(const struct ioband_core *core)
{
	return core->root.ent.waiting;
}

/* The part of the time since a completion in which bios were in flight, until @now_ns. */
static inline u64 ioband_core_busy_ns(const struct ioband_core *core, u64 done_ns, u64 now_ns)
{
	const u64 since_ns = max(core->busy_since_ns, done_ns);

	return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* For how long the limit has kept bios queued, or a probe was beyond it (sched/below.c). */
static inline u64 ioband_core_held_ns(const struct ioband_core *core, u64 now_ns)
{
	const bool held = ioband_core_has_waiting(core) ||
			  ioband_tree_counted_ios(core) >= core->limit_ios;

	return held && now_ns > core->held_since_ns ? now_ns - core->held_since_ns : 0;
}

static inline bool ioband_core_leaf_is_idle(const struct ioband_leaf *leaf)
{
	return leaf->state == IOBAND_LEAF_IDLE || leaf->state == IOBAND_LEAF_ANTICIPATED;
}

#endif /* DM_IOBAND_SCHED_CORE_H */
