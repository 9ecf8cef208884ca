// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk with one arm: heads, rotation, zones, command queueing and caches.
 *
 * Geometry.  The sectors lie on tracks, the tracks in zones from the outer rim
 * (sector 0) inwards; a zone's tracks have as many sectors as its rate says, and
 * rates fall linearly from the first zone to the last.  All zones have the same
 * number of tracks.  A cylinder is as many tracks as there are heads.  Each track
 * starts a little later in angle than the one before (skew), so that after a
 * switch of head or cylinder the next sector is just about to come.
 *
 * Rotation.  The platter turns whether anyone reads or not: its angle is the time
 * modulo one revolution.  hdd_media_ns() maps every sector to the moment when it
 * would pass if the whole disk were read in one go; modulo one revolution that is
 * the sector's angle, and the difference of two is the time to read from one to
 * the other.  So sequential transfers lose nothing, and a request that comes just
 * too late waits for a whole revolution: 8.33 ms at 7200/min.
 *
 * Seeks (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994):
 * base + sqrt * (distance/stroke)^1/2 up to a crossover, for there the arm only
 * accelerates and brakes, then linear up to the full stroke, for there it coasts.
 * To the next head or cylinder it is the track switch; writes settle longer.
 *
 * Positioning, an example: from sector 0 to a sector 1 % of the stroke away that
 * is at half a turn: 2.4 + 15 * 0.1 = 3.9 ms of seek; it passes every 8.33 ms, at
 * 4.17 first, so it takes 4.17 ms; were it at a quarter of a turn (2.08 ms), it
 * would take 10.42 ms.
 *
 * Command queueing.  Of the commands it has, the drive serves the one with the
 * shortest positioning time, less a part of the time that it has waited (aged
 * SPTF: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational
 * position", 1991).  With age_permille = 20, one that waited 1.4 s is ahead of any
 * new one, for no positioning takes longer than 28 ms.  queue_depth = 1 is a drive
 * without queueing.
 *
 * Read cache.  It has so many segments, each the last part of one stream.  After a
 * read the head stays and fills the segment; a command that needs the head
 * interrupts that at once, but in a sequential stream not before prefetch_min_kib
 * are read (SCSI's caching page has the same limit).  A stream whose segment is
 * half empty is filled up when the head has nothing else to do.
 *
 * Write cache.  A write that finds room completes when its data is over the link.
 * Dirty extents that touch are one extent.  They are written (destaged) when no
 * command has come for destage_idle_ms, and beside the host's commands when the
 * cache is filled to destage_high_pct, when a write waits for room, or when the host
 * flushes; the drive looks at the destage_window extents that follow the head, and
 * takes them by the same rule as commands.  A flush completes when all that was dirty
 * is on the medium; a FUA write goes to the medium itself.
 *
 * Commands.  Each costs the controller command_read_us or command_write_us, one
 * after the other.  CPU time is free in the laboratory, so what a host spends on a
 * command has to be in there, too.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "events.h"
#include "model.h"

#define PREFETCH_STEP	64U	/* sectors; the head looks for new work in between */
#define HDD_TAIL	4096	/* bytes that the link still has to take after the last sector */

enum hdd_param {
	HDD_RPM = LAB_COMMON,
	HDD_HEADS,
	HDD_ZONES,
	HDD_RATE_OUTER,
	HDD_RATE_INNER,
	HDD_SEEK_BASE,
	HDD_SEEK_SQRT,
	HDD_SEEK_CROSS,
	HDD_SEEK_FULL,
	HDD_TRACK_SWITCH,
	HDD_WRITE_SETTLE,
	HDD_COMMAND_READ,
	HDD_COMMAND_WRITE,
	HDD_LINK,
	HDD_AGE,
	HDD_SEGMENTS,
	HDD_SEGMENT_KIB,
	HDD_PREFETCH_MIN,
	HDD_WRITE_CACHE_KIB,
	HDD_DESTAGE_IDLE,
	HDD_DESTAGE_HIGH,
	HDD_DESTAGE_WINDOW,
	HDD_DESTAGE_KIB,
	HDD_PARAMS,
};

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
	[HDD_WRITE_SETTLE] = { "write_settle_us", 500, 0, 20000, "more settling before a write" },
	[HDD_COMMAND_READ] = { "command_read_us", 99, 0, 100000, "controller and host, a read" },
	[HDD_COMMAND_WRITE] = { "command_write_us", 160, 0, 100000,
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
	[HDD_DESTAGE_WINDOW] = { "destage_window", 32, 1, 4096,
		"dirty extents considered at once" },
	[HDD_DESTAGE_KIB] = { "destage_kib", 512, 4, 65536, "most that is destaged at once" },
};

enum hdd_stat {
	HDD_SEEKS,
	HDD_MEDIA_READS,
	HDD_READ_HITS,
	HDD_PREFETCHED,
	HDD_CACHED,
	HDD_MEDIA_WRITES,
	HDD_DESTAGES,
	HDD_FLUSHES,
	HDD_STATS,
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

enum hdd_op_kind { OP_IDLE, OP_HOST, OP_DESTAGE, OP_PREFETCH };

struct hdd_zone {
	u64 sector;
	u64 track;
	u32 track_sectors;
};

/* [start, end) of a stream is in the cache; its host has read up to host. */
struct hdd_segment {
	u64 start;
	u64 end;
	u64 host;
	u64 used;
	bool sequential;
};

struct hdd_extent {
	u64 start;
	u64 end;
	u32 epoch;
	u32 owner;
};

/* What the head does: from sector on, which passes at from_ns, up to end at end_ns. */
struct hdd_op {
	enum hdd_op_kind kind;
	struct lab_request *rq;
	struct hdd_segment *segment;
	u64 sector;
	u64 end;
	u64 start_ns;
	u64 from_ns;
	u64 end_ns;
	u32 epoch;
	u32 owner;
};

struct hdd_list {
	struct lab_request *first;
	struct lab_request **last;
};

struct hdd {
	u64 value[HDD_PARAMS];
	u64 counts[HDD_STATS];
	u64 busy_ns[LAB_OWNERS];
	u64 sectors;
	u64 rev_ns;
	u64 pitch_ns;
	u64 tracks;
	u64 cylinders;
	struct hdd_zone zone[64];
	struct lab_link link;
	struct lab_events done;
	u64 controller_ns;

	struct hdd_op op;
	u64 track;
	bool writing;
	u64 idle_due_ns;
	u64 flowed;
	struct hdd_segment *stream;

	struct hdd_segment segment[128];
	u64 uses;
	u32 segment_sectors;

	struct lab_request **queue;
	u32 queued;

	struct hdd_extent *dirty;
	u32 nr_dirty;
	u32 max_dirty;
	u64 cached_sectors;
	u64 cache_sectors;
	u32 epoch;
	struct hdd_list blocked;
	struct hdd_list flushes;
};

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

static u64 square_root(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

/* Geometry and rotation */

static const struct hdd_zone *hdd_zone(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = &h->zone[h->value[HDD_ZONES] - 1];

	while (sector < zone->sector)
		zone--;
	return zone;
}

static u64 hdd_track(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);

	return zone->track + (sector - zone->sector) / zone->track_sectors;
}

static u64 hdd_track_end(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);
	const u64 on_track = (sector - zone->sector) % zone->track_sectors;

	return sector - on_track + zone->track_sectors;
}

/* When @sector would begin to pass if the disk were read from its start at time 0. */
static u64 hdd_media_ns(const struct hdd *h, u64 sector)
{
	const struct hdd_zone *zone = hdd_zone(h, sector);
	const u64 inside = sector - zone->sector;

	return (zone->track + inside / zone->track_sectors) * h->pitch_ns +
	       inside % zone->track_sectors * h->rev_ns / zone->track_sectors;
}

static u64 hdd_transfer_ns(const struct hdd *h, u64 sector, u64 end)
{
	const u64 last = end - 1;

	return hdd_media_ns(h, last) - hdd_media_ns(h, sector) +
	       h->rev_ns / hdd_zone(h, last)->track_sectors;
}

static u64 hdd_seek_ns(const struct hdd *h, u64 track)
{
	const u64 from = h->track / h->value[HDD_HEADS], to = track / h->value[HDD_HEADS];
	const u64 distance = from < to ? to - from : from - to;
	const u64 permille = distance * 1000 / h->cylinders;
	const u64 cross = h->value[HDD_SEEK_CROSS];
	u64 part = distance, us, cross_us;

	if (track == h->track)
		return 0;
	if (distance <= 1)
		return h->value[HDD_TRACK_SWITCH] * NSEC_PER_USEC;
	if (permille >= cross)
		part = h->cylinders * cross / 1000;
	/* The root of a 32-bit fraction has 16 bits. */
	us = h->value[HDD_SEEK_BASE] +
	     (h->value[HDD_SEEK_SQRT] * square_root((part << 32) / h->cylinders) >> 16);
	if (permille >= cross && h->value[HDD_SEEK_FULL] > us) {
		cross_us = us;
		us += (h->value[HDD_SEEK_FULL] - cross_us) * (permille - cross) / (1000 - cross);
	}
	return us * NSEC_PER_USEC;
}

/* When @sector passes the head, if that leaves for it at @start_ns. */
static u64 hdd_reach_ns(const struct hdd *h, u64 sector, bool write, u64 start_ns)
{
	const u64 track = hdd_track(h, sector);
	const u64 angle_ns = hdd_media_ns(h, sector) % h->rev_ns;
	u64 at_ns = start_ns + hdd_seek_ns(h, track), phase_ns;

	if (write && !(h->writing && track - h->track <= 1))
		at_ns += h->value[HDD_WRITE_SETTLE] * NSEC_PER_USEC;
	phase_ns = at_ns % h->rev_ns;
	if (phase_ns > angle_ns)
		at_ns += h->rev_ns;
	return at_ns + angle_ns - phase_ns;
}

/* The read cache */

static struct hdd_segment *hdd_segment_of(struct hdd *h, u64 sector)
{
	struct hdd_segment *segment;

	for (segment = h->segment; segment < h->segment + h->value[HDD_SEGMENTS]; segment++)
		if (segment->end && segment->start <= sector && sector <= segment->end)
			return segment;
	return NULL;
}

static struct hdd_segment *hdd_segment_oldest(struct hdd *h)
{
	struct hdd_segment *segment, *oldest = h->segment;

	for (segment = h->segment; segment < h->segment + h->value[HDD_SEGMENTS]; segment++)
		if (segment->used < oldest->used)
			oldest = segment;
	return oldest;
}

static u64 hdd_segment_limit(const struct hdd *h, const struct hdd_segment *segment)
{
	return min(segment->host + h->segment_sectors, h->sectors);
}

static void hdd_segment_extend(struct hdd *h, struct hdd_segment *segment, u64 end)
{
	segment->end = max(segment->end, end);
	if (segment->end - segment->start > h->segment_sectors)
		segment->start = segment->end - h->segment_sectors;
}

/* The host has read @rq, from the medium if @end is what was read there. */
static struct hdd_segment *hdd_segment_read(struct hdd *h, const struct lab_request *rq, u64 end)
{
	struct hdd_segment *segment = hdd_segment_of(h, rq->sector);

	if (segment) {
		segment->sequential = true;
	} else {
		segment = hdd_segment_oldest(h);
		*segment = (struct hdd_segment) { .start = rq->sector, .end = rq->sector };
	}
	segment->host = lab_end(rq);
	segment->used = ++h->uses;
	hdd_segment_extend(h, segment, end);
	return segment;
}

static void hdd_segments_forget(struct hdd *h, u64 start, u64 end)
{
	struct hdd_segment *segment;

	for (segment = h->segment; segment < h->segment + h->value[HDD_SEGMENTS]; segment++)
		if (segment->start < end && start < segment->end)
			*segment = (struct hdd_segment) {};
}

/* The write cache: extents in order of sectors, that do not touch */

/* The first one that ends at @sector or after it. */
static u32 hdd_dirty_find(const struct hdd *h, u64 sector)
{
	u32 low = 0, high = h->nr_dirty, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (h->dirty[middle].end < sector)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool hdd_dirty_covers(const struct hdd *h, u64 start, u64 end)
{
	const u32 i = hdd_dirty_find(h, start + 1);

	return i < h->nr_dirty && h->dirty[i].start <= start && end <= h->dirty[i].end;
}

/* Replace @remove extents from @at on by @extent, or by nothing if that is NULL. */
static void hdd_dirty_splice(struct hdd *h, u32 at, u32 remove, const struct hdd_extent *extent)
{
	const u32 insert = extent ? 1 : 0;

	memmove(&h->dirty[at + insert], &h->dirty[at + remove],
		(h->nr_dirty - at - remove) * sizeof(*h->dirty));
	h->nr_dirty += insert;
	h->nr_dirty -= remove;
	if (extent)
		h->dirty[at] = *extent;
}

static void hdd_dirty_add(struct hdd *h, const struct lab_request *rq)
{
	struct hdd_extent extent = {
		.start = rq->sector, .end = lab_end(rq), .epoch = h->epoch, .owner = rq->owner,
	};
	const u64 end = extent.end;
	const u32 at = hdd_dirty_find(h, extent.start);
	u32 i;

	for (i = at; i < h->nr_dirty && h->dirty[i].start <= end; i++) {
		extent.start = min(extent.start, h->dirty[i].start);
		extent.end = max(extent.end, h->dirty[i].end);
		extent.epoch = min(extent.epoch, h->dirty[i].epoch);
		h->cached_sectors -= h->dirty[i].end - h->dirty[i].start;
	}
	h->cached_sectors += extent.end - extent.start;
	hdd_dirty_splice(h, at, i - at, &extent);
}

static bool hdd_has_room(const struct hdd *h, const struct lab_request *rq)
{
	return h->cached_sectors + rq->sectors <= h->cache_sectors && h->nr_dirty < h->max_dirty;
}

/* Completion */

static void hdd_done(struct hdd *h, struct lab_request *rq, u64 at_ns)
{
	lab_events_add(&h->done, at_ns, 0, 0, rq);
}

/* Data that is in the disk's memory goes to the host, or the other way. */
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

/* Writes that waited for room, and flushes that waited for the medium. */
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

/* What the head does */

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

/* What a prefetch has read by now is in its segment. */
static void hdd_prefetch_settle(struct hdd *h, u64 now_ns)
{
	struct hdd_op *op = &h->op;
	u64 passed, end = op->end;

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

/* The host's command is in the queue at @index. */
static void hdd_start_host(struct hdd *h, u32 index, u64 now_ns)
{
	struct lab_request *rq = h->queue[index];
	const bool write = rq->op == LAB_WRITE;

	h->queued--;
	memmove(&h->queue[index], &h->queue[index + 1], (h->queued - index) * sizeof(rq));
	h->counts[HDD_SEEKS]++;
	h->counts[write ? HDD_MEDIA_WRITES : HDD_MEDIA_READS]++;
	h->flowed = 0;
	hdd_start(h, (struct hdd_op) {
			.kind = OP_HOST, .rq = rq, .owner = rq->owner,
			.sector = rq->sector, .end = lab_end(rq),
		  }, write, max(now_ns, rq->ready_ns));
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

/* The best candidate so far. */
struct hdd_choice {
	s64 cost_ns;
	u32 index;
	enum hdd_op_kind kind;
};

static void hdd_consider(struct hdd_choice *best, s64 cost_ns, enum hdd_op_kind kind, u32 index)
{
	if (best->kind == OP_IDLE || cost_ns < best->cost_ns)
		*best = (struct hdd_choice) { .cost_ns = cost_ns, .kind = kind, .index = index };
}

static s64 hdd_aged_ns(const struct hdd *h, u64 reach_ns, u64 since_ns, u64 now_ns)
{
	return (s64)(reach_ns - now_ns) - (s64)((now_ns - since_ns) * h->value[HDD_AGE] / 1000);
}

static bool hdd_must_destage(const struct hdd *h)
{
	return h->blocked.first || h->flushes.first ||
	       h->cached_sectors * 100 > h->cache_sectors * h->value[HDD_DESTAGE_HIGH];
}

static void hdd_consider_dirty(const struct hdd *h, struct hdd_choice *best, u64 now_ns)
{
	const struct lab_request *flush = h->flushes.first, *blocked = h->blocked.first;
	u64 since_ns = now_ns;
	u32 i, at, seen = 0;

	if (flush)
		since_ns = min(since_ns, flush->arrived_ns);
	if (blocked)
		since_ns = min(since_ns, blocked->arrived_ns);
	at = hdd_dirty_find(h, h->op.end);
	for (i = 0; i < h->nr_dirty && seen < h->value[HDD_DESTAGE_WINDOW]; i++, at++) {
		if (at >= h->nr_dirty)
			at = 0;
		if (flush && h->dirty[at].epoch > flush->epoch)
			continue;
		hdd_consider(best, hdd_aged_ns(h, hdd_reach_ns(h, h->dirty[at].start, true, now_ns),
					       since_ns, now_ns), OP_DESTAGE, at);
		seen++;
	}
}

static struct hdd_choice hdd_choose(const struct hdd *h, u64 now_ns)
{
	struct hdd_choice best = { .kind = OP_IDLE };
	const struct lab_request *rq;
	u64 reach_ns;
	u32 i;

	for (i = 0; i < h->queued; i++) {
		rq = h->queue[i];
		reach_ns = hdd_reach_ns(h, rq->sector, rq->op == LAB_WRITE,
					max(now_ns, rq->ready_ns));
		hdd_consider(&best, hdd_aged_ns(h, reach_ns, rq->arrived_ns, now_ns), OP_HOST, i);
	}
	if (h->nr_dirty && (hdd_must_destage(h) ||
			    (!h->queued && now_ns >= h->idle_due_ns)))
		hdd_consider_dirty(h, &best, now_ns);
	return best;
}

static bool hdd_wants_more(const struct hdd *h, const struct hdd_segment *segment)
{
	return segment && segment->end && segment->end < hdd_segment_limit(h, segment);
}

/* The stream was just read, and the head shall not leave it yet. */
static bool hdd_stays(const struct hdd *h)
{
	return hdd_wants_more(h, h->stream) && h->stream->sequential &&
	       h->flowed < h->value[HDD_PREFETCH_MIN] * 2;
}

/* The latest stream whose segment runs dry. */
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

/* The head is free. */
static void hdd_next(struct hdd *h, u64 now_ns)
{
	struct hdd_segment *segment;
	struct hdd_choice choice;

	h->op.kind = OP_IDLE;
	if (hdd_stays(h)) {
		hdd_prefetch(h, h->stream, now_ns);
		return;
	}
	choice = hdd_choose(h, now_ns);
	if (choice.kind == OP_HOST) {
		hdd_start_host(h, choice.index, now_ns);
	} else if (choice.kind == OP_DESTAGE) {
		hdd_start_destage(h, choice.index, now_ns);
	} else {
		segment = hdd_to_fill(h);
		if (!segment)
			return;
		if (segment != h->stream)
			h->flowed = 0;
		h->stream = segment;
		hdd_prefetch(h, segment, now_ns);
	}
}

/* After a read, its stream is filled until the segment is full: that is h->stream. */
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

	h->track = hdd_track(h, op.end - 1);
	if (op.kind != OP_PREFETCH)
		h->busy_ns[op.owner] += now_ns - op.start_ns;
	if (op.kind == OP_PREFETCH) {
		hdd_prefetch_settle(h, now_ns);
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
	hdd_next(h, now_ns);
}

/* Something new: leave a prefetch that may be left, begin if the head is idle. */
static void hdd_kick(struct hdd *h, u64 now_ns)
{
	if (h->op.kind == OP_PREFETCH) {
		hdd_prefetch_settle(h, now_ns);
		if (now_ns >= h->op.from_ns)
			h->track = hdd_track(h, h->op.sector);
		if (hdd_stays(h) || hdd_choose(h, now_ns).kind == OP_IDLE)
			return;
	} else if (h->op.kind != OP_IDLE) {
		return;
	}
	hdd_next(h, now_ns);
}

/* The head is in this stream already: go on up to what the host wants. */
static bool hdd_join_prefetch(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	struct hdd_op *op = &h->op;

	if (op->kind != OP_PREFETCH || rq->sector < op->segment->start ||
	    rq->sector > op->segment->end)
		return false;
	if (h->queued && h->flowed >= h->value[HDD_PREFETCH_MIN] * 2)
		return false;
	op->kind = OP_HOST;
	op->rq = rq;
	op->owner = rq->owner;
	op->start_ns = now_ns;
	op->end = max(op->segment->end + 1, lab_end(rq));
	op->end_ns = op->from_ns + hdd_transfer_ns(h, op->sector, op->end);
	h->counts[HDD_MEDIA_READS]++;
	return true;
}

static void hdd_read(struct hdd *h, struct lab_request *rq, u64 now_ns)
{
	struct hdd_segment *segment;

	if (h->op.kind == OP_PREFETCH)
		hdd_prefetch_settle(h, now_ns);
	segment = hdd_segment_of(h, rq->sector);
	if (hdd_dirty_covers(h, rq->sector, lab_end(rq)) ||
	    (segment && lab_end(rq) <= segment->end)) {
		h->counts[HDD_READ_HITS]++;
		if (segment)
			hdd_segment_read(h, rq, lab_end(rq));
		hdd_done(h, rq, hdd_link_whole(h, rq, rq->ready_ns));
		return;
	}
	if (!hdd_join_prefetch(h, rq, now_ns))
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

/* When the head has something to do by itself. */
static u64 hdd_head_ns(const struct hdd *h)
{
	if (h->op.kind != OP_IDLE)
		return h->op.end_ns;
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
		if (h->op.kind == OP_IDLE)
			hdd_next(h, head_ns);
		else
			hdd_op_done(h, head_ns);
	}
	return NULL;
}

static u32 hdd_commands(const u64 *value)
{
	return value[LAB_QUEUES] * value[LAB_QUEUE_DEPTH];
}

/* Extents that the cache can hold: its table has one entry for 4 KiB. */
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

static const char *hdd_init_zones(struct hdd *h)
{
	const u64 *value = h->value;
	const u64 outer = value[HDD_RATE_OUTER], inner = value[HDD_RATE_INNER];
	const u64 zones = value[HDD_ZONES];
	u64 kbps, sum = 0, per_zone, i;

	h->rev_ns = 60 * NSEC_PER_SEC / value[HDD_RPM];
	/* A little more than the switch takes. */
	h->pitch_ns = h->rev_ns + (value[HDD_TRACK_SWITCH] + 20) * NSEC_PER_USEC;
	if (inner > outer)
		return "the inner rate is above the outer one";
	for (i = 0; i < zones; i++) {
		kbps = outer - (outer - inner) * i / max(zones - 1, (u64)1);
		h->zone[i].track_sectors = kbps * h->pitch_ns / NSEC_PER_MSEC / LAB_SECTOR;
		sum += h->zone[i].track_sectors;
	}
	per_zone = (h->sectors + sum - 1) / sum;
	for (i = 1; i < zones; i++) {
		h->zone[i].track = i * per_zone;
		h->zone[i].sector = h->zone[i - 1].sector + per_zone * h->zone[i - 1].track_sectors;
	}
	h->tracks = zones * per_zone;
	h->cylinders = max(h->tracks / value[HDD_HEADS], (u64)1);
	return NULL;
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
