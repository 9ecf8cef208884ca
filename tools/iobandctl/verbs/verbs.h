/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_VERBS_H
#define IOBANDCTL_VERBS_H

#include "ioband/make.h"
#include "print/args.h"

extern const struct verb verb_create, verb_remove, verb_resize, verb_wrap, verb_unwrap, verb_insert,
	verb_extract, verb_table, verb_check, verb_list, verb_status, verb_set, verb_get,
	verb_set_weight, verb_get_weight, verb_set_max, verb_get_max, verb_set_min, verb_get_min,
	verb_set_latency, verb_get_latency, verb_groups, verb_stat, verb_metrics, verb_top,
	verb_explain, verb_record, verb_plot, verb_check_config, verb_apply, verb_dump, verb_watch,
	verb_completion, verb_udev;

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
