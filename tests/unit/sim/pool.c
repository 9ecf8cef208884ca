// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core's caller: the kernel's queue in virtual time.
 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

/* Buckets an eighth of an octave wide. */
static u32 latency_bucket(u64 ns)
{
	u32 octave;

	if (ns < 8)
		return ns;
	octave = 63 - __builtin_clzll(ns);
	return octave * 8 + (ns >> (octave - 3)) % 8;
}

static u64 bucket_end_ns(u32 bucket)
{
	return (8ULL + bucket % 8 + 1) << (bucket / 8 - 3);
}

u64 leaf_percentile_ns(const struct sim_leaf *leaf, double fraction)
{
	u64 rest = leaf->ios * (1 - fraction);
	u32 i;

	for (i = SIM_BUCKETS; i-- > 24;) {
		if (leaf->latency[i] > rest)
			return bucket_end_ns(i);
		rest -= leaf->latency[i];
	}
	return 0;
}

static void pool_account_inflight(struct sim_pool *pool)
{
	const u64 now_ns = pool->clock->now_ns;

	const double past_ns = now_ns - pool->inflight_since_ns;

	pool->inflight_area += pool->core.inflight_ios * past_ns;
	pool->inflight_bytes_area += pool->core.inflight_bytes * past_ns;
	pool->inflight_since_ns = now_ns;
}

/* An I/O is split in the shared state. */
static void pool_settle_split(const struct sim_pool *pool, struct sim_io *io)
{
	const u32 split_bytes = pool->slice_ns ? IOBAND_SPLIT_MAX : pool->depth.limit.split_bytes;

	if (io->split_bytes || io->bytes <= split_bytes || pool->control == SIM_NONE ||
	    (pool->control == SIM_AUTO && pool->open))
		return;
	io->split_bytes = split_bytes;
	io->admitted_bytes = 0;
	io->unfinished_bytes = io->bytes;
}

/* The next split of an I/O. */
static struct sim_io *split_new(struct sim_pool *pool, struct sim_io *io)
{
	struct sim_io *split = malloc(sizeof(*split));

	if (!split)
		abort();
	*split = *io;
	split->next_split = pool->splits;
	split->prev_split = &pool->splits;
	if (pool->splits)
		pool->splits->prev_split = &split->next_split;
	pool->splits = split;
	split->whole = io;
	split->pos += io->admitted_bytes;
	split->bytes = ioband_depth_split_bytes(io->split_bytes, split->pos,
						io->bytes - io->admitted_bytes);
	io->admitted_bytes += split->bytes;
	return split;
}

static struct ioband_bill pool_bill(const struct sim_pool *pool, const struct sim_io *io)
{
	struct ioband_bill bill = ioband_cost(pool->measure, io->bytes, true);
	const u64 before = io->whole ? io->pos - io->whole->pos : 0;

	bill.dir = io->write ? IOBAND_DIR_WRITE : IOBAND_DIR_READ;
	bill.ios = !before;
	bill.awaited = !io->write || io->awaited;
	bill.cached = io->write && pool->device.spec.cache;
	bill.for_min = io->for_min;
	if (io->whole) {
		const u64 after = before + io->bytes, bytes = io->whole->bytes;

		bill.more = after < bytes;
		if (pool->measure == IOBAND_MEASURE_IOS)	/* one I/O for all splits */
			bill.charge = after * IOBAND_IO_CHARGE / bytes -
				      before * IOBAND_IO_CHARGE / bytes;
	}
	return bill;
}

/* Account for a dispatch; one bio at a time may be beyond the limit (sched/below.c). */
static void pool_check_limit(struct sim_pool *pool, const struct sim_leaf *leaf)
{
	const u32 ios = ioband_tree_counted_ios(&pool->core), limit_ios = state_limit(pool);

	if (leaf->leaf.probes)
		pool->over_ios = max(pool->over_ios, 1U);
	else if (ios > limit_ios)
		pool->over_ios = max(pool->over_ios, ios - limit_ios);
}

static struct sim_member *leaf_member(struct sim_pool *pool, const struct sim_leaf *leaf)
{
	return leaf->member ?: &pool->own;
}

static void pool_park(struct sim_pool *pool, struct sim_leaf *leaf)
{
	leaf->next_parked = pool->parked;
	pool->parked = leaf;
	ioband_core_withdraw(&pool->core, &leaf->leaf, 0);
}

void pool_look(struct sim_pool *pool, u32 limit_ios, u64 slice_ns)
{
	const u64 now_ns = pool->clock->now_ns;
	struct sim_leaf *leaf;

	if (!ioband_stall_look(&pool->stall, limit_ios, slice_ns, false, now_ns))
		return;
	while ((leaf = pool->parked)) {
		pool->parked = leaf->next_parked;
		ioband_core_wait(&pool->core, &leaf->leaf, leaf->head->write, now_ns);
	}
}

/* The limit is the core's, which a test has set. */
static void pool_apply_fixed(struct sim_pool *pool)
{
	if (!pool->limit_changed)
		pool->limit_ios = pool->core.limit_ios;
	pool_look(pool, pool->limit_ios, pool->core.slice_ns);
	if (!ioband_stall_is_silent(&pool->stall) && !pool->limit_changed)
		return;
	ioband_stall_apply(&pool->stall, &pool->core, pool->limit_ios);
	pool->limit_changed = ioband_stall_is_silent(&pool->stall);
}

static void pool_apply(struct sim_pool *pool)
{
	if (pool->control == SIM_AUTO)
		state_apply(pool);
	else
		pool_apply_fixed(pool);
}

static void pool_send(struct sim_pool *pool, struct sim_leaf *leaf)
{
	struct sim_member *member = leaf_member(pool, leaf);
	struct sim_io *whole = leaf->head, *io = whole;
	const u64 held_ns = pool->clock->now_ns - whole->born_ns;
	struct ioband_bill bill;

	if (member->stall_dev.blocked) {
		pool_park(pool, leaf);
		return;
	}
	pool_settle_split(pool, whole);
	if (whole->split_bytes)
		io = split_new(pool, whole);
	bill = pool_bill(pool, io);
	if (!whole->split_bytes || whole->admitted_bytes == whole->bytes)
		leaf->head = whole->next;
	leaf->max_held_ns = max(leaf->max_held_ns, held_ns);
	leaf->max_passed = max(leaf->max_passed, pool->sent - whole->born_at);
	pool->sent += pool->measure == IOBAND_MEASURE_IOS ? 1 : io->bytes;
	leaf->charged += bill.charge;
	ioband_stall_admit(&member->stall_dev, pool->clock->now_ns);
	pool_account_inflight(pool);
	io->for_min = ioband_core_admit(&pool->core, &leaf->leaf, &bill,
					leaf->head ? 1 << leaf->head->write : 0,
					pool->clock->now_ns);
	if (pool->control == SIM_AUTO && !pool->open && !pool->slice_ns)
		pool_check_limit(pool, leaf);
	pool->tick.peak_ios = max(pool->tick.peak_ios, ioband_tree_counted_ios(&pool->core));
	pool->peak_ios = max(pool->peak_ios, pool->core.inflight_ios);
	delay_submit(leaf->delay, member->device, io);
}

/* The time for which a device is idle, without even a flush, while a bio is queued. */
static void pool_account_idle(struct sim_pool *pool)
{
	const u64 now_ns = pool->clock->now_ns;

	if (pool->idle_since_ns) {
		if (pool->wake_ns != IOBAND_NO_WAKEUP)
			pool->idle_thinking_ns += now_ns - pool->idle_since_ns;
		else
			pool->idle_ns += now_ns - pool->idle_since_ns;
	}
	pool->idle_since_ns = !pool->core.inflight_ios && !pool->open_inflight &&
			      pool->core.flush != IOBAND_FLUSH_RUNNING &&
			      ioband_core_has_waiting(&pool->core) ? now_ns : 0;
}

static void pool_wake(void *arg);

static void pool_flushed(void *owner)
{
	struct sim_pool *pool = owner;

	pool->flushes++;
	ioband_slice_end_flush(&pool->core, pool->clock->now_ns);
	pool_pump(pool);
}

void pool_pump(struct sim_pool *pool)
{
	struct ioband_leaf *leaf;
	u64 wake_ns;

	while ((leaf = ioband_core_pick(&pool->core, pool->clock->now_ns, &wake_ns)))
		pool_send(pool, container_of(leaf, struct sim_leaf, leaf));
	if (ioband_slice_start_flush(&pool->core, pool->clock->now_ns)) {
		pool_account_idle(pool);
		device_flush(&pool->device, pool_flushed);
		return;
	}
	if (wake_ns != IOBAND_NO_WAKEUP && wake_ns != pool->wake_ns)
		clock_at(pool->clock, wake_ns, pool_wake, pool);
	pool_account_idle(pool);
	pool->wake_ns = wake_ns;
}

static void pool_wake(void *arg)
{
	struct sim_pool *pool = arg;

	if (pool->clock->now_ns >= pool->wake_ns)
		pool_pump(pool);
}

/* Whether a leaf, or a node above it, has a maximum. */
static bool leaf_is_capped(const struct sim_leaf *leaf)
{
	const struct ioband_ent *ent = &leaf->leaf.ent;

	while (ent->parent && !ent->max)
		ent = &ent->parent->ent;
	return ent->max;
}

/* Add to a leaf's I/Os between arrival and completion. */
static void leaf_count(struct sim_pool *pool, struct sim_leaf *leaf, int more)
{
	const u64 now_ns = pool->clock->now_ns;

	leaf->outstanding_area += (double)leaf->outstanding * (now_ns - leaf->outstanding_since_ns);
	leaf->outstanding_since_ns = now_ns;
	leaf->outstanding += more;
	(leaf->group ?: &leaf->own)->outstanding += more;
}

void pool_submit(struct sim_pool *pool, struct sim_io *io)
{
	struct sim_leaf *leaf = io->leaf;
	const bool first = !leaf->head;

	io->born_ns = pool->clock->now_ns;
	io->born_at = pool->sent;
	io->next = NULL;
	io->whole = NULL;
	io->split_bytes = 0;
	leaf_count(pool, leaf, 1);
	if (pool->control == SIM_AUTO)
		state_touch(pool, leaf->group ?: &leaf->own);
	io->open = pool->control == SIM_NONE || (pool->open && !leaf_is_capped(leaf));
	if (io->open) {
		pool->open_inflight++;
		delay_submit(leaf->delay, &pool->device, io);
		return;
	}
	if (leaf->head)
		leaf->tail->next = io;
	else
		leaf->head = io;
	leaf->tail = io;
	if (first)
		ioband_core_wait(&pool->core, &leaf->leaf, io->write, pool->clock->now_ns);
	pool_pump(pool);
}

/* The estimator's sample, taken before further dispatches. */
static void pool_sample(struct sim_pool *pool, const struct sim_io *io)
{
	const u32 whole_bytes = io->whole ? io->whole->bytes : io->bytes;
	const u64 gap_ns = pool->clock->now_ns - pool->done_ns;
	const u64 busy_ns = ioband_core_busy_ns(&pool->core, pool->done_ns, pool->clock->now_ns);
	const u64 held_ns = ioband_core_held_ns(&pool->core, pool->clock->now_ns);

	pool->done_ns = pool->clock->now_ns;
	pool->tick.max_bytes = max(pool->tick.max_bytes, whole_bytes);
	ioband_depth_count(&pool->tick, io->bytes, whole_bytes, gap_ns, busy_ns, held_ns);
}

static void split_free(struct sim_io *split)
{
	*split->prev_split = split->next_split;
	if (split->next_split)
		split->next_split->prev_split = split->prev_split;
	free(split);
}

/* A split has completed; return: its I/O if that has completed, too. */
static struct sim_io *split_done(struct sim_io *split)
{
	struct sim_io *whole = split->whole;

	whole->unfinished_bytes -= split->bytes;
	whole->head_ns = split->head_ns;
	split_free(split);
	return whole->unfinished_bytes ? NULL : whole;
}

static void pool_done(void *owner, struct sim_io *io)
{
	struct sim_pool *pool = owner;
	const struct ioband_bill bill = pool_bill(pool, io);
	const u64 now_ns = pool->clock->now_ns;
	struct sim_leaf *leaf = io->leaf;

	leaf->bytes += io->bytes;
	leaf->head_ns += io->head_ns;
	leaf->parts += (double)io->bytes / (io->whole ? io->whole->bytes : io->bytes);
	pool->bytes += io->bytes;
	if (pool->delay && !leaf->delay)
		delay_note_other(pool->delay);
	if (io->open) {
		pool->open_inflight--;
	} else {
		pool_account_inflight(pool);
		ioband_core_complete(&pool->core, &leaf->leaf, &bill, now_ns);
		if (ioband_stall_complete(&leaf_member(pool, leaf)->stall_dev, &pool->stall,
					  now_ns))
			pool_apply(pool);
		pool_sample(pool, io);
		pool_pump(pool);
	}
	if (io->whole)
		io = split_done(io);
	if (!io)
		return;
	if ((!io->write || io->awaited) && pool->control != SIM_NONE)
		ioband_latency_sample(&leaf->leaf, bill.dir, now_ns - io->born_ns);
	leaf_count(pool, leaf, -1);
	leaf->first_ns = leaf->first_ns ?: now_ns;
	leaf->ios++;
	leaf->latency[latency_bucket(now_ns - io->born_ns)]++;
	leaf->took_ns += now_ns - io->born_ns;
	pool->ios++;
	job_completed(io);
}

static void pool_tick(void *arg)
{
	struct sim_pool *pool = arg;

	if (pool->control == SIM_AUTO) {
		state_tick(pool);
	} else {
		ioband_latency_look(&pool->core, pool->clock->now_ns);
		pool_apply(pool);
		ioband_below_look(&pool->core, pool->clock->now_ns);
		if (pool->limit_changed || pool->parked || pool->core.below.apart)
			pool_pump(pool);
		/* Even without a change, as the kernel does. */
		ioband_core_set_slice(&pool->core, pool->core.slice_ns, pool->core.charge_time,
				      pool->clock->now_ns);
	}
	clock_at(pool->clock, pool->clock->now_ns + SIM_TICK_NS, pool_tick, pool);
}

void pool_init(struct sim_pool *pool, struct sim_clock *clock, const struct sim_spec *spec,
	       enum sim_control control, enum ioband_measure measure)
{
	*pool = (struct sim_pool) {
		.clock = clock,
		.control = control,
		.measure = measure,
		.open = control == SIM_AUTO,
		.wake_ns = IOBAND_NO_WAKEUP,
	};
	device_init(&pool->device, clock, spec, pool_done, pool);
	ioband_stall_init(&pool->stall);
	pool_add_member(pool, &pool->own, &pool->device);
	ioband_core_init(&pool->core);
	ioband_depth_init(&pool->depth);
	if (control == SIM_AUTO)
		state_apply(pool);
	clock_at(clock, clock->now_ns + SIM_TICK_NS, pool_tick, pool);
}

void pool_add_member(struct sim_pool *pool, struct sim_member *member, struct sim_device *device)
{
	ioband_stall_add(&member->stall_dev, &pool->stall);
	member->device = device;
	pool_adopt(pool, device);
}

void pool_adopt(struct sim_pool *pool, struct sim_device *device)
{
	device->done = pool_done;
	device->owner = pool;
}

void pool_free(struct sim_pool *pool)
{
	device_free(&pool->device);
	while (pool->splits)
		split_free(pool->splits);
}
