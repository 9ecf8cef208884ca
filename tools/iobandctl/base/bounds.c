// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of a group: a maximum and a minimum, which are rates (see
 * rates.c), and targets for the latency of its reads and of its writes.  Pure.
 *
 *	form		target		no target
 *	command line	2ms		none, or default
 *	messages	2000		default
 *	lists		2000		the key is absent
 */
#include <string.h>

#include "base/alloc.h"
#include "base/bounds.h"

/* The bounds of a group without settings. */
const struct bounds bounds_none = { .latency_us = { 0 } };

static const struct {
	const char *name;
	unsigned int us;
} units[] = {
	{ "us", 1 }, { "ms", 1000 }, { "s", 1000000 },
};

/* Remove the unit after a number and return it in us; 0 without a unit. */
static unsigned int take_unit(struct span *number)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t length = strlen(units[i].name);
		size_t rest = number->length - length;

		if (number->length <= length ||
		    strncmp(number->start + rest, units[i].name, length) ||
		    !strchr("0123456789.", number->start[rest - 1]))
			continue;
		number->length = rest;
		return units[i].us;
	}
	return 0;
}

/* Read the digits after the point; -1 if one is less than a microsecond. */
static int read_fraction(struct span digits, unsigned int unit, uint64_t *us)
{
	for (; digits.length; digits.start++, digits.length--) {
		unsigned int digit = *digits.start - '0';

		if (digit && unit % 10)
			return -1;
		unit /= 10;
		*us += digit * unit;
	}
	return 0;
}

static bool is_digits(struct span text)
{
	return text.length && strspn(text.start, "0123456789") >= text.length;
}

#define LATENCY_SAYS "a latency is a number with us, ms or s behind it, such as 5ms, or none"
#define MOST_SAYS "that is too long: 10s is the most, and none is for no target"
#define LEAST_SAYS "that is no time: 1us is the least, and none is for no target"

static int wrong_latency(const char *text, const char *what, struct problem *problem)
{
	char shown[48];

	return problem_set(problem, "'%s': %s", span_show(span_of(text), shown), what);
}

/*
 * Read a latency target in the notation of the command line.
 * @text: a number followed by us, ms or s; "none" or "default"
 * @us: the result; 0 for none
 */
int latency_read(const char *text, uint64_t *us, struct problem *problem)
{
	struct span rest = span_of(text), whole;
	unsigned int unit;
	bool has_point;

	*us = 0;
	if (!strcmp(text, bound_kinds[LATENCY].none) || !strcmp(text, "default"))
		return 0;
	unit = take_unit(&rest);
	has_point = rest.length && memchr(rest.start, '.', rest.length);
	span_item(&rest, '.', &whole);
	if (!unit || !is_digits(whole) || (has_point && !is_digits(rest)))
		return wrong_latency(text, LATENCY_SAYS, problem);
	if (!span_u64(whole, LATENCY_MAX_US / unit, us))
		return wrong_latency(text, MOST_SAYS, problem);
	*us *= unit;
	if (has_point && read_fraction(rest, unit, us))
		return wrong_latency(text, "a latency comes to whole microseconds", problem);
	if (*us > LATENCY_MAX_US)
		return wrong_latency(text, MOST_SAYS, problem);
	if (!*us)
		return wrong_latency(text, LEAST_SAYS, problem);
	return 0;
}

/*
 * Write a latency target in the notation of the command line.
 * @us: the target in microseconds
 * Return: the exact number in the largest unit that needs no fraction, or the word for
 *	none; to be freed.
 */
char *latency_text(uint64_t us)
{
	size_t unit = ARRAY_SIZE(units) - 1;

	if (!us)
		return xstrdup(bound_kinds[LATENCY].none);
	while (us % units[unit].us)
		unit--;
	return xasprintf("%llu%s", (unsigned long long)us / units[unit].us, units[unit].name);
}

/* Check whether a group has a bound of a kind. */
bool bound_is_set(const struct bounds *bounds, enum bound bound)
{
	return bound >= LATENCY ? bounds->latency_us[bound - LATENCY] :
				  rates_are_set(&bounds->of[bound]);
}

/* Compare a bound of a kind. */
bool bound_is(const struct bounds *bounds, const struct bounds *other, enum bound bound)
{
	return bound >= LATENCY ?
	       bounds->latency_us[bound - LATENCY] ==
	       other->latency_us[bound - LATENCY] :
	       rates_are(&bounds->of[bound], &other->of[bound]);
}

void bound_copy(struct bounds *to, const struct bounds *from, enum bound bound)
{
	if (bound >= LATENCY)
		to->latency_us[bound - LATENCY] = from->latency_us[bound - LATENCY];
	else
		to->of[bound] = from->of[bound];
}

/*
 * Read a bound in the notation of the command line.
 * @text: see rates_read() and latency_read()
 * @bounds: receives it; the other kinds remain unchanged
 * @given: the rates in @text, a bit for each
 */
int bound_read(const char *text, enum bound bound, struct bounds *bounds,
	       unsigned int *given, struct problem *problem)
{
	*given = RATES_ALL;
	if (bound >= LATENCY)
		return latency_read(text, &bounds->latency_us[bound - LATENCY], problem);
	return rates_read(text, bound, &bounds->of[bound], given, problem);
}

/*
 * Write a bound in the notation of the command line.  Return: text from which bound_read()
 * reads the same bound; to be freed.
 */
char *bound_text(const struct bounds *bounds, enum bound bound)
{
	return bound >= LATENCY ? latency_text(bounds->latency_us[bound - LATENCY]) :
				  rates_text(&bounds->of[bound]);
}

/*
 * Write a bound in the notation of lists.
 * @bound: its kind; the bound must be set
 * Return: the text, to be freed.
 */
char *bound_list(const struct bounds *bounds, enum bound bound)
{
	return bound >= LATENCY ?
	       xasprintf("%llu", (unsigned long long)bounds->latency_us[bound - LATENCY]) :
	       rates_list(&bounds->of[bound], bound);
}

/*
 * Write a bound in the notation of messages.
 * @given: the rates to write, a bit for each; the others remain unchanged
 * Return: the words, to be freed.
 */
char *bound_words(const struct bounds *bounds, enum bound bound, unsigned int given)
{
	if (bound < LATENCY)
		return rates_words(&bounds->of[bound], bound, given);
	return bound_is_set(bounds, bound) ? bound_list(bounds, bound) :
					     xstrdup(bound_kinds[bound].nothing);
}

/* Check whether a group has any bound. */
bool bounds_are_set(const struct bounds *bounds)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		if (bound_is_set(bounds, bound))
			return true;
	}
	return false;
}

/* Find a minimum that exceeds its maximum.  Return: the first such rate, or RATES. */
enum rate bounds_conflict(const struct bounds *bounds)
{
	const struct rates *max = &bounds->of[MAXIMUM];
	const struct rates *min = &bounds->of[MINIMUM];
	int rate = 0;

	while (rate < RATES && (!max->rate[rate] || min->rate[rate] <= max->rate[rate]))
		rate++;
	return rate;
}

/*
 * Check that no minimum exceeds its maximum.
 * @problem: the minimum that exceeds its maximum
 */
int bounds_check(const struct bounds *bounds, struct problem *problem)
{
	char *most __free = NULL;
	char *least __free = NULL;
	enum rate rate = bounds_conflict(bounds);

	if (rate == RATES)
		return 0;
	most = rate_text(&bounds->of[MAXIMUM], MAXIMUM, rate);
	least = rate_text(&bounds->of[MINIMUM], MINIMUM, rate);
	problem_set(problem, "a minimum of %s=%s is more than the maximum of %s=%s",
		    rate_names[rate], least, rate_names[rate], most);
	return -1;
}
