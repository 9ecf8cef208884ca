// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools in the configuration.  The default name of a pool contains the kernel's names of its disks,
 * which may belong to other disks after a reboot.  Therefore a section can name a pool by the path
 * of a disk, as in /dev/disk/by-id.  A section with the kernel's name gets a warning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "config/conf.h"
#include "config/select.h"
#include "host/device.h"
#include "ioband/pool.h"

/* The default pool of the disks below a device, or NULL. */
static char *find_pool(const char *path)
{
	struct names disks __cleanup(names_free) = { .n = 0 };
	struct names passed __cleanup(names_free) = { .n = 0 };
	char pool[IOBAND_POOL_SIZE];
	struct device device;
	bool found = device_find(path, &device) && device_disks(&device, &disks, &passed);

	if (found)
		pool_name_of(&disks, pool);
	return found ? xstrdup(pool) : NULL;
}

/*
 * Find the pools that sections name by paths of disks.
 * @conf: the configuration; call this again when devices appear or disappear
 */
void conf_find_pools(struct conf *conf)
{
	for (size_t i = 0; i < conf->n; i++) {
		struct conf_section *section = &conf->v[i];
		const char *text;

		free(section->pool);
		section->pool = NULL;
		text = conf_pool(section);
		if (text && conf_is_pool_path(text))
			section->pool = find_pool(text);
	}
}

/* Check whether a section gives this name to a pool; then it names no disk. */
static bool is_given(const struct conf *conf, const char *pool)
{
	for (size_t i = 0; i < conf->n; i++) {
		const char *its = conf_text(&conf->v[i], KEY_POOL);

		if (conf->v[i].kind == CONF_DEVICE && its && !strcmp(its, pool))
			return true;
	}
	return false;
}

/* Check whether a pool's name contains a kernel's name of a disk. */
static bool has_kernels(const char *pool)
{
	char *names __free = xstrdup(pool);
	char *rest, *name;
	struct device disk;
	bool found = false;

	for (name = strtok_r(names, "+", &rest); name && !found; name = strtok_r(NULL, "+", &rest))
		found = device_of_kernel_name(name, &disk) || pool_is_kernels(name);
	return found;
}

/* The persistent path of a disk, or NULL. */
static char *path_of(const char *name)
{
	struct device disk;
	char *path = device_of_kernel_name(name, &disk) ?
			     device_lasting_name(disk.major, disk.minor) : NULL;

	if (path && !text_after(path, "/dev/disk/")) {
		free(path);
		path = NULL;
	}
	return path;
}

static void warn_of_name(const char *where, const char *pool)
{
	char *path __free = path_of(strrchr(pool, '/') ? strrchr(pool, '/') + 1 : pool);
	struct problem why;

	problem_set(&why,
		    "pool %s has the kernel's name of a disk, which may be another's after a reboot; write %s in its place, or give the pool a name, with 'pool' in the sections of its devices",
		    pool, path ? path : "a path in /dev/disk/by-id");
	note("note: %s: %s", where, why.text);
}

/* Check whether a path is the kernel's node of a disk. */
static bool is_node(const char *path)
{
	const char *name = text_after(path, "/dev/");
	struct device disk;

	return name && device_of_kernel_name(name, &disk);
}

/* Warn of pools that do not exist or may change at a reboot. */
void conf_warn_of_pools(const struct conf *conf)
{
	char where[256];

	for (size_t i = 0; i < conf->n; i++) {
		const struct conf_section *section = &conf->v[i];
		const struct conf_value *value = &section->value[KEY_POOL];
		const char *pool = conf_pool_text(section);

		if (!pool || (section->kind == CONF_DEVICE && !section->pool))
			continue;
		conf_where(conf, value->text ? &value->place : &section->place,
			   where, sizeof(where));
		if (section->pool ? is_node(pool) :
		    !conf_is_pool_path(pool) && !is_given(conf, pool) &&
		    has_kernels(pool))
			warn_of_name(where, pool);
		else if (!section->pool && conf_is_pool_path(pool))
			note("note: %s: there is no device %s, so that its pool is unknown",
			     where, pool);
	}
}
