/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A load: a device, a tree of groups, and what each leaf does; as a line of text.
 *
 *	nvme; 100 64K*64; 8x 100 4K*1 think=800us; 200(400 4K*1; 1 1M*8 writes=100)
 *
 * The device comes first, then the groups, each with its weight: a leaf has the size of
 * its I/Os and how many it keeps outstanding, a node has its children in brackets.  8x is for
 * eight leaves that are alike.
 *
 *	of the device	ios, time	the unit that is shared, instead of bytes
 *			slice=124ms	slices, and no limit
 *			stall=600ms	the device completes nothing for so long
 *			seed=7		of all that is random; else 1
 *	of a node	levels		its children are I/O priorities of one group
 *	of a leaf	4K+1M@10	every tenth I/O, at random, has 1 MiB
 *			writes=30	so many of 100 are writes
 *			seq		one after the other; else at random
 *			think=800us	from a completion to the next I/O
 *			think=~800us	anything from 0 to twice that
 *			on=50ms/100ms	rests for 100 ms after each 50 ms
 *			min=4M max=8M	minimum and maximum, bytes a second, each way
 *			target=2ms	latency target
 *			late		the newcomer, see judge.h
 */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include "job.h"

#define LOAD_ENTS	48
#define LOAD_ROOT	-1
#define LOAD_TEXT	4096

/* A node or a leaf; a parent comes before its children. */
struct load_ent {
	int up;			/* index, or LOAD_ROOT */
	u32 weight;
	bool leaf;
	bool levels;
	bool late;
	u64 min_bps;
	u64 max_bps;
	u64 target_ns;
	struct sim_workload work;
};

struct load {
	const struct sim_spec *spec;
	enum ioband_measure measure;
	u64 slice_ns;
	u64 stall_ns;
	u64 seed;
	int nr;
	struct load_ent ents[LOAD_ENTS];
};

/* Return: NULL, or the mistake and its place. */
const char *load_parse(struct load *load, const char *text);
void load_print(const struct load *load, char text[LOAD_TEXT]);
int load_leaves(const struct load *load);
/* Take out an entity and all below it, and nodes that have no child left. */
void load_remove(struct load *load, int index);

#endif /* SIM_LOAD_H */
