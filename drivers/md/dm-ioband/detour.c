// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the hidden disk, on which a bio learns its cgroup.
 *
 * Some bios have no record of their cgroup (blkcg.c).  dm_submit_bio_remap() copies the record of
 * the original to the clone and submits the clone.  The target submits it to a hidden disk of its
 * own.  The disk's only purpose is a callback with a bio that knows its cgroup, from which the
 * target continues.  The detour costs one more pass through submit_bio_noacct().  Therefore only
 * bios make it that the target cannot attribute otherwise.
 */
#include "detour.h"

#include "enter.h"
#include "io.h"

#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/slab.h>

/* The hidden disk; one for all devices. */
static struct gendisk *detour_disk;

#ifdef CONFIG_BLK_INLINE_ENCRYPTION
/* Not static: the block layer registers a key of lockdep in it. */
static struct blk_crypto_profile *detour_crypto;

/* Let bios pass with any key, which the device below uses. */
static int __init accept_keys(void)
{
	detour_crypto = kzalloc(sizeof(*detour_crypto), GFP_KERNEL);
	if (!detour_crypto)
		return -ENOMEM;
	blk_crypto_profile_init(detour_crypto, 0);
	detour_crypto->max_dun_bytes_supported = BLK_CRYPTO_MAX_IV_SIZE;
	memset(detour_crypto->modes_supported, 0xff, sizeof(detour_crypto->modes_supported));
	ioband_compat_accept_key_types(detour_crypto);
	blk_crypto_register(detour_crypto, detour_disk->queue);
	return 0;
}

static void forget_keys(void)
{
	blk_crypto_profile_destroy(detour_crypto);
	kfree(detour_crypto);
}
#else
static int __init accept_keys(void)
{
	return 0;
}

static void forget_keys(void)
{
}
#endif

/*
 * In the target's map(), which then returns DM_MAPIO_SUBMITTED: send a clone, with per-bio data and
 * its sector mapped, on the detour.  It arrives in detour_submit_bio() with its cgroup.
 */
void ioband_detour_ask(struct bio *bio)
{
	/* Its bytes are counted in io.stat once, for the device below. */
	bio_set_flag(bio, BIO_CGROUP_ACCT);
	/* A disk without limits for atomic writes would not get one. */
	ioband_io_of(bio)->atomic = bio->bi_opf & REQ_ATOMIC;
	bio->bi_opf &= ~REQ_ATOMIC;
	bio_set_dev(bio, detour_disk->part0);
	dm_submit_bio_remap(bio, NULL);
}

static void detour_submit_bio(struct bio *bio)
{
	struct ioband_io *io = ioband_io_of(bio);

	bio_clear_flag(bio, BIO_CGROUP_ACCT);
	if (io->atomic)
		bio->bi_opf |= REQ_ATOMIC;
	/* The bio keeps its cgroup: it has one now. */
	bio_set_dev(bio, io->target->dev->bdev);
	if (ioband_enter(io->target, io, bio, false) == DM_MAPIO_REMAPPED)
		submit_bio_noacct(bio);
}

static const struct block_device_operations detour_ops = {
	.owner		= THIS_MODULE,
	.submit_bio	= detour_submit_bio,
};

/* Make the hidden disk.  Return: 0 or a negative errno. */
int __init ioband_detour_init(void)
{
	int ret;

	detour_disk = ioband_compat_alloc_disk();
	if (IS_ERR(detour_disk))
		return PTR_ERR(detour_disk);
	strscpy(detour_disk->disk_name, "ioband-owner", sizeof(detour_disk->disk_name));
	detour_disk->flags |= GENHD_FL_HIDDEN | GENHD_FL_NO_PART;
	detour_disk->fops = &detour_ops;
	/* Sectors of any device below must lie on it. */
	set_capacity(detour_disk, LLONG_MAX >> SECTOR_SHIFT);
	ret = accept_keys();
	if (ret)
		goto put;
	ret = add_disk(detour_disk);
	if (ret)
		goto put;
	/* The name of the disk in io.stat, which counts there how many bios made the detour. */
	ret = bdi_register(detour_disk->bdi, "%u:%u", MAJOR(disk_devt(detour_disk)),
			   MINOR(disk_devt(detour_disk)));
	if (ret)
		goto del;
	return 0;

del:
	del_gendisk(detour_disk);
put:
	put_disk(detour_disk);
	forget_keys();
	return ret;
}

/* Remove the hidden disk. */
void ioband_detour_exit(void)
{
	bdi_unregister(detour_disk->bdi);
	del_gendisk(detour_disk);
	put_disk(detour_disk);
	forget_keys();
}
