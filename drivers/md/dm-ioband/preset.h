/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: presets: settings for cgroups that do not exist yet. */
#ifndef DM_IOBAND_PRESET_H
#define DM_IOBAND_PRESET_H

#include "io.h"

const struct ioband_config *ioband_preset_find(const struct ioband_scope *scope,
					       const struct ioband_key *key);
int ioband_preset_set(struct ioband_target *target, const struct ioband_message *message,
		      struct ioband_error *error);
void ioband_preset_forget(struct ioband_pool *pool, struct ioband_scope *scope);
void ioband_preset_end(struct ioband_pool *pool);
void ioband_preset_exit(void);

#endif /* DM_IOBAND_PRESET_H */
