// SPDX-License-Identifier: GPL-2.0-only
/* Actions that answer, that hang, and that have not had their turn yet. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "host/reach.h"

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int add_one(const void *argument, void *answer)
{
	*(int *)answer = *(const int *)argument + 1;
	return 0;
}

static int refuse(const void *argument, void *answer)
{
	(void)argument;
	(void)answer;
	return -EBUSY;
}

/* As a process that waits in the kernel. */
static int hang(const void *argument, void *answer)
{
	(void)argument;
	(void)answer;
	return pause();
}

/* Longer than a process may hang. */
static int work_long(const void *argument, void *answer)
{
	double end_s = now_s() + 1.5;

	(void)argument;
	while (now_s() < end_s)
		;
	*(int *)answer = 7;
	return 0;
}

static int is_open(const void *fd, void *answer)
{
	*(int *)answer = fcntl(*(const int *)fd, F_GETFD) >= 0;
	return 0;
}

void test_reach_run(void)
{
	int answer = 0, argument = 5;
	double begun_s, took_s = 9;

	CHECK(!reach_run(add_one, &argument, &answer, sizeof(answer)));
	CHECK(answer == 6);
	CHECK(reach_run(refuse, NULL, NULL, 0) == -EBUSY);
	/* The shortest of some times: on a busy machine this process may lack its turn. */
	for (int i = 0; i < 5 && took_s > 1.5; i++) {
		begun_s = now_s();
		CHECK(reach_run(hang, NULL, NULL, 0) == -ETIMEDOUT);
		took_s = now_s() - begun_s;
	}
	CHECK(took_s > 0.8 && took_s <= 1.5);
	CHECK(!reach_run(work_long, NULL, &answer, sizeof(answer)));
	CHECK(answer == 7);
}

/* Neither pipes nor locks: a child that is abandoned may live for long. */
void test_reach_closes(void)
{
	int fds[2], answer = 1;

	CHECK(!pipe(fds));
	CHECK(!reach_run(is_open, &fds[1], &answer, sizeof(answer)));
	CHECK(!answer);
	CHECK(dup2(fds[1], 40) == 40);
	answer = 1;
	CHECK(!reach_run(is_open, &(int){ 40 }, &answer, sizeof(answer)));
	CHECK(!answer);
	close(40);
	close(fds[0]);
	close(fds[1]);
}

void test_reach_stat(void)
{
	struct stat info;

	CHECK(!reach_stat("/dev/null", &info) && S_ISCHR(info.st_mode));
	CHECK(!reach_stat("/dev/../dev/null", &info) && S_ISCHR(info.st_mode));
	CHECK(!reach_stat("/", &info) && S_ISDIR(info.st_mode));
	errno = 0;
	CHECK(reach_stat("/nope/x", &info) == -1 && errno == ENOENT);
	CHECK(reach_answers("/") && reach_answers("nope") && reach_answers("/nope/x"));
}
