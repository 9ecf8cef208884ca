// SPDX-License-Identifier: GPL-2.0-only
/* The options --interval and --duration, and sleeping. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "observe/interval.h"
#include "observe/sample.h"

#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 86400.0
#define DURATION_MAX_S 31536000.0	/* a year */

static int seconds_of(const char *option, const char *text, double max_s, double *seconds)
{
	double asked;
	char *end;

	if (!text)
		return EXIT_OK;
	asked = strtod(text, &end);
	if (end == text || *end || !(asked >= INTERVAL_MIN_S) || asked > max_s)
		return fail(EXIT_USAGE, "--%s '%s': it is 0.1 to %.0f seconds",
			    option, text, max_s);
	*seconds = asked;
	return EXIT_OK;
}

/*
 * Read the option --interval.
 * @interval_s: the result in seconds; left as it is without the option
 */
int interval_of(const struct args *args, double *interval_s)
{
	return seconds_of("interval", args->value[OPTION_INTERVAL], INTERVAL_MAX_S, interval_s);
}

/*
 * Read the option --duration.
 * @duration_s: the result in seconds; left as it is without the option
 */
int interval_duration_of(const struct args *args, double *duration_s)
{
	return seconds_of("duration", args->value[OPTION_DURATION], DURATION_MAX_S, duration_s);
}

/*
 * Time of the next sample.
 * @last_ns: scheduled time of the last sample, of sample_clock()
 * @interval_s: distance of samples
 * Return: an interval after @last_ns; if that time is over, an interval after now.
 */
uint64_t interval_next(uint64_t last_ns, double interval_s)
{
	const uint64_t interval_ns = interval_s * NS_PER_S;
	const uint64_t now_ns = sample_clock();

	if (last_ns + interval_ns > now_ns)
		return last_ns + interval_ns;
	return now_ns + interval_ns;
}

/* Sleep until @until_ns, of sample_clock(). */
void interval_sleep(uint64_t until_ns)
{
	struct timespec then = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

/*
 * Block signals that end the program, for interval_wait().
 * @signals: the result: SIGINT, SIGTERM and SIGHUP, without ignored ones (nohup)
 */
void interval_end_signals(sigset_t *signals)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	sigemptyset(signals);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!sigaction(ends[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(signals, ends[i]);
	}
	sigprocmask(SIG_BLOCK, signals, NULL);
}

/*
 * Sleep, or return at a signal.
 * @until_ns: end of the sleep, of sample_clock()
 * @signals: of interval_end_signals()
 * Return: true if a signal asks the program to end.
 */
bool interval_wait(uint64_t until_ns, const sigset_t *signals)
{
	for (;;) {
		uint64_t now_ns = sample_clock();
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		struct timespec left = { .tv_sec = left_ns / NS_PER_S,
					 .tv_nsec = left_ns % NS_PER_S };

		if (sigtimedwait(signals, NULL, &left) > 0)
			return true;
		if (errno == EAGAIN)
			return false;
	}
}
