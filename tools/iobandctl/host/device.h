/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_DEVICE_H
#define IOBANDCTL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_NAME_SIZE 128

/* A block device. */
struct device {
	unsigned int major;
	unsigned int minor;
	char path[4096];	/* a node for it */
};

/* Names of devices, each once, sorted. */
struct names {
	char **v;
	size_t n;
};

bool device_find(const char *spelled, struct device *device);
bool device_of_file(const char *path, struct device *device);
int device_resolve(const char *spelled, struct device *device);
int device_size(const struct device *device, uint64_t *sectors, bool *read_only);
void device_label(unsigned int major, unsigned int minor, char label[DEVICE_NAME_SIZE]);
int device_disks(const struct device *device, struct names *disks, struct names *passed);
void device_stack(const struct device *device, struct names *numbers);
int device_related(const struct device *device, const char *relation, struct names *names);
bool device_attribute(unsigned int major, unsigned int minor, const char *name,
		      char *value, size_t size);
bool device_of_kernel_name(const char *name, struct device *device);
bool device_whole_disk(const struct device *part, struct device *disk);
void names_add(struct names *names, const char *name);
bool names_has(const struct names *names, const char *name);
void names_free(struct names *names);

#endif
