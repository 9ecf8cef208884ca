// SPDX-License-Identifier: GPL-2.0-only
/* Properties of a pool that follow from its disks: its name, and whether they seek.  Pure. */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "ioband/pool.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define HASH_LENGTH 17	/* '+' and 16 hexadecimal digits */

/* FNV-1a, 64 bits: the name must be the same at every boot. */
static uint64_t hash_names(const struct names *names)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < names->n; i++) {
		/* The NUL is included, so that ab,c and a,bc differ. */
		for (size_t j = 0; j <= strlen(names->v[i]); j++) {
			hash ^= (unsigned char)names->v[i][j];
			hash *= 0x100000001b3;
		}
	}
	return hash;
}

/* Join names with '+' as long as they fit; return the number of joined names. */
static size_t join(const struct names *names, char *text, size_t size)
{
	size_t length = 0, i;

	*text = 0;
	for (i = 0; i < names->n; i++) {
		size_t more = strlen(names->v[i]) + !!i;

		if (length + more >= size)
			break;
		snprintf(text + length, size - length, "%s%s", i ? "+" : "", names->v[i]);
		length += more;
	}
	return i;
}

static void replace_odd(char *text)
{
	char one[2] = "";

	for (; *text; text++) {
		one[0] = *text;
		if (*text != '-' && !parse_pool_name(one))
			*text = '_';
	}
}

/*
 * Derive the name of a pool from its disks.
 * @disks: their labels, at least one, sorted
 * @pool: the labels joined with '+'; if that is too long, the labels that fit and a hash of all
 */
void pool_name_of(const struct names *disks, char pool[IOBAND_POOL_SIZE])
{
	size_t room = IOBAND_POOL_SIZE - HASH_LENGTH;

	if (join(disks, pool, IOBAND_POOL_SIZE) < disks->n) {
		if (!join(disks, pool, room))
			snprintf(pool, room, "%s", disks->v[0]);
		snprintf(pool + strlen(pool), IOBAND_POOL_SIZE - strlen(pool),
			 "+%016llx", (unsigned long long)hash_names(disks));
	}
	replace_odd(pool);
	if (*pool == '-')
		*pool = '_';
}

/*
 * Check whether a name is like the kernel's names of disks.  The kernel assigns these names
 * in the order of discovery.
 */
bool pool_is_kernels(const char *name)
{
	static const char *const lettered[] = { "xvd", "sd", "vd", "hd" };
	static const char *const numbered[] = { "md", "mmcblk", "nbd", "loop", "pmem" };
	size_t length;
	int end = 0;

	if (sscanf(name, "nvme%*un%*u%n", &end) >= 0 && end && !name[end])
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(lettered); i++) {
		length = strlen(lettered[i]);
		if (!strncmp(name, lettered[i], length) && name[length] &&
		    strspn(name + length, LETTERS) == strlen(name + length) &&
		    strlen(name + length) <= 2)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbered); i++) {
		length = strlen(numbered[i]);
		if (!strncmp(name, numbered[i], length) && name[length] &&
		    strspn(name + length, DIGITS) == strlen(name + length))
			return true;
	}
	return false;
}

/*
 * Check whether a disk has a moving head.
 * @name: the kernel's name of the disk
 * @rotational: its attribute queue/rotational
 *
 * The drivers of virtual disks leave the attribute at 1 unless the host says otherwise,
 * which few hosts do.  The attribute of these disks is ignored.
 * Return: true if it is known to have one.
 */
bool pool_disk_seeks(const char *name, const char *rotational)
{
	return !text_begins(name, "vd", "xvd") && !strcmp(rotational, "1");
}
