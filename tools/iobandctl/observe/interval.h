/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_INTERVAL_H
#define IOBANDCTL_INTERVAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "print/args.h"

int interval_of(const struct args *args, double *interval_s);
int interval_duration_of(const struct args *args, double *duration_s);
uint64_t interval_next(uint64_t last_ns, double interval_s);
void interval_sleep(uint64_t until_ns);
void interval_end_signals(sigset_t *signals);
bool interval_wait(uint64_t until_ns, const sigset_t *signals);

#endif
