// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices and files that may not answer.
 *
 * A multipath device without a path queues I/O until a path is back, a suspended device
 * until it is resumed, and a file on a network waits for its server.  A process that
 * reads or opens one of these hangs as long, often unkillable.  So
 *
 * 1. sysfs and device-mapper are asked first (blockage.c).  They know most states, and
 *    answer without I/O.
 * 2. An action that may hang all the same runs in a child.  If the child has waited in
 *    the kernel for 0.9 s, it is killed and abandoned: it is not waited for, as it may
 *    end much later.  A child that was runnable meanwhile has only not had its turn of
 *    the processor, and gets more time.
 *
 * The child of (2) is a grandchild, so that init reaps it.  It keeps no file of this
 * process open: neither a pipe to which a caller listens, nor a lock.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/infile.h"
#include "base/words.h"
#include "host/reach.h"

#define PATIENCE_MS 900
#define PATIENCE_OF_STARVED_MS 20000
#define LOOK_MS 50

/* What the child writes when its action has ended. */
struct reply {
	int error;	/* as the action returned it */
	uint64_t answer[REACH_ANSWER_SIZE / sizeof(uint64_t)];
};

static void work(int fd, reach_action act, const void *argument)
{
	struct reply reply = { .error = 0 };
	pid_t self = getpid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Above the files that are replaced. */
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	for (int standard = 0; standard < 3; standard++)
		dup2(null, standard);
	close_range(3, fd - 1, 0);
	close_range(fd + 1, ~0U, 0);
	if (write(fd, &self, sizeof(self)) == sizeof(self)) {
		reply.error = act(argument, reply.answer);
		if (write(fd, &reply, sizeof(reply)) < 0)
			_exit(1);
	}
	_exit(0);
}

/* 'R' in /proc/PID/stat; the name before the state may have brackets of its own. */
static bool is_runnable(pid_t child)
{
	char path[64], text[256] = "", *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	infile_line(path, text, sizeof(text));
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'R';
}

/* @child: 0 if it has not begun yet. */
static bool await(int fd, pid_t child, uint64_t begun_ms)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };
	uint64_t runnable_ms = clock_ms();

	while (poll(&input, 1, LOOK_MS) <= 0) {
		const uint64_t ms = clock_ms();

		if (!child || is_runnable(child))
			runnable_ms = ms;
		if (ms > begun_ms + PATIENCE_OF_STARVED_MS || ms > runnable_ms + PATIENCE_MS)
			return false;
	}
	return true;
}

static int receive(int fd, void *answer, size_t size)
{
	const uint64_t begun_ms = clock_ms();
	struct reply reply;
	pid_t child = 0;

	if (!await(fd, 0, begun_ms))
		return -ETIMEDOUT;
	if (read(fd, &child, sizeof(child)) != sizeof(child))
		return -EAGAIN;
	if (!await(fd, child, begun_ms)) {
		kill(child, SIGKILL);
		return -ETIMEDOUT;
	}
	if (read(fd, &reply, sizeof(reply)) != sizeof(reply))
		return -EIO;
	if (size)
		memcpy(answer, reply.answer, size);
	return reply.error;
}

/*
 * Run an action that may hang, and wait for it for a second.
 * @act: the action, in a process of its own; it returns 0 or a negative errno
 * @argument: for the action
 * @size: of @answer, at most REACH_ANSWER_SIZE
 * Return: as @act; -ETIMEDOUT if it hangs, and then it may still take effect.
 */
int reach_run(reach_action act, const void *argument, void *answer, size_t size)
{
	int fds[2], error;
	pid_t middle;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	middle = fork();
	if (!middle) {
		if (fork())
			_exit(0);
		work(fds[1], act, argument);
	}
	error = middle < 0 ? -errno : 0;
	close(fds[1]);
	if (!error) {
		waitpid(middle, NULL, 0);
		error = receive(fds[0], answer, size);
	}
	close(fds[0]);
	return error;
}

static int do_stat(const void *path, void *answer)
{
	return stat(path, answer) ? -errno : 0;
}

/*
 * stat() for a path that may lie anywhere.  Return: as stat(); the error is ETIMEDOUT if
 * the file system does not answer.
 */
int reach_stat(const char *path, struct stat *info)
{
	static_assert(sizeof(*info) <= REACH_ANSWER_SIZE, "it is one answer");

	/* The kernel's own nodes, and links between them. */
	if (text_after(path, "/dev/") && !strstr(path, "/../"))
		return stat(path, info);
	errno = -reach_run(do_stat, path, info, sizeof(*info));
	return errno ? -1 : 0;
}

static int do_statfs(const void *path, void *answer)
{
	return statfs(path, answer) ? -errno : 0;
}

/* statfs() for a path that may lie anywhere.  Return: 0 or a negative errno, as reach_run(). */
int reach_statfs(const char *path, struct statfs *info)
{
	static_assert(sizeof(*info) <= REACH_ANSWER_SIZE, "it is one answer");

	if (text_after(path, "/sys/") && !strstr(path, "/../"))
		return do_statfs(path, info);
	return reach_run(do_statfs, path, info, sizeof(*info));
}

/*
 * Check whether the file system of a file answers.
 * @path: the file, which need not exist
 *
 * The attributes of a file can come from a cache of the kernel.  statfs() asks the server.
 */
bool reach_answers(const char *path)
{
	struct statfs info;
	int error = reach_statfs(path, &info);
	char *copy;

	if (error == -ENOENT) {
		copy = xstrdup(path);
		error = reach_statfs(dirname(copy), &info);
		free(copy);
	}
	return error != -ETIMEDOUT;
}
