/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_PAST_H
#define IOBANDCTL_PAST_H

#include "config/conf.h"
#include "kernel/parse.h"

/* The settings of an ioband device in a configuration. */
struct past_device {
	const char *name;
	const struct conf_section *section;
};

/* Former configurations. */
struct past {
	struct conf *v;	/* configurations; only groups and pools count */
	size_t n;
	struct conf devices;	/* a section for each ioband device, with its name in KEY_AS */
};

void past_load(struct past *past);
void past_add(struct past *past, struct conf *conf);
void past_free(struct past *past);
bool past_asked_path(const struct past *past, const char *pool, const char *device,
		     const char *path, int setting, const struct ioband_preset *now);
bool past_asked_other(const struct past *past, const char *pool, const char *group, int setting,
		      const struct ioband_preset *now);
bool past_asked_pool(const struct past *past, const char *pool, enum conf_key key, const char *now);
bool past_asked_device(const struct past *past, const char *name,
		       enum conf_key key, const char *now);
bool past_asked_own(const struct past *past, const char *name, int setting,
		    const struct ioband_preset *now);
int past_keep(const struct conf *conf, char **file);
int past_keep_devices(const struct past *past, const struct past_device *v, size_t n, bool replace);
void past_forget(const char *file);

/* past-watch.c */
int past_watch(const char *file);
bool past_is_watched(void);
char *past_watched(void);

#endif
