// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file that a running "watch" keeps locked, and that names its
 * configuration.  Only "watch" knows the requests of other programs for a
 * cgroup.  "apply" therefore does not revert settings that both may have made.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/records.h"
#include "config/past.h"

static int open_lock(int flags)
{
	char *path __free = records_path(".watch");

	return open(path, flags | O_CLOEXEC, 0644);
}

/*
 * Publish the configuration of this "watch" for "apply".
 * @file: as from past_keep()
 *
 * The lock lasts until the program ends.  A failure is harmless and not reported: "apply"
 * then reverts settings that are not in the configuration, and "watch" makes the settings
 * that other programs request.
 * Return: 0, or -1 after a failure.
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

bool past_is_watched(void)
{
	int fd = open_lock(O_RDONLY);
	bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * The configuration of the last "watch".  Return: the name of its file, to be freed; NULL
 * if there was none.
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
