// SPDX-License-Identifier: GPL-2.0-only
/* The list of ioband devices, and lookup in it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "host/device.h"
#include "ioband/ioband.h"

static int parse_texts(const struct mapped_device *mapped, struct ioband_device *device)
{
	struct problem problem;

	*device = (struct ioband_device){ .dm = mapped };
	if (!mapped->table)
		return EXIT_OK;
	if (!parse_table(mapped->table, &device->table, &problem) &&
	    !parse_status(mapped->status, &device->status, &problem))
		return EXIT_OK;
	return fail(EXIT_FORMAT, "cannot understand what the kernel says of device %s: %s",
		    mapped->name, problem.text);
}

static int by_name(const void *left, const void *right)
{
	const struct ioband_device *a = left, *b = right;

	return strcmp(a->dm->name, b->dm->name);
}

/* Read all ioband devices from the kernel. */
int ioband_load(struct ioband_devices *devices)
{
	int code = mapper_ready();

	*devices = (struct ioband_devices){ .n = 0 };
	code = code ?: mapper_list(&devices->mapped);
	devices->v = xcalloc(devices->mapped.n, sizeof(*devices->v));
	while (code == EXIT_OK && devices->n < devices->mapped.n) {
		code = parse_texts(&devices->mapped.v[devices->n], &devices->v[devices->n]);
		devices->n++;
	}
	if (code == EXIT_OK)
		qsort(devices->v, devices->n, sizeof(*devices->v), by_name);
	else
		ioband_free(devices);
	return code;
}

void ioband_free(struct ioband_devices *devices)
{
	free(devices->v);
	mapper_list_free(&devices->mapped);
	*devices = (struct ioband_devices){ .n = 0 };
}

/* Find an ioband device by its mapper name.  Return: the device, or NULL. */
const struct ioband_device *ioband_named(const struct ioband_devices *devices, const char *name)
{
	for (size_t i = 0; i < devices->n; i++) {
		if (!strcmp(devices->v[i].dm->name, name))
			return &devices->v[i];
	}
	return NULL;
}

/* Any device of a pool, which has the settings of the pool; NULL if the pool does not exist. */
const struct ioband_device *ioband_in_pool(const struct ioband_devices *devices, const char *pool)
{
	for (size_t i = 0; i < devices->n; i++) {
		if (devices->v[i].dm->table && !strcmp(devices->v[i].table.pool, pool))
			return &devices->v[i];
	}
	return NULL;
}

/*
 * Find an ioband device by any of its names.
 * @spelled: as for device_find()
 * Return: the device, or NULL.
 */
const struct ioband_device *ioband_exact(const struct ioband_devices *devices, const char *spelled)
{
	const char *name = text_after(spelled, "/dev/mapper/") ?: spelled;
	const struct ioband_device *found = ioband_named(devices, name);
	struct device number;

	if (found || !device_find(spelled, &number))
		return found;
	for (size_t i = 0; i < devices->n; i++) {
		if (devices->v[i].dm->major == number.major &&
		    devices->v[i].dm->minor == number.minor)
			return &devices->v[i];
	}
	return NULL;
}

/*
 * Find the ioband device over a device.
 * @spelled: the device below, as for device_find()
 * Return: the ioband device, or NULL.
 */
const struct ioband_device *ioband_over(const struct ioband_devices *devices, const char *spelled)
{
	struct device number;

	if (!device_find(spelled, &number))
		return NULL;
	for (size_t i = 0; i < devices->n; i++) {
		const struct ioband_device *device = &devices->v[i];

		if (device->dm->table &&
		    device->table.device[0] == number.major &&
		    device->table.device[1] == number.minor)
			return device;
	}
	return NULL;
}

/*
 * Find an ioband device by its name or by that of the device below.
 * @spelled: a name of the device, or of the device below
 * Return: the device, or NULL.
 */
const struct ioband_device *ioband_look(const struct ioband_devices *devices, const char *spelled)
{
	const struct ioband_device *found = ioband_exact(devices, spelled);

	return found ? found : ioband_over(devices, spelled);
}

/*
 * Find an ioband device, and report an error if there is none.
 * @spelled: as for ioband_look()
 */
int ioband_find(const struct ioband_devices *devices, const char *spelled,
		const struct ioband_device **found)
{
	struct device number;

	*found = ioband_look(devices, spelled);
	if (*found && (*found)->dm->table)
		return EXIT_OK;
	if (*found)
		return fail(EXIT_MISSING, "%s has no table; 'iobandctl remove %s' and make it anew",
			    spelled, (*found)->dm->name);
	if (device_find(spelled, &number))
		return fail(EXIT_MISSING,
			    "%s is not an ioband device, and none lies on it; 'iobandctl list' shows all",
			    spelled);
	return fail(EXIT_MISSING,
		    "there is no device '%s'; 'iobandctl list' shows all ioband devices", spelled);
}

/*
 * Check whether a device is in the scope of a verb.  Return: true if so; false for every
 * device without a table.
 */
bool ioband_in_scope(const struct ioband_device *device, const struct scope *scope)
{
	return device->dm->table &&
	       (!scope->device || scope->device == device) &&
	       (!scope->pool || !strcmp(scope->pool, device->table.pool));
}

/* Read the options --device and --pool. */
int ioband_scope(const struct ioband_devices *devices, const struct args *args, struct scope *scope)
{
	const char *device = args->value[OPTION_DEVICE];
	int code = EXIT_OK;

	*scope = (struct scope){ .pool = args->value[OPTION_POOL] };
	if (device)
		code = ioband_find(devices, device, &scope->device);
	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < devices->n; i++) {
		if (ioband_in_scope(&devices->v[i], scope))
			return EXIT_OK;
	}
	if (scope->pool && device)
		return fail(EXIT_MISSING, "device %s is in pool %s, not %s",
			    scope->device->dm->name, scope->device->table.pool, scope->pool);
	if (scope->pool)
		return fail(EXIT_MISSING, "there is no pool '%s'; 'iobandctl list' shows all",
			    scope->pool);
	return fail(EXIT_MISSING, "there is no ioband device; 'iobandctl create' makes one");
}

/* Add a device to a list. */
void targets_add(struct targets *targets, const struct ioband_device *device)
{
	*XPUSH(targets->v, targets->n) = device;
}

void targets_free(struct targets *targets)
{
	free(targets->v);
	*targets = (struct targets){ .n = 0 };
}

/*
 * Check whether a device has its own tree of cgroups.  Return: true if so; false if its
 * cgroups are in the tree of the pool.
 */
bool ioband_has_trees(const struct ioband_device *device)
{
	return !strcmp(device->table.mode, "device+cgroup");
}

bool ioband_has_group(const struct ioband_device *device)
{
	return !strcmp(device->table.mode, "device") || ioband_has_trees(device);
}

static bool same_tree(const struct ioband_device *a, const struct ioband_device *b)
{
	return !ioband_has_trees(a) && !ioband_has_trees(b) &&
	       !strcmp(a->table.pool, b->table.pool);
}

static bool sorts_by(const struct ioband_device *device, const char *mode)
{
	return !strcmp(device->table.mode, mode) ||
	       (!strcmp(mode, "cgroup") && ioband_has_trees(device));
}

/* Select one device of each pool.  Return: the number of pools. */
int ioband_pools(const struct ioband_devices *devices,
		 const struct scope *scope, struct targets *targets)
{
	*targets = (struct targets){ .n = 0 };
	for (size_t i = 0; i < devices->n; i++) {
		size_t j = 0;

		if (!ioband_in_scope(&devices->v[i], scope))
			continue;
		while (j < targets->n && strcmp(targets->v[j]->table.pool,
						devices->v[i].table.pool))
			j++;
		if (j == targets->n)
			targets_add(targets, &devices->v[i]);
	}
	return targets->n;
}

/*
 * Select the devices that receive a message about a weight.
 * @mode: the mode of sorting that the group needs: cgroup, uid...
 * @targets: the result: one device of each pool, and each device with its own tree
 */
int ioband_sorting(const struct ioband_devices *devices, const struct scope *scope,
		   const char *mode, struct targets *targets)
{
	*targets = (struct targets){ .n = 0 };
	for (size_t i = 0; i < devices->n; i++) {
		size_t j = 0;

		if (!ioband_in_scope(&devices->v[i], scope) || !sorts_by(&devices->v[i], mode))
			continue;
		while (j < targets->n && !same_tree(targets->v[j], &devices->v[i]))
			j++;
		if (j == targets->n)
			targets_add(targets, &devices->v[i]);
	}
	if (targets->n)
		return EXIT_OK;
	if (scope->device)
		return fail(EXIT_MISSING,
			    "device %s sorts by %s, not by %s; 'iobandctl list' shows the modes",
			    scope->device->dm->name, scope->device->table.mode, mode);
	return fail(EXIT_MISSING,
		    "no ioband device%s%s sorts by %s; 'iobandctl list' shows the modes",
		    scope->pool ? " of pool " : "", scope->pool ? scope->pool : "", mode);
}

/*
 * The largest possible size of a device.  Return: the sectors from its offset to the
 * present end of the device below; 0 if that device is gone.
 */
uint64_t ioband_sectors_below(const struct ioband_device *device)
{
	char text[32] = "0";
	uint64_t sectors;

	device_attribute(device->table.device[0], device->table.device[1],
			 "size", text, sizeof(text));
	sectors = strtoull(text, NULL, 10);
	return sectors > device->table.offset ? sectors - device->table.offset : 0;
}
