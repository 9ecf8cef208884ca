/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WEIGHT_H
#define IOBANDCTL_WEIGHT_H

#include <stdint.h>

#include "base/error.h"

#define IOBAND_WEIGHT_DEFAULT 100
#define IOBAND_WEIGHT_MAX 10000
#define IOBAND_WEIGHT_IDLE (IOBAND_WEIGHT_MAX + 1)	/* below all weights */

int weight_read(const char *text, uint64_t *weight, struct problem *problem);
uint64_t weight_of(const char *text);
char *weight_text(uint64_t weight);
uint64_t weight_number(uint64_t weight);
uint64_t weight_of_number(uint64_t number);

#endif
