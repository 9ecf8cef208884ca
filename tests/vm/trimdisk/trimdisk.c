// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/trimdisk: a disk with slow discards, write-zeroes and secure erases.  It keeps no data, and
 * serves one bio at a time, in their order.  Its parameters tell how many granules these have
 * covered.
 */
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define TRIMDISK_DISCARD_SECTORS	(SZ_1G >> SECTOR_SHIFT)	/* the most of one bio */

static unsigned int size_mib = 4096;
module_param(size_mib, uint, 0444);
MODULE_PARM_DESC(size_mib, "size of the disk");

static unsigned int granule_kib = 64;
module_param(granule_kib, uint, 0444);
MODULE_PARM_DESC(granule_kib, "discard granularity");

static unsigned int data_us = 100;
module_param(data_us, uint, 0644);
MODULE_PARM_DESC(data_us, "time of a read or write");

static unsigned int fixed_us;
module_param(fixed_us, uint, 0644);
MODULE_PARM_DESC(fixed_us, "time of a bio without data of any size");

static unsigned int mib_us;
module_param(mib_us, uint, 0644);
MODULE_PARM_DESC(mib_us, "additional time for each MiB of it");

static bool beside;
module_param(beside, bool, 0644);
MODULE_PARM_DESC(beside, "bios without data are served beside the others");

static int fail_mib = -1;
module_param(fail_mib, int, 0644);
MODULE_PARM_DESC(fail_mib, "bios without data fail that cover the start of this MiB");

static unsigned int covered;
module_param(covered, uint, 0444);
MODULE_PARM_DESC(covered, "granules that were covered as a whole");

static unsigned int bios;
module_param(bios, uint, 0644);
MODULE_PARM_DESC(bios, "bios without data so far");

static unsigned int largest_kib;
module_param(largest_kib, uint, 0644);
MODULE_PARM_DESC(largest_kib, "size of the largest");

static unsigned int most;
module_param(most, uint, 0644);
MODULE_PARM_DESC(most, "most of them at the disk");

static unsigned int torn;
module_param(torn, uint, 0644);
MODULE_PARM_DESC(torn, "how many of them began or ended inside a granule");

static unsigned long begun_ms;
module_param(begun_ms, ulong, 0644);
MODULE_PARM_DESC(begun_ms, "time of the first bio without data since it was set to 0");

static unsigned long ended_ms;
module_param(ended_ms, ulong, 0444);
MODULE_PARM_DESC(ended_ms, "when the last bio without data has completed");

/**
 * struct server - serves one bio at a time
 * @bios: the present bio, then the next ones
 * @timer: ends the present bio
 */
struct server {
	struct bio_list bios;
	struct hrtimer timer;
};

static int major;
static struct gendisk *disk;
static unsigned long *map;		/* covered granules */
static unsigned int now_there;		/* bios without data at the disk */
static struct server servers[2];
static DEFINE_SPINLOCK(lock);		/* all of the above, and the counters */

static bool has_no_data(const struct bio *bio)
{
	return bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE;
}

static ktime_t service(const struct bio *bio)
{
	u64 us = data_us;

	if (has_no_data(bio))
		us = fixed_us + (u64)bio->bi_iter.bi_size * mib_us / SZ_1M;
	return ns_to_ktime(us * NSEC_PER_USEC);
}

static unsigned long now_ms(void)
{
	return ktime_to_ms(ktime_get_real());
}

static void cover(const struct bio *bio)
{
	const unsigned int granule = granule_kib * 2;
	const sector_t start = bio->bi_iter.bi_sector, end = bio_end_sector(bio);
	const unsigned long first = DIV_ROUND_UP(start, granule), last = end / granule;

	if (last > first)
		bitmap_set(map, first, last - first);
	torn += start % granule || (end % granule && end != get_capacity(disk));
	covered = bitmap_weight(map, get_capacity(disk) / granule);
}

static void complete_no_data(struct bio *bio)
{
	const sector_t bad = (sector_t)fail_mib << (20 - SECTOR_SHIFT);

	now_there--;
	ended_ms = now_ms();
	if (fail_mib >= 0 && bio->bi_iter.bi_sector <= bad && bad < bio_end_sector(bio))
		bio->bi_status = BLK_STS_IOERR;
	else
		cover(bio);
}

static enum hrtimer_restart served(struct hrtimer *timer)
{
	struct server *server = container_of(timer, struct server, timer);
	const struct bio *next;
	unsigned long flags;
	struct bio *bio;

	spin_lock_irqsave(&lock, flags);
	bio = bio_list_pop(&server->bios);
	if (has_no_data(bio))
		complete_no_data(bio);
	next = bio_list_peek(&server->bios);
	if (next)
		hrtimer_forward_now(timer, service(next));
	spin_unlock_irqrestore(&lock, flags);
	bio_endio(bio);
	return next ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void trimdisk_submit_bio(struct bio *bio)
{
	struct server *server = &servers[beside && has_no_data(bio)];
	unsigned long flags;

	if (!bio_sectors(bio)) {
		bio_endio(bio);
		return;
	}
	if (bio_op(bio) == REQ_OP_READ)
		zero_fill_bio(bio);
	spin_lock_irqsave(&lock, flags);
	if (has_no_data(bio)) {
		bios++;
		begun_ms = begun_ms ?: now_ms();
		largest_kib = max(largest_kib, bio->bi_iter.bi_size / SZ_1K);
		most = max(most, ++now_there);
	}
	if (bio_list_empty(&server->bios))
		hrtimer_start(&server->timer, service(bio), HRTIMER_MODE_REL);
	bio_list_add(&server->bios, bio);
	spin_unlock_irqrestore(&lock, flags);
}

static const struct block_device_operations trimdisk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = trimdisk_submit_bio,
};

static void server_init(struct server *server)
{
	bio_list_init(&server->bios);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&server->timer, served, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&server->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	server->timer.function = served;
#endif
}

static struct gendisk *disk_new(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct queue_limits limits = {
		.max_hw_discard_sectors = TRIMDISK_DISCARD_SECTORS,
		.max_secure_erase_sectors = TRIMDISK_DISCARD_SECTORS,
		.max_write_zeroes_sectors = TRIMDISK_DISCARD_SECTORS,
		.discard_granularity = granule_kib * SZ_1K,
	};

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
#else
	struct gendisk *new = blk_alloc_disk(NUMA_NO_NODE);

	if (!new)
		return ERR_PTR(-ENOMEM);
	blk_queue_max_discard_sectors(new->queue, TRIMDISK_DISCARD_SECTORS);
	blk_queue_max_secure_erase_sectors(new->queue, TRIMDISK_DISCARD_SECTORS);
	blk_queue_max_write_zeroes_sectors(new->queue, TRIMDISK_DISCARD_SECTORS);
	new->queue->limits.discard_granularity = granule_kib * SZ_1K;
	return new;
#endif
}

static int __init trimdisk_init(void)
{
	int ret = -ENOMEM;

	map = vzalloc(BITS_TO_LONGS((u64)size_mib * SZ_1K / granule_kib) * sizeof(long));
	if (!map)
		return ret;
	server_init(&servers[0]);
	server_init(&servers[1]);
	major = register_blkdev(0, KBUILD_MODNAME);
	if (major < 0) {
		ret = major;
		goto free;
	}
	disk = disk_new();
	if (IS_ERR(disk)) {
		ret = PTR_ERR(disk);
		goto unregister;
	}
	disk->major = major;
	disk->minors = 1;
	disk->fops = &trimdisk_ops;
	strscpy(disk->disk_name, KBUILD_MODNAME, sizeof(disk->disk_name));
	set_capacity(disk, (sector_t)size_mib << (20 - SECTOR_SHIFT));
	ret = add_disk(disk);
	if (!ret)
		return 0;
	put_disk(disk);
unregister:
	unregister_blkdev(major, KBUILD_MODNAME);
free:
	vfree(map);
	return ret;
}

static void __exit trimdisk_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	unregister_blkdev(major, KBUILD_MODNAME);
	vfree(map);
}

module_init(trimdisk_init);
module_exit(trimdisk_exit);

MODULE_DESCRIPTION("A disk with slow discards, for tests");
MODULE_LICENSE("GPL");
