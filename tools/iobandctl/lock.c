// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps others from changing a device while its table is changed: another
 * iobandctl by a file of our own, LVM by the file that it locks itself while it
 * works on a volume group.  LVM removes the file when it is done, so the file
 * that was locked must be the one that has the name.
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

#include "alloc.h"
#include "dm.h"
#include "error.h"
#include "lock.h"
#include "lvm.h"
#include "records.h"

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

static int try_lock(const char *path, int *fd, struct stat *locked)
{
	struct stat named;
	int error = 0;

	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		return -errno;
	if (fstat(*fd, locked))
		error = -errno;
	else if (flock(*fd, LOCK_EX | LOCK_NB))
		error = -errno;
	else if (stat(path, &named) || locked->st_ino != named.st_ino ||
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

static int wait_for(const char *path, const struct patience *patience,
		    struct stat *held, int *fd)
{
	long long now = now_ms(), since = now;
	long long end = now + patience->most_s * 1000LL;
	int error = -EWOULDBLOCK;
	struct stat found;

	while (error == -EWOULDBLOCK && now < end &&
	       now < since + patience->idle_s * 1000LL) {
		sleep_ms(PAUSE_MS);
		error = try_lock(path, fd, &found);
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

static int take(char *path, const char *name, const char *who,
		const struct patience *patience, struct lock *lock)
{
	struct stat held;
	int error = try_lock(path, &lock->fd, &held);

	if (error == -EWOULDBLOCK) {
		if (patience == &for_changes)
			note("note: waiting until %s is done", who);
		error = wait_for(path, patience, &held, &lock->fd);
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
	return take(path, name, "LVM", &for_device, lock);
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
		    "another iobandctl", &for_changes, lock);
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
	code = take(own_path("-", name), name, "another iobandctl", &for_device,
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
