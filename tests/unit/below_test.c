// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios that only their own leaf has to wait for: policies below the scheduler, and devices on which
 * all leaves wait.
 */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "cases.h"
#include "scene.h"

#define SECOND		((u64)NSEC_PER_SEC)

/* For the search for a limit, while the policy is in force. */
#define SETTLE_NS	(4 * SECOND)

static struct scene scene;
static struct sim_delay delay, delays[8];
static struct sim_device slow;

static const struct sim_workload deep = { .depth = 64, .bytes = 4096 };
static const struct sim_workload one = { .depth = 1, .bytes = 4096 };
static const struct sim_workload writes = { .depth = 64, .bytes = 4096, .write_pct = 100 };

static struct scene_group *a, *b;

/* The policy delays the I/Os of group a, and not those of b. */
static void setup(const char *device, enum sim_control control, const struct sim_workload *of_a,
		  const struct sim_workload *of_b)
{
	scene_init_auto(&scene, device, control);
	if (control == SIM_FIXED)
		ioband_core_set_limit(&scene.pool.core, 64, 0);
	delay_init(&delay, &scene.clock);
	a = scene_add_leaf(&scene, SCENE_ROOT, 100);
	a->sim.delay = &delay;
	b = scene_add_leaf(&scene, SCENE_ROOT, 100);
	scene_load(&scene, a, of_a);
	scene_load(&scene, b, of_b);
}

/* So many I/Os of a leaf complete in a second. */
static double rate(const struct scene_group *leaf, u64 ns)
{
	const u64 before = leaf->sim.ios;

	scene_run(&scene, ns);
	return (leaf->sim.ios - before) * 1e9 / ns;
}

static const char *const devices[] = { "volume2", "volume64", "flash", "nvme" };

/* The rate of b without control, beside the same a. */
static double free_rate(const char *device, const struct sim_workload *work, u64 interval_ns)
{
	double ios;

	setup(device, SIM_NONE, &deep, work);
	delay.interval_ns = interval_ns;
	ios = rate(b, SECOND);
	scene_free(&scene);
	return ios;
}

static void others_keep_the_device(enum sim_control control, const struct sim_workload *work,
				   u32 a_rate)
{
	const u64 interval_ns = NSEC_PER_SEC / a_rate;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		const double due = free_rate(devices[i], work, interval_ns);
		double got, a_got;

		setup(devices[i], control, &deep, work);
		delay.interval_ns = interval_ns;
		scene_run(&scene, SETTLE_NS);
		got = rate(b, 2 * SECOND);
		a_got = rate(a, 2 * SECOND);
		print_message("%s: %.1f of %.1f, a %.1f\n", devices[i], got, due, a_got);
		scene_free(&scene);
		assert_true(got > 0.9 * due);
		assert_true(a_got > 0.95 * a_rate);
	}
}

static void a_maximum_below_leaves_the_device_to_others(void **state)
{
	(void)state;
	others_keep_the_device(SIM_AUTO, &deep, 10);
}

static void a_maximum_below_leaves_the_device_to_a_reader(void **state)
{
	(void)state;
	others_keep_the_device(SIM_AUTO, &one, 10);
}

static void a_maximum_below_leaves_a_set_limit_to_others(void **state)
{
	(void)state;
	others_keep_the_device(SIM_FIXED, &deep, 10);
}

/* Reads wait below, and another group writes. */
static void writes_go_on_beside_reads_that_wait(void **state)
{
	(void)state;
	others_keep_the_device(SIM_FIXED, &writes, 10);
}

static void a_weight_below_decides(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const double due = free_rate(devices[i], &deep, NSEC_PER_SEC / 10);
		double got;

		setup(devices[i], SIM_AUTO, &deep, &deep);
		delay.others = 100;
		scene.pool.delay = &delay;
		scene_run(&scene, SETTLE_NS);
		got = rate(b, 4 * SECOND);
		print_message("%s: %.1f of %.1f, a %.1f\n", devices[i], got, due, rate(a, SECOND));
		scene_free(&scene);
		assert_true(got > 0.9 * due);
	}
}

/* The groups of a volume over two disks: the disk of group a is another one. */
static void setup_disks(const char *device, const char *of_a, double times)
{
	setup(device, SIM_AUTO, &deep, &deep);
	device_init(&slow, &scene.clock, sim_spec_find(of_a), NULL, NULL);
	slow.slow = times;
	pool_adopt(&scene.pool, &slow);
	delay.device = &slow;
}

static void a_slow_disk_of_a_volume_leaves_the_other(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		const double due = free_rate(devices[i], &deep, NSEC_PER_SEC / 10);
		double got, a_got;

		setup_disks(devices[i], "volume2", 100);
		scene_run(&scene, SETTLE_NS);
		got = rate(b, 2 * SECOND);
		a_got = rate(a, 4 * SECOND);
		print_message("%s: %.1f of %.1f, a %.1f\n", devices[i], got, due, a_got);
		scene_free(&scene);
		assert_true(got > 0.9 * due);
		assert_true(a_got > 9);
	}
}

/* Each of its bios in flight is of use: 64 in 64 ms. */
static void a_slow_disk_keeps_what_is_in_flight(void **state)
{
	double a_got;

	(void)state;
	setup_disks("volume64", "volume64", 64);
	scene_run(&scene, 3 * SETTLE_NS);
	a_got = rate(a, 2 * SECOND);
	print_message("a %.1f of 1000\n", a_got);
	assert_int_equal(scene.pool.core.below.apart, 1);
	scene_free(&scene);
	assert_true(a_got > 900);
}

/* A disk of a volume hangs, and has used up the limit; no other bio is in flight. */
static void a_disk_that_hangs_leaves_the_other(void **state)
{
	const double due = free_rate("volume2", &deep, NSEC_PER_SEC / 10);
	double got;

	(void)state;
	setup("volume2", SIM_AUTO, &deep, &deep);
	delay.interval_ns = NSEC_PER_SEC / 1000;
	scene_run(&scene, SECOND);
	delay.interval_ns = 1000 * SECOND;
	scene_run(&scene, 3 * SECOND / 2);
	got = rate(b, SECOND);
	print_message("%.1f of %.1f\n", got, due);
	scene_free(&scene);
	assert_true(got > 0.9 * due);
}

/* The policy ends: within a second the groups have equal shares. */
static void shares_are_right_without_the_policy(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		double got, a_got;

		setup(devices[i], SIM_AUTO, &deep, &deep);
		delay.interval_ns = NSEC_PER_SEC / 10;
		scene_run(&scene, SETTLE_NS);
		assert_int_equal(scene.pool.core.below.apart, 1);
		delay.interval_ns = 0;
		scene_run(&scene, SECOND);
		assert_int_equal(scene.pool.core.below.apart, 0);
		assert_int_equal(scene.pool.core.below.apart_ios, 0);
		got = b->sim.ios;
		a_got = rate(a, 2 * SECOND);
		got = (b->sim.ios - got) / 2;
		print_message("%s: %.1f, a %.1f\n", devices[i], got, a_got);
		scene_free(&scene);
		assert_true(a_got > 0.98 * got && a_got < 1.02 * got);
	}
}

/* So many groups, each with a maximum of its own below, have one limit. */
static void groups_that_are_apart_share_a_limit(void **state)
{
	const double due = free_rate("volume64", &deep, NSEC_PER_SEC / 10);
	struct scene_group *groups[ARRAY_SIZE(delays)];
	u32 i, most = 0;
	double got;

	(void)state;
	setup("volume64", SIM_FIXED, &one, &deep);
	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		delay_init(&delays[i], &scene.clock);
		delays[i].interval_ns = NSEC_PER_SEC / 10;
		groups[i] = scene_add_leaf(&scene, SCENE_ROOT, 1000);
		groups[i]->sim.delay = &delays[i];
		scene_load(&scene, groups[i], &deep);
	}
	scene_run(&scene, 4 * SETTLE_NS);
	for (i = 0; i < 1000; i++) {
		scene_run(&scene, NSEC_PER_MSEC / 10);
		most = max(most, scene.pool.core.inflight_ios);
		assert_true(ioband_tree_counted_ios(&scene.pool.core) <= 64);
	}
	got = rate(b, SECOND);
	print_message("%.1f of %.1f, in flight %u\n", got, due, most);
	assert_int_equal(scene.pool.core.below.apart, ARRAY_SIZE(delays));
	assert_in_range(most, 64, 2 * 64);
	for (i = 0; i < ARRAY_SIZE(delays); i++)
		assert_in_range(groups[i]->sim.leaf.inflight, 7, 8);
	scene_free(&scene);
	assert_true(got > 0.9 * due);
}

/*
 * A device with a maximum of its own for windows of 20 ms.  The weights are those of groups that
 * differ in the number of their bios in flight; some have none in flight at the end of a window.
 */
static void a_device_that_is_throttled_has_its_shares(void **state)
{
	static const u32 limits[] = { 1, 2, 3, 4, 7, 16, 64 };
	static const u32 weights[] = { 200, 100, 600, 1 };
	static const struct sim_workload many = { .depth = 256, .bytes = 4096 };
	struct scene_group *groups[ARRAY_SIZE(weights)];
	u32 i, j, window;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		scene_init(&scene, "volume64", limits[i], IOBAND_MEASURE_BYTES);
		for (j = 0; j < ARRAY_SIZE(weights); j++)
			groups[j] = scene_add_loaded(&scene, SCENE_ROOT, weights[j], &many);
		for (window = 0; window < 500; window++) {
			scene.pool.device.stalled_until_ns = scene.clock.now_ns +
				(window % 50 ? 15 : 300) * NSEC_PER_MSEC;
			scene_run(&scene, window % 50 ? 20 * NSEC_PER_MSEC : 300 * NSEC_PER_MSEC);
			if (!window)
				scene_mark(&scene);
			assert_int_equal(scene.pool.core.below.apart, 0);
		}
		for (j = 0; j < ARRAY_SIZE(weights); j++) {
			const double due = weights[j] / 901.0;

			assert_true(scene_share(&scene, groups[j]) > due - 0.005);
			assert_true(scene_share(&scene, groups[j]) < due + 0.005);
		}
		scene_free(&scene);
	}
}

/* Neither does a difference of depth, size, direction or weight on any device set a flow apart. */
static void no_flow_is_apart_without_a_reason(void **state)
{
	static const char *const all[] = { "line", "wan", "cloud", "flash", "nvme", "volume",
					   "volume2", "volume64" };
	static const struct sim_workload large = { .depth = 64, .bytes = 1 << 20 };
	static const struct sim_workload *const works[] = { &deep, &one, &large, &one, &one };
	u32 i, j, ms;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		scene_init_auto(&scene, all[i], SIM_AUTO);
		for (j = 0; j < ARRAY_SIZE(works); j++)
			scene_add_loaded(&scene, SCENE_ROOT, 100 << j, works[j]);
		for (ms = 0; ms < 2000; ms += 5) {
			scene_run(&scene, 5 * NSEC_PER_MSEC);
			assert_int_equal(scene.pool.core.below.apart, 0);
		}
		scene_free(&scene);
	}
}

/* The submitter of a delayed bio gets a request: others have one bio less now and then. */
static void a_slot_is_empty_now_and_then(void **state)
{
	u32 i, empty = 0;

	(void)state;
	setup("volume64", SIM_FIXED, &deep, &deep);
	delay.interval_ns = NSEC_PER_SEC / 10;
	scene_run(&scene, 4 * SETTLE_NS);
	assert_int_equal(scene.pool.core.below.apart, 1);
	for (i = 0; i < 1000; i++) {
		scene_run(&scene, 10 * NSEC_PER_USEC);
		empty += ioband_tree_counted_ios(&scene.pool.core) < 64;
		assert_in_range(ioband_tree_counted_ios(&scene.pool.core), 63, 64);
	}
	scene_free(&scene);
	assert_in_range(empty, 100, 900);
}

/* The pool does not open meanwhile; it does when the delayed group does nothing any more. */
static void the_pool_opens_afterwards(void **state)
{
	static const struct sim_workload light = {
		.depth = 1,
		.bytes = 4096,
		.think_ns = 2 * NSEC_PER_MSEC,
	};

	(void)state;
	setup("volume64", SIM_AUTO, &deep, &light);
	delay.interval_ns = NSEC_PER_SEC / 10;
	scene_run(&scene, SETTLE_NS);
	assert_int_equal(scene.pool.core.below.apart, 1);
	assert_false(scene.pool.open);
	scene_stop(&scene, a);
	scene_run(&scene, 20 * SECOND);
	assert_int_equal(scene.pool.core.below.apart, 0);
	assert_true(list_empty(&a->sim.leaf.below));
	assert_true(scene.pool.open);
	scene_free(&scene);
}

/* The delayed group is alone at first, and the pool is open: its bios are all in flight. */
static void bios_of_the_open_state_do_not_count_for_long(void **state)
{
	static const struct sim_workload many = { .depth = 1000, .bytes = 4096 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		const double due = free_rate(devices[i], &deep, NSEC_PER_SEC / 10);
		double got;

		scene_init_auto(&scene, devices[i], SIM_AUTO);
		delay_init(&delay, &scene.clock);
		delay.interval_ns = NSEC_PER_SEC / 10;
		a = scene_add_loaded(&scene, SCENE_ROOT, 100, &many);
		a->sim.delay = &delay;
		scene_run(&scene, SECOND);
		assert_true(scene.pool.open && scene.pool.open_inflight == 1000);
		b = scene_add_loaded(&scene, SCENE_ROOT, 100, &deep);
		scene_run(&scene, SETTLE_NS);
		got = rate(b, 2 * SECOND);
		print_message("%s: %.1f of %.1f\n", devices[i], got, due);
		scene_free(&scene);
		assert_true(got > 0.9 * due);
	}
}

/* A minimum of the leaf that waits, below or above its rate, takes no slots of others. */
static void a_minimum_leaves_the_device_to_others(void **state)
{
	static const u32 least[] = { 5, 20 };
	struct ioband_min minimum;
	u32 i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		for (j = 0; j < ARRAY_SIZE(least); j++) {
			const struct ioband_rates rates = { .ios = { least[j] } };
			const double due = free_rate(devices[i], &deep, SECOND / 10);
			double got, a_got;

			setup(devices[i], SIM_AUTO, &deep, &deep);
			ioband_min_init(&minimum);
			ioband_min_set(&scene.pool.core, &a->sim.leaf.ent, &minimum, &rates, 0, 0);
			delay.interval_ns = SECOND / 10;
			scene_run(&scene, 2 * SETTLE_NS);
			got = rate(b, SECOND);
			a_got = rate(a, 2 * SECOND);
			print_message("%s, %u: %.1f of %.1f, a %.1f\n", devices[i], least[j], got,
				      due, a_got);
			scene_free(&scene);
			assert_true(got > 0.9 * due);
			assert_true(a_got > 9.5);
		}
}

/* Neither does the minimum of a third leaf hide the flow that waits. */
static void a_minimum_of_others_hides_no_flow(void **state)
{
	static const struct ioband_rates rates = { .ios = { 100 } };
	static const struct sim_workload few = { .depth = 4, .bytes = 4096 };
	struct scene_group *c;
	struct ioband_min minimum;
	double due, got;

	(void)state;
	due = free_rate("volume64", &deep, SECOND / 10);
	setup("volume64", SIM_AUTO, &deep, &deep);
	c = scene_add_loaded(&scene, SCENE_ROOT, 1, &few);
	ioband_min_init(&minimum);
	ioband_min_set(&scene.pool.core, &c->sim.leaf.ent, &minimum, &rates, 0, 0);
	delay.interval_ns = SECOND / 10;
	scene_run(&scene, 2 * SETTLE_NS);
	got = rate(b, 2 * SECOND);
	assert_true(got > 0.85 * due);
	assert_true(rate(c, 2 * SECOND) > 95);
	scene_free(&scene);
}

/* A disk of a volume hangs, with a minimum in the pool: one bio is tried all the same. */
static void a_minimum_stops_no_probe(void **state)
{
	static const struct ioband_rates rates = { .ios = { 5 } };
	struct scene_group *idle;
	struct ioband_min minimum;

	(void)state;
	setup("volume64", SIM_FIXED, &deep, &deep);
	idle = scene_add_leaf(&scene, SCENE_ROOT, 100);
	ioband_min_init(&minimum);
	ioband_min_set(&scene.pool.core, &idle->sim.leaf.ent, &minimum, &rates, 0, 0);
	delay.interval_ns = 100 * SECOND;
	scene_run(&scene, 2 * SETTLE_NS);
	assert_true(rate(b, SECOND) > 10000);
	scene_free(&scene);
}

/* The flow of a leaf in one direction is apart. */
static void set_apart(struct ioband_core *core, struct ioband_leaf *leaf, enum ioband_dir dir)
{
	leaf->apart_dirs |= 1 << dir;
	core->below.apart++;
	core->below.apart_ios += leaf->flows[dir].inflight;
}

static const struct ioband_bill read_bill = {
	.bytes = 4096,
	.charge = 4096,
	.dir = IOBAND_DIR_READ,
};

/* The caller looks for bios of dying tasks: it says which are queued, and none is removed. */
static void a_full_leaf_goes_on_after_a_look_at_its_queue(void **state)
{
	const u8 reads = 1 << IOBAND_DIR_READ;
	struct ioband_core core;
	struct ioband_leaf leaf;
	u64 wake_ns;

	(void)state;
	ioband_core_init(&core);
	ioband_core_set_limit(&core, 1, 0);
	ioband_tree_init_leaf(&leaf, &core.root, 100);
	set_apart(&core, &leaf, IOBAND_DIR_READ);
	ioband_core_wait(&core, &leaf, IOBAND_DIR_READ, 1);
	assert_ptr_equal(ioband_core_pick(&core, 1, &wake_ns), &leaf);
	ioband_core_admit(&core, &leaf, &read_bill, reads, 1);
	assert_int_equal(leaf.full_dirs, reads);
	ioband_core_set_limit(&core, 8, 0);
	ioband_core_withdraw(&core, &leaf, reads);
	/* After many trips of others, so that it stays apart. */
	core.below.trips.dir[IOBAND_DIR_READ] += 100;
	ioband_core_complete(&core, &leaf, &read_bill, 2);
	assert_ptr_equal(ioband_core_pick(&core, 2, &wake_ns), &leaf);
	ioband_core_admit(&core, &leaf, &read_bill, 0, 2);
	ioband_core_complete(&core, &leaf, &read_bill, 3);
	assert_int_equal(core.inflight_ios, 0);
	ioband_core_remove_leaf(&core, &leaf);
}

/* Bios of another leaf hang, and none of this one was ever in flight. */
static void a_leaf_that_was_never_served_is_tried(void **state)
{
	struct ioband_leaf hangs, waits;
	struct ioband_core core;
	u64 wake_ns;

	(void)state;
	ioband_core_init(&core);
	ioband_core_set_limit(&core, 1, 0);
	ioband_tree_init_leaf(&hangs, &core.root, 100);
	ioband_tree_init_leaf(&waits, &core.root, 100);
	ioband_core_wait(&core, &hangs, IOBAND_DIR_READ, 1);
	assert_ptr_equal(ioband_core_pick(&core, 1, &wake_ns), &hangs);
	ioband_core_admit(&core, &hangs, &read_bill, 0, 1);
	ioband_core_wait(&core, &waits, IOBAND_DIR_READ, 2);
	assert_null(ioband_core_pick(&core, 2, &wake_ns));
	ioband_below_look(&core, SECOND);
	/* A pick alone changes nothing: the caller may not be able to dispatch the bio. */
	assert_ptr_equal(ioband_core_pick(&core, SECOND, &wake_ns), &waits);
	assert_false(waits.probes);
	assert_ptr_equal(ioband_core_pick(&core, SECOND, &wake_ns), &waits);
	ioband_core_admit(&core, &waits, &read_bill, 0, SECOND);
	assert_true(waits.probes);
	ioband_core_complete(&core, &waits, &read_bill, SECOND + 1);
	ioband_core_complete(&core, &hangs, &read_bill, SECOND + 2);
	/* A bio within the limit is no such bio. */
	ioband_core_wait(&core, &waits, IOBAND_DIR_READ, 2 * SECOND);
	assert_ptr_equal(ioband_core_pick(&core, 2 * SECOND, &wake_ns), &waits);
	ioband_core_admit(&core, &waits, &read_bill, 0, 2 * SECOND);
	assert_false(waits.probes);
	ioband_core_complete(&core, &waits, &read_bill, 2 * SECOND + 1);
	ioband_core_remove_leaf(&core, &hangs);
	ioband_core_remove_leaf(&core, &waits);
}

static void check_none_apart(void)
{
	const struct ioband_below *below = &scene.pool.core.below;

	assert_int_equal(below->apart, 0);
	assert_int_equal(below->apart_ios, 0);
	assert_int_equal(below->flows, 1);
}

/* Nothing is left of a leaf that is removed, nor with slices. */
static void it_ends(void **state)
{
	(void)state;
	setup("volume2", SIM_AUTO, &deep, &deep);
	delay.interval_ns = NSEC_PER_SEC / 10;
	scene_run(&scene, SETTLE_NS);
	assert_int_equal(scene.pool.core.below.apart, 1);
	scene_stop(&scene, a);
	while (!scene_is_done(a))
		scene_run(&scene, NSEC_PER_MSEC / 10);
	scene_remove(&scene, a);
	check_none_apart();
	scene_free(&scene);

	setup("volume2", SIM_AUTO, &deep, &deep);
	delay.interval_ns = NSEC_PER_SEC / 10;
	scene_run(&scene, SETTLE_NS);
	assert_int_equal(scene.pool.core.below.apart, 1);
	scene.pool.slice_ns = 100 * NSEC_PER_MSEC;
	scene_run(&scene, SECOND / 20);
	assert_int_equal(scene.pool.core.below.apart, 0);
	assert_int_equal(scene.pool.core.below.apart_ios, 0);
	scene_free(&scene);
}

int main(int argc, char **argv)
{
	const test_case cases[] = {
		TEST(a_maximum_below_leaves_the_device_to_others),
		TEST(a_maximum_below_leaves_the_device_to_a_reader),
		TEST(a_maximum_below_leaves_a_set_limit_to_others),
		TEST(writes_go_on_beside_reads_that_wait),
		TEST(a_weight_below_decides),
		TEST(a_slow_disk_of_a_volume_leaves_the_other),
		TEST(a_slow_disk_keeps_what_is_in_flight),
		TEST(a_disk_that_hangs_leaves_the_other),
		TEST(shares_are_right_without_the_policy),
		TEST(groups_that_are_apart_share_a_limit),
		TEST(a_device_that_is_throttled_has_its_shares),
		TEST(no_flow_is_apart_without_a_reason),
		TEST(a_slot_is_empty_now_and_then),
		TEST(the_pool_opens_afterwards),
		TEST(bios_of_the_open_state_do_not_count_for_long),
		TEST(a_minimum_leaves_the_device_to_others),
		TEST(a_minimum_of_others_hides_no_flow),
		TEST(a_minimum_stops_no_probe),
		TEST(a_full_leaf_goes_on_after_a_look_at_its_queue),
		TEST(a_leaf_that_was_never_served_is_tried),
		TEST(it_ends),
	};

	return run_cases(cases, argc, argv);
}
