// SPDX-License-Identifier: GPL-2.0-only
/* The options and the report of the verbs that create devices. */
#include <stdio.h>

#include "base/alloc.h"
#include "ioband/hand.h"
#include "print/print.h"
#include "verbs/verbs.h"

const struct option_spec made_options[] = {
	{ OPTION_POOL, "pool", "POOL", "the pool to join or make (default: the disks below)" },
	{ OPTION_MODE, "mode", "MODE",
	  "cgroup (default), device, device+cgroup, uid, gid, pid, pgrp" },
	{ OPTION_WEIGHT, "weight", "N",
	  "weight of the device's own group, 1..10000 or idle (default: 100)" },
	{ OPTION_MEASURE, "measure", "MEASURE",
	  "what the groups share: time (default on disks that seek), bytes (default else), ios" },
	{ OPTION_DEPTH, "depth", "DEPTH",
	  "I/Os in flight while groups compete: auto (default), 1..65535" },
	{ OPTION_SLICE, "slice", "MS",
	  "ms for which a group has the disks to itself: auto (default), 0 (none)..1000" },
	{ OPTION_WRITES_STARVED, "writes-starved", "N",
	  "reads of a group that go before a write that waits, 1..100 (default: 2)" },
	SPEC_JSON,
	{ .name = NULL }
};

/* The settings on a command line. */
int made_settings(const struct args *args, struct settings *settings)
{
	*settings = (struct settings){
		.pool = args->value[OPTION_POOL],
		.mode = args->value[OPTION_MODE],
		.weight = args->value[OPTION_WEIGHT],
		.measure = args->value[OPTION_MEASURE],
		.depth = args->value[OPTION_DEPTH],
		.slice = args->value[OPTION_SLICE],
		.writes_starved = args->value[OPTION_WRITES_STARVED],
	};
	return settings_check(settings);
}

static void print_made(const struct ioband_device *device)
{
	char slices[40] = "";

	if (device->table.slice_ms)
		snprintf(slices, sizeof(slices), ", slices of %llu ms",
			 (unsigned long long)device->table.slice_ms);
	print_line("/dev/mapper/%s: pool %s, mode %s, measure %s%s", device->dm->name,
		   device->table.pool, device->table.mode, device->table.measure, slices);
}

/* Mark the settings on the command line as made by hand. */
static void mark(const struct ioband_device *device, const struct settings *settings)
{
	const struct {
		const char *key;
		const char *value;
		const char *device;
		const char *group;
	} keys[] = {
		{ "pool", settings->pool, device->dm->name, NULL },
		{ "mode", settings->mode, device->dm->name, NULL },
		{ "weight", settings->weight, device->dm->name, "device" },
		{ "measure", settings->measure, NULL, NULL },
		{ "depth", settings->depth, NULL, NULL },
		{ "slice", settings->slice, NULL, NULL },
		{ "writes_starved", settings->writes_starved, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].value)
			hand_mark(&(struct hand_key){
				.pool = device->table.pool,
				.device = keys[i].device,
				.group = keys[i].group, .key = keys[i].key,
			});
	}
}

/*
 * Print devices that a verb has created.
 * @settings: the settings on the command line
 */
int made_report(const struct names *made, const struct settings *settings, bool json)
{
	struct ioband_device *found __free = xcalloc(made->n, sizeof(*found));
	const struct ioband_device *device;
	struct ioband_devices devices __cleanup(ioband_free);
	int code = ioband_load(&devices);
	size_t n = 0;

	for (size_t i = 0; code == EXIT_OK && i < made->n; i++) {
		device = ioband_named(&devices, made->v[i]);
		if (device && device->dm->table)
			found[n++] = *device;
		else
			code = fail(EXIT_MISSING, "%s was made, and is gone again", made->v[i]);
	}
	for (size_t i = 0; i < n; i++) {
		mark(&found[i], settings);
		if (!json)
			print_made(&found[i]);
	}
	return first_failure(code, json && (n || code == EXIT_OK) ? list_print(found, n) :
							       print_flush());
}
