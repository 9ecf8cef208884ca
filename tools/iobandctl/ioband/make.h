/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_MAKE_H
#define IOBANDCTL_MAKE_H

#include "host/device.h"
#include "ioband/ioband.h"

/* The characters of the names of ioband devices. */
#define MAKE_NAME_CHARACTERS						\
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#+-.:=@_"

/*
 * The settings of a new device.  The members are the words of options and table lines.  The pool or
 * the kernel chooses a value for NULL.
 */
struct settings {
	const char *pool;
	const char *mode;
	const char *weight;
	const char *measure;
	const char *depth;
	const char *slice;
	const char *writes_starved;
};

int settings_check(const struct settings *settings);
bool make_is_twice(const struct ioband_devices *devices, const char *pool,
		   const struct device *device, struct problem *why);
int make_check_name(const char *name);
int make_line(const struct ioband_devices *devices, const struct settings *settings,
	      const struct device *device, char **line);
int make_device(const struct ioband_devices *devices, const struct settings *settings,
		const char *name, const struct device *device);
const char *make_slice_of(const struct names *disks);

#endif
