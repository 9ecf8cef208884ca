// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics in Prometheus' text format 0.0.4, or in OpenMetrics 1.0.  Pure.
 *
 * The samples are the same in both formats.  The comments above a family differ: the older format
 * gives a counter the name of its samples, and has neither units nor the type info.
 *
 * All samples of a family must be adjacent, so each family walks all groups.
 *
 * A histogram has a sum and a count of its present content.  They do not cover the whole life of a
 * group, as the kernel drops the histograms of idle groups.  The format requires both or neither:
 * older modules have no sums, so then neither is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/histogram.h"
#include "observe/metrics-text.h"

/* The name of a family of samples, and its comments. */
struct figure {
	const char *name;
	const char *unit;
	const char *help;
};

/* A text being written. */
struct page {
	FILE *stream;
	bool openmetrics;	/* the format is OpenMetrics */
};

static void family(const struct page *page, const char *type, const struct figure *figure)
{
	const char *name = figure->name, *help = figure->help;
	bool is_info = !strcmp(type, "info");
	const char *suffix = is_info ? "_info" : !strcmp(type, "counter") ? "_total" : "";

	if (!page->openmetrics) {
		fprintf(page->stream, "# HELP %s%s %s\n", name, suffix, help);
		fprintf(page->stream, "# TYPE %s%s %s\n", name, suffix, is_info ? "gauge" : type);
		return;
	}
	fprintf(page->stream, "# TYPE %s %s\n", name, type);
	if (figure->unit)
		fprintf(page->stream, "# UNIT %s %s\n", name, figure->unit);
	fprintf(page->stream, "# HELP %s %s\n", name, help);
}

/* A label value: UTF-8, with a backslash before each of three characters. */
static char *escape(const char *name)
{
	char *text __free = text_utf8(name);
	char *from = text;
	char *escaped = xcalloc(2 * strlen(text) + 1, 1), *to = escaped;

	for (; *from; from++) {
		if (strchr("\\\"\n", *from))
			*to++ = '\\';
		*to++ = *from == '\n' ? 'n' : *from;
	}
	return escaped;
}

static void print_seconds(FILE *stream, uint64_t ns)
{
	fprintf(stream, " %llu.%09llu\n", (unsigned long long)(ns / NS_PER_S),
		(unsigned long long)(ns % NS_PER_S));
}

static void print_count(FILE *stream, uint64_t count)
{
	fprintf(stream, " %llu\n", (unsigned long long)count);
}

/* -- the text itself, devices and pools ------------------------------------------------- */

static void write_about(const struct metrics *metrics, const struct page *page)
{
	static const struct figure build = {
		"ioband_build", NULL, "Versions of iobandctl and of the kernel's target."
	};
	static const struct figure success = {
		"ioband_last_success_timestamp_seconds", "seconds",
		"When these figures were read, since 1970."
	};
	static const struct figure running = {
		"ioband_watch_running", NULL, "Whether iobandctl watch runs."
	};

	family(page, "info", &build);
	fprintf(page->stream, "ioband_build_info{version=\"%s\",target_version=\"%s\"} 1\n",
		VERSION, metrics->target_version);
	family(page, "gauge", &success);
	fputs(success.name, page->stream);
	print_seconds(page->stream, metrics->now_ns);
	family(page, "gauge", &running);
	fputs(running.name, page->stream);
	print_count(page->stream, metrics->is_watched);
}

static void write_devices(const struct metrics *metrics, const struct page *page)
{
	static const struct figure suspended = {
		"ioband_device_suspended", NULL, "Whether no I/O passes the ioband device."
	};

	family(page, "gauge", &suspended);
	for (size_t i = 0; i < metrics->devices.n; i++) {
		char *name __free = NULL;
		const struct ioband_device *device = &metrics->devices.v[i];

		if (!ioband_in_scope(device, &metrics->scope))
			continue;
		name = escape(device->dm->name);
		fprintf(page->stream,
			"ioband_device_suspended{pool=\"%s\",device=\"%s\",mode=\"%s\"} %d\n",
			device->table.pool, name, device->table.mode, device->dm->suspended);
	}
}

enum pool_figure { SHARED, DEVICES, GROUPS, ACTIVE, DEPTH, PIECE, SLICE,
	WRITES_STARVED, BRAKE, INFLIGHT_IOS, INFLIGHT_BYTES, HELD_IOS, HELD_BYTES };

static const struct figure pool_figures[] = {
	[SHARED] = { "ioband_pool_shared", NULL,
		"Whether groups compete, so that I/O is held and ordered." },
	[DEVICES] = { "ioband_pool_devices", NULL, "Devices in the pool." },
	[GROUPS] = { "ioband_pool_groups", NULL, "Groups of the pool." },
	[ACTIVE] = { "ioband_pool_active_groups", NULL,
		"Groups that have I/O, or had it a moment ago." },
	[DEPTH] = { "ioband_pool_depth_ios", "ios",
		"I/Os that may be in flight while groups compete; 0: no limit." },
	[PIECE] = { "ioband_pool_piece_bytes", "bytes",
		"Size of the pieces in which large I/Os go down; 0: whole." },
	[SLICE] = { "ioband_pool_slice_seconds", "seconds",
		"How long a group has the devices to itself; 0: no slices." },
	[WRITES_STARVED] = { "ioband_pool_writes_starved", NULL,
		"How many reads of a group go before a write that waits." },
	[BRAKE] = { "ioband_pool_brake_bytes_per_second", "bytes_per_second",
		"Rate of all groups that a latency target throttles; 0: none." },
	[INFLIGHT_IOS] = { "ioband_pool_inflight_ios", "ios",
		"I/Os in flight, while groups compete." },
	[INFLIGHT_BYTES] = { "ioband_pool_inflight_bytes", "bytes",
		"Bytes in flight, while groups compete." },
	[HELD_IOS] = { "ioband_pool_held_ios", "ios", "I/Os held now." },
	[HELD_BYTES] = { "ioband_pool_held_bytes", "bytes", "Bytes held now." },
};

static uint64_t pool_figure(const struct ioband_status *status, enum pool_figure figure)
{
	const uint64_t value[] = {
		[SHARED] = !strcmp(status->state, "shared"),
		[DEVICES] = status->devices,
		[GROUPS] = status->groups,
		[ACTIVE] = status->active,
		[DEPTH] = status->depth,
		[PIECE] = status->piece_bytes,
		[SLICE] = status->slice_ms,
		[WRITES_STARVED] = status->writes_starved,
		[BRAKE] = status->brake_bytes_per_s,
		[INFLIGHT_IOS] = status->inflight[IOS],
		[INFLIGHT_BYTES] = status->inflight[BYTES],
		[HELD_IOS] = status->held[IOS],
		[HELD_BYTES] = status->held[BYTES],
	};

	return value[figure];
}

static void write_pools(const struct metrics *metrics, const struct page *page)
{
	for (size_t f = 0; f < ARRAY_SIZE(pool_figures); f++) {
		family(page, "gauge", &pool_figures[f]);
		for (size_t i = 0; i < metrics->n; i++) {
			const struct ioband_status *status = &metrics->pool[i].speaker->status;
			uint64_t figure = pool_figure(status, f);

			fprintf(page->stream, "%s{pool=\"%s\"}", pool_figures[f].name,
				status->pool);
			if (f == SLICE)
				print_seconds(page->stream, figure * (NS_PER_S / 1000));
			else
				print_count(page->stream, figure);
		}
	}
}

/* -- groups ----------------------------------------------------------------------------- */

/* A group with samples. */
struct series {
	char *labels;	/* its labels, escaped, separated by commas */
	const struct metrics_pool *pool;
	const struct ioband_group *group;
	const struct group_stats *stats;	/* its counters; NULL if it did no I/O */
};

/* All groups, sorted by labels. */
struct all_series {
	struct series *v;
	size_t n;
};

/* The name as in set-weight; a restarted service keeps it. */
static char *group_labels(const struct metrics *metrics, const struct metrics_pool *pool,
			  const struct ioband_group *group)
{
	const struct ioband_device *owner =
		tree_owner(&metrics->devices, &pool->sample.groups, group);
	char *device = escape(owner ? owner->dm->name : "");
	char *name = escape(group->path ? group->path :
			    owner && tree_is_device(group) ? "device" :
			    group->name);
	char *text = xasprintf("pool=\"%s\",device=\"%s\",group=\"%s\"",
			       pool->speaker->table.pool, device, name);

	free(name);
	free(device);
	return text;
}

static void add_series(const struct metrics *metrics,
		       const struct metrics_pool *pool, struct all_series *all)
{
	const struct groups *groups = &pool->sample.groups;

	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];

		if (!tree_has(&metrics->devices, groups, group, metrics->scope.device))
			continue;
		*XPUSH(all->v, all->n) = (struct series){
			.labels = group_labels(metrics, pool, group),
			.pool = pool,
			.group = group,
			.stats = stats_find(&pool->sample.stats, group->seq),
		};
	}
}

static int by_labels(const void *left, const void *right)
{
	const struct series *a = left, *b = right;
	int order = strcmp(a->labels, b->labels);

	return order ? order : (a->group->seq > b->group->seq) - (a->group->seq < b->group->seq);
}

/*
 * The group of a removed cgroup may remain for some seconds beside the group of
 * a new cgroup of the same name.  The latest of them counts.
 */
static void drop_old_series(struct all_series *all)
{
	size_t kept = 0;

	if (all->n)
		qsort(all->v, all->n, sizeof(*all->v), by_labels);
	for (size_t i = 0; i < all->n; i++) {
		if (i + 1 < all->n && !strcmp(all->v[i].labels, all->v[i + 1].labels))
			free(all->v[i].labels);
		else
			all->v[kept++] = all->v[i];
	}
	all->n = kept;
}

enum gauge { WEIGHT, HELD_NOW, HELD_NOW_BYTES, INFLIGHT };

static const struct figure gauges[] = {
	[WEIGHT] = { "ioband_group_weight", NULL, "Weight of the group, 0: idle." },
	[HELD_NOW] = { "ioband_group_held_ios", "ios", "I/Os held now." },
	[HELD_NOW_BYTES] = { "ioband_group_held_bytes", "bytes", "Bytes held now." },
	[INFLIGHT] = { "ioband_group_inflight_ios", "ios", "I/Os below ioband now." },
};

static uint64_t gauge_value(const struct series *series, enum gauge gauge)
{
	const struct group_stats none = { .seq = 0 }, *stats = series->stats ?: &none;
	const uint64_t value[] = {
		[WEIGHT] = weight_number(series->group->weight),
		[HELD_NOW] = stats->held[IOS],
		[HELD_NOW_BYTES] = stats->held[BYTES],
		[INFLIGHT] = stats->inflight,
	};

	return value[gauge];
}

static void write_gauges(const struct all_series *all, const struct page *page)
{
	for (size_t g = 0; g < ARRAY_SIZE(gauges); g++) {
		family(page, "gauge", &gauges[g]);
		for (size_t i = 0; i < all->n; i++) {
			fprintf(page->stream, "%s{%s}", gauges[g].name, all->v[i].labels);
			print_count(page->stream, gauge_value(&all->v[i], g));
		}
	}
}

static const struct {
	struct figure figure;
	enum bound bound;
	enum rate read;	/* the rate of writes follows */
} bounds[] = {
	{ { "ioband_group_max_bytes_per_second", "bytes_per_second",
	    "Bytes that the group may have at most." }, MAXIMUM, RBPS },
	{ { "ioband_group_max_ios_per_second", "ios_per_second",
	    "I/Os that the group may have at most." }, MAXIMUM, RIOPS },
	{ { "ioband_group_min_bytes_per_second", "bytes_per_second",
	    "Bytes that the group has at least, if it submits as much." }, MINIMUM, RBPS },
	{ { "ioband_group_min_ios_per_second", "ios_per_second",
	    "I/Os that the group has at least, if it submits as much." }, MINIMUM, RIOPS },
};

static void write_bound(const struct series *series, size_t family, FILE *stream)
{
	const struct rates *rates = &series->group->bounds.of[bounds[family].bound];

	for (int op = READ; op <= WRITE; op++) {
		uint64_t rate = rates->rate[bounds[family].read + op];

		if (!rate)
			continue;
		fprintf(stream, "%s{%s,op=\"%s\"}", bounds[family].figure.name,
			series->labels, op_names[op]);
		print_count(stream, rate);
	}
}

/* For groups with bounds; discards count as writes. */
static void write_bounds(const struct all_series *all, const struct page *page)
{
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		family(page, "gauge", &bounds[i].figure);
		for (size_t k = 0; k < all->n; k++)
			write_bound(&all->v[k], i, page->stream);
	}
}

/* For groups with a target. */
static void write_targets(const struct all_series *all, const struct page *page)
{
	static const struct figure kinds[BOUNDS - LATENCY] = {
		{ "ioband_group_latency_target_seconds", "seconds",
		  "How long reads of the group are to take on average." },
		{ "ioband_group_write_latency_target_seconds", "seconds",
		  "How long synchronous writes and flushes of the group are to take on average." },
	};

	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		family(page, "gauge", &kinds[kind]);
		for (size_t i = 0; i < all->n; i++) {
			uint64_t us = all->v[i].group->bounds.latency_us[kind];

			if (!us)
				continue;
			fprintf(page->stream, "%s{%s}", kinds[kind].name, all->v[i].labels);
			print_seconds(page->stream, us * 1000);
		}
	}
}

enum counter { IOS_DONE, BYTES_DONE, IOS_DELAYED, WAIT_TIME, SERVICE_TIME };

static const struct figure counters[] = {
	[IOS_DONE] = { "ioband_group_ios", "ios", "I/Os completed." },
	[BYTES_DONE] = { "ioband_group_bytes", "bytes", "Bytes completed." },
	[IOS_DELAYED] = { "ioband_group_delayed_ios", "ios", "I/Os completed that had been held." },
	[WAIT_TIME] = { "ioband_group_wait_time_seconds", "seconds",
		"Time for which I/Os were held, added up." },
	[SERVICE_TIME] = { "ioband_group_service_time_seconds", "seconds",
		"Time that I/Os were below ioband, added up." },
};

static void write_counter(const struct series *series, enum counter counter, int op, FILE *stream)
{
	const struct op_stats *stats = &series->stats->op[op];
	const uint64_t value[] = {
		[IOS_DONE] = stats->ios,
		[BYTES_DONE] = stats->bytes,
		[IOS_DELAYED] = stats->held_ios,
		[WAIT_TIME] = stats->wait_ns,
		[SERVICE_TIME] = stats->service_ns,
	};

	fprintf(stream, "%s_total{%s,op=\"%s\"}", counters[counter].name,
		series->labels, op_names[op]);
	if (counter == WAIT_TIME || counter == SERVICE_TIME)
		print_seconds(stream, value[counter]);
	else
		print_count(stream, value[counter]);
}

static void write_counters(const struct all_series *all, const struct page *page)
{
	for (size_t c = 0; c < ARRAY_SIZE(counters); c++) {
		family(page, "counter", &counters[c]);
		for (size_t i = 0; i < all->n; i++) {
			for (int op = 0; all->v[i].stats && op < OPS; op++)
				write_counter(&all->v[i], c, op, page->stream);
		}
	}
}

static void write_bucket(const char *name, const char *labels, int op,
			 const char *end, uint64_t below, FILE *stream)
{
	fprintf(stream, "%s_bucket{%s,op=\"%s\",le=\"%s\"}", name, labels, op_names[op], end);
	print_count(stream, below);
}

static void write_sum(const char *name, const char *labels, int op,
		      uint64_t count, uint64_t sum_ns, FILE *stream)
{
	fprintf(stream, "%s_count{%s,op=\"%s\"}", name, labels, op_names[op]);
	print_count(stream, count);
	fprintf(stream, "%s_sum{%s,op=\"%s\"}", name, labels, op_names[op]);
	print_seconds(stream, sum_ns);
}

/* Empty histograms are left out: most groups discard nothing, and never waited. */
static void write_buckets(const char *name, const char *labels, int op,
			  const uint64_t slots[HISTOGRAM_SLOTS], uint64_t sum_ns, FILE *stream)
{
	const int last = HISTOGRAM_SLOTS - 1;
	uint64_t below = 0, all = 0;
	char end[32];

	for (int slot = 0; slot <= last; slot++)
		all += slots[slot];
	for (int slot = 0; all && slot <= last; slot++) {
		below += slots[slot];
		snprintf(end, sizeof(end), "%.12g", histogram_end(slot) / (double)NS_PER_S);
		write_bucket(name, labels, op, slot < last ? end : "+Inf", below, stream);
	}
	if (all && sum_ns != NO_SUM)
		write_sum(name, labels, op, all, sum_ns, stream);
}

static void write_histograms(const struct all_series *all, bool wait, const struct page *page)
{
	static const struct figure figures[] = {
		{ "ioband_group_service_seconds", "seconds", "How long I/Os were below ioband." },
		{ "ioband_group_wait_seconds", "seconds",
		  "How long the I/Os that were held were held." },
	};
	const char *name = figures[wait].name;

	family(page, "histogram", &figures[wait]);
	for (size_t i = 0; i < all->n; i++) {
		const struct series *series = &all->v[i];
		const struct group_latency *latency =
			latency_find(&series->pool->sample.latency, series->group->seq);

		for (int op = 0; latency && op < OPS; op++)
			write_buckets(name, series->labels, op,
				      wait ? latency->wait[op] : latency->service[op],
				      wait ? latency->wait_ns[op] : latency->service_ns[op],
				      page->stream);
	}
}

void metrics_write(const struct metrics *metrics, FILE *stream)
{
	const struct page page = { stream, metrics->openmetrics };
	struct all_series all = { .n = 0 };

	for (size_t i = 0; i < metrics->n; i++)
		add_series(metrics, &metrics->pool[i], &all);
	drop_old_series(&all);
	write_about(metrics, &page);
	write_devices(metrics, &page);
	write_pools(metrics, &page);
	write_gauges(&all, &page);
	write_bounds(&all, &page);
	write_targets(&all, &page);
	write_counters(&all, &page);
	write_histograms(&all, true, &page);
	write_histograms(&all, false, &page);
	if (metrics->openmetrics)
		fputs("# EOF\n", stream);
	for (size_t i = 0; i < all.n; i++)
		free(all.v[i].labels);
	free(all.v);
}
