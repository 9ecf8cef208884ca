// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of manual settings.  The configuration does not revert a manual setting, even if it
 * once requested the same value.  There is an empty file for each setting made by "set" and similar
 * verbs.  It remains until "apply" or "watch" sets another value there.  A cgroup is recorded by
 * its number, so a new cgroup of the same name has no record.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/records.h"
#include "base/words.h"
#include "ioband/hand.h"

#define MARK ".hand "

/* The limit of presets in a pool.  The oldest files are removed; those of one run all stay. */
#define MARKS_MAX IOBAND_PRESETS_MAX

/* A file of the record, with the time of its mark. */
struct mark {
	char *name;
	struct timespec made;
};

/* The file of a device has no pool: its settings move with it to another pool. */
static char *file_of(const struct hand_key *key)
{
	return xasprintf("%s/" MARK "%s %s %s %s", records_directory(),
			 key->device ? "-" : key->pool, key->device ?: "-", key->group ?: "-",
			 key->key);
}

static int by_age(const void *left, const void *right)
{
	const struct timespec *a = &((const struct mark *)left)->made;
	const struct timespec *b = &((const struct mark *)right)->made;

	return a->tv_sec != b->tv_sec ? (a->tv_sec > b->tv_sec) - (a->tv_sec < b->tv_sec) :
					(a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Make room for a mark. */
static void drop_oldest(void)
{
	struct mark *marks __free = NULL;
	DIR *entries = opendir(records_directory());
	struct dirent *entry;
	struct stat info;
	size_t n = 0;

	while (entries && (entry = readdir(entries))) {
		if (text_after(entry->d_name, MARK) &&
		    !fstatat(dirfd(entries), entry->d_name, &info, 0))
			*XPUSH(marks, n) = (struct mark){ xstrdup(entry->d_name), info.st_mtim };
	}
	if (n)
		qsort(marks, n, sizeof(*marks), by_age);
	for (size_t i = 0; i < n; i++) {
		if (i + MARKS_MAX <= n)
			unlinkat(dirfd(entries), marks[i].name, 0);
		free(marks[i].name);
	}
	if (entries)
		closedir(entries);
}

/* Record a manual setting. */
void hand_mark(const struct hand_key *key)
{
	char *file __free = file_of(key);
	static bool has_room;
	int fd;

	if (!has_room && access(file, F_OK)) {
		drop_oldest();
		has_room = true;
	}
	mkdir(records_directory(), 0755);
	/* Truncated, an empty file too has the present time. */
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		note("note: cannot write %s: %s: the configuration may revert this setting", file,
		     strerror(errno));
	else
		close(fd);
}

/*
 * Record a manual setting of a group.
 * @device: the device that received the message about it
 * @group: the name of the group in the message
 * @key: the setting, with its name in the configuration
 */
void hand_mark_group(const struct ioband_device *device, const char *group, const char *key)
{
	bool own = !strcmp(group, "device") ||
		   (ioband_has_trees(device) && text_after(group, "cgroup#"));

	hand_mark(&(struct hand_key){
		.pool = device->table.pool,
		.device = own ? device->dm->name : NULL,
		.group = group, .key = key,
	});
}

/* Remove the record of a manual setting. */
void hand_clear(const struct hand_key *key)
{
	char *file __free = file_of(key);

	unlink(file);
}

static void clear_all(const char *start)
{
	DIR *entries = opendir(records_directory());
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		if (text_after(entry->d_name, start))
			unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
}

/* Remove all records of a device, which has been made anew. */
void hand_clear_device(const char *device)
{
	char *start __free = xasprintf(MARK "- %s ", device);

	clear_all(start);
}

/* Remove all records of a pool, which has been made anew. */
void hand_clear_pool(const char *pool)
{
	char *start __free = xasprintf(MARK "%s - ", pool);

	clear_all(start);
}

/*
 * Check whether a setting was made manually.  Return: true if so, and the configuration has
 * not set it since.
 */
bool hand_has(const struct hand_key *key)
{
	char *file __free = file_of(key);

	return !access(file, F_OK);
}
