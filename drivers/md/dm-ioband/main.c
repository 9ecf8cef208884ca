// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: proportional I/O bandwidth on any block device.
 *
 * Callbacks of device-mapper.  Documentation/dm-ioband.rst describes the interface, io.h the
 * structures, and the top of sched/core.c the scheduler.
 */
#include "admit.h"
#include "batch.h"
#include "blkcg.h"
#include "complete.h"
#include "debt.h"
#include "detour.h"
#include "dispatch.h"
#include "enter.h"
#include "flush.h"
#include "group.h"
#include "io.h"
#include "limits.h"
#include "message.h"
#include "open.h"
#include "pool.h"
#include "preset.h"
#include "release.h"
#include "split.h"
#include "stats.h"
#include "stream.h"
#include "throttle.h"
#include "worker.h"

#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>

#define CREATE_TRACE_POINTS
#include "trace.h"

#define DM_MSG_PREFIX "ioband"

/*
 * device-mapper prints ti->error after the constructor has returned, so the sentence has to outlive
 * the target.  Two loads that fail at the same time use different slots.
 */
static char *keep_error(const struct ioband_error *error)
{
	static struct ioband_error kept[8];
	static atomic_t next;
	const unsigned int slot = atomic_inc_return(&next);

	kept[slot % ARRAY_SIZE(kept)] = *error;
	return kept[slot % ARRAY_SIZE(kept)].text;
}

static int open_device(struct ioband_target *target, const struct ioband_table *table,
		       struct ioband_error *error)
{
	struct dm_target *ti = target->ti;
	int ret;

	ret = dm_get_device(ti, table->device, dm_table_get_mode(ti->table), &target->dev);
	if (ret)
		return ioband_args_fail(error, ret,
					"device '%.64s': cannot be opened (error %d): see that it exists, and that nothing else has claimed it",
					table->device, ret);
	target->start = table->start;
	target->shift = table->start - ti->begin;
	if (!bdev_is_zoned(target->dev->bdev))
		return 0;
	dm_put_device(ti, target->dev);
	return ioband_args_fail(error, -EINVAL,
				"device '%.64s': is zoned, and ioband cannot keep the order of writes to its zones",
				table->device);
}

static void set_capabilities(struct dm_target *ti)
{
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_secure_erase_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->accounts_remapped_io = true;
	ti->per_io_data_size = sizeof(struct ioband_io);
}

static int target_new(struct dm_target *ti, unsigned int argc, char **argv,
		      struct ioband_error *error)
{
	struct ioband_target *target;
	struct ioband_table table;
	int ret;

	ret = ioband_args_table(&table, argc, argv, error);
	if (ret)
		return ret;
	target = kzalloc(sizeof(*target), GFP_KERNEL);
	if (!target)
		return ioband_args_fail(error, -ENOMEM, "no memory for a target");
	target->ti = ti;
	target->settings = table.settings;
	ret = ioband_worker_init_target(target);
	if (ret) {
		ret = ioband_args_fail(error, ret, "no memory for a worker");
		goto free;
	}
	ret = open_device(target, &table, error);
	if (ret)
		goto exit_worker;
	ret = ioband_pool_join(target, table.pool, error);
	if (ret)
		goto put;
	ti->private = target;
	set_capabilities(ti);
	if (target->dev->dax_dev)
		DMINFO("device '%s': DAX is not offered above: it makes no bios to share by",
		       target->dev->name);
	return 0;

put:
	dm_put_device(ti, target->dev);
exit_worker:
	ioband_worker_exit_target(target);
free:
	kfree(target);
	return ret;
}

static int ioband_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct ioband_error error = {};
	int ret = target_new(ti, argc, argv, &error);

	if (ret)
		ti->error = keep_error(&error);
	return ret;
}

static void ioband_dtr(struct dm_target *ti)
{
	struct ioband_target *target = ti->private;

	ioband_pool_hide(target);
	ioband_worker_exit_target(target);
	ioband_pool_leave(target);
	dm_put_device(ti, target->dev);
	kfree(target);
}

/* The operation as which a bio is counted. */
static enum ioband_op op_of(const struct bio *bio)
{
	if (!op_is_write(bio_op(bio)))
		return IOBAND_OP_READ;
	if (bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_SECURE_ERASE)
		return IOBAND_OP_DISCARD;
	return IOBAND_OP_WRITE;
}

/* The submitter may have to sleep before the bio makes the detour that finds its cgroup. */
static int map_by_blkcg(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	struct cgroup_subsys_state *css = ioband_blkcg_of_flusher(bio);
	u32 split_bytes = 0;

	io->of_task = ioband_blkcg_may_wait(bio);
	io->of_flusher = css;
	if (io->of_task) {
		bio_set_dev(bio, target->dev->bdev);
		ioband_enter_throttle(target, io, bio);
	} else if (css) {
		split_bytes = ioband_enter_throttle_flusher(target, css) ? IOBAND_SPLIT_MAX : 0;
	} else if (ioband_throttle_is_swap(bio)) {
		split_bytes = ioband_throttle_wait_swap(target, bio);
	}
	/*
	 * device-mapper resubmits a returned bio until it has stopped, and counts the bio with each
	 * detour.  A bio with REQ_NOWAIT is dispatched, see ioband_release_suspend().
	 */
	if (ioband_admit_gives_back(target) && !(bio->bi_opf & REQ_NOWAIT))
		return DM_MAPIO_REQUEUE;
	if (split_bytes)
		ioband_split_accept(io, bio, split_bytes);
	ioband_detour_ask(bio);
	return DM_MAPIO_SUBMITTED;
}

/* Not inlined: thereby the path of the open state saves few registers. */
static noinline int map_any(struct ioband_target *target, struct ioband_io *io, struct bio *bio)
{
	if (ioband_batch_join(target, io, bio))
		return DM_MAPIO_SUBMITTED;
	io->target = target;
	io->group = NULL;
	io->open = false;
	io->swap = false;
	if (unlikely(!bio_sectors(bio))) {
		io->bytes = 0;	/* for ioband_end_io() */
		bio_set_dev(bio, target->dev->bdev);
		ioband_enter_flush(target, io, bio);
		return DM_MAPIO_REMAPPED;
	}
	bio->bi_iter.bi_sector += target->shift;
	io->op = op_of(bio);
	io->bytes = bio->bi_iter.bi_size;
	if (unlikely(!ioband_blkcg_is_known(READ_ONCE(target->member->mode), bio)))
		return map_by_blkcg(target, io, bio);
	bio_set_dev(bio, target->dev->bdev);
	return ioband_enter(target, io, bio, true);
}

static int ioband_map(struct dm_target *ti, struct bio *bio)
{
	struct ioband_target *target = ti->private;
	struct ioband_io *io = ioband_io_of(bio);

	if (unlikely(!ioband_open_enter(target, io, bio)))
		return map_any(target, io, bio);
	bio->bi_iter.bi_sector += target->shift;
	bio_set_dev(bio, target->dev->bdev);
	io->start_ns = ktime_get_ns();
	return DM_MAPIO_REMAPPED;
}

/* Not inlined: thereby the path of the open state saves few registers. */
static noinline int end_marked(struct ioband_target *target, struct bio *bio, blk_status_t *error)
{
	struct ioband_io *io = ioband_io_of(bio);

	if (bio->bi_opf & REQ_SWAP)
		ioband_throttle_remove_swap(io);
	if (bio->bi_opf & (REQ_PREFLUSH | REQ_FUA))
		ioband_flush_tell(target, bio, error);
	if (io->open)
		ioband_open_complete(io);
	else if (unlikely(!io->bytes))
		ioband_complete_flush(io, *error);
	else if (io->group)
		ioband_complete(io);
	return DM_ENDIO_DONE;
}

static int ioband_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct ioband_io *io;

	if (unlikely(bio->bi_opf & (REQ_PREFLUSH | REQ_FUA | REQ_SWAP)))
		return end_marked(ti->private, bio, error);
	io = ioband_io_of(bio);
	if (likely(io->open))
		ioband_open_complete(io);
	else if (unlikely(!io->bytes))
		ioband_complete_flush(io, ioband_bio_of(io)->bi_status);
	else if (io->group)
		ioband_complete(io);
	return DM_ENDIO_DONE;
}

static void ioband_presuspend(struct dm_target *ti)
{
	ioband_release_suspend(ti->private, dm_noflush_suspending(ti));
}

static void ioband_postsuspend(struct dm_target *ti)
{
	struct ioband_target *target = ti->private;

	ioband_worker_drain(target);
	ioband_flush_suspend(target);
}

static void ioband_resume(struct dm_target *ti)
{
	struct ioband_target *target = ti->private;

	ioband_pool_resume(target);
	ioband_release_resume(target);
}

static void ioband_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
			  char *result, unsigned int maxlen)
{
	struct ioband_target *target = ti->private;
	struct ioband_settings settings;
	unsigned int sz = 0;

	ioband_pool_settings(target, &settings);
	switch (type) {
	case STATUSTYPE_INFO:
		ioband_pool_status(target, &settings, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %llu %s %u mode=%s", target->dev->name, (u64)target->start,
		       target->pool->name, settings.given ? 6 : 5,
		       ioband_args_mode_names[settings.mode]);
		if (settings.given && settings.weight == IOBAND_WEIGHT_IDLE)
			DMEMIT(" weight=idle");
		else if (settings.given)
			DMEMIT(" weight=%u", settings.weight);
		DMEMIT(" measure=%s depth=", ioband_args_measure_names[settings.measure]);
		if (settings.depth)
			DMEMIT("%u", settings.depth);
		else
			DMEMIT("auto");
		if (settings.split_bytes)
			DMEMIT("/%u", settings.split_bytes);
		DMEMIT(" slice=%u writes_starved=%u", settings.slice_ms, settings.writes_starved);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,start=%llu,pool=%s,mode=%s;", target->dev->name,
		       (u64)target->start, target->pool->name,
		       ioband_args_mode_names[settings.mode]);
		break;
	}
}

static int ioband_target_message(struct dm_target *ti, unsigned int argc, char **argv,
				 char *result, unsigned int maxlen)
{
	struct ioband_target *target = ti->private;
	struct ioband_error error = {};
	int ret = ioband_message(target, argc, argv, result, maxlen, &error);

	if (ret < 0)
		DMWARN("%s: message: %s", dm_device_name(dm_table_get_md(ti->table)),
		       error.text[0] ? error.text : "no memory");
	return ret;
}

static int ioband_prepare_ioctl(IOBAND_PREPARE_IOCTL_ARGS)
{
	struct ioband_target *target = ti->private;

	*bdev = target->dev->bdev;
	/* Positive: the target maps only a part of the device below. */
	return target->start || ti->len != bdev_nr_sectors(*bdev);
}

static int ioband_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct ioband_target *target = ti->private;

	return fn(ti, target->dev, target->start, ti->len, data);
}

static struct target_type ioband_target = {
	.name		 = "ioband",
	.version	 = { 1, 3, 0 },
	.features	 = DM_TARGET_SINGLETON | DM_TARGET_PASSES_INTEGRITY |
			   DM_TARGET_PASSES_CRYPTO | DM_TARGET_NOWAIT | DM_TARGET_ATOMIC_WRITES,
	.module		 = THIS_MODULE,
	.ctr		 = ioband_ctr,
	.dtr		 = ioband_dtr,
	.map		 = ioband_map,
	.end_io		 = ioband_end_io,
	.presuspend	 = ioband_presuspend,
	.presuspend_undo = ioband_resume,
	.postsuspend	 = ioband_postsuspend,
	.resume		 = ioband_resume,
	.status		 = ioband_status,
	.message	 = ioband_target_message,
	.prepare_ioctl	 = ioband_prepare_ioctl,
	.iterate_devices = ioband_iterate_devices,
};

static int __init ioband_init(void)
{
	int ret;

	ret = ioband_dispatch_init();
	if (ret)
		return ret;
	ret = ioband_group_init();
	if (ret)
		goto exit_dispatch;
	ret = ioband_detour_init();
	if (ret)
		goto exit_groups;
	ret = ioband_pool_init();
	if (ret)
		goto exit_detour;
	ret = dm_register_target(&ioband_target);
	if (ret)
		goto exit_pools;
	return 0;
exit_pools:
	ioband_pool_exit();
exit_detour:
	ioband_detour_exit();
exit_groups:
	ioband_group_exit();
exit_dispatch:
	ioband_dispatch_exit();
	return ret;
}

static void __exit ioband_exit(void)
{
	dm_unregister_target(&ioband_target);
	ioband_pool_exit();
	ioband_detour_exit();
	ioband_group_exit();
	ioband_preset_exit();
	ioband_limits_exit();
	ioband_stream_exit();
	ioband_stats_exit();
	ioband_dispatch_exit();
	ioband_debt_exit();
}

module_init(ioband_init);
module_exit(ioband_exit);

MODULE_DESCRIPTION("Device-mapper target that shares I/O bandwidth by weight");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0"); /* of dkms.conf */
MODULE_AUTHOR("The dm-ioband developers");
