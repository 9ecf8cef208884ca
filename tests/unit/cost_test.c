// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a bio.
 */
#include "cases.h"
#include "sched/cost.h"
#include "sched/math.h"

static void costs(enum ioband_measure measure, u32 bytes, bool has_data, u32 charge, u32 occupied)
{
	const struct ioband_bill bill = ioband_cost(measure, bytes, has_data);

	assert_int_equal(bill.charge, charge);
	assert_int_equal(bill.bytes, occupied);
	assert_int_equal(bill.no_data, !has_data);
}

static void bytes_are_charged(void **state)
{
	(void)state;
	costs(IOBAND_MEASURE_BYTES, 0, true, 0, 0);
	costs(IOBAND_MEASURE_BYTES, 512, true, 512, 512);
	costs(IOBAND_MEASURE_BYTES, 4 << 20, true, 4 << 20, 4 << 20);
	costs(IOBAND_MEASURE_BYTES, UINT32_MAX, true, UINT32_MAX, UINT32_MAX);
}

/* The charge is independent of the size; in-flight sizes are still in bytes. */
static void ios_are_charged(void **state)
{
	(void)state;
	costs(IOBAND_MEASURE_IOS, 512, true, IOBAND_IO_CHARGE, 512);
	costs(IOBAND_MEASURE_IOS, 4 << 20, true, IOBAND_IO_CHARGE, 4 << 20);
}

/* A bill charges bytes: the measure by time is charged elsewhere, as time passes. */
static void time_is_not_charged_by_bill(void **state)
{
	(void)state;
	costs(IOBAND_MEASURE_TIME, 4096, true, 4096, 4096);
}

/* Its charge is measured; a maximum counts it as a large bio at most. */
static void a_discard_is_not_charged_by_bill(void **state)
{
	(void)state;
	costs(IOBAND_MEASURE_BYTES, 4096, false, 0, 4096);
	costs(IOBAND_MEASURE_IOS, 1 << 20, false, 0, 1 << 20);
	costs(IOBAND_MEASURE_BYTES, (1 << 20) + 512, false, 0, 1 << 20);
	costs(IOBAND_MEASURE_TIME, UINT32_MAX, false, 0, 1 << 20);
}

/* All splits of a bio together complete what the bio was charged. */
static void a_completion_counts_as_its_charge(void **state)
{
	(void)state;
	assert_int_equal(ioband_cost_done(IOBAND_MEASURE_BYTES, 4096, 65536), 4096);
	assert_int_equal(ioband_cost_done(IOBAND_MEASURE_IOS, 4096, 4096), IOBAND_IO_CHARGE);
	assert_int_equal(ioband_cost_done(IOBAND_MEASURE_IOS, 4096, 16384), IOBAND_IO_CHARGE / 4);
	assert_int_equal(ioband_cost_done(IOBAND_MEASURE_IOS, 0, 0), 0);
}

/* A pool may change its measure while bios are in flight: virtual times stay comparable. */
static void measures_are_of_one_order(void **state)
{
	const u32 charge = ioband_cost(IOBAND_MEASURE_IOS, 4096, true).charge;

	(void)state;
	assert_in_range(charge, 512, 64 << 10);
}

/* The shim aborts where x86 traps. */
static void a_quotient_that_does_not_fit_is_the_largest(void **state)
{
	(void)state;
	assert_int_equal(ioband_mul_div(6, 7, 5), 8);
	assert_int_equal(ioband_mul_div(U64_MAX, 3, 4), U64_MAX / 4 * 3 + 2);
	assert_int_equal(ioband_mul_div(U64_MAX, U64_MAX, U64_MAX), U64_MAX);
	assert_int_equal(ioband_mul_div(1ULL << 40, 1ULL << 24, 2), 1ULL << 63);
	assert_int_equal(ioband_mul_div(1ULL << 40, 1ULL << 24, 1), U64_MAX);
	assert_int_equal(ioband_mul_div(U64_MAX, U64_MAX, U64_MAX - 1), U64_MAX);
	assert_int_equal(ioband_mul_div(1, 1, 0), U64_MAX);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(bytes_are_charged),
		TEST(ios_are_charged),
		TEST(time_is_not_charged_by_bill),
		TEST(a_discard_is_not_charged_by_bill),
		TEST(a_completion_counts_as_its_charge),
		TEST(measures_are_of_one_order),
		TEST(a_quotient_that_does_not_fit_is_the_largest),
	};

	return run_cases(cases, argc, argv);
}
