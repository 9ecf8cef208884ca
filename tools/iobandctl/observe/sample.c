// SPDX-License-Identifier: GPL-2.0-only
/* Samples of the counters of a pool, and differences of two samples. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "observe/histogram.h"
#include "observe/sample.h"

/* The time of samples.  Return: nanoseconds of the monotonic clock. */
uint64_t sample_clock(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * Read the counters of a pool.
 * @sample: the result; freed by the caller after a failure too
 */
int sample_take(const struct ioband_device *device, struct sample *sample)
{
	int code;

	*sample = (struct sample){ .ns = 0 };
	code = query_groups(device, &sample->groups) ?:
	       query_latency(device, &sample->latency) ?:
	       query_stats(device, &sample->stats);
	sample->ns = sample_clock();
	return code;
}

/*
 * Free a sample.
 * @sample: filled by sample_take(); left empty
 */
void sample_free(struct sample *sample)
{
	groups_free(&sample->groups);
	stats_free(&sample->stats);
	latency_free(&sample->latency);
}

static void op_since(struct op_stats *now, const struct op_stats *before)
{
	now->ios -= before->ios;
	now->bytes -= before->bytes;
	now->held_ios -= before->held_ios;
	now->wait_ns -= before->wait_ns;
	now->service_ns -= before->service_ns;
}

/*
 * The counters of a new group are its difference.  The same holds if counters
 * have decreased: the pool was created anew.
 */
static void stats_since(struct stats *now, const struct stats *before)
{
	for (size_t i = 0; i < now->n; i++) {
		struct group_stats *group = &now->v[i];
		const struct group_stats *old = stats_find(before, group->seq);
		bool anew = !old || strcmp(old->name, group->name);

		for (int op = 0; op < OPS && !anew; op++)
			anew = group->op[op].ios < old->op[op].ios;
		for (int op = 0; op < OPS && !anew; op++)
			op_since(&group->op[op], &old->op[op]);
	}
}

static void latency_since(struct latency *now, const struct latency *before)
{
	for (size_t i = 0; i < now->n; i++) {
		struct group_latency *group = &now->v[i];
		const struct group_latency *old = latency_find(before, group->seq);

		for (int op = 0; op < OPS && old; op++) {
			histogram_since(group->wait[op], old->wait[op]);
			histogram_since(group->service[op], old->service[op]);
		}
	}
}

static void *copy(const void *array, size_t n, size_t size)
{
	void *copied = xcalloc(n, size);

	if (n)
		memcpy(copied, array, n * size);
	return copied;
}

/*
 * Difference of two samples.
 * @now: the later sample, of the same pool
 * @delta: the difference; must not outlive @now
 */
void sample_delta(const struct sample *before, const struct sample *now, struct sample *delta)
{
	*delta = *now;
	delta->ns = now->ns - before->ns;
	delta->stats.v = copy(now->stats.v, now->stats.n, sizeof(*now->stats.v));
	delta->latency.v = copy(now->latency.v, now->latency.n, sizeof(*now->latency.v));
	stats_since(&delta->stats, &before->stats);
	latency_since(&delta->latency, &before->latency);
}

void sample_delta_free(struct sample *delta)
{
	stats_free(&delta->stats);
	latency_free(&delta->latency);
}

void op_stats_add(struct op_stats *sum, const struct op_stats *part)
{
	sum->ios += part->ios;
	sum->bytes += part->bytes;
	sum->held_ios += part->held_ios;
	sum->wait_ns += part->wait_ns;
	sum->service_ns += part->service_ns;
}

/* Sum of all directions. */
struct op_stats stats_total(const struct group_stats *group)
{
	struct op_stats total = { .ios = 0 };

	for (int op = 0; op < OPS; op++)
		op_stats_add(&total, &group->op[op]);
	return total;
}

static double amount(const struct group_stats *group, const char *measure)
{
	struct op_stats total = stats_total(group);

	return strcmp(measure, "ios") ? total.bytes : total.ios;
}

/*
 * Share of a group in the service of the pool.
 * @measure: the measure of the pool: bytes or ios
 * Return: percent; 0 if the pool did no I/O.
 */
double stats_share(const struct stats *stats, const struct group_stats *group, const char *measure)
{
	double all = 0;

	for (size_t i = 0; i < stats->n; i++)
		all += amount(&stats->v[i], measure);
	return all > 0 ? 100 * amount(group, measure) / all : 0;
}
