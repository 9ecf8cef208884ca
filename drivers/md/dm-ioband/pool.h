/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: devices that share a scheduler. */
#ifndef DM_IOBAND_POOL_H
#define DM_IOBAND_POOL_H

#include "io.h"

int ioband_pool_init(void);
void ioband_pool_exit(void);
int ioband_pool_join(struct ioband_target *target, const char *name,
		     struct ioband_error *error);
void ioband_pool_hide(struct ioband_target *target);
void ioband_pool_leave(struct ioband_target *target);
int ioband_pool_set(struct ioband_target *target, const struct ioband_settings *settings,
		    struct ioband_error *error);
void ioband_pool_resume(struct ioband_target *target);
void ioband_pool_settings(struct ioband_target *target, struct ioband_settings *settings);
void ioband_pool_status(struct ioband_target *target, const struct ioband_settings *settings,
			char *result, unsigned int maxlen);

#endif /* DM_IOBAND_POOL_H */
