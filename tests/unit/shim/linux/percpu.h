/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_PERCPU_H
#define SHIM_LINUX_PERCPU_H

#define __percpu

#endif /* SHIM_LINUX_PERCPU_H */
