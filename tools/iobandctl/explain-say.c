// SPDX-License-Identifier: GPL-2.0-only
/* What the figures of a group say: the judgement, and sentences for people.  Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "explain.h"
#include "format.h"

/* Shares over a second or two come this near to the weights. */
#define SHARE_TOLERANCE 0.95
#define OTHERS_MAX 5

/* What is left of a bound by a group that could have more by its weights. */
#define LIMIT_MOSTLY_PCT 75

/**
 * explain_is_held() - see whether a group mostly had I/O held
 * @it: its figures
 *
 * Return: whether it had.
 */
bool explain_is_held(const struct explanation *it)
{
	return it->looks && it->held_looks * 2 >= it->looks;
}

/*
 * Past a bound the next I/O waits for its turn at a busy device besides, so that
 * a group that has competitors may stay some way below.
 */
static bool is_mostly_used(const struct explanation *it)
{
	return it->limits && it->limit[0].used_pct >= LIMIT_MOSTLY_PCT;
}

/**
 * explain_judge() - say what keeps a group from more
 * @it: its figures
 *
 * Without others that do I/O nothing but a maximum holds a group's I/O, however
 * little of it went in a short while.  Nothing is said of a share of time, as it is
 * not known who had how much.
 *
 * Return: the judgement.
 */
enum verdict explain_judge(const struct explanation *it)
{
	if (!it->done.ios && !it->held_looks && !it->busy_looks)
		return VERDICT_IDLE;
	if (it->limits && (it->limit[0].reached ||
			   (explain_is_held(it) && !it->rivals)))
		return VERDICT_MAXIMUM;
	if (it->held_looks * 2 >= it->looks && it->rivals) {
		if (it->by_time ||
		    it->share_pct >= it->entitled_pct * SHARE_TOLERANCE)
			return VERDICT_WEIGHT;
		return is_mostly_used(it) ? VERDICT_MAXIMUM :
					    VERDICT_SHORT;
	}
	return it->busy_pct >= 50 ? VERDICT_DEVICE : VERDICT_DEMAND;
}

static const char *name_of(const struct ioband_group *group)
{
	return group->path ? group->path : group->name;
}

static void say_share(const struct explanation *it, const char *measure,
		      FILE *text)
{
	char bytes[FORMAT_SIZE];

	fprintf(text, "In %.1f s it got %.1f %% of the %s done in the pool: %s/s, %.0f I/Os/s.\n",
		it->seconds, it->share_pct,
		strcmp(measure, "ios") ? "bytes" : "I/Os",
		format_bytes(it->done.bytes / it->seconds, bytes),
		it->done.ios / it->seconds);
	if (it->by_time)
		fprintf(text,
			"The pool shares the time of its devices, of which nobody counts who had how much.\n");
}

static void say_weights(const struct explanation *it, FILE *text)
{
	if (!it->rivals) {
		fputs("No other group did I/O.\n", text);
		return;
	}
	fprintf(text, "Its weights give it %.1f %%, and more of what others leave:\n",
		it->entitled_pct);
	for (size_t i = 0; i < it->levels; i++) {
		const struct explain_level *level = &it->level[i];

		fprintf(text, "  %s has weight %llu of %llu that compete there: %.1f %%\n",
			name_of(level->group),
			(unsigned long long)level->group->weight,
			(unsigned long long)level->competing,
			100 * level->group->weight / (double)level->competing);
	}
}

static const struct ioband_group *explained(const struct explanation *it)
{
	return it->level[it->levels - 1].group;
}

static void say_limits(const struct explanation *it, FILE *text)
{
	static const char *const may[RATES] = {
		[RBPS] = "read", [WBPS] = "write",
		[RIOPS] = "read", [WIOPS] = "write",
	};
	char done[FORMAT_SIZE];

	if (it->limits)
		fputs("Maxima that hold for it, and what went, with all below them:\n",
		      text);
	for (size_t i = 0; i < it->limits; i++) {
		const struct explain_limit *limit = &it->limit[i];
		bool of_bytes = rate_is_bytes(limit->rate);
		char *bound = maximum_rate(&limit->group->max, limit->rate);

		if (of_bytes)
			format_bytes(limit->per_s, done);
		else
			snprintf(done, sizeof(done), "%.0f", limit->per_s);
		fprintf(text, "  %s may %s %s%s: it was %s%s, %.1f %%\n",
			name_of(limit->group), may[limit->rate], bound,
			of_bytes ? "/s" : " I/Os/s", done,
			of_bytes ? "/s" : " I/Os/s", limit->used_pct);
		free(bound);
	}
}

static void say_maximum(const struct explanation *it, FILE *text)
{
	const struct ioband_group *group = it->limit[0].group;
	const char *rate = rate_names[it->limit[0].rate];

	if (group == explained(it))
		fprintf(text, "Its own maximum holds it (%s)", rate);
	else
		fprintf(text, "The maximum of %s, above it, holds it (%s)",
			name_of(group), rate);
	fprintf(text, ": at %u of %u looks it had I/O held.  ", it->held_looks,
		it->looks);
	if (group == explained(it))
		fputs("A greater weight would get it nothing.\n", text);
	else
		fputs("A greater weight would get it more of that only.\n",
		      text);
}

static void say_verdict(const struct explanation *it, FILE *text)
{
	unsigned int n = it->looks;

	switch (explain_judge(it)) {
	case VERDICT_IDLE:
		fputs("It did no I/O, and none of its waits: it asks for nothing.\n",
		      text);
		break;
	case VERDICT_DEMAND:
		fprintf(text,
			"It asks for no more: at %u of %u looks none of its I/O was held, and for %.0f %% of the time it had none at the device either.  A greater weight would get it nothing.\n",
			n - it->held_looks, n, 100 - it->busy_pct);
		break;
	case VERDICT_DEVICE:
		fprintf(text,
			"It waits for the device: for %.0f %% of the time it had I/O there, %.1f I/Os on average, and at %u of %u looks none held.  It would get more with more I/O at once, or from a faster device, hardly by a greater weight.\n",
			it->busy_pct, it->inflight_avg, n - it->held_looks, n);
		break;
	case VERDICT_MAXIMUM:
		say_maximum(it, text);
		break;
	case VERDICT_WEIGHT:
		fprintf(text,
			"Its weight bounds it: at %u of %u looks it had I/O held while others were served.  A greater weight would get it more.\n",
			it->held_looks, n);
		break;
	case VERDICT_SHORT:
		fprintf(text,
			"That is less than its weights give, though it had I/O held at %u of %u looks.  Either it did not ask for more all the time, or it pays for I/O that went ahead of its turn (metadata, journal, swap): see whether it is so over a longer --interval.\n",
			it->held_looks, n);
		break;
	}
}

static void say_times(const struct explanation *it, FILE *text)
{
	char wait[FORMAT_SIZE], service[FORMAT_SIZE];

	if (!it->done.ios)
		return;
	format_time(it->done.service_ns / it->done.ios, service);
	if (it->done.held_ios)
		fprintf(text,
			"%.0f %% of its I/Os were held, for %s on average; at the device they took %s.\n",
			100.0 * it->done.held_ios / it->done.ios,
			format_time(it->done.wait_ns / it->done.held_ios, wait),
			service);
	else
		fprintf(text, "None of its I/Os was held; at the device they took %s on average.\n",
			service);
}

static void say_others(const struct explanation *it, FILE *text)
{
	double rest_pct = 0;
	size_t i;

	for (i = 0; i < it->others && i < OTHERS_MAX; i++)
		fprintf(text, "%s %s %.1f %%", i ? "," : "The others:",
			name_of(it->other[i].group), it->other[i].share_pct);
	for (; i < it->others; i++)
		rest_pct += it->other[i].share_pct;
	if (it->others > OTHERS_MAX)
		fprintf(text, ", %zu more %.1f %%", it->others - OTHERS_MAX,
			rest_pct);
	if (it->others)
		fputs(".\n", text);
}

/**
 * explain_say() - put an explanation into words
 * @it: the figures
 * @measure: what the pool shares
 *
 * Return: lines, to be freed.
 */
char *explain_say(const struct explanation *it, const char *measure)
{
	size_t size;
	char *said = NULL;
	FILE *text = open_memstream(&said, &size);

	if (!text)
		exit(fail(EXIT_FAILED, "out of memory"));
	if (it->done.ios)
		say_share(it, measure, text);
	say_weights(it, text);
	say_limits(it, text);
	say_verdict(it, text);
	say_times(it, text);
	say_others(it, text);
	fclose(text);
	return said;
}
