/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_VERBS_H
#define IOBANDCTL_VERBS_H

#include "ioband/make.h"
#include "print/args.h"

extern const struct verb verb_create;
extern const struct verb verb_remove;
extern const struct verb verb_resize;
extern const struct verb verb_wrap;
extern const struct verb verb_unwrap;
extern const struct verb verb_insert;
extern const struct verb verb_extract;
extern const struct verb verb_table;
extern const struct verb verb_check;
extern const struct verb verb_list;
extern const struct verb verb_status;
extern const struct verb verb_set;
extern const struct verb verb_get;
extern const struct verb verb_set_weight;
extern const struct verb verb_get_weight;
extern const struct verb verb_set_max;
extern const struct verb verb_get_max;
extern const struct verb verb_set_min;
extern const struct verb verb_get_min;
extern const struct verb verb_set_latency;
extern const struct verb verb_get_latency;
extern const struct verb verb_groups;
extern const struct verb verb_stat;
extern const struct verb verb_metrics;
extern const struct verb verb_top;
extern const struct verb verb_explain;
extern const struct verb verb_record;
extern const struct verb verb_plot;
extern const struct verb verb_check_config;
extern const struct verb verb_apply;
extern const struct verb verb_dump;
extern const struct verb verb_watch;
extern const struct verb verb_completion;
extern const struct verb verb_udev;

struct table;
struct row;

/* remove.c */
extern const struct option_spec remove_options[];
int remove_found(const struct args *args,
		 int (*find)(const struct ioband_devices *devices,
			     const char *spelled, const struct ioband_device **found));

/* made.c: the options for struct settings, and --json */
extern const struct option_spec made_options[];
int made_settings(const struct args *args, struct settings *settings);
int made_report(const struct names *made, const struct settings *settings, bool json);

/* get.c */
int get_group(const struct args *args, int setting);
int get_pools(const struct args *args);

/* list.c */
struct table *list_table(void);
struct row *list_device(struct table *table, const struct ioband_device *device);
int list_print(const struct ioband_device *devices, size_t n);

#endif
