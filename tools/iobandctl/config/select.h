/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_SELECT_H
#define IOBANDCTL_SELECT_H

#include <libudev.h>

#include "config/conf.h"
#include "host/device.h"

/* A block device and its section. */
struct choice {
	struct device device;
	char label[DEVICE_NAME_SIZE];	/* its name in device-mapper, or the kernel's */
	const struct conf_section *section;
	bool named;	/* the section lists the device; otherwise only its patterns match */
	bool passed_over;	/* its creator asked udev's rules to skip it */
};

struct choices {
	struct choice *v;
	size_t n;
};

int select_devices(const struct conf *conf, char *const *only, int n_only, struct choices *choices);
bool select_is_lasting(const char *link);
bool select_event(const struct conf *conf, struct udev_device *found, struct choice *choice);
void choices_free(struct choices *choices);
char *device_lasting_name(unsigned int major, unsigned int minor);

#endif
