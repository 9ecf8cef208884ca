/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_MAXIMUM_H
#define IOBANDCTL_MAXIMUM_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "words.h"

/* As in the kernel's lists: bytes read and written a second, then I/Os. */
enum rate { RBPS, WBPS, RIOPS, WIOPS, RATES };

#define RATE_MAX 1000000000000ULL	/* a second, of bytes and of I/Os */
#define RATES_ALL ((1U << RATES) - 1)

/**
 * struct maximum - what a group may have at most
 * @rate: a second; 0 where nothing is bounded
 */
struct maximum {
	uint64_t rate[RATES];
};

extern const char *const rate_names[RATES];

bool rate_is_bytes(enum rate rate);
bool maximum_is_set(const struct maximum *maximum);
bool maximum_is(const struct maximum *maximum, const struct maximum *other);
int maximum_read(const char *text, struct maximum *maximum,
		 unsigned int *given, struct problem *problem);
bool maximum_read_list(struct span list, struct maximum *maximum);
char *maximum_text(const struct maximum *maximum);
char *maximum_list(const struct maximum *maximum);
char *maximum_words(const struct maximum *maximum, unsigned int given);
char *maximum_rate(const struct maximum *maximum, enum rate rate);

#endif
