// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks against concurrent changes of a device while its table changes.  Files
 * of iobandctl exclude another iobandctl.  LVM's own lock file, which LVM holds
 * while it changes a volume group, excludes LVM.  LVM removes its file when it
 * is done, so a lock is valid only if the locked file still has the name.
 *
 * LVM's directory lies in /run/lock.  Any user can create a directory of that
 * name there while LVM has none.  A link in it would make root create, lock or
 * remove a file of the user's choice.  Therefore the directory must be writable
 * by root only, and files in it are opened without following links.
 *
 * "apply" (one for each disk at boot), "set" and "resize" exclude each other.  They restore earlier
 * settings after a failure, or remake a device with the size that they read.  Where many disks
 * appear at once these commands take turns.  A waiter therefore waits as long as other holders make
 * progress, up to a limit.  Progress is visible because each holder removes the file when it is
 * done, and the next one creates another.
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
#include "base/clock.h"
#include "base/error.h"
#include "base/records.h"
#include "base/roots.h"
#include "host/lock.h"
#include "host/lvm.h"
#include "kernel/dm.h"

#define LVM_LOCKS "/run/lock/lvm"

/* The time to wait for a lock, in seconds. */
struct patience {
	int idle_s;	/* while one holder keeps it */
	int most_s;	/* in total */
};

static const struct patience for_device = { 5, 5 };

/*
 * 20 s is less than the 30 s that systemd grants a disk after each notice of
 * progress.  40 s leaves time for the other steps of a disk in the 90 s for
 * which a mount waits: udev/ioband-wrap@.service.in.
 */
static const struct patience for_changes = { 20, 40 };

/*
 * The interval is long enough that many waiters do not slow the holder down.  It does not grow with
 * time, because later waiters would then overtake earlier ones.
 */
#define PAUSE_MS 50

#define TURN "EXTEND_TIMEOUT_USEC=30000000"

/* Return: negative errno; -EPERM if the directory is writable by other users than root. */
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
	else if (fstatat(lock->directory, lock->name, &named, AT_SYMLINK_NOFOLLOW) ||
		 locked->st_ino != named.st_ino ||
		 locked->st_dev != named.st_dev)
		error = -EWOULDBLOCK;
	if (error)
		close(*fd);
	return error;
}

/*
 * The file is never written, so its ctime is the time of its creation.  The
 * inode number alone is not enough, because numbers are reused.
 */
static bool is_same_file(const struct stat *one, const struct stat *other)
{
	return one->st_ino == other->st_ino &&
	       one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

static int wait_for(const struct lock *lock, const struct patience *patience,
		    struct stat *held, int *fd)
{
	uint64_t now = clock_ms(), since = now;
	uint64_t end = now + patience->most_s * 1000LL;
	int error = -EWOULDBLOCK;
	struct stat found;

	while (error == -EWOULDBLOCK && now < end && now < since + patience->idle_s * 1000LL) {
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
		error = try_lock(lock, fd, &found);
		now = clock_ms();
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

static void let_go(struct lock *lock)
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

/* Takes ownership of @name, the name of the file. */
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
		let_go(lock);
	}
	return code;
}

/*
 * Release a lock.
 * @lock: the lock; nothing is done if it is not locked
 */
void unlock(struct lock *lock)
{
	if (!lock->name)
		return;
	/* The lock is still held. */
	unlinkat(lock->directory, lock->name, 0);
	close(lock->fd);
	let_go(lock);
}

static int lock_group(const char *name, struct lock *lock)
{
	char *group __free = mapper_group_name(name);
	char *file = xasprintf("V_%s", group);

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

/*
 * Exclude every other "apply", "set" and "resize".
 * @lock: the result, for unlock() after success and after failure
 */
int lock_changes(struct lock *lock)
{
	int code = mapper_ready();

	*lock = (struct lock){ .name = NULL };
	return code != EXIT_OK ? code :
	       take_own("", "", "what ioband does here", &for_changes, lock);
}

/*
 * Exclude other changes of a device.
 * @locks: the result, for unlock_device() after success and after failure
 *
 * A device that does not exist is not an error.
 */
int lock_device(const char *name, struct locks *locks)
{
	struct mapped_device state;
	int code;

	*locks = (struct locks){ .own.name = NULL };
	code = take_own("-", name, name, &for_device, &locks->own);
	if (code == EXIT_OK && mapper_state(name, &state) && lvm_owns(state.uuid))
		code = lock_group(name, &locks->group);
	return code;
}

/* Release the locks of lock_device(). */
void unlock_device(struct locks *locks)
{
	unlock(&locks->group);
	unlock(&locks->own);
}
