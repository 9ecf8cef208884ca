// SPDX-License-Identifier: GPL-2.0-only
/* Another pool or another size for a device in use. */
#include <errno.h>

#include "base/alloc.h"
#include "host/blockage.h"
#include "ioband/reload.h"
#include "kernel/kmsg.h"

/*
 * Load a table with another pool or size.
 * @sectors: its new size in sectors of 512 bytes
 * @problem: the error, and the state of the device afterwards
 *
 * Its mode and the weight of its own group remain unchanged.
 */
int reload_device(const struct ioband_device *device, const char *pool,
		  uint64_t sectors, struct problem *problem)
{
	char *weight __free = ioband_has_group(device) ?
			      xasprintf(" weight=%llu", (unsigned long long)device->table.weight) :
			      xstrdup("");
	char *line __free = xasprintf("%llu:%llu %llu %s %d mode=%s%s",
				      (unsigned long long)device->table.device[0],
				      (unsigned long long)device->table.device[1],
				      (unsigned long long)device->table.offset, pool,
				      *weight ? 2 : 1, device->table.mode, weight);
	const struct new_device reloaded = {
		.name = device->dm->name, .sectors = sectors,
		.table = line, .read_only = device->dm->read_only,
	};
	const struct device node = { .major = device->dm->major, .minor = device->dm->minor };
	int error = -EBUSY;

	kmsg_mark();
	/* The switch would wait for I/O that does not complete. */
	if (!blockage_reason(&node, problem))
		error = mapper_reload(&reloaded, problem);
	return error;
}
