/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: counters and histograms. */
#ifndef DM_IOBAND_STATS_H
#define DM_IOBAND_STATS_H

#include "io.h"

struct ioband_stats *ioband_stats_new(gfp_t gfp);
void ioband_stats_free(struct ioband_stats *stats);
void ioband_stats_exit(void);
static inline unsigned int ioband_stats_bucket(u64 ns)
{
	return min_t(unsigned int, fls64(ns >> 10), IOBAND_NR_BUCKETS - 1);
}

/*
 * A time is counted once: in the histogram, or without one in a counter.  The histogram's own sum
 * therefore costs no extra counter.
 */
static inline void ioband_stats_count_time(struct ioband_histogram __percpu *histogram, u64 ns)
{
	this_cpu_add(histogram->sum_ns, ns);
	this_cpu_inc(histogram->bios[ioband_stats_bucket(ns)]);
}

/* Count a completed bio; the caller has pinned the group. */
static __always_inline void ioband_stats_count(const struct ioband_stats *stats, u8 op, u32 bytes,
					       u64 service_ns)
{
	/* Pairs with smp_store_release() in ioband_stats_make_hist(). */
	struct ioband_cpu_hist __percpu *hist = smp_load_acquire(&stats->hist);
	struct ioband_counters __percpu *counters = &stats->cpu->op[op];

	this_cpu_inc(counters->ios);
	this_cpu_add(counters->bytes, bytes);
	if (likely(hist))
		ioband_stats_count_time(&hist->service[op], service_ns);
	else
		this_cpu_add(counters->service_ns, service_ns);
}

/* Activity of a group. */
struct ioband_progress {
	u64 work;			/* completed so far, as in ioband_depth_work() */
	u32 inflight;			/* bios queued or in flight */
	u32 open;		/* bios of the open state in flight, counted slightly earlier */
};

static inline void ioband_stats_pin(struct ioband_stats *stats)
{
	this_cpu_inc(stats->cpu->users);
}

/* The last access to the group: earlier accesses are ordered before it. */
static inline void ioband_stats_unpin(struct ioband_stats *stats)
{
	smp_mb__before_atomic();	/* pairs with smp_mb() in stats_pins() */
	this_cpu_dec(stats->cpu->users);
}

/* The same for a bio. */
static inline void ioband_stats_pin_io(struct ioband_stats *stats, u8 op)
{
	this_cpu_inc(stats->cpu->inflight[op]);
}

/* The same for several. */
static inline void ioband_stats_pin_ios(struct ioband_stats *stats, u8 op, u32 ios)
{
	this_cpu_add(stats->cpu->inflight[op], ios);
}

static inline void ioband_stats_unpin_io(struct ioband_stats *stats, u8 op)
{
	smp_mb__before_atomic();	/* pairs with smp_mb() in stats_pins() */
	this_cpu_dec(stats->cpu->inflight[op]);
}

/* The same for a bio of the open state. */
static inline void ioband_stats_pin_open(struct ioband_stats *stats, unsigned int op)
{
	this_cpu_inc(stats->cpu->open[op]);
}

static inline void ioband_stats_unpin_open(struct ioband_stats *stats, u8 op)
{
	smp_mb__before_atomic();	/* pairs with smp_mb() in stats_pins() */
	this_cpu_dec(stats->cpu->open[op]);
}

void ioband_stats_progress(struct ioband_stats *stats, struct ioband_progress *progress);
void ioband_stats_stock(struct ioband_pool *pool);
void ioband_stats_unstock(struct ioband_pool *pool);
bool ioband_stats_may_come(struct ioband_group *group, long left);
long ioband_stats_wait(struct ioband_pool *pool, long left);
bool ioband_stats_in_use(struct ioband_group *group);
void ioband_stats_give(struct ioband_group *group, struct ioband_stats *stats,
		       enum ioband_stats_kind kind);
void ioband_stats_sort(struct ioband_group *group);
struct ioband_group *ioband_stats_ready(struct ioband_group *group);
bool ioband_stats_are_below(struct ioband_group *group);
void ioband_stats_make_hist(struct ioband_pool *pool);
u64 ioband_stats_released(struct ioband_io *io, u64 now_ns);
void ioband_stats_retire(struct ioband_group *group);
bool ioband_stats_reap(struct ioband_group *group);
void ioband_stats_drop(struct ioband_group *group);
void ioband_stats_end(struct ioband_group *group);
void ioband_stats_sum(struct ioband_group *group, struct ioband_sum *sum);
bool ioband_stats_sum_hist(struct ioband_group *group, struct ioband_cpu_hist *total);

#endif /* DM_IOBAND_STATS_H */
