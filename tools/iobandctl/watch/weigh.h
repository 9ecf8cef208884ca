/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WEIGH_H
#define IOBANDCTL_WEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rates.h"

/* The kinds of requests; the last kinds are the rates of a maximum. */
enum asked_kind { ASKED_WEIGHT, ASKED_LATENCY, ASKED_MAX, ASKED_KINDS = ASKED_MAX + RATES };

/* A weight, a latency target or a maximum rate on one device. */
struct device_weight {
	unsigned int major;
	unsigned int minor;
	/* The weight; for a target, microseconds; for a maximum, a rate per second; 0 for none. */
	uint64_t weight;
};

/* Requested weights, latency targets or one maximum rate of a cgroup. */
struct asked {
	/* The weight on all devices, or IOBAND_WEIGHT_IDLE; 0 for none, and for other kinds. */
	uint64_t weight;
	struct device_weight *v;	/* values on single devices, in order of precedence */
	size_t n;
};

void asked_add(struct asked *asked, unsigned int major, unsigned int minor, uint64_t weight);
void asked_copy(struct asked *asked, const struct asked *other);
void asked_free(struct asked *asked);
void asked_read(struct asked *asked, const char *text, bool is_bfq, bool is_unit);
void asked_add_kind(struct asked *asked, enum asked_kind kind,
		    unsigned int major, unsigned int minor, uint64_t value);
void asked_read_class(struct asked *asked, const char *text);
void asked_read_values(struct asked asked[ASKED_KINDS], const char *text);
void asked_end(struct asked *asked, const struct asked *before);
void asked_forget(struct asked *asked);
const struct device_weight *asked_find(const struct asked *asked,
				       const struct device_weight *devices, size_t n);
uint64_t asked_on(const struct asked *asked, const struct device_weight *devices, size_t n);
bool asked_below_all(const struct asked *asked, const struct device_weight *devices, size_t n,
		     size_t n_above, uint64_t *rate);
uint64_t weigh_bfq(uint64_t bfq);

#endif
