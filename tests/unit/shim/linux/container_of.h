/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_CONTAINER_OF_H
#define SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

#define container_of(ptr, type, member) ({				\
	__typeof__(((type *)0)->member) * const __mptr = (void *)(ptr);	\
	(type *)((char *)__mptr - offsetof(type, member)); })

#endif /* SHIM_LINUX_CONTAINER_OF_H */
