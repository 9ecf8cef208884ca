// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: whose bio is it.
 *
 * The block layer records the owner of a bio, its cgroup, when the bio is made;
 * for writeback that is the cgroup that dirtied the pages.  What device-mapper
 * hands to a target is a clone without that record, and the original is its
 * own.  As soon as the clone is given a device, it is taken to be the current
 * task's.  That is right for what a task submits for itself: reads, and direct
 * writes.  It is wrong for what a kernel thread submits (writeback, dm-crypt, MD
 * or loop on top), or a task for others (fsync of a file that another cgroup
 * wrote).
 *
 * Such a bio makes a detour (detour.c).
 */
#include "blkcg.h"

#include "io.h"

#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/**
 * ioband_owner_may_wait() - may the task be made to wait for its group
 * @bio: that it submits
 *
 * Yes, for what it reads, and writes directly; and for what it discards or zeroes, of which
 * the block layer makes bios by the thousand, unless that is in a transaction of a file
 * system.  For that others may wait, and in locks that the task holds, as for what it writes
 * back.  (Zeroes are not known where the kernel has a huge page of them for good: only some
 * own builds do.)
 *
 * Context: Any.
 *
 * Return: true if so.
 */
bool ioband_owner_may_wait(struct bio *bio)
{
	if (current->flags & PF_KTHREAD)
		return false;
	if (ioband_owner_is_direct(bio))
		return true;
	if (bio_has_data(bio) && bio_page(bio) != ZERO_PAGE(0))
		return false;
	return !current->journal_info &&
	       !(current->flags & (PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO));
}

#ifdef CONFIG_CGROUP_WRITEBACK
/*
 * Not what a file system keeps on its device itself, for which all its users may wait; and
 * f2fs writes for all from under one lock.
 */
static bool may_be_waited_for(const struct inode *inode)
{
	return !S_ISBLK(inode->i_mode) && inode->i_sb->s_magic != F2FS_SUPER_MAGIC;
}
#endif

/**
 * ioband_owner_of_flusher() - whose flusher is the task
 * @bio: that it submits
 *
 * That a cgroup's file is written back is said by whose work the task is at: that of the
 * &struct bdi_writeback to which the file belongs, which is of one cgroup.  Whatever else
 * kernel threads write is for many, as is what the flusher itself writes in a transaction,
 * metadata, and what is written for want of memory.
 *
 * Context: Process.
 *
 * Return: the cgroup, valid while the task is in map(), or NULL: it may not be made to wait.
 */
struct cgroup_subsys_state *ioband_owner_of_flusher(struct bio *bio)
{
	struct cgroup_subsys_state *css = NULL;
#ifdef CONFIG_CGROUP_WRITEBACK
	struct address_space *mapping;
	struct bdi_writeback *wb;
	struct folio *folio;

	if (!(current->flags & PF_WQ_WORKER) || current->flags & PF_MEMALLOC ||
	    current->journal_info || bio_op(bio) != REQ_OP_WRITE ||
	    op_is_sync(bio->bi_opf) || bio->bi_opf & (REQ_META | REQ_PRIO | REQ_SWAP))
		return NULL;
	/* Written back, it keeps its mapping. */
	folio = page_folio(bio_page(bio));
	mapping = folio_test_writeback(folio) ? folio_mapping(folio) : NULL;
	if (!mapping || !mapping->host || !may_be_waited_for(mapping->host))
		return NULL;
	rcu_read_lock();
	wb = READ_ONCE(mapping->host->i_wb);
	if (wb && current_work() == &wb->dwork.work)	/* then it stays, whatever the file does */
		css = wb->blkcg_css;
	rcu_read_unlock();
#endif
	return css;
}

/**
 * ioband_owner_key() - what a bio is sorted by
 * @key: the result; a cgroup in it is valid as long as @bio is
 * @mode: of the device; not IOBAND_MODE_DEVICE
 * @bio: clone that has been given its device
 *
 * Context: Under RCU, which keeps a process group valid.
 */
void ioband_owner_key(struct ioband_key *key, enum ioband_mode mode, struct bio *bio)
{
	struct cgroup_subsys_state *css;
	struct pid *pid;

	switch (mode) {
	case IOBAND_MODE_UID:
		*key = (struct ioband_key) {
			IOBAND_KIND_UID, from_kuid(&init_user_ns, current_euid()), NULL };
		break;
	case IOBAND_MODE_GID:
		*key = (struct ioband_key) {
			IOBAND_KIND_GID, from_kgid(&init_user_ns, current_egid()), NULL };
		break;
	case IOBAND_MODE_PID:
		pid = task_tgid(current);
		*key = (struct ioband_key) { IOBAND_KIND_PID, pid_nr(pid), pid };
		break;
	case IOBAND_MODE_PGRP:
		pid = task_pgrp(current);
		*key = (struct ioband_key) { IOBAND_KIND_PGRP, pid_nr(pid), pid };
		break;
	default:
		/* The bio holds a reference to it. */
		css = ioband_owner_css(bio_blkcg_css(bio));
		*key = (struct ioband_key) { IOBAND_KIND_CGROUP, css->id, css };
		break;
	}
}

/**
 * ioband_owner_correct() - see to it that a task's own bio is the task's
 * @key: of the cgroup that the block layer has recorded
 *
 * What the block layer keeps for a cgroup on a device comes with the first bio; while
 * there is no memory for it, as when hundreds of cgroups begin at once, it records the
 * nearest cgroup above.  There a bio could wait for long behind a weight not its own.
 *
 * Context: Under RCU.
 *
 * Return: the css that @key is of now, with a reference, if it is another; else NULL.
 */
struct cgroup_subsys_state *ioband_owner_correct(struct ioband_key *key)
{
	struct cgroup_subsys_state *css = ioband_owner_css(ioband_owner_of_task());

	if (likely(css == key->owner) || !css_tryget(css))
		return NULL;
	*key = (struct ioband_key) { IOBAND_KIND_CGROUP, css->id, css };
	return css;
}
