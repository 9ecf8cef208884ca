/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_WEIGH_H
#define IOBANDCTL_WEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct device_weight - a weight on one device
 * @major: of the device
 * @minor: of the device
 * @weight: on it
 */
struct device_weight {
	unsigned int major;
	unsigned int minor;
	uint64_t weight;
};

/**
 * struct asked - the weights that somebody asks for a cgroup
 * @weight: on all devices; 0 if none is asked for
 * @v: on some devices, the most important first
 * @n: how many
 */
struct asked {
	uint64_t weight;
	struct device_weight *v;
	size_t n;
};

void asked_add(struct asked *asked, unsigned int major, unsigned int minor,
	       uint64_t weight);
void asked_free(struct asked *asked);
void asked_read(struct asked *asked, const char *text, bool is_bfq,
		bool is_unit);
uint64_t asked_on(const struct asked *asked,
		  const struct device_weight *devices, size_t n);
uint64_t weigh_bfq(uint64_t bfq);

#endif
