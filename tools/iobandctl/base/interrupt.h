/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_INTERRUPT_H
#define IOBANDCTL_INTERRUPT_H

#include <signal.h>

void interrupt_hold(sigset_t *before);
int interrupt_check(void);
void interrupt_release(const sigset_t *before);

#endif
