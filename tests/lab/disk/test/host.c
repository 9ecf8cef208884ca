// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/container_of.h>

#include "host.h"

#define MAGIC	0x600df00dU

struct io {
	struct lab_request rq;
	struct job *job;
	struct io *next;
	u64 since_ns;
	u64 due_ns;
	u32 magic;
	bool at_disk;
};

struct host {
	const struct lab_model *model;
	void *disk;
	u64 values[LAB_MAX_PARAMS];
	u64 now_ns;
	u64 limit;
	u64 at_disk;
	struct job job[HOST_JOBS];
	u32 jobs;
	/* Requests of jobs with a pause, and requests that wait for the disk. */
	struct io *thinking;
	struct io *waiting;
	struct io **waiting_last;
};

void (*host_seen)(const struct lab_request *rq, u64 since_ns, u64 now_ns);

struct host *host_new(const struct lab_model *model, const u64 *values)
{
	struct host *host = calloc(1, sizeof(*host));
	const char *wrong;

	host->model = model;
	memcpy(host->values, values, model->nr_params * sizeof(u64));
	host->disk = calloc(1, model->bytes(values));
	wrong = model->init(host->disk, values);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	host->limit = values[LAB_QUEUES] * values[LAB_QUEUE_DEPTH];
	host->waiting_last = &host->waiting;
	return host;
}

void host_free(struct host *host)
{
	struct io *io;

	/* Let all requests at the disk complete. */
	while (host->thinking || host->waiting || host->at_disk) {
		for (u32 i = 0; i < host->jobs; i++)
			host->job[i].limit = 1;
		host_run(host, NSEC_PER_SEC);
		while ((io = host->thinking)) {
			host->thinking = io->next;
			free(io);
		}
	}
	free(host->disk);
	free(host);
}

/* In order of due times; at equal times, in order of insertion. */
static void think(struct host *host, struct io *io, u64 due_ns)
{
	struct io **at = &host->thinking;

	while (*at && (*at)->due_ns <= due_ns)
		at = &(*at)->next;
	io->due_ns = due_ns;
	io->next = *at;
	*at = io;
}

struct job *host_add(struct host *host, const struct job *job)
{
	struct job *own = &host->job[host->jobs];
	struct io *io;
	u32 i;

	assert(host->jobs < HOST_JOBS);
	*own = *job;
	own->owner = host->jobs++;
	own->seed = host->jobs * 7919;
	for (i = 0; i < job->depth; i++) {
		io = calloc(1, sizeof(*io));
		io->job = own;
		io->magic = MAGIC;
		think(host, io, host->now_ns);
	}
	return own;
}

static void prepare(struct io *io)
{
	struct job *job = io->job;
	const u32 sectors = job->bytes / LAB_SECTOR;
	u64 at = job->next;

	job->next = (job->next + sectors) % (job->region_sectors / sectors * sectors);
	if (job->random)
		at = lab_random(&job->seed) % (job->region_sectors / sectors) * sectors;
	io->rq = (struct lab_request) {
		.op = lab_random(&job->seed) % 100 < job->write_pct ? LAB_WRITE : LAB_READ,
		.sector = job->region_sector + at,
		.sectors = sectors,
		.owner = job->owner,
	};
	io->rq.fua = job->fua && io->rq.op == LAB_WRITE;
	if (job->flush_every && ++job->issued % job->flush_every == 0) {
		io->rq.op = LAB_FLUSH;
		io->rq.sectors = 0;
	}
}

static void send_waiting(struct host *host)
{
	struct io *io;

	while (host->waiting && host->at_disk < host->limit) {
		io = host->waiting;
		host->waiting = io->next;
		if (!host->waiting)
			host->waiting_last = &host->waiting;
		io->at_disk = true;
		host->at_disk++;
		host->model->submit(host->disk, &io->rq, host->now_ns);
	}
}

static u64 done(const struct job *job)
{
	return job->done[LAB_READ] + job->done[LAB_WRITE] + job->done[LAB_FLUSH];
}

static void send_due(struct host *host)
{
	struct io *io;

	while (host->thinking && host->thinking->due_ns <= host->now_ns) {
		io = host->thinking;
		host->thinking = io->next;
		if (io->job->limit && done(io->job) >= io->job->limit) {
			free(io);
			continue;
		}
		prepare(io);
		io->since_ns = host->now_ns;
		io->next = NULL;
		*host->waiting_last = io;
		host->waiting_last = &io->next;
	}
	send_waiting(host);
}

static void finish(struct host *host, struct lab_request *rq)
{
	struct io *io = container_of(rq, struct io, rq);
	const u64 took_ns = host->now_ns - io->since_ns;
	struct job *job = io->job;

	assert(io->magic == MAGIC && io->at_disk);
	io->at_disk = false;
	host->at_disk--;
	job->done[rq->op]++;
	job->sum_ns[rq->op] += took_ns;
	job->max_ns[rq->op] = max(job->max_ns[rq->op], took_ns);
	if (host_seen)
		host_seen(rq, io->since_ns, host->now_ns);
	think(host, io, host->now_ns + job->think_ns);
}

void host_run(struct host *host, u64 for_ns)
{
	const u64 end_ns = host->now_ns + for_ns;
	struct lab_request *rq;
	u64 next_ns, due_ns;

	for (;;) {
		next_ns = host->model->next_ns(host->disk);
		due_ns = host->thinking ? host->thinking->due_ns : LAB_NEVER;
		assert(next_ns >= host->now_ns);
		/* A request at the disk without a future event is lost. */
		assert(next_ns != LAB_NEVER || !host->at_disk);
		if (min(next_ns, due_ns) > end_ns)
			break;
		host->now_ns = min(next_ns, due_ns);
		while ((rq = host->model->advance(host->disk, host->now_ns)))
			finish(host, rq);
		send_due(host);
	}
	host->now_ns = end_ns;
}

void host_forget(struct host *host)
{
	struct job *job;

	for (job = host->job; job < host->job + host->jobs; job++) {
		memset(job->done, 0, sizeof(job->done));
		memset(job->sum_ns, 0, sizeof(job->sum_ns));
		memset(job->max_ns, 0, sizeof(job->max_ns));
	}
}

u64 host_now_ns(const struct host *host)
{
	return host->now_ns;
}

u64 host_count(const struct host *host, const char *name)
{
	u32 i;

	for (i = 0; i < host->model->nr_stats; i++)
		if (!strcmp(host->model->stats[i], name))
			return host->model->counts(host->disk)[i];
	abort();
}

u64 host_bytes(const struct host *host)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < host->jobs; i++)
		bytes += (host->job[i].done[LAB_READ] + host->job[i].done[LAB_WRITE]) *
			 host->job[i].bytes;
	return bytes;
}
