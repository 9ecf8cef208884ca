// SPDX-License-Identifier: GPL-2.0-only
/* The bounds of a group, of all kinds, and the notations of a latency. */
#include <stdlib.h>

#include "base/bounds.h"
#include "base/defs.h"
#include "check.h"

static int takes(const char *text, unsigned int us)
{
	struct bounds got = { .latency_us = { 99 } };
	struct problem problem;

	return !latency_read(text, &got.latency_us[0], &problem) &&
	       got.latency_us[0] == us;
}

void test_latency_read(void)
{
	CHECK(takes("2ms", 2000) && takes("500us", 500) && takes("1s", 1000000));
	CHECK(takes("1us", 1) && takes("10s", 10000000));
	CHECK(takes("10000ms", 10000000) && takes("10000000us", 10000000));
	CHECK(takes("0.5ms", 500) && takes("2.25s", 2250000));
	CHECK(takes("0.001ms", 1) && takes("1.000001s", 1000001));
	CHECK(takes("1.0us", 1) && takes("1.5000ms", 1500));
	CHECK(takes("9.999999s", 9999999) && takes("0.0000010s", 1));
	CHECK(takes("none", 0) && takes("default", 0));
}

void test_latency_faults(void)
{
	static const struct {
		const char *text;
		const char *says;
	} faults[] = {
		{ "", "'': a latency is a number with us, ms or s behind it" },
		{ "2", "'2': a latency is a number with us, ms or s behind it, such as 5ms" },
		{ "ms", "'ms': a latency is a number" },
		{ "s", "'s': a latency is" },
		{ " 2ms", "a latency is a number" },
		{ "2 ms", "a latency is a number" },
		{ "2ms ", "a latency is a number" },
		{ "-2ms", "a latency is a number" },
		{ "2ns", "a latency is a number" },
		{ "2m", "a latency is a number" },
		{ "2MS", "a latency is a number" },
		{ "1e3us", "a latency is a number" },
		{ ".5ms", "a latency is a number" },
		{ "1.ms", "a latency is a number" },
		{ "1.2.3ms", "a latency is a number" },
		{ "1.xs", "a latency is a number" },
		{ "max", "a latency is a number" },
		{ "1.5us", "'1.5us': a latency comes to whole microseconds" },
		{ "0.0005ms", "comes to whole microseconds" },
		{ "1.0000001s", "comes to whole microseconds" },
		{ "11s", "'11s': that is too long: 10s is the most, and none is" },
		{ "10.000001s", "that is too long" },
		{ "10001ms", "that is too long" },
		{ "10000001us", "that is too long" },
		{ "99999999999999999999s", "that is too long" },
		{ "18446744073710s", "that is too long" },
		{ "0us", "'0us': that is no time: 1us is the least" },
		{ "0.0s", "that is no time" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct problem problem = { "" };
		struct bounds bounds;

		if (latency_read(faults[i].text, &bounds.latency_us[0], &problem) &&
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

#define RATED(...) { .rate = { __VA_ARGS__ } }

static const struct bounds all = {
	.of = { RATED(1, 2, 3, 4), RATED(0, 1, 0, 0) }, .latency_us = { 2500, 7 },
};

void test_latency_forms(void)
{
	CHECK(writes(latency_text(0), "none"));
	CHECK(writes(latency_text(1), "1us"));
	CHECK(writes(latency_text(2000), "2ms"));
	CHECK(writes(latency_text(2500), "2500us"));
	CHECK(writes(latency_text(1500000), "1500ms"));
	CHECK(writes(latency_text(LATENCY_MAX_US), "10s"));
	CHECK(writes(bound_text(&all, LATENCY), "2500us"));
	CHECK(writes(bound_list(&all, LATENCY), "2500"));
	CHECK(writes(bound_words(&all, LATENCY, RATES_ALL), "2500"));
	CHECK(writes(bound_words(&bounds_none, LATENCY, 0), "default"));
	CHECK(writes(bound_words(&all, MINIMUM, 1U << WBPS), "wbps=1"));
	CHECK(writes(bound_list(&all, MAXIMUM), "1,2,3,4"));
	CHECK(writes(bound_text(&all, MINIMUM), "wbps=1"));
}

/* A bound of one kind does not affect the others. */
void test_bound_kinds(void)
{
	for (int bound = 0; bound < BOUNDS; bound++) {
		struct bounds one = bounds_none;

		bound_copy(&one, &all, bound);
		for (int other = 0; other < BOUNDS; other++) {
			CHECK(bound_is_set(&one, other) == (other == bound));
			CHECK(bound_is(&one, &all, other) == (other == bound));
			CHECK(bound_is(&one, &bounds_none, other) ==
			      (other != bound));
		}
	}
}

void test_bound_read(void)
{
	struct bounds bounds = all;
	struct problem problem;
	unsigned int given = 0;

	CHECK(!bound_read("1ms", LATENCY, &bounds, &given, &problem));
	CHECK(bounds.latency_us[0] == 1000 && given == RATES_ALL);
	CHECK(!bound_read("riops=7", MINIMUM, &bounds, &given, &problem));
	CHECK(bounds.of[MINIMUM].rate[RIOPS] == 7 && given == 1U << RIOPS);
	CHECK(bound_is(&bounds, &all, MAXIMUM) && bounds.latency_us[0] == 1000);
	CHECK(bound_read("riops=7", LATENCY, &bounds, &given, &problem));
	CHECK(bound_read("1ms", MAXIMUM, &bounds, &given, &problem));
}

void test_bounds(void)
{
	struct bounds bounds = { .of[MAXIMUM] = RATED(100 << 20, 0, 0, 2000) };
	struct problem problem = { "" };

	CHECK(!bounds_are_set(&bounds_none) && bounds_are_set(&bounds));
	bounds = (struct bounds){ .of[MINIMUM] = RATED(100 << 20, 0, 0, 2000) };
	CHECK(bounds_are_set(&bounds) && !bounds_check(&bounds, &problem));
	CHECK(bounds_are_set(&(struct bounds){ .latency_us = { 1 } }));
	/* A minimum of one rate does not affect another rate. */
	bounds.of[MAXIMUM] = (struct rates)RATED(100 << 20, 1, 1, 0);
	CHECK(!bounds_check(&bounds, &problem) && !problem.text[0]);
	bounds.of[MAXIMUM] = (struct rates)RATED(0, 0, 0, 1999);
	CHECK(bounds_check(&bounds, &problem));
	CHECK(same(problem.text, "a minimum of wiops=2000 is more than the maximum of wiops=1999"));
	bounds.of[MAXIMUM].rate[RBPS] = 99 << 20;
	CHECK(bounds_check(&bounds, &problem));
	CHECK(same(problem.text,
		   "a minimum of rbps=100MiB is more than the maximum of rbps=99MiB"));
}
