// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl stat: the I/O of groups, with their wait and service times. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/group.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/histogram.h"
#include "observe/interval.h"
#include "observe/sample.h"
#include "print/print.h"
#include "verbs/verbs.h"

enum { POOL, DEVICE, GROUP, ID, PATH, OP, SECONDS, IOS_COUNT, BYTES_COUNT,
	IOS_RATE, BYTES_RATE, SHARE, HELD_COUNT, WAIT_AVG, WAIT_P50, WAIT_P99,
	SERVICE_AVG, SERVICE_P50, SERVICE_P99, SERVICE_MAX, INFLIGHT, HELD_NOW,
	HELD_BYTES, COLUMNS };

/* With --interval, rates and shares are shown in place of sums: look_at_all(). */
static const struct column columns[COLUMNS] = {
	[POOL] = { "POOL", "pool", COLUMN_TEXT },
	[DEVICE] = { "DEVICE", "device", COLUMN_TEXT, true },
	[GROUP] = { "GROUP", "group", COLUMN_PATH },
	[ID] = { "ID", "id", COLUMN_TEXT, true },
	[PATH] = { "PATH", "path", COLUMN_PATH, true },
	[OP] = { "OP", "op", COLUMN_TEXT },
	[SECONDS] = { "SECONDS", "seconds", COLUMN_REAL, true },
	[IOS_COUNT] = { "IOS", "ios", COLUMN_NUMBER },
	[BYTES_COUNT] = { "BYTES", "bytes", COLUMN_BYTES },
	[IOS_RATE] = { "IOS/S", "ios_per_s", COLUMN_REAL, true },
	[BYTES_RATE] = { "BYTES/S", "bytes_per_s", COLUMN_BYTES, true },
	[SHARE] = { "SHARE%", "share_pct", COLUMN_REAL, true },
	[HELD_COUNT] = { "HELD", "held_ios", COLUMN_NUMBER, true },
	[WAIT_AVG] = { "WAIT", "wait_avg_ns", COLUMN_TIME },
	[WAIT_P50] = { "WAIT50", "wait_p50_ns", COLUMN_TIME, true },
	[WAIT_P99] = { "WAIT99", "wait_p99_ns", COLUMN_TIME },
	[SERVICE_AVG] = { "SERVICE", "service_avg_ns", COLUMN_TIME },
	[SERVICE_P50] = { "SERV50", "service_p50_ns", COLUMN_TIME, true },
	[SERVICE_P99] = { "SERV99", "service_p99_ns", COLUMN_TIME },
	[SERVICE_MAX] = { "SERVMAX", "service_max_ns", COLUMN_TIME, true },
	[INFLIGHT] = { "INFLIGHT", "inflight_now", COLUMN_NUMBER, true },
	[HELD_NOW] = { "HELD-NOW", "held_now", COLUMN_NUMBER, true },
	[HELD_BYTES] = { "HELD-BYTES", "held_now_bytes", COLUMN_BYTES, true },
};

#define TOTAL OPS	/* the sum of the operations */

/* A run of the verb. */
struct watch {
	const struct args *args;
	const struct ioband_devices *devices;
	struct scope scope;	/* the pools and devices to sample */
	/* The groups to print, by the kernel's names; empty for all. */
	struct group_ref *group;
	size_t n;
	struct targets speakers;
	struct sample *before;	/* the previous sample of each of @speakers */
	bool json;
	double interval_s;	/* seconds between samples; 0 for totals */
};

/* The columns of an average and two percentiles begin with @first. */
static void print_times(struct row *row, size_t first, uint64_t ios,
			uint64_t sum_ns, const uint64_t slots[HISTOGRAM_SLOTS])
{
	uint64_t ns;

	if (ios)
		print_number(row, first, sum_ns / ios);
	if (histogram_percentile(slots, 50, &ns))
		print_number(row, first + 1, ns);
	if (histogram_percentile(slots, 99, &ns))
		print_number(row, first + 2, ns);
}

/* Print the histograms of one operation, or of all. */
static void print_latency(struct row *row, const struct group_latency *latency, int op,
			  const struct op_stats *stats)
{
	uint64_t wait[HISTOGRAM_SLOTS] = { 0 };
	uint64_t service[HISTOGRAM_SLOTS] = { 0 };
	uint64_t ns;

	for (int i = 0; latency && i < OPS; i++) {
		if (op != TOTAL && op != i)
			continue;
		histogram_add(wait, latency->wait[i]);
		histogram_add(service, latency->service[i]);
	}
	print_times(row, WAIT_AVG, stats->held_ios, stats->wait_ns, wait);
	print_times(row, SERVICE_AVG, stats->ios, stats->service_ns, service);
	if (histogram_max(service, &ns))
		print_number(row, SERVICE_MAX, ns);
}

static void print_amounts(struct row *row, const struct op_stats *stats, double seconds)
{
	print_number(row, IOS_COUNT, stats->ios);
	print_number(row, BYTES_COUNT, stats->bytes);
	print_number(row, HELD_COUNT, stats->held_ios);
	if (seconds <= 0)
		return;
	print_real(row, SECONDS, seconds);
	print_real(row, IOS_RATE, stats->ios / seconds);
	print_number(row, BYTES_RATE, stats->bytes / seconds);
}

static void print_identity(struct row *row, const struct watch *watch,
			   const struct ioband_device *speaker, const struct sample *sample,
			   const struct group_stats *stats)
{
	const struct ioband_group *group = groups_find(&sample->groups, stats->seq);
	const struct ioband_device *owner =
		group ? tree_owner(watch->devices, &sample->groups, group) :
			NULL;
	char *name = group ? tree_name(watch->devices, &sample->groups, group) :
			     xstrdup(stats->name);

	print_text(row, POOL, speaker->table.pool);
	print_text(row, GROUP, name);
	print_text(row, ID, stats->name);
	if (owner)
		print_text(row, DEVICE, owner->dm->name);
	if (group)
		print_text(row, PATH, group->path);
	free(name);
}

static void print_now(struct row *row, uint64_t inflight, const uint64_t held[AMOUNTS])
{
	if (inflight == NOT_TOLD)
		return;
	print_number(row, INFLIGHT, inflight);
	print_number(row, HELD_NOW, held[IOS]);
	print_number(row, HELD_BYTES, held[BYTES]);
}

/* An operation without I/O in the sample, and without queued or in-flight I/O. */
static bool is_unused(const struct group_stats *stats, int op)
{
	const struct op_now *now = &stats->now[op];

	return !stats->op[op].ios && !now->held[IOS] &&
	       (!now->inflight || now->inflight == NOT_TOLD);
}

/* Print one row for each used operation, and one for their sum. */
static void print_group(struct table *table, const struct watch *watch,
			const struct ioband_device *speaker, const struct sample *sample,
			const struct group_stats *stats, double seconds)
{
	const struct group_latency *latency = latency_find(&sample->latency, stats->seq);

	for (int op = 0; op <= TOTAL; op++) {
		struct op_stats amounts = op == TOTAL ? stats_total(stats) : stats->op[op];
		struct row *row;

		if (op != TOTAL && is_unused(stats, op) && !watch->json)
			continue;
		row = print_row(table);
		print_identity(row, watch, speaker, sample, stats);
		print_text(row, OP, op == TOTAL ? "total" : op_names[op]);
		print_amounts(row, &amounts, seconds);
		print_latency(row, latency, op, &amounts);
		if (op != TOTAL) {
			print_now(row, stats->now[op].inflight, stats->now[op].held);
			continue;
		}
		print_now(row, stats->inflight, stats->held);
		if (seconds > 0)
			print_real(row, SHARE,
				   stats_share(&sample->stats, stats, speaker->table.measure));
	}
}

/* Without named groups and JSON, omit groups that were idle in the interval. */
static bool is_wanted(const struct watch *watch, const struct sample *sample,
		      const struct group_stats *stats)
{
	const struct ioband_group *group = groups_find(&sample->groups, stats->seq);

	if (group && !tree_has(watch->devices, &sample->groups, group, watch->scope.device))
		return false;
	for (size_t i = 0; i < watch->n; i++) {
		if (!strcmp(watch->group[i].name, stats->name))
			return true;
	}
	return !watch->n && (watch->json || stats_total(stats).ios || stats->held[IOS] ||
			     stats->inflight);
}

static void print_sample(struct table *table, const struct watch *watch,
			 const struct ioband_device *speaker,
			 const struct sample *sample, double seconds)
{
	for (size_t i = 0; i < sample->stats.n; i++) {
		if (is_wanted(watch, sample, &sample->stats.v[i]))
			print_group(table, watch, speaker, sample, &sample->stats.v[i], seconds);
	}
}

/* Sample a pool, and print the sample or its difference from the last one. */
static int look(struct table *table, struct watch *watch, size_t i)
{
	const struct ioband_device *speaker = watch->speakers.v[i];
	struct sample *before = &watch->before[i];
	struct sample now, delta;
	int code = sample_take(speaker, &now);

	if (code == EXIT_OK && watch->interval_s > 0) {
		sample_delta(before, &now, &delta);
		print_sample(table, watch, speaker, &delta, delta.ns / (double)NS_PER_S);
		sample_delta_free(&delta);
	} else if (code == EXIT_OK) {
		print_sample(table, watch, speaker, &now, 0);
	}
	sample_free(before);
	*before = now;
	return code;
}

static int look_at_all(struct watch *watch)
{
	bool rates = watch->interval_s > 0;
	struct column shown[COLUMNS];
	struct table *table;
	int code = EXIT_OK;

	memcpy(shown, columns, sizeof(shown));
	shown[IOS_COUNT].more = rates;
	shown[BYTES_COUNT].more = rates;
	shown[IOS_RATE].more = !rates;
	shown[BYTES_RATE].more = !rates;
	shown[SHARE].more = !rates;
	table = print_asked("stat", shown, COLUMNS, watch->args);
	if (rates)
		print_repeats(table);
	for (size_t i = 0; i < watch->speakers.n && code == EXIT_OK; i++)
		code = look(table, watch, i);
	return first_failure(code, print_end(table));
}

static int look_again_and_again(struct watch *watch, uint64_t count)
{
	uint64_t next_ns = sample_clock();
	int code = EXIT_OK;

	for (size_t i = 0; i < watch->speakers.n && code == EXIT_OK; i++)
		code = sample_take(watch->speakers.v[i], &watch->before[i]);
	for (uint64_t i = 0; code == EXIT_OK && (!count || i < count); i++) {
		next_ns = interval_next(next_ns, watch->interval_s);
		interval_sleep(next_ns);
		if (i && !watch->json)
			print_line("%s", "");
		code = look_at_all(watch);
	}
	return code;
}

static int read_interval(const struct args *args, double *interval_s, uint64_t *count)
{
	const char *interval = args->value[OPTION_INTERVAL];
	const char *times = args->value[OPTION_COUNT];

	*interval_s = 0;
	*count = 0;
	if (times && (!span_u64(span_of(times), UINT64_MAX, count) || !*count))
		return fail(EXIT_USAGE, "--count '%s': it is a number from 1 on", times);
	if (times && !interval)
		return fail(EXIT_USAGE, "--count needs --interval SECONDS");
	return interval_of(args, interval_s);
}

static int find_groups(struct watch *watch, const struct args *args)
{
	struct finder finder = { .devices = watch->devices };
	int code = EXIT_OK;

	watch->group = xcalloc(args->n, sizeof(*watch->group));
	for (; watch->n < (size_t)args->n && code == EXIT_OK; watch->n++)
		code = group_find(&finder, args->operand[watch->n],
				  &watch->scope, &watch->group[watch->n]);
	return code;
}

static int run(const struct args *args)
{
	struct ioband_devices devices __cleanup(ioband_free) = { .n = 0 };
	struct watch watch = {
		.args = args, .devices = &devices, .json = args->value[OPTION_JSON],
	};
	uint64_t count;
	int code = read_interval(args, &watch.interval_s, &count) ?:
		   ioband_load(&devices) ?:
		   ioband_scope(&devices, args, &watch.scope) ?:
		   find_groups(&watch, args);

	ioband_pools(&devices, &watch.scope, &watch.speakers);
	watch.before = xcalloc(watch.speakers.n, sizeof(*watch.before));
	if (code == EXIT_OK)
		code = watch.interval_s > 0 ?
		       look_again_and_again(&watch, count) :
		       look_at_all(&watch);
	for (size_t i = 0; i < watch.speakers.n; i++)
		sample_free(&watch.before[i]);
	free(watch.before);
	free(watch.group);
	targets_free(&watch.speakers);
	return code;
}

static const struct option_spec options[] = {
	SPEC_DEVICE,
	SPEC_POOL,
	{ OPTION_INTERVAL, "interval", "SECONDS",
	  "print IOS/S, BYTES/S and SHARE% of each interval, until interrupted" },
	{ OPTION_COUNT, "count", "N", "end after N intervals" },
	SPEC_COLUMNS, SPEC_NO_HEADINGS, SPEC_BYTES,
	SPEC_JSON,
	{ .name = NULL }
};

const struct verb verb_stat = {
	.name = "stat",
	.args = "[GROUP...]",
	.summary = "Show what all or some groups did, and how long it took",
	.max = ARGS_ANY,
	.options = options,
	.run = run,
	.columns = columns,
	.n_columns = COLUMNS,
};
