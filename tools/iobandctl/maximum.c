// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maxima of groups: as people write them, in messages, and in lists.  Pure.
 *
 *	people		rbps=100M wiops=500, or default
 *	messages	rbps=104857600 wbps=max riops=max wiops=500, or default
 *	lists		104857600,max,max,500
 *
 * K, M, G and T are powers of 1024 for bytes, as wherever iobandctl prints bytes,
 * and of 1000 for I/Os, which nobody counts otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "maximum.h"

const char *const rate_names[RATES] = {
	[RBPS] = "rbps",
	[WBPS] = "wbps",
	[RIOPS] = "riops",
	[WIOPS] = "wiops",
};

static const char suffixes[] = "KMGT";

/**
 * rate_is_bytes() - see what a rate counts
 * @rate: the rate
 *
 * Return: true for bytes, false for I/Os.
 */
bool rate_is_bytes(enum rate rate)
{
	return rate == RBPS || rate == WBPS;
}

/**
 * maximum_is_set() - see whether a maximum bounds anything
 * @maximum: the maximum
 *
 * Return: whether it does.
 */
bool maximum_is_set(const struct maximum *maximum)
{
	for (int rate = 0; rate < RATES; rate++) {
		if (maximum->rate[rate])
			return true;
	}
	return false;
}

/**
 * maximum_is() - compare two maxima
 * @maximum: one
 * @other: the other
 *
 * Return: whether they are the same.
 */
bool maximum_is(const struct maximum *maximum, const struct maximum *other)
{
	return !memcmp(maximum->rate, other->rate, sizeof(maximum->rate));
}

/* The power that the last character stands for, which is taken off; 1 for a digit. */
static uint64_t take_suffix(struct span *number, uint64_t base)
{
	char last = number->length ? number->start[number->length - 1] : 0;
	const char *suffix = last ? strchr(suffixes, last) : NULL;
	uint64_t unit = 1;

	if (!suffix)
		return 1;
	number->length--;
	for (ptrdiff_t i = suffix - suffixes; i >= 0; i--)
		unit *= base;
	return unit;
}

static int read_rate(struct span value, enum rate rate, uint64_t *number,
		     struct problem *problem)
{
	struct span digits = value;
	uint64_t unit = take_suffix(&digits, rate_is_bytes(rate) ? 1024 : 1000);
	char shown[48];

	*number = 0;
	if (span_is(value, "max"))
		return 0;
	if (!digits.length ||
	    strspn(digits.start, "0123456789") < digits.length)
		return problem_set(problem,
				   "%s=%s: it is max, or a whole number that may end in K, M, G or T",
				   rate_names[rate], span_show(value, shown));
	if (!span_u64(digits, RATE_MAX, number) || *number > RATE_MAX / unit)
		return problem_set(problem,
				   "%s=%s is too large: at most %llu a second can be set; max is for no bound",
				   rate_names[rate], span_show(value, shown),
				   RATE_MAX);
	if (!*number)
		return problem_set(problem,
				   "%s=%s would stop the group for good; 1 is the least, and max is for no bound",
				   rate_names[rate], span_show(value, shown));
	*number *= unit;
	return 0;
}

static int find_rate(struct span word, struct span *value,
		     struct problem *problem)
{
	struct span key;
	char shown[48];

	for (int rate = 0; span_key(word, &key, value) && rate < RATES; rate++) {
		if (span_is(key, rate_names[rate]))
			return rate;
	}
	return problem_set(problem,
			   "'%s': a maximum is one or more of rbps=, wbps=, riops= and wiops=, or default alone",
			   span_show(word, shown));
}

/**
 * maximum_read() - read a maximum as people write it
 * @text: one or more of rbps=, wbps=, riops= and wiops= with blanks between
 *	them, each followed by a number or "max"; or "default"
 * @maximum: the result; 0 for each that is not given
 * @given: which are given, a bit for each; all with "default"
 * @problem: what is wrong
 *
 * Return: 0, or -1 with @problem set.
 */
int maximum_read(const char *text, struct maximum *maximum,
		 unsigned int *given, struct problem *problem)
{
	struct span rest = span_of(text), word, value;
	int rate;

	*maximum = (struct maximum){ .rate = { 0 } };
	*given = RATES_ALL;
	if (!strcmp(text, "default"))
		return 0;
	for (*given = 0; span_word(&rest, &word); *given |= 1U << rate) {
		rate = find_rate(word, &value, problem);
		if (rate < 0)
			return -1;
		if (*given & 1U << rate)
			return problem_set(problem, "%s= is given twice",
					   rate_names[rate]);
		if (read_rate(value, rate, &maximum->rate[rate], problem))
			return -1;
	}
	if (*given)
		return 0;
	return problem_set(problem,
			   "no maximum is given: it is one or more of rbps=, wbps=, riops= and wiops=, or default");
}

/**
 * maximum_read_list() - read a maximum as it is in a list
 * @list: four numbers, or "max", with commas between them
 * @maximum: the result
 *
 * Return: false if it is malformed, or bounds nothing.
 */
bool maximum_read_list(struct span list, struct maximum *maximum)
{
	struct span item;

	*maximum = (struct maximum){ .rate = { 0 } };
	for (int rate = 0; rate < RATES; rate++) {
		uint64_t *number = &maximum->rate[rate];

		if (rate + 1 < RATES)
			span_item(&list, ',', &item);
		else
			item = list;
		if (!span_is(item, "max") &&
		    (!span_u64(item, RATE_MAX, number) || !*number))
			return false;
	}
	return maximum_is_set(maximum);
}

/**
 * maximum_rate() - write one of the bounds of a maximum
 * @maximum: the maximum
 * @rate: which
 *
 * Return: the exact number, for bytes with the largest suffix that leaves a whole
 * one, or "max"; to be freed.
 */
char *maximum_rate(const struct maximum *maximum, enum rate rate)
{
	unsigned long long number = maximum->rate[rate];
	int power = 0;

	if (!number)
		return xstrdup("max");
	while (rate_is_bytes(rate) && suffixes[power] && number % 1024 == 0) {
		number /= 1024;
		power++;
	}
	if (!power)
		return xasprintf("%llu", number);
	return xasprintf("%llu%c", number, suffixes[power - 1]);
}

/* "key=text" of each for which text is not NULL, or "default" if that is none. */
static char *join(char *const texts[RATES])
{
	char *joined = xstrdup(""), *longer;

	for (int rate = 0; rate < RATES; rate++) {
		if (!texts[rate])
			continue;
		longer = xasprintf("%s%s%s=%s", joined, *joined ? " " : "",
				   rate_names[rate], texts[rate]);
		free(joined);
		joined = longer;
	}
	if (*joined)
		return joined;
	free(joined);
	return xstrdup("default");
}

static char *join_and_free(char *texts[RATES])
{
	char *joined = join(texts);

	for (int rate = 0; rate < RATES; rate++)
		free(texts[rate]);
	return joined;
}

/**
 * maximum_text() - write a maximum as people do
 * @maximum: the maximum
 *
 * Return: what maximum_read() makes the same of; to be freed.
 */
char *maximum_text(const struct maximum *maximum)
{
	char *texts[RATES] = { NULL };

	for (int rate = 0; rate < RATES; rate++) {
		if (maximum->rate[rate])
			texts[rate] = maximum_rate(maximum, rate);
	}
	return join_and_free(texts);
}

static char *plain(uint64_t number)
{
	return number ? xasprintf("%llu", (unsigned long long)number) :
			xstrdup("max");
}

/**
 * maximum_list() - write a maximum as it is in a list
 * @maximum: the maximum
 *
 * Return: what maximum_read_list() makes the same of; to be freed.
 */
char *maximum_list(const struct maximum *maximum)
{
	char *list = NULL, *longer, *number;

	for (int rate = 0; rate < RATES; rate++) {
		number = plain(maximum->rate[rate]);
		longer = xasprintf("%s%s%s", list ? list : "", list ? "," : "",
				   number);
		free(number);
		free(list);
		list = longer;
	}
	return list;
}

/**
 * maximum_words() - write a maximum as messages have it
 * @maximum: the maximum
 * @given: which of its bounds, a bit for each; the others stay as they are
 *
 * Return: the words, to be freed.
 */
char *maximum_words(const struct maximum *maximum, unsigned int given)
{
	char *texts[RATES] = { NULL };
	bool all_none = given == RATES_ALL && !maximum_is_set(maximum);

	for (int rate = 0; rate < RATES && !all_none; rate++) {
		if (given & 1U << rate)
			texts[rate] = plain(maximum->rate[rate]);
	}
	return join_and_free(texts);
}
