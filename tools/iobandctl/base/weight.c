// SPDX-License-Identifier: GPL-2.0-only
/*
 * The weight of a group, or the class idle, which is below all weights.  Pure.
 *
 *	form			weight	idle	no weight of its own
 *	command line		300	idle	default
 *	messages and tables	300	idle	default
 *	lists, JSON, metrics	300	0	the key is absent, or 100
 */
#include <string.h>

#include "base/alloc.h"
#include "base/weight.h"
#include "base/words.h"

/*
 * Read a weight in the notation of the command line.
 * @text: 1..10000, "idle" or "default"
 * @weight: the number, IOBAND_WEIGHT_IDLE, or 0 for "default"
 */
int weight_read(const char *text, uint64_t *weight, struct problem *problem)
{
	char shown[48];

	*weight = weight_of(text);
	if (*weight || !strcmp(text, "default"))
		return 0;
	return problem_set(problem,
			   "a weight is a number from 1 to 10000, 'idle' or 'default': '%s'",
			   span_show(span_of(text), shown));
}

/*
 * The weight in a text.
 * @text: as for weight_read(); NULL is the default
 * Return: the weight; 0 for the default, and for another text.
 */
uint64_t weight_of(const char *text)
{
	uint64_t weight;

	if (text && !strcmp(text, "idle"))
		return IOBAND_WEIGHT_IDLE;
	return text && span_u64(span_of(text), IOBAND_WEIGHT_MAX, &weight) ? weight : 0;
}

/* Write a weight in the notation of the command line.  Return: the text, to be freed. */
char *weight_text(uint64_t weight)
{
	if (weight == IOBAND_WEIGHT_IDLE)
		return xstrdup("idle");
	return weight ? xasprintf("%llu", (unsigned long long)weight) : xstrdup("default");
}

/*
 * The number of a weight in lists.  Return: the weight, as that of the group beside others;
 * 0 for idle.
 */
uint64_t weight_number(uint64_t weight)
{
	return weight == IOBAND_WEIGHT_IDLE ? 0 : weight;
}

/*
 * The weight of a number in lists.
 * @number: as from weight_number()
 */
uint64_t weight_of_number(uint64_t number)
{
	return number ? number : IOBAND_WEIGHT_IDLE;
}
