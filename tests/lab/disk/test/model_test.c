// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the modelled disks in user space. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define MODELS	4
#define MS	((u64)NSEC_PER_MSEC)
#define US	((u64)NSEC_PER_USEC)
#define S	((u64)NSEC_PER_SEC)
#define GIB	2097152ULL	/* sectors */

/* A disk of @kind; @words are "parameter=value ...". */
static struct host *disk(const char *kind, const char *words)
{
	const struct lab_model *model = lab_model_find(kind);
	u64 values[LAB_MAX_PARAMS];
	char name[32], value[32];
	int used;

	lab_params_default(model, values);
	for (; sscanf(words, " %31[^=]=%31s%n", name, value, &used) == 2; words += used)
		if (lab_params_set(model, values, name, value))
			fail_msg("%s=%s", name, value);
	return host_new(model, values);
}

static double rate_mb_s(struct host *host, u64 for_ns)
{
	host_forget(host);
	host_run(host, for_ns);
	return host_bytes(host) * 1e3 / for_ns;
}

static u64 ios(const struct job *job)
{
	return job->done[LAB_READ] + job->done[LAB_WRITE];
}

static double mean_us(const struct job *job, enum lab_op op)
{
	return job->sum_ns[op] / 1e3 / job->done[op];
}

static void assert_near(double value, double wanted, double part)
{
	if (value < wanted * (1 - part) || value > wanted * (1 + part))
		fail_msg("%g is not within %g %% of %g", value, part * 100, wanted);
}

/* Latency of one request on an idle disk. */
static u64 one_ns(struct host *host, enum lab_op op, u64 sector, u32 bytes)
{
	const struct job job = {
		.region_sector = sector, .region_sectors = bytes / LAB_SECTOR, .bytes = bytes,
		.depth = 1, .limit = 1, .write_pct = op == LAB_WRITE ? 100 : 0,
	};
	struct job *own = host_add(host, &job);

	host_run(host, S);
	assert_int_equal(own->done[op], 1);
	return own->sum_ns[op];
}

/* All kinds */

static const char *const kinds[MODELS] = { "hdd", "sata-ssd", "nvme", "cloud" };

/* A mixed load. */
static struct host *busy(const char *kind, const char *words)
{
	static const struct job jobs[] = {
		{ .bytes = 4096, .depth = 8, .random = true },
		{ .bytes = 65536, .depth = 3, .random = true, .write_pct = 100 },
		{ .bytes = 131072, .depth = 2 },
		{ .bytes = 4096, .depth = 1, .write_pct = 100, .flush_every = 7 },
		{ .bytes = 16384, .depth = 4, .random = true, .write_pct = 50, .fua = true },
		{ .bytes = 512, .depth = 2, .random = true, .write_pct = 30, .think_ns = 3000000 },
		{ .bytes = 1048576, .depth = 2, .random = true, .write_pct = 50 },
	};
	struct host *host = disk(kind, words);
	struct job job;
	u32 i;

	for (i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		job = jobs[i];
		job.region_sector = i * GIB / 2;
		job.region_sectors = GIB;
		host_add(host, &job);
	}
	return host;
}

/* host.c stops at a lost request; at the end, host_free() waits for the rest. */
static void no_request_is_lost(void **state)
{
	static const char *const variants[] = {
		"", "queue_depth=1", "write_cache=0", "write_cache=1", "size_mib=5000 queues=3",
	};
	struct host *host;
	u32 i, j;

	(void)state;
	for (i = 0; i < MODELS; i++) {
		for (j = 0; j < sizeof(variants) / sizeof(*variants); j++) {
			host = busy(kinds[i], variants[j]);
			host_run(host, 3 * S);
			assert_true(host_bytes(host) > 1000000);
			host_free(host);
		}
	}
}

static u64 checksum;

static void add_to_checksum(const struct lab_request *rq, u64 since_ns, u64 now_ns)
{
	checksum += rq->sector ^ since_ns ^ now_ns;
	checksum = lab_random(&checksum);
}

static u64 fingerprint(const char *kind, const char *words)
{
	struct host *host = busy(kind, words);

	checksum = 1;
	host_seen = add_to_checksum;
	host_run(host, S);
	host_seen = NULL;
	host_free(host);
	return checksum;
}

static void same_calls_same_answers(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < MODELS; i++)
		assert_true(fingerprint(kinds[i], "") == fingerprint(kinds[i], ""));
	/* The seed matters where the model is random. */
	assert_true(fingerprint("cloud", "seed=1") != fingerprint("cloud", "seed=2"));
}

static void no_link_is_too_fast(void **state)
{
	static const char *const links[MODELS] = {
		"link_mbps=60 segment_kib=4096", "link_mbps=100", "link_mbps=400", "link_mbps=50",
	};
	static const double wanted_mb_s[MODELS] = { 60, 100, 400, 50 };
	const struct job reads = { .region_sectors = GIB, .bytes = 262144, .depth = 8 };
	struct host *host;
	double mb_s;
	u32 i;

	(void)state;
	for (i = 0; i < MODELS; i++) {
		host = disk(kinds[i], links[i]);
		host_add(host, &reads);
		host_run(host, S);
		mb_s = rate_mb_s(host, 5 * S);
		assert_true(mb_s <= wanted_mb_s[i] * 1.001 && mb_s >= wanted_mb_s[i] * 0.97);
		host_free(host);
	}
}

static void parameters_are_checked(void **state)
{
	u64 values[LAB_MAX_PARAMS];
	u32 i, j;

	(void)state;
	for (i = 0; i < MODELS; i++) {
		const struct lab_model *model = lab_model_find(kinds[i]);

		assert_true(model->nr_params <= LAB_MAX_PARAMS && model->nr_stats <= LAB_MAX_STATS);
		lab_params_default(model, values);
		for (j = 0; j < model->nr_params; j++) {
			assert_true(model->params[j].min <= values[j]);
			assert_true(values[j] <= model->params[j].max);
		}
	}
	assert_null(lab_params_set(&lab_hdd, values, "rotation_rpm", "5400"));
	assert_non_null(lab_params_set(&lab_hdd, values, "rotation_rpm", "5400rpm"));
	assert_non_null(lab_params_set(&lab_hdd, values, "rotation_rpm", "1"));
	assert_non_null(lab_params_set(&lab_hdd, values, "iops", "1"));
	assert_non_null(lab_params_set(&lab_hdd, values, "block_bytes", "1024"));
	assert_null(lab_model_find("floppy"));
}

/* All device time has an owner, and its sum does not exceed the elapsed time. */
static void times_add_up(void **state)
{
	const struct lab_model *model = &lab_hdd;
	u64 values[LAB_MAX_PARAMS], busy_ns = 0, now_ns = 0, i;
	struct lab_request rq[2] = {}, *done;
	void *state_of_disk;

	(void)state;
	lab_params_default(model, values);
	state_of_disk = calloc(1, model->bytes(values));
	assert_null(model->init(state_of_disk, values));
	for (i = 0; i < 1000; i++) {
		rq[0] = (struct lab_request) {
			.sector = lab_random(&busy_ns) % (40 * GIB), .sectors = 8, .owner = i % 3,
		};
		model->submit(state_of_disk, &rq[0], now_ns);
		do {
			now_ns = model->next_ns(state_of_disk);
			done = model->advance(state_of_disk, now_ns);
		} while (!done);
	}
	busy_ns = 0;
	for (i = 0; i < 3; i++)
		busy_ns += model->busy_ns(state_of_disk)[i];
	assert_int_equal(model->busy_ns(state_of_disk)[3], 0);
	/* All time but that of the controller and the link, as the requests run one by one. */
	assert_true(busy_ns <= now_ns && busy_ns >= now_ns * 97 / 100);
	free(state_of_disk);
}

/* The disk with an arm */

static struct lab_request *run_until_done(void *hdd, u64 *now_ns)
{
	struct lab_request *done;

	do {
		*now_ns = lab_hdd.next_ns(hdd);
		assert_true(*now_ns != LAB_NEVER);
		done = lab_hdd.advance(hdd, *now_ns);
	} while (!done);
	return done;
}

static u64 busy_ns(void *hdd)
{
	u64 sum_ns = 0;
	u32 i;

	for (i = 0; i < LAB_OWNERS; i++)
		sum_ns += lab_hdd.busy_ns(hdd)[i];
	return sum_ns;
}

/* Read-ahead is charged once, to the reader of the data, up to the end of its request. */
static void reading_ahead_is_counted_once(void **state)
{
	static const u64 wanted[] = { 0, 800, 400, 800, 790 };
	struct lab_request rq[5];
	u64 values[LAB_MAX_PARAMS], now_ns = 0, alone_ns = 0, ahead_ns = 0;
	void *hdd;
	u32 i;

	(void)state;
	lab_params_default(&lab_hdd, values);
	hdd = calloc(1, lab_hdd.bytes(values));
	assert_null(lab_hdd.init(hdd, values));
	for (i = 0; i < 5; i++) {
		rq[i] = (struct lab_request) {
			.sector = 5 * GIB + wanted[i], .sectors = 8, .owner = i,
		};
		lab_hdd.submit(hdd, &rq[i], now_ns);
		if (i == 0) { /* then read ahead for a second */
			assert_ptr_equal(run_until_done(hdd, &now_ns), &rq[0]);
			now_ns += S;
			assert_null(lab_hdd.advance(hdd, now_ns));
			alone_ns = busy_ns(hdd);
		} else if (i == 1) { /* 400 KiB at some 70 MB/s */
			ahead_ns = busy_ns(hdd) - alone_ns;
			assert_true(ahead_ns > 5 * MS && ahead_ns < 8 * MS);
		} else { /* from the cache, before it, again, in part: no charge */
			assert_int_equal(busy_ns(hdd), alone_ns + ahead_ns);
		}
	}
	free(hdd);
}

/* Serve one request at @from with @count requests waiting; return which is next, and when. */
static u64 first_of(u64 from, const u64 *sectors, u32 count, u64 *sector)
{
	struct lab_request first = { .sector = from, .sectors = 8 }, waiting[8];
	u64 values[LAB_MAX_PARAMS], now_ns = 0;
	struct lab_request *done;
	void *hdd;
	u32 i;

	lab_params_default(&lab_hdd, values);
	assert_null(lab_params_set(&lab_hdd, values, "age_permille", "0"));
	/* Exclude the controller and the link, where the requests delay each other. */
	assert_null(lab_params_set(&lab_hdd, values, "command_read_us", "0"));
	hdd = calloc(1, lab_hdd.bytes(values));
	assert_null(lab_hdd.init(hdd, values));
	lab_hdd.submit(hdd, &first, 0);
	for (i = 0; i < count; i++) {
		waiting[i] = (struct lab_request) { .sector = sectors[i], .sectors = 8 };
		lab_hdd.submit(hdd, &waiting[i], 0);
	}
	assert_ptr_equal(run_until_done(hdd, &now_ns), &first);
	done = run_until_done(hdd, &now_ns);
	*sector = done->sector;
	free(hdd);
	return now_ns;
}

/* The request with the shortest time when alone is the one picked of all. */
static void the_nearest_is_picked(void **state)
{
	u64 seed = 1, from, sectors[8], alone_ns, best_ns, picked_ns, best, picked, ignored;
	u32 round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		from = lab_random(&seed) % (90 * GIB);
		best_ns = LAB_NEVER;
		best = 0;
		for (i = 0; i < 8; i++) {
			sectors[i] = lab_random(&seed) % (round % 2 ? 90 * GIB : 2 * GIB);
			alone_ns = first_of(from, &sectors[i], 1, &ignored);
			if (alone_ns < best_ns) {
				best_ns = alone_ns;
				best = sectors[i];
			}
		}
		picked_ns = first_of(from, sectors, 8, &picked);
		assert_int_equal(picked, best);
		assert_int_equal(picked_ns, best_ns);
	}
}

/* Latency of a command far away, while other commands keep the arm near. */
static u64 far_away_ns(const char *words)
{
	const struct job near = {
		.region_sectors = GIB / 64, .bytes = 4096, .depth = 16, .random = true,
	};
	const struct job far = {
		.region_sector = 90 * GIB, .region_sectors = GIB, .bytes = 4096, .depth = 1,
		.random = true, .limit = 1,
	};
	struct host *host = disk("hdd", words);
	struct job *own;
	u64 max_ns;

	host_add(host, &near);
	host_run(host, S);
	own = host_add(host, &far);
	host_run(host, 20 * S);
	max_ns = own->done[LAB_READ] ? own->max_ns[LAB_READ] : LAB_NEVER;
	host_free(host);
	return max_ns;
}

static void ageing_bounds_the_wait(void **state)
{
	/* Full stroke and one revolution, times 1000/20, plus all commands of the same age. */
	const u64 bound_ns = 29 * MS * 1000 / 20 + 17 * 29 * MS;

	(void)state;
	assert_true(far_away_ns("age_permille=0") > 5 * S);
	assert_true(far_away_ns("age_permille=20") < bound_ns);
	assert_true(far_away_ns("age_permille=100") < far_away_ns("age_permille=20"));
}

static double random_iops(const char *words, u32 depth)
{
	const struct job reads = {
		.region_sectors = 90 * GIB, .bytes = 4096, .depth = depth, .random = true,
	};
	struct host *host = disk("hdd", words);
	struct job *own = host_add(host, &reads);
	double iops;

	host_run(host, 60 * S);
	iops = ios(own) / 60.0;
	host_free(host);
	return iops;
}

/* One stream: more requests at once never cost a revolution, whatever their size. */
static void reading_ahead_serves_the_queue(void **state)
{
	static const u32 depths[] = { 1, 2, 3, 4, 8, 16, 31 };
	double one_mb_s = 0, mb_s;
	struct host *host;
	u32 kib, i;

	(void)state;
	for (kib = 4; kib <= 256; kib += kib < 64 ? 4 : 32) {
		for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
			host = disk("hdd", "");
			host_add(host, &(struct job) {
				.region_sectors = 2 * GIB, .bytes = kib * 1024, .depth = depths[i],
			});
			host_run(host, S / 10);
			mb_s = rate_mb_s(host, 2 * S);
			host_free(host);
			if (depths[i] == 1)
				one_mb_s = mb_s;
			if (mb_s < one_mb_s * 0.99)
				fail_msg("%u KiB, %u deep: %g MB/s, one at a time %g", kib,
					 depths[i], mb_s, one_mb_s);
		}
		/* A command takes 99 us and the time of the link; the medium gives 75 MB/s. */
		assert_near(one_mb_s, min(75.0, kib * 1.024 / (0.099 + kib * 1.024 / 300)), 0.02);
	}
}

static void queueing_helps_a_disk(void **state)
{
	const double one = random_iops("", 1), all = random_iops("", 31);

	(void)state;
	assert_true(all > one * 1.6);
	/* Without command queueing, more commands only make the queue longer. */
	assert_near(random_iops("queue_depth=1", 31), one, 0.02);
}

/* The mean of random reads is command, mean seek and half a revolution. */
static void positioning_is_seek_and_rotation(void **state)
{
	(void)state;
	/* Seeks of 0, except to the next track: half a revolution and the transfer are left. */
	assert_near(1e3 / random_iops("seek_base_us=0 seek_sqrt_us=0 seek_full_us=0", 1),
		    8.333 / 2 + 0.099 + 0.014 + 0.05, 0.01);
	/* A constant seek time adds to the mean. */
	assert_near(1e3 / random_iops("seek_base_us=5000 seek_sqrt_us=0 seek_full_us=0", 1),
		    8.333 / 2 + 5 + 0.099 + 0.014 + 0.05, 0.01);
	/* E sqrt(|x - y|) = 8/15 for x, y uniform on a stroke; the region is 9/10 of it. */
	assert_near(1e3 / random_iops("seek_base_us=0 seek_sqrt_us=10000 seek_cross_permille=999",
				      1),
		    8.333 / 2 + 10 * 8 / 15.0 * 0.949 + 0.16, 0.02);
}

static void zones_have_their_rates(void **state)
{
	static const double wanted_mb_s[2] = { 75, 40 };
	static const u64 start[2] = { 0, 99 * GIB };
	struct host *host;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		host = disk("hdd", "command_read_us=0");
		host_add(host, &(struct job) {
			.region_sector = start[i], .region_sectors = GIB, .bytes = 131072,
			.depth = 4,
		});
		host_run(host, S);
		assert_near(rate_mb_s(host, 5 * S), wanted_mb_s[i], 0.02);
		host_free(host);
	}
}

static void a_drive_reads_ahead(void **state)
{
	struct host *host = disk("hdd", "");

	(void)state;
	assert_true(one_ns(host, LAB_READ, 5 * GIB, 4096) > MS);
	/* In the cache by now: only the controller and the link. */
	assert_true(one_ns(host, LAB_READ, 5 * GIB + 8, 4096) < 120 * US);
	assert_true(one_ns(host, LAB_READ, 5 * GIB + 800, 4096) < 120 * US);
	assert_true(one_ns(host, LAB_READ, 5 * GIB + 8000, 4096) > MS);
	host_free(host);
	/* A write in between invalidates the data read. */
	host = disk("hdd", "write_cache=0");
	one_ns(host, LAB_READ, 5 * GIB, 4096);
	one_ns(host, LAB_WRITE, 5 * GIB + 8, 4096);
	assert_true(one_ns(host, LAB_READ, 5 * GIB + 8, 4096) > MS);
	host_free(host);
}

static void a_write_cache_hides_the_arm(void **state)
{
	struct host *on = disk("hdd", "write_cache=1"), *off = disk("hdd", "write_cache=0");

	(void)state;
	assert_true(one_ns(on, LAB_WRITE, 50 * GIB, 4096) < MS / 2);
	assert_int_equal(host_count(on, "writes_to_medium"), 0);
	assert_true(one_ns(off, LAB_WRITE, 50 * GIB, 4096) > 2 * MS);
	assert_int_equal(host_count(off, "writes_to_medium"), 1);
	/* One second later, the data is on the medium. */
	assert_int_equal(host_count(on, "destaged_extents"), 1);
	host_free(on);
	host_free(off);
}

static u64 flush_us(struct host *host, u32 flush_every, bool fua, enum lab_op op)
{
	struct job *own = host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 4096, .depth = 1, .random = true,
		.write_pct = 100, .flush_every = flush_every, .fua = fua, .limit = 400,
	});

	host_run(host, 60 * S);
	assert_true(own->done[op]);
	return mean_us(own, op);
}

/* With one write between flushes, a flush costs one positioning; so does FUA. */
static void flush_and_fua_reach_the_medium(void **state)
{
	struct host *host = disk("hdd", "");
	u64 us;

	(void)state;
	us = flush_us(host, 2, false, LAB_FLUSH);
	assert_true(us > 5000 && us < 12000);
	host_free(host);
	host = disk("hdd", "");
	us = flush_us(host, 0, true, LAB_WRITE);
	assert_true(us > 5000 && us < 12000);
	assert_int_equal(host_count(host, "writes_to_cache"), 0);
	host_free(host);
}

/* Destaging has begun when the flush arrives; the flush still waits for the arm. */
static void a_flush_waits_for_what_is_under_way(void **state)
{
	struct host *host = disk("hdd", "destage_idle_ms=20");
	struct job job = {
		.region_sector = 50 * GIB, .region_sectors = GIB, .bytes = 4096, .depth = 1,
		.write_pct = 100, .limit = 1,
	}, *own;

	(void)state;
	host_add(host, &job);
	host_run(host, 21 * MS);
	assert_int_equal(host_count(host, "destaged_extents"), 1);
	job.flush_every = 1;
	own = host_add(host, &job);
	host_run(host, S);
	assert_int_equal(own->done[LAB_FLUSH], 1);
	assert_true(own->max_ns[LAB_FLUSH] > 2 * MS);
	host_free(host);
}

static void write_at(void *hdd, struct lab_request *rq, u64 sector, u64 now_ns)
{
	*rq = (struct lab_request) { .op = LAB_WRITE, .sector = sector, .sectors = 8 };
	lab_hdd.submit(hdd, rq, now_ns);
}

/* A flush also waits for extents that grow meanwhile. */
static void a_flush_waits_for_extents_that_grow(void **state)
{
	struct lab_request before[3], after[3], flush = { .op = LAB_FLUSH };
	u64 values[LAB_MAX_PARAMS], now_ns = 0;
	void *hdd;
	u32 i;

	(void)state;
	lab_params_default(&lab_hdd, values);
	hdd = calloc(1, lab_hdd.bytes(values));
	assert_null(lab_hdd.init(hdd, values));
	for (i = 0; i < 3; i++)
		write_at(hdd, &before[i], (10 + 30 * i) * GIB, now_ns);
	for (i = 0; i < 3; i++)
		run_until_done(hdd, &now_ns);
	lab_hdd.submit(hdd, &flush, now_ns);
	for (i = 0; i < 3; i++)
		write_at(hdd, &after[i], (10 + 30 * i) * GIB + 8, now_ns);
	while (run_until_done(hdd, &now_ns) != &flush)
		;
	assert_true(lab_hdd.counts(hdd)[6] >= 3);
	assert_string_equal(lab_hdd.stats[6], "destaged_extents");
	free(hdd);
}

/* 8 MiB at once, then only as much as the arm destages. */
static void a_cache_has_its_size(void **state)
{
	struct host *host = disk("hdd", "write_cache_kib=8192");

	(void)state;
	host_add(host, &(struct job) {
		.region_sectors = 50 * GIB, .bytes = 65536, .depth = 1, .random = true,
		.write_pct = 100,
	});
	host_run(host, 100 * MS);
	assert_true(host_bytes(host) > 8 << 20 && host_bytes(host) < 10 << 20);
	host_free(host);
}

/* A load above the size of the cache runs at destaging speed; more choice makes it faster. */
static void a_full_cache_is_as_fast_as_the_arm(void **state)
{
	static const char *const words[] = { "destage_window=1", "destage_window=64" };
	double iops[2];
	struct host *host;
	struct job *own;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		host = disk("hdd", words[i]);
		own = host_add(host, &(struct job) {
			.region_sectors = 20 * GIB, .bytes = 4096, .depth = 4, .random = true,
			.write_pct = 100,
		});
		host_run(host, 20 * S);
		host_forget(host);
		host_run(host, 20 * S);
		iops[i] = ios(own) / 20.0;
		host_free(host);
	}
	assert_true(iops[0] > 80 && iops[0] < 400);
	assert_true(iops[1] > iops[0] * 1.2 && iops[1] < 600);
}

/* A write alone on the medium takes longer by the settle time. */
static void a_write_settles_longer(void **state)
{
	struct host *host;
	u64 ns[2];
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		/* Rotation hides less than a revolution of the settle time, so these are short. */
		host = disk("hdd", i ? "write_cache=0 rotation_rpm=30000 write_settle_us=20000" :
			    "write_cache=0 rotation_rpm=30000 write_settle_us=0");
		ns[i] = one_ns(host, LAB_WRITE, 50 * GIB, 4096);
		host_free(host);
	}
	/* 20 ms are ten revolutions of 2 ms. */
	assert_near(ns[1] - ns[0], 20 * MS, 0.001);
}

/*
 * Random writes on two tracks: half of them switch tracks.  The rate is that of whole
 * tracks with their switches, 75000 kB/s: in 8.33 ms and 8, a track has 2395 sectors.
 */
static void a_track_switch_costs_its_time(void **state)
{
	static const char *const words[] = {
		"write_cache=0 track_switch_us=0", "write_cache=0 track_switch_us=8000",
	};
	struct host *host;
	struct job *own;
	double us[2];
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		host = disk("hdd", words[i]);
		own = host_add(host, &(struct job) {
			.region_sectors = 4790, .bytes = 4096, .depth = 1, .random = true,
			.write_pct = 100,
		});
		host_run(host, 20 * S);
		us[i] = mean_us(own, LAB_WRITE);
		host_free(host);
	}
	/* Half a revolution, and 8 ms more for every second one, as a revolution is 8.33 ms. */
	assert_near(us[1] - us[0], 4000, 0.15);
}

/* One segment serves one stream: two alternating streams never hit the read-ahead. */
static void segments_are_given_up(void **state)
{
	static const char *const words[] = { "segments=2", "segments=1" };
	u64 hits[2];
	struct host *host;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		host = disk("hdd", words[i]);
		one_ns(host, LAB_READ, 5 * GIB, 4096);
		one_ns(host, LAB_READ, 15 * GIB, 4096);
		one_ns(host, LAB_READ, 5 * GIB + 8, 4096);
		hits[i] = host_count(host, "reads_from_cache");
		host_free(host);
	}
	assert_int_equal(hits[0], 1);
	assert_int_equal(hits[1], 0);
}

/* Below that part of the cache, dirty data waits while the host has commands. */
static void destaging_waits_for_its_part(void **state)
{
	static const char *const words[] = { "destage_high_pct=90", "destage_high_pct=10" };
	u64 destaged[2];
	struct host *host;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		host = disk("hdd", words[i]);
		host_add(host, &(struct job) {
			.region_sector = 20 * GIB, .region_sectors = GIB, .bytes = 4096,
			.depth = 2, .random = true,
		});
		host_add(host, &(struct job) {
			.region_sectors = 10 * GIB, .bytes = 65536, .depth = 1,
			.random = true, .write_pct = 100, .limit = 64, /* half of the cache */
		});
		host_run(host, S);
		destaged[i] = host_count(host, "destaged_extents");
		host_free(host);
	}
	assert_int_equal(destaged[0], 0);
	assert_true(destaged[1] > 20);
}

/* Flash */

static double flash_mb_s(const char *kind, const char *words, struct job job)
{
	struct host *host = disk(kind, words);
	double mb_s;

	job.region_sectors = 100 * GIB;
	host_add(host, &job);
	host_run(host, S / 2);
	mb_s = rate_mb_s(host, S / 2);
	host_free(host);
	return mb_s;
}

static void flash_favours_large_and_sequential(void **state)
{
	const struct job small = { .bytes = 4096, .depth = 1, .random = true };
	const struct job large = { .bytes = 131072, .depth = 1, .random = true };
	const struct job stream = { .bytes = 131072, .depth = 1 };
	const double small_mb_s = flash_mb_s("sata-ssd", "", small);
	const double large_mb_s = flash_mb_s("sata-ssd", "", large);
	const double stream_mb_s = flash_mb_s("sata-ssd", "", stream);

	(void)state;
	assert_true(large_mb_s > small_mb_s * 8);
	assert_true(stream_mb_s > large_mb_s * 1.2);
	/* The difference is read-ahead only. */
	assert_near(flash_mb_s("sata-ssd", "readahead_kib=0", stream), large_mb_s, 0.03);
}

/* By the numbers in flash.c: 22.7 + 53 + 72 + 20.5 + 8 us. */
static void flash_adds_up(void **state)
{
	struct host *host = disk("sata-ssd", "");

	(void)state;
	assert_near(one_ns(host, LAB_READ, 3 * GIB, 4096) / 1e3, 176.1, 0.005);
	host_free(host);
	/* Many at once: one command at a time in the controller. */
	assert_near(flash_mb_s("sata-ssd", "", (struct job) {
			.bytes = 4096, .depth = 32, .random = true }), 4096 / 22.7, 0.01);
	/* One channel with one die: a page at a time. */
	assert_near(flash_mb_s("sata-ssd", "channels=1 dies=1 read_us=180", (struct job) {
			.bytes = 4096, .depth = 32, .random = true }), 4096 / 200.5, 0.01);
}

static void a_write_buffer_fills(void **state)
{
	const struct job writes = { .bytes = 4096, .depth = 16, .random = true, .write_pct = 100 };
	struct host *host = disk("nvme", "write_buffer_kib=8192");
	struct job job = writes, *own;

	(void)state;
	job.region_sectors = 100 * GIB;
	own = host_add(host, &job);
	host_run(host, MS);
	assert_true(own->max_ns[LAB_WRITE] < 50 * US);
	host_run(host, S);
	assert_true(own->max_ns[LAB_WRITE] > 300 * US);
	assert_true(host_count(host, "rows_moved") > host_count(host, "rows_programmed") * 4);
	assert_true(host_count(host, "blocks_erased") > 0);
	host_free(host);
}

static void garbage_collection_is_for_random_writes(void **state)
{
	const struct job random = { .bytes = 4096, .depth = 64, .random = true, .write_pct = 100 };
	const struct job stream = { .bytes = 131072, .depth = 8, .write_pct = 100 };
	const double clean = flash_mb_s("nvme", "write_amp_pct=100", random);

	(void)state;
	/* A moved row costs a page read more than a programmed row. */
	assert_near(flash_mb_s("nvme", "write_amp_pct=400", random), clean / 4, 0.1);
	assert_near(flash_mb_s("nvme", "write_amp_pct=400", stream),
		    flash_mb_s("nvme", "write_amp_pct=100", stream), 0.01);
}

static double read_beside_writers_us(const char *words)
{
	struct host *host = disk("nvme", words);
	struct job *reads = host_add(host, &(struct job) {
		.region_sectors = 100 * GIB, .bytes = 4096, .depth = 1, .random = true,
	});
	double us;

	host_add(host, &(struct job) {
		.region_sector = 100 * GIB, .region_sectors = 100 * GIB, .bytes = 4096,
		.depth = 64, .random = true, .write_pct = 100,
	});
	host_run(host, S / 10);
	host_forget(host);
	host_run(host, S);
	us = mean_us(reads, LAB_READ);
	host_free(host);
	return us;
}

static void reads_wait_for_programs(void **state)
{
	(void)state;
	assert_true(read_beside_writers_us("") > 900);
	assert_true(read_beside_writers_us("gc_rows=4") >
		    read_beside_writers_us("gc_rows=1") * 1.5);
	assert_true(read_beside_writers_us("program_us=100 erase_us=0") < 350);
}

static void a_flush_is_for_volatile_buffers(void **state)
{
	struct host *safe = disk("sata-ssd", "write_cache=0");
	struct host *unsafe = disk("sata-ssd", "write_cache=1");

	(void)state;
	assert_true(flush_us(safe, 2, false, LAB_FLUSH) < 100);
	assert_true(flush_us(unsafe, 2, false, LAB_FLUSH) > 1300);
	host_free(safe);
	host_free(unsafe);
	unsafe = disk("sata-ssd", "write_cache=1");
	assert_true(flush_us(unsafe, 0, true, LAB_WRITE) > 1300);
	host_free(unsafe);
}

/* The network volume */

static u64 window_ns, in_window, most_in_window;

static void count_window(const struct lab_request *rq, u64 since_ns, u64 now_ns)
{
	(void)rq;
	(void)since_ns;
	if (now_ns / (100 * MS) != window_ns) {
		window_ns = now_ns / (100 * MS);
		in_window = 0;
	}
	most_in_window = max(most_in_window, ++in_window);
}

/* The limit of completions in any 100 ms; jitter can shift some. */
static void a_volume_keeps_its_caps(void **state)
{
	struct host *host = disk("cloud", "");
	struct job *own = host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 4096, .depth = 64, .random = true,
	});

	(void)state;
	most_in_window = 0;
	host_seen = count_window;
	host_run(host, 10 * S);
	host_seen = NULL;
	assert_near(ios(own), 30000, 0.01);
	assert_true(most_in_window <= 301);
	/* Little's law: 64 outstanding at 3000 a second. */
	assert_near(mean_us(own, LAB_READ), 64e6 / 3000, 0.01);
	host_free(host);

	host = disk("cloud", "");
	host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 262144, .depth = 16, .random = true,
	});
	host_run(host, S);
	assert_near(rate_mb_s(host, 10 * S), 125, 0.01);
	host_free(host);
}

static void below_its_caps_a_volume_is_a_latency(void **state)
{
	struct host *host = disk("cloud", "jitter_us=0");
	struct job *own = host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 4096, .depth = 1, .random = true,
		.think_ns = 100000,
	});

	(void)state;
	host_run(host, S);
	assert_near(mean_us(own, LAB_READ), 503, 0.002);
	host_free(host);
}

static void credit_is_spent_and_saved(void **state)
{
	struct host *host = disk("cloud", "credit_ios=5000 peak_iops=10000 latency_read_us=100");
	struct job *own = host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 4096, .depth = 64, .random = true,
	});

	(void)state;
	/* 10000 a second while a credit of 5000, beyond 3000 a second, lasts: 714 ms. */
	host_run(host, 700 * MS);
	assert_near(ios(own), 7000, 0.02);
	host_forget(host);
	host_run(host, 2 * S);
	assert_near(ios(own), 6000, 0.04);
	host_free(host);
}

static void large_requests_count_as_several(void **state)
{
	struct host *host = disk("cloud", "io_unit_kib=16 mbps=10000 link_mbps=10000");
	struct job *own = host_add(host, &(struct job) {
		.region_sectors = GIB, .bytes = 65536, .depth = 16, .random = true,
	});

	(void)state;
	host_run(host, 10 * S);
	assert_near(ios(own), 30000 / 4, 0.01);
	host_free(host);
}

int main(int argc, char **argv)
{
	const test_case all[] = {
		TEST(no_request_is_lost),
		TEST(same_calls_same_answers),
		TEST(no_link_is_too_fast),
		TEST(parameters_are_checked),
		TEST(times_add_up),
		TEST(the_nearest_is_picked),
		TEST(ageing_bounds_the_wait),
		TEST(queueing_helps_a_disk),
		TEST(positioning_is_seek_and_rotation),
		TEST(zones_have_their_rates),
		TEST(a_drive_reads_ahead),
		TEST(reading_ahead_serves_the_queue),
		TEST(reading_ahead_is_counted_once),
		TEST(a_write_cache_hides_the_arm),
		TEST(flush_and_fua_reach_the_medium),
		TEST(a_flush_waits_for_what_is_under_way),
		TEST(a_flush_waits_for_extents_that_grow),
		TEST(a_cache_has_its_size),
		TEST(a_full_cache_is_as_fast_as_the_arm),
		TEST(a_write_settles_longer),
		TEST(a_track_switch_costs_its_time),
		TEST(segments_are_given_up),
		TEST(destaging_waits_for_its_part),
		TEST(flash_favours_large_and_sequential),
		TEST(flash_adds_up),
		TEST(a_write_buffer_fills),
		TEST(garbage_collection_is_for_random_writes),
		TEST(reads_wait_for_programs),
		TEST(a_flush_is_for_volatile_buffers),
		TEST(a_volume_keeps_its_caps),
		TEST(below_its_caps_a_volume_is_a_latency),
		TEST(credit_is_spent_and_saved),
		TEST(large_requests_count_as_several),
	};

	return run_cases(all, argc, argv);
}
