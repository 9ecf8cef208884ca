/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What groups are entitled to.  Knows no scheduler and no heuristic: only weights,
 * all service, and of the demand of each.
 *
 * Due
 * ---
 * An amount T is shared among the leaves of a tree by weighted max-min.  Each leaf
 * has a least amount (its minimum) and a most amount (its service alone on the device,
 * and its maximum); a node has the sums of its children's.  In each node, from the
 * root down, the child c of weight w_c is due
 *
 *	due_c = clamp(x * w_c, low_c, high_c)
 *
 * with the one x for which these add up to what the node is due, T for the root.
 * If the highs add up to less, each is due its high; if the lows add up to more,
 * each is due its part of the low.
 *
 *	T = 90 MB/s; a (100) could do 10, b (100) and c (400) any amount:
 *	x * 100 is clamped for a, so b and c share 80 MB/s at 100:400.
 *	due: a 10, b 16, c 64 MB/s (x = 0.16).
 *	With a minimum of 30 MB/s for b: a 10, b 30, c 50 (x = 0.125).
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <linux/types.h>

struct oracle_ent {
	int up;		/* a parent comes before its children; -1: none */
	bool leaf;
	double weight;
	double low;	/* of leaves; of nodes these are summed */
	double high;
	double due;	/* the result */
};

void oracle_share(struct oracle_ent *ents, int nr, double total);

#endif /* SIM_ORACLE_H */
