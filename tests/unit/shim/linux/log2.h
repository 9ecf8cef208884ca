/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#define ilog2(n)	(31 - __builtin_clz(n))

#endif /* SHIM_LINUX_LOG2_H */
