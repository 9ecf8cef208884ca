/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_REACH_H
#define IOBANDCTL_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "host/device.h"

/* What an action may answer with, at most: it is written to a pipe at once. */
#define REACH_ANSWER_SIZE 512

/**
 * struct blockage - why a device takes no I/O for now
 * @why: the reason, with the name of the device that it is about
 * @remedy: what to do
 */
struct blockage {
	struct problem why;
	struct problem remedy;
};

typedef int (*reach_action)(const void *argument, void *answer);

int reach_run(reach_action act, const void *argument, void *answer,
	      size_t size);
int reach_stat(const char *path, struct stat *info);
bool reach_blocks(const struct device *device, struct blockage *found);
bool reach_is_blocked(const struct device *device, struct blockage *found);
int reach_check(const struct device *device);

#endif
