// SPDX-License-Identifier: GPL-2.0-only
/* The texts of the kernel and the file of weights. */
#include <stdlib.h>

#include "base/defs.h"
#include "base/words.h"
#include "check.h"
#include "kernel/parse.h"

void test_words(void)
{
	static const char *const paths[] = {
		"/a b", "/\\040", "/\t\n\001\177", "", "/plain", "/\303\244",
		"/\342\202\254\360\237\230\200\377",
	};
	/* A byte, forms that are too long, a half of a pair, no characters, cut off. */
	static const char *const not_text[] = {
		"\377", "\300\200", "\340\201\201", "\360\200\201\201",
		"\355\240\200", "\357\277\277", "\364\220\200\200", "\303",
		"\342\202x",
	};
	struct span rest = span_of("  a  b=1= "), word, key, value;
	struct op_stats got;

	CHECK(span_word(&rest, &word) && span_is(word, "a"));
	CHECK(!span_key(word, &key, &value));
	CHECK(span_word(&rest, &word) && span_is(word, "b=1="));
	CHECK(span_key(word, &key, &value));
	CHECK(span_is(key, "b") && span_is(value, "1="));
	CHECK(!span_word(&rest, &word));
	CHECK(!span_key(span_of("=1"), &key, &value));
	CHECK(span_u64(span_of("18446744073709551615"), UINT64_MAX, &got.ios));
	CHECK(got.ios == UINT64_MAX);
	CHECK(!span_u64(span_of("18446744073709551616"), UINT64_MAX, &got.ios));
	CHECK(!span_u64(span_of("99999999999999999999"), UINT64_MAX, &got.ios));
	CHECK(!span_u64(span_of("-1"), UINT64_MAX, &got.ios));
	CHECK(!span_u64(span_of(""), UINT64_MAX, &got.ios));
	CHECK(!span_u64(span_of("11"), 10, &got.ios));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *escaped = text_escape(paths[i]);
		char *back = span_unescape(span_of(escaped));

		CHECK(!strpbrk(escaped, " \t\n\001\177"));
		CHECK(back && same(back, paths[i]));
		free(escaped);
		free(back);
	}
	for (size_t i = 0; i < ARRAY_SIZE(not_text); i++) {
		char *escaped = text_escape(not_text[i]);

		CHECK(*escaped == '\\');
		free(escaped);
	}
	CHECK(!span_unescape(span_of("\\04")));
	CHECK(!span_unescape(span_of("\\000")));
	CHECK(!span_unescape(span_of("\\777")));
	CHECK(!span_unescape(span_of("\\x20")));
}

void test_table(void)
{
	struct ioband_table table;
	struct problem problem;

	CHECK(!parse_table("253:4 8 sda", &table, &problem));
	CHECK(table.device[0] == 253 && table.device[1] == 4);
	CHECK(table.offset == 8 && same(table.pool, "sda"));
	CHECK(same(table.mode, "cgroup") && table.weight == 100);
	CHECK(same(table.measure, "bytes") && same(table.depth, "auto"));
	CHECK(!parse_table("8:0 0 a+b 5 mode=device weight=7 measure=ios depth=9 new=1",
			   &table, &problem));
	CHECK(same(table.mode, "device") && table.weight == 7);
	CHECK(same(table.measure, "ios") && same(table.depth, "9"));
	CHECK(!table.slice_ms && table.writes_starved == 2);
	CHECK(!parse_table("8:0 0 p 5 mode=uid weight=7 measure=time depth=auto slice=80",
			   &table, &problem));
	CHECK(same(table.measure, "time") && table.slice_ms == 80);
	CHECK(!parse_table("8:0 0 p 1 writes_starved=7", &table, &problem));
	CHECK(table.writes_starved == 7 && !table.slice_ms);
	CHECK(parse_table("8:0 0 p 1 writes_starved=auto", &table, &problem));
	CHECK(parse_table("8:0 0 p 1 slice=auto", &table, &problem));
	CHECK(parse_table("8:0 0 p 2 slice=1 slice=1", &table, &problem));
	CHECK(parse_table("", &table, &problem));
	CHECK(parse_table("sda 0 p", &table, &problem));
	CHECK(parse_table("8:0:1 0 p", &table, &problem));
	CHECK(parse_table("8:0 x p", &table, &problem));
	CHECK(parse_table("8:0 0", &table, &problem));
	CHECK(same(problem.text, "the pool is missing"));
	CHECK(parse_table("8:0 0 p 1 mode=", &table, &problem));
	CHECK(parse_table("8:0 0 p 1 weight=a", &table, &problem));
	CHECK(parse_table("8:0 0 p 2 weight=1 weight=1", &table, &problem));
	CHECK(same(problem.text, "a key comes twice: 'weight'"));
	CHECK(parse_table("8:0 0 0123456789012345678901234567890123456789012345678901234567890123",
			  &table, &problem));
}

#define STATUS								\
	"1 pool=sda mode=uid measure=ios state=shared depth=32 groups=3 " \
	"active=2 held=5,6 inflight=7,8 devices=9"

void test_depth(void)
{
	CHECK(parse_depth("auto") && parse_depth("1") && parse_depth("65535"));
	CHECK(parse_depth("1/16384") && parse_depth("65535/1048576"));
	CHECK(!parse_depth("") && !parse_depth("0") && !parse_depth("65536"));
	CHECK(!parse_depth("/16384") && !parse_depth("4/") && !parse_depth("4/8192"));
	CHECK(!parse_depth("4/16385") && !parse_depth("4/2097152"));
	CHECK(!parse_depth("4/16384/1") && !parse_depth("auto/16384"));
}

void test_status(void)
{
	struct ioband_status status;
	struct problem problem;

	CHECK(!parse_status(STATUS, &status, &problem));
	CHECK(same(status.pool, "sda") && same(status.mode, "uid"));
	CHECK(same(status.measure, "ios") && same(status.state, "shared"));
	CHECK(status.depth == 32);
	CHECK(status.groups == 3 && status.active == 2);
	CHECK(status.held[IOS] == 5 && status.held[BYTES] == 6);
	CHECK(status.inflight[IOS] == 7 && status.inflight[BYTES] == 8);
	CHECK(status.devices == 9 && !status.slice_ms);
	CHECK(!parse_status(STATUS " slice=80", &status, &problem));
	CHECK(status.slice_ms == 80 && !status.piece_bytes);
	CHECK(!parse_status(STATUS " slice=0 piece=16384", &status, &problem));
	CHECK(status.piece_bytes == 16384 && !status.brake_bytes_per_s);
	CHECK(!parse_status(STATUS " slice=0 piece=1 brake=7", &status, &problem));
	CHECK(status.brake_bytes_per_s == 7 && status.piece_bytes == 1);
	CHECK(status.writes_starved == 2);
	CHECK(!parse_status(STATUS " slice=0 piece=1 brake=7 writes_starved=5",
			    &status, &problem));
	CHECK(status.writes_starved == 5 && status.brake_bytes_per_s == 7);
	CHECK(parse_status(STATUS " writes_starved=x", &status, &problem));
	CHECK(parse_status(STATUS " slice=80,1", &status, &problem));
	CHECK(!parse_status(STATUS " more=1,2 word", &status, &problem));
	CHECK(parse_status("2" STATUS, &status, &problem));
	CHECK(strstr(problem.text, "its format is '21'"));
	CHECK(parse_status("", &status, &problem));
	CHECK(parse_status("1 pool=sda", &status, &problem));
	CHECK(same(problem.text, "'mode=' is missing"));
	CHECK(parse_status(STATUS " depth=1", &status, &problem));
}

void test_groups(void)
{
	struct groups groups = { .n = 0 };
	struct problem problem;
	struct page_end end;

	CHECK(!parse_list("groups", "1 groups\n"
			  "1 0 root weight=100 set=0\n"
			  "7 1 cgroup#42 weight=300 set=1 path=/a\\040b x=y\n"
			  "next 7\n", &groups, &end, &problem));
	CHECK(groups.n == 2 && end.more && same(end.cursor, "7"));
	CHECK(!groups.v[0].path && !groups.v[0].set);
	CHECK(groups.v[1].seq == 7 && groups.v[1].parent == 1);
	CHECK(same(groups.v[1].name, "cgroup#42"));
	CHECK(groups.v[1].weight == 300 && groups.v[1].set == 1);
	CHECK(groups.v[1].path && same(groups.v[1].path, "/a b"));
	CHECK(!bounds_are_set(&groups.v[1].bounds));
	CHECK(!parse_list("groups", "1 groups\nend\n", &groups, &end, &problem));
	CHECK(groups.n == 2 && !end.more);
	CHECK(parse_list("groups", "1 groups\n1 0 root set=0\nend\n", &groups, &end,
			 &problem));
	CHECK(parse_list("groups", "1 groups\n1 0\nend\n", &groups, &end, &problem));
	CHECK(parse_list("groups", "1 groups\n1 0 c weight=1 set=0 path=/\\9\nend\n",
			 &groups, &end, &problem));
	CHECK(strstr(problem.text, "an escape is malformed"));
	groups_free(&groups);
	CHECK(!groups.n && !groups.v);
}

void test_groups_with_bounds(void)
{
	struct groups groups = { .n = 0 };
	const struct bounds *bounds;
	struct problem problem;
	struct page_end end;

	CHECK(!parse_list("groups", "1 groups\n"
			  "8 1 uid:1 weight=1 set=0 max=5,max,max,7\n"
			  "9 1 uid:2 weight=1 set=0 min=0,6,3,0\n"
			  "9 1 uid:2 weight=1 set=0 max=max,max,9,max min=1,0,0,0 latency=7\n"
			  "end\n", &groups, &end, &problem));
	bounds = &groups.v[0].bounds;
	CHECK(bounds->of[MAXIMUM].rate[RBPS] == 5);
	CHECK(!bounds->of[MAXIMUM].rate[WBPS]);
	CHECK(bounds->of[MAXIMUM].rate[WIOPS] == 7);
	CHECK(!rates_are_set(&bounds->of[MINIMUM]));
	bounds = &groups.v[1].bounds;
	CHECK(bounds->of[MINIMUM].rate[WBPS] == 6);
	CHECK(bounds->of[MINIMUM].rate[RIOPS] == 3);
	CHECK(!bounds->of[MINIMUM].rate[RBPS]);
	CHECK(!rates_are_set(&bounds->of[MAXIMUM]));
	bounds = &groups.v[2].bounds;
	CHECK(bounds->of[MAXIMUM].rate[RIOPS] == 9);
	CHECK(bounds->of[MINIMUM].rate[RBPS] == 1);
	CHECK(bounds->latency_us[0] == 7 && !groups.v[1].bounds.latency_us[0]);
	CHECK(parse_list("groups", "1 groups\n8 1 uid:1 weight=1 set=0 max=5\nend\n",
			 &groups, &end, &problem));
	CHECK(strstr(problem.text, "a maximum is malformed: 'max=5'"));
	CHECK(parse_list("groups", "1 groups\n8 1 uid:1 weight=1 set=0 min=5,max,0,0\nend\n",
			 &groups, &end, &problem));
	CHECK(strstr(problem.text, "a minimum is malformed: 'min=5,max,0,0'"));
	CHECK(parse_list("groups", "1 groups\n8 1 uid:1 weight=1 set=0 latency=5ms\nend\n",
			 &groups, &end, &problem));
	CHECK(strstr(problem.text, "a number is malformed: 'latency=5ms'"));
	groups_free(&groups);
}

void test_stats(void)
{
	struct stats stats = { .n = 0 };
	struct problem problem;
	struct page_end end;

	CHECK(!parse_list("stats", "1 stats\n"
			  "3 uid:0 held=1,2 inflight=3 read=4,5,6,7,8 write=9,10,11,12,13 discard=0,0,0,0,14\n"
			  "end", &stats, &end, &problem));
	CHECK(stats.n == 1 && stats.v[0].seq == 3);
	CHECK(same(stats.v[0].name, "uid:0"));
	CHECK(stats.v[0].held[IOS] == 1 && stats.v[0].held[BYTES] == 2);
	CHECK(stats.v[0].inflight == 3);
	CHECK(stats.v[0].op[READ].ios == 4 && stats.v[0].op[READ].bytes == 5);
	CHECK(stats.v[0].op[READ].held_ios == 6);
	CHECK(stats.v[0].op[READ].wait_ns == 7);
	CHECK(stats.v[0].op[READ].service_ns == 8);
	CHECK(stats.v[0].op[WRITE].ios == 9);
	CHECK(stats.v[0].op[DISCARD].service_ns == 14);
	CHECK(stats.v[0].now[READ].inflight == NOT_TOLD);
	CHECK(!parse_list("stats", "1 stats\n"
			  "3 u held=6,66 inflight=15 read.held=1,11 read.inflight=4 write.held=2,22 write.inflight=5 discard.held=3,33 discard.inflight=6 below=1\n"
			  "end", &stats, &end, &problem));
	CHECK(stats.v[1].below == 1 && !stats.v[0].below);
	for (unsigned int op = READ; op < OPS; op++) {
		CHECK(stats.v[1].now[op].held[IOS] == op + 1);
		CHECK(stats.v[1].now[op].held[BYTES] == 11 * (op + 1));
		CHECK(stats.v[1].now[op].inflight == op + 4);
	}
	CHECK(parse_list("stats", "1 stats\n3 u held=1,2 inflight=3 read.held=1\nend",
			 &stats, &end, &problem));
	CHECK(parse_list("stats", "1 stats\n3 u held=1,2 inflight=3 read=4,5,6,7\nend",
			 &stats, &end, &problem));
	CHECK(parse_list("stats", "1 stats\n3 u held=1,2 inflight=3 read=4,5,6,7,8,9\nend",
			 &stats, &end, &problem));
	CHECK(parse_list("stats", "1 stats\n3 u inflight=3\nend", &stats, &end,
			 &problem));
	stats_free(&stats);
}

/* All but the last. */
#define SLOTS "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"

void test_latency(void)
{
	struct latency latency = { .n = 0 };
	struct problem problem;
	struct page_end end;

	CHECK(!parse_list("latency", "1 latency\n3 root read.wait=" SLOTS "9 write.service="
			  SLOTS "8\nend\n", &latency, &end, &problem));
	CHECK(latency.n == 1 && latency.v[0].wait[READ][25] == 9);
	CHECK(latency.v[0].service[WRITE][25] == 8);
	CHECK(latency.v[0].wait[READ][24] == 1);
	CHECK(!latency.v[0].service[READ][0]);
	CHECK(latency.v[0].wait_ns[READ] == NO_SUM);
	latency_free(&latency);
	CHECK(!parse_list("latency",
			  "1 latency\n3 root write.wait_ns=5 discard.service_ns=6\nend\n",
			  &latency, &end, &problem));
	CHECK(latency.v[0].wait_ns[WRITE] == 5);
	CHECK(latency.v[0].service_ns[DISCARD] == 6);
	CHECK(latency.v[0].service_ns[WRITE] == NO_SUM);
	CHECK(parse_list("latency", "1 latency\n3 root read.wait=" SLOTS "\nend\n",
			 &latency, &end, &problem));
	CHECK(parse_list("latency", "1 latency\n3 root read.wait=" SLOTS "1,1\nend\n",
			 &latency, &end, &problem));
	latency_free(&latency);
}

void test_pages(void)
{
	struct groups groups = { .n = 0 };
	struct problem problem;
	struct page_end end;

	CHECK(parse_list("groups", "", &groups, &end, &problem));
	CHECK(parse_list("groups", "2 groups\nend\n", &groups, &end, &problem));
	CHECK(strstr(problem.text, "its format is '2'"));
	CHECK(parse_list("groups", "1 stats\nend\n", &groups, &end, &problem));
	CHECK(parse_list("groups", "1 groups\n", &groups, &end, &problem));
	CHECK(strstr(problem.text, "breaks off"));
	CHECK(parse_list("groups", "1 groups\nnext\n", &groups, &end, &problem));
	CHECK(!parse_list("groups", "1 groups\n"
			  "next 0123456789012345678901234567890123456789012345678901234567890123\nend\n",
			  &groups, &end, &problem));
	CHECK(!end.more);
	CHECK(!parse_list("groups", "1 groups\nnote x\n\nend\n1 nonsense\n", &groups,
			  &end, &problem));
	CHECK(!groups.n);
	groups_free(&groups);
}

void test_saved_weights(void)
{
	struct saved_weights weights = { .n = 0 };
	struct problem problem;

	CHECK(!parse_saved_weights("1 weights\n# comment\n\n"
				   "pool=sda group=cgroup:/a\\040b weight=300\n"
				   "pool=p device=d group=device weight=1 new=2\n",
				   &weights, &problem));
	CHECK(weights.n == 2 && weights.v[0].line == 4);
	CHECK(same(weights.v[0].pool, "sda") && !weights.v[0].device);
	CHECK(same(weights.v[0].group, "cgroup:/a b"));
	CHECK(weights.v[0].weight == 300);
	CHECK(same(weights.v[1].device, "d"));
	CHECK(!bounds_are_set(&weights.v[1].bounds));
	CHECK(!parse_saved_weights("1 weights\npool=p group=g max=1,2,3,4\n"
				   "pool=p group=g weight=3 max=max,2,max,4\n"
				   "pool=p group=g min=0,0,7,0\n"
				   "pool=p group=g latency=10000000\n",
				   &weights, &problem));
	CHECK(weights.n == 6 && !weights.v[2].weight);
	CHECK(weights.v[2].bounds.of[MAXIMUM].rate[RIOPS] == 3);
	CHECK(weights.v[3].weight == 3);
	CHECK(weights.v[3].bounds.of[MAXIMUM].rate[WBPS] == 2);
	CHECK(weights.v[4].bounds.of[MINIMUM].rate[RIOPS] == 7);
	CHECK(!rates_are_set(&weights.v[4].bounds.of[MAXIMUM]));
	CHECK(weights.v[5].bounds.latency_us[0] == LATENCY_MAX_US);
	CHECK(parse_saved_weights("1 weights\npool=p group=g latency=10000001\n",
				  &weights, &problem));
	CHECK(strstr(problem.text, "line 2: the latency is not from 1 to"));
	CHECK(parse_saved_weights("1 weights\npool=p group=g latency=0\n",
				  &weights, &problem));
	CHECK(parse_saved_weights("1 weights\npool=p group=g\n", &weights,
				  &problem));
	CHECK(strstr(problem.text, "neither a weight from 1 to 10000 nor"));
	saved_weights_free(&weights);
	CHECK(parse_saved_weights("", &weights, &problem));
	CHECK(parse_saved_weights("2 weights\n", &weights, &problem));
	CHECK(parse_saved_weights("1 weights\n\npool=p group=g weight=0\n",
				  &weights, &problem));
	CHECK(!strncmp(problem.text, "line 3: ", 8));
	CHECK(parse_saved_weights("1 weights\npool=p group=g weight=10001\n",
				  &weights, &problem));
	CHECK(parse_saved_weights("1 weights\ngroup=g weight=1\n", &weights,
				  &problem));
	saved_weights_free(&weights);
}

void test_unknown_message(void)
{
	CHECK(parse_is_unknown("'max': must be weight, set, groups, stats or latency",
			       "max"));
	CHECK(!parse_is_unknown("'mix': must be weight, max, set, groups, stats or latency",
				"max"));
	CHECK(parse_is_unknown("'min': must be weight, max, set, groups, stats or latency",
			       "min"));
	CHECK(parse_is_unknown("'latency-target': must be weight, max, min, set",
			       "latency-target"));
	CHECK(!parse_is_unknown("there is no such cgroup", "max"));
}

void test_weight(void)
{
	struct saved_weight got;
	struct problem problem;

	CHECK(!weight_read("1", &got.weight, &problem) && got.weight == 1);
	CHECK(!weight_read("10000", &got.weight, &problem));
	CHECK(got.weight == 10000);
	CHECK(!weight_read("default", &got.weight, &problem) && !got.weight);
	CHECK(weight_read("0", &got.weight, &problem));
	CHECK(weight_read("10001", &got.weight, &problem));
	CHECK(weight_read("", &got.weight, &problem));
	CHECK(weight_read("1 ", &got.weight, &problem));
	CHECK(weight_read("+1", &got.weight, &problem));
	CHECK(!weight_read("idle", &got.weight, &problem));
	CHECK(got.weight == IOBAND_WEIGHT_IDLE);
	CHECK(weight_read("Idle", &got.weight, &problem));
	CHECK(weight_read("idle1", &got.weight, &problem));
}

void test_pool_name(void)
{
	char name[IOBAND_POOL_SIZE + 1];

	CHECK(parse_pool_name("a") && parse_pool_name("sda+sd_b.c:1-"));
	CHECK(!parse_pool_name("") && !parse_pool_name("-a"));
	CHECK(!parse_pool_name("a b") && !parse_pool_name("a/b"));
	CHECK(!parse_pool_name("\303\244"));
	memset(name, 'x', sizeof(name));
	name[63] = 0;
	CHECK(parse_pool_name(name));
	name[63] = 'x';
	name[64] = 0;
	CHECK(!parse_pool_name(name));
}

void test_kernel_log(void)
{
	char said[32];

	CHECK(parse_kernel_log("3,1;device-mapper: table: 253:0: ioband: no (-EINVAL)\n KEY=x\n",
			       said, sizeof(said)));
	CHECK(same(said, "no (-EINVAL)"));
	CHECK(parse_kernel_log("3,1,2,-;device-mapper: ioband: bad", said, 3));
	CHECK(same(said, "ba"));
	CHECK(!parse_kernel_log("3,1,2,-;device-mapper: linear: bad", said,
				sizeof(said)));
	CHECK(!parse_kernel_log("3,1,2,-;bioband: x", said, sizeof(said)));
	CHECK(!parse_kernel_log("ioband: device-mapper: x", said, sizeof(said)));
	CHECK(!parse_kernel_log("3;device-mapper: x\nioband: y", said,
				sizeof(said)));
}

void test_has_path(void)
{
	static const char *const with[] = {
		"2 0 0 0 2 1 A 0 1 0 8:16 A 0 E 0 1 0 8:32 F 1",
		"2 0 0 0 1 1 A 0 2 2 8:16 F 3 0 1 8:32 A 0 0 1",
	};
	static const char *const without[] = {
		"", "2 0 0 0 0 0", "2 0 0 0 1 1 A 0 1 0 8:16 F 1",
		/* A is a priority group that is active, or stands behind no number. */
		"2 1 0 0 2 1 A 0 1 0 8:16 F 1 A 0 1 0 8:32 F 4", "8:1 F A", "x8:1 A", "8:1:1 A",
	};

	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		CHECK(parse_has_path(with[i]));
	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		CHECK(!parse_has_path(without[i]));
}
