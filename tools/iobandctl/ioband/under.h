/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_UNDER_H
#define IOBANDCTL_UNDER_H

#include "host/device.h"
#include "ioband/ioband.h"
#include "kernel/dm.h"

#define UNDER_UUID_PREFIX MAPPER_UUID_PREFIX "UNDER-"

/* A device that ioband is, or is to be, inserted into. */
struct under {
	char name[MAPPER_NAME_SIZE];
	struct mapped_device dm;	/* what device-mapper says of it */
	/* The name of the device that has, or will have, its own table. */
	char hidden[MAPPER_NAME_SIZE];
	bool has_hidden;	/* that device is there */
	bool stopped;	/* and is suspended, as by LVM for a moment */
	bool inserted;	/* ioband is in it */
};

/* Where the tests end the tool, as kill -9 would. */
#ifdef FAILPOINTS
void under_step(const char *step);
#else
static inline void under_step(const char *step)
{
	(void)step;
}
#endif

struct device under_device(const struct under *under);
bool under_is_hidden(unsigned int major, unsigned int minor);
char *under_uuid(const struct under *under, const struct mapped_table *own, bool *lvms);
int under_look(const char *name, struct under *under);
int under_repair(struct under *under, bool *repaired);
int under_places(const char *spelled, struct names *places);
bool under_is_place(const char *name);
void under_remember(const char *name);
bool under_forget(const char *name);
void under_trouble(struct names *half, struct names *lost);
bool under_is_inserted(const struct ioband_device *device);

/* insert.c */
struct settings;
int insert_into(const struct settings *settings, const char *name, bool force, bool *had_it);

/* extract.c */
int extract_from(const char *name, bool *had_it);

#endif
