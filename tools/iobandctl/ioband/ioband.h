/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_IOBAND_H
#define IOBANDCTL_IOBAND_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/dm.h"
#include "kernel/parse.h"
#include "print/args.h"

/**
 * struct ioband_device - an ioband device and what the kernel says of it
 * @dm: what device-mapper says; without a table the rest is empty
 * @table: its table line
 * @status: its status line
 */
struct ioband_device {
	const struct mapped_device *dm;
	struct ioband_table table;
	struct ioband_status status;
};

/**
 * struct ioband_devices - all of them, sorted by name
 * @mapped: what @v points into
 * @v: the devices
 * @n: how many
 */
struct ioband_devices {
	struct mapped_devices mapped;
	struct ioband_device *v;
	size_t n;
};

/**
 * struct scope - which devices a verb is about
 * @device: only this one; NULL for all
 * @pool: only those of this pool; NULL for all
 */
struct scope {
	const struct ioband_device *device;
	const char *pool;
};

/**
 * struct targets - the devices that a message is to be sent to
 * @v: the devices
 * @n: how many
 */
struct targets {
	const struct ioband_device **v;
	size_t n;
};

int ioband_load(struct ioband_devices *devices);
void ioband_free(struct ioband_devices *devices);
const struct ioband_device *ioband_named(const struct ioband_devices *devices,
					 const char *name);
const struct ioband_device *ioband_exact(const struct ioband_devices *devices,
					 const char *spelled);
const struct ioband_device *ioband_over(const struct ioband_devices *devices,
					const char *spelled);
const struct ioband_device *ioband_look(const struct ioband_devices *devices,
					const char *spelled);
int ioband_find(const struct ioband_devices *devices, const char *spelled,
		const struct ioband_device **found);
int ioband_scope(const struct ioband_devices *devices, const struct args *args,
		 struct scope *scope);
bool ioband_in_scope(const struct ioband_device *device,
		     const struct scope *scope);
int ioband_pools(const struct ioband_devices *devices,
		 const struct scope *scope, struct targets *targets);
int ioband_sorting(const struct ioband_devices *devices,
		   const struct scope *scope, const char *mode,
		   struct targets *targets);
bool ioband_has_trees(const struct ioband_device *device);
bool ioband_has_group(const struct ioband_device *device);
uint64_t ioband_sectors_below(const struct ioband_device *device);
void targets_add(struct targets *targets, const struct ioband_device *device);
void targets_free(struct targets *targets);

#endif
