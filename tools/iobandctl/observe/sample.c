// SPDX-License-Identifier: GPL-2.0-only
/* What the groups of a pool did, and what they did between two looks at it. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "ioband/query.h"
#include "observe/histogram.h"
#include "observe/sample.h"

/**
 * sample_clock() - what time it is, for samples
 *
 * Return: nanoseconds of the monotonic clock.
 */
uint64_t sample_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/**
 * sample_take() - ask a pool what its groups did
 * @device: one of the pool
 * @sample: the result, also to be freed after a failure
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int sample_take(const struct ioband_device *device, struct sample *sample)
{
	int code;

	*sample = (struct sample){ .ns = 0 };
	code = query_groups(device, &sample->groups);
	if (code == EXIT_OK)
		code = query_latency(device, &sample->latency);
	if (code == EXIT_OK)
		code = query_stats(device, &sample->stats);
	sample->ns = sample_clock();
	return code;
}

/**
 * sample_free() - free what sample_take() found
 * @sample: the sample, left empty
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
 * A group that is new did all since it was made, and so did one whose counters
 * went down: the pool was made anew.
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
		const struct group_latency *old =
			latency_find(before, group->seq);

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

/**
 * sample_delta() - what was done between two samples
 * @before: the earlier
 * @now: the later, of the same pool
 * @delta: the difference, which must not outlive @now
 */
void sample_delta(const struct sample *before, const struct sample *now,
		  struct sample *delta)
{
	*delta = *now;
	delta->ns = now->ns - before->ns;
	delta->stats.v = copy(now->stats.v, now->stats.n,
			      sizeof(*now->stats.v));
	delta->latency.v = copy(now->latency.v, now->latency.n,
				sizeof(*now->latency.v));
	stats_since(&delta->stats, &before->stats);
	latency_since(&delta->latency, &before->latency);
}

/**
 * sample_delta_free() - free a difference
 * @delta: what sample_delta() made
 */
void sample_delta_free(struct sample *delta)
{
	stats_free(&delta->stats);
	latency_free(&delta->latency);
}

/**
 * op_stats_add() - add up what was done
 * @sum: to this
 * @part: this
 */
void op_stats_add(struct op_stats *sum, const struct op_stats *part)
{
	sum->ios += part->ios;
	sum->bytes += part->bytes;
	sum->held_ios += part->held_ios;
	sum->wait_ns += part->wait_ns;
	sum->service_ns += part->service_ns;
}

/**
 * stats_total() - all directions together
 * @group: of this group
 *
 * Return: the sums.
 */
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

/**
 * stats_share() - the part of the pool's service that a group had
 * @stats: of all groups of the pool
 * @group: one of them
 * @measure: what the pool shares: bytes, or ios
 *
 * Return: percent; 0 if nobody had anything.
 */
double stats_share(const struct stats *stats, const struct group_stats *group,
		   const char *measure)
{
	double all = 0;

	for (size_t i = 0; i < stats->n; i++)
		all += amount(&stats->v[i], measure);
	return all > 0 ? 100 * amount(group, measure) / all : 0;
}
