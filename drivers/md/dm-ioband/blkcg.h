/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: the cgroup of a bio.
 */
#ifndef DM_IOBAND_BLKCG_H
#define DM_IOBAND_BLKCG_H

#include "io.h"

/* What a task submits for itself.  Direct writes are marked so; writeback by a task is not. */
static inline bool ioband_owner_is_direct(const struct bio *bio)
{
	const blk_opf_t direct = REQ_SYNC | REQ_IDLE;

	return bio_op(bio) == REQ_OP_READ || (bio->bi_opf & direct) == direct ||
	       bio->bi_opf & REQ_ATOMIC;
}

/**
 * ioband_owner_is_known() - can the owner of a bio be told as it is
 * @mode: of the device
 * @bio: clone, not yet given a device
 *
 * Return: true if the submitter is the owner, or counts as such.
 */
static inline bool ioband_owner_is_known(enum ioband_mode mode, const struct bio *bio)
{
	return !ioband_mode_is_cgroup(mode) ||
	       (!(current->flags & PF_KTHREAD) && ioband_owner_is_direct(bio));
}

/* Groups are nested no deeper: who may make cgroups must not make long ways for others. */
#define IOBAND_NESTING_MAX	128

#define IOBAND_TOO_DEEP \
	"it is more than " __stringify(IOBAND_NESTING_MAX) \
	" cgroups deep, and its bios are those of the one above that is not: name that one"

/**
 * ioband_owner_css() - whose group a cgroup's bios go to
 * @css: of the cgroup
 *
 * Context: Any; @css is valid.
 *
 * Return: @css, or of the nearest one above that is not nested too deep.
 */
static inline struct cgroup_subsys_state *ioband_owner_css(struct cgroup_subsys_state *css)
{
	while (unlikely(css->cgroup->level > IOBAND_NESTING_MAX))
		css = css->parent;
	return css;
}

bool ioband_owner_may_wait(struct bio *bio);
struct cgroup_subsys_state *ioband_owner_of_flusher(struct bio *bio);
void ioband_owner_key(struct ioband_key *key, enum ioband_mode mode, struct bio *bio);
struct cgroup_subsys_state *ioband_owner_correct(struct ioband_key *key);

/**
 * ioband_owner_of_task() - whose a bio is that the current task submits for itself
 *
 * Context: Under RCU of any kind, which keeps it valid.
 *
 * Return: the task's; as a rule also the bio's, see ioband_owner_correct().
 */
static inline struct cgroup_subsys_state *ioband_owner_of_task(void)
{
	return task_css_check(current, io_cgrp_id, rcu_read_lock_sched_held());
}

#endif /* DM_IOBAND_BLKCG_H */
