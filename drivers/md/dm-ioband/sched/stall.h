/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: devices that do not answer.
 *
 * Pure, like the scheduler: the caller serialises, and passes the time.
 */
#ifndef DM_IOBAND_STALL_H
#define DM_IOBAND_STALL_H

#include <linux/list.h>
#include <linux/types.h>

#include "scheduler.h"

/**
 * struct ioband_stall_dev - does a device answer
 * @stall_devs: place among the devices of its pool
 * @inflight_ios: of the core's bios in flight, those of this device; may be read at any time
 * @extra_ios: those of them without data, and writes to swap; they do not count in the limit
 * @moved_ns: when one was last admitted while none was in flight, or completed
 * @hangs: the pool has gone on without it for long; until it completes a bio
 * @blocked: bios for it are not dispatched in turn until then
 */
struct ioband_stall_dev {
	struct list_head stall_devs;
	u32 inflight_ios;
	u32 extra_ios;
	u64 moved_ns;
	bool hangs;
	bool blocked;
};

/**
 * struct ioband_stall - do the devices of a pool answer
 * @stall_devs: the devices
 * @done_ns: when one of them has last completed a bio
 * @resumed_ns: when one of them did so after a silence of all
 * @silent_ns: when a device was last found to be silent
 * @stuck_ios: in flight at devices that hang; they do not count in the limit
 * @stuck_extra: those of them in &ioband_stall_dev.extra_ios
 * @silent_ios: in flight at others that are silent; they count
 * @silent_extra: those of them in &ioband_stall_dev.extra_ios
 * @probing: to find out which of both they are, others may have one bio beyond the limit
 */
struct ioband_stall {
	struct list_head stall_devs;
	u64 done_ns;
	u64 resumed_ns;
	u64 silent_ns;
	u32 stuck_ios;
	u32 stuck_extra;
	u32 silent_ios;
	u32 silent_extra;
	bool probing;
};

void ioband_stall_init(struct ioband_stall *stall);
void ioband_stall_add(struct ioband_stall_dev *stall_dev, struct ioband_stall *stall);
void ioband_stall_admit(struct ioband_stall_dev *stall_dev, u64 now_ns);
bool ioband_stall_complete(struct ioband_stall_dev *stall_dev, struct ioband_stall *stall,
			   u64 now_ns);
bool ioband_stall_look(struct ioband_stall *stall, u32 limit_ios, bool slices, bool discards,
		       u64 now_ns);
void ioband_stall_apply(const struct ioband_stall *stall, struct ioband_core *core, u32 limit_ios);

/* Has some device not answered for long, as of the last ioband_stall_look()? */
static inline bool ioband_stall_is_silent(const struct ioband_stall *stall)
{
	return stall->silent_ios || stall->stuck_ios;
}

#endif /* DM_IOBAND_STALL_H */
