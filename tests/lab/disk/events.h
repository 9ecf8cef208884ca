/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Future events of a model in order of time, and of entry at equal times: a binary heap
 * in an array of the model.
 */
#ifndef LAB_DISK_EVENTS_H
#define LAB_DISK_EVENTS_H

#include "model.h"

struct lab_event {
	u64 at_ns;
	u64 number;
	struct lab_request *rq;
	u32 kind;
	u32 index;
};

struct lab_events {
	struct lab_event *heap;
	u32 count;
	u32 size;
	u64 number;
};

static inline bool lab_event_before(const struct lab_event *a, const struct lab_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static inline u64 lab_events_next_ns(const struct lab_events *events)
{
	return events->count ? events->heap[0].at_ns : LAB_NEVER;
}

/* The caller allocated the array for the largest number of pending events. */
static inline void lab_events_add(struct lab_events *events, u64 at_ns, u32 kind, u32 index,
				  struct lab_request *rq)
{
	const struct lab_event event = {
		.at_ns = at_ns, .number = events->number++, .rq = rq, .kind = kind, .index = index,
	};
	u32 i = events->count++;

	while (i && lab_event_before(&event, &events->heap[(i - 1) / 2])) {
		events->heap[i] = events->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	events->heap[i] = event;
}

/* Take the first event, unless it is after @now_ns. */
static inline bool lab_events_take(struct lab_events *events, u64 now_ns, struct lab_event *first)
{
	struct lab_event *heap = events->heap;
	struct lab_event last;
	u32 i = 0, child;

	if (lab_events_next_ns(events) > now_ns)
		return false;
	*first = heap[0];
	last = heap[--events->count];
	for (child = 1; child < events->count; child = 2 * i + 1) {
		if (child + 1 < events->count && lab_event_before(&heap[child + 1], &heap[child]))
			child++;
		if (!lab_event_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return true;
}

#endif /* LAB_DISK_EVENTS_H */
