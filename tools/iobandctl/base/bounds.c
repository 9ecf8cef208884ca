// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is set for a group besides its weight: a maximum and a minimum, which are
 * rates (see rates.c), and a target for the latency of its reads.  Pure.
 *
 *		target		none
 *	people	2ms		none, or default
 *	messages	2000	default
 *	lists	2000		is not there
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bounds.h"

/* Of a group for which nothing was set. */
const struct bounds bounds_none = { .latency_us = 0 };

static const struct {
	const char *name;
	unsigned int us;
} units[] = {
	{ "us", 1 }, { "ms", 1000 }, { "s", 1000000 },
};

/* The unit behind a number, which is taken off; 0 without one. */
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

/* Digits, of which each is worth a tenth of the one before; -1 if one is left over. */
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

static int wrong_latency(const char *text, const char *what,
			 struct problem *problem)
{
	char shown[48];

	return problem_set(problem, "'%s': %s", span_show(span_of(text), shown),
			   what);
}

/**
 * latency_read() - read a target for latency as people write it
 * @text: a number with us, ms or s behind it; "none" or "default"
 * @us: the result; 0 for none
 * @problem: what is wrong
 *
 * Return: 0, or -1 with @problem set.
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
		return wrong_latency(text, "a latency comes to whole microseconds",
				     problem);
	if (*us > LATENCY_MAX_US)
		return wrong_latency(text, MOST_SAYS, problem);
	if (!*us)
		return wrong_latency(text, LEAST_SAYS, problem);
	return 0;
}

/**
 * latency_text() - write a target for latency as people do
 * @us: the target
 *
 * Return: the exact number, with the largest unit that leaves a whole one, or the
 * word for none; to be freed.
 */
char *latency_text(uint64_t us)
{
	size_t unit = ARRAY_SIZE(units) - 1;

	if (!us)
		return xstrdup(bound_kinds[LATENCY].none);
	while (us % units[unit].us)
		unit--;
	return xasprintf("%llu%s", (unsigned long long)us / units[unit].us,
			 units[unit].name);
}

/**
 * bound_is_set() - see whether there is a bound of a kind
 * @bounds: of a group
 * @bound: the kind
 *
 * Return: whether there is.
 */
bool bound_is_set(const struct bounds *bounds, enum bound bound)
{
	return bound == LATENCY ? bounds->latency_us :
				  rates_are_set(&bounds->of[bound]);
}

/**
 * bound_is() - compare a bound of a kind
 * @bounds: of a group
 * @other: others
 * @bound: the kind
 *
 * Return: whether it is the same.
 */
bool bound_is(const struct bounds *bounds, const struct bounds *other,
	      enum bound bound)
{
	return bound == LATENCY ?
	       bounds->latency_us == other->latency_us :
	       rates_are(&bounds->of[bound], &other->of[bound]);
}

/**
 * bound_copy() - take over a bound of a kind
 * @to: bounds that get it
 * @from: bounds that have it
 * @bound: the kind
 */
void bound_copy(struct bounds *to, const struct bounds *from, enum bound bound)
{
	if (bound == LATENCY)
		to->latency_us = from->latency_us;
	else
		to->of[bound] = from->of[bound];
}

/**
 * bound_read() - read a bound as people write it
 * @text: see rates_read() and latency_read()
 * @bound: which it is
 * @bounds: gets it; the others stay
 * @given: which rates are given, a bit for each
 * @problem: what is wrong
 *
 * Return: 0, or -1 with @problem set.
 */
int bound_read(const char *text, enum bound bound, struct bounds *bounds,
	       unsigned int *given, struct problem *problem)
{
	*given = RATES_ALL;
	if (bound == LATENCY)
		return latency_read(text, &bounds->latency_us, problem);
	return rates_read(text, bound, &bounds->of[bound], given, problem);
}

/**
 * bound_text() - write a bound as people do
 * @bounds: has it
 * @bound: which it is
 *
 * Return: what bound_read() makes the same of; to be freed.
 */
char *bound_text(const struct bounds *bounds, enum bound bound)
{
	return bound == LATENCY ? latency_text(bounds->latency_us) :
				  rates_text(&bounds->of[bound]);
}

/**
 * bound_list() - write a bound as it is in a list
 * @bounds: has it
 * @bound: which it is; there is one
 *
 * Return: the text, to be freed.
 */
char *bound_list(const struct bounds *bounds, enum bound bound)
{
	return bound == LATENCY ?
	       xasprintf("%llu", (unsigned long long)bounds->latency_us) :
	       rates_list(&bounds->of[bound], bound);
}

/**
 * bound_words() - write a bound as messages have it
 * @bounds: has it
 * @bound: which it is
 * @given: which rates, a bit for each; the others stay as they are
 *
 * Return: the words, to be freed.
 */
char *bound_words(const struct bounds *bounds, enum bound bound,
		  unsigned int given)
{
	if (bound != LATENCY)
		return rates_words(&bounds->of[bound], bound, given);
	return bound_is_set(bounds, bound) ? bound_list(bounds, bound) :
					     xstrdup(bound_kinds[bound].nothing);
}

/**
 * bounds_are_set() - see whether there is any bound
 * @bounds: of a group
 *
 * Return: whether there is.
 */
bool bounds_are_set(const struct bounds *bounds)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		if (bound_is_set(bounds, bound))
			return true;
	}
	return false;
}

/**
 * bounds_check() - see whether a promise can be kept
 * @bounds: of a group
 * @problem: which minimum is more than the maximum
 *
 * Return: 0, or -1 with @problem set.
 */
int bounds_check(const struct bounds *bounds, struct problem *problem)
{
	for (int rate = 0; rate < RATES; rate++) {
		const struct rates *max = &bounds->of[MAXIMUM];
		const struct rates *min = &bounds->of[MINIMUM];
		char *most, *least;

		if (!max->rate[rate] || min->rate[rate] <= max->rate[rate])
			continue;
		most = rate_text(max, MAXIMUM, rate);
		least = rate_text(min, MINIMUM, rate);
		problem_set(problem,
			    "a minimum of %s=%s is more than the maximum of %s=%s",
			    rate_names[rate], least, rate_names[rate], most);
		free(most);
		free(least);
		return -1;
	}
	return 0;
}
