// SPDX-License-Identifier: GPL-2.0-only
/* The other pure parts: percentiles, formats, options, names, differences. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "check.h"
#include "config/select.h"
#include "ioband/make.h"
#include "ioband/name.h"
#include "ioband/pool.h"
#include "ioband/tree.h"
#include "kernel/dm.h"
#include "observe/histogram.h"
#include "observe/sample.h"
#include "print/args.h"
#include "print/format.h"

void test_histogram(void)
{
	struct group_latency some = { .seq = 0 };
	struct op_stats got;

	CHECK(!histogram_percentile(some.wait[0], 50, &got.wait_ns));
	CHECK(!histogram_max(some.wait[0], &got.wait_ns));
	some.wait[0][0] = 100;	/* 0..1024 ns */
	CHECK(histogram_percentile(some.wait[0], 50, &got.wait_ns));
	CHECK(got.wait_ns == 512);
	CHECK(histogram_max(some.wait[0], &got.wait_ns));
	CHECK(got.wait_ns == 1024);
	some.wait[0][11] = 100;	/* 2^20..2^21 ns */
	CHECK(histogram_percentile(some.wait[0], 50, &got.wait_ns));
	CHECK(got.wait_ns == 1024);
	CHECK(histogram_percentile(some.wait[0], 75, &got.wait_ns));
	CHECK(got.wait_ns == 1536 * 1024);
	CHECK(histogram_percentile(some.wait[0], 100, &got.wait_ns));
	CHECK(got.wait_ns == 2 << 20);
	CHECK(histogram_max(some.wait[0], &got.wait_ns));
	CHECK(got.wait_ns == 2 << 20);
	some.wait[1][25] = 1;	/* 2^34 ns and more: no end */
	CHECK(histogram_percentile(some.wait[1], 99, &got.wait_ns));
	CHECK(got.wait_ns == 1ULL << 34);
	CHECK(histogram_max(some.wait[1], &got.wait_ns));
	CHECK(got.wait_ns == 1ULL << 34);
	some.wait[2][0] = UINT64_MAX;
	some.wait[2][24] = UINT64_MAX;
	CHECK(histogram_percentile(some.wait[2], 99, &got.wait_ns));
	CHECK(got.wait_ns > 1ULL << 33 && got.wait_ns <= 1ULL << 34);
	histogram_add(some.wait[0], some.wait[1]);
	CHECK(some.wait[0][0] == 100 && some.wait[0][25] == 1);
}

void test_histogram_since(void)
{
	struct group_latency before = { .wait = { { 1, 2, 3 } } };
	struct group_latency now = { .wait = { { 5, 2, 4 } } };
	struct group_latency anew = { .wait = { { 5, 1, 4 } } };

	histogram_since(now.wait[0], before.wait[0]);
	CHECK(now.wait[0][0] == 4 && !now.wait[0][1] && now.wait[0][2] == 1);
	histogram_since(anew.wait[0], before.wait[0]);
	CHECK(anew.wait[0][0] == 5 && anew.wait[0][1] == 1);
}

void test_format(void)
{
	char text[FORMAT_SIZE];

	CHECK(same(format_bytes(0, text), "0B"));
	CHECK(same(format_bytes(1023, text), "1023B"));
	CHECK(same(format_bytes(1024, text), "1.00K"));
	CHECK(same(format_bytes(1023 * 1024, text), "1023K"));
	CHECK(same(format_bytes((1 << 20) - 1, text), "1.00M"));
	CHECK(same(format_bytes(10 << 20, text), "10.0M"));
	CHECK(same(format_bytes(UINT64_MAX, text), "16.0E"));
	CHECK(same(format_units(1023, false, text), "1023B"));
	CHECK(same(format_units(1000, true, text), "1.00KB"));
	CHECK(same(format_units(50000000, true, text), "50.0MB"));
	CHECK(same(format_units(50000000, false, text), "47.7MiB"));
	CHECK(same(format_units(999600, true, text), "1.00MB"));
	CHECK(same(format_units(UINT64_MAX, true, text), "18.4EB"));
	CHECK(same(format_time(999, text), "999ns"));
	CHECK(same(format_time(1000, text), "1.00us"));
	CHECK(same(format_time(9994, text), "9.99us"));
	CHECK(same(format_time(9996, text), "10.0us"));
	CHECK(same(format_time(99960, text), "100us"));
	CHECK(same(format_time(999600, text), "1.00ms"));
	CHECK(same(format_time(12345678901ULL, text), "12.3s"));
}

static const struct option_spec options[] = {
	{ OPTION_POOL, "pool", "POOL", "" }, SPEC_JSON, SPEC_OUTPUT(""),
	{ .name = NULL }
};

static const struct verb verb = {
	.name = "v", .args = "A [B]", .min = 1, .max = 2, .options = options,
};

static int parse(struct args *args, struct problem *problem, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return args_parse(&verb, argc, argv, args, problem);
}

#define PARSE(...) parse(&args, &problem, (char *[]){ "v", __VA_ARGS__, NULL })

void test_args(void)
{
	struct problem problem;
	struct args args;

	CHECK(!PARSE("a"));
	CHECK(args.n == 1 && !args.value[OPTION_JSON]);
	CHECK(!PARSE("a", "--pool", "p", "b", "--json"));
	CHECK(args.n == 2 && same(args.value[OPTION_POOL], "p"));
	CHECK(args.value[OPTION_JSON]);
	CHECK(!PARSE("--pool=x=y", "--", "--json"));
	CHECK(same(args.value[OPTION_POOL], "x=y") && args.n == 1);
	CHECK(!PARSE("--help") && args.value[OPTION_HELP]);
	CHECK(PARSE("--pool", "p"));
	CHECK(same(problem.text, "too few arguments; it takes: A [B]"));
	CHECK(PARSE("a", "b", "c"));
	CHECK(same(problem.text, "'c' is too much; it takes: A [B]"));
	CHECK(PARSE("a", "--pool"));
	CHECK(same(problem.text, "option '--pool' needs an argument"));
	CHECK(PARSE("a", "--json=1"));
	CHECK(same(problem.text, "option '--json=1' takes no argument"));
	CHECK(PARSE("a", "--nope"));
	CHECK(PARSE("a", "-xy"));
	CHECK(same(problem.text, "there is no option '-x'"));
	CHECK(PARSE("a", "--json", "--json"));
	CHECK(same(problem.text, "option '--json' comes twice"));
	CHECK(!PARSE("-o", "f", "a") && same(args.value[OPTION_OUTPUT], "f"));
	CHECK(!PARSE("a", "-of") && same(args.value[OPTION_OUTPUT], "f"));
	CHECK(PARSE("a", "-of", "--output", "g"));
	CHECK(same(problem.text, "option '--output' comes twice"));
	CHECK(!PARSE("-V") && args.value[OPTION_VERSION]);
	CHECK(!PARSE("-h", "a", "b", "c") && args.value[OPTION_HELP]);
	CHECK(PARSE("a", "-o"));
	CHECK(same(problem.text, "option '-o' needs an argument"));
}

static int path_is(const char *root, const char *spelled, const char *expected)
{
	char path[CGROUP_PATH_SIZE];
	struct problem problem;

	return !cgroup_path(root, spelled, path, &problem) &&
	       same(path, expected);
}

void test_cgroup_path(void)
{
	char spelled[CGROUP_PATH_SIZE + 1], path[CGROUP_PATH_SIZE];
	struct problem problem;

	CHECK(path_is("/sys/fs/cgroup", "/sys/fs/cgroup/a/b", "/a/b"));
	CHECK(path_is("/sys/fs/cgroup/", "/sys/fs/cgroup/a/b/", "/a/b"));
	CHECK(path_is("/sys/fs/cgroup", "/a//b/.", "/a/b"));
	CHECK(path_is("/sys/fs/cgroup", "a/b", "/a/b"));
	CHECK(path_is("/sys/fs/cgroup", "/", "/"));
	CHECK(path_is("/sys/fs/cgroup", "/sys/fs/cgroup", "/"));
	CHECK(path_is("/sys/fs/cgroup", "/sys/fs/cgroupx", "/sys/fs/cgroupx"));
	CHECK(path_is("/", "/a", "/a"));
	CHECK(path_is("/sys/fs/cgroup", "a b..c", "/a b..c"));
	CHECK(cgroup_path("/c", "a/../b", path, &problem));
	CHECK(cgroup_path("/c", "", path, &problem));
	memset(spelled, 'x', sizeof(spelled));
	spelled[CGROUP_PATH_SIZE - 2] = 0;
	CHECK(!cgroup_path("/c", spelled, path, &problem));
	CHECK(strlen(path) == CGROUP_PATH_SIZE - 1);
	spelled[CGROUP_PATH_SIZE - 2] = 'x';
	spelled[CGROUP_PATH_SIZE - 1] = 0;
	CHECK(cgroup_path("/c", spelled, path, &problem));
}

void test_pool_of_disks(void)
{
	char pool[IOBAND_POOL_SIZE], pool2[IOBAND_POOL_SIZE], longest[128];
	struct names two = { (char *[]){ "sda", "sdb" }, 2 };
	struct names one = { (char *[]){ "cciss!c0d0" }, 1 };
	char *disks[40];
	struct names many = { disks, ARRAY_SIZE(disks) };

	pool_name_of(&two, pool);
	CHECK(same(pool, "sda+sdb"));
	two.n = 1;
	pool_name_of(&two, pool);
	CHECK(same(pool, "sda"));
	pool_name_of(&one, pool);
	CHECK(same(pool, "cciss_c0d0"));
	for (size_t i = 0; i < many.n; i++)
		many.v[i] = "nvme0n1";
	pool_name_of(&many, pool);
	many.v[39] = "nvme1n1";
	pool_name_of(&many, pool2);
	CHECK(parse_pool_name(pool) && parse_pool_name(pool2));
	CHECK(!same(pool, pool2));
	/* Every machine and version must give the same name. */
	CHECK(same(pool, "nvme0n1+nvme0n1+nvme0n1+nvme0n1+nvme0n1+7236808acca7edb5"));
	memset(longest, 'y', sizeof(longest));
	longest[127] = 0;
	one.v[0] = longest;
	pool_name_of(&one, pool);
	CHECK(parse_pool_name(pool) && strlen(pool) == 63);
}

void test_kernels_names(void)
{
	static const char *const names[] = {
		"sda", "sdzz", "vdb", "xvda", "hda", "nvme0n1", "nvme10n12",
		"md127", "mmcblk0", "loop7", "nbd0", "pmem1",
	};
	static const char *const others[] = {
		"", "sd", "disks", "sdA", "sdabc", "vda1", "sda+sdb", "xsda",
		"nvme0", "nvme0n1p1", "nvmen1", "md", "mdx", "md0p1", "loop",
		"slow", "vg0", "data1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK(pool_is_kernels(names[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(!pool_is_kernels(others[i]));
}

void test_disk_that_seeks(void)
{
	CHECK(pool_disk_seeks("sda", "1") && pool_disk_seeks("sdvd", "1"));
	CHECK(!pool_disk_seeks("sda", "0") && !pool_disk_seeks("sda", ""));
	/* Virtual disks do not know the disks below them. */
	CHECK(!pool_disk_seeks("vda", "1") && !pool_disk_seeks("xvdb", "1"));
}

void test_lasting_names(void)
{
	char name[NAME_SIZE];

	CHECK(name_is_lasting("/dev/disk/by-id/ata-WDC_WD10_1234-part1"));
	CHECK(name_is_lasting("/dev/disk/by-id/nvme-Samsung_970_1234"));
	CHECK(name_is_lasting("/dev/disk/by-id/md-name-host:0"));
	CHECK(!name_is_lasting("/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"));
	CHECK(!name_is_lasting("/dev/disk/by-id/nvme-eui.0025385b71b0c1d2"));
	CHECK(!name_is_lasting("/dev/disk/by-uuid/ata-1234"));
	CHECK(!name_is_lasting("/dev/disk/by-path/pci-0000:00:1f.2-ata-1"));
	CHECK(select_is_lasting("/dev/disk/by-partuuid/1234-01"));
	CHECK(select_is_lasting("/dev/disk/by-partlabel/EFI\\x20System"));
	CHECK(select_is_lasting("/dev/disk/by-path/pci-0000:00:1f.2-ata-1-part1"));
	CHECK(!select_is_lasting("/dev/disk/by-uuid/1234-5678"));
	CHECK(!select_is_lasting("/dev/disk/by-label/data"));
	CHECK(!select_is_lasting("/dev/disk/by-id/lvm-pv-uuid-abc"));
	CHECK(select_is_lasting("/dev/disk/by-id/md-uuid-1234:5678"));
	name_join("md-name-host:0", name);
	CHECK(same(name, "io-md-name-host:0"));
	name_join("a\\x20b/c!d\xc3\xa9", name);
	CHECK(same(name, "io-a_x20b_c_d__"));
}

void test_sample(void)
{
	struct group_stats old[] = {
		{ .seq = 1, .name = "a", .op = { { 10, 100, 1, 5, 50 } } },
		{ .seq = 2, .name = "b", .op = { { 10, 100, 1, 5, 50 } } },
	};
	struct group_stats new[] = {
		{ .seq = 1, .name = "a", .op = { { 15, 300, 3, 9, 90 } } },
		{ .seq = 2, .name = "b", .op = { { 4, 100, 1, 5, 50 } } },
		{ .seq = 3, .name = "c", .op = { { 0 }, { 7, 700, 0, 0, 7 } } },
	};
	struct sample before = { .ns = 100, .stats = { old, 2 } };
	struct sample now = { .ns = 350, .stats = { new, 3 } };
	struct sample delta;

	sample_delta(&before, &now, &delta);
	CHECK(delta.ns == 250 && delta.stats.n == 3);
	CHECK(delta.stats.v[0].op[READ].ios == 5);
	CHECK(delta.stats.v[0].op[READ].bytes == 200);
	CHECK(delta.stats.v[0].op[READ].held_ios == 2);
	CHECK(delta.stats.v[0].op[READ].wait_ns == 4);
	CHECK(delta.stats.v[0].op[READ].service_ns == 40);
	CHECK(delta.stats.v[1].op[READ].ios == 4);	/* made anew */
	CHECK(delta.stats.v[2].op[WRITE].ios == 7);	/* new */
	CHECK(new[0].op[READ].ios == 15);
	CHECK(stats_total(&delta.stats.v[2]).bytes == 700);
	CHECK(stats_share(&delta.stats, &delta.stats.v[2], "bytes") == 70);
	CHECK(stats_share(&delta.stats, &delta.stats.v[1], "ios") == 25);
	sample_delta_free(&delta);
}

void test_tree(void)
{
	struct mapped_device mapped = { .major = 253, .minor = 7 };
	struct ioband_device device = { .dm = &mapped };
	struct ioband_devices devices = { .v = &device, .n = 1 };
	struct ioband_group v[] = {
		{ .seq = 1, .name = "root" },
		{ .seq = 2, .parent = 1, .name = "device:253:7" },
		{ .seq = 3, .parent = 2, .name = "cgroup#3" },
		{ .seq = 4, .parent = 1, .name = "cgroup#4" },
		{ .seq = 5, .parent = 6, .name = "cgroup#5" },
		{ .seq = 6, .parent = 5, .name = "cgroup#6" },
		{ .seq = 7, .parent = 99, .name = "cgroup#7" },
	};
	struct groups groups = { v, ARRAY_SIZE(v) };

	CHECK(!tree_parent(&groups, &v[0]) && !tree_parent(&groups, &v[1]));
	CHECK(tree_parent(&groups, &v[2]) == &v[1]);
	CHECK(!tree_owner(&devices, &groups, &v[0]));
	CHECK(tree_owner(&devices, &groups, &v[1]) == &device);
	CHECK(tree_owner(&devices, &groups, &v[2]) == &device);
	CHECK(!tree_owner(&devices, &groups, &v[3]));
	CHECK(tree_is_sound(&groups, &v[2]) && tree_is_sound(&groups, &v[6]));
	CHECK(!tree_is_sound(&groups, &v[4]));
	CHECK(!tree_owner(&devices, &groups, &v[5]));
	CHECK(tree_has(&devices, &groups, &v[2], NULL));
}

/* A device that does not exist is its own stack, and its disk. */
void test_make_is_twice(void)
{
	const struct device device = { .major = 4000, .minor = 1 };
	struct mapped_device mapped = { .name = "4000:1", .table = "" };
	struct ioband_device ioband = { .dm = &mapped,
					.table = { .pool = "sda" } };
	struct ioband_devices devices = { .v = &ioband, .n = 1 };
	struct problem why;

	CHECK(make_is_twice(&devices, "sda", &device, &why));
	CHECK(same(why.text,
		   "ioband device 4000:1, which is below, is in pool sda already"));
	CHECK(!make_is_twice(&devices, "sdb", &device, &why));
	CHECK(!make_is_twice(&devices, NULL, &device, &why));
	ioband.table = (struct ioband_table){ .pool = "4000:1" };	/* its disk's */
	CHECK(make_is_twice(&devices, NULL, &device, &why));
	mapped.table = NULL;
	CHECK(!make_is_twice(&devices, NULL, &device, &why));
	mapped = (struct mapped_device){ .name = "other", .table = "" };
	CHECK(!make_is_twice(&devices, NULL, &device, &why));
}

static bool lvm_says(const char *file, const char *key, const char *value)
{
	char *its = mapper_config_value(file, key);
	bool is = value ? its && !strcmp(its, value) : !its;

	free(its);
	return is;
}

void test_lvm_config(void)
{
	static const char text[] = "devices {\n"
				   "\t# filter = [ \"a|x|\" ]\n"
				   "\tglobal_filter=[\"r|^/dev/sda$|\", \"a|.*|\"]\n"
				   "\tnested { use_devicesfile = 0 }\n"
				   "\tuse_devicesfile = 1 scan = []\n"
				   "}\n"
				   "devices/external_device_info_source=\"udev\"\n";
	int fd = memfd_create("lvm.conf", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	CHECK(lvm_says(path, "devices/filter", NULL));
	CHECK(lvm_says(path, "devices/global_filter", "r|^/dev/sda$|"));
	CHECK(lvm_says(path, "devices/use_devicesfile", "1"));
	CHECK(lvm_says(path, "devices/scan", ""));
	CHECK(lvm_says(path, "devices/external_device_info_source", "udev"));
	CHECK(lvm_says(path, "use_devicesfile", NULL));
	CHECK(!ftruncate(fd, sizeof(text) / 2));
	CHECK(lvm_says(path, "devices/global_filter", NULL));
	CHECK(lvm_says("/nonexistent/lvm.conf", "devices/filter", NULL));
	close(fd);
}
