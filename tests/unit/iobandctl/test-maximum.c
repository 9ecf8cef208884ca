// SPDX-License-Identifier: GPL-2.0-only
/* Maxima: what people write, and what the kernel reads. */
#include <stdlib.h>

#include "check.h"
#include "defs.h"
#include "maximum.h"

static int reads(const char *text, unsigned int given,
		 const struct maximum wanted)
{
	struct maximum got = { .rate = { 1, 2, 3, 4 } };
	struct problem problem;
	unsigned int got_given = 99;

	return !maximum_read(text, &got, &got_given, &problem) &&
	       got_given == given && maximum_is(&got, &wanted);
}

#define MAX(...) ((const struct maximum){ .rate = { __VA_ARGS__ } })

void test_maximum_read(void)
{
	CHECK(reads("rbps=1", 1, MAX(1, 0, 0, 0)));
	CHECK(reads("wbps=100M", 2, MAX(0, 100 << 20, 0, 0)));
	CHECK(reads("riops=2K", 4, MAX(0, 0, 2000, 0)));
	CHECK(reads("wiops=3M", 8, MAX(0, 0, 0, 3000000)));
	CHECK(reads("wiops=1T", 8, MAX(0, 0, 0, RATE_MAX)));
	CHECK(reads("rbps=931G", 1, MAX(931ULL << 30, 0, 0, 0)));
	CHECK(reads("rbps=1000000000000", 1, MAX(RATE_MAX, 0, 0, 0)));
	CHECK(reads(" wiops=5  rbps=3K ", 9, MAX(3072, 0, 0, 5)));
	CHECK(reads("rbps=max", 1, MAX(0, 0, 0, 0)));
	CHECK(reads("riops=7 rbps=max", 5, MAX(0, 0, 7, 0)));
	CHECK(reads("default", RATES_ALL, MAX(0, 0, 0, 0)));
}

void test_maximum_faults(void)
{
	static const struct {
		const char *text;
		const char *says;
	} faults[] = {
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
		{ "rbps=-1", "rbps=-1: it is max" },
		{ "rbps=1m", "rbps=1m: it is max" },
		{ "rbps=1KK", "rbps=1KK: it is max" },
		{ "rbps=1MB", "rbps=1MB: it is max" },
		{ "rbps=MAX", "rbps=MAX: it is max" },
		{ "rbps=1T", "rbps=1T is too large: at most 1000000000000" },
		{ "rbps=932G", "is too large" },
		{ "wiops=1000000000001", "is too large" },
		{ "wiops=99999999999999999999", "is too large" },
		{ "rbps=18014398509481985K", "is too large" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct problem problem = { "" };
		struct maximum maximum;
		unsigned int given;

		if (maximum_read(faults[i].text, &maximum, &given, &problem) &&
		    strstr(problem.text, faults[i].says))
			continue;
		fprintf(stderr, "'%s': '%s'\n", faults[i].text, problem.text);
		CHECK(!"the fault is named");
	}
}

static int writes(char *text, const char *wanted)
{
	int right = same(text, wanted);

	free(text);
	return right;
}

static int reads_list(const char *text, const struct maximum *wanted)
{
	struct maximum got;

	return maximum_read_list(span_of(text), &got) &&
	       maximum_is(&got, wanted);
}

void test_maximum_forms(void)
{
	const struct maximum none = { .rate = { 0 } };
	const struct maximum some = { .rate = { 100 << 20, 0, 0, 2000 } };
	const struct maximum odd = { .rate = { 1536, 1000000, 1024, 0 } };
	struct maximum got;

	CHECK(!maximum_is_set(&none) && maximum_is_set(&some));
	CHECK(maximum_is(&some, &some) && !maximum_is(&some, &odd));
	CHECK(writes(maximum_text(&none), "default"));
	CHECK(writes(maximum_text(&some), "rbps=100M wiops=2000"));
	CHECK(writes(maximum_text(&odd), "rbps=1536 wbps=1000000 riops=1024"));
	CHECK(writes(maximum_rate(&some, WBPS), "max"));
	CHECK(reads("rbps=100M wiops=2000", 9, MAX(100 << 20, 0, 0, 2000)));
	CHECK(writes(maximum_words(&some, RATES_ALL),
		     "rbps=104857600 wbps=max riops=max wiops=2000"));
	CHECK(writes(maximum_words(&some, 1U << WBPS | 1U << WIOPS),
		     "wbps=max wiops=2000"));
	CHECK(writes(maximum_words(&none, RATES_ALL), "default"));
	CHECK(writes(maximum_words(&none, 1U << RBPS), "rbps=max"));
	CHECK(writes(maximum_list(&some), "104857600,max,max,2000"));
	CHECK(reads_list("104857600,max,max,2000", &some));
	CHECK(reads_list("1536,1000000,1024,max", &odd));
	CHECK(!maximum_read_list(span_of("max,max,max,max"), &got));
	CHECK(!maximum_read_list(span_of("1,2,3"), &got));
	CHECK(!maximum_read_list(span_of("1,2,3,4,5"), &got));
	CHECK(!maximum_read_list(span_of("1,2,3,0"), &got));
	CHECK(!maximum_read_list(span_of("1000000000001,2,3,4"), &got));
}
