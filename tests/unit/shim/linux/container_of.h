/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_CONTAINER_OF_H
#define SHIM_LINUX_CONTAINER_OF_H

#include <linux/types.h>
#include <stddef.h>

/*
 * Structures visited by their members, as in each turn of a loop over a list or a tree, and steps
 * inside of trees: the cost of what a test did.
 */
extern u64 shim_steps;

#define container_of(ptr, type, member) ({				\
	shim_steps++;							\
	__typeof__(((type *)0)->member) * const __mptr = (void *)(ptr);	\
	(type *)((char *)__mptr - offsetof(type, member)); })

#endif /* SHIM_LINUX_CONTAINER_OF_H */
