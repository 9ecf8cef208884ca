/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters and state of the disk with one arm, for all its files. */
#ifndef LAB_DISK_HDD_H
#define LAB_DISK_HDD_H

#include <linux/kernel.h>

#include "events.h"
#include "model.h"

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

enum hdd_op_kind { OP_IDLE, OP_HOST, OP_DESTAGE, OP_PREFETCH };

struct hdd_zone {
	u64 sector;
	u64 track;
	u32 track_sectors;
};

/*
 * The range [start, end) of a stream is in the cache; its host has read up to host.
 * Media time up to paid is charged to an owner already.
 */
struct hdd_segment {
	u64 start;
	u64 end;
	u64 host;
	u64 paid;
	u64 used;
	u32 owner;
	bool sequential;
};

struct hdd_extent {
	u64 start;
	u64 end;
	u32 epoch;
	u32 owner;
};

/* Operation of the head: from sector, which passes at from_ns, up to end at end_ns. */
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
	u64 looked_ns;	/* when the head last looked for work */
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

/* hdd-geometry.c */
const char *hdd_init_zones(struct hdd *h);
const struct hdd_zone *hdd_zone(const struct hdd *h, u64 sector);
u64 hdd_track(const struct hdd *h, u64 sector);
u64 hdd_track_end(const struct hdd *h, u64 sector);
u64 hdd_transfer_ns(const struct hdd *h, u64 sector, u64 end);
u64 hdd_reach_ns(const struct hdd *h, u64 sector, bool write, u64 start_ns);

/* hdd-cache.c */
struct hdd_segment *hdd_segment_of(struct hdd *h, u64 sector);
u64 hdd_segment_limit(const struct hdd *h, const struct hdd_segment *segment);
void hdd_segment_extend(struct hdd *h, struct hdd_segment *segment, u64 end);
struct hdd_segment *hdd_segment_read(struct hdd *h, const struct lab_request *rq, u64 end);
u64 hdd_first_missing(struct hdd *h, const struct lab_request *rq);
void hdd_segments_forget(struct hdd *h, u64 start, u64 end);
u32 hdd_dirty_find(const struct hdd *h, u64 sector);
bool hdd_dirty_covers(const struct hdd *h, u64 start, u64 end);
void hdd_dirty_splice(struct hdd *h, u32 at, u32 remove, const struct hdd_extent *extent);
void hdd_dirty_add(struct hdd *h, const struct lab_request *rq);
bool hdd_has_room(const struct hdd *h, const struct lab_request *rq);

/* hdd-queue.c: the best candidate, its cost and its index */
struct hdd_choice {
	s64 cost_ns;
	u32 index;
	enum hdd_op_kind kind;
};

bool hdd_may_join(const struct hdd *h, const struct lab_request *rq);
struct hdd_choice hdd_choose(struct hdd *h, u64 now_ns);

#endif /* LAB_DISK_HDD_H */
