/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_KMSG_H
#define IOBANDCTL_KMSG_H

void kmsg_mark(void);
const char *kmsg_reason(int error);

#endif
