/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_TREE_H
#define IOBANDCTL_TREE_H

#include <stdbool.h>

#include "ioband/ioband.h"
#include "kernel/parse.h"

const struct ioband_group *tree_parent(const struct groups *groups,
				       const struct ioband_group *group);
bool tree_is_sound(const struct groups *groups, const struct ioband_group *group);
bool tree_is_device(const struct ioband_group *group);
bool tree_is_cgroup(const struct ioband_group *group);
bool tree_lasts(const struct ioband_group *group);
const struct ioband_device *tree_owner(const struct ioband_devices *devices,
				       const struct groups *groups,
				       const struct ioband_group *group);
const struct ioband_group *tree_own(const struct ioband_devices *devices,
				    const struct groups *groups,
				    const struct ioband_device *device);
bool tree_is_below(const struct groups *groups, const struct ioband_group *group,
		   const struct ioband_group *top);
bool tree_has(const struct ioband_devices *devices, const struct groups *groups,
	      const struct ioband_group *group, const struct ioband_device *device);
char *tree_name(const struct ioband_devices *devices,
		const struct groups *groups, const struct ioband_group *group);

#endif
