/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: delay of tasks for the debt of their group. */
#ifndef DM_IOBAND_DEBT_H
#define DM_IOBAND_DEBT_H

#include "io.h"

#include <linux/sched.h>

/* Longest time between two looks at the debt, in jiffies. */
#define IOBAND_DEBT_LOOK	(HZ / 10L)

/* Time for which the pool stays shared after a task was found to owe. */
#define IOBAND_OWED_NS		(200ULL * NSEC_PER_MSEC)

static_assert(2 * IOBAND_DEBT_LOOK * (NSEC_PER_SEC / HZ) <= IOBAND_OWED_NS);

/* Kbuild: the kernel exports task_work_add(). */
#ifdef IOBAND_TASK_WORK
/* Does the current task return to user space, where it may sleep for a debt? */
static inline bool ioband_debt_task_pays(void)
{
	return !(current->flags & (PF_KTHREAD | PF_USER_WORKER | PF_EXITING));
}

bool ioband_debt_is_due(const struct ioband_io *io, u64 now_ns);
void ioband_debt_delay(const struct ioband_io *io, const struct bio *bio);
void ioband_debt_forget(const struct ioband_group *group);
void ioband_debt_exit(void);
#else
static inline bool ioband_debt_task_pays(void)
{
	return false;
}

static inline bool ioband_debt_is_due(const struct ioband_io *io, u64 now_ns)
{
	return false;
}

static inline void ioband_debt_delay(const struct ioband_io *io, const struct bio *bio)
{
}

static inline void ioband_debt_forget(const struct ioband_group *group)
{
}

static inline void ioband_debt_exit(void)
{
}
#endif

#endif /* DM_IOBAND_DEBT_H */
