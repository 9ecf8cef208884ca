/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_HISTOGRAM_H
#define IOBANDCTL_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/parse.h"

uint64_t histogram_end(int slot);
bool histogram_percentile(const uint64_t slots[HISTOGRAM_SLOTS], double percent, uint64_t *ns);
bool histogram_max(const uint64_t slots[HISTOGRAM_SLOTS], uint64_t *ns);
void histogram_add(uint64_t sum[HISTOGRAM_SLOTS], const uint64_t slots[HISTOGRAM_SLOTS]);
void histogram_since(uint64_t now[HISTOGRAM_SLOTS], const uint64_t before[HISTOGRAM_SLOTS]);

#endif
