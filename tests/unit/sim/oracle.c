// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weighted max-min shares in a tree.
 */
#include "oracle.h"

/* Halvings of x: more than a double has bits. */
#define STEPS	200

static double clamped(const struct oracle_ent *ent, double x)
{
	const double share = x * ent->weight;

	if (share > ent->high)
		return ent->high;
	return share < ent->low ? ent->low : share;
}

static double sum_at(const struct oracle_ent *ents, int nr, int up, double x)
{
	double sum = 0;
	int i;

	for (i = 0; i < nr; i++)
		if (ents[i].up == up)
			sum += clamped(&ents[i], x);
	return sum;
}

/* The x at which the children of a node come to the total, or all are at their high. */
static double find_x(const struct oracle_ent *ents, int nr, int up, double total)
{
	double low = 0, high = 1;
	int i;

	for (i = 0; i < STEPS && sum_at(ents, nr, up, high) < total; i++)
		high *= 2;
	for (i = 0; i < STEPS; i++) {
		const double middle = (low + high) / 2;

		if (sum_at(ents, nr, up, middle) < total)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static void share_node(struct oracle_ent *ents, int nr, int up, double total)
{
	const double x = find_x(ents, nr, up, total);
	const double least = sum_at(ents, nr, up, 0);
	int i;

	for (i = 0; i < nr; i++) {
		if (ents[i].up != up)
			continue;
		ents[i].due = least > total ? ents[i].low * total / least : clamped(&ents[i], x);
		if (!ents[i].leaf)
			share_node(ents, nr, i, ents[i].due);
	}
}

void oracle_share(struct oracle_ent *ents, int nr, double total)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (!ents[i].leaf)
			ents[i].high = 0;
		if (!ents[i].leaf || ents[i].low > ents[i].high)
			ents[i].low = ents[i].high;
	}
	for (i = nr - 1; i >= 0; i--) {
		if (ents[i].up < 0)
			continue;
		ents[ents[i].up].low += ents[i].low;
		ents[ents[i].up].high += ents[i].high;
	}
	share_node(ents, nr, -1, total);
}
