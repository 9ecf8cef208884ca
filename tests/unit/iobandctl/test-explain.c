// SPDX-License-Identifier: GPL-2.0-only
/* What explain makes of figures: a small tree whose shares are known. */
#include <math.h>

#include "check.h"
#include "explain.h"

static int near(double got, double wanted)
{
	return fabs(got - wanted) < 0.001;
}

/*
 * tenant 300 (own I/O 100; web 200, db 100, idle 700), backup 100, root 100 (idle).
 * What was done: tenant 10, web 30, db 20, backup 40.
 */
static struct ioband_group groups[] = {
	{ .seq = 1, .name = "root", .weight = 100 },
	{ .seq = 2, .parent = 1, .name = "cgroup#2", .weight = 300 },
	{ .seq = 3, .parent = 2, .name = "cgroup#3", .weight = 200 },
	{ .seq = 4, .parent = 2, .name = "cgroup#4", .weight = 100 },
	{ .seq = 5, .parent = 2, .name = "cgroup#5", .weight = 700 },
	{ .seq = 6, .parent = 1, .name = "cgroup#6", .weight = 100 },
};

static struct group_stats done[] = {
	{ .seq = 2, .op = { { .ios = 1, .bytes = 10 } } },
	{ .seq = 3, .op = { { .ios = 2, .bytes = 20, .service_ns = NS_PER_S / 4 },
			    { .ios = 1, .bytes = 10, .service_ns = NS_PER_S / 2 } } },
	{ .seq = 4, .op = { { .ios = 1, .bytes = 20 } } },
	{ .seq = 5 },
	{ .seq = 6, .op = { { .ios = 5, .bytes = 40 } } },
};

/* Counters of looks are of all that was ever done, and say nothing. */
static struct group_stats looks[2][2] = {
	{ { .seq = 3, .held = { 4, 40 } },
	  { .seq = 5, .op = { { .ios = 1 } } } },
	{ { .seq = 3, .inflight = 2 }, { .seq = 6, .inflight = 1 } },
};

static const struct ioband_device speaker = { .table.measure = "bytes" };
static const struct observation pool = {
	.speaker = &speaker,
	.delta = { .ns = NS_PER_S / 2, .groups = { groups, 6 },
		   .stats = { done, 5 } },
	.look = { { looks[0], 2 }, { looks[1], 2 } },
	.n = 2,
};

void test_explain_measures(void)
{
	struct explanation it;

	explain_measure(&pool, &groups[2], &it);	/* web */
	CHECK(it.seconds == 0.5 && it.levels == 2);
	CHECK(it.level[0].group == &groups[1]);
	CHECK(it.level[0].competing == 400 && it.level[0].rivals == 1);
	CHECK(it.level[1].group == &groups[2]);
	CHECK(it.level[1].competing == 400 && it.level[1].rivals == 2);
	CHECK(near(it.entitled_pct, 37.5) && it.rivals == 3);
	CHECK(near(it.share_pct, 30) && it.done.ios == 3);
	CHECK(it.looks == 2 && it.held_looks == 1 && it.busy_looks == 1);
	/* 0.75 s of service in 0.5 s, two at once. */
	CHECK(near(it.inflight_avg, 1.5) && near(it.busy_pct, 75));
	CHECK(it.others == 3 && it.other[0].group == &groups[5]);
	CHECK(near(it.other[0].share_pct, 40));
	CHECK(it.other[2].group == &groups[1]);
	explain_free(&it);

	explain_measure(&pool, &groups[1], &it);	/* tenant, and all below it */
	CHECK(near(it.entitled_pct, 75) && near(it.share_pct, 60));
	CHECK(it.levels == 1 && it.rivals == 1 && it.others == 1);
	CHECK(it.held_looks == 1 && it.busy_looks == 1);
	explain_free(&it);

	explain_measure(&pool, &groups[4], &it);	/* idle: what it would get */
	CHECK(near(it.entitled_pct, 75 * 700 / 1100.0) && !it.share_pct);
	CHECK(!it.done.ios && !it.held_looks && !it.busy_looks);
	CHECK(explain_judge(&it) == VERDICT_IDLE);
	explain_free(&it);
}

static enum verdict judge(unsigned int held, double busy_pct, double share,
			  size_t rivals)
{
	const struct explanation it = {
		.done.ios = 1, .looks = 10, .held_looks = held,
		.busy_pct = busy_pct, .share_pct = share, .entitled_pct = 50,
		.rivals = rivals,
	};

	return explain_judge(&it);
}

void test_explain_judges(void)
{
	struct explanation it = { .looks = 10, .held_looks = 1 };

	CHECK(judge(10, 100, 50, 1) == VERDICT_WEIGHT);
	CHECK(judge(10, 100, 48, 1) == VERDICT_WEIGHT);
	CHECK(judge(10, 100, 80, 1) == VERDICT_WEIGHT);
	CHECK(judge(5, 0, 50, 1) == VERDICT_WEIGHT);
	CHECK(judge(10, 100, 40, 1) == VERDICT_SHORT);
	CHECK(judge(4, 100, 50, 1) == VERDICT_DEVICE);
	CHECK(judge(0, 50, 10, 1) == VERDICT_DEVICE);
	CHECK(judge(0, 49, 10, 1) == VERDICT_DEMAND);
	/* What is held without a rival is not held because of a weight. */
	CHECK(judge(10, 100, 100, 0) == VERDICT_DEVICE);
	/* It did nothing yet, but it wants to. */
	CHECK(explain_judge(&it) == VERDICT_DEMAND);
	it.held_looks = 0;
	CHECK(explain_judge(&it) == VERDICT_IDLE);
	/* Nobody knows how much of the time it had. */
	it = (struct explanation){ .done.ios = 1, .looks = 2, .held_looks = 2,
				   .entitled_pct = 50, .rivals = 1,
				   .by_time = true };
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
}

/* 0.5 s; tenant did 10 + 30 + 20 bytes of reads and writes, web 20 and 10 of them. */
void test_explain_limits(void)
{
	struct explanation it;

	groups[1].max = (struct maximum){ .rate = { 100, 25, 0, 0 } };
	groups[2].max = (struct maximum){ .rate = { 0, 0, 400, 0 } };
	explain_measure(&pool, &groups[2], &it);
	CHECK(it.limits == 3 && !it.limit[2].reached);
	/* Reads: tenant 10 + 20 + 20 of 50; they are not held, but web is. */
	CHECK(it.limit[0].group == &groups[1] && it.limit[0].rate == RBPS);
	CHECK(near(it.limit[0].per_s, 100) && near(it.limit[0].used_pct, 100));
	CHECK(it.limit[0].reached);
	/* Writes: one of 10 bytes where 12.5 may go, and none of 2 more can. */
	CHECK(it.limit[1].rate == WBPS && near(it.limit[1].used_pct, 80));
	CHECK(it.limit[1].reached);
	CHECK(it.limit[2].group == &groups[2] && it.limit[2].rate == RIOPS);
	CHECK(near(it.limit[2].per_s, 4) && near(it.limit[2].used_pct, 1));
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	explain_free(&it);

	groups[1].max.rate[RBPS] = 200;
	explain_measure(&pool, &groups[3], &it);	/* db: nothing of its was held */
	CHECK(it.limits == 2 && !it.limit[0].reached && !it.limit[1].reached);
	CHECK(explain_judge(&it) != VERDICT_MAXIMUM);
	explain_free(&it);

	done[2].op[READ].held_ios = 1;	/* but now it was, of its one I/O */
	groups[1].max.rate[RBPS] = 100;
	explain_measure(&pool, &groups[3], &it);
	CHECK(it.limit[0].reached && explain_judge(&it) == VERDICT_MAXIMUM);
	explain_free(&it);
	done[2].op[READ].held_ios = 0;

	/* Of a discard no more than a MiB counts, as a write. */
	groups[1].max = (struct maximum){ .rate = { 0, 4 << 20, 0, 8 } };
	done[0].op[DISCARD] = (struct op_stats){ .ios = 1, .bytes = 1 << 30 };
	explain_measure(&pool, &groups[1], &it);
	CHECK(it.limit[0].rate == WBPS || it.limit[1].rate == WBPS);
	CHECK(near(it.limit[it.limit[1].rate == WBPS].per_s, 2 * ((1 << 20) + 10)));
	CHECK(near(it.limit[it.limit[1].rate == WIOPS].per_s, 4));
	explain_free(&it);
	done[0].op[DISCARD] = (struct op_stats){ .ios = 0 };
	groups[1].max = (struct maximum){ .rate = { 0 } };
	groups[2].max = groups[1].max;
	explain_measure(&pool, &groups[2], &it);
	CHECK(!it.limits);
	explain_free(&it);
}

void test_explain_held_by_maximum(void)
{
	struct explain_limit limit = { .group = &groups[1], .used_pct = 20 };
	struct explanation it = {
		.done.ios = 1, .looks = 10, .held_looks = 5, .share_pct = 50,
		.entitled_pct = 50, .limit = &limit, .limits = 1,
	};

	/* Nothing else holds what waits where nobody else does I/O. */
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	it.held_looks = 4;
	CHECK(explain_judge(&it) == VERDICT_DEMAND);
	it.held_looks = 5;
	it.rivals = 1;
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
	limit.reached = true;
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	limit.reached = false;
	it.share_pct = 40;
	CHECK(explain_judge(&it) == VERDICT_SHORT);
	limit.used_pct = 75;
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	it.done.ios = 0;
	it.held_looks = 0;
	CHECK(explain_judge(&it) == VERDICT_IDLE);
}
