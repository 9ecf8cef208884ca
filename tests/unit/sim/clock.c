// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual time: a binary heap of events.
 */
#include "clock.h"

#include <stdlib.h>
#include <string.h>

void clock_init(struct sim_clock *clock)
{
	*clock = (struct sim_clock) { .now_ns = 1 };	/* 0 means "never" in places */
}

void clock_free(struct sim_clock *clock)
{
	free(clock->heap);
}

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->seq < b->seq);
}

void clock_at(struct sim_clock *clock, u64 at_ns, void (*fn)(void *arg), void *arg)
{
	const struct sim_event new = {
		.at_ns = at_ns > clock->now_ns ? at_ns : clock->now_ns,
		.seq = clock->seq++,
		.fn = fn,
		.arg = arg,
	};
	size_t i;

	if (clock->n == clock->room) {
		clock->room = clock->room ? 2 * clock->room : 64;
		clock->heap = realloc(clock->heap, clock->room * sizeof(new));
		if (!clock->heap)
			abort();
	}
	for (i = clock->n++; i && earlier(&new, &clock->heap[(i - 1) / 2]); i = (i - 1) / 2)
		clock->heap[i] = clock->heap[(i - 1) / 2];
	clock->heap[i] = new;
}

static struct sim_event clock_pop(struct sim_clock *clock)
{
	struct sim_event *heap = clock->heap;
	const struct sim_event first = heap[0];
	const struct sim_event last = heap[--clock->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < clock->n) {
		if (child + 1 < clock->n && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

void clock_run(struct sim_clock *clock, u64 until_ns)
{
	while (clock->n && clock->heap[0].at_ns <= until_ns) {
		const struct sim_event event = clock_pop(clock);

		clock->now_ns = event.at_ns;
		event.fn(event.arg);
	}
	clock->now_ns = until_ns;
}
