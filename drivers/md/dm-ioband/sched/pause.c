// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: writeback idle.
 * Pure, see core.h.  core.c and slice.c call it, under the pool's lock.
 *
 * Dirty throttling makes tasks sleep while too many pages are dirty, and their flusher then has
 * nothing to write for a moment.  If other groups got the share of that moment, two groups at 2:1
 * would end up as equals: the group with the larger share has fewer dirty pages left.  The kernel
 * would make that last, as it lets a task dirty as fast as its pages were lately written back.
 *
 * While no task in the pool waits for its own I/O (core_is_async()), there are two remedies.
 * First, a leaf with writeback only keeps the service that it missed in a pause (IOBAND_PAUSE_LAG),
 * and is served first after it.  But it may never use that lag.  So, second, it is anticipated like
 * a reader, but for the length of such a sleep (IOBAND_PAUSE_WAIT_NS), and all leaves with more
 * service wait.  The device is idle then, apart from its cache.
 *
 *	a and b at 2:1, 46 and 23 MB/s; a sleeps for 100 ms.  If b had the device meanwhile, 7 MB,
 *	it would be 1.5:1 in the second around it, and more than 2:1 until a has that back; now it
 *	is 2:1 throughout.
 *
 * Both are for leaves that can use the service, and end when a task waits for its own I/O.  A leaf
 * that lags by nearly IOBAND_PAUSE_LAG has not been able to use it, and is not anticipated.
 * Neither is a leaf that is late again and again.  Until this is known, idling is bounded: it takes
 * an eighth of the time at most (IOBAND_PATIENCE), with bursts of 600 ms.
 *
 *	a and b at 2:1; a dirties 20 MB/s, and b all it may; the device could do 350.  The device
 *	idles for a, and b is held back, until that has been 600 ms.  Then b is served in the pauses
 *	of a.  After a tenth of a second a has missed 38 MB, and keeps that lag: it is no longer
 *	anticipated.
 *
 * There is no such anticipation where groups would be charged for the time, beside a minimum, which
 * may be due meanwhile, or below a maximum, which may be the reason for the pause.  No entity waits
 * for the idle class.  Below an entity with a minimum, a leaf that pauses keeps nothing of the
 * minimum.
 */
#include "pause.h"

#include "tree.h"

/* Largest lag after a pause: the I/O of a device of 100 MB/s in IOBAND_PAUSE_NS. */
#define IOBAND_PAUSE_LAG	(40ULL << 20)

/* The device may idle for pauses for one part in this many of the time. */
#define IOBAND_PATIENCE		8

/* Does a leaf, or a node above it, have a maximum, or is it in the idle class? */
static bool leaf_may_be_blocked(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent = &leaf->ent;

	while (ent->parent && !ent->max && !ent->idle_class)
		ent = &ent->parent->ent;
	return ent->max || ent->idle_class;
}

/* A leaf without bios may be in writeback idle, unless a maximum may be the reason. */
static bool leaf_may_pause(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return leaf->async && core_is_async(core) && !leaf_may_be_blocked(leaf);
}

/* May a leaf without queued bios be in writeback idle, which lasts for IOBAND_PAUSE_NS at most? */
bool ioband_pause_is_possible(const struct ioband_core *core, const struct ioband_leaf *leaf,
			      u64 now_ns)
{
	return leaf_may_pause(core, leaf) &&
	       (leaf->inflight || now_ns <= leaf->done_ns + IOBAND_PAUSE_NS);
}

/* Lag that a leaf keeps from the time without queued bios, in units of charge. */
u64 ioband_pause_lag(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	return ioband_pause_is_possible(core, leaf, now_ns) ? IOBAND_PAUSE_LAG : 0;
}

/* May a leaf be anticipated in writeback idle? */
bool ioband_pause_may_idle(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return !core->charge_time && !core->nr_minima && leaf_may_pause(core, leaf);
}

/* A leaf, or a node above it, has not used the lag that it kept. */
static bool leaf_is_far_behind(const struct ioband_leaf *leaf)
{
	for (const struct ioband_ent *ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const s64 lag = ent->parent->vnow - ent->vtime;

		if (lag > (s64)ent_vtime_of(ent, IOBAND_PAUSE_LAG / 10 * 9))
			return true;
	}
	return false;
}

/* A leaf has no more bios: is it anticipated in writeback idle? */
bool ioband_pause_begins(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	return ioband_pause_may_idle(core, leaf) && !leaf_is_far_behind(leaf) &&
	       core->patience_ns <= now_ns + IOBAND_PATIENCE * IOBAND_PAUSE_NS;
}

/* Queued bios wait for an anticipated leaf: the device idles, if nothing in flight can complete. */
void ioband_pause_begin_idle(struct ioband_core *core, u64 now_ns)
{
	if (ioband_tree_counted_ios(core) <= core->stuck_ios && core_is_async(core))
		core->idle_ns = now_ns;
}

/* The device idled, and the next leaf is chosen again. */
void ioband_pause_end_idle(struct ioband_core *core, u64 now_ns)
{
	const u64 ns = now_ns > core->idle_ns ? now_ns - core->idle_ns : 0;

	core->patience_ns = max(core->patience_ns, core->idle_ns) +
			    IOBAND_PATIENCE * min_t(u64, ns, IOBAND_PAUSE_WAIT_NS);
	core->idle_ns = 0;
}
