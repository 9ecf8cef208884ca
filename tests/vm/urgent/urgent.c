// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/urgent: one bio with flags and states of choice.  A write of "PATH KIB WORD..."
 * submits a bio of that size to the start of a block device, and waits for its end.
 * The words give its direction, its flags and the state of its task.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#ifndef PF_USER_WORKER
#define PF_USER_WORKER	PF_IO_WORKER	/* before 6.4 */
#endif

#define TEXT_MAX	256
#define PAGE_KIB	(PAGE_SIZE / 1024)

enum how {
	RECLAIM	= 1 << 0,	/* the task reclaims memory */
	KILLED	= 1 << 1,	/* it has been killed */
	VICTIM	= 1 << 2,	/* the OOM killer has chosen it */
	THREAD	= 1 << 3,	/* a kernel thread submits for it */
	JOURNAL	= 1 << 4,	/* it is in a transaction of a file system */
	NOFS	= 1 << 5,	/* memory reclaim must not enter file systems */
	WORKER	= 1 << 6,	/* it is a worker of io_uring: does not return to user space */
};

static const struct {
	const char *word;
	blk_opf_t opf;
	unsigned int how;
} words[] = {
	{ "read", REQ_OP_READ, 0 },
	{ "write", REQ_OP_WRITE, 0 },
	{ "meta", REQ_META, 0 },
	{ "prio", REQ_PRIO, 0 },
	{ "swap", REQ_SWAP, 0 },
	{ "direct", REQ_SYNC | REQ_IDLE, 0 },
	{ "reclaim", 0, RECLAIM },
	{ "killed", 0, KILLED },
	{ "victim", 0, VICTIM },
	{ "thread", 0, THREAD },
	{ "journal", 0, JOURNAL },
	{ "nofs", 0, NOFS },
	{ "worker", 0, WORKER },
};

struct order {
	struct work_struct work;
	struct bio *bio;
	int ret;
};

static void submit_work(struct work_struct *work)
{
	struct order *order = container_of(work, struct order, work);

	order->ret = submit_bio_wait(order->bio);
}

static int submit_by_thread(struct bio *bio)
{
	struct order order = { .bio = bio };

	INIT_WORK_ONSTACK(&order.work, submit_work);
	schedule_work(&order.work);
	flush_work(&order.work);
	destroy_work_on_stack(&order.work);
	return order.ret;
}

/* The first step of the OOM killer with a victim. */
static void become_victim(void)
{
	if (!cmpxchg(&current->signal->oom_mm, NULL, current->mm))
		mmgrab(current->mm);
}

/* No file system looks at the transaction meanwhile. */
static int submit_in_transaction(struct bio *bio)
{
	void *before = current->journal_info;
	int ret;

	current->journal_info = bio;
	ret = submit_bio_wait(bio);
	current->journal_info = before;
	return ret;
}

static int submit(struct bio *bio, unsigned int how)
{
	unsigned int flags;
	int ret;

	if (how & KILLED)
		send_sig(SIGKILL, current, 1);
	if (how & VICTIM)
		become_victim();
	if (how & THREAD)
		return submit_by_thread(bio);
	if (how & JOURNAL)
		return submit_in_transaction(bio);
	flags = current->flags;
	current->flags |= (how & RECLAIM ? PF_MEMALLOC : 0) | (how & NOFS ? PF_MEMALLOC_NOFS : 0) |
			  (how & WORKER ? PF_USER_WORKER : 0);
	ret = submit_bio_wait(bio);
	current_restore_flags(flags, PF_MEMALLOC | PF_MEMALLOC_NOFS | PF_USER_WORKER);
	return ret;
}

/* The bio has one page many times: its content does not matter. */
static int submit_pages(struct block_device *bdev, unsigned int kib, blk_opf_t opf,
			unsigned int how)
{
	unsigned int left = DIV_ROUND_UP(kib, PAGE_KIB);
	struct page *page;
	struct bio *bio;
	int ret;

	if (!left || left > BIO_MAX_VECS)
		return -EINVAL;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	bio = bio_alloc(bdev, left, opf, GFP_KERNEL);
	while (left--)
		__bio_add_page(bio, page, PAGE_SIZE, 0);
	ret = submit(bio, how);
	bio_put(bio);
	__free_page(page);
	return ret;
}

static int look_up(const char *word, blk_opf_t *opf, unsigned int *how)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, word))
			continue;
		*opf |= words[i].opf;
		*how |= words[i].how;
		return 0;
	}
	pr_err("urgent: there is no word '%s'\n", word);
	return -EINVAL;
}

static int do_as_written(char *text)
{
	const char *path = strsep(&text, " ");
	const char *size = strsep(&text, " ");
	unsigned int kib, how = 0;
	blk_opf_t opf = 0;
	struct file *file;
	int ret;

	if (!size)
		return -EINVAL;
	ret = kstrtouint(size, 10, &kib);
	while (!ret && text)
		ret = look_up(strsep(&text, " "), &opf, &how);
	if (ret)
		return ret;
	/* Read-only: after an open for writing udev would read the device. */
	file = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = -ENOTBLK;
	if (S_ISBLK(file_inode(file)->i_mode))
		ret = submit_pages(I_BDEV(file->f_mapping->host), kib, opf, how);
	filp_close(file, NULL);
	return ret;
}

static ssize_t urgent_write(struct file *file, const char __user *from, size_t count,
			    loff_t *offset)
{
	char *text;
	int ret;

	if (count > TEXT_MAX)
		return -EINVAL;
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = do_as_written(strim(text));
	kfree(text);
	return ret ?: count;
}

static const struct file_operations urgent_fops = {
	.owner = THIS_MODULE,
	.write = urgent_write,
};

static struct miscdevice urgent = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &urgent_fops,
	.mode = 0200,
};

module_misc_device(urgent);

MODULE_DESCRIPTION("A bio that looks as urgent as is wished, for tests");
MODULE_LICENSE("GPL");
