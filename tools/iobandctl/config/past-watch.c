// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that a running "watch" has locked, and in which is what configuration it goes
 * by.  What others ask for a cgroup, only it knows: "apply" leaves to it what both may
 * have set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/records.h"
#include "config/past.h"

static int open_lock(int flags)
{
	char *path = xasprintf("%s/.watch", records_directory());
	int fd = open(path, flags | O_CLOEXEC, 0644);

	free(path);
	return fd;
}

/**
 * past_watch() - tell "apply" which configuration "watch" goes by
 * @file: as from past_keep()
 *
 * Until the program ends.  Nothing is said if it cannot be: "apply" takes back then what
 * is asked for no more, and "watch" gives again what others ask for.
 *
 * Return: whether it could be told: 0, or -1.
 */
int past_watch(const char *file)
{
	static int fd = -1;
	ssize_t length = strlen(file);

	if (fd < 0)
		fd = open_lock(O_RDWR | O_CREAT);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || ftruncate(fd, 0) ||
	    pwrite(fd, file, length, 0) != length)
		return -1;
	return 0;
}

/**
 * past_is_watched() - see whether a "watch" runs
 *
 * Return: whether one does.
 */
bool past_is_watched(void)
{
	int fd = open_lock(O_RDONLY);
	bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) &&
		  errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is;
}

/**
 * past_watched() - which configuration the last "watch" went by
 *
 * Return: the name of its file, to be freed; NULL if there was none.
 */
char *past_watched(void)
{
	int fd = open_lock(O_RDONLY);
	char name[64] = "";
	ssize_t length = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);

	if (fd >= 0)
		close(fd);
	return length > 0 ? xstrdup(name) : NULL;
}
