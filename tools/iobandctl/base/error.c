// SPDX-License-Identifier: GPL-2.0-only
/* How a failure reaches the user: one sentence, one exit code. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/show.h"

/* What fails meanwhile is recorded here, if anywhere. */
static struct problem *instead;

static void say(const char *fmt, va_list args)
{
	char *text, *shown;

	if (instead) {
		vsnprintf(instead->text, sizeof(instead->text), fmt, args);
		return;
	}
	text = xvasprintf(fmt, args);
	shown = show(text, stderr);
	fflush(stdout);
	fprintf(stderr, "iobandctl: %s\n", shown);
	free(shown);
	free(text);
}

/**
 * problem_set() - record what is wrong
 * @problem: where to
 * @fmt: printf-like
 *
 * Return: -1, so that a parser can return it.
 */
int problem_set(struct problem *problem, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(problem->text, sizeof(problem->text), fmt, args);
	va_end(args);
	return -1;
}

/**
 * fail() - tell the user what is wrong and what to do
 * @code: the exit code it leads to
 * @fmt: printf-like
 *
 * Return: @code, so that a verb can return it.
 */
int fail(enum exit_code code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return code;
}

/**
 * fail_into() - record failures and notes, for a verb that has the whole screen
 * @problem: where to, the last one; NULL to tell the user as before
 */
void fail_into(struct problem *problem)
{
	instead = problem;
}

/**
 * note() - tell the user something that is not a failure
 * @fmt: printf-like
 */
void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

/**
 * note_in_log() - tell the system's log, from which a terminal may show it
 * @priority: as for syslog(3)
 * @fmt: printf-like
 */
void note_in_log(int priority, const char *fmt, ...)
{
	char *text, *shown;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	shown = show(text, stderr);
	syslog(priority, "%s", shown);
	free(shown);
	free(text);
}

/**
 * exit_code_of() - the exit code for an errno
 * @error: positive errno
 *
 * Return: the exit code.
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
