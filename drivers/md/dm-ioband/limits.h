/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: maxima, minima and latency targets.
 */
#ifndef DM_IOBAND_LIMITS_H
#define DM_IOBAND_LIMITS_H

#include "io.h"

u32 ioband_bound_latency(struct ioband_group *group);
bool ioband_bound_rates(struct ioband_group *group, enum ioband_verb verb,
			struct ioband_rates *rates);
bool ioband_bound_is_set(struct ioband_group *group);
bool ioband_bound_is_capped(const struct ioband_group *group);
u32 ioband_bound_piece(const struct ioband_group *group, enum ioband_way way);
struct ioband_bounds *ioband_bounds_new(gfp_t gfp);
void ioband_bounds_free(struct ioband_bounds *bounds);
void ioband_bounds_exit(void);
void ioband_bound_set(struct ioband_group *group, const struct ioband_message *message,
		      struct ioband_bounds **spare);
void ioband_bound_begin(struct ioband_group *group, const struct ioband_wishes *wishes,
			struct ioband_bounds *bounds);
void ioband_bound_end(struct ioband_group *group);

#endif /* DM_IOBAND_LIMITS_H */
