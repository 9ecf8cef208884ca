// SPDX-License-Identifier: GPL-2.0-only
/* explain's conclusions from figures: a small tree with known shares. */
#include <math.h>

#include "check.h"
#include "observe/explanation.h"

static int near(double got, double wanted)
{
	return fabs(got - wanted) < 0.001;
}

/*
 * tenant 300 (own I/O 100; web 200, db 100, idle 700), backup 100, root 100 (idle).
 * Service: tenant 10, web 30, db 20, backup 40.
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

/* Counters of looks are totals since the start, and are not used. */
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

	explain_measure(&pool, &groups[4], &it);	/* idle: its share if it were active */
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
	/* Without a rival, I/O is not queued because of a weight. */
	CHECK(judge(10, 100, 100, 0) == VERDICT_DEVICE);
	/* No I/O was done yet, but some is queued. */
	CHECK(explain_judge(&it) == VERDICT_DEMAND);
	it.held_looks = 0;
	CHECK(explain_judge(&it) == VERDICT_IDLE);
	/* The group's part of the time is unknown. */
	it = (struct explanation){ .done.ios = 1, .looks = 2, .held_looks = 2,
				   .entitled_pct = 50, .rivals = 1,
				   .by_time = true };
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
}

/* With or without rivals; not in a few samples, nor instead of a maximum that is reached. */
void test_explain_below(void)
{
	struct explanation it = {
		.done.ios = 1, .looks = 10, .held_looks = 10, .busy_pct = 100,
		.below_looks = 5, .rivals = 1,
	};

	CHECK(explain_judge(&it) == VERDICT_BELOW);
	it.rivals = 0;
	CHECK(explain_judge(&it) == VERDICT_BELOW);
	it.below_looks = 4;
	CHECK(explain_judge(&it) == VERDICT_DEVICE);

	looks[0][0].below = 1;
	explain_measure(&pool, &groups[2], &it);
	CHECK(it.below_looks == 1);
	explain_free(&it);
	explain_measure(&pool, &groups[5], &it);
	CHECK(!it.below_looks);
	explain_free(&it);
	looks[0][0].below = 0;
}

static void clear(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i].bounds = bounds_none;
}

static void set(int group, enum bound bound, const struct rates rates)
{
	groups[group].bounds.of[bound] = rates;
}

#define RATES_OF(...) ((const struct rates){ .rate = { __VA_ARGS__ } })

/* 0.5 s; tenant did 10 + 30 + 20 bytes of reads and writes; 20 and 10 are web's. */
void test_explain_maxima(void)
{
	struct explanation it;
	const struct explain_bounds *max = &it.bound[MAXIMUM];

	set(1, MAXIMUM, RATES_OF(100, 25, 0, 0));
	set(2, MAXIMUM, RATES_OF(0, 0, 400, 0));
	explain_measure(&pool, &groups[2], &it);
	CHECK(max->n == 3 && !max->v[2].counts && !it.bound[MINIMUM].n);
	/* Reads: tenant 10 + 20 + 20 of 50; web's reads are queued, the others are not. */
	CHECK(max->v[0].group == &groups[1] && max->v[0].rate == RBPS);
	CHECK(near(max->v[0].per_s, 100) && near(max->v[0].used_pct, 100));
	CHECK(max->v[0].counts);
	/* Writes: a bio of 10 bytes with 12.5 permitted; the rest is too small for another. */
	CHECK(max->v[1].rate == WBPS && near(max->v[1].used_pct, 80));
	CHECK(max->v[1].counts);
	CHECK(max->v[2].group == &groups[2] && max->v[2].rate == RIOPS);
	CHECK(near(max->v[2].per_s, 4) && near(max->v[2].used_pct, 1));
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	explain_free(&it);

	set(1, MAXIMUM, RATES_OF(200, 25, 0, 0));
	explain_measure(&pool, &groups[3], &it);	/* db: none of its I/O was queued */
	CHECK(max->n == 2 && !max->v[0].counts && !max->v[1].counts);
	CHECK(explain_judge(&it) != VERDICT_MAXIMUM);
	explain_free(&it);

	done[2].op[READ].held_ios = 1;	/* now its single I/O was queued */
	set(1, MAXIMUM, RATES_OF(100, 25, 0, 0));
	explain_measure(&pool, &groups[3], &it);
	CHECK(max->v[0].counts && explain_judge(&it) == VERDICT_MAXIMUM);
	explain_free(&it);
	done[2].op[READ].held_ios = 0;

	/* A discard counts as a write of a MiB at most. */
	set(1, MAXIMUM, RATES_OF(0, 4 << 20, 0, 8));
	done[0].op[DISCARD] = (struct op_stats){ .ios = 1, .bytes = 1 << 30 };
	explain_measure(&pool, &groups[1], &it);
	CHECK(max->v[0].rate == WBPS || max->v[1].rate == WBPS);
	CHECK(near(max->v[max->v[1].rate == WBPS].per_s, 2 * ((1 << 20) + 10)));
	CHECK(near(max->v[max->v[1].rate == WIOPS].per_s, 4));
	explain_free(&it);
	done[0].op[DISCARD] = (struct op_stats){ .ios = 0 };
	clear();
	explain_measure(&pool, &groups[2], &it);
	CHECK(!max->n);
	explain_free(&it);
}

void test_explain_held_by_maximum(void)
{
	struct explain_bound limit = { .group = &groups[1], .used_pct = 20 };
	struct explanation it = {
		.done.ios = 1, .looks = 10, .held_looks = 5, .share_pct = 50,
		.entitled_pct = 50, .bound[MAXIMUM] = { &limit, 1 },
	};

	/* Without other I/O only a maximum can keep I/O queued. */
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	it.held_looks = 4;
	CHECK(explain_judge(&it) == VERDICT_DEMAND);
	it.held_looks = 5;
	it.rivals = 1;
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
	limit.counts = true;
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	limit.counts = false;
	it.share_pct = 40;
	CHECK(explain_judge(&it) == VERDICT_SHORT);
	limit.used_pct = 75;
	CHECK(explain_judge(&it) == VERDICT_MAXIMUM);
	it.done.ios = 0;
	it.held_looks = 0;
	CHECK(explain_judge(&it) == VERDICT_IDLE);
}

/* web has I/O queued at every look, and db at one. */
static struct group_stats waiting[2][2] = {
	{ { .seq = 3, .held = { 4, 40 } }, { .seq = 4, .held = { 1, 10 } } },
	{ { .seq = 3, .held = { 4, 40 } }, { .seq = 6, .inflight = 1 } },
};

static const struct observation busy_pool = {
	.speaker = &speaker,
	.delta = { .ns = NS_PER_S / 2, .groups = { groups, 6 },
		   .stats = { done, 5 } },
	.look = { { waiting[0], 2 }, { waiting[1], 2 } },
	.n = 2,
};

/* The minimum of web is 50 bytes in 0.5 s; it read 20, in two I/Os. */
void test_explain_minima(void)
{
	struct explanation it;
	const struct explain_bounds *min = &it.bound[MINIMUM];

	set(1, MINIMUM, RATES_OF(100, 0, 0, 0));
	set(2, MINIMUM, RATES_OF(100, 10, 4, 0));
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(min->n == 4 && !it.bound[MAXIMUM].n);
	CHECK(min->v[0].rate == WBPS && min->v[0].reach == REACH_AT);
	CHECK(near(min->v[0].used_pct, 200));
	CHECK(min->v[3].group == &groups[2] && min->v[3].rate == RBPS);
	CHECK(min->v[3].reach == REACH_BELOW && near(min->v[3].used_pct, 40));
	/* I/O was queued, but its direction is unknown. */
	CHECK(!min->v[0].counts && explain_judge(&it) != VERDICT_UNMET);
	explain_free(&it);

	done[1].op[READ].wait_ns = NS_PER_S / 2;
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(min->v[0].counts && min->v[0].rate == RBPS);
	CHECK(min->v[0].group == &groups[2] && !min->v[1].counts);
	CHECK(explain_judge(&it) == VERDICT_UNMET);
	/* The minimum of web is part of the minimum of tenant. */
	CHECK(near(it.due_per_s, 100) && near(it.all_per_s, 180));
	explain_free(&it);

	/* A group without queued I/O gets no minimum. */
	set(1, MINIMUM, bounds_none.of[MINIMUM]);
	set(3, MINIMUM, RATES_OF(7, 0, 0, 0));
	set(5, MINIMUM, RATES_OF(1000, 0, 0, 0));
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(near(it.due_per_s, 107));
	explain_free(&it);

	/* No I/O of the group was queued at one of the looks, so it may get less. */
	explain_measure(&pool, &groups[2], &it);
	CHECK(!min->v[0].counts && !it.due_per_s);
	explain_free(&it);
	done[1].op[READ].wait_ns = 0;
	clear();
}

/* backup read 40 bytes, its weight gives it 25 %, in five I/Os. */
void test_explain_promised(void)
{
	struct explanation it;

	set(5, MINIMUM, RATES_OF(0, 0, 10, 0));
	set(1, MINIMUM, RATES_OF(0, 0, 10, 0));
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(it.n_promised == 1 && it.promised[0].group == &groups[5]);
	CHECK(near(it.promised[0].share_pct, 40));
	CHECK(near(it.promised[0].entitled_pct, 25));
	CHECK(explain_judge(&it) == VERDICT_PROMISED);
	explain_free(&it);

	set(5, MINIMUM, RATES_OF(0, 0, 7, 0));	/* the minimum needs less than it gets */
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(!it.n_promised && explain_judge(&it) == VERDICT_SHORT);
	explain_free(&it);

	set(5, MINIMUM, RATES_OF(0, 9, 0, 0));	/* the group does not write */
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(!it.n_promised);
	explain_free(&it);

	set(5, MINIMUM, RATES_OF(0, 0, 10, 0));
	groups[5].weight = 300;	/* the weight gives the same as it got */
	explain_measure(&busy_pool, &groups[2], &it);
	CHECK(!it.n_promised);
	explain_free(&it);
	groups[5].weight = 100;

	/* A group above or below with a larger share is no rival. */
	groups[1].weight = 100;
	set(2, MINIMUM, RATES_OF(0, 0, 4, 0));
	for (size_t i = 1; i <= 2; i++) {
		explain_measure(&busy_pool, &groups[i], &it);
		CHECK(it.bound[MINIMUM].v[0].reach == REACH_AT);
		CHECK(it.share_pct > it.entitled_pct && !it.n_promised);
		explain_free(&it);
	}
	groups[1].weight = 300;
	clear();
}

void test_explain_minimum(void)
{
	struct explain_bound minima[2] = {
		{ .group = &groups[1], .rate = RBPS, .reach = REACH_ABOVE },
		{ .group = &groups[2], .rate = RIOPS, .reach = REACH_AT },
	};
	struct explanation it = {
		.done.ios = 1, .looks = 10, .held_looks = 10, .share_pct = 60,
		.entitled_pct = 50, .rivals = 1,
		.bound[MINIMUM] = { minima, 2 },
	};

	CHECK(explain_judge(&it) == VERDICT_MINIMUM);
	CHECK(explain_at_minimum(&it) == &minima[1]);
	it.share_pct = 51;	/* as the weights give */
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
	it.share_pct = 60;
	minima[1].reach = REACH_BELOW;
	CHECK(!explain_at_minimum(&it) && explain_judge(&it) == VERDICT_WEIGHT);
	minima[0].counts = true;
	CHECK(explain_judge(&it) == VERDICT_UNMET);
	it.by_time = true;	/* a rate is independent of the measure */
	CHECK(explain_judge(&it) == VERDICT_UNMET);
	minima[0].counts = false;
	minima[1].reach = REACH_AT;
	CHECK(explain_judge(&it) == VERDICT_WEIGHT);
	it.by_time = false;
	it.rivals = 0;	/* no rivals: the device is the limit */
	it.busy_pct = 100;
	CHECK(explain_judge(&it) == VERDICT_DEVICE);
}
