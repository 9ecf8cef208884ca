/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_MAKE_H
#define IOBANDCTL_MAKE_H

#include "device.h"
#include "ioband.h"

/* What the name of an ioband device is made of. */
#define MAKE_NAME_CHARACTERS						\
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#+-.:=@_"

/**
 * struct settings - what is asked of a device that is to be made
 *
 * The members are the words of options and table lines; NULL leaves one to the
 * pool or to the kernel.
 */
struct settings {
	const char *pool;
	const char *mode;
	const char *weight;
	const char *measure;
	const char *depth;
	const char *slice;
};

/* The options for them. */
#define SPEC_POOL_TO_JOIN { OPTION_POOL, "pool", "POOL",		\
	"the pool to join or make (default: the disks below)" }
#define SPEC_MODE { OPTION_MODE, "mode", "MODE",			\
	"cgroup (default), device, device+cgroup, uid, gid, pid, pgrp" }
#define SPEC_WEIGHT { OPTION_WEIGHT, "weight", "N",			\
	"weight of the device's own group, 1..10000 (default: 100)" }
#define SPEC_MEASURE { OPTION_MEASURE, "measure", "MEASURE",		\
	"what the groups of the pool share: bytes (default), ios, time" }
#define SPEC_DEPTH { OPTION_DEPTH, "depth", "DEPTH",			\
	"I/Os in flight while groups compete: auto (default), 1..65535" }
#define SPEC_SLICE { OPTION_SLICE, "slice", "MS",			\
	"ms for which a group has the disks to itself: auto (default), 0 (none)..1000" }

int settings_of(const struct args *args, struct settings *settings);
int settings_check(const struct settings *settings);
int make_check_name(const char *name);
int make_line(const struct ioband_devices *devices,
	      const struct settings *settings, const struct device *device,
	      char **line);
int make_device(const struct ioband_devices *devices,
		const struct settings *settings, const char *name,
		const struct device *device);
int make_report(const struct names *made, bool json);

#endif
