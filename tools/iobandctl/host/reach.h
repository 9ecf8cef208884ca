/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_REACH_H
#define IOBANDCTL_REACH_H

#include <stddef.h>
#include <sys/stat.h>

/* What an action may answer with, at most: it is written to a pipe at once. */
#define REACH_ANSWER_SIZE 512

typedef int (*reach_action)(const void *argument, void *answer);

int reach_run(reach_action act, const void *argument, void *answer, size_t size);
int reach_stat(const char *path, struct stat *info);

#endif
