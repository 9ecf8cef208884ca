// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a disk with one arm: streams read ahead, and dirty extents.
 *
 * Read cache.  It has a fixed number of segments, each with the last part of one stream.
 * After a read the head stays and fills the segment.  A command that needs the head
 * interrupts this at once; in a sequential stream, only after prefetch_min_kib are read
 * (SCSI's caching page has the same limit).  Commands that wait for data that is read
 * meanwhile are served from it.  When the head has no other work, it fills segments that
 * are half empty.
 *
 * Write cache.  A write that fits completes when its data is over the link.  Adjacent
 * dirty extents are merged.  Extents are written (destaged) when no command has arrived
 * for destage_idle_ms.  They are also written beside the host's commands in three cases:
 * the cache is filled to destage_high_pct, a write waits for space, or the host flushes.
 * The drive considers the destage_window extents that follow the head, by the same rule
 * as commands.  A flush completes when all data that was dirty is on the medium; a FUA
 * write goes to the medium itself.
 */
#include <linux/string.h>

#include "hdd.h"

/* The read cache */

struct hdd_segment *hdd_segment_of(struct hdd *h, u64 sector)
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

u64 hdd_segment_limit(const struct hdd *h, const struct hdd_segment *segment)
{
	return min(segment->host + h->segment_sectors, h->sectors);
}

void hdd_segment_extend(struct hdd *h, struct hdd_segment *segment, u64 end)
{
	segment->end = max(segment->end, end);
	if (segment->end - segment->start > h->segment_sectors)
		segment->start = segment->end - h->segment_sectors;
}

/* The host has read @rq; if from the medium, up to @end. */
struct hdd_segment *hdd_segment_read(struct hdd *h, const struct lab_request *rq, u64 end)
{
	struct hdd_segment *segment = hdd_segment_of(h, rq->sector);

	if (segment) {
		segment->sequential = true;
	} else {
		segment = hdd_segment_oldest(h);
		*segment = (struct hdd_segment) { .start = rq->sector, .end = rq->sector };
	}
	segment->host = lab_end(rq);
	segment->owner = rq->owner;
	segment->used = ++h->uses;
	hdd_segment_extend(h, segment, end);
	segment->paid = max(segment->paid, end);
	return segment;
}

/* The first sector of @rq to read from the medium, after the part in its segment. */
u64 hdd_first_missing(struct hdd *h, const struct lab_request *rq)
{
	struct hdd_segment *segment = rq->op == LAB_READ ? hdd_segment_of(h, rq->sector) : NULL;

	return segment ? segment->end : rq->sector;
}

void hdd_segments_forget(struct hdd *h, u64 start, u64 end)
{
	struct hdd_segment *segment;

	for (segment = h->segment; segment < h->segment + h->value[HDD_SEGMENTS]; segment++)
		if (segment->start < end && start < segment->end)
			*segment = (struct hdd_segment) {};
}

/* The write cache: extents in order of sectors, none adjacent */

/* The first extent that ends at @sector or after it. */
u32 hdd_dirty_find(const struct hdd *h, u64 sector)
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

bool hdd_dirty_covers(const struct hdd *h, u64 start, u64 end)
{
	const u32 i = hdd_dirty_find(h, start + 1);

	return i < h->nr_dirty && h->dirty[i].start <= start && end <= h->dirty[i].end;
}

/* Replace @remove extents from @at on by @extent; NULL only removes. */
void hdd_dirty_splice(struct hdd *h, u32 at, u32 remove, const struct hdd_extent *extent)
{
	const u32 insert = extent ? 1 : 0;

	memmove(&h->dirty[at + insert], &h->dirty[at + remove],
		(h->nr_dirty - at - remove) * sizeof(*h->dirty));
	h->nr_dirty += insert;
	h->nr_dirty -= remove;
	if (extent)
		h->dirty[at] = *extent;
}

void hdd_dirty_add(struct hdd *h, const struct lab_request *rq)
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

bool hdd_has_room(const struct hdd *h, const struct lab_request *rq)
{
	return h->cached_sectors + rq->sectors <= h->cache_sectors && h->nr_dirty < h->max_dirty;
}
