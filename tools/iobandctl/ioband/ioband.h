/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_IOBAND_H
#define IOBANDCTL_IOBAND_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/dm.h"
#include "kernel/parse.h"
#include "print/args.h"

/* An ioband device and what the kernel says of it. */
struct ioband_device {
	/* What device-mapper says; without a table the rest is empty. */
	const struct mapped_device *dm;
	struct ioband_table table;
	struct ioband_status status;
};

/* All of them, sorted by name. */
struct ioband_devices {
	struct mapped_devices mapped;	/* what @v points into */
	struct ioband_device *v;
	size_t n;
};

/* Which devices a verb is about. */
struct scope {
	const struct ioband_device *device;	/* only this one; NULL for all */
	const char *pool;	/* only those of this pool; NULL for all */
};

/* The devices that a message is to be sent to. */
struct targets {
	const struct ioband_device **v;
	size_t n;
};

int ioband_load(struct ioband_devices *devices);
void ioband_free(struct ioband_devices *devices);
const struct ioband_device *ioband_named(const struct ioband_devices *devices, const char *name);
const struct ioband_device *ioband_in_pool(const struct ioband_devices *devices, const char *pool);
const struct ioband_device *ioband_exact(const struct ioband_devices *devices, const char *spelled);
const struct ioband_device *ioband_over(const struct ioband_devices *devices, const char *spelled);
const struct ioband_device *ioband_look(const struct ioband_devices *devices, const char *spelled);
int ioband_find(const struct ioband_devices *devices, const char *spelled,
		const struct ioband_device **found);
int ioband_scope(const struct ioband_devices *devices, const struct args *args,
		 struct scope *scope);
bool ioband_in_scope(const struct ioband_device *device, const struct scope *scope);
int ioband_pools(const struct ioband_devices *devices,
		 const struct scope *scope, struct targets *targets);
int ioband_sorting(const struct ioband_devices *devices, const struct scope *scope,
		   const char *mode, struct targets *targets);
bool ioband_has_trees(const struct ioband_device *device);
bool ioband_has_group(const struct ioband_device *device);
uint64_t ioband_sectors_below(const struct ioband_device *device);
void targets_add(struct targets *targets, const struct ioband_device *device);
void targets_free(struct targets *targets);

#endif
