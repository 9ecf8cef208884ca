// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: what is kept for a flusher that has nothing for a moment.
 *
 * Writeback pauses because it is held back: who dirties pages is put to sleep while too
 * many are dirty, and then the flusher has nothing to write for a moment.  Were the share of
 * that moment another's, two groups at 2:1 would end up as equals, for the one that is to have
 * more has fewer dirty pages left; and the kernel, which lets each dirty as fast as he has lately
 * been written back, would make that last.  As long as nobody in the pool waits for his I/O
 * (core_is_async()), there are two remedies.
 *
 * A leaf that only writes back keeps what it missed in a pause (IOBAND_PAUSE_LAG), and has it
 * before others when it is back.
 *
 * And as it may never come to that, it is waited for like a reader that thinks, but for as long
 * as such a sleep can be (IOBAND_PAUSE_WAIT_NS), and by all who have been served more.  The
 * device is idle then, but for what is in its cache.
 *
 *	a and b at 2:1, 46 and 23 MB/s; a sleeps for 100 ms.  If b had the device meanwhile,
 *	7 MB, it would be 1.5:1 in the second around it, and more than 2:1 until a has that
 *	back; now it is 2:1 throughout.
 *
 * That is for who can use it.  It ends when somebody comes who waits for his I/O.  Who is behind
 * by nearly all that he may keep has not been able to use it, and is not waited for; nor is who
 * comes late again and again.  And until that is known: all that the device is idle for
 * pauses is an eighth of the time (IOBAND_PATIENCE), and 600 ms at most.
 *
 *	a and b at 2:1; a dirties 20 MB/s, and b all it may; the device could do 350.  a is waited
 *	for, and b held back, until that has been 600 ms.  Then b goes on in a's pauses, a has
 *	missed 38 MB after a tenth of a second, and remains behind: nobody waits for it any more.
 *
 * Not where groups would have to pay for the time, nor beside one that is promised something,
 * which may be due meanwhile, nor for who is below a maximum, which may be why he has nothing.
 * And of what is promised to a group, one below it that pauses keeps nothing.
 */
#include "pause.h"

#include "tree.h"

/* What a device of 100 MB/s does in IOBAND_PAUSE_NS: how far behind a pause may leave one. */
#define IOBAND_PAUSE_LAG	(40ULL << 20)

/* Of so much time, one part the device may be idle while who writes back pauses. */
#define IOBAND_PATIENCE		8

/* Has a leaf, or a node above it, a maximum. */
static bool leaf_is_capped(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent = &leaf->ent;

	while (ent->parent && !ent->cap)
		ent = &ent->parent->ent;
	return ent->cap;
}

/* A leaf that has nothing may have been made to pause; not if a maximum holds it back. */
static bool leaf_may_pause(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return leaf->async && core_is_async(core) && !leaf_is_capped(leaf);
}

/**
 * ioband_leaf_pauses() - has one that has nothing for now only been made to pause
 * @core: scheduler
 * @leaf: leaf
 * @now_ns: time
 *
 * Return: true if that may be so.  A pause is no longer than IOBAND_PAUSE_NS.
 */
bool ioband_leaf_pauses(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	return leaf_may_pause(core, leaf) &&
	       (leaf->inflight || now_ns <= leaf->done_ns + IOBAND_PAUSE_NS);
}

/**
 * ioband_pause_lag() - what a leaf keeps of what it did not get while it had nothing waiting
 * @core: scheduler
 * @leaf: leaf
 * @now_ns: time
 *
 * Return: units of charge.
 */
u64 ioband_pause_lag(const struct ioband_core *core, const struct ioband_leaf *leaf, u64 now_ns)
{
	return ioband_leaf_pauses(core, leaf, now_ns) ? IOBAND_PAUSE_LAG : 0;
}

/**
 * ioband_pause_is_awaited() - may a leaf be waited for if it pauses
 * @core: scheduler
 * @leaf: leaf
 *
 * Return: true if so.
 */
bool ioband_pause_is_awaited(const struct ioband_core *core, const struct ioband_leaf *leaf)
{
	return !core->charge_time && !core->promising && leaf_may_pause(core, leaf);
}

/* A leaf, or a node above it, could not use what was left to it. */
static bool leaf_is_far_behind(const struct ioband_leaf *leaf)
{
	const struct ioband_ent *ent;

	for (ent = &leaf->ent; ent->parent; ent = &ent->parent->ent) {
		const s64 lag = ent->parent->vnow - ent->vtime;

		if (lag > (s64)ent_vtime_of(ent, IOBAND_PAUSE_LAG / 10 * 9))
			return true;
	}
	return false;
}

/**
 * ioband_pause_begins() - a leaf has nothing from now on: is it waited for
 * @core: scheduler
 * @leaf: leaf
 * @now_ns: time
 *
 * Return: true if so.
 */
bool ioband_pause_begins(const struct ioband_core *core, const struct ioband_leaf *leaf,
			 u64 now_ns)
{
	return ioband_pause_is_awaited(core, leaf) && !leaf_is_far_behind(leaf) &&
	       core->patience_ns <= now_ns + IOBAND_PATIENCE * IOBAND_PAUSE_NS;
}

/**
 * ioband_pause_begin_idle() - others have to wait for one who thinks, or pauses
 * @core: scheduler
 * @now_ns: time
 *
 * From now on the device is idle, if nothing is in flight that may come back.
 */
void ioband_pause_begin_idle(struct ioband_core *core, u64 now_ns)
{
	if (core->inflight_ios <= core->stuck_ios && core_is_async(core))
		core->idle_ns = now_ns;
}

/**
 * ioband_pause_end_idle() - it is looked again who may go
 * @core: scheduler; others have waited
 * @now_ns: time
 */
void ioband_pause_end_idle(struct ioband_core *core, u64 now_ns)
{
	const u64 ns = now_ns > core->idle_ns ? now_ns - core->idle_ns : 0;

	core->patience_ns = max(core->patience_ns, core->idle_ns) +
			    IOBAND_PATIENCE * min_t(u64, ns, IOBAND_PAUSE_WAIT_NS);
	core->idle_ns = 0;
}
