// SPDX-License-Identifier: GPL-2.0-only
/*
 * A network volume: limits on requests and bytes, behind a latency.
 *
 * A volume of a cloud is a contract rather than a device: so many requests and so many
 * bytes a second, perhaps more for a while from saved credit.  Each request takes a round
 * trip to a storage server.  The server has more devices than the volume may use.  So
 * neither locality nor the order of requests matters, and requests below the limits run
 * in parallel.
 *
 * A request counts as one for each io_unit_kib begun.  It starts when all four buckets
 * allow it, in order of arrival.  It completes latency_read_us or latency_write_us later,
 * plus its transfer over the link and a random time of up to jitter_us.
 *
 * There are two pairs of buckets.  iops and mbps allow credit_ios and credit_mib of work
 * ahead of the rate, and refill at the rate.  No credit exceeds peak_iops and peak_mbps.
 * A bucket is kept as a single time (the generic cell rate algorithm): the time at which
 * all admitted work would be done at its rate.  A request may start when that time is at
 * most the credit ahead.  An example, 3000 IOPS without credit: requests that arrive at
 * once start 333 us apart.  So 32 outstanding requests take 10.7 ms each, whatever the
 * latency is.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "events.h"
#include "model.h"

enum cloud_param {
	CLOUD_IOPS = LAB_COMMON,
	CLOUD_MBPS,
	CLOUD_CREDIT_IOS,
	CLOUD_CREDIT_MIB,
	CLOUD_PEAK_IOPS,
	CLOUD_PEAK_MBPS,
	CLOUD_IO_UNIT,
	CLOUD_LATENCY_READ,
	CLOUD_LATENCY_WRITE,
	CLOUD_JITTER,
	CLOUD_LINK,
	CLOUD_PARAMS,
};

static const struct lab_param cloud_params[CLOUD_PARAMS] = {
	LAB_COMMON_PARAMS(102400, 1, 128, 256, 0),
	[CLOUD_IOPS] = { "iops", 3000, 1, 10000000, "requests a second" },
	[CLOUD_MBPS] = { "mbps", 125, 1, 10000, "MB/s" },
	[CLOUD_CREDIT_IOS] = { "credit_ios", 0, 0, 100000000,
		"requests that may be saved while idle" },
	[CLOUD_CREDIT_MIB] = { "credit_mib", 0, 0, 10000000, "MiB that may be saved while idle" },
	[CLOUD_PEAK_IOPS] = { "peak_iops", 16000, 1, 10000000, "requests a second from credit" },
	[CLOUD_PEAK_MBPS] = { "peak_mbps", 1000, 1, 10000, "MB/s from credit" },
	[CLOUD_IO_UNIT] = { "io_unit_kib", 256, 1, 4096, "counts as one request" },
	[CLOUD_LATENCY_READ] = { "latency_read_us", 500, 0, 1000000, "of a read" },
	[CLOUD_LATENCY_WRITE] = { "latency_write_us", 700, 0, 1000000, "of a write or flush" },
	[CLOUD_JITTER] = { "jitter_us", 100, 0, 1000000, "more at most, by chance" },
	[CLOUD_LINK] = { "link_mbps", 1250, 1, 100000, "network link, MB/s" },
};

enum cloud_stat { CLOUD_READS, CLOUD_WRITES, CLOUD_DELAYED, CLOUD_STATS };

static const char *const cloud_stats[CLOUD_STATS] = {
	[CLOUD_READS] = "reads",
	[CLOUD_WRITES] = "writes",
	[CLOUD_DELAYED] = "delayed_by_caps",
};

struct cloud_bucket {
	u64 done_ns;
	u64 credit_ns;
	u64 rate;
};

enum cloud_buckets { IOS, BYTES, PEAK_IOS, PEAK_BYTES, CLOUD_BUCKETS };

struct cloud {
	u64 value[CLOUD_PARAMS];
	u64 counts[CLOUD_STATS];
	u64 busy_ns[LAB_OWNERS];
	struct cloud_bucket bucket[CLOUD_BUCKETS];
	struct lab_link link;
	struct lab_events done;
	u64 start_ns;
	u64 seed;
};

/* In ns, without overflow up to 2^34 of amount. */
static u64 cloud_time_ns(u64 amount, u64 rate)
{
	return amount / rate * NSEC_PER_SEC + amount % rate * NSEC_PER_SEC / rate;
}

/* When the bucket admits @amount. */
static u64 cloud_bucket_ns(struct cloud_bucket *bucket, u64 amount, u64 now_ns)
{
	const u64 before_ns = max(bucket->done_ns, now_ns);

	bucket->done_ns = before_ns + cloud_time_ns(amount, bucket->rate);
	return max(now_ns, before_ns - min(before_ns, bucket->credit_ns));
}

static u64 cloud_start_ns(struct cloud *c, const struct lab_request *rq, u64 now_ns)
{
	const u64 bytes = (u64)rq->sectors * LAB_SECTOR, unit = c->value[CLOUD_IO_UNIT] * 1024;
	const u64 amount[2] = { max((bytes + unit - 1) / unit, (u64)1), bytes };
	u64 start_ns = max(now_ns, c->start_ns);
	u32 i;

	for (i = 0; i < CLOUD_BUCKETS; i++)
		start_ns = max(start_ns, cloud_bucket_ns(&c->bucket[i], amount[i & 1], now_ns));
	c->busy_ns[rq->owner] += max(cloud_time_ns(amount[IOS], c->bucket[IOS].rate),
				     cloud_time_ns(amount[BYTES], c->bucket[BYTES].rate));
	return start_ns;
}

static void cloud_submit(void *disk, struct lab_request *rq, u64 now_ns)
{
	struct cloud *c = disk;
	const bool read = rq->op == LAB_READ;
	const u64 bytes = (u64)rq->sectors * LAB_SECTOR;
	const u64 jitter_ns = c->value[CLOUD_JITTER] * NSEC_PER_USEC;
	const u64 latency_ns = c->value[read ? CLOUD_LATENCY_READ : CLOUD_LATENCY_WRITE] *
			       NSEC_PER_USEC;
	u64 over_ns;

	rq->arrived_ns = now_ns;
	c->counts[read ? CLOUD_READS : CLOUD_WRITES]++;
	c->start_ns = cloud_start_ns(c, rq, now_ns);
	c->counts[CLOUD_DELAYED] += c->start_ns > now_ns;
	over_ns = lab_link_send(&c->link, bytes, c->start_ns, c->start_ns, bytes);
	lab_events_add(&c->done, over_ns + latency_ns + lab_random(&c->seed) % (jitter_ns + 1),
		       0, 0, rq);
}

static u64 cloud_next_ns(const void *disk)
{
	const struct cloud *c = disk;

	return lab_events_next_ns(&c->done);
}

static struct lab_request *cloud_advance(void *disk, u64 now_ns)
{
	struct cloud *c = disk;
	struct lab_event event;

	return lab_events_take(&c->done, now_ns, &event) ? event.rq : NULL;
}

static size_t cloud_bytes(const u64 *value)
{
	return sizeof(struct cloud) +
	       value[LAB_QUEUES] * value[LAB_QUEUE_DEPTH] * sizeof(struct lab_event);
}

static const char *cloud_init(void *disk, const u64 *value)
{
	struct cloud *c = disk;

	memcpy(c->value, value, sizeof(c->value));
	c->seed = value[LAB_SEED];
	c->link.bytes_per_ms = value[CLOUD_LINK] * 1000;
	c->done.heap = (struct lab_event *)(c + 1);
	c->bucket[IOS].rate = value[CLOUD_IOPS];
	c->bucket[BYTES].rate = value[CLOUD_MBPS] * 1000000;
	c->bucket[PEAK_IOS].rate = max(value[CLOUD_PEAK_IOPS], value[CLOUD_IOPS]);
	c->bucket[PEAK_BYTES].rate = max(value[CLOUD_PEAK_MBPS], value[CLOUD_MBPS]) * 1000000;
	c->bucket[IOS].credit_ns = cloud_time_ns(value[CLOUD_CREDIT_IOS], value[CLOUD_IOPS]);
	c->bucket[BYTES].credit_ns = cloud_time_ns(value[CLOUD_CREDIT_MIB] << 20,
						   c->bucket[BYTES].rate);
	return NULL;
}

static const u64 *cloud_counts(const void *disk)
{
	const struct cloud *c = disk;

	return c->counts;
}

static const u64 *cloud_busy_ns(const void *disk)
{
	const struct cloud *c = disk;

	return c->busy_ns;
}

const struct lab_model lab_cloud = {
	.name = "cloud",
	.params = cloud_params,
	.nr_params = CLOUD_PARAMS,
	.stats = cloud_stats,
	.nr_stats = CLOUD_STATS,
	.bytes = cloud_bytes,
	.init = cloud_init,
	.submit = cloud_submit,
	.next_ns = cloud_next_ns,
	.advance = cloud_advance,
	.counts = cloud_counts,
	.busy_ns = cloud_busy_ns,
};
