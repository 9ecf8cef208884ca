/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host for a model in user space: jobs with a fixed number of outstanding requests, a
 * FIFO queue in front of a full disk, and a clock that jumps.  It checks that the model
 * loses no request, and that time never decreases.
 */
#ifndef LAB_DISK_HOST_H
#define LAB_DISK_HOST_H

#include "../model.h"

#define HOST_JOBS	128

/**
 * struct job - a load and its results
 * @region_sector: start of the region
 * @region_sectors: length of the region
 * @bytes: size of a request
 * @depth: outstanding requests
 * @write_pct: part of writes
 * @random: random or sequential
 * @fua: its writes are FUA
 * @flush_every: a flush after so many requests, if not 0
 * @think_ns: time between a completion and the next request
 * @limit: total requests, if not 0
 *
 * By LAB_READ, LAB_WRITE and LAB_FLUSH:
 * @done: requests
 * @sum_ns: sum of their latencies
 * @max_ns: the longest latency
 */
struct job {
	u64 region_sector;
	u64 region_sectors;
	u32 bytes;
	u32 depth;
	u32 write_pct;
	bool random;
	bool fua;
	u32 flush_every;
	u64 think_ns;
	u64 limit;

	u64 done[3];
	u64 sum_ns[3];
	u64 max_ns[3];

	u64 next;
	u64 issued;
	u64 seed;
	u32 owner;
};

struct host;

struct host *host_new(const struct lab_model *model, const u64 *values);
void host_free(struct host *host);
/* Returns the host's own copy. */
struct job *host_add(struct host *host, const struct job *job);
/* Reset the results. */
void host_forget(struct host *host);
void host_run(struct host *host, u64 for_ns);
u64 host_now_ns(const struct host *host);
u64 host_count(const struct host *host, const char *name);
/* Bytes read and written by all jobs. */
u64 host_bytes(const struct host *host);

/* Called for each completion, if set, with the time of its submission to the host. */
extern void (*host_seen)(const struct lab_request *rq, u64 since_ns, u64 now_ns);

#endif /* LAB_DISK_HOST_H */
