// SPDX-License-Identifier: GPL-2.0-only
/* Rates of maxima and minima: what people write, and what the kernel reads. */
#include <stdlib.h>

#include "base/defs.h"
#include "base/alloc.h"
#include "base/rates.h"
#include "check.h"

static int reads(const char *text, enum bound bound, unsigned int given,
		 const struct rates wanted)
{
	struct rates got = { .rate = { 1, 2, 3, 4 } };
	struct problem problem;
	unsigned int got_given = 99;

	return !rates_read(text, bound, &got, &got_given, &problem) &&
	       got_given == given && rates_are(&got, &wanted);
}

/* The same as a maximum and as a minimum. */
static int both_read(const char *text, unsigned int given,
		     const struct rates wanted)
{
	return reads(text, MAXIMUM, given, wanted) &&
	       reads(text, MINIMUM, given, wanted);
}

#define SOME(...) ((const struct rates){ .rate = { __VA_ARGS__ } })

void test_rates_read(void)
{
	CHECK(both_read("rbps=1", 1, SOME(1, 0, 0, 0)));
	CHECK(both_read("wbps=100MiB", 2, SOME(0, 100 << 20, 0, 0)));
	CHECK(both_read("wbps=100M", 2, SOME(0, 100000000, 0, 0)));
	CHECK(both_read("wbps=100MB", 2, SOME(0, 100000000, 0, 0)));
	CHECK(both_read("rbps=7K wbps=7KB", 3, SOME(7000, 7000, 0, 0)));
	CHECK(both_read("rbps=7KiB wbps=7GiB", 3, SOME(7168, 7ULL << 30, 0, 0)));
	CHECK(both_read("rbps=1T wbps=1TB", 3, SOME(1000000000000, 1000000000000, 0, 0)));
	CHECK(both_read("riops=2K", 4, SOME(0, 0, 2000, 0)));
	CHECK(both_read("wiops=3M", 8, SOME(0, 0, 0, 3000000)));
	CHECK(both_read("wiops=1T", 8, SOME(0, 0, 0, 1000000000000)));
	CHECK(both_read("wiops=1099511627776", 8, SOME(0, 0, 0, RATE_MAX)));
	CHECK(both_read("rbps=1023GiB", 1, SOME(1023ULL << 30, 0, 0, 0)));
	CHECK(both_read("rbps=1TiB", 1, SOME(RATE_MAX, 0, 0, 0)));
	CHECK(both_read("rbps=1099511627776", 1, SOME(RATE_MAX, 0, 0, 0)));
	CHECK(both_read(" wiops=5  rbps=3KiB ", 9, SOME(3072, 0, 0, 5)));
	CHECK(both_read("default", RATES_ALL, SOME(0, 0, 0, 0)));
	CHECK(reads("rbps=max", MAXIMUM, 1, SOME(0, 0, 0, 0)));
	CHECK(reads("riops=7 rbps=max", MAXIMUM, 5, SOME(0, 0, 7, 0)));
	CHECK(reads("rbps=0", MINIMUM, 1, SOME(0, 0, 0, 0)));
	CHECK(reads("wiops=0K rbps=none", MINIMUM, 9, SOME(0, 0, 0, 0)));
	CHECK(reads("riops=7 wbps=none", MINIMUM, 6, SOME(0, 0, 7, 0)));
}

struct fault {
	const char *text;
	const char *says;
};

static void check_faults(const struct fault *faults, size_t n, enum bound bound)
{
	for (size_t i = 0; i < n; i++) {
		struct problem problem = { "" };
		struct rates rates;
		unsigned int given;

		if (rates_read(faults[i].text, bound, &rates, &given,
			       &problem) &&
		    strstr(problem.text, faults[i].says))
			continue;
		fprintf(stderr, "'%s': '%s'\n", faults[i].text, problem.text);
		CHECK(!"the fault is named");
	}
}

void test_maximum_faults(void)
{
	static const struct fault faults[] = {
		{ "", "no maximum is given" },
		{ " ", "no maximum is given" },
		{ "100M", "'100M': a maximum is one or more of rbps=" },
		{ "bps=1", "'bps=1': a maximum is one or more of" },
		{ "=1", "'=1': a maximum is" },
		{ "rbps=1 default", "'default': a maximum is" },
		{ "Rbps=1", "'Rbps=1'" },
		{ "rbps=1 wbps=2 rbps=3", "rbps= is given twice" },
		{ "rbps=max rbps=3", "rbps= is given twice" },
		{ "rbps=0", "rbps=0 would stop the group for good" },
		{ "wiops=0K", "wiops=0K would stop" },
		{ "rbps=", "rbps=: it is max, or a whole number" },
		{ "rbps=M", "rbps=M: it is max, or a whole number" },
		{ "rbps=1.5M", "rbps=1.5M: it is max, or a whole number" },
		{ "rbps=1M,wbps=1M", "such as 50MiB; several are separated by blanks" },
		{ "rbps=-1", "rbps=-1: it is max" },
		{ "rbps=1m", "rbps=1m: it is max" },
		{ "rbps=1KK", "rbps=1KK: it is max" },
		{ "rbps=1MBs", "rbps=1MBs: it is max" },
		{ "rbps=1Mi", "rbps=1Mi: it is max" },
		{ "rbps=1iB", "rbps=1iB: it is max" },
		{ "rbps=1B", "rbps=1B: it is max" },
		{ "rbps=1MIB", "rbps=1MIB: it is max" },
		{ "rbps=MiB", "rbps=MiB: it is max" },
		{ "riops=1KiB",
		  "riops=1KiB: it is max, or a whole number that may end in K, M, G or T (powers of 1000), such as 2K; several"
		},
		{ "wiops=1KB", "wiops=1KB: it is max" },
		{ "rbps=MAX", "rbps=MAX: it is max" },
		{ "rbps=2T", "rbps=2T is too large: at most 1TiB (1099511627776) a" },
		{ "rbps=1025GiB", "is too large" },
		{ "wiops=1099511627777", "is too large: at most 1099511627776 a second" },
		{ "wiops=99999999999999999999", "is too large" },
		{ "rbps=18014398509481985KiB", "is too large" },
	};

	check_faults(faults, ARRAY_SIZE(faults), MAXIMUM);
}

void test_minimum_faults(void)
{
	static const struct fault faults[] = {
		{ "", "no minimum is given: it is one or more of rbps=" },
		{ "100M", "'100M': a minimum is one or more of rbps=" },
		{ "rbps=0 rbps=none", "rbps= is given twice" },
		{ "rbps=max", "rbps=max: it is none, or a whole number" },
		{ "rbps=min", "rbps=min: it is none, or a whole number" },
		{ "rbps=", "rbps=: it is none, or a whole number" },
		{ "rbps=-1", "rbps=-1: it is none" },
		{ "rbps=2T", "at most 1TiB (1099511627776) a second can be set; none is" },
		{ "wiops=1099511627777", "is too large: at most 1099511627776 a second" },
	};

	check_faults(faults, ARRAY_SIZE(faults), MINIMUM);
}

static int writes(char *text, const char *wanted)
{
	int right = same(text, wanted);

	free(text);
	return right;
}

static int reads_list(const char *text, enum bound bound,
		      const struct rates *wanted)
{
	struct rates got;

	return rates_read_list(span_of(text), bound, &got) &&
	       rates_are(&got, wanted);
}

static const struct rates some = { .rate = { 100 << 20, 0, 0, 2000 } };
static const struct rates odd = { .rate = { 1536, 1000000, 1024, 0 } };

static int texts(unsigned long long bytes, const char *wanted)
{
	const struct rates rates = { .rate = { bytes } };
	char *text = rate_text(&rates, MAXIMUM, RBPS);
	char *line = xasprintf("rbps=%s", text);
	int right = same(text, wanted) && both_read(line, 1, rates);

	free(line);
	free(text);
	return right;
}

static int is_plain(const char *text, const char *wanted)
{
	struct span word;

	return rates_plain(text, &word) && span_is(word, wanted);
}

/* The printed text has the unit with the smallest number, and is read back unchanged. */
void test_rates_units(void)
{
	CHECK(texts(1, "1") && texts(999, "999") && texts(1001, "1001"));
	CHECK(texts(1000, "1KB") && texts(1024, "1KiB"));
	CHECK(texts(50000000, "50MB") && texts(50 << 20, "50MiB"));
	CHECK(texts(1024000, "1000KiB") && texts(RATE_MAX, "1TiB"));
	CHECK(is_plain("rbps=5M", "rbps=5M"));
	CHECK(is_plain("riops=5M rbps=5MB wbps=7K rbps=3G", "wbps=7K"));
	CHECK(!is_plain("riops=5M rbps=5MB wbps=7KiB", ""));
	CHECK(!is_plain("default", "") && !is_plain("rbps=5 wbps=max", ""));
}

/* Former versions took plain units of bytes for powers of 1024, those of I/Os never. */
void test_rates_explicit(void)
{
	CHECK(writes(rates_explicit("rbps=5M  wbps=max riops=7K"),
		     "rbps=5MiB wbps=max riops=7K"));
	CHECK(writes(rates_explicit("wbps=1T rbps=5MB"), "wbps=1TiB rbps=5MB"));
	CHECK(writes(rates_explicit("rbps=5KiB wbps=9"), "rbps=5KiB wbps=9"));
	CHECK(writes(rates_explicit("default"), "default"));
}

void test_rates_forms(void)
{
	const struct rates nothing = { .rate = { 0 } }, *none = &nothing;

	CHECK(!rates_are_set(none) && rates_are_set(&some));
	CHECK(rates_are(&some, &some) && !rates_are(&some, &odd));
	CHECK(writes(rates_text(none), "default"));
	CHECK(writes(rates_text(&some), "rbps=100MiB wiops=2000"));
	CHECK(writes(rates_text(&odd), "rbps=1536 wbps=1MB riops=1024"));
	CHECK(writes(rates_numbers(&some), "rbps=104857600 wiops=2000"));
	CHECK(writes(rate_text(&some, MAXIMUM, RBPS), "100MiB"));
	CHECK(writes(rate_text(&some, MAXIMUM, WBPS), "max"));
	CHECK(writes(rate_text(&some, MINIMUM, WIOPS), "2000"));
	CHECK(writes(rate_text(&some, MINIMUM, WBPS), "none"));
	CHECK(both_read("rbps=100MiB wiops=2000", 9, some));
	CHECK(writes(rates_words(&some, MAXIMUM, RATES_ALL),
		     "rbps=104857600 wbps=max riops=max wiops=2000"));
	CHECK(writes(rates_words(&some, MINIMUM, RATES_ALL),
		     "rbps=104857600 wbps=0 riops=0 wiops=2000"));
	CHECK(writes(rates_words(&some, MAXIMUM, 1U << WBPS | 1U << WIOPS),
		     "wbps=max wiops=2000"));
	CHECK(writes(rates_words(none, MAXIMUM, RATES_ALL), "default"));
	CHECK(writes(rates_words(none, MINIMUM, RATES_ALL), "default"));
	CHECK(writes(rates_words(none, MAXIMUM, 1U << RBPS), "rbps=max"));
	CHECK(writes(rates_words(none, MINIMUM, 1U << RBPS), "rbps=0"));
}

static int is_list(const char *text, enum bound bound)
{
	struct rates got;

	return rates_read_list(span_of(text), bound, &got);
}

void test_rates_lists(void)
{
	CHECK(writes(rates_list(&some, MAXIMUM), "104857600,max,max,2000"));
	CHECK(writes(rates_list(&some, MINIMUM), "104857600,0,0,2000"));
	CHECK(reads_list("104857600,max,max,2000", MAXIMUM, &some));
	CHECK(reads_list("104857600,0,0,2000", MINIMUM, &some));
	CHECK(reads_list("1536,1000000,1024,max", MAXIMUM, &odd));
	CHECK(reads_list("1536,1000000,1024,0", MINIMUM, &odd));
	CHECK(!is_list("max,max,max,max", MAXIMUM));
	CHECK(!is_list("0,0,0,0", MINIMUM));
	CHECK(!is_list("1,2,3,0", MAXIMUM) && !is_list("1,2,3,max", MINIMUM));
	CHECK(!is_list("1,2,3,none", MINIMUM) && !is_list("1,2,3,00", MINIMUM));
	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		CHECK(is_list("1,2,3,4", bound) && !is_list("1,2,3", bound));
		CHECK(!is_list("1,2,3,4,5", bound));
		CHECK(!is_list("1099511627777,2,3,4", bound));
	}
}
