// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a load simpler while it stays as bad.
 *
 * A change is tried on a copy.  Each goes one way only, to a simpler load, so that
 * there is an end: when none is left that keeps the load as bad.
 */
#include "minimise.h"

#include <linux/kernel.h>

#include <string.h>

#define KIB	1024U

/* ---- changes; each tells whether it has changed anything ------------------- */

static bool drop(struct load *load, int i)
{
	if (load_leaves(load) <= 1)
		return false;
	load_remove(load, i);
	return load->nr > 0;
}

/* The children of a node take its place; a single one its weight, too. */
static bool flatten(struct load *load, int i)
{
	struct load_ent *node = &load->ents[i], *only = NULL;
	int j, nr = 0;

	if (node->leaf)
		return false;
	for (j = i + 1; j < load->nr; j++) {
		if (load->ents[j].up != i)
			continue;
		only = &load->ents[j];
		only->up = node->up;
		nr++;
	}
	if (nr == 1)
		only->weight = node->weight;
	load_remove(load, i);
	return true;
}

static bool only_large(struct load *load, int i)
{
	struct sim_workload *work = &load->ents[i].work;

	if (!work->large_pct)
		return false;
	work->bytes = work->large_bytes;
	work->large_pct = 0;
	return true;
}

static bool only_writes(struct load *load, int i)
{
	struct sim_workload *work = &load->ents[i].work;

	if (work->write_pct % 100 == 0)
		return false;
	work->write_pct = 100;
	return true;
}

static bool no_stall(struct load *load, int i)
{
	const bool was = !i && load->stall_ns;

	if (was)
		load->stall_ns = 0;
	return was;
}

static bool no_slices(struct load *load, int i)
{
	const bool was = !i && load->slice_ns;

	if (was) {
		load->slice_ns = 0;
		load->measure = IOBAND_MEASURE_BYTES;
	}
	return was;
}

static bool only_bytes(struct load *load, int i)
{
	const bool was = !i && load->measure != IOBAND_MEASURE_BYTES;

	if (was)
		load->measure = IOBAND_MEASURE_BYTES;
	return was;
}

static bool first_seed(struct load *load, int i)
{
	const bool was = !i && load->seed != 1;

	if (was)
		load->seed = 1;
	return was;
}

static bool usual_weight(struct load *load, int i)
{
	const bool was = load->ents[i].weight != 100;

	load->ents[i].weight = 100;
	return was;
}

/* The largest power of ten that is not above. */
static u64 power_below(u64 value)
{
	u64 power = 1;

	while (power <= value / 10)
		power *= 10;
	return power;
}

/* A power of ten, or one digit if it is none: 740 becomes 1000 or 700. */
static bool round_to(u64 *value, bool to_power)
{
	const u64 power = power_below(*value), digit = (*value + power / 2) / power;
	const u64 simpler = to_power ? (digit < 4 ? power : 10 * power) : digit * power;
	const bool was = *value && *value != simpler && *value != power;

	if (was)
		*value = simpler;
	return was;
}

static bool round_weight(struct load *load, int i)
{
	u64 weight = load->ents[i].weight;
	const bool was = round_to(&weight, true);

	load->ents[i].weight = weight;
	return was;
}

static bool round_think(struct load *load, int i)
{
	return round_to(&load->ents[i].work.think_ns, true);
}

static bool digit_think(struct load *load, int i)
{
	return round_to(&load->ents[i].work.think_ns, false);
}

static bool one_deep(struct load *load, int i)
{
	const bool was = load->ents[i].work.depth > 1;

	load->ents[i].work.depth = 1;
	return load->ents[i].leaf && was;
}

static bool less_deep(struct load *load, int i)
{
	u32 depth = 1, *was = &load->ents[i].work.depth;

	while (2 * depth < *was)
		depth *= 2;
	if (*was <= 2)
		return false;
	*was = depth;
	return true;
}

/* 4 KiB are the simplest, then 64. */
static bool small(struct load *load, int i)
{
	const bool was = load->ents[i].leaf && load->ents[i].work.bytes != 4 * KIB;

	if (was)
		load->ents[i].work.bytes = 4 * KIB;
	return was;
}

static bool usual_size(struct load *load, int i)
{
	const u32 bytes = load->ents[i].work.bytes;
	const bool was = load->ents[i].leaf && bytes != 4 * KIB && bytes != 64 * KIB;

	if (was)
		load->ents[i].work.bytes = 64 * KIB;
	return was;
}

/* As the leaf before, so that they are written as one. */
static bool alike(struct load *load, int i)
{
	struct load_ent *ent = &load->ents[i], *before = ent - 1;

	if (!i || !ent->leaf || !before->leaf || ent->up != before->up || before->late ||
	    !memcmp(ent, before, sizeof(*ent)))
		return false;
	*ent = *before;
	return true;
}

/* ---- trying ---------------------------------------------------------------- */

struct change {
	bool (*make)(struct load *load, int i);
	size_t at, size;	/* or what of an entity becomes 0 */
};

#define AT(field)	offsetof(struct load_ent, field)

static const struct load_ent none;

/* The changes that simplify most come first. */
static const struct change changes[] = {
	{ .make = drop },
	{ .make = flatten },
	{ .make = no_stall },
	{ .make = no_slices },
	{ .make = only_bytes },
	{ NULL, AT(target_ns), sizeof(none.target_ns) },
	{ NULL, AT(min_bps), sizeof(none.min_bps) },
	{ NULL, AT(max_bps), sizeof(none.max_bps) },
	{ NULL, AT(late), sizeof(none.late) },
	{ NULL, AT(levels), sizeof(none.levels) },
	{ NULL, AT(work.off_ns), sizeof(none.work.off_ns) },
	{ NULL, AT(work.large_pct), sizeof(none.work.large_pct) },
	{ .make = only_large },
	{ NULL, AT(work.think_random), sizeof(none.work.think_random) },
	{ NULL, AT(work.think_ns), sizeof(none.work.think_ns) },
	{ NULL, AT(work.write_pct), sizeof(none.work.write_pct) },
	{ .make = only_writes },
	{ NULL, AT(work.sequential), sizeof(none.work.sequential) },
	{ .make = usual_weight },
	{ .make = one_deep },
	{ .make = small },
	{ .make = usual_size },
	{ .make = less_deep },
	{ .make = alike },
	{ .make = round_weight },
	{ .make = round_think },
	{ .make = digit_think },
	{ .make = first_seed },
};

static bool clear(struct load_ent *ent, const struct change *change)
{
	static const char zeros[sizeof(u64)];
	char *field = (char *)ent + change->at;
	const bool was = memcmp(field, zeros, change->size);

	memset(field, 0, change->size);
	return was;
}

struct effort {
	load_badness badness;
	double bar;
	u32 tries;
};

/* To each entity in turn, from the last on, as one may go. */
static bool try_change(struct effort *effort, struct load *load, const struct change *change)
{
	bool any = false, changed;
	int i;

	for (i = load->nr - 1; i >= 0 && effort->tries; i--) {
		struct load simpler = *load;

		if (i >= load->nr)
			continue;
		changed = change->make ? change->make(&simpler, i) :
					 clear(&simpler.ents[i], change);
		if (!changed)
			continue;
		effort->tries--;
		if (effort->badness(&simpler) < effort->bar)
			continue;
		*load = simpler;
		any = true;
	}
	return any;
}

void minimise(struct load *load, load_badness badness, u32 tries)
{
	struct effort effort = { badness, badness(load), tries };
	bool any = true;
	u32 i;

	while (any && effort.tries) {
		any = false;
		for (i = 0; i < ARRAY_SIZE(changes); i++)
			any |= try_change(&effort, load, &changes[i]);
	}
}
