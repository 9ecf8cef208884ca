// SPDX-License-Identifier: GPL-2.0-only
/* Signals that end the program wait for a point at which nothing is half done. */
#include <string.h>

#include "base/defs.h"
#include "base/error.h"
#include "base/interrupt.h"

/**
 * interrupt_hold() - have signals wait
 * @before: for interrupt_release()
 */
void interrupt_hold(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, before);
}

/**
 * interrupt_check() - see whether a signal waits that is to end the program
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int interrupt_check(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	if (sigpending(&pending))
		return EXIT_OK;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (sigismember(&pending, ends[i]) == 1)
			return fail(EXIT_FAILED, "interrupted: %s",
				    strsignal(ends[i]));
	}
	return EXIT_OK;
}

/**
 * interrupt_release() - let signals do what they do, those that wait first
 * @before: as from interrupt_hold()
 */
void interrupt_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
