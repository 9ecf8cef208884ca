// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: devices that do not answer.
 * Pure, see core.h.  The target calls it (pool.c, state.c), under the pool's lock.
 *
 * A device is silent if it has bios in flight, and has completed none for IOBAND_SILENT_NS.  There
 * are two reasons, which ask for opposite actions.  The device hangs by itself: it is suspended, or
 * its path is lost.  Its bios must not use up the limit of the pool, or the other devices have
 * nothing.  So they do not count.  Or the disk below all devices stalls: its firmware collects
 * garbage, or a bus is reset.  Then its bios must count.  Otherwise the same disk gets another
 * limit's worth in each look, until all queues are empty, and the highest weight waits behind all
 * of that afterwards.
 *
 * Completions of other devices tell one from the other.  A device hangs if the pool goes on for
 * IOBAND_SILENT_NS without it.  After a silence of all devices, that time begins when the first of
 * them answers: the others are not far behind, if it was a stall.
 *
 *	limit 32; volumes a and b of one disk have 20 and 12 in flight.
 *	the disk stalls for 5 s		nothing completes; 32 in flight all the time.
 *	a hangs, b does not		a's 20 count for 0.5 s; then b may have 32
 *
 * A device that hangs may have used up the limit, so that no other can complete anything.
 * Therefore the pool probes: the other devices may have one bio beyond the limit, all together.  If
 * it completes, so may the next one, and after IOBAND_SILENT_NS the silent device is known to hang.
 * If it does not, its device is soon silent too.  So a stall costs at most a bio for each device
 * that had none in flight when it began.  With slices it is not the limit but the slice that lets
 * no other device go on: the pool probes while any device is silent.  A discard lets no discard of
 * another device go on, whatever the limit.  Then the silent device is left alone as in a probe,
 * but the limit of the others stays.
 *
 *	limit 32; a hangs, and has 32 in flight; b has bios queued
 *	0.5 s	a is silent; b may have one bio, then the next one
 *	1.0 s	a hangs: its 32 do not count, and b may have 32
 *
 * Two devices of a pool on top of each other need that as well: bios of the upper one use up the
 * limit, and complete only after those of the lower one.
 *
 * Bios for a device that hangs, or for a silent one while the pool probes, stay queued until it
 * completes one.  Only bios out of turn are dispatched.
 */
#include "stall.h"

#include "core.h"

void ioband_stall_init(struct ioband_stall *stall)
{
	*stall = (struct ioband_stall) {};
	INIT_LIST_HEAD(&stall->stall_devs);
}

/* Add a device; list_del() of its @stall_devs removes it. */
void ioband_stall_add(struct ioband_stall_dev *stall_dev, struct ioband_stall *stall)
{
	*stall_dev = (struct ioband_stall_dev) {};
	list_add_tail(&stall_dev->stall_devs, &stall->stall_devs);
}

/* The pool has gone on without a silent device for long. */
static bool dev_is_left(const struct ioband_stall_dev *stall_dev, const struct ioband_stall *stall)
{
	return stall->done_ns > max(stall_dev->moved_ns, stall->resumed_ns) + IOBAND_SILENT_NS;
}

/*
 * Find out which devices do not answer.  To be called every few milliseconds while bios are in
 * flight, and whenever the limit changes.  @slices, @discards: a slice may keep all devices
 * waiting, or a discard the discards of other devices, whatever the limit.  Return: true if a
 * device is not blocked any more.
 */
bool ioband_stall_look(struct ioband_stall *stall, u32 limit_ios, bool slices, bool discards,
		       u64 now_ns)
{
	bool others = false, unblocked = false, left_alone;
	struct ioband_stall_dev *stall_dev;

	stall->stuck_ios = 0;
	stall->stuck_extra = 0;
	stall->silent_ios = 0;
	stall->silent_extra = 0;
	list_for_each_entry(stall_dev, &stall->stall_devs, stall_devs) {
		const bool silent = ioband_stall_dev_is_silent(stall_dev, now_ns);

		stall_dev->hangs |= silent && dev_is_left(stall_dev, stall);
		if (stall_dev->hangs) {
			stall->stuck_ios += stall_dev->inflight_ios;
			stall->stuck_extra += stall_dev->extra_ios;
		} else if (silent) {
			stall->silent_ios += stall_dev->inflight_ios;
			stall->silent_extra += stall_dev->extra_ios;
		} else {
			others = true;
		}
	}
	if (stall->silent_ios)
		stall->silent_ns = now_ns;
	others &= !!stall->silent_ios;
	stall->probing =
		others && (slices || stall->silent_ios - stall->silent_extra >= limit_ios);
	left_alone = stall->probing || (others && discards);
	list_for_each_entry(stall_dev, &stall->stall_devs, stall_devs) {
		const bool silent = ioband_stall_dev_is_silent(stall_dev, now_ns);
		const bool blocked = stall_dev->hangs || (left_alone && silent);

		unblocked |= stall_dev->blocked && !blocked;
		stall_dev->blocked = blocked;
	}
	return unblocked;
}

/* Bound the bios at devices that answer to @limit_ios, as of the last ioband_stall_look(). */
void ioband_stall_apply(const struct ioband_stall *stall, struct ioband_core *core, u32 limit_ios)
{
	core->stuck_extra = stall->stuck_extra;
	if (unlikely(stall->probing)) {
		core->stuck_extra += stall->silent_extra;
		ioband_core_set_limit(core, 1, stall->stuck_ios + stall->silent_ios);
	} else {
		ioband_core_set_limit(core, limit_ios, stall->stuck_ios);
	}
	core->stalled = stall->silent_ios;
}
