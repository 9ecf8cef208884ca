/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_COMPILER_H
#define SHIM_LINUX_COMPILER_H

#define __printf(m, n)	__attribute__((format(printf, m, n)))
#define __noreturn		__attribute__((noreturn))
#define __weak			__attribute__((weak))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))

#define WRITE_ONCE(x, value)	(*(volatile typeof(x) *)&(x) = (value))

#endif /* SHIM_LINUX_COMPILER_H */
