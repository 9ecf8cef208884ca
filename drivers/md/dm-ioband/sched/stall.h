/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: devices that do not answer.
 *
 * Pure, like the scheduler: the caller serialises, and passes the time.
 */
#ifndef DM_IOBAND_STALL_H
#define DM_IOBAND_STALL_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "scheduler.h"

/*
 * Longer than what a disk takes for any bio but a few: those of a disk that is full of requests
 * take 300 ms.  Retries of a sector that is hard to read take seconds, and the whole disk waits.
 */
#define IOBAND_SILENT_NS	(500 * NSEC_PER_MSEC)

/* A device that may not answer. */
struct ioband_stall_dev {
	struct list_head stall_devs;	/* in those of &struct ioband_stall */
	u32 inflight_ios;		/* known to the core; may be read at any time */
	u32 extra_ios;			/* of these, not in the limit: without data, or to swap */
	u64 moved_ns;			/* last completion, or dispatch of a first bio */
	bool hangs;		/* the pool has gone on without it; until it completes a bio */
	bool blocked;			/* bios for it are not dispatched in turn until then */
};

/* The devices of a pool, and their answers. */
struct ioband_stall {
	struct list_head stall_devs;
	u64 done_ns;			/* when one of them has last completed a bio */
	u64 resumed_ns;			/* when one of them did so after a silence of all */
	u64 silent_ns;			/* when a device was last found to be silent */
	u32 stuck_ios;			/* in flight at devices that hang; not in the limit */
	u32 stuck_extra;		/* those of them in &ioband_stall_dev.extra_ios */
	u32 silent_ios;			/* in flight at others that are silent; they count */
	u32 silent_extra;		/* those of them in &ioband_stall_dev.extra_ios */
	bool probing;		/* others may have one bio beyond the limit, to tell both apart */
};

void ioband_stall_init(struct ioband_stall *stall);
void ioband_stall_add(struct ioband_stall_dev *stall_dev, struct ioband_stall *stall);
bool ioband_stall_look(struct ioband_stall *stall, u32 limit_ios, bool slices, bool discards,
		       u64 now_ns);
void ioband_stall_apply(const struct ioband_stall *stall, struct ioband_core *core, u32 limit_ios);

/* A bio is dispatched to a device. */
static inline void ioband_stall_admit(struct ioband_stall_dev *stall_dev, u64 now_ns)
{
	if (!stall_dev->inflight_ios)
		stall_dev->moved_ns = now_ns;
	WRITE_ONCE(stall_dev->inflight_ios, stall_dev->inflight_ios + 1);
}

static inline bool ioband_stall_dev_is_silent(const struct ioband_stall_dev *stall_dev,
					      u64 now_ns)
{
	return stall_dev->inflight_ios && now_ns > stall_dev->moved_ns + IOBAND_SILENT_NS;
}

/* A device has completed a bio.  If it was blocked or silent, ioband_stall_look() is due. */
static inline bool ioband_stall_complete(struct ioband_stall_dev *stall_dev,
					 struct ioband_stall *stall, u64 now_ns)
{
	const bool silent = ioband_stall_dev_is_silent(stall_dev, now_ns);

	WRITE_ONCE(stall_dev->inflight_ios, stall_dev->inflight_ios - 1);
	stall_dev->moved_ns = now_ns;
	stall_dev->hangs = false;
	if (now_ns > stall->done_ns + IOBAND_SILENT_NS)
		stall->resumed_ns = now_ns;
	stall->done_ns = max(stall->done_ns, now_ns);
	return stall_dev->blocked || silent;
}

/* Has some device not answered for long, as of the last ioband_stall_look()? */
static inline bool ioband_stall_is_silent(const struct ioband_stall *stall)
{
	return stall->silent_ios || stall->stuck_ios;
}

#endif /* DM_IOBAND_STALL_H */
