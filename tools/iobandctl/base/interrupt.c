// SPDX-License-Identifier: GPL-2.0-only
/* Signals that end the program stay blocked until no operation is half done. */
#include <string.h>

#include "base/defs.h"
#include "base/error.h"
#include "base/interrupt.h"

/*
 * Block all signals.
 * @before: receives the signal mask, for interrupt_release()
 */
void interrupt_hold(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, before);
}

/* Check whether a signal that ends the program is pending. */
int interrupt_check(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	if (sigpending(&pending))
		return EXIT_OK;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (sigismember(&pending, ends[i]) == 1)
			return fail(EXIT_FAILED, "interrupted: %s", strsignal(ends[i]));
	}
	return EXIT_OK;
}

/*
 * Restore the signal mask; pending signals act first.
 * @before: from interrupt_hold()
 */
void interrupt_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
