/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the cgroup of a bio. */
#ifndef DM_IOBAND_BLKCG_H
#define DM_IOBAND_BLKCG_H

#include "io.h"

/*
 * Does a task submit the bio for itself?  Direct writes have these flags, writeback by a task has
 * not.  Bios without data count as writeback.
 */
static inline bool ioband_blkcg_is_direct(const struct bio *bio)
{
	const blk_opf_t direct = REQ_SYNC | REQ_IDLE;

	return bio_op(bio) == REQ_OP_READ ||
	       ((bio->bi_opf & direct) == direct && !ioband_io_has_no_data(bio)) ||
	       bio->bi_opf & REQ_ATOMIC;
}

/* Does a bio belong to the current task? */
static inline bool ioband_blkcg_is_of_task(const struct bio *bio)
{
	return !(current->flags & PF_KTHREAD) && ioband_blkcg_is_direct(bio);
}

/* Does a bio belong to the current task, or count as such, so that it needs no detour? */
static inline bool ioband_blkcg_is_known(enum ioband_mode mode, const struct bio *bio)
{
	return !ioband_mode_is_cgroup(mode) || ioband_blkcg_is_of_task(bio);
}

/* Deepest nesting of groups: a user that may make cgroups must not lengthen the paths of others. */
#define IOBAND_NESTING_MAX	128

#define IOBAND_TOO_DEEP \
	"it is more than " __stringify(IOBAND_NESTING_MAX) \
	" cgroups deep, and its bios are those of the one above that is not: name that one"

/* The cgroup that has the group for a cgroup's bios: the nearest that is not nested too deep. */
static inline struct cgroup_subsys_state *ioband_blkcg_css(struct cgroup_subsys_state *css)
{
	while (unlikely(css->cgroup->level > IOBAND_NESTING_MAX))
		css = css->parent;
	return css;
}

bool ioband_blkcg_may_wait(struct bio *bio);
struct cgroup_subsys_state *ioband_blkcg_of_flusher(struct bio *bio);
void ioband_blkcg_key(struct ioband_key *key, enum ioband_mode mode, struct bio *bio);
struct cgroup_subsys_state *ioband_blkcg_correct(struct ioband_key *key);

/*
 * The cgroup of bios that the current task submits for itself; as a rule also that of the bio, see
 * ioband_blkcg_correct().  Under RCU of any kind, which keeps it valid.
 */
static inline struct cgroup_subsys_state *ioband_blkcg_of_task(void)
{
	return task_css_check(current, io_cgrp_id, rcu_read_lock_sched_held());
}

#endif /* DM_IOBAND_BLKCG_H */
