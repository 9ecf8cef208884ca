// SPDX-License-Identifier: GPL-2.0-only
/*
 * The size of the splits of discards, and their cost.
 */
#include "cases.h"
#include "sched/core.h"
#include "sched/discard.h"
#include "sched/min.h"
#include "sched/stall.h"

#include <linux/time64.h>

#define KIB	1024U
#define MIB	(1024U * KIB)
#define GIB	(1024ULL * MIB)
#define USEC	1000ULL
#define MSEC	(1000 * USEC)
#define SECOND	(1000 * MSEC)

/* A device: the time of a discard of any size, and of each MiB of it. */
struct device {
	u64 fixed_ns;
	u64 mib_ns;
	u32 granularity;
};

static u64 time_ns(const struct device *device, u32 bytes)
{
	return device->fixed_ns + bytes * device->mib_ns / MIB;
}

/* Discard so many bytes, in splits that end at multiples of their size.  Return: the time. */
static u64 discard_all(struct ioband_discard *discard, const struct device *device, u64 end)
{
	u64 at = 0, ns = 0;

	while (at < end) {
		u32 bytes = ioband_discard_bytes(discard, device->granularity);

		bytes -= at % bytes;
		bytes = end - at < bytes ? end - at : bytes;
		ioband_discard_learn(discard, device->granularity, bytes, false,
				     time_ns(device, bytes));
		ns += time_ns(device, bytes);
		at += bytes;
	}
	return ns;
}

static u32 size_found(struct ioband_discard *discard, const struct device *device)
{
	discard_all(discard, device, 64 * GIB);
	return ioband_discard_bytes(discard, device->granularity);
}

static void splits_take_the_time_of_the_essay(void **state)
{
	const struct device device = { .mib_ns = 4 * NSEC_PER_SEC / 1024, .granularity = 4 * KIB };
	struct ioband_discard discard = {};

	(void)state;
	assert_int_equal(ioband_discard_bytes(&discard, device.granularity), MIB);
	assert_int_equal(size_found(&discard, &device), 512 * KIB);
}

/* Whatever the device: a split takes no longer than a read should wait, and not much less. */
static void splits_take_the_same_time_everywhere(void **state)
{
	u64 mib_ns;

	(void)state;
	for (mib_ns = 100; mib_ns < NSEC_PER_SEC; mib_ns *= 3) {
		const struct device device = { .mib_ns = mib_ns, .granularity = 512 };
		struct ioband_discard discard = {};
		const u64 ns = time_ns(&device, size_found(&discard, &device));

		if (ioband_discard_bytes(&discard, 512) < 1U << IOBAND_DISCARD_LAST)
			assert_in_range(ns, IOBAND_DISCARD_US / 2 * USEC, IOBAND_DISCARD_US * USEC);
		else
			assert_in_range(ns, 0, IOBAND_DISCARD_US * USEC);
	}
}

/* As in the essay: 10 ms, and 1 ms for each 64 MiB. */
static void a_fixed_cost_keeps_splits_large(void **state)
{
	const struct device device = {
		.fixed_ns = 10 * MSEC, .mib_ns = MSEC / 64, .granularity = 4 * KIB,
	};
	struct ioband_discard discard = {};

	(void)state;
	assert_int_equal(size_found(&discard, &device), 256 * MIB);
	/* Trials of other sizes included. */
	assert_in_range(discard_all(&discard, &device, 64 * GIB), 64 * 56 * MSEC, 64 * 60 * MSEC);
}

/* The cost of small splits is found at once, not after a discard of hours. */
static void a_large_size_is_found_soon(void **state)
{
	const struct device device = { .fixed_ns = 100 * MSEC, .granularity = 4 * KIB };
	struct ioband_discard discard = {};

	(void)state;
	assert_in_range(discard_all(&discard, &device, 16 * GIB), 0, 40 * 100 * MSEC);
}

static void splits_consist_of_granules(void **state)
{
	const struct device device = { .mib_ns = NSEC_PER_SEC, .granularity = 3 * MIB };
	struct ioband_discard discard = {};

	(void)state;
	assert_int_equal(size_found(&discard, &device), 3 * MIB);
	discard.shift = 24;
	assert_int_equal(ioband_discard_bytes(&discard, 3 * MIB), 15 * MIB);
	discard.shift = IOBAND_DISCARD_LAST;
	assert_int_equal(ioband_discard_bytes(&discard, 512), 2 * GIB);
}

/* A device may become slower or faster by orders of magnitude. */
static void a_device_may_change(void **state)
{
	const struct device fast = { .mib_ns = 1000, .granularity = 4 * KIB };
	const struct device slow = { .mib_ns = 100 * MSEC, .granularity = 4 * KIB };
	const struct device fixed = { .fixed_ns = 20 * MSEC, .granularity = 4 * KIB };
	struct ioband_discard discard = {};

	(void)state;
	assert_int_equal(size_found(&discard, &fast), GIB);
	assert_int_equal(size_found(&discard, &slow), 16 * KIB);
	assert_int_equal(size_found(&discard, &fixed), 2 * GIB);
	assert_int_equal(size_found(&discard, &slow), 16 * KIB);
	assert_int_equal(size_found(&discard, &fast), GIB);
}

/* Discards that arrive in small bios are split too, if these take long. */
static void small_discards_are_measured(void **state)
{
	struct ioband_discard discard = {};

	(void)state;
	assert_int_equal(ioband_discard_expect_us(&discard, 512, 64 * KIB), IOBAND_DISCARD_US);
	ioband_discard_learn(&discard, 512, 64 * KIB, true, 100 * USEC);
	assert_int_equal(ioband_discard_expect_us(&discard, 512, 16 * KIB), 100);
	assert_int_equal(ioband_discard_expect_us(&discard, 512, MIB), IOBAND_DISCARD_US);
	ioband_discard_learn(&discard, 512, 64 * KIB, false, 50 * MSEC);
	assert_int_equal(ioband_discard_bytes(&discard, 512), MIB);
	ioband_discard_learn(&discard, 512, 64 * KIB, true, 50 * MSEC);
	assert_int_equal(ioband_discard_bytes(&discard, 512), 64 * KIB);
}

/* ---- the cost ------------------------------------------------------------ */

/* 40 MB/s, for long. */
static struct ioband_lost lost_of_essay(void)
{
	struct ioband_lost lost;
	int i;

	ioband_discard_init(&lost);
	for (i = 0; i < 100; i++)
		ioband_discard_learn_rate(&lost, 400000, 10 * MSEC);
	return lost;
}

static void the_cost_is_the_lost_service(void **state)
{
	struct ioband_lost lost = lost_of_essay();
	u64 ns;

	(void)state;
	ioband_discard_begin(&lost, MSEC);
	lost.beside += 4096;
	assert_in_range(ioband_discard_end(&lost, 3 * MSEC, &ns), 75000, 77000);
	assert_in_range(ns, 1880 * USEC, 1920 * USEC);
	/* The device has served its reads beside the split. */
	ioband_discard_begin(&lost, 4 * MSEC);
	lost.beside += 81920;
	assert_int_equal(ioband_discard_end(&lost, 6 * MSEC, &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(lost.inflight, 0);
}

static void the_rate_is_that_of_the_present_load(void **state)
{
	struct ioband_lost lost;
	u64 ns;
	int i;

	(void)state;
	ioband_discard_init(&lost);
	ioband_discard_begin(&lost, 0);
	assert_in_range(ioband_discard_end(&lost, MSEC, &ns), 16000, 17000);
	lost = lost_of_essay();
	for (i = 0; i < 30; i++)	/* 300 ms */
		ioband_discard_learn_rate(&lost, 4000, 10 * MSEC);
	ioband_discard_begin(&lost, 0);
	assert_in_range(ioband_discard_end(&lost, MSEC, &ns), 400, 1200);
}

/* One millisecond each, one after the other: together no more than two. */
static void time_is_charged_once(void **state)
{
	struct ioband_lost lost = lost_of_essay();
	u64 first_ns, second_ns;
	u32 cost;

	(void)state;
	ioband_discard_begin(&lost, 0);
	ioband_discard_begin(&lost, USEC);
	cost = ioband_discard_end(&lost, MSEC, &first_ns);
	cost += ioband_discard_end(&lost, 2 * MSEC, &second_ns);
	assert_int_equal(first_ns + second_ns, 2 * MSEC);
	assert_in_range(cost, 79000, 81000);
}

static void discards_are_recent_for_a_while(void **state)
{
	struct ioband_lost lost;
	u64 ns;

	(void)state;
	ioband_discard_init(&lost);
	assert_false(ioband_discard_is_recent(&lost, 1));
	ioband_discard_begin(&lost, 1);
	assert_true(ioband_discard_is_recent(&lost, 100 * NSEC_PER_SEC));
	ioband_discard_end(&lost, 100 * NSEC_PER_SEC, &ns);
	assert_true(ioband_discard_is_recent(&lost, 100 * NSEC_PER_SEC + 400 * MSEC));
	assert_false(ioband_discard_is_recent(&lost, 100 * NSEC_PER_SEC + 600 * MSEC));
}

/* ---- the turn ------------------------------------------------------------ */

static const struct ioband_bill large_write = {
	.bytes = 64 * KIB,
	.charge = 64 * KIB,
	.dir = IOBAND_DIR_WRITE,
};

static const struct ioband_bill small_read = {
	.bytes = 4 * KIB,
	.charge = 4 * KIB,
	.dir = IOBAND_DIR_READ,
};

static struct ioband_core core;
static struct ioband_leaf writer, reader;

/* The writer discards as well.  One bio of each leaf is in flight, and more writes are queued. */
static void setup_rivals(void)
{
	u64 wake_ns;

	ioband_core_init(&core);
	ioband_core_set_limit(&core, 4, 0);
	ioband_tree_init_leaf(&writer, &core.root, 100);
	ioband_tree_init_leaf(&reader, &core.root, 100);
	ioband_core_wait(&core, &writer, IOBAND_DIR_WRITE, 1);
	ioband_core_wait(&core, &reader, IOBAND_DIR_READ, 1);
	assert_ptr_equal(ioband_core_pick(&core, 1, &wake_ns), &writer);
	ioband_core_admit(&core, &writer, &large_write, 1 << IOBAND_DIR_WRITE, 1);
	assert_ptr_equal(ioband_core_pick(&core, 1, &wake_ns), &reader);
	ioband_core_admit(&core, &reader, &small_read, 0, 1);
}

/* Its last bio is not held against a group, but the cost of its last discard is. */
static void bios_beside_discards_do_not_delay_these(void **state)
{
	(void)state;
	setup_rivals();
	assert_true(ioband_core_may_discard(&core, &writer, 1));
	ioband_core_charge_discard(&core, &writer, MIB);
	assert_false(ioband_core_may_discard(&core, &writer, 1));
	assert_true(ioband_core_may_discard(&core, &reader, 1));
}

/* A policy below delays the reader: its share does not show how long the device was busy. */
static void a_delayed_leaf_does_not_delay_discards(void **state)
{
	(void)state;
	setup_rivals();
	ioband_core_charge_discard(&core, &writer, MIB);
	core.below.apart = 1;
	writer.apart_dirs = 1 << IOBAND_DIR_WRITE;
	assert_false(ioband_core_may_discard(&core, &writer, 1));
	writer.apart_dirs = 0;
	list_move(&reader.below, &core.below.leaves);
	reader.apart_dirs = 1 << IOBAND_DIR_WRITE;
	assert_false(ioband_core_may_discard(&core, &writer, 1));
	reader.apart_dirs = 1 << IOBAND_DIR_READ;
	assert_true(ioband_core_may_discard(&core, &writer, 1));
}

/* The slice of another leaf does not wait for a discard at a device that does not answer. */
static void a_discard_of_a_silent_device_ends_no_slices(void **state)
{
	static const struct ioband_bill trim = { .dir = IOBAND_DIR_WRITE, .no_data = true };
	struct ioband_stall_dev silent, healthy;
	struct ioband_stall stall;
	u64 wake_ns;

	(void)state;
	ioband_core_init(&core);
	ioband_core_set_slice(&core, 100 * MSEC, false, 1);
	ioband_tree_init_leaf(&writer, &core.root, 100);
	ioband_tree_init_leaf(&reader, &core.root, 100);
	ioband_stall_init(&stall);
	ioband_stall_add(&silent, &stall);
	ioband_stall_add(&healthy, &stall);
	ioband_core_wait(&core, &writer, IOBAND_DIR_WRITE, 1);
	assert_ptr_equal(ioband_core_pick(&core, 1, &wake_ns), &writer);
	ioband_core_admit(&core, &writer, &trim, 0, 1);
	silent.extra_ios++;
	ioband_stall_admit(&silent, 1);
	ioband_core_wait(&core, &reader, IOBAND_DIR_READ, 600 * MSEC);
	assert_null(ioband_core_pick(&core, 600 * MSEC, &wake_ns));
	ioband_stall_look(&stall, 4, true, true, 600 * MSEC);
	ioband_stall_apply(&stall, &core, 4);
	assert_int_equal(core.limit_ios, 2);	/* the discard counts once */
	assert_ptr_equal(ioband_core_pick(&core, 600 * MSEC, &wake_ns), &reader);
}

/* A minimum that is due goes before shares, also while none of its bios is shown to the core. */
static void a_minimum_that_is_due_discards(void **state)
{
	static const struct ioband_rates rates = { .bytes[IOBAND_DIR_WRITE] = MIB };
	struct ioband_min minimum;

	(void)state;
	setup_rivals();
	ioband_core_charge_discard(&core, &writer, MIB);
	assert_false(ioband_core_may_discard(&core, &writer, 1));
	ioband_min_init(&minimum);
	ioband_min_set(&core, &writer.ent, &minimum, &rates, 1, 1);
	assert_true(ioband_core_may_discard(&core, &writer, 1));
	ioband_min_remove(&core, &writer.ent);
}

/* A reader that waits to discard keeps its think time, and so its place. */
static void the_wait_of_a_discard_is_no_think_time(void **state)
{
	u64 wake_ns, think_ns;

	(void)state;
	setup_rivals();
	ioband_core_complete(&core, &reader, &small_read, 1000);
	ioband_core_wait(&core, &reader, IOBAND_DIR_READ, 11000);
	think_ns = reader.think_ns;
	assert_int_equal(think_ns, 2000);	/* a fifth of a gap of 10 us */
	assert_ptr_equal(ioband_core_pick(&core, 11000, &wake_ns), &reader);
	ioband_core_admit(&core, &reader, &small_read, 0, 11000);
	ioband_core_complete(&core, &reader, &small_read, 12000);
	ioband_core_wait_again(&core, &reader, SECOND);
	assert_int_equal(reader.think_ns, think_ns);
	assert_int_equal(reader.state, IOBAND_LEAF_BACKLOGGED);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(splits_take_the_time_of_the_essay),
		TEST(splits_take_the_same_time_everywhere),
		TEST(a_fixed_cost_keeps_splits_large),
		TEST(a_large_size_is_found_soon),
		TEST(splits_consist_of_granules),
		TEST(a_device_may_change),
		TEST(small_discards_are_measured),
		TEST(the_cost_is_the_lost_service),
		TEST(the_rate_is_that_of_the_present_load),
		TEST(time_is_charged_once),
		TEST(discards_are_recent_for_a_while),
		TEST(bios_beside_discards_do_not_delay_these),
		TEST(the_wait_of_a_discard_is_no_think_time),
		TEST(a_delayed_leaf_does_not_delay_discards),
		TEST(a_discard_of_a_silent_device_ends_no_slices),
		TEST(a_minimum_that_is_due_discards),
	};

	return run_cases(cases, argc, argv);
}
