// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/raredisk: a disk in memory that has what no disk of a stock kernel has:
 * secure erase, and (where the kernel knows it) inline encryption.  It tells in
 * its parameters how much it erased, and how many bios had a key.  It encrypts
 * by a pattern for each key and data unit, which is no cipher.
 */
#include <linux/atomic.h>
#include <linux/blk-crypto-profile.h>
#include <linux/blkdev.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define RAREDISK_SECTORS	16384
#define RAREDISK_ERASE_SECTORS	4096	/* the most that one bio may erase */

static int major;
static struct gendisk *disk;
static u8 *data;

static char *name = KBUILD_MODNAME;
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the disk; an exclamation mark stands for a slash");

static atomic_t erase_bios;
static atomic_t erased_sectors;

static int count_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(param->arg));
}

static const struct kernel_param_ops count_ops = { .get = count_get };

module_param_cb(erase_bios, &count_ops, &erase_bios, 0444);
MODULE_PARM_DESC(erase_bios, "bios that asked for secure erase so far");
module_param_cb(erased_sectors, &count_ops, &erased_sectors, 0444);
MODULE_PARM_DESC(erased_sectors, "how many sectors they asked for");

static atomic_t keyed_bios;

module_param_cb(keyed_bios, &count_ops, &keyed_bios, 0444);
MODULE_PARM_DESC(keyed_bios, "bios with a key for inline encryption so far");

#ifdef CONFIG_BLK_INLINE_ENCRYPTION
/* The pattern for a byte of a bio. */
static u8 pattern(const struct bio *bio, unsigned int at)
{
	const struct bio_crypt_ctx *crypt = bio->bi_crypt_context;
	u64 unit;

	if (!crypt)
		return 0;
	unit = crypt->bc_dun[0] + at / crypt->bc_key->crypto_cfg.data_unit_size;
	return hash_64(unit, 8) ^ crypt->bc_key->bytes[at % 32];
}
#else
static u8 pattern(const struct bio *bio, unsigned int at)
{
	return 0;
}
#endif

static void transfer(struct bio *bio, u8 *to)
{
	unsigned int done = 0, i;
	struct bvec_iter iter;
	struct bio_vec bvec;
	u8 *page;

	bio_for_each_segment(bvec, bio, iter) {
		page = bvec_kmap_local(&bvec);
		for (i = 0; i < bvec.bv_len; i++, done++) {
			if (bio_op(bio) == REQ_OP_WRITE)
				to[done] = page[i] ^ pattern(bio, done);
			else
				page[i] = to[done] ^ pattern(bio, done);
		}
		kunmap_local(page);
	}
	if (bio_has_crypt_ctx(bio))
		atomic_inc(&keyed_bios);
}

static void raredisk_submit_bio(struct bio *bio)
{
	u8 *at = data + (bio->bi_iter.bi_sector << SECTOR_SHIFT);

	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		transfer(bio, at);
		break;
	case REQ_OP_SECURE_ERASE:
		atomic_inc(&erase_bios);
		atomic_add(bio_sectors(bio), &erased_sectors);
		memset(at, 0, bio->bi_iter.bi_size);
		break;
	default:
		bio->bi_status = BLK_STS_NOTSUPP;
	}
	bio_endio(bio);
}

static const struct block_device_operations raredisk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = raredisk_submit_bio,
};

#ifdef CONFIG_BLK_INLINE_ENCRYPTION
/* Not static: the block layer registers a key of lockdep in it. */
static struct blk_crypto_profile *profile;

static int take_key(struct blk_crypto_profile *of, const struct blk_crypto_key *key,
		    unsigned int slot)
{
	return 0;
}

static int offer_encryption(void)
{
	int ret;

	profile = kzalloc(sizeof(*profile), GFP_KERNEL);
	if (!profile)
		return -ENOMEM;
	ret = blk_crypto_profile_init(profile, 1);
	if (ret) {
		kfree(profile);
		return ret;
	}
	profile->ll_ops.keyslot_program = take_key;
	profile->ll_ops.keyslot_evict = take_key;
	profile->max_dun_bytes_supported = 8;
	profile->modes_supported[BLK_ENCRYPTION_MODE_AES_256_XTS] = SZ_4K;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	profile->key_types_supported = BLK_CRYPTO_KEY_TYPE_RAW;
#endif
	if (!blk_crypto_register(profile, disk->queue)) {
		blk_crypto_profile_destroy(profile);
		kfree(profile);
		return -EINVAL;
	}
	return 0;
}

static void withdraw_encryption(void)
{
	blk_crypto_profile_destroy(profile);
	kfree(profile);
}
#else
static int offer_encryption(void)
{
	return 0;
}

static void withdraw_encryption(void)
{
}
#endif

static struct gendisk *disk_new(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct queue_limits limits = {
		.max_secure_erase_sectors = RAREDISK_ERASE_SECTORS,
	};

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
#else
	struct gendisk *new = blk_alloc_disk(NUMA_NO_NODE);

	if (!new)
		return ERR_PTR(-ENOMEM);
	blk_queue_max_secure_erase_sectors(new->queue, RAREDISK_ERASE_SECTORS);
	return new;
#endif
}

static int __init raredisk_init(void)
{
	int ret = -ENOMEM;

	data = vzalloc(RAREDISK_SECTORS << SECTOR_SHIFT);
	if (!data)
		return ret;
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
	disk->fops = &raredisk_ops;
	strscpy(disk->disk_name, name, sizeof(disk->disk_name));
	set_capacity(disk, RAREDISK_SECTORS);
	ret = offer_encryption();
	if (ret)
		goto put;
	ret = add_disk(disk);
	if (ret)
		goto withdraw;
	return 0;
withdraw:
	withdraw_encryption();
put:
	put_disk(disk);
unregister:
	unregister_blkdev(major, KBUILD_MODNAME);
free:
	vfree(data);
	return ret;
}

static void __exit raredisk_exit(void)
{
	del_gendisk(disk);
	withdraw_encryption();
	put_disk(disk);
	unregister_blkdev(major, KBUILD_MODNAME);
	vfree(data);
}

module_init(raredisk_init);
module_exit(raredisk_exit);

MODULE_DESCRIPTION("A disk with secure erase and inline encryption, for tests");
MODULE_LICENSE("GPL");
