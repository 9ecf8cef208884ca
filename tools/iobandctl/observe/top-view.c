// SPDX-License-Identifier: GPL-2.0-only
/* What top shows of an interval: a row for each group that did something.  Pure. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/words.h"
#include "ioband/query.h"
#include "ioband/tree.h"
#include "observe/activity.h"
#include "observe/histogram.h"
#include "observe/top.h"

const struct column top_columns[TOP_COLUMNS] = {
	[TOP_GROUP] = { "GROUP", "group", COLUMN_TEXT },
	[TOP_POOL] = { "POOL", "pool", COLUMN_TEXT },
	[TOP_WEIGHT] = { "WEIGHT", "weight", COLUMN_NUMBER },
	[TOP_DUE] = { "DUE%", "due_pct", COLUMN_REAL },
	[TOP_SHARE] = { "SHARE%", "share_pct", COLUMN_REAL },
	[TOP_BYTES] = { "BYTES/S", "bytes_per_s", COLUMN_BYTES },
	[TOP_IOS] = { "IOS/S", "ios_per_s", COLUMN_REAL },
	[TOP_HELD] = { "HELD", "held_now", COLUMN_NUMBER },
	[TOP_WAIT] = { "WAIT", "wait_avg_ns", COLUMN_TIME },
	[TOP_WAIT_P99] = { "WAIT99", "wait_p99_ns", COLUMN_TIME },
	[TOP_SERVICE] = { "SERVICE", "service_avg_ns", COLUMN_TIME },
	[TOP_SERVICE_P99] = { "SERV99", "service_p99_ns", COLUMN_TIME },
};

/*
 * Find a column by its heading.
 * @name: the heading, in small letters if one likes, and without % and /S
 * Return: 0, or -1 if there is none.
 */
int top_column_named(const char *name, enum top_column *column)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		const char *title = top_columns[i].title;
		size_t stem = strcspn(title, "%/");

		if (!strcasecmp(name, title) ||
		    (strlen(name) == stem && !strncasecmp(name, title, stem))) {
			*column = i;
			return 0;
		}
	}
	return -1;
}

static double percentile(const uint64_t slots[HISTOGRAM_SLOTS])
{
	uint64_t ns;

	if (!histogram_percentile(slots, 99, &ns))
		return -1;
	return ns;
}

static void fill_times(struct top_row *row, const struct op_stats *total,
		       const struct group_latency *latency)
{
	uint64_t wait[HISTOGRAM_SLOTS] = { 0 };
	uint64_t service[HISTOGRAM_SLOTS] = { 0 };

	for (int op = 0; op < OPS; op++) {
		histogram_add(wait, latency->wait[op]);
		histogram_add(service, latency->service[op]);
	}
	row->value[TOP_WAIT] = total->held_ios ? total->wait_ns / (double)total->held_ios : -1;
	row->value[TOP_WAIT_P99] = percentile(wait);
	row->value[TOP_SERVICE] = total->ios ? total->service_ns / (double)total->ios : -1;
	row->value[TOP_SERVICE_P99] = percentile(service);
}

static char *name_of(const struct ioband_devices *devices, const struct groups *groups,
		     const struct ioband_group *group)
{
	const struct ioband_device *owner = tree_owner(devices, groups, group);
	char *name, *escaped;

	if (owner && tree_is_device(group))
		name = xstrdup(owner->dm->name);
	else
		name = xasprintf("%s%s%s", owner ? owner->dm->name : "", owner ? ":" : "",
				 group->path ? group->path : group->name);
	escaped = text_escape(name);
	free(name);
	return escaped;
}

/* What a group did in an interval, and with "sum" those below it. */
struct done {
	double share;	/* percent of what the pool did */
	struct group_stats stats;
	struct group_latency latency;	/* histograms */
};

static void add_done(struct done *sum, double share, const struct group_stats *stats,
		     const struct group_latency *latency)
{
	sum->share += share;
	sum->stats.held[IOS] += stats->held[IOS];
	for (int op = 0; op < OPS; op++) {
		op_stats_add(&sum->stats.op[op], &stats->op[op]);
		if (!latency)
			continue;
		histogram_add(sum->latency.wait[op], latency->wait[op]);
		histogram_add(sum->latency.service[op], latency->service[op]);
	}
}

/* By the places of the groups, for free(). */
static struct done *all_done(const struct activity *activity, const struct sample *delta,
			     const char *measure, bool sum)
{
	const struct groups *groups = activity->groups;
	struct done *done = xcalloc(groups->n + 1, sizeof(*done));

	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];
		const struct group_stats *stats = stats_find(&delta->stats, group->seq);

		for (; activity->own[i] && group; group = sum ? tree_parent(groups, group) : NULL)
			add_done(&done[group - groups->v],
				 stats_share(&delta->stats, stats, measure), stats,
				 latency_find(&delta->latency, stats->seq));
	}
	return done;
}

static void fill_row(struct top_row *row, const struct done *done, double seconds)
{
	const struct op_stats total = stats_total(&done->stats);

	row->value[TOP_SHARE] = done->share;
	row->value[TOP_BYTES] = total.bytes / seconds;
	row->value[TOP_IOS] = total.ios / seconds;
	row->value[TOP_HELD] = done->stats.held[IOS];
	fill_times(row, &total, &done->latency);
}

/*
 * Add the groups of a pool.
 * @delta: what its groups did
 * @sum: what groups below a group do counts as its own
 */
void top_view_add(struct top_view *view, const struct ioband_devices *devices,
		  const struct ioband_device *speaker, const struct sample *delta, bool sum)
{
	const struct groups *groups = &delta->groups;
	struct activity activity __cleanup(activity_free);
	struct top_row *row;
	struct done *done __free = NULL;

	activity_begin(groups, &activity);
	activity_add(&activity, &delta->stats);
	activity_end(&activity);
	done = all_done(&activity, delta, speaker->table.measure, sum);
	for (size_t i = 0; i < groups->n; i++) {
		const struct ioband_group *group = &groups->v[i];

		if (sum ? !activity.any[i] : !activity.own[i])
			continue;
		row = XPUSH(view->v, view->n);
		*row = (struct top_row){ .group = name_of(devices, groups, group) };
		strcpy(row->pool, speaker->table.pool);
		row->value[TOP_WEIGHT] = weight_number(group->weight);
		row->value[TOP_DUE] = sum ? activity_part_pct(&activity, group) :
					    activity_own_pct(&activity, group);
		fill_row(row, &done[i], delta->ns / (double)NS_PER_S);
	}
	view->groups += groups->n;
	view->pools++;
}

static int compare(const void *left, const void *right, void *sort)
{
	const struct top_row *a = left, *b = right;
	enum top_column column = *(enum top_column *)sort;
	double x = a->value[column], y = b->value[column];
	int order;

	if (column == TOP_POOL && strcmp(a->pool, b->pool))
		return strcmp(a->pool, b->pool);
	if (column != TOP_POOL && column != TOP_GROUP && x != y)
		return x < y ? 1 : -1;
	order = strcmp(a->group, b->group);
	return order ? order : strcmp(a->pool, b->pool);
}

/*
 * Put groups in an order.
 * @column: numbers with the greatest first, names in their order
 * @reverse: the other way round
 */
void top_view_sort(struct top_view *view, enum top_column column, bool reverse)
{
	if (view->n)
		qsort_r(view->v, view->n, sizeof(*view->v), compare, &column);
	for (size_t i = 0; reverse && i < view->n / 2; i++) {
		struct top_row row = view->v[i];

		view->v[i] = view->v[view->n - 1 - i];
		view->v[view->n - 1 - i] = row;
	}
}

void top_view_free(struct top_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		free(view->v[i].group);
	free(view->v);
	*view = (struct top_view){ .n = 0 };
}

/*
 * A value that is not negative.  Of a recording with great numbers in a short time it may exceed
 * the range.
 */
uint64_t top_number(const struct top_row *row, enum top_column column)
{
	if (row->value[column] < 0x1p64)
		return row->value[column];
	return UINT64_MAX;
}

/* The text of a cell. */
const char *top_cell(const struct top_row *row, enum top_column column, char text[FORMAT_SIZE])
{
	double value = row->value[column];

	if (column == TOP_GROUP)
		return row->group;
	if (column == TOP_POOL)
		return row->pool;
	if (value < 0)
		return "-";
	if (column == TOP_WEIGHT && !value)
		return "idle";
	if (column == TOP_BYTES)
		return format_bytes(top_number(row, column), text);
	if (column >= TOP_WAIT)
		return format_time(top_number(row, column), text);
	snprintf(text, FORMAT_SIZE, "%.*f", column == TOP_DUE || column == TOP_SHARE, value);
	return text;
}
