// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-disk: modelled disks as block devices.
 *
 *	echo "NAME MODEL [parameter=value ...]" > /sys/kernel/lab-disk/create
 *	echo NAME > /sys/kernel/lab-disk/remove
 *
 * create and remove /dev/NAME.  MODEL is hdd, sata-ssd, nvme or cloud; all values are
 * whole numbers.  Errors are in the kernel log.  An open disk cannot be removed.
 *
 *	/sys/kernel/lab-disk/MODEL		a line for each parameter: its name, its
 *						default, a description
 *	/sys/block/NAME/lab-disk/parameters	name=value lines: the disk's parameters
 *	/sys/block/NAME/lab-disk/statistics	"name value" lines: the model's counters
 *	/sys/block/NAME/lab-disk/times		"cgroup-id busy_ns bytes_read bytes_written
 *						ios" lines: device time by cgroup.
 *						Destaging counts for the cgroup of the
 *						data.  Cgroup 0 stands for I/O without
 *						cgroup, and for all cgroups from the
 *						512th on.
 *
 * The model alone decides when a request completes (hdd*.c, flash.c, cloud.c, behind the
 * interface of model.h).  This file has the tags, one timer set to the model's next
 * event, and the data: zeroes, or with keep_data=1 the data written.
 *
 * A task that finds all tags taken sleeps until some are free, and may then find them
 * taken by faster tasks.  Where CPU time is free, a task that just got a completion
 * always is faster, and some tasks starve.  With host_queue=N, there are N more tags than
 * the device takes commands; the surplus commands wait in order of arrival.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blk-cgroup.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/hrtimer.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/version.h>
#include <linux/xarray.h>

#include "model.h"
#include "store.h"

/* Five numbers of 64 bits, and their separators. */
#define LAB_OWNER_TEXT	(5 * 21)

/* Counters of an owner (a cgroup) on a disk. */
struct lab_owner {
	u64 cgroup_id;
	u64 bytes[2];
	u64 ios;
};

struct lab_disk {
	struct list_head in_disks;
	const struct lab_model *model;
	u64 values[LAB_MAX_PARAMS];
	struct gendisk *gendisk;
	struct blk_mq_tag_set tags;
	struct lab_store store;
	struct hrtimer timer;
	/*
	 * Guards all fields below.  Taken in hard interrupts; owner_index' own lock nests
	 * inside.
	 */
	spinlock_t lock;
	void *state;
	u32 at_model;
	struct lab_command *waiting;
	struct lab_command **waiting_last;
	struct xarray owner_index;
	struct lab_owner owner[LAB_OWNERS];
	u32 owners;
};

struct lab_command {
	struct lab_request rq;
	struct lab_command *next;
};

/* Guards the list of disks, and serialises creation and removal. */
static DEFINE_MUTEX(lab_mutex);
static LIST_HEAD(lab_disks);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* Debian's sparse supports only headers up to 6.12. */
static void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
			  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* The type of this kernel: constant since 6.13. */
#define LAB_BIN_ATTRIBUTE	typeof(**((struct attribute_group *)NULL)->bin_attrs)

static bool lab_op(struct request *rq, enum lab_op *op)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		*op = LAB_READ;
		return true;
	case REQ_OP_WRITE:
		*op = LAB_WRITE;
		return true;
	case REQ_OP_FLUSH:
		*op = LAB_FLUSH;
		return true;
	case REQ_OP_DISCARD:
		*op = LAB_DISCARD;
		return true;
	default:
		return false;
	}
}

static u64 lab_cgroup_id(struct request *rq)
{
#ifdef CONFIG_BLK_CGROUP
	struct cgroup_subsys_state *css = rq->bio ? bio_blkcg_css(rq->bio) : NULL;

	if (css)
		return cgroup_id(css->cgroup);
#endif
	return 0;
}

/* The last entry stands for all owners without an entry of their own. */
static u32 lab_owner(struct lab_disk *disk, u64 cgroup_id)
{
	void *index = xa_load(&disk->owner_index, cgroup_id);
	u32 owner = disk->owners;

	lockdep_assert_held(&disk->lock);
	if (index)
		return xa_to_value(index);
	if (owner == LAB_OWNERS - 1 ||
	    xa_err(xa_store(&disk->owner_index, cgroup_id, xa_mk_value(owner), GFP_ATOMIC)))
		return LAB_OWNERS - 1;
	disk->owner[owner].cgroup_id = cgroup_id;
	disk->owners++;
	return owner;
}

/* Let the model's time pass.  Returns the completed commands in order. */
static struct lab_command *lab_advance(struct lab_disk *disk, u64 now_ns)
{
	struct lab_command *first = NULL, **last = &first;
	struct lab_request *done;

	lockdep_assert_held(&disk->lock);
	while ((done = disk->model->advance(disk->state, now_ns))) {
		*last = container_of(done, struct lab_command, rq);
		last = &(*last)->next;
		disk->at_model--;
	}
	*last = NULL;
	return first;
}

/* Pass waiting commands to the model, up to its limit. */
static void lab_feed(struct lab_disk *disk, u64 now_ns)
{
	const u32 limit = disk->values[LAB_QUEUES] * disk->values[LAB_QUEUE_DEPTH];
	struct lab_command *command;

	lockdep_assert_held(&disk->lock);
	while (disk->waiting && disk->at_model < limit) {
		command = disk->waiting;
		disk->waiting = command->next;
		if (!disk->waiting)
			disk->waiting_last = &disk->waiting;
		disk->at_model++;
		disk->model->submit(disk->state, &command->rq, now_ns);
	}
}

static void lab_arm(struct lab_disk *disk)
{
	const u64 next_ns = disk->model->next_ns(disk->state);

	lockdep_assert_held(&disk->lock);
	if (next_ns != LAB_NEVER)
		hrtimer_start(&disk->timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS);
}

static void lab_complete_all(struct lab_command *command)
{
	struct lab_command *next;

	for (; command; command = next) {
		next = command->next;
		blk_mq_complete_request(blk_mq_rq_from_pdu(command));
	}
}

static enum hrtimer_restart lab_timer(struct hrtimer *timer)
{
	struct lab_disk *disk = container_of(timer, struct lab_disk, timer);
	struct lab_command *done;
	unsigned long flags;
	u64 now_ns;

	spin_lock_irqsave(&disk->lock, flags);
	now_ns = ktime_get_ns();
	done = lab_advance(disk, now_ns);
	lab_feed(disk, now_ns);
	lab_arm(disk);
	spin_unlock_irqrestore(&disk->lock, flags);
	lab_complete_all(done);
	return HRTIMER_NORESTART;
}

static void lab_submit(struct lab_disk *disk, struct lab_command *command, u64 cgroup_id)
{
	struct lab_request *rq = &command->rq;
	struct lab_command *done;
	struct lab_owner *owner;
	unsigned long flags;
	u64 now_ns;

	spin_lock_irqsave(&disk->lock, flags);
	now_ns = ktime_get_ns();
	done = lab_advance(disk, now_ns);
	rq->owner = lab_owner(disk, cgroup_id);
	owner = &disk->owner[rq->owner];
	owner->ios++;
	if (rq->op == LAB_READ || rq->op == LAB_WRITE)
		owner->bytes[rq->op] += (u64)rq->sectors << SECTOR_SHIFT;
	command->next = NULL;
	*disk->waiting_last = command;
	disk->waiting_last = &command->next;
	lab_feed(disk, now_ns);
	lab_arm(disk);
	spin_unlock_irqrestore(&disk->lock, flags);
	lab_complete_all(done);
}

static blk_status_t lab_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct lab_disk *disk = hctx->queue->queuedata;
	struct lab_command *command = blk_mq_rq_to_pdu(bd->rq);

	command->rq = (struct lab_request) {
		.sector = blk_rq_pos(bd->rq),
		.sectors = blk_rq_sectors(bd->rq),
		.fua = !!(bd->rq->cmd_flags & REQ_FUA),
	};
	if (!lab_op(bd->rq, &command->rq.op))
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(bd->rq);
	if (disk->values[LAB_KEEP_DATA] && !lab_store_write(&disk->store, bd->rq))
		return BLK_STS_RESOURCE;
	lab_submit(disk, command, lab_cgroup_id(bd->rq));
	return BLK_STS_OK;
}

static void lab_complete_rq(struct request *rq)
{
	struct lab_disk *disk = rq->q->queuedata;

	if (req_op(rq) == REQ_OP_READ)
		lab_store_read(&disk->store, rq);
	blk_mq_end_request(rq, BLK_STS_OK);
}

/* A request takes as long as the model says; the model loses none. */
static enum blk_eh_timer_return lab_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops lab_mq_ops = {
	.queue_rq = lab_queue_rq,
	.complete = lab_complete_rq,
	.timeout = lab_timeout,
};

static const struct block_device_operations lab_block_ops = {
	.owner = THIS_MODULE,
};

/* /sys/block/NAME/lab-disk */

static struct lab_disk *lab_of(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static ssize_t parameters_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct lab_disk *disk = lab_of(dev);
	unsigned int i;
	int n = 0;

	for (i = 0; i < disk->model->nr_params; i++)
		n += sysfs_emit_at(page, n, "%s=%llu\n", disk->model->params[i].name,
				   disk->values[i]);
	return n;
}
static DEVICE_ATTR_RO(parameters);

static ssize_t statistics_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct lab_disk *disk = lab_of(dev);
	u64 counts[LAB_MAX_STATS];
	unsigned int i;
	int n = 0;

	spin_lock_irq(&disk->lock);
	memcpy(counts, disk->model->counts(disk->state), disk->model->nr_stats * sizeof(u64));
	spin_unlock_irq(&disk->lock);
	for (i = 0; i < disk->model->nr_stats; i++)
		n += sysfs_emit_at(page, n, "%s %llu\n", disk->model->stats[i], counts[i]);
	return n;
}
static DEVICE_ATTR_RO(statistics);

/* The owners as text, freed by the caller. */
static char *lab_times(struct lab_disk *disk, size_t *length)
{
	const size_t size = LAB_OWNERS * LAB_OWNER_TEXT;
	char *text = kvmalloc(size, GFP_KERNEL);
	const struct lab_owner *owner;
	const u64 *busy_ns;
	unsigned int i;

	if (!text)
		return NULL;
	*length = 0;
	spin_lock_irq(&disk->lock);
	busy_ns = disk->model->busy_ns(disk->state);
	for (i = 0; i < LAB_OWNERS; i++) {
		owner = &disk->owner[i];
		if (!owner->ios)
			continue;
		*length += scnprintf(text + *length, size - *length,
				     "%20llu %20llu %20llu %20llu %20llu\n",
				     owner->cgroup_id, busy_ns[i], owner->bytes[LAB_READ],
				     owner->bytes[LAB_WRITE], owner->ios);
	}
	spin_unlock_irq(&disk->lock);
	return text;
}

/*
 * There can be more owners than lines in a page, so this is read in parts.  All lines
 * have one width and are only added at the end, so that the parts fit together.
 */
static ssize_t times_read(struct file *file, struct kobject *kobj,
			  LAB_BIN_ATTRIBUTE *attr, char *page, loff_t at, size_t count)
{
	struct lab_disk *disk = lab_of(kobj_to_dev(kobj));
	size_t length;
	char *text = lab_times(disk, &length);
	ssize_t done;

	if (!text)
		return -ENOMEM;
	done = memory_read_from_buffer(page, count, &at, text, length);
	kvfree(text);
	return done;
}

static LAB_BIN_ATTRIBUTE times_attr = {
	.attr = { .name = "times", .mode = 0444 },
	.read = times_read,
};

static LAB_BIN_ATTRIBUTE *lab_disk_bin_attrs[] = { &times_attr, NULL };

static struct attribute *lab_disk_attrs[] = {
	&dev_attr_parameters.attr,
	&dev_attr_statistics.attr,
	NULL
};

static const struct attribute_group lab_disk_group = {
	.name = "lab-disk",
	.attrs = lab_disk_attrs,
	.bin_attrs = lab_disk_bin_attrs,
};

static const struct attribute_group *lab_disk_groups[] = { &lab_disk_group, NULL };

/* Creation and removal */

static struct queue_limits lab_limits(const struct lab_disk *disk)
{
	const u64 *values = disk->values;
	struct queue_limits limits = {
		.logical_block_size = values[LAB_BLOCK_BYTES],
		.physical_block_size = 4096,
		.max_hw_sectors = values[LAB_MAX_KIB] * 2,
		.max_segments = USHRT_MAX,
		.max_segment_size = UINT_MAX,
		.features = BLK_FEAT_IO_STAT,
	};

	if (disk->model->rotational)
		limits.features |= BLK_FEAT_ROTATIONAL;
	if (values[LAB_WRITE_CACHE])
		limits.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (disk->model->discard) {
		limits.discard_granularity = 4096;
		limits.max_hw_discard_sectors = values[LAB_MAX_KIB] * 2 * 64;
	}
	return limits;
}

static int lab_init_model(struct lab_disk *disk)
{
	const char *wrong;

	disk->state = kvzalloc(disk->model->bytes(disk->values), GFP_KERNEL);
	if (!disk->state)
		return -ENOMEM;
	wrong = disk->model->init(disk->state, disk->values);
	if (!wrong)
		return 0;
	pr_err("%s: %s\n", disk->model->name, wrong);
	return -EINVAL;
}

static int lab_add_gendisk(struct lab_disk *disk, const char *name)
{
	struct queue_limits limits = lab_limits(disk);
	struct gendisk *gendisk = blk_mq_alloc_disk(&disk->tags, &limits, disk);
	int err;

	if (IS_ERR(gendisk))
		return PTR_ERR(gendisk);
	gendisk->fops = &lab_block_ops;
	gendisk->private_data = disk;
	strscpy(gendisk->disk_name, name, DISK_NAME_LEN);
	set_capacity(gendisk, disk->values[LAB_SIZE_MIB] * 2048);
	disk->gendisk = gendisk;
	err = device_add_disk(NULL, gendisk, lab_disk_groups);
	if (err)
		put_disk(gendisk);
	return err;
}

static void lab_free(struct lab_disk *disk)
{
	lab_store_free(&disk->store);
	xa_destroy(&disk->owner_index);
	kvfree(disk->state);
	kvfree(disk);
}

static int lab_add(struct lab_disk *disk, const char *name)
{
	int err = lab_init_model(disk);

	if (err)
		return err;
	disk->tags = (struct blk_mq_tag_set) {
		.ops = &lab_mq_ops,
		.nr_hw_queues = disk->values[LAB_QUEUES],
		.queue_depth = disk->values[LAB_QUEUE_DEPTH] + disk->values[LAB_HOST_QUEUE],
		.numa_node = NUMA_NO_NODE,
		.cmd_size = sizeof(struct lab_command),
		.flags = BLK_MQ_F_NO_SCHED_BY_DEFAULT,
		.driver_data = disk,
	};
	err = blk_mq_alloc_tag_set(&disk->tags);
	if (err)
		return err;
	/* The block layer may have fewer queues than asked for; tags are per queue. */
	err = lab_add_gendisk(disk, name);
	if (err) {
		blk_mq_free_tag_set(&disk->tags);
		return err;
	}
	list_add_tail(&disk->in_disks, &lab_disks);
	return 0;
}

static struct lab_disk *lab_find(const char *name)
{
	struct lab_disk *disk;

	lockdep_assert_held(&lab_mutex);
	list_for_each_entry(disk, &lab_disks, in_disks)
		if (!strcmp(disk->gendisk->disk_name, name))
			return disk;
	return NULL;
}

/* The rest of the line: parameter=value words. */
static int lab_parse(struct lab_disk *disk, char *line)
{
	const char *wrong;
	char *word, *name;

	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		name = strsep(&word, "=");
		wrong = word ? lab_params_set(disk->model, disk->values, name, word) :
			       "not parameter=value";
		if (wrong) {
			pr_err("%s %s: %s\n", disk->model->name, name, wrong);
			return -EINVAL;
		}
	}
	return 0;
}

static int lab_create(char *line)
{
	const char *name = strsep(&line, " \t\n"), *kind = strsep(&line, " \t\n");
	const struct lab_model *model = kind ? lab_model_find(kind) : NULL;
	struct lab_disk *disk;
	int err;

	if (!model || !*name || strlen(name) >= DISK_NAME_LEN || strpbrk(name, "/!")) {
		pr_err("a line is: NAME hdd|sata-ssd|nvme|cloud [parameter=value ...]\n");
		return -EINVAL;
	}
	if (lab_find(name))
		return -EEXIST;
	disk = kvzalloc(sizeof(*disk), GFP_KERNEL);
	if (!disk)
		return -ENOMEM;
	disk->model = model;
	disk->waiting_last = &disk->waiting;
	spin_lock_init(&disk->lock);
	xa_init_flags(&disk->owner_index, XA_FLAGS_LOCK_IRQ);
	lab_store_init(&disk->store);
	hrtimer_setup(&disk->timer, lab_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	lab_params_default(model, disk->values);
	err = lab_parse(disk, line);
	if (!err)
		err = lab_add(disk, name);
	if (err)
		lab_free(disk);
	return err;
}

static void lab_destroy(struct lab_disk *disk)
{
	list_del(&disk->in_disks);
	del_gendisk(disk->gendisk);
	/* No request is left; only internal events of the model may be pending. */
	hrtimer_cancel(&disk->timer);
	put_disk(disk->gendisk);
	blk_mq_free_tag_set(&disk->tags);
	lab_free(disk);
}

static int lab_remove(const char *name)
{
	struct lab_disk *disk = lab_find(name);

	if (!disk)
		return -ENODEV;
	if (disk_openers(disk->gendisk))
		return -EBUSY;
	lab_destroy(disk);
	return 0;
}

/* /sys/kernel/lab-disk */

static ssize_t create_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			    size_t count)
{
	char *line = kstrdup(page, GFP_KERNEL);
	int err;

	if (!line)
		return -ENOMEM;
	scoped_guard(mutex, &lab_mutex)
		err = lab_create(line);
	kfree(line);
	return err ?: count;
}

static ssize_t remove_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			    size_t count)
{
	char *name = kstrdup(page, GFP_KERNEL);
	int err;

	if (!name)
		return -ENOMEM;
	scoped_guard(mutex, &lab_mutex)
		err = lab_remove(strim(name));
	kfree(name);
	return err ?: count;
}

/* The model is given by the name of the file. */
static ssize_t lab_model_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	const struct lab_model *model = lab_model_find(attr->attr.name);
	unsigned int i;
	int n = 0;

	for (i = 0; i < model->nr_params; i++)
		n += sysfs_emit_at(page, n, "%s %llu %s\n", model->params[i].name,
				   model->params[i].value, model->params[i].what);
	return n;
}

static struct kobj_attribute lab_create_attr = __ATTR_WO(create);
static struct kobj_attribute lab_remove_attr = __ATTR_WO(remove);

#define LAB_MODEL_ATTR(variable, file) \
	static struct kobj_attribute variable = { \
		.attr = { .name = file, .mode = 0444 }, .show = lab_model_show, \
	}

LAB_MODEL_ATTR(lab_hdd_attr, "hdd");
LAB_MODEL_ATTR(lab_sata_ssd_attr, "sata-ssd");
LAB_MODEL_ATTR(lab_nvme_attr, "nvme");
LAB_MODEL_ATTR(lab_cloud_attr, "cloud");

static const struct attribute *const lab_attrs[] = {
	&lab_create_attr.attr,
	&lab_remove_attr.attr,
	&lab_hdd_attr.attr,
	&lab_sata_ssd_attr.attr,
	&lab_nvme_attr.attr,
	&lab_cloud_attr.attr,
	NULL
};

static struct kobject *lab_kobject;

static int __init lab_init(void)
{
	int err;

	lab_kobject = kobject_create_and_add("lab-disk", kernel_kobj);
	if (!lab_kobject)
		return -ENOMEM;
	err = sysfs_create_files(lab_kobject, lab_attrs);
	if (err)
		kobject_put(lab_kobject);
	return err;
}

static void __exit lab_exit(void)
{
	struct lab_disk *disk, *next;

	/* No disk can be created from here on. */
	kobject_put(lab_kobject);
	list_for_each_entry_safe(disk, next, &lab_disks, in_disks)
		lab_destroy(disk);
}

module_init(lab_init);
module_exit(lab_exit);

MODULE_DESCRIPTION("Modelled disks");
MODULE_LICENSE("GPL");
