// SPDX-License-Identifier: GPL-2.0-only
#include <linux/rbtree.h>

u64 shim_rb_steps;
