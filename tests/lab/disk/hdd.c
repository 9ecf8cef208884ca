// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk with one arm: its commands, and the operations of its head.
 *
 * The layout of the medium and the speed of the arm are in hdd-geometry.c, the caches in
 * hdd-cache.c, and the choice of the next operation in hdd-queue.c.
 *
 * Commands.  Each costs the controller command_read_us or command_write_us, one after the
 * other.  CPU time is free in the laboratory, so these parameters include the time that a
 * host spends on a command.
 */
#include <linux/string.h>

#include "hdd.h"

#define PREFETCH_STEP	64U	/* sectors; the interval at which the head looks for new work */
#define HDD_TAIL	4096	/* bytes left to the link after the last sector */

static const struct lab_param hdd_params[HDD_PARAMS] = {
	LAB_COMMON_PARAMS(102400, 1, 31, 1024, 1),
	[HDD_RPM] = { "rotation_rpm", 7200, 1000, 30000, "revolutions a minute" },
	[HDD_HEADS] = { "heads", 2, 1, 32, "surfaces" },
	[HDD_ZONES] = { "zones", 16, 1, 64, "zones" },
	[HDD_RATE_OUTER] = { "rate_outer_kbps", 75000, 1000, 1000000,
		"sustained transfer in the outermost zone, kB/s" },
	[HDD_RATE_INNER] = { "rate_inner_kbps", 40000, 1000, 1000000,
		"sustained transfer in the innermost zone, kB/s" },
	[HDD_SEEK_BASE] = { "seek_base_us", 2400, 0, 100000, "shortest seek, with settling" },
	[HDD_SEEK_SQRT] = { "seek_sqrt_us", 15000, 0, 100000,
		"times the square root of the part of the stroke: short seeks" },
	[HDD_SEEK_CROSS] = { "seek_cross_permille", 250, 1, 999,
		"part of the stroke from which on seeks are linear" },
	[HDD_SEEK_FULL] = { "seek_full_us", 20000, 0, 200000, "full stroke" },
	[HDD_TRACK_SWITCH] = { "track_switch_us", 1000, 0, 20000, "to the next head or cylinder" },
	[HDD_WRITE_SETTLE] = { "write_settle_us", 900, 0, 20000, "more settling before a write" },
	[HDD_COMMAND_READ] = { "command_read_us", 99, 0, 100000, "controller and host, a read" },
	[HDD_COMMAND_WRITE] = { "command_write_us", 170, 0, 100000,
		"controller and host, a write" },
	[HDD_LINK] = { "link_mbps", 300, 1, 100000, "link to the host, MB/s" },
	[HDD_AGE] = { "age_permille", 20, 0, 1000, "part of its wait that a command is ahead" },
	[HDD_SEGMENTS] = { "segments", 16, 1, 128, "of the read cache" },
	[HDD_SEGMENT_KIB] = { "segment_kib", 512, 4, 65536, "size of one" },
	[HDD_PREFETCH_MIN] = { "prefetch_min_kib", 64, 0, 65536,
		"read ahead in a stream before the head may leave" },
	[HDD_WRITE_CACHE_KIB] = { "write_cache_kib", 8192, 64, 1048576,
		"size of the write cache" },
	[HDD_DESTAGE_IDLE] = { "destage_idle_ms", 20, 0, 10000,
		"time without a command before destaging" },
	[HDD_DESTAGE_HIGH] = { "destage_high_pct", 50, 0, 100,
		"filled part from which on destaging competes" },
	[HDD_DESTAGE_WINDOW] = { "destage_window", 8, 1, 4096,
		"dirty extents considered at once" },
	[HDD_DESTAGE_KIB] = { "destage_kib", 512, 4, 65536, "most that is destaged at once" },
};

static const char *const hdd_stats[HDD_STATS] = {
	[HDD_SEEKS] = "positionings",
	[HDD_MEDIA_READS] = "reads_from_medium",
	[HDD_READ_HITS] = "reads_from_cache",
	[HDD_PREFETCHED] = "prefetched_sectors",
	[HDD_CACHED] = "writes_to_cache",
	[HDD_MEDIA_WRITES] = "writes_to_medium",
	[HDD_DESTAGES] = "destaged_extents",
	[HDD_FLUSHES] = "flushes",
};

/* Lists */

static void hdd_list_add(struct hdd_list *list, struct lab_request *rq)
{
	rq->next = NULL;
	*list->last = rq;
	list->last = &rq->next;
}

static struct lab_request *hdd_list_take(struct hdd_list *list)
{
	struct lab_request *rq = list->first;

	list->first = rq->next;
	if (!list->first)
		list->last = &list->first;
	return rq;
}

/* Completion */

static void hdd_done(struct hdd *h, struct lab_request *rq, u64 at_ns)
{
	lab_events_add(&h->done, at_ns, 0, 0, rq);
}

/* Data moves between the disk's memory and the host. */
static u64 hdd_link_whole(struct hdd *h, const struct lab_request *rq, u64 from_ns)
{
	const u64 bytes = (u64)rq->sectors * LAB_SECTOR;

	return lab_link_send(&h->link, bytes, from_ns, from_ns, bytes);
}

static void hdd_write_cached(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	h->counts[HDD_CACHED]++;
	hdd_dirty_add(h, rq);
	hdd_done(h, rq, hdd_link_whole(h, rq, max(now_ns, rq->ready_ns)));
}

static bool hdd_is_clean(const struct hdd *h, u32 epoch)
{
	u32 i;

	if (h->op.kind == OP_DESTAGE && h->op.epoch <= epoch)
		return false;
	for (i = 0; i < h->nr_dirty; i++)
		if (h->dirty[i].epoch <= epoch)
			return false;
	return true;
}

/* Complete writes that waited for space, and flushes that waited for the medium. */
static void hdd_destaged(struct hdd *h, u64 now_ns)
{
	struct lab_request *rq;

	while (h->blocked.first && hdd_has_room(h, h->blocked.first))
		hdd_write_cached(h, hdd_list_take(&h->blocked), now_ns);
	while (h->flushes.first && hdd_is_clean(h, h->flushes.first->epoch)) {
		rq = hdd_list_take(&h->flushes);
		hdd_done(h, rq, max(now_ns, rq->ready_ns));
	}
}

/*
 * Time of read-ahead is charged to the reader of the data.  It is counted once, though
 * several commands of a stream may wait for it, each up to its own @end.
 */
static void hdd_pay_prefetched(struct hdd *h, struct hdd_segment *segment, u64 end, u32 owner)
{
	const u64 sector = max(segment->start, segment->paid);

	end = min(end, segment->end);
	if (sector >= end)
		return;
	h->busy_ns[owner] += hdd_transfer_ns(h, sector, end);
	segment->paid = end;
}

/* Serve a read from the disk's memory, if all its data is there. */
static bool hdd_read_hits(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	struct hdd_segment *segment = hdd_segment_of(h, rq->sector);

	if (!hdd_dirty_covers(h, rq->sector, lab_end(rq)) &&
	    (!segment || lab_end(rq) > segment->end))
		return false;
	h->counts[HDD_READ_HITS]++;
	if (segment) {
		hdd_pay_prefetched(h, segment, lab_end(rq), rq->owner);
		hdd_segment_read(h, rq, lab_end(rq));
	}
	hdd_done(h, rq, hdd_link_whole(h, rq, max(now_ns, rq->ready_ns)));
	return true;
}

/* Serve commands with data that the head has read ahead meanwhile. */
static void hdd_serve_read_ahead(struct hdd *h, u64 now_ns)
{
	struct lab_request *rq;
	u32 i, left = 0;

	for (i = 0; i < h->queued; i++) {
		rq = h->queue[i];
		if (rq->op != LAB_READ || !hdd_read_hits(h, rq, now_ns))
			h->queue[left++] = rq;
	}
	h->queued = left;
}

/* Operations of the head */

static void hdd_start(struct hdd *h, struct hdd_op op, bool write, u64 start_ns)
{
	op.start_ns = start_ns;
	op.from_ns = hdd_reach_ns(h, op.sector, write, start_ns);
	op.end_ns = op.from_ns + hdd_transfer_ns(h, op.sector, op.end);
	h->op = op;
	h->writing = write;
}

static void hdd_prefetch(struct hdd *h, struct hdd_segment *segment, u64 now_ns)
{
	const u64 sector = segment->end;
	const u64 step = min(sector + PREFETCH_STEP, hdd_track_end(h, sector));

	hdd_start(h, (struct hdd_op) {
			.kind = OP_PREFETCH, .segment = segment, .sector = sector,
			.end = min(step, hdd_segment_limit(h, segment)),
		  }, false, now_ns);
}

/*
 * Add the sectors that a prefetch has read so far to its segment.  Positioning is charged
 * to the owner of the stream; for reading see hdd_pay_prefetched().
 */
static void hdd_prefetch_settle(struct hdd *h, u64 now_ns)
{
	struct hdd_op *op = &h->op;
	const u64 there_ns = min(now_ns, op->from_ns);
	u64 passed, end = op->end;

	if (there_ns > op->start_ns) {
		h->busy_ns[op->segment->owner] += there_ns - op->start_ns;
		op->start_ns = there_ns;
	}
	if (now_ns <= op->from_ns)
		return;
	if (now_ns < op->end_ns) {
		passed = (now_ns - op->from_ns) * hdd_zone(h, op->sector)->track_sectors /
			 h->rev_ns;
		end = min(op->sector + passed, op->end);
	}
	if (end <= op->segment->end || !op->segment->end)
		return;
	h->counts[HDD_PREFETCHED] += end - op->segment->end;
	h->flowed += end - op->segment->end;
	hdd_segment_extend(h, op->segment, end);
}

/* The head is in this stream already: go on up to the end of the request. */
static void hdd_join_prefetch(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	struct hdd_op *op = &h->op;

	hdd_pay_prefetched(h, op->segment, lab_end(rq), rq->owner);
	op->kind = OP_HOST;
	op->rq = rq;
	op->owner = rq->owner;
	op->start_ns = now_ns;
	op->end = max(op->segment->end + 1, lab_end(rq));
	op->end_ns = op->from_ns + hdd_transfer_ns(h, op->sector, op->end);
	h->counts[HDD_MEDIA_READS]++;
}

/* Start the host's command in the queue at @index. */
static void hdd_start_host(struct hdd *h, u32 index, u64 now_ns)
{
	struct lab_request *rq = h->queue[index];
	const bool write = rq->op == LAB_WRITE;
	struct hdd_segment *segment = write ? NULL : hdd_segment_of(h, rq->sector);

	h->queued--;
	memmove(&h->queue[index], &h->queue[index + 1], (h->queued - index) * sizeof(rq));
	h->flowed = 0;
	if (hdd_may_join(h, rq)) {
		hdd_join_prefetch(h, rq, now_ns);
		return;
	}
	h->counts[HDD_SEEKS]++;
	h->counts[write ? HDD_MEDIA_WRITES : HDD_MEDIA_READS]++;
	if (segment)
		hdd_pay_prefetched(h, segment, lab_end(rq), rq->owner);
	hdd_start(h, (struct hdd_op) {
			.kind = OP_HOST, .rq = rq, .owner = rq->owner,
			.sector = hdd_first_missing(h, rq), .end = lab_end(rq),
		  }, write, now_ns);
}

static void hdd_start_destage(struct hdd *h, u32 index, u64 now_ns)
{
	struct hdd_extent *extent = &h->dirty[index];
	struct hdd_op op = {
		.kind = OP_DESTAGE, .owner = extent->owner, .epoch = extent->epoch,
		.sector = extent->start,
		.end = min(extent->end, extent->start + h->value[HDD_DESTAGE_KIB] * 2),
	};

	if (op.end == extent->end)
		hdd_dirty_splice(h, index, 1, NULL);
	else
		extent->start = op.end;
	h->counts[HDD_SEEKS]++;
	h->counts[HDD_DESTAGES]++;
	h->flowed = 0;
	hdd_start(h, op, true, now_ns);
}

static bool hdd_wants_more(const struct hdd *h, const struct hdd_segment *segment)
{
	return segment && segment->end && segment->end < hdd_segment_limit(h, segment);
}

/* The head just read this stream, and must not leave it yet. */
static bool hdd_stays(const struct hdd *h)
{
	return hdd_wants_more(h, h->stream) && h->stream->sequential &&
	       h->flowed < h->value[HDD_PREFETCH_MIN] * 2;
}

/* The latest stream with a segment that runs dry. */
static struct hdd_segment *hdd_to_fill(struct hdd *h)
{
	struct hdd_segment *segment, *best = NULL;

	if (hdd_wants_more(h, h->stream))
		return h->stream;
	for (segment = h->segment; segment < h->segment + h->value[HDD_SEGMENTS]; segment++)
		if (segment->sequential && hdd_wants_more(h, segment) &&
		    segment->end - segment->host < h->segment_sectors / 2 &&
		    (!best || segment->used > best->used))
			best = segment;
	return best;
}

/* The head is idle, or reads ahead and may leave. */
static void hdd_next(struct hdd *h, u64 now_ns)
{
	const struct hdd_choice choice = hdd_choose(h, now_ns);
	struct hdd_segment *segment;

	if (choice.kind == OP_HOST) {
		hdd_start_host(h, choice.index, now_ns);
	} else if (choice.kind == OP_DESTAGE) {
		hdd_start_destage(h, choice.index, now_ns);
	} else if (h->op.kind == OP_IDLE) {
		segment = hdd_to_fill(h);
		if (!segment)
			return;
		if (segment != h->stream)
			h->flowed = 0;
		h->stream = segment;
		hdd_prefetch(h, segment, now_ns);
	}
}

/* After a read, the head fills the segment of its stream, h->stream. */
static void hdd_read_done(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	const u64 bytes = (u64)rq->sectors * LAB_SECTOR;

	h->flowed += rq->sectors;
	h->stream = hdd_segment_read(h, rq, lab_end(rq));
	hdd_done(h, rq, lab_link_send(&h->link, bytes, h->op.from_ns,
				      max(now_ns, rq->ready_ns), HDD_TAIL));
}

static void hdd_op_done(struct hdd *h, u64 now_ns)
{
	struct hdd_op op = h->op;

	h->looked_ns = now_ns;
	h->track = hdd_track(h, op.end - 1);
	if (op.kind != OP_PREFETCH)
		h->busy_ns[op.owner] += now_ns - op.start_ns;
	if (op.kind == OP_PREFETCH) {
		hdd_prefetch_settle(h, now_ns);
		hdd_serve_read_ahead(h, now_ns);
		if (!hdd_wants_more(h, op.segment))
			h->stream = NULL;
	} else if (op.kind == OP_HOST) {
		if (op.rq->op == LAB_READ) {
			hdd_read_done(h, op.rq, now_ns);
		} else {
			h->stream = NULL;
			hdd_done(h, op.rq, now_ns);
		}
	} else {
		h->stream = NULL;
		h->op.kind = OP_IDLE;
		h->cached_sectors -= op.end - op.sector;
		hdd_destaged(h, now_ns);
	}
	h->op.kind = OP_IDLE;
	if (hdd_stays(h))
		hdd_prefetch(h, h->stream, now_ns);
	else
		hdd_next(h, now_ns);
}

/* A new command: leave a prefetch that may be left, start if the head is idle. */
static void hdd_kick(struct hdd *h, u64 now_ns)
{
	h->looked_ns = now_ns;
	if (h->op.kind == OP_PREFETCH) {
		hdd_prefetch_settle(h, now_ns);
		hdd_serve_read_ahead(h, now_ns);
		if (now_ns >= h->op.from_ns)
			h->track = hdd_track(h, h->op.sector);
		if (hdd_stays(h))
			return;
	} else if (h->op.kind != OP_IDLE) {
		return;
	}
	hdd_next(h, now_ns);
}

static void hdd_read(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	if (h->op.kind == OP_PREFETCH)
		hdd_prefetch_settle(h, now_ns);
	if (hdd_read_hits(h, rq, now_ns))
		return;
	if (hdd_may_join(h, rq) && (!h->queued || h->flowed < h->value[HDD_PREFETCH_MIN] * 2))
		hdd_join_prefetch(h, rq, now_ns);
	else
		h->queue[h->queued++] = rq;
}

static void hdd_write(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	hdd_segments_forget(h, rq->sector, lab_end(rq));
	if (!h->value[LAB_WRITE_CACHE] || rq->fua || rq->sectors > h->cache_sectors) {
		rq->ready_ns = hdd_link_whole(h, rq, rq->ready_ns);
		h->queue[h->queued++] = rq;
	} else if (h->blocked.first || !hdd_has_room(h, rq)) {
		hdd_list_add(&h->blocked, rq);
	} else {
		hdd_write_cached(h, rq, now_ns);
	}
}

static void hdd_flush(struct hdd *h, struct lab_request *rq)
{
	h->counts[HDD_FLUSHES]++;
	rq->epoch = h->epoch++;
	hdd_list_add(&h->flushes, rq);
}

static void hdd_submit(void *disk, struct lab_request *rq, u64 now_ns)
{
	struct hdd *h = disk;
	const u64 us = h->value[rq->op == LAB_READ ? HDD_COMMAND_READ : HDD_COMMAND_WRITE];

	rq->arrived_ns = now_ns;
	h->controller_ns = max(h->controller_ns, now_ns) + us * NSEC_PER_USEC;
	rq->ready_ns = h->controller_ns;
	h->idle_due_ns = now_ns + h->value[HDD_DESTAGE_IDLE] * NSEC_PER_MSEC;
	if (rq->op == LAB_READ)
		hdd_read(h, rq, now_ns);
	else if (rq->op == LAB_WRITE)
		hdd_write(h, rq, now_ns);
	else if (rq->op == LAB_FLUSH)
		hdd_flush(h, rq);
	else
		hdd_done(h, rq, rq->ready_ns);
	hdd_destaged(h, now_ns);
	hdd_kick(h, now_ns);
}

/* When the next command leaves the controller, of those not seen by the head so far. */
static u64 hdd_ready_ns(const struct hdd *h)
{
	u64 ready_ns = LAB_NEVER;
	u32 i;

	for (i = 0; i < h->queued; i++)
		if (h->queue[i]->ready_ns > h->looked_ns)
			ready_ns = min(ready_ns, h->queue[i]->ready_ns);
	return ready_ns;
}

/* Time of the next event of the head. */
static u64 hdd_head_ns(const struct hdd *h)
{
	if (h->op.kind == OP_PREFETCH)
		return min(h->op.end_ns, hdd_ready_ns(h));
	if (h->op.kind != OP_IDLE)
		return h->op.end_ns;
	if (h->queued)
		return hdd_ready_ns(h);
	return h->nr_dirty ? h->idle_due_ns : LAB_NEVER;
}

static u64 hdd_next_ns(const void *disk)
{
	const struct hdd *h = disk;
	const u64 done_ns = lab_events_next_ns(&h->done);

	return min(done_ns, hdd_head_ns(h));
}

static struct lab_request *hdd_advance(void *disk, u64 now_ns)
{
	struct hdd *h = disk;
	struct lab_event event;
	u64 head_ns;

	while (hdd_next_ns(h) <= now_ns) {
		head_ns = hdd_head_ns(h);
		if (head_ns > lab_events_next_ns(&h->done) &&
		    lab_events_take(&h->done, now_ns, &event))
			return event.rq;
		if (h->op.kind == OP_IDLE || head_ns < h->op.end_ns)
			hdd_kick(h, head_ns);
		else
			hdd_op_done(h, head_ns);
	}
	return NULL;
}

static u32 hdd_commands(const u64 *value)
{
	return value[LAB_QUEUES] * value[LAB_QUEUE_DEPTH];
}

/* Maximum number of extents in the cache: its table has one entry for 4 KiB. */
static u32 hdd_max_dirty(const u64 *value)
{
	return value[HDD_WRITE_CACHE_KIB] / 4;
}

static size_t hdd_bytes(const u64 *value)
{
	return sizeof(struct hdd) +
	       hdd_commands(value) * (sizeof(struct lab_event) + sizeof(struct lab_request *)) +
	       (hdd_max_dirty(value) + 1) * sizeof(struct hdd_extent);
}

static const char *hdd_init(void *disk, const u64 *value)
{
	struct hdd *h = disk;

	memcpy(h->value, value, sizeof(h->value));
	h->sectors = value[LAB_SIZE_MIB] * 2048;
	h->link.bytes_per_ms = value[HDD_LINK] * 1000;
	h->segment_sectors = value[HDD_SEGMENT_KIB] * 2;
	h->cache_sectors = value[HDD_WRITE_CACHE_KIB] * 2;
	h->max_dirty = hdd_max_dirty(value);
	h->done.heap = (struct lab_event *)(h + 1);
	h->queue = (struct lab_request **)(h->done.heap + hdd_commands(value));
	h->dirty = (struct hdd_extent *)(h->queue + hdd_commands(value));
	h->blocked.last = &h->blocked.first;
	h->flushes.last = &h->flushes.first;
	return hdd_init_zones(h);
}

static const u64 *hdd_counts(const void *disk)
{
	const struct hdd *h = disk;

	return h->counts;
}

static const u64 *hdd_busy_ns(const void *disk)
{
	const struct hdd *h = disk;

	return h->busy_ns;
}

const struct lab_model lab_hdd = {
	.name = "hdd",
	.rotational = true,
	.params = hdd_params,
	.nr_params = HDD_PARAMS,
	.stats = hdd_stats,
	.nr_stats = HDD_STATS,
	.bytes = hdd_bytes,
	.init = hdd_init,
	.submit = hdd_submit,
	.next_ns = hdd_next_ns,
	.advance = hdd_advance,
	.counts = hdd_counts,
	.busy_ns = hdd_busy_ns,
};
