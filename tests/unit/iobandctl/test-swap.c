// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch to another table, on a device-mapper that fails as the kernel's
 * can, and that another program works on at the same time.  Runs the test named,
 * or lists them all.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/defs.h"
#include "check.h"
#include "kernel/swap.h"

int failures;

#define OWN "linear 8:0 2048"
#define NEW "ioband 253:7 0 sda 1 weight=7"
#define SEEN "ioband 253:7 0 sda 2 mode=cgroup weight=7"	/* by the kernel */
#define OTHER "linear 8:16 2048"

enum failing {
	BEFORE,		/* the kernel was not asked at all */
	SWAPPING,	/* it suspended the device, and threw the table away */
	RESUMING,	/* the new table is in use, and does not start */
};

/* The one device. */
static struct {
	const char *live;
	const char *waiting;
	bool suspended;
	enum failing how;
	int failing;	/* so many switches fail */
	bool keeps;	/* clearing fails */
	int switches;
	int clears;
} dm;

bool mapper_state(const char *name, struct mapped_device *state)
{
	(void)name;
	*state = (struct mapped_device){ .suspended = dm.suspended,
					 .loaded = dm.waiting };
	return true;
}

static struct mapped_target target_of(const char *text)
{
	const char *space = strchr(text, ' ');

	return (struct mapped_target){
		.sectors = 2048,
		.type = xstrndup(text, space - text),
		.words = xstrdup(space + 1),
	};
}

static void table_of(const char *text, struct mapped_table *table)
{
	*table = (struct mapped_table){ .n = 0 };
	if (!text)
		return;
	table->v = xgrow(NULL, 0, sizeof(*table->v));
	table->v[table->n++] = target_of(text);
}

int mapper_table(const char *name, struct mapped_table *table)
{
	(void)name;
	table_of(dm.live, table);
	return 0;
}

int mapper_waiting(const char *name, struct mapped_table *table)
{
	(void)name;
	table_of(dm.waiting, table);
	return 0;
}

void mapper_table_free(struct mapped_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->v[i].type);
		free(table->v[i].words);
	}
	free(table->v);
	*table = (struct mapped_table){ .n = 0 };
}

int mapper_load(const char *name, const struct mapped_table *table,
		bool read_only)
{
	(void)name;
	(void)read_only;
	CHECK(table->n == 1 && same(table->v[0].type, "linear"));
	dm.waiting = OWN;
	return 0;
}

int mapper_clear(const char *name)
{
	(void)name;
	dm.clears++;
	if (dm.keeps)
		return -EIO;
	dm.waiting = NULL;
	return 0;
}

int mapper_switch(const char *name)
{
	bool fails = dm.failing && dm.failing--;

	(void)name;
	dm.switches++;
	if (fails && dm.how == BEFORE)
		return -ENOMEM;
	if (dm.waiting && !(fails && dm.how == SWAPPING))
		dm.live = dm.waiting;
	dm.waiting = NULL;
	dm.suspended = fails;
	return fails ? -EINVAL : 0;
}

static int run(struct problem *problem)
{
	struct mapped_table own, new;
	const struct swap swap = { .name = "vg0-web", .own = &own,
				   .loaded = &new };
	int error;

	table_of(OWN, &own);
	table_of(NEW, &new);
	error = swap_tables(&swap, problem);
	mapper_table_free(&own);
	mapper_table_free(&new);
	return error;
}

static void prepare(void)
{
	memset(&dm, 0, sizeof(dm));
	dm.live = OWN;
	dm.waiting = SEEN;
}

static void test_goes_well(void)
{
	struct problem problem;

	prepare();
	CHECK(!run(&problem));
	CHECK(same(dm.live, SEEN) && !dm.waiting && !dm.suspended);
	CHECK(dm.switches == 1 && !dm.clears);
}

/* Nothing of what another program has done is undone, or made live. */
static void test_other_program(void)
{
	struct problem problem;

	prepare();
	dm.live = OTHER;
	CHECK(run(&problem) == -EBUSY && strstr(problem.text, "another table"));
	CHECK(same(dm.live, OTHER) && !dm.waiting && !dm.switches);
	prepare();
	dm.suspended = true;
	CHECK(run(&problem) == -EBUSY && strstr(problem.text, "suspended it"));
	CHECK(dm.suspended && !dm.waiting && !dm.switches);
	prepare();
	dm.waiting = OTHER;
	CHECK(run(&problem) == -EBUSY && strstr(problem.text, "replaced"));
	CHECK(same(dm.live, OWN) && same(dm.waiting, OTHER) && !dm.switches);
	prepare();
	dm.waiting = "ioband 253:7 0 sdb 2 mode=cgroup weight=7";
	CHECK(run(&problem) == -EBUSY && dm.waiting && !dm.clears);
	prepare();
	dm.waiting = NULL;
	CHECK(run(&problem) == -EBUSY && !dm.switches);
	prepare();
	dm.live = OTHER;
	dm.keeps = true;
	CHECK(run(&problem) == -EBUSY);
	CHECK(strstr(problem.text, "'dmsetup clear vg0-web'"));
}

static void test_own_table_comes_back(void)
{
	static const enum failing ways[] = { BEFORE, SWAPPING, RESUMING };
	struct problem problem;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		prepare();
		dm.how = ways[i];
		dm.failing = 1;
		CHECK(run(&problem) < 0);
		CHECK(same(dm.live, OWN) && !dm.waiting && !dm.suspended);
		CHECK(strstr(problem.text, "it is as it was"));
	}
}

static void test_stays_suspended(void)
{
	struct problem problem;

	for (int how = SWAPPING; how <= RESUMING; how++) {
		prepare();
		dm.how = how;
		dm.failing = 9;
		CHECK(run(&problem) < 0 && dm.suspended);
		CHECK(strstr(problem.text, "suspended: 'dmsetup resume vg0-web'"));
		CHECK(!strstr(problem.text, "as it was"));
	}
	prepare();
	dm.how = BEFORE;
	dm.failing = 1;
	dm.keeps = true;
	CHECK(run(&problem) < 0 && dm.waiting);
	CHECK(strstr(problem.text, "'dmsetup clear vg0-web'"));
}

#define TEST(name) { #name, test_##name }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(goes_well), TEST(other_program), TEST(own_table_comes_back),
	TEST(stays_suspended),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		if (argc < 2)
			puts(tests[i].name);
		else if (same(argv[1], tests[i].name))
			tests[i].run();
	}
	return failures;
}
