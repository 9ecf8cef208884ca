/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_LIST_H
#define SHIM_LINUX_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>

#endif /* SHIM_LINUX_LIST_H */
