// SPDX-License-Identifier: GPL-2.0-only
/* Observation of pools: I/O done in an interval, and samples of queued I/O meanwhile. */
#include "ioband/query.h"
#include "observe/interval.h"
#include "observe/observe.h"

/* The throttle may end within the interval; keep its last rate. */
static int look_at(struct observation *pool)
{
	struct ioband_status status = { .brake_bytes_per_s = 0 };
	int code = query_stats(pool->speaker, &pool->look[pool->n++]) ?:
		   query_status(pool->speaker, &status);

	if (status.brake_bytes_per_s)
		pool->brake_bytes_per_s = status.brake_bytes_per_s;
	return code;
}

static int look(size_t n, struct observation *pools)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < n && code == EXIT_OK; i++)
		code = look_at(&pools[i]);
	return code;
}

/*
 * Observe pools for some time.
 * @pools: the result, in the order of @speakers; empty before; freed by the caller after a
 *	failure too
 */
int observe(const struct targets *speakers, double seconds, struct observation *pools)
{
	uint64_t start_ns;
	int code = EXIT_OK;

	for (size_t i = 0; i < speakers->n && code == EXIT_OK; i++) {
		pools[i].speaker = speakers->v[i];
		code = sample_take(speakers->v[i], &pools[i].before);
	}
	start_ns = sample_clock();
	for (int i = 1; i <= LOOKS && code == EXIT_OK; i++) {
		interval_sleep(start_ns + seconds * NS_PER_S * i / LOOKS);
		code = look(speakers->n, pools);
	}
	for (size_t i = 0; i < speakers->n && code == EXIT_OK; i++) {
		code = sample_take(speakers->v[i], &pools[i].after);
		if (code == EXIT_OK)
			sample_delta(&pools[i].before, &pools[i].after, &pools[i].delta);
	}
	return code;
}

void observation_free(struct observation *pool)
{
	sample_delta_free(&pool->delta);
	for (size_t i = 0; i < pool->n; i++)
		stats_free(&pool->look[i]);
	sample_free(&pool->before);
	sample_free(&pool->after);
}
