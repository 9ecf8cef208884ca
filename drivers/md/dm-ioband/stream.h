/* SPDX-License-Identifier: GPL-2.0-only */
/* dm-ioband: queues of a group: I/O priorities, sequential runs. */
#ifndef DM_IOBAND_STREAM_H
#define DM_IOBAND_STREAM_H

#include "io.h"

u8 ioband_stream_level(const struct bio *bio);
void ioband_stream_init(struct ioband_stream *stream, struct ioband_group *group,
			struct ioband_node *node, u8 level);
struct ioband_stream *ioband_stream_sort(struct ioband_group *group, const struct ioband_io *io,
					 const struct bio *bio);
void ioband_stream_end(struct ioband_group *group);
void ioband_stream_exit(void);

/* A group's own queue, then its other streams, then NULL. */
static inline struct ioband_stream *ioband_stream_next(struct ioband_stream *stream)
{
	stream = list_next_entry(stream, streams);
	return stream == &stream->group->own ? NULL : stream;
}

/* May a bio belong to a run?  Only where one stream has the device at a time. */
static inline bool ioband_stream_may_run(const struct ioband_group *group, const struct bio *bio)
{
	return group->pool->core.slice_ns && bio_op(bio) == REQ_OP_READ;
}

/* The stream of a bio.  Under the pool's lock. */
static inline struct ioband_stream *ioband_stream_of(struct ioband_group *group,
						     const struct ioband_io *io,
						     const struct bio *bio)
{
	if (likely(io->level == IOBAND_LEVEL_USUAL && !group->streams &&
		   !ioband_stream_may_run(group, bio)))
		return &group->own;
	return ioband_stream_sort(group, io, bio);
}

#endif /* DM_IOBAND_STREAM_H */
