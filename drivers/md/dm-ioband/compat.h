/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: differences between kernels, from 6.1 on.
 *
 * The sources use the newest interface; this file provides it with older kernels.  Kbuild
 * looks for the interfaces in the kernel's headers and defines IOBAND_HAS_*.  The versions here are
 * those of the main line.
 */
#ifndef DM_IOBAND_COMPAT_H
#define DM_IOBAND_COMPAT_H

#include <linux/blk-crypto-profile.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* 6.13: hrtimer_setup() */
#ifndef IOBAND_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* 6.16: the target's prepare_ioctl() gets the ioctl */
#ifndef IOBAND_HAS_IOCTL_FORWARD
#define IOBAND_PREPARE_IOCTL_ARGS \
	struct dm_target *ti, struct block_device **bdev
#else
#define IOBAND_PREPARE_IOCTL_ARGS \
	struct dm_target *ti, struct block_device **bdev, unsigned int cmd, unsigned long arg, \
	bool *forward
#endif

/* 6.17: workqueues are marked as per CPU, which was the default */
#ifndef IOBAND_HAS_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* 6.11: atomic writes */
#ifndef REQ_ATOMIC
#define REQ_ATOMIC	((__force blk_opf_t)0)
#endif

/* 6.13: atomic writes through device-mapper */
#ifndef DM_TARGET_ATOMIC_WRITES
#define DM_TARGET_ATOMIC_WRITES	0
#endif

/* 6.4: threads of the kernel that share a process's memory; before there were those of io_uring */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER	PF_IO_WORKER
#endif

/* 6.15: types of keys for inline encryption */
static inline void ioband_compat_accept_key_types(struct blk_crypto_profile *profile)
{
#ifdef IOBAND_HAS_KEY_TYPES
	profile->key_types_supported = UINT_MAX;
#endif
}

/* 6.9: blk_alloc_disk() takes the limits, 6.11: and the features in them */
static inline struct gendisk *ioband_compat_alloc_disk(void)
{
#ifndef IOBAND_HAS_QUEUE_FEATURES
	struct gendisk *disk;

#ifndef IOBAND_HAS_DISK_LIMITS
	disk = blk_alloc_disk(NUMA_NO_NODE);
	if (!disk)
		return ERR_PTR(-ENOMEM);
#else
	disk = blk_alloc_disk(NULL, NUMA_NO_NODE);
	if (IS_ERR(disk))
		return disk;
#endif
	blk_queue_write_cache(disk->queue, true, true);
	blk_queue_flag_set(QUEUE_FLAG_NOWAIT, disk->queue);
	blk_queue_max_discard_sectors(disk->queue, UINT_MAX);
	blk_queue_max_secure_erase_sectors(disk->queue, UINT_MAX);
	blk_queue_max_write_zeroes_sectors(disk->queue, UINT_MAX);
	return disk;
#else
	struct queue_limits limits = {
		.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA | BLK_FEAT_NOWAIT,
		.max_hw_discard_sectors = UINT_MAX,
		.max_user_discard_sectors = UINT_MAX,
		.max_secure_erase_sectors = UINT_MAX,
		.max_write_zeroes_sectors = UINT_MAX,
	};

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
#endif
}

#endif /* DM_IOBAND_COMPAT_H */
