// SPDX-License-Identifier: GPL-2.0-only
/* The configuration: valid and invalid texts, and their meaning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/defs.h"
#include "base/words.h"
#include "check.h"
#include "config/conf.h"
#include "kernel/parse.h"

/* The error in a configuration; empty if there is none. */
static const char *fault(const char *text)
{
	static struct problem problem;
	struct conf conf = { .n = 0 };

	problem.text[0] = 0;
	if (conf_add(&conf, "f", text, &problem) || conf_check(&conf, &problem))
		CHECK(problem.text[0]);
	conf_free(&conf);
	return problem.text;
}

void test_conf_faults(void)
{
	static const struct {
		const char *text;
		const char *says;
	} faults[] = {
		{ "x = 1\n", "f: a key stands before the first" },
		{ "\n[disk a]\nx = 1\n", "f:2: there is no section 'disk a'" },
		{ "[device a\n", "f:1: a title ends with ']'" },
		{ "[group a] b\nweight = 1\n", "f:1: a title ends with ']'" },
		{ "[]\nx = 1\n", "f:1: a title is empty" },
		{ "[group a]\nweight\n", "f:2: this is no 'key = value'" },
		{ "[group a]\n = 3\n", "f:2: there is no key" },
		{ "[group a]\nweight = 1\n\nweight = 2\n", "this key comes twice" },
		{ "[group a]\nweight = 1\n[group a]\npool = p\n", "f:3: this title came before" },
		{ "[group a]\nweight =\n", "f:2: 'weight' is set to nothing" },
		{ "[group a]\nweight = 0\n",
		  "f:2: weight = 0: it is a number from 1 to 10000, idle or default" },
		{ "[group a]\nweight = 10001\n", "1 to 10000" },
		{ "[group a]\nweight = 100 # no\n", "1 to 10000" },
		{ "[group a]\ndepth = 1\n",
		  "f:2: [group] has no key 'depth'; it has device, group, latency, maximum," },
		{ "[group a]\npool = p\n",
		  "f:1: [group a] sets nothing: set weight, maximum, minimum," },
		{ "[group a]\npool = -\nweight = 1\n", "f:2: pool = -" },
		{ "[group uid:1]\nweight = 1\ndevice = d\n", "f:3: device: there are only" },
		{ "[group]\nweight = 1\n", "f:1: [group] has no name" },
		{ "[group a]\nweight = 1\nminimum = 1M\n",
		  "f:3: minimum = 1M: '1M': a minimum is one or more of rbps=" },
		{ "[group a]\nminimum = rbps=max\n",
		  "f:2: minimum = rbps=max: rbps=max: it is none" },
		{ "[group a]\nminimum = rbps=2MiB riops=5\n\nmaximum = rbps=1MiB\n",
		  "f:2: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB, which" },
		{ "[device a]\ndevice = x\nmode = device\nmaximum = wiops=5\nminimum = wiops=6\n",
		  "f:5: a minimum of wiops=6 is more than the maximum of wiops=5" },
		{ "[device a]\ndevice = x\nminimum = rbps=3\n",
		  "f:3: minimum: a device has a group of its own only" },
		{ "[group a]\nmaximum =\n", "f:2: 'maximum' is set to nothing" },
		{ "[group a]\nmaximum = 100M\n",
		  "f:2: maximum = 100M: '100M': a maximum is one or more of rbps=" },
		{ "[group a]\nmaximum = rbps=1 rbps=2\n", "rbps= is given twice" },
		{ "[device a]\ndevice = x\nmaximum = rbps=3\n",
		  "f:3: maximum: a device has a group of its own only" },
		{ "[device a]\ndevice = x\nlatency = 1ms\n",
		  "f:3: latency: a device has a group of its own only" },
		{ "[group a]\nlatency =\n", "f:2: 'latency' is set to nothing" },
		{ "[group a]\nlatency = 20\n",
		  "f:2: latency = 20: '20': a latency is a number with us, ms or s" },
		{ "[group a]\nlatency = 11s\n",
		  "f:2: latency = 11s: '11s': that is too long" },
		{ "[device a]\nmode = cgroup\n", "f:1: [device a] does not say which devices" },
		{ "[device]\ndevice = x\n", "f:1: [device] has no name" },
		{ "[device a]\nas = a\nname = sd*\n", "f:2: as = a: there may be several" },
		{ "[device a]\nas = a\ndevice = x y\n", "write %n" },
		{ "[device a]\ndevice = x\nweight = 3\n",
		  "f:3: weight: a device has a group of its own only" },
		{ "[device a]\ndevice = x\nmode = slow\n",
		  "f:3: mode = slow: it is one of cgroup," },
		{ "[device a]\ndevice = x\nas = y\ninsert = yes\n",
		  "f:3: as: a device that ioband is inserted into keeps its name" },
		{ "[device a]\ndevice = x\noptional = maybe\n",
		  "f:3: optional = maybe: it is yes or no" },
		{ "[device %n]\ntype = disk tape\n", "f:2: type = disk tape: it is one of disk," },
		{ "[pool]\ndepth = 1\n", "f:1: [pool] has no name" },
		{ "[pool p]\ndepth = 65536\n",
		  "f:2: depth = 65536: it is " DEPTH_SAYS },
		{ "[pool p]\nslice = 1001\n", "0 to 1000, or auto" },
		{ "[pool p]\nwrites_starved = 0\n",
		  "f:2: writes_starved = 0: it is a number from 1 to 100" },
		{ "[pool p]\nwrites_starved = 101\n", "from 1 to 100" },
		{ "[pool p]\nwrites_starved = auto\n", "from 1 to 100" },
		{ "[device a]\ndevice = x\nwrites_starved = 2\n", "f:3: " },
		{ "[pool p]\nmeasure = fairness\n", "bytes, ios and time" },
		{ "[watch x]\nenable-controller = yes\n", "f:1: [watch] has no name" },
		{ "[group a]\nweight = 1\n[group /x//y]\nweight = 1\n",
		  "f:3: group /x//y: there is no name between two '/'" },
		{ "[group /x//*]\nweight = 1\n", "there is no name between" },
		{ "[group a]\nweight = 1\ngroup = /x/../y\n",
		  "f:3: group /x/../y: no cgroup is called '.' or '..'" },
		{ "[group ./y]\nweight = 1\n", "f:1: group ./y: no cgroup is" },
		{ "[group */.]\nweight = 1\n", "f:1: group */.: no cgroup is" },
		{ "[group 1]\ngroup = /a\\012b\nweight = 1\n",
		  "f:2: group /a\\012b: no cgroup has a newline in its name" },
		{ "[group cgroup:/]\nweight = 1\n",
		  "f:1: group cgroup:/: the cgroup at the root is written as root" },
	};

	CHECK(same(fault(""), "") && same(fault("\n# x\n; y\n"), ""));
	CHECK(same(fault("[group a]\nweight=default"), ""));
	CHECK(same(fault("[Group a]\nWeight=3\n[WATCH]\nenable-controller = no"), ""));
	CHECK(same(fault("[group a]\nmaximum = rbps=1MiB  wiops=5"), ""));
	CHECK(same(fault("[device a]\ndevice = x\nmode = device\nmaximum = default\n"), ""));
	CHECK(same(fault("[group a]\nminimum = rbps=1MiB  wiops=0"), ""));
	CHECK(same(fault("[group a]\nlatency = 1.5ms"), ""));
	CHECK(same(fault("[device a]\ndevice = x\nmode = device\nlatency = none\n"), ""));
	CHECK(same(fault("[group a]\nminimum = rbps=1MiB\nmaximum = rbps=1MiB"), ""));
	CHECK(same(fault("[device a]\ndevice = x\nmode = device\nweight = 3\n"), ""));
	CHECK(same(fault("[device a]\nas = b\ndevice = x\n"), ""));
	CHECK(same(fault("[device a]\nas = b\ndevice = x\ninsert = no\n"),
		   ""));
	CHECK(same(fault("[device a]\nas = %n\ntype = lvm\n"), ""));
	CHECK(same(fault("[watch]\nenable-controller = no\n"), ""));
	CHECK(same(fault("[pool p]\nwrites_starved = 1\n"), ""));
	CHECK(same(fault("[pool p]\nwrites_starved = 100\n"), ""));
	CHECK(same(fault("[group /..a/.b/...]\nweight = 1\n"), ""));
	CHECK(same(fault("[group //a/b/]\nweight = 1\n"), ""));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const char *said = fault(faults[i].text);

		if (strstr(said, faults[i].says))
			continue;
		fprintf(stderr, "%zu: '%s'\n", i, said);
		CHECK(!"the fault is named");
	}
}

static void read_two(struct conf *conf)
{
	struct problem problem;

	CHECK(!conf_add(conf, "a",
			"[pool *]\ndepth = 5\nslice = 1\n[group /x]\nweight = 1\npool = p\n",
			&problem));
	CHECK(!conf_add(conf, "b",
			"[pool p*]\nDepth = 6\nwrites_starved = 9\n", &problem));
	CHECK(!conf_add(conf, "c", "[pool p*]\nslice = 7\n[group /X]\nweight = 2\n",
			&problem));
	CHECK(!conf_check(conf, &problem));
}

void test_conf_files(void)
{
	struct conf conf = { .n = 0 };
	struct conf_place place;
	char where[32];

	read_two(&conf);
	CHECK(conf.n_files == 3 && conf.n == 3);
	CHECK(same(conf_pool_setting(&conf, "q", KEY_DEPTH, &place), "5"));
	CHECK(same(conf_pool_setting(&conf, "pp", KEY_DEPTH, &place), "6"));
	conf_where(&conf, &place, where, sizeof(where));
	CHECK(same(where, "b:2"));
	CHECK(same(conf_pool_setting(&conf, "p", KEY_SLICE, &place), "7"));
	CHECK(same(conf_pool_setting(&conf, "p", KEY_WRITES_STARVED, &place), "9"));
	CHECK(!conf_pool_setting(&conf, "q", KEY_WRITES_STARVED, &place));
	CHECK(!conf_pool_setting(&conf, "p", KEY_MEASURE, &place));
	/* The same title: the last weight, and the pool of the first. */
	CHECK(same(conf_text(&conf.v[1], KEY_WEIGHT), "2"));
	CHECK(same(conf_text(&conf.v[1], KEY_POOL), "p"));
	conf_free(&conf);
	CHECK(!conf.n && !conf.n_files);
}

static const char *weight_in(const struct conf *conf, const char *path,
			     const char *pool, const char *device)
{
	const struct conf_section *found =
		conf_setting_of(conf, KEY_WEIGHT, path, pool, device);

	return found ? conf_text(found, KEY_WEIGHT) : "none";
}

void test_conf_weights(void)
{
	static const char text[] =
		"[group /s/*]\nweight = 1\n[group s/db]\nweight = 2\n"
		"[group 1]\ngroup = cgroup:/s/db/\npool = p\nweight = 3\n"
		"[group 2]\ngroup = s/db\ndevice = d\nweight = 4\n"
		"[group 3]\ngroup = /s/db\ndevice = -\npool = q\nweight = 5\n"
		"[group 4]\ngroup = /s/[ab]\nweight = 6\n"
		"[group 5]\ngroup = /o\\040dd/\\133x\\x2dy\nweight = 7\n"
		"[group uid:7]\nweight = 8\n[group root]\nweight = 9\n";
	struct conf conf = { .n = 0 };
	struct problem problem;

	CHECK(!conf_add(&conf, "f", text, &problem));
	CHECK(!conf_check(&conf, &problem));
	CHECK(same(weight_in(&conf, "/s/web", "o", NULL), "1"));
	CHECK(same(weight_in(&conf, "/s/web/x", "o", NULL), "none"));
	CHECK(same(weight_in(&conf, "/s", "o", NULL), "none"));
	CHECK(same(weight_in(&conf, "/s/db", "o", NULL), "2"));
	CHECK(same(weight_in(&conf, "/s/db", "p", NULL), "3"));
	CHECK(same(weight_in(&conf, "/s/db", "p", "d"), "4"));
	CHECK(same(weight_in(&conf, "/s/db", "q", NULL), "5"));
	CHECK(same(weight_in(&conf, "/s/db", "q", "e"), "2"));
	CHECK(same(weight_in(&conf, "/s/b", "q", "e"), "6"));
	CHECK(same(weight_in(&conf, "/o dd/[x\\x2dy", "p", NULL), "7"));
	CHECK(same(weight_in(&conf, "/uid:7", "p", NULL), "none"));
	CHECK(!conf_is_cgroup(&conf.v[7]) && !conf_is_cgroup(&conf.v[8]));
	conf_free(&conf);
}

/* Three sections mean a pool by a disk, which may be absent or have another name. */
void test_conf_pools(void)
{
	static const char text[] =
		"[pool /dev/none/*]\ndepth = 3\n[pool s*]\nslice = 1\n"
		"[group /a]\npool = /dev/none/2\nweight = 2\n"
		"[device d]\nname = x\npool = /dev/none/3\n";
	struct conf conf = { .n = 0 };
	struct conf_place place;
	struct problem problem;

	CHECK(!conf_add(&conf, "f", text, &problem));
	CHECK(!conf_check(&conf, &problem));
	conf_find_pools(&conf);
	CHECK(!conf_pool_setting(&conf, "sda", KEY_DEPTH, &place));
	CHECK(same(weight_in(&conf, "/a", "sda", NULL), "none"));
	CHECK(same(conf_pool(&conf.v[0]), "/dev/none/*"));
	CHECK(same(conf_pool(&conf.v[2]), "/dev/none/2"));
	CHECK(same(conf_pool(&conf.v[3]), "/dev/none/3"));
	for (size_t i = 0; i < conf.n; i++)
		conf.v[i].pool = i == 1 ? NULL : xasprintf("sda");
	CHECK(same(conf_pool_setting(&conf, "sda", KEY_DEPTH, &place), "3"));
	CHECK(!conf_pool_setting(&conf, "sdb", KEY_DEPTH, &place));
	CHECK(same(conf_pool_setting(&conf, "sdb", KEY_SLICE, &place), "1"));
	CHECK(same(weight_in(&conf, "/a", "sda", NULL), "2"));
	CHECK(same(weight_in(&conf, "/a", "sdb", NULL), "none"));
	CHECK(same(conf_pool(&conf.v[2]), "sda"));
	/* The disk is gone. */
	conf_find_pools(&conf);
	CHECK(same(weight_in(&conf, "/a", "sda", NULL), "none"));
	conf_free(&conf);
}

/* The error in a path of @n equal parts and a rest. */
static const char *fault_of_many(size_t n, const char *part, const char *rest)
{
	char *text = xasprintf("[group 1]\nweight = 1\ngroup = "), *longer;
	const char *said;

	for (; n; n--) {
		longer = xasprintf("%s%s", text, part);
		free(text);
		text = longer;
	}
	longer = xasprintf("%s%s\n", text, rest);
	said = fault(longer);
	free(longer);
	free(text);
	return said;
}

/* Paths up to the kernel's limits of length and depth, and beyond. */
void test_conf_long_paths(void)
{
	char name[256];

	memset(name, 'x', 255);
	name[0] = '/';
	name[255] = 0;
	CHECK(same(fault_of_many(128, "/x", ""), ""));
	CHECK(strstr(fault_of_many(129, "/x", ""),
		     "f:3: group /x/x/x"));
	CHECK(strstr(fault_of_many(129, "/*", ""),
		     "129 cgroups, each in the one before, are too many: 128"));
	CHECK(same(fault_of_many(1, name, "y"), ""));
	CHECK(strstr(fault_of_many(1, name, "yz"),
		     "a name of 256 bytes is too long: 255 are the most"));
	CHECK(same(fault_of_many(1, name, "[yz]"), ""));
	CHECK(same(fault_of_many(1, name, "\\171"), ""));
	CHECK(same(fault_of_many(16, name, "/12345678901234"), ""));
	CHECK(strstr(fault_of_many(16, name, "/123456789012345"),
		     "a path of 4096 bytes is too long: 4095 are the most"));
}

/* The single path of a section; NULL if it has a pattern. */
static char *literal(const char *group)
{
	char *text = xasprintf("[group 1]\ngroup = %s\nweight = 1\n", group);
	struct conf conf = { .n = 0 };
	struct problem problem;
	char *path = NULL;

	CHECK(!conf_add(&conf, "f", text, &problem));
	CHECK(!conf_check(&conf, &problem));
	CHECK(conf.n_named + conf.n_patterns == 1);
	if (conf.n_named)
		path = xstrdup(conf.v[0].path);
	conf_free(&conf);
	free(text);
	return path;
}

static bool is_open_at(const char *pattern, const char *path)
{
	char *text = xasprintf("[group x]\ngroup = %s\nweight = 1\n", pattern);
	struct conf conf = { .n = 0 };
	struct problem problem;
	bool open;

	CHECK(!conf_add(&conf, "f", text, &problem) &&
	      !conf_check(&conf, &problem));
	open = conf_is_open_at(&conf.v[0], path);
	conf_free(&conf);
	free(text);
	return open;
}

/* A user makes cgroups below /a/b, and may have chosen the name b. */
void test_conf_open(void)
{
	static const char *const open[] = {
		"/a/b*", "/a/*", "/*/?", "/a/b/*", "/a/b/c/[d]", "/a/[b]/c",
		"/a/\\142*", "/a/b/\\052*",
	};
	static const char *const closed[] = {
		"/*", "/a*", "/*/b", "/a/c*", "/x/*", "/*/b/c",
		"/a*/b/\\052", "/a*/\\052",
	};

	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		CHECK(is_open_at(open[i], "/a/b"));
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		CHECK(!is_open_at(closed[i], "/a/b"));
	CHECK(is_open_at("/a*", "/a") && !is_open_at("/*", "/a/b/c/d"));
	CHECK(!is_open_at("/a/b*", "/a/b/c") && is_open_at("/*/*", "/a"));
}

void test_conf_escape(void)
{
	static const char *const paths[] = {
		"/a", "/a b/c", "/\\134", "/x\\x2dy", "/[*]?", "/t\tn\r", "/\\",
		"/gr\303\274n", "/gr\374n", "/\377", "/\303", "/\303\303\274",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *written = text_escape_pattern(paths[i]);
		char *path = literal(written);

		CHECK(path && same(path, paths[i]));
		CHECK(!strpbrk(written, " \t\r\374\377*?[]"));
		free(written);
		free(path);
	}
	CHECK(!literal("/a*") && !literal("a?") && !literal("[b]"));
}

/*
 * The time grows with the number of sections, a millisecond or so, and not with its square,
 * which takes seconds.
 */
void test_conf_many(void)
{
	enum { MANY = 2000 };
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct conf conf = { .n = 0 };
	struct conf_matches matches;
	struct problem problem;
	char path[32];
	clock_t before;

	fprintf(stream, "[group /p*]\nweight = 1\n");
	for (int i = 0; i < MANY; i++)
		fprintf(stream, "[group /s/c%d]\nweight = %d\n", i, 1 + i);
	fclose(stream);
	CHECK(!conf_add(&conf, "f", text, &problem));
	CHECK(!conf_check(&conf, &problem));
	before = clock();
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/s/c%d", i);
		conf_match(&conf, path, &matches);
		CHECK(matches.n == 1 && matches.v[0] == &conf.v[1 + i]);
		conf_matches_free(&matches);
	}
	CHECK(clock() - before < CLOCKS_PER_SEC / 3);
	conf_free(&conf);
	free(text);
}

void test_conf_selects(void)
{
	char node[] = "/dev/sdb", link[] = "/dev/disk/by-id/wwn-5";
	char *paths[3] = { node, link };
	const struct conf_subject disk = {
		.kernel = "sdb", .serial = { "S1", "ACME_S1" }, .type = "disk",
		.rotational = true, .paths = paths,
	};
	static const struct {
		const char *keys;
		bool selected;
	} cases[] = {
		{ "name = sda sd[bc]", true }, { "name = sda", false },
		{ "name = *-*", false }, { "volume = *", false },
		{ "path = /dev/disk/by-id/wwn-*", true },
		{ "path = /dev/disk/by-path/*", false },
		{ "serial = S1", true }, { "serial = ACME*", true },
		{ "serial = S", false }, { "type = lvm disk", true },
		{ "type = part", false }, { "rotational = yes", true },
		{ "rotational = no", false },
		{ "name = sd*\nrotational = no", false },
		{ "name = sd*\ntype = disk\nserial = ?1", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf conf = { .n = 0 };
		struct problem problem;
		char text[128];

		snprintf(text, sizeof(text), "[device %%n]\n%s\n",
			 cases[i].keys);
		CHECK(!conf_add(&conf, "f", text, &problem));
		CHECK(conf_selects(&conf.v[0], &disk) == cases[i].selected);
		conf_free(&conf);
	}
}

static struct rates found(const struct conf *conf, enum bound bound,
			  const char *path)
{
	const struct conf_section *section =
		conf_setting_of(conf, conf_group_keys[GROUP_BOUNDS + bound],
				path, "p", NULL);

	return section ? conf_bounds(section).of[bound] :
			 bounds_none.of[bound];
}

/* Each section counts only for the settings that it has. */
void test_conf_bounds(void)
{
	static const char text[] =
		"[group /a]\nmaximum = riops=5\n[group /*]\nweight = 7\n"
		"[group /b]\nweight = 8\n[group all]\ngroup = /?\nmaximum = wbps=1KiB\n"
		"[group least]\ngroup = /[ab]\nminimum = wiops=3\n"
		"[group soon]\ngroup = /c\nlatency = 2ms\n";
	struct conf conf = { .n = 0 };
	struct problem problem;

	CHECK(!conf_add(&conf, "f", text, &problem));
	CHECK(!conf_check(&conf, &problem));
	CHECK(same(weight_in(&conf, "/a", "p", NULL), "7"));
	CHECK(same(weight_in(&conf, "/b", "p", NULL), "8"));
	CHECK(found(&conf, MAXIMUM, "/a").rate[RIOPS] == 5);
	CHECK(!found(&conf, MAXIMUM, "/a").rate[WBPS]);
	CHECK(found(&conf, MAXIMUM, "/b").rate[WBPS] == 1024);
	CHECK(found(&conf, MINIMUM, "/b").rate[WIOPS] == 3);
	CHECK(!found(&conf, MINIMUM, "/c").rate[WIOPS]);
	CHECK(found(&conf, MAXIMUM, "/c").rate[WBPS] == 1024);
	CHECK(!conf_setting_of(&conf, KEY_MAXIMUM, "/long", "p", NULL));
	/* A section has no value for other settings. */
	CHECK(conf.v[0].value[KEY_MAXIMUM].text);
	CHECK(!conf_bounds(&conf.v[0]).of[MINIMUM].rate[RIOPS]);
	CHECK(conf_group_value(&conf.v[0]) == &conf.v[0].value[KEY_MAXIMUM]);
	CHECK(conf_group_value(&conf.v[4]) == &conf.v[4].value[KEY_MINIMUM]);
	CHECK(conf_group_value(&conf.v[5]) == &conf.v[5].value[KEY_LATENCY]);
	CHECK(conf_setting_of(&conf, KEY_LATENCY, "/c", "p", NULL) == &conf.v[5]);
	CHECK(conf_bounds(&conf.v[5]).latency_us[0] == 2000);
	CHECK(!conf_bounds(&conf.v[4]).latency_us[0]);
	conf_free(&conf);
}
