// SPDX-License-Identifier: GPL-2.0-only
/* Weights of systemd and container tools as weights of ioband. */
#include "base/defs.h"
#include "check.h"
#include "watch/state.h"
#include "watch/weigh.h"

void test_weigh_files(void)
{
	static const struct {
		const char *io;
		const char *bfq;
		bool is_unit;
		unsigned long weight;
	} cases[] = {
		{ "default 100\n", "", false, 0 },
		{ "default 400\n", "", true, 400 },
		{ "default 10000\n", "default 1000\n", true, 10000 },
		{ "default 400\n", "default 127\n", true, 400 },
		{ "default 100\n", "default 500\n", false, 500 },
		{ "", "default 127\n", true, 402 },
		{ "", "127\n", false, 127 },
		{ "", "default 50\n", true, 50 },
		{ "", "default 100\n", true, 0 },
		{ "default 10001\n", "", false, 0 },
		{ "default 0\n", "", false, 0 },
		{ "default\n\nx y\n", "default 1001\n", false, 0 },
		{ "1\n", "", false, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asked asked = { .n = 0 };

		asked_read(&asked, cases[i].io, false, cases[i].is_unit);
		asked_read(&asked, cases[i].bfq, true, cases[i].is_unit);
		CHECK(asked.weight == cases[i].weight && !asked.n);
		asked_free(&asked);
	}
}

/* systemd's arithmetic, of which iobandctl has the inverse. */
static unsigned long systemd_bfq(unsigned long weight)
{
	return weight <= 100 ? weight : 100 + (weight - 100) * 900 / 9900;
}

void test_weigh_bfq(void)
{
	for (unsigned long weight = 1; weight <= 10000; weight++) {
		unsigned long bfq = systemd_bfq(weight), back = weigh_bfq(bfq);

		CHECK(systemd_bfq(back) == bfq);
		CHECK(back >= 1 && back <= 10000);
		CHECK(back + 11 > weight && back < weight + 11);
	}
	CHECK(weigh_bfq(5000) == 10000);
}

void test_weigh_devices(void)
{
	static const struct device_weight tree[] = {
		{ .major = 253, .minor = 5 }, { .major = 253, .minor = 0 },
		{ .major = 8, .minor = 0 },
	};
	struct asked asked = { .n = 0 };

	asked_read(&asked, "default 200\n8:16 50\n8:0 300\n", false, false);
	CHECK(asked.n == 2);
	CHECK(asked_on(&asked, tree, 3) == 300);
	CHECK(asked_on(&asked, tree, 2) == 200);
	asked_add(&asked, 253, 0, 7);
	CHECK(asked_on(&asked, tree, 2) == 7);
	CHECK(asked_on(&asked, tree, 3) == 300);
	CHECK(asked_on(&asked, tree, 0) == 200);
	asked_read(&asked, "8: 9\n:0 9\n8:0:0 9\n", false, false);
	CHECK(asked.n == 3 && asked.weight == 200);
	asked_free(&asked);
}

/* The class idle takes precedence over all weights. */
void test_weigh_class(void)
{
	static const struct device_weight tree[] = { { .major = 8, .minor = 0 } };
	static const char *const others[] = {
		"", "no-change\n", "promote-to-rt\n", "restrict-to-be\n", "none-to-rt\n",
		"idle 5\n", "\nidle\n",
	};

	for (size_t i = 0; i <= ARRAY_SIZE(others); i++) {
		bool is_idle = i == ARRAY_SIZE(others);
		struct asked asked = { .n = 0 };

		asked_read_class(&asked, is_idle ? "idle\n" : others[i]);
		asked_read(&asked, "default 200\n8:0 300\n", false, false);
		CHECK(asked_on(&asked, tree, 1) ==
		      (is_idle ? IOBAND_WEIGHT_IDLE : 300));
		CHECK(asked_on(&asked, tree, 0) ==
		      (is_idle ? IOBAND_WEIGHT_IDLE : 200));
		asked_free(&asked);
	}
}

void test_weigh_latency(void)
{
	static const struct device_weight tree[] = {
		{ .major = 253, .minor = 5 }, { .major = 8, .minor = 0 },
	};
	struct asked befores[ASKED_KINDS] = { { .n = 0 } }, nows[ASKED_KINDS] = { { .n = 0 } };
	struct asked *before = &befores[ASKED_LATENCY], *now = &nows[ASKED_LATENCY];

	asked_read_values(befores, "8:0 target=2000\n8:16 x target=7 y=8\n253:9 target=10000001\n"
				   "8:32\n8:48 target=max\n8:64 target=0\nx target=5\n\n");
	CHECK(before->n == 3 && asked_on(before, tree, 2) == 2000);
	CHECK(before->v[1].weight == 7 && before->v[2].weight == 10000000);
	CHECK(!asked_find(before, tree, 1) && asked_find(before, tree, 2));
	/* A weight that is no longer wanted is taken back. */
	asked_read_values(nows, "8:16 target=9\n");
	asked_end(now, before);
	CHECK(now->n == 3 && now->v[0].weight == 9);
	CHECK(asked_find(now, tree, 2) && !asked_find(now, tree, 2)->weight);
	asked_forget(now);
	CHECK(now->n == 1 && now->v[0].weight == 9);
	asked_end(before, now);
	CHECK(before->n == 3);
	asked_add_kind(before, ASKED_WEIGHT, 1, 1, 10001);
	asked_add_kind(before, ASKED_WEIGHT, 1, 1, 0);
	asked_add_kind(before, ASKED_LATENCY, 1, 1, UINT64_MAX);
	CHECK(before->n == 3);
	asked_add_kind(before, ASKED_WEIGHT, 1, 1, 10000);
	CHECK(before->n == 4);
	asked_free(before);
	asked_free(now);
}

void test_weigh_max(void)
{
	struct asked asked[ASKED_KINDS] = { { .n = 0 } };

	asked_read_values(asked, "8:0 rbps=5 wbps=max riops=7 wiops=0\n"
				 "8:16 x y=3 wiops=1099511627776\n"
				 "rbps=4\n8:32\n8:48 wiops=1099511627777 rbps=-1\n\n");
	CHECK(asked[ASKED_MAX + RBPS].n == 1 && asked[ASKED_MAX + RBPS].v[0].weight == 5);
	CHECK(!asked[ASKED_MAX + WBPS].n);
	CHECK(asked[ASKED_MAX + RIOPS].n == 1 && asked[ASKED_MAX + RIOPS].v[0].weight == 7);
	CHECK(asked[ASKED_MAX + WIOPS].n == 1 && asked[ASKED_MAX + WIOPS].v[0].minor == 16);
	for (int kind = 0; kind < ASKED_KINDS; kind++)
		asked_free(&asked[kind]);
}

void test_weigh_below_all(void)
{
	/* Two ioband devices over 8:1 and 8:2 of one disk, 8:0. */
	static const struct device_weight devices[] = {
		{ 253, 1, 0 }, { 8, 1, 1 }, { 8, 0, 1 },
		{ 253, 2, 0 }, { 8, 2, 2 }, { 8, 0, 2 },
	};
	struct asked asked = { .n = 0 };
	struct device_weight least = { .weight = 77 };

	asked_add(&asked, 8, 1, 3);
	asked_add(&asked, 253, 1, 3);
	CHECK(!asked_below_all(&asked, devices, 6, 2, &least.weight) && least.weight == 77);
	asked_add(&asked, 8, 0, 0);
	CHECK(asked_below_all(&asked, devices, 6, 2, &least.weight) && !least.weight);
	/* For the first of them alone, 8:1 counts too. */
	CHECK(asked_below_all(&asked, devices, 3, 1, &least.weight) && least.weight == 3);
	asked.v[2].weight = 5;
	CHECK(asked_below_all(&asked, devices, 6, 2, &least.weight) && least.weight == 5);
	CHECK(asked_below_all(&asked, devices, 3, 1, &least.weight) && least.weight == 3);
	asked.v[2].weight = 2;
	CHECK(asked_below_all(&asked, devices, 3, 1, &least.weight) && least.weight == 2);
	asked_free(&asked);
}

static bool is_unit_in(char *path, char *delegated)
{
	struct subtree subtree = { .top = delegated };
	struct node node = { .path = path, .subtree = &subtree };

	return watch_is_unit(&node);
}

static bool is_unit(char *path)
{
	return is_unit_in(path, NULL);
}

void test_units(void)
{
	CHECK(is_unit("/system.slice/db.service"));
	CHECK(is_unit("/system.slice"));
	CHECK(is_unit("/a.slice/a-b.slice/x.scope"));
	CHECK(is_unit("/init.scope"));
	CHECK(!is_unit("/"));
	CHECK(!is_unit("/a"));
	CHECK(!is_unit("/docker/0123"));
	CHECK(!is_unit("/system.slice/.service"));
	CHECK(!is_unit("/a/b.service"));
	CHECK(!is_unit("/user.slice/user@0.service/app.slice/x.service"));
	CHECK(is_unit_in("/a.slice/x.service", "/a.slice/x.service"));
	CHECK(!is_unit_in("/a.slice/x.service", "/a.slice"));
}
