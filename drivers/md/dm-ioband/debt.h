/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: delay of tasks for the debt of their group.
 */
#ifndef DM_IOBAND_DEBT_H
#define DM_IOBAND_DEBT_H

#include "io.h"

/* Kbuild: the kernel exports task_work_add(). */
#ifdef IOBAND_TASK_WORK
bool ioband_debt_is_due(const struct ioband_io *io, u64 now_ns);
void ioband_debt_delay(const struct ioband_io *io);
void ioband_debt_forget(const struct ioband_group *group);
void ioband_debt_exit(void);
#else
static inline bool ioband_debt_is_due(const struct ioband_io *io, u64 now_ns)
{
	return false;
}

static inline void ioband_debt_delay(const struct ioband_io *io)
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
