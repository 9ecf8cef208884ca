/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_HAND_H
#define IOBANDCTL_HAND_H

#include <stdbool.h>

#include "ioband/ioband.h"

/**
 * struct hand_key - something that can be set by hand
 * @pool: the pool
 * @device: whose it is, or in whose own tree the group is; NULL for the pool's
 * @group: as messages have it; NULL if it is of the pool or of the device itself
 * @key: as the configuration has it
 */
struct hand_key {
	const char *pool;
	const char *device;
	const char *group;
	const char *key;
};

/* In place of a key: ioband was taken out of the device. */
#define HAND_EXTRACT "extract"

void hand_begin(void);
void hand_end(void);
void hand_mark(const struct hand_key *key);
void hand_mark_group(const struct ioband_device *device, const char *group,
		     const char *key);
void hand_clear(const struct hand_key *key);
void hand_clear_device(const char *device);
void hand_clear_pool(const char *pool);
bool hand_has(const struct hand_key *key);

#endif
