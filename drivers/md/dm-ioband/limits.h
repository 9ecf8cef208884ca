/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: maxima, minima and latency targets. */
#ifndef DM_IOBAND_LIMITS_H
#define DM_IOBAND_LIMITS_H

#include "io.h"

void ioband_limits_get(struct ioband_group *group, struct ioband_config *config);
bool ioband_limits_is_set(struct ioband_group *group);
bool ioband_limits_has_max(const struct ioband_group *group);
u32 ioband_limits_split_bytes(const struct ioband_group *group, enum ioband_dir dir);
struct ioband_limits *ioband_limits_new(gfp_t gfp);
void ioband_limits_free(struct ioband_limits *limits);
void ioband_limits_exit(void);
void ioband_limits_set(struct ioband_group *group, const struct ioband_message *message,
		       struct ioband_limits **spare);
void ioband_limits_begin(struct ioband_group *group, const struct ioband_config *config,
			 struct ioband_limits *limits);
void ioband_limits_end(struct ioband_group *group);

#endif /* DM_IOBAND_LIMITS_H */
