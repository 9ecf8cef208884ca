// SPDX-License-Identifier: GPL-2.0-only
/* explain on latency targets: missed targets, and groups throttled for them. */
#include "check.h"
#include "observe/explanation.h"

#define MS (NS_PER_S / 1000)

/*
 * shop 100 (web 100 with a target of 2 ms), backup 100, root 100.  Reads of web took
 * 3 ms, own reads of shop 1 ms; backup reads and writes.
 */
static struct ioband_group groups[] = {
	{ .seq = 1, .name = "root", .weight = 100 },
	{ .seq = 2, .parent = 1, .name = "cgroup#2", .weight = 100 },
	{ .seq = 3, .parent = 2, .name = "cgroup#3", .weight = 100 },
	{ .seq = 4, .parent = 1, .name = "cgroup#4", .weight = 100 },
	{ .seq = 5, .parent = 1, .name = "cgroup#5", .weight = 100 },
};

static struct group_stats done[] = {
	{ .seq = 2, .op = { { .ios = 30, .bytes = 30, .service_ns = 30 * MS } } },
	{ .seq = 3, .op = { { .ios = 10, .bytes = 10, .wait_ns = 10 * MS,
			      .service_ns = 20 * MS },
			    { .ios = 1, .wait_ns = NS_PER_S } } },
	{ .seq = 4, .op = { { .ios = 10, .bytes = 10, .service_ns = 60 * MS },
			    { .ios = 50, .bytes = 50 } } },
};

static struct group_stats look[] = {
	{ .seq = 4, .held = { 4, 40 } }, { .seq = 3, .held = { 1, 1 } },
};

static struct ioband_device speaker = { .table.measure = "bytes" };
static struct observation pool = {
	.speaker = &speaker,
	.delta = { .ns = NS_PER_S, .groups = { groups, 5 }, .stats = { done, 3 } },
	.look = { { look, 2 } },
	.n = 1,
};

static void aim(size_t group, unsigned int us)
{
	for (size_t i = 0; i < 5; i++)
		groups[i].bounds.latency_us[0] = 0;
	groups[group].bounds.latency_us[0] = us;
}

/* A target is for the reads of a group and all below it, or of the whole pool. */
void test_explain_targets(void)
{
	struct explanation it;

	pool.brake_bytes_per_s = 0;
	aim(2, 2000);
	explain_measure(&pool, &groups[2], &it);
	CHECK(it.n_targets == 1 && it.target[0].group == &groups[2]);
	CHECK(it.target[0].own && it.target[0].late && !it.target[0].of_pool);
	CHECK(it.target[0].reads == 10 && it.target[0].avg_ns == 3 * MS);
	CHECK(it.target[0].used_pct == 150 && !it.braking);
	explain_free(&it);
	aim(2, 3000);
	explain_measure(&pool, &groups[1], &it);	/* a group above */
	CHECK(!it.target[0].own && !it.target[0].late);
	explain_free(&it);
	aim(1, 1000);
	explain_measure(&pool, &groups[2], &it);	/* a group below: 60 ms for 40 reads */
	CHECK(it.target[0].own && it.target[0].reads == 40);
	CHECK(it.target[0].avg_ns == 3 * MS / 2 && it.target[0].late);
	explain_free(&it);
	aim(0, 1000);
	explain_measure(&pool, &groups[3], &it);	/* 120 ms for 50 reads */
	CHECK(it.target[0].own && it.target[0].of_pool);
	CHECK(it.target[0].reads == 50 && it.target[0].avg_ns == 12 * MS / 5);
	explain_free(&it);
	aim(4, 1000);
	explain_measure(&pool, &groups[3], &it);	/* of a group without reads */
	CHECK(it.n_targets == 1 && !it.target[0].reads && !it.target[0].late);
	explain_free(&it);
}

/* Reads delayed by a maximum, of the group or of one above, do not show a missed target. */
void test_explain_capped(void)
{
	struct rates *web = &groups[2].bounds.of[MAXIMUM];
	struct rates *shop = &groups[1].bounds.of[MAXIMUM];
	struct rates *root = &groups[0].bounds.of[MAXIMUM];
	struct explanation it;

	pool.brake_bytes_per_s = 1;
	aim(2, 2000);
	web->rate[RBPS] = 10;
	explain_measure(&pool, &groups[3], &it);
	CHECK(it.target[0].capped && !it.target[0].late && !it.target[0].used_pct);
	CHECK(it.target[0].reads == 10 && !it.braking && !it.braked);
	explain_free(&it);
	web->rate[RBPS] = 1000;	/* of which the group uses little */
	explain_measure(&pool, &groups[3], &it);
	CHECK(!it.target[0].capped && it.target[0].late && it.braking);
	explain_free(&it);
	aim(1, 1000);	/* 30 ms for 30 reads, without web's */
	explain_measure(&pool, &groups[3], &it);
	CHECK(it.target[0].reads == 30 && it.target[0].avg_ns == MS);
	explain_free(&it);
	aim(0, 1000);	/* and 60 ms for 10 reads */
	explain_measure(&pool, &groups[3], &it);
	CHECK(it.target[0].reads == 40 && it.target[0].avg_ns == 9 * MS / 4);
	explain_free(&it);
	web->rate[RBPS] = 0;
	aim(2, 2000);
	shop->rate[RIOPS] = 40;
	explain_measure(&pool, &groups[3], &it);
	CHECK(it.target[0].capped && it.target[0].reads == 10);
	explain_free(&it);
	shop->rate[RIOPS] = 0;
	/* The root's maximum is for the root's own reads, and does not affect the pool's target. */
	aim(0, 1000);
	root->rate[RIOPS] = 1;
	done[0].seq = 1;
	explain_measure(&pool, &groups[3], &it);
	CHECK(!it.target[0].capped && it.target[0].reads == 20);
	explain_free(&it);
	done[0].seq = 2;
	root->rate[RIOPS] = 0;
}

/* Whether a group is throttled for a target. */
static bool is_held(size_t group, unsigned int brake)
{
	struct explanation it;
	bool is;

	pool.brake_bytes_per_s = brake;
	explain_measure(&pool, &groups[group], &it);
	is = it.braked;
	CHECK((explain_judge(&it) == VERDICT_BRAKE) ==
	      (is && explain_is_held(&it)));
	CHECK(!is || it.braking == it.target);
	explain_free(&it);
	return is;
}

void test_explain_brake(void)
{
	aim(2, 2000);
	CHECK(is_held(3, 1000) && !is_held(3, 0));
	CHECK(!is_held(2, 1000));	/* the throttle is for this group */
	CHECK(is_held(1, 1000));	/* which is below this one */
	/* The throttle holds the target, so it may look met. */
	aim(2, 3000);
	CHECK(is_held(3, 1000));
	/* A group without reads misses no target. */
	groups[4].bounds.latency_us[0] = 1;
	CHECK(is_held(3, 1000) && !is_held(2, 1000));
	aim(4, 1);
	CHECK(!is_held(3, 1000));
	/* For one group others are throttled, also at 6 and 7.5 times their targets. */
	aim(2, 400);
	groups[3].bounds.latency_us[0] = 1000;
	CHECK(is_held(3, 1000) && !is_held(2, 1000));
	groups[2].bounds.latency_us[0] = 600;
	groups[1].weight = 10;
	CHECK(!is_held(3, 1000) && is_held(2, 1000));
	groups[1].weight = 100;
	/* The pool's target throttles writes, also of groups that miss their targets. */
	aim(0, 1000);
	CHECK(is_held(3, 1000) && is_held(2, 1000) && is_held(1, 1000));
	CHECK(!is_held(4, 1000));
	groups[2].bounds.latency_us[0] = 2000;
	CHECK(is_held(2, 1000));
	groups[2].bounds.latency_us[0] = 200;
	CHECK(!is_held(2, 1000) && is_held(3, 1000));
	aim(0, 0);
	CHECK(!is_held(3, 1000));
}

/* A group that got less than its weight is not throttled: at the root shop got 40 of 100. */
void test_explain_behind(void)
{
	struct ioband_group *backup = &groups[3];

	aim(2, 2000);
	backup->weight = 155;	/* within a twentieth */
	CHECK(is_held(3, 1000));
	backup->weight = 160;
	CHECK(!is_held(3, 1000));
	speaker.table = (struct ioband_table){ .measure = "time" };
	CHECK(is_held(3, 1000));
	speaker.table = (struct ioband_table){ .measure = "bytes" };
	/* In shop, web got 10. */
	backup->parent = 2;
	CHECK(is_held(3, 1000));
	backup->weight = 640;
	CHECK(!is_held(3, 1000));
	backup->parent = 1;
	/* The pool's target throttles every group with writes. */
	aim(0, 1000);
	CHECK(is_held(3, 1000));
	backup->weight = 100;
}
