// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps others from changing a device while its table is changed: another
 * iobandctl by a file of our own, LVM by the file that it locks itself while it
 * works on a volume group.  LVM removes the file when it is done, so the file
 * that was locked must be the one that has the name.
 *
 * Who puts back what he found if he fails, or makes a device anew with the size that he
 * found, is to be alone with that: "apply", of which there is one for each disk at boot,
 * "set" and "resize".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "dm.h"
#include "error.h"
#include "lock.h"
#include "lvm.h"
#include "records.h"

#define LVM_LOCKS "/run/lock/lvm"
#define PATIENCE_S 5

/* Less than the 30 s that a disk has at boot, see udev/ioband-wrap@.service.in. */
#define CHANGES_PATIENCE_S 20
#define PAUSE_MS 20

static int try_lock(const char *path, int *fd)
{
	struct stat locked, named;
	int error = 0;

	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		return -errno;
	if (flock(*fd, LOCK_EX | LOCK_NB))
		error = -errno;
	else if (fstat(*fd, &locked) || stat(path, &named) ||
		 locked.st_ino != named.st_ino ||
		 locked.st_dev != named.st_dev)
		error = -EWOULDBLOCK;
	if (error)
		close(*fd);
	return error;
}

static int wait_for(const char *path, int patience_s, int *fd)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	int error = -EWOULDBLOCK;

	for (int ms = 0; error == -EWOULDBLOCK && ms < patience_s * 1000;
	     ms += PAUSE_MS) {
		nanosleep(&pause, NULL);
		error = try_lock(path, fd);
	}
	return error;
}

static int take(char *path, const char *name, const char *who, int patience_s,
		struct lock *lock)
{
	int error = try_lock(path, &lock->fd);

	if (error == -EWOULDBLOCK) {
		if (patience_s > PATIENCE_S)
			note("note: waiting until %s is done", who);
		error = wait_for(path, patience_s, &lock->fd);
	}
	if (!error) {
		lock->path = path;
		return EXIT_OK;
	}
	if (error == -EWOULDBLOCK)
		fail(EXIT_IN_USE,
		     "%s is being changed: %s has locked %s; try again when it is done",
		     name, who, path);
	else
		fail(exit_code_of(-error), "cannot lock %s: %s", path,
		     strerror(-error));
	free(path);
	return error == -EWOULDBLOCK ? EXIT_IN_USE : (int)exit_code_of(-error);
}

/**
 * unlock() - let others have what was locked
 * @lock: the lock; nothing is done if it is not locked
 */
void unlock(struct lock *lock)
{
	if (!lock->path)
		return;
	unlink(lock->path);	/* the lock is held still */
	close(lock->fd);
	free(lock->path);
	lock->path = NULL;
}

static int lock_group(const char *name, struct lock *lock)
{
	char *group = mapper_group_name(name), *path;

	mkdir(LVM_LOCKS, 0700);
	path = xasprintf(LVM_LOCKS "/V_%s", group);
	free(group);
	return take(path, name, "LVM", PATIENCE_S, lock);
}

static char *own_path(const char *dash, const char *name)
{
	mkdir(records_directory(), 0755);
	return xasprintf("%s/.lock%s%s", records_directory(), dash, name);
}

/**
 * lock_changes() - keep every other "apply", "set" and "resize" from making changes
 * @lock: the result, for unlock() whatever is returned
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int lock_changes(struct lock *lock)
{
	int code = mapper_ready();

	*lock = (struct lock){ .path = NULL };
	return code != EXIT_OK ? code :
	       take(own_path("", ""), "what ioband does here",
		    "another iobandctl", CHANGES_PATIENCE_S, lock);
}

/**
 * lock_device() - keep others from changing a device
 * @name: its name
 * @locks: the result, for unlock_device() whatever is returned
 *
 * Of a device that is not there nothing is said.
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int lock_device(const char *name, struct locks *locks)
{
	struct mapped_state state;
	int code;

	*locks = (struct locks){ .own.path = NULL };
	code = take(own_path("-", name), name, "another iobandctl", PATIENCE_S,
		    &locks->own);
	if (code == EXIT_OK && mapper_state(name, &state) &&
	    lvm_owns(state.uuid))
		code = lock_group(name, &locks->group);
	return code;
}

/**
 * unlock_device() - undo lock_device()
 * @locks: the locks
 */
void unlock_device(struct locks *locks)
{
	unlock(&locks->group);
	unlock(&locks->own);
}
