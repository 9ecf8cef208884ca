// SPDX-License-Identifier: GPL-2.0-only
#include <linux/container_of.h>

u64 shim_steps;
