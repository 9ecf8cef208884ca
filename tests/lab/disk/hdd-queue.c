// SPDX-License-Identifier: GPL-2.0-only
/*
 * The next operation of the arm of a disk: the host's commands and dirty extents compete.
 *
 * Command queueing.  The drive serves the command with the shortest positioning time,
 * less a part of its waiting time (aged SPTF: Jacobson and Wilkes, "Disk scheduling
 * algorithms based on rotational position", 1991).  With age_permille = 20, a command
 * that waited 1.4 s is ahead of any new one, as no positioning takes longer than 28 ms.
 * A drive with queue_depth = 1 has no queueing.
 *
 * A command that is still in the controller is no candidate.  A head that reads ahead
 * continues until the command is there; the next command of its stream then finds its
 * data in the cache.  A head that waited for the command would lose a whole revolution.
 */
#include "hdd.h"

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

/* The head reads ahead, or is about to, at the start of this read. */
bool hdd_may_join(const struct hdd *h, const struct lab_request *rq)
{
	const struct hdd_op *op = &h->op;

	return rq->op == LAB_READ && op->kind == OP_PREFETCH &&
	       op->segment->start <= rq->sector && rq->sector <= op->segment->end;
}

static u64 hdd_command_reach_ns(struct hdd *h, const struct lab_request *rq, u64 now_ns)
{
	if (hdd_may_join(h, rq))
		return max(now_ns, h->op.from_ns);
	return hdd_reach_ns(h, hdd_first_missing(h, rq), rq->op == LAB_WRITE, now_ns);
}

struct hdd_choice hdd_choose(struct hdd *h, u64 now_ns)
{
	struct hdd_choice best = { .kind = OP_IDLE };
	const struct lab_request *rq;
	u64 reach_ns;
	u32 i;

	for (i = 0; i < h->queued; i++) {
		rq = h->queue[i];
		if (rq->ready_ns > now_ns)
			continue;
		reach_ns = hdd_command_reach_ns(h, rq, now_ns);
		hdd_consider(&best, hdd_aged_ns(h, reach_ns, rq->arrived_ns, now_ns), OP_HOST, i);
	}
	if (h->nr_dirty && (hdd_must_destage(h) ||
			    (!h->queued && now_ns >= h->idle_due_ns)))
		hdd_consider_dirty(h, &best, now_ns);
	return best;
}
