// SPDX-License-Identifier: GPL-2.0-only
/* Reports of failures: one sentence and one exit code. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/show.h"

/* If not NULL, receives failures and notes in place of stderr. */
static struct problem *instead;

static void say(const char *fmt, va_list args)
{
	char *text __free = NULL;
	char *shown __free = NULL;

	if (instead) {
		vsnprintf(instead->text, sizeof(instead->text), fmt, args);
		return;
	}
	text = xvasprintf(fmt, args);
	shown = show(text, stderr);
	fflush(stdout);
	fprintf(stderr, "iobandctl: %s\n", shown);
}

/* Record an error.  Return: -1, so that a parser can return it. */
int problem_set(struct problem *problem, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(problem->text, sizeof(problem->text), fmt, args);
	va_end(args);
	return -1;
}

/* Report an error and its remedy.  Return: @code, so that a verb can return it. */
int fail(enum exit_code code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return code;
}

/*
 * Record failures and notes, for a verb that uses the whole screen.
 * @problem: receives the last one; NULL restores output on stderr
 */
void fail_into(struct problem *problem)
{
	instead = problem;
}

/* Print a message that is not an error. */
void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

/*
 * Write to the system log, which may show on a terminal.
 * @priority: as for syslog(3)
 */
void note_in_log(int priority, const char *fmt, ...)
{
	char *text __free = NULL;
	char *shown __free = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	shown = show(text, stderr);
	syslog(priority, "%s", shown);
}

/*
 * Convert an errno to an exit code.
 * @error: positive errno
 */
enum exit_code exit_code_of(int error)
{
	switch (error) {
	case EBUSY:
	case EEXIST:
		return EXIT_IN_USE;
	case EACCES:
	case EPERM:
	case EROFS:
		return EXIT_DENIED;
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return EXIT_MISSING;
	default:
		return EXIT_FAILED;
	}
}
