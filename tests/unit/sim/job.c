// SPDX-License-Identifier: GPL-2.0-only
/*
 * A closed loop of I/Os.
 */
#include "job.h"

#include <stdlib.h>

#define JOB_SPAN	1073741824ULL
#define JOB_PLACES	60
#define JOB_DECK	20

static u64 job_place(struct sim_job *job, u32 bytes)
{
	u64 offset;

	if (!job->work.sequential)
		return job->base + random_below(&job->random, JOB_SPAN / bytes) * bytes;
	offset = job->next;
	job->next = (offset + bytes) % JOB_SPAN;
	return job->base + offset;
}

static bool job_draw(struct sim_job *job, struct sim_deck *deck, u32 pct)
{
	bool hit;

	if (!job->work.decks)
		return random_below(&job->random, 100) < pct;
	if (!deck->left) {
		deck->left = JOB_DECK;
		deck->hits = (JOB_DECK * pct + random_below(&job->random, 100)) / 100;
	}
	hit = random_below(&job->random, deck->left--) < deck->hits;
	deck->hits -= hit;
	return hit;
}

/* When the next may be issued: now, or when the job runs again. */
static u64 job_next_ns(const struct sim_job *job)
{
	const u64 period_ns = job->work.on_ns + job->work.off_ns;
	const u64 now_ns = job->pool->clock->now_ns;

	if (!job->work.off_ns || now_ns % period_ns < job->work.on_ns)
		return now_ns;
	return now_ns - now_ns % period_ns + period_ns;
}

static void job_issue(void *arg)
{
	struct sim_io *io = arg;
	struct sim_job *job = io->job;
	const u64 next_ns = job_next_ns(job);

	if (next_ns > job->pool->clock->now_ns) {
		clock_at(job->pool->clock, next_ns, job_issue, io);
		return;
	}
	if (job->pool->clock->now_ns >= job->stop_ns)
		return;
	io->bytes = job_draw(job, &job->large, job->work.large_pct) ?
		    job->work.large_bytes : job->work.bytes;
	io->write = job_draw(job, &job->writes, job->work.write_pct);
	io->awaited = job->work.awaited;
	io->pos = job_place(job, io->bytes);
	pool_submit(job->pool, io);
}

void job_completed(struct sim_io *io)
{
	struct sim_clock *clock = io->job->pool->clock;
	struct sim_job *job = io->job;
	u64 think_ns = job->work.think_ns;

	if (job->work.think_random)
		think_ns = random_below(&job->random, 2 * think_ns + 1);
	clock_at(clock, clock->now_ns + think_ns, job_issue, io);
}

void job_start(struct sim_job *job, struct sim_pool *pool, struct sim_leaf *leaf,
	       const struct sim_workload *work, u64 seed)
{
	u32 i;

	*job = (struct sim_job) {
		.pool = pool,
		.work = *work,
		.random.state = seed,
		.base = (seed % JOB_PLACES) * JOB_SPAN,
		.stop_ns = U64_MAX,
		.ios = calloc(work->depth, sizeof(*job->ios)),
	};
	if (!job->ios)
		abort();
	for (i = 0; i < work->depth; i++) {
		job->ios[i].job = job;
		job->ios[i].leaf = leaf;
		clock_at(pool->clock, pool->clock->now_ns + random_below(&job->random, 50000),
			 job_issue, &job->ios[i]);
	}
}

void job_free(struct sim_job *job)
{
	free(job->ios);
}
