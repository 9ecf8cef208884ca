// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps others from changing a device while its table is changed: another
 * iobandctl by a file of our own, LVM by the file that it locks itself while it
 * works on a volume group.  LVM removes the file when it is done, so the file
 * that was locked must be the one that has the name.
 *
 * LVM's directory lies in /run/lock, where any user can make one of that name while LVM
 * has none.  A link in it would have root create, lock or remove a file of the user's
 * choice.  So a directory is used only if root alone can write to it, and files are
 * opened in it without following links.
 *
 * Who puts back what he found if he fails, or makes a device anew with the size that he
 * found, is to be alone with that: "apply", of which there is one for each disk at boot,
 * "set" and "resize".  Where many disks appear at once they take turns.  So who waits has
 * patience for as long as somebody gets done, up to a time: whoever is done removes the
 * file, and the next one's is another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/records.h"
#include "base/roots.h"
#include "host/lock.h"
#include "host/lvm.h"
#include "kernel/dm.h"

#define LVM_LOCKS "/run/lock/lvm"

/**
 * struct patience - for how long to wait for a lock, in seconds
 * @idle_s: while the same one has it
 * @most_s: in any case
 */
struct patience {
	int idle_s;
	int most_s;
};

static const struct patience for_device = { 5, 5 };

/*
 * The first is less than the 30 s that systemd has for a disk, which is told of each turn.
 * The second leaves time for what else a disk takes of the 90 s for which a mount waits for
 * it: udev/ioband-wrap@.service.in.
 */
static const struct patience for_changes = { 20, 40 };

/*
 * Many that wait are not to keep the one at work from it.  It is the same for all, however
 * long they have waited: a longer one after some time would let those who came later go first.
 */
#define PAUSE_MS 50

#define TURN "EXTEND_TIMEOUT_USEC=30000000"

/* Return: negative errno; -EPERM if others than root can write to the directory. */
static int open_directory(const char *path, int *fd)
{
	struct stat info;
	int error = 0;

	*fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (fstat(*fd, &info))
		error = -errno;
	else if (!roots_is(&info))
		error = -EPERM;
	if (error)
		close(*fd);
	return error;
}

static int try_lock(const struct lock *lock, int *fd, struct stat *locked)
{
	struct stat named;
	int error = 0;

	*fd = openat(lock->directory, lock->name,
		     O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return -errno;
	if (fstat(*fd, locked))
		error = -errno;
	else if (flock(*fd, LOCK_EX | LOCK_NB))
		error = -errno;
	else if (fstatat(lock->directory, lock->name, &named,
			 AT_SYMLINK_NOFOLLOW) ||
		 locked->st_ino != named.st_ino ||
		 locked->st_dev != named.st_dev)
		error = -EWOULDBLOCK;
	if (error)
		close(*fd);
	return error;
}

/* Nobody writes into it: it has changed when it was made.  Inodes are used again. */
static bool is_same_file(const struct stat *one, const struct stat *other)
{
	return one->st_ino == other->st_ino &&
	       one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int wait_for(const struct lock *lock, const struct patience *patience,
		    struct stat *held, int *fd)
{
	long long now = now_ms(), since = now;
	long long end = now + patience->most_s * 1000LL;
	int error = -EWOULDBLOCK;
	struct stat found;

	while (error == -EWOULDBLOCK && now < end &&
	       now < since + patience->idle_s * 1000LL) {
		sleep_ms(PAUSE_MS);
		error = try_lock(lock, fd, &found);
		now = now_ms();
		if (error && error != -EWOULDBLOCK)
			break;
		if (!error || !is_same_file(held, &found)) {
			since = now;
			sd_notify(0, TURN);
		}
		*held = found;
	}
	return error;
}

static void close_directory(struct lock *lock)
{
	close(lock->directory);
	free(lock->name);
	lock->name = NULL;
}

static int say_failure(int error, const struct lock *lock, const char *path,
		       const char *who, const char *what)
{
	if (error == -EWOULDBLOCK)
		return fail(EXIT_IN_USE,
			    "%s is being changed: %s has locked %s/%s; try again when it is done",
			    what, who, path, lock->name);
	return fail(exit_code_of(-error), "cannot lock %s/%s: %s", path,
		    lock->name, strerror(-error));
}

/* Takes the name of the file. */
static int take(const char *path, char *name, const char *what, const char *who,
		const struct patience *patience, struct lock *lock)
{
	struct stat held;
	int error = open_directory(path, &lock->directory), code = EXIT_OK;

	if (error) {
		free(name);
		return fail(exit_code_of(-error),
			    "cannot lock %s: %s is not a directory that only root can write to (%s); if a user made it, remove it",
			    what, path, strerror(-error));
	}
	lock->name = name;
	error = try_lock(lock, &lock->fd, &held);
	if (error == -EWOULDBLOCK) {
		if (patience == &for_changes)
			note("note: waiting until %s is done", who);
		error = wait_for(lock, patience, &held, &lock->fd);
	}
	if (error) {
		code = say_failure(error, lock, path, who, what);
		close_directory(lock);
	}
	return code;
}

/**
 * unlock() - let others have what was locked
 * @lock: the lock; nothing is done if it is not locked
 */
void unlock(struct lock *lock)
{
	if (!lock->name)
		return;
	/* The lock is held still. */
	unlinkat(lock->directory, lock->name, 0);
	close(lock->fd);
	close_directory(lock);
}

static int lock_group(const char *name, struct lock *lock)
{
	char *group = mapper_group_name(name);
	char *file = xasprintf("V_%s", group);

	free(group);
	mkdir(LVM_LOCKS, 0700);
	return take(LVM_LOCKS, file, name, "LVM", &for_device, lock);
}

static int take_own(const char *dash, const char *name, const char *what,
		    const struct patience *patience, struct lock *lock)
{
	mkdir(records_directory(), 0755);
	return take(records_directory(), xasprintf(".lock%s%s", dash, name),
		    what, "another iobandctl", patience, lock);
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

	*lock = (struct lock){ .name = NULL };
	return code != EXIT_OK ? code :
	       take_own("", "", "what ioband does here", &for_changes, lock);
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

	*locks = (struct locks){ .own.name = NULL };
	code = take_own("-", name, name, &for_device, &locks->own);
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
