// SPDX-License-Identifier: GPL-2.0-only
/* The option --interval, and waiting. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "interval.h"
#include "sample.h"

#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 86400.0

/**
 * interval_of() - read the option --interval
 * @args: the command line
 * @interval_s: the result in seconds; left as it is without the option
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int interval_of(const struct args *args, double *interval_s)
{
	const char *text = args->value[OPTION_INTERVAL];
	double asked;
	char *end;

	if (!text)
		return EXIT_OK;
	asked = strtod(text, &end);
	if (end == text || *end || !(asked >= INTERVAL_MIN_S) ||
	    asked > INTERVAL_MAX_S)
		return fail(EXIT_USAGE,
			    "--interval '%s': it is 0.1 to 86400 seconds", text);
	*interval_s = asked;
	return EXIT_OK;
}

/**
 * interval_sleep() - wait
 * @until_ns: until this time, of sample_clock()
 */
void interval_sleep(uint64_t until_ns)
{
	struct timespec then = { .tv_sec = until_ns / NS_PER_S,
				 .tv_nsec = until_ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) ==
	       EINTR)
		;
}
