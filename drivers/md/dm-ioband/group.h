/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: the tree of groups. */
#ifndef DM_IOBAND_GROUP_H
#define DM_IOBAND_GROUP_H

#include "io.h"

int ioband_group_init(void);
void ioband_group_exit(void);
struct ioband_group *ioband_group_new_root(struct ioband_pool *pool);
struct ioband_group *ioband_group_new_device(struct ioband_pool *pool,
					     struct ioband_member *member);
struct ioband_group *ioband_group_find(struct ioband_scope *scope, const struct ioband_key *key);
struct ioband_group *ioband_group_get(struct ioband_scope *scope, const struct ioband_key *key);
int ioband_group_set(struct ioband_target *target, const struct ioband_message *message,
		     struct ioband_error *error);
void ioband_group_set_weight(struct ioband_group *group, u32 weight);
u32 ioband_group_weight(const struct ioband_group *group);
void ioband_group_unindex(struct ioband_group *group);
void ioband_group_sweep(struct work_struct *work);
void ioband_group_free_all(struct ioband_pool *pool);

#endif /* DM_IOBAND_GROUP_H */
