/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_ERROR_H
#define IOBANDCTL_ERROR_H

#include <stddef.h>

#include "base/defs.h"

/*
 * Exit codes; the manual page documents them, scripts rely on them.
 *
 * Most functions return int: an exit code, and the error has been reported by fail() if it is
 * not EXIT_OK.  Steps of which the first failure is the last step are chained by "?:".  Pure
 * functions, which have an argument @problem, return 0, or -1 with @problem set.  Functions of
 * kernel/ return 0 or a negative errno.
 */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* none of the following */
	EXIT_USAGE = 2,		/* the command line or a file is wrong */
	EXIT_MISSING = 3,	/* no such device, pool, group or file */
	EXIT_IN_USE = 4,	/* a device or a name is taken */
	EXIT_DENIED = 5,	/* not permitted to this user */
	EXIT_NO_KERNEL = 6,	/* no device-mapper, or no ioband target */
	EXIT_FORMAT = 7,	/* the kernel's text is of another version */
	EXIT_CHANGES = 8,	/* not a failure: --exit-code, and there are changes */
};

/* What a pure function found wrong. */
struct problem {
	char text[512];	/* a sentence without a full stop */
};

__printf(2, 3) int problem_set(struct problem *problem, const char *fmt, ...);
__printf(2, 3) int fail(enum exit_code code, const char *fmt, ...);
void fail_into(struct problem *problem);
__printf(1, 2) void note(const char *fmt, ...);
__printf(2, 3) void note_in_log(int priority, const char *fmt, ...);
enum exit_code exit_code_of(int error);

/* The exit code of two steps that are both made. */
static inline int first_failure(int first, int second)
{
	return first == EXIT_OK ? second : first;
}

#endif
