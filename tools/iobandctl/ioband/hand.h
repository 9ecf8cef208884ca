/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_HAND_H
#define IOBANDCTL_HAND_H

#include <stdbool.h>

#include "ioband/ioband.h"

/* A setting that can be made manually. */
struct hand_key {
	const char *pool;
	/*
	 * The device that has the setting, or has the group in its own tree; NULL for the
	 * pool's tree.
	 */
	const char *device;
	/* Its name in messages; NULL for a setting of the pool or the device. */
	const char *group;
	const char *key;
};

/* In place of a key: ioband was extracted from the device. */
#define HAND_EXTRACT "extract"

void hand_mark(const struct hand_key *key);
void hand_mark_group(const struct ioband_device *device, const char *group, const char *key);
void hand_clear(const struct hand_key *key);
void hand_clear_device(const char *device);
void hand_clear_pool(const char *pool);
bool hand_has(const struct hand_key *key);

#endif
