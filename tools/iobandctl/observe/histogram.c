// SPDX-License-Identifier: GPL-2.0-only
/*
 * Latency histograms with slots of powers of two.  Pure.
 *
 * In units of 1024 ns, as in the kernel: slot 0 counts latencies below 1, slot
 * i those from 2^(i-1) to below 2^i, the last slot those from 2^24 (17 s) on.
 */
#include "observe/histogram.h"

#define UNIT_NS 1024ULL

static uint64_t slot_start_ns(int slot)
{
	return slot ? UNIT_NS << (slot - 1) : 0;
}

/*
 * End of a slot.  Return: the exclusive bound of the slot in ns; for the last slot, which
 * has no end, its start.
 */
uint64_t histogram_end(int slot)
{
	return slot_start_ns(slot + (slot < HISTOGRAM_SLOTS - 1));
}

/*
 * A percentile of the latencies.
 * @percent: above 0, at most 100
 * @ns: the percentile, with I/Os evenly spread within their slot; in the last slot at least
 *	17 s
 * Return: false if the histogram is empty.
 */
bool histogram_percentile(const uint64_t slots[HISTOGRAM_SLOTS], double percent, uint64_t *ns)
{
	double total = 0, rank, below = 0;
	int slot, last = -1;

	for (slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
		total += slots[slot];
		if (slots[slot])
			last = slot;
	}
	if (last < 0)
		return false;
	rank = total * percent / 100;
	for (slot = 0; slot < last && below + slots[slot] < rank; slot++)
		below += slots[slot];
	*ns = slot_start_ns(slot);
	if (rank > below && slots[slot])
		*ns += (histogram_end(slot) - slot_start_ns(slot)) *
		       ((rank - below) / slots[slot]);
	return true;
}

/*
 * An upper bound of the latencies.
 * @ns: the end of the last slot in use; for the slot without an end, its start
 * Return: false if the histogram is empty.
 */
bool histogram_max(const uint64_t slots[HISTOGRAM_SLOTS], uint64_t *ns)
{
	for (int slot = HISTOGRAM_SLOTS - 1; slot >= 0; slot--) {
		if (slots[slot]) {
			*ns = histogram_end(slot);
			return true;
		}
	}
	return false;
}

/* Add one histogram to another. */
void histogram_add(uint64_t sum[HISTOGRAM_SLOTS], const uint64_t slots[HISTOGRAM_SLOTS])
{
	for (int slot = 0; slot < HISTOGRAM_SLOTS; slot++)
		sum[slot] += slots[slot];
}

/*
 * Difference of two readings.
 * @now: the later reading; becomes the difference
 * @before: the earlier reading
 *
 * The kernel drops the histograms of an idle group and starts them anew.  If any slot has
 * decreased, @now already is the count since then.
 */
void histogram_since(uint64_t now[HISTOGRAM_SLOTS], const uint64_t before[HISTOGRAM_SLOTS])
{
	int slot;

	for (slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
		if (now[slot] < before[slot])
			return;
	}
	for (slot = 0; slot < HISTOGRAM_SLOTS; slot++)
		now[slot] -= before[slot];
}
