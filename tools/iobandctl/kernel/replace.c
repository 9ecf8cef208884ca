// SPDX-License-Identifier: GPL-2.0-only
/* Another table for an ioband device. */
#include <stdlib.h>

#include "base/alloc.h"
#include "kernel/kmsg.h"
#include "kernel/swap.h"

/*
 * Give an ioband device another table.
 * @device: its name, its size and its table
 * @problem: the failure, and the state in which it left the device
 *
 * The new table is checked before the old one goes; held bios go down first.
 */
int mapper_reload(const struct new_device *device, struct problem *problem)
{
	struct mapped_target target = { .sectors = device->sectors,
					.type = xstrdup("ioband"),
					.words = xstrdup(device->table) };
	const struct mapped_table loaded = { .v = &target, .n = 1 };
	struct mapped_table own __cleanup(mapper_table_free);
	const struct swap swap = { .name = device->name, .own = &own,
				   .loaded = &loaded,
				   .read_only = device->read_only };
	int error = mapper_table(device->name, &own);

	if (!error)
		error = mapper_load(device->name, &loaded, device->read_only);
	if (error)
		problem_set(problem, "%s", kmsg_reason(-error));
	else
		error = swap_tables(&swap, problem);
	free(target.type);
	free(target.words);
	return error;
}
