// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ioband: the cgroup of a bio.
 *
 * The block layer records the cgroup of a bio when the bio is made.  For writeback that is the
 * cgroup that dirtied the pages.  device-mapper gives a target a clone without that record, and
 * keeps the original.  As soon as the clone has a device, it is attributed to the current task.
 * That is right for bios that a task submits for itself: reads, and direct writes.  It is wrong for
 * bios of a kernel thread (writeback, dm-crypt, MD or loop on top).  It is also wrong for bios that
 * a task submits for others (fsync of a file that another cgroup wrote).
 *
 * Such a bio makes a detour (detour.c).
 */
#include "blkcg.h"

#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

/*
 * May the submitter of a bio, the current task, sleep for its group?  It may for reads and direct
 * writes, unless it is in a transaction of a file system.  It also may for discards and for writing
 * zeroes, of which the block layer makes thousands of bios, unless it holds locks of a file system.
 * Other tasks may wait for such a transaction, or for the locks, as for writeback.  (Zeroes are
 * known by the zero page.  A kernel with a permanent huge zero page, which only some own builds
 * have, uses another page.)
 */
bool ioband_blkcg_may_wait(struct bio *bio)
{
	if (current->flags & PF_KTHREAD || current->journal_info)
		return false;
	if (ioband_blkcg_is_direct(bio))
		return true;
	if (bio_has_data(bio) && bio_page(bio) != ZERO_PAGE(0))
		return false;
	return !(current->flags & (PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO));
}

#ifdef CONFIG_CGROUP_WRITEBACK
/*
 * Exclude the metadata that a file system keeps on its device, for which all its users may wait.
 * Exclude f2fs, which writes for all under one lock.
 */
static bool may_be_throttled(const struct inode *inode)
{
	return !S_ISBLK(inode->i_mode) && inode->i_sb->s_magic != F2FS_SUPER_MAGIC;
}
#endif

/*
 * The cgroup for which the current task writes back, valid while the task is in map(); NULL: the
 * task must not sleep.  The file of the bio belongs to a &struct bdi_writeback, which is of one
 * cgroup.  The task is its flusher if it runs the work of that structure.  Other writes of kernel
 * threads serve many cgroups.  So do a flusher's writes in a transaction, metadata, and writes
 * because of a memory shortage.
 */
struct cgroup_subsys_state *ioband_blkcg_of_flusher(struct bio *bio)
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
	/* A folio under writeback keeps its mapping. */
	folio = page_folio(bio_page(bio));
	mapping = folio_test_writeback(folio) ? folio_mapping(folio) : NULL;
	if (!mapping || !mapping->host || !may_be_throttled(mapping->host))
		return NULL;
	rcu_read_lock();
	wb = READ_ONCE(mapping->host->i_wb);
	if (wb && current_work() == &wb->dwork.work)	/* it stays, whatever the file does */
		css = wb->blkcg_css;
	rcu_read_unlock();
#endif
	return css;
}

/*
 * The outermost user namespace of the current task, below the initial one; NULL: none.  Its owner
 * and its maps are in the ids of the initial namespace.
 */
static struct user_namespace *outermost_user_ns(void)
{
	struct user_namespace *ns = current_user_ns();

	if (likely(ns == &init_user_ns))
		return NULL;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns;
}

/*
 * The user to charge.  A user has thousands of ids in namespaces of its own, which count as that
 * user.  A namespace that root has made, as for a container, counts as the user that is root in it.
 * If that is root itself, as with PrivateUsers= of systemd, the namespace changes nothing.
 */
static kuid_t uid_of_task(void)
{
	struct user_namespace *ns = outermost_user_ns();
	kuid_t uid;

	if (likely(!ns))
		return current_euid();
	uid = uid_eq(ns->owner, GLOBAL_ROOT_UID) ? make_kuid(ns, 0) : ns->owner;
	return uid_valid(uid) && !uid_eq(uid, GLOBAL_ROOT_UID) ? uid : current_euid();
}

/* The same for a group. */
static kgid_t gid_of_task(void)
{
	struct user_namespace *ns = outermost_user_ns();
	kgid_t gid;

	if (likely(!ns))
		return current_egid();
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->group;
	gid = make_kgid(ns, 0);
	return gid_valid(gid) && !gid_eq(gid, GLOBAL_ROOT_GID) ? gid : current_egid();
}

/*
 * The key by which a bio with a device finds its group, except in IOBAND_MODE_DEVICE.  A cgroup in
 * it is valid as long as the bio.  Under RCU, which keeps a process group valid.
 */
void ioband_blkcg_key(struct ioband_key *key, enum ioband_mode mode, struct bio *bio)
{
	struct cgroup_subsys_state *css;
	struct pid *pid;

	switch (mode) {
	case IOBAND_MODE_UID:
		*key = (struct ioband_key) {
			IOBAND_KIND_UID, from_kuid(&init_user_ns, uid_of_task()), NULL };
		break;
	case IOBAND_MODE_GID:
		*key = (struct ioband_key) {
			IOBAND_KIND_GID, from_kgid(&init_user_ns, gid_of_task()), NULL };
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
		css = ioband_blkcg_css(bio_blkcg_css(bio));
		*key = (struct ioband_key) { IOBAND_KIND_CGROUP, css->id, css };
		break;
	}
}

/*
 * Attribute a task's own bio to the task's cgroup.  The block layer allocates a structure for a
 * cgroup and a device at the first bio.  Without memory for it, as when hundreds of cgroups begin
 * at once, it records the nearest cgroup above.  There a bio could be queued for long, because of a
 * different weight.  Under RCU.  Return: the css that @key has now, with a reference, if it was
 * replaced; otherwise NULL.
 */
struct cgroup_subsys_state *ioband_blkcg_correct(struct ioband_key *key)
{
	struct cgroup_subsys_state *css = ioband_blkcg_css(ioband_blkcg_of_task());

	if (likely(css == key->object) || !css_tryget(css))
		return NULL;
	*key = (struct ioband_key) { IOBAND_KIND_CGROUP, css->id, css };
	return css;
}
