// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates that bound groups, in the notations of the command line, of messages and of lists.  Pure.
 *
 *			maxima				minima
 *	people		rbps=100MiB wbps=max		rbps=100MiB wbps=none
 *	messages	rbps=104857600 wbps=max		rbps=104857600 wbps=0
 *	lists		104857600,max,max,500		104857600,0,0,500
 *
 * The command line and messages also have the word default, alone: no bound at all.
 *
 * K, M, G and T are powers of 1000, as in systemd's IOReadBandwidthMax=.  Bytes also
 * have KB, MB, GB and TB, which are the same, and KiB, MiB, GiB and TiB: powers of 1024.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rates.h"

const struct bound_kind bound_kinds[BOUNDS] = {
	[MAXIMUM] = { "max", "max", "max", "max", "maximum", "maxima" },
	[MINIMUM] = { "min", "min", "0", "none", "minimum", "minima" },
	[LATENCY] = { "latency", "latency-target", "default", "none", "latency",
		"latency targets" },
	[WRITE_LATENCY] = { "write_latency", "write-latency-target", "default",
		"none", "write_latency", "latency targets of writes" },
};

const char *const rate_names[RATES] = {
	[RBPS] = "rbps",
	[WBPS] = "wbps",
	[RIOPS] = "riops",
	[WIOPS] = "wiops",
};

static const char suffixes[] = "KMGT";

/* Distinguish rates of bytes from rates of I/Os.  Return: true for bytes, false for I/Os. */
bool rate_is_bytes(enum rate rate)
{
	return rate == RBPS || rate == WBPS;
}

/* Check whether any rate is bounded. */
bool rates_are_set(const struct rates *rates)
{
	for (int rate = 0; rate < RATES; rate++) {
		if (rates->rate[rate])
			return true;
	}
	return false;
}

bool rates_are(const struct rates *rates, const struct rates *other)
{
	return !memcmp(rates->rate, other->rate, sizeof(rates->rate));
}

/* Cut a number before its unit; 0 if that is none. */
static uint64_t take_unit(struct span *number, enum rate rate)
{
	struct span unit = *number;
	const char *suffix;
	uint64_t base = 1000, value = 1;

	for (; unit.length && isdigit((unsigned char)*unit.start); unit.length--)
		unit.start++;
	number->length -= unit.length;
	if (!unit.length)
		return 1;
	suffix = memchr(suffixes, *unit.start, strlen(suffixes));
	unit.start++;
	unit.length--;
	if (rate_is_bytes(rate) && span_is(unit, "iB"))
		base = 1024;
	else if (unit.length && !(rate_is_bytes(rate) && span_is(unit, "B")))
		return 0;
	if (!suffix)
		return 0;
	for (ptrdiff_t i = suffix - suffixes; i >= 0; i--)
		value *= base;
	return value;
}

/* A minimum of 0 means none; a maximum of 0 would stop all I/O. */
static int read_rate(struct span value, enum rate rate, enum bound bound,
		     uint64_t *number, struct problem *problem)
{
	const char *none = bound_kinds[bound].none, *name = rate_names[rate];
	struct span digits = value;
	uint64_t unit = take_unit(&digits, rate);
	bool is_bytes = rate_is_bytes(rate);
	char shown[48];

	*number = 0;
	if (span_is(value, none))
		return 0;
	if (!digits.length || !unit)
		return problem_set(problem,
				   "%s=%s: it is %s, or a whole number that may end in K, M, G or T (powers of 1000)%s, such as %s; several are separated by blanks",
				   name, span_show(value, shown), none,
				   is_bytes ? ", or in KiB, MiB, GiB or TiB (powers of 1024)" : "",
				   is_bytes ? "50MiB" : "2K");
	if (!span_u64(digits, RATE_MAX, number) || *number > RATE_MAX / unit)
		return problem_set(problem,
				   "%s=%s is too large: at most %s%llu%s a second can be set; %s is for no bound",
				   name, span_show(value, shown),
				   is_bytes ? "1TiB (" : "", RATE_MAX, is_bytes ? ")" : "", none);
	if (!*number && bound == MAXIMUM)
		return problem_set(problem,
				   "%s=%s would stop the group for good; 1 is the least, and %s is for no bound",
				   name, span_show(value, shown), none);
	*number *= unit;
	return 0;
}

static int find_rate(struct span word, enum bound bound, struct span *value,
		     struct problem *problem)
{
	struct span key;
	char shown[48];

	for (int rate = 0; span_key(word, &key, value) && rate < RATES; rate++) {
		if (span_is(key, rate_names[rate]))
			return rate;
	}
	return problem_set(problem,
			   "'%s': a %s is one or more of rbps=, wbps=, riops= and wiops=, separated by blanks, such as rbps=50MiB wiops=1K, or default alone",
			   span_show(word, shown), bound_kinds[bound].noun);
}

/*
 * Read rates in the notation of the command line.
 * @text: one or more of rbps=, wbps=, riops= and wiops=, separated by blanks, each followed
 *	by a number or the word for none; or "default"
 * @rates: the result; 0 for each rate absent from @text
 * @given: the rates in @text, a bit for each; all with "default"
 */
int rates_read(const char *text, enum bound bound, struct rates *rates,
	       unsigned int *given, struct problem *problem)
{
	struct span rest = span_of(text), word, value;
	int rate;

	*rates = (struct rates){ .rate = { 0 } };
	*given = RATES_ALL;
	if (!strcmp(text, "default"))
		return 0;
	for (*given = 0; span_word(&rest, &word); *given |= 1U << rate) {
		rate = find_rate(word, bound, &value, problem);
		if (rate < 0)
			return -1;
		if (*given & 1U << rate)
			return problem_set(problem, "%s= is given twice", rate_names[rate]);
		if (read_rate(value, rate, bound, &rates->rate[rate], problem))
			return -1;
	}
	if (*given)
		return 0;
	return problem_set(problem,
			   "no %s is given: it is one or more of rbps=, wbps=, riops= and wiops=, such as rbps=50MiB wiops=1K, or default",
			   bound_kinds[bound].noun);
}

/*
 * Read rates in the notation of lists.
 * @list: four numbers or words for none, separated by commas
 * Return: false if @list is malformed, or bounds nothing.
 */
bool rates_read_list(struct span list, enum bound bound, struct rates *rates)
{
	struct span item;

	*rates = (struct rates){ .rate = { 0 } };
	for (int rate = 0; rate < RATES; rate++) {
		uint64_t *number = &rates->rate[rate];

		if (rate + 1 < RATES)
			span_item(&list, ',', &item);
		else
			item = list;
		if (!span_is(item, bound_kinds[bound].nothing) &&
		    (!span_u64(item, RATE_MAX, number) || !*number))
			return false;
	}
	return rates_are_set(rates);
}

/* The exact number, for bytes with the unit that leaves the smallest whole one. */
static char *number_text(unsigned long long number, enum rate rate)
{
	unsigned long long best = number;
	const char *end = "";
	int best_power = 0;

	for (int base = 1024; rate_is_bytes(rate) && base >= 1000; base -= 24) {
		unsigned long long rest = number;
		int power = 0;

		while (suffixes[power] && rest % base == 0) {
			rest /= base;
			power++;
		}
		if (rest >= best)
			continue;
		best = rest;
		best_power = power;
		end = base == 1024 ? "iB" : "B";
	}
	return xasprintf("%llu%.*s%s", best, best_power ? 1 : 0,
			 suffixes + (best_power ? best_power - 1 : 0), end);
}

static bool is_plain(struct span word, enum rate rate)
{
	struct span key, value;

	return span_key(word, &key, &value) && value.length &&
	       span_is(key, rate_names[rate]) &&
	       strchr(suffixes, value.start[value.length - 1]);
}

/*
 * Find a rate of bytes with a unit that used to be a power of 1024.
 * @text: rates as people write them
 * @word: the first such rate
 */
bool rates_plain(const char *text, struct span *word)
{
	struct span rest = span_of(text);

	while (span_word(&rest, word)) {
		if (is_plain(*word, RBPS) || is_plain(*word, WBPS))
			return true;
	}
	return false;
}

/*
 * The same for one rate.
 * @text: rates as people write them
 * @word: the rate in @text
 * Return: whether it has such a unit.
 */
bool rate_plain(const char *text, enum rate rate, struct span *word)
{
	struct span rest = span_of(text);

	while (rate_is_bytes(rate) && span_word(&rest, word)) {
		if (is_plain(*word, rate))
			return true;
	}
	return false;
}

/*
 * Read plain units of bytes as powers of 1024, as former versions did.
 * @text: rates in the notation of the command line
 * Return: the same text with KiB and the like in place of K and the like; to be freed.
 */
char *rates_explicit(const char *text)
{
	struct span rest = span_of(text), word;
	char *all = xstrdup("");

	while (span_word(&rest, &word)) {
		char *one __free = xstrndup(word.start, word.length);
		struct span plain;

		xappend(&all, "%s%s%s", *all ? " " : "", one, rates_plain(one, &plain) ? "iB" : "");
	}
	return all;
}

/*
 * Write one rate of a bound in the notation of the command line.
 * Return: the exact number, or the word for none; to be freed.
 */
char *rate_text(const struct rates *rates, enum bound bound, enum rate rate)
{
	return rates->rate[rate] ? number_text(rates->rate[rate], rate) :
				   xstrdup(bound_kinds[bound].none);
}

/* Join "key=text" of each text that is not NULL, and free it; "default" if all are NULL. */
static char *join_and_free(char *texts[RATES])
{
	char *joined = xstrdup("");

	for (int rate = 0; rate < RATES; rate++) {
		if (texts[rate])
			xappend(&joined, "%s%s=%s", *joined ? " " : "", rate_names[rate],
				texts[rate]);
		free(texts[rate]);
	}
	if (!*joined)
		xappend(&joined, "default");
	return joined;
}

/*
 * Write rates in the notation of the command line.  Return: text from which rates_read()
 * reads the same rates; to be freed.
 */
char *rates_text(const struct rates *rates)
{
	char *texts[RATES] = { NULL };

	for (int rate = 0; rate < RATES; rate++) {
		if (rates->rate[rate])
			texts[rate] = number_text(rates->rate[rate], rate);
	}
	return join_and_free(texts);
}

static char *plain(uint64_t number, enum bound bound)
{
	return number ? xasprintf("%llu", (unsigned long long)number) :
			xstrdup(bound_kinds[bound].nothing);
}

/*
 * Write rates in the notation of lists.  Return: text from which rates_read_list() reads
 * the same rates; to be freed.
 */
char *rates_list(const struct rates *rates, enum bound bound)
{
	char *list = xstrdup(""), *number;

	for (int rate = 0; rate < RATES; rate++) {
		number = plain(rates->rate[rate], bound);
		xappend(&list, "%s%s", *list ? "," : "", number);
		free(number);
	}
	return list;
}

/*
 * Write rates in the notation of messages.
 * @given: the rates to write, a bit for each; the others remain unchanged
 * Return: the words, to be freed.
 */
char *rates_words(const struct rates *rates, enum bound bound, unsigned int given)
{
	char *texts[RATES] = { NULL };
	bool all_none = given == RATES_ALL && !rates_are_set(rates);

	for (int rate = 0; rate < RATES && !all_none; rate++) {
		if (given & 1U << rate)
			texts[rate] = plain(rates->rate[rate], bound);
	}
	return join_and_free(texts);
}

/*
 * Write the rates that are set as plain numbers.
 * @rates: the rates; at least one is set
 * Return: text from which rates_read() reads the same rates; to be freed.
 */
char *rates_numbers(const struct rates *rates)
{
	unsigned int given = 0;

	for (int rate = 0; rate < RATES; rate++) {
		if (rates->rate[rate])
			given |= 1U << rate;
	}
	return rates_words(rates, MAXIMUM, given);
}
