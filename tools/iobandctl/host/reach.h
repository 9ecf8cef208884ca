/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_REACH_H
#define IOBANDCTL_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* What an action may answer with, at most: it is written to a pipe at once. */
#define REACH_ANSWER_SIZE 512

typedef int (*reach_action)(const void *argument, void *answer);

int reach_run(reach_action act, const void *argument, void *answer, size_t size);
int reach_stat(const char *path, struct stat *info);
int reach_statfs(const char *path, struct statfs *info);
bool reach_answers(const char *path);

#endif
