// SPDX-License-Identifier: GPL-2.0-only
/* Pools, watched for a while: what they do in it, and what waits where meanwhile. */
#include "interval.h"
#include "observe.h"
#include "query.h"

static int look(const struct targets *speakers, struct observation *pools)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < speakers->n && code == EXIT_OK; i++)
		code = query_stats(speakers->v[i], &pools[i].look[pools[i].n++]);
	return code;
}

/**
 * observe() - watch pools
 * @speakers: one device of each
 * @seconds: for how long
 * @pools: the result, by @speakers, empty before; to be freed after a failure too
 *
 * Return: an exit code; the user has been told if it is not EXIT_OK.
 */
int observe(const struct targets *speakers, double seconds,
	    struct observation *pools)
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
		code = look(speakers, pools);
	}
	for (size_t i = 0; i < speakers->n && code == EXIT_OK; i++) {
		code = sample_take(speakers->v[i], &pools[i].after);
		if (code == EXIT_OK)
			sample_delta(&pools[i].before, &pools[i].after,
				     &pools[i].delta);
	}
	return code;
}

/**
 * observation_free() - free what was seen of a pool
 * @pool: the pool
 */
void observation_free(struct observation *pool)
{
	sample_delta_free(&pool->delta);
	for (size_t i = 0; i < pool->n; i++)
		stats_free(&pool->look[i]);
	sample_free(&pool->before);
	sample_free(&pool->after);
}
