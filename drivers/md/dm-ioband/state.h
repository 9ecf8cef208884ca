/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the two states of a pool, and its active groups. */
#ifndef DM_IOBAND_STATE_H
#define DM_IOBAND_STATE_H

#include "io.h"

void ioband_state_arm_tick(struct ioband_pool *pool);
void ioband_state_apply(struct ioband_pool *pool, u64 now_ns);
bool ioband_state_is_lone(const struct ioband_pool *pool);
void ioband_state_set_recent(struct ioband_member *member);
void ioband_state_share(struct ioband_pool *pool);
void ioband_state_open(struct ioband_pool *pool, u64 now_ns);
void ioband_state_update(struct ioband_pool *pool);
void ioband_state_activate(struct ioband_group *group);
void ioband_state_deactivate(struct ioband_group *group);
struct ioband_group *ioband_state_next_active(struct ioband_pool *pool);

#endif /* DM_IOBAND_STATE_H */
