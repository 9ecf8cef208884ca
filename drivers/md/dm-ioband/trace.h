/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-ioband: tracepoints, in /sys/kernel/tracing/events/ioband.
 *
 * A group is identified by its pool and its number there, as in the messages.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ioband

#if !defined(DM_IOBAND_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DM_IOBAND_TRACE_H

#include <linux/tracepoint.h>

#include "io.h"

DECLARE_EVENT_CLASS(ioband_group,
	TP_PROTO(const struct ioband_group *group),
	TP_ARGS(group),
	TP_STRUCT__entry(
		__array(char, pool, IOBAND_POOL_NAME_MAX + 1)
		__field(u32, seq)
		__field(u32, parent)
		__field(u8, kind)
		__field(u32, id)
	),
	TP_fast_assign(
		memcpy(__entry->pool, group->pool->name, sizeof(group->pool->name));
		__entry->seq = group->seq;
		__entry->parent = group->parent ? group->parent->seq : 0;
		__entry->kind = group->kind;
		__entry->id = group->key.id;
	),
	TP_printk("pool=%s group=%u parent=%u kind=%s id=%u", __entry->pool, __entry->seq,
		  __entry->parent,
		  __print_symbolic(__entry->kind,
				   { IOBAND_KIND_CGROUP, "cgroup" }, { IOBAND_KIND_UID, "uid" },
				   { IOBAND_KIND_GID, "gid" }, { IOBAND_KIND_PID, "pid" },
				   { IOBAND_KIND_PGRP, "pgrp" }, { IOBAND_KIND_DEVICE, "device" },
				   { IOBAND_KIND_ROOT, "root" }),
		  __entry->id)
);

DEFINE_EVENT(ioband_group, ioband_group_create,
	TP_PROTO(const struct ioband_group *group), TP_ARGS(group));

DEFINE_EVENT(ioband_group, ioband_group_free,
	TP_PROTO(const struct ioband_group *group), TP_ARGS(group));

DECLARE_EVENT_CLASS(ioband_bio,
	TP_PROTO(const struct ioband_io *io, const struct bio *bio),
	TP_ARGS(io, bio),
	TP_STRUCT__entry(
		__array(char, pool, IOBAND_POOL_NAME_MAX + 1)
		__field(dev_t, dev)
		__field(u32, seq)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u32, charge)
		__field(u64, vtime)
		__field(u32, held)
		__field(u32, inflight)
	),
	TP_fast_assign(
		memcpy(__entry->pool, io->group->pool->name, sizeof(io->group->pool->name));
		__entry->dev = io->target->member->devno;
		__entry->seq = io->group->seq;
		__entry->sector = bio->bi_iter.bi_sector;
		__entry->bytes = !io->split_bytes ? io->bytes :
				 io->bill.no_data ? io->split_bytes : io->bill.bytes;
		__entry->charge = io->bill.charge;
		__entry->vtime = io->group->node.ent.vtime;
		__entry->held = ioband_group_held_ios(io->group);
		__entry->inflight = io->group->pool->core.inflight_ios;
	),
	TP_printk("pool=%s dev=%u:%u group=%u sector=%llu bytes=%u charge=%u vtime=%llu held=%u inflight=%u",
		  __entry->pool, MAJOR(__entry->dev), MINOR(__entry->dev), __entry->seq,
		  __entry->sector, __entry->bytes, __entry->charge, __entry->vtime,
		  __entry->held, __entry->inflight)
);

/* A bio is queued in its group, possibly only for a worker. */
DEFINE_EVENT(ioband_bio, ioband_hold,
	TP_PROTO(const struct ioband_io *io, const struct bio *bio),
	TP_ARGS(io, bio));

/* The core has charged a bio, which is dispatched. */
DEFINE_EVENT(ioband_bio, ioband_charge,
	TP_PROTO(const struct ioband_io *io, const struct bio *bio),
	TP_ARGS(io, bio));

/* A queued bio is dispatched. */
TRACE_EVENT(ioband_release,
	TP_PROTO(const struct ioband_io *io, const struct bio *bio, u64 wait_ns),
	TP_ARGS(io, bio, wait_ns),
	TP_STRUCT__entry(
		__array(char, pool, IOBAND_POOL_NAME_MAX + 1)
		__field(dev_t, dev)
		__field(u32, seq)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u64, wait_ns)
	),
	TP_fast_assign(
		memcpy(__entry->pool, io->group->pool->name, sizeof(io->group->pool->name));
		__entry->dev = io->target->member->devno;
		__entry->seq = io->group->seq;
		__entry->sector = bio->bi_iter.bi_sector;
		__entry->bytes = io->bytes;
		__entry->wait_ns = wait_ns;
	),
	TP_printk("pool=%s dev=%u:%u group=%u sector=%llu bytes=%u wait_ns=%llu", __entry->pool,
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->seq, __entry->sector,
		  __entry->bytes, __entry->wait_ns)
);

#endif /* DM_IOBAND_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
