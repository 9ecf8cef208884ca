// SPDX-License-Identifier: GPL-2.0-only
/*
 * The figures of a group in sentences for people.  Pure.
 *
 * Rates of bytes have explicit units: those of the bound that they are compared
 * with (MB for 50MB), otherwise powers of 1024 (MiB).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "observe/explanation.h"
#include "print/format.h"

#define OTHERS_MAX 5

/* Valid until the next call.  Newlines in a name are escaped, so that it cannot add lines. */
static const char *name_of(const struct ioband_group *group)
{
	static char *name;

	free(name);
	name = text_visible(group->path ? group->path : group->name, false);
	return name;
}

static void say_share(const struct explanation *it, const char *measure, FILE *text)
{
	char bytes[FORMAT_SIZE];

	fprintf(text, "In %.1f s it got %.1f %% of the %s done in the pool: %s/s, %.0f I/Os/s.\n",
		it->seconds, it->share_pct, strcmp(measure, "ios") ? "bytes" : "I/Os",
		format_units(it->done.bytes / it->seconds, false, bytes),
		it->done.ios / it->seconds);
	if (it->by_time)
		fprintf(text,
			"The pool shares the time of its devices, which is not measured by group.\n");
}

static void say_weights(const struct explanation *it, FILE *text)
{
	if (!it->rivals) {
		fputs("No other group did I/O.\n", text);
		return;
	}
	fprintf(text, "Its weights give it %.1f %%, and more while others need less:\n",
		it->entitled_pct);
	for (size_t i = 0; i < it->levels; i++) {
		const struct explain_level *level = &it->level[i];

		if (level->group->weight == IOBAND_WEIGHT_IDLE)
			fprintf(text, "  %s is idle, below all weights: %.1f %%\n",
				name_of(level->group), explain_part_pct(level));
		else
			fprintf(text, "  %s has weight %llu of %llu that compete there: %.1f %%\n",
				name_of(level->group), (unsigned long long)level->group->weight,
				(unsigned long long)level->competing, explain_part_pct(level));
	}
}

static const struct ioband_group *explained(const struct explanation *it)
{
	return it->level[it->levels - 1].group;
}

#define RATE_SIZE 40

static bool is_decimal(const char *rate)
{
	return strchr(rate, 'B') && !strstr(rate, "iB");
}

static const char *format_rate(double per_s, enum rate rate, bool decimal, char buffer[RATE_SIZE])
{
	char bytes[FORMAT_SIZE];

	if (rate_is_bytes(rate))
		snprintf(buffer, RATE_SIZE, "%s/s", format_units(per_s, decimal, bytes));
	else
		snprintf(buffer, RATE_SIZE, "%.0f I/Os/s", per_s);
	return buffer;
}

static void say_bound(const struct explain_bound *it, enum bound bound, FILE *text)
{
	char *rate __free = rate_text(&it->group->bounds.of[bound], bound, it->rate);
	bool reads = it->rate == RBPS || it->rate == RIOPS;
	const char *unit = rate_is_bytes(it->rate) ? "/s" : " I/Os/s";
	char done[RATE_SIZE];

	fprintf(text, "  %s %s %s %s%s%s: it was %s, %.1f %%\n",
		name_of(it->group), bound == MAXIMUM ? "may" : "is to",
		reads ? "read" : "write", bound == MAXIMUM ? "" : "at least ", rate, unit,
		format_rate(it->per_s, it->rate, is_decimal(rate), done), it->used_pct);
}

static void say_bounds(const struct explanation *it, FILE *text)
{
	static const char *const titles[RATE_BOUNDS] = {
		[MAXIMUM] =
			"Maxima of it and of groups above, and the rates of all groups that they cover:",
		[MINIMUM] =
			"Minima of it and of groups above, and the rates of all groups that they cover:",
	};

	for (int bound = 0; bound < RATE_BOUNDS; bound++) {
		const struct explain_bounds *list = &it->bound[bound];

		if (list->n)
			fprintf(text, "%s\n", titles[bound]);
		for (size_t i = 0; i < list->n; i++)
			say_bound(&list->v[i], bound, text);
	}
}

static void say_target(const struct explanation *it,
		       const struct explain_target *target, FILE *text)
{
	char *due __free = bound_text(&target->group->bounds, target->bound);
	char took[FORMAT_SIZE], brake[FORMAT_SIZE];

	fprintf(text, "  %s of %s are to take %s: ",
		target->bound == LATENCY ? "those" : "synchronous writes, here with writeback,",
		target->of_pool ? "the pool" : name_of(target->group), due);
	if (!target->reads) {
		fputs("there were none\n", text);
		return;
	}
	fprintf(text, "they took %s, ", format_time(target->avg_ns, took));
	if (target->capped) {
		fputs("not judged: a maximum or the class idle holds them\n", text);
		return;
	}
	fputs(target->late ? "late" : "in time", text);
	if (target == it->braking)
		fprintf(text, ": for that %s are held back, to %s/s in all",
			target->of_pool ? "writes" : "others",
			format_units(it->brake_per_s, false, brake));
	fputc('\n', text);
}

static void say_targets(const struct explanation *it, FILE *text)
{
	bool any = false;

	for (size_t i = 0; i < it->n_targets; i++) {
		if (!it->target[i].own)
			continue;
		if (!any)
			fprintf(text, "%s\n",
				"Latency targets of reads, its own among them, and their mean latency:");
		any = true;
		say_target(it, &it->target[i], text);
	}
}

static void say_brake(const struct explanation *it, FILE *text)
{
	char *due __free = bound_text(&it->braking->group->bounds, it->braking->bound);
	const struct explain_target *braking = it->braking;
	char brake[FORMAT_SIZE], took[FORMAT_SIZE];

	fprintf(text,
		"A latency target throttles it: %s get %s/s in all for now, for %s, where %s took %s and are to take %s.  At %u of %u looks it had I/O held.  ",
		braking->of_pool ? "writes in the pool" : "the throttled groups",
		format_units(it->brake_per_s, false, brake),
		braking->of_pool ? "the pool" : name_of(braking->group),
		braking->bound == LATENCY ? "reads" : "synchronous writes",
		format_time(braking->avg_ns, took), due, it->held_looks, it->looks);
	if (braking->of_pool)
		fputs("Its reads go on; a longer target for root would let more be written.\n",
		      text);
	else
		fprintf(text,
			"It keeps as much as its weights give it beside what that group gets; a longer target there would get it more.\n");
}

static void say_maximum(const struct explanation *it, FILE *text)
{
	const struct explain_bound *maximum = &it->bound[MAXIMUM].v[0];
	const struct ioband_group *group = maximum->group;
	const char *rate = rate_names[maximum->rate];

	if (group == explained(it))
		fprintf(text, "Its own maximum holds it (%s)", rate);
	else
		fprintf(text, "The maximum of %s, above it, holds it (%s)", name_of(group), rate);
	fprintf(text, ": at %u of %u looks it had I/O held.  ", it->held_looks, it->looks);
	if (group == explained(it))
		fputs("A greater weight would get it nothing.\n", text);
	else
		fputs("A greater weight would get it more of that only.\n", text);
}

static void say_minimum(const struct explanation *it, FILE *text)
{
	const struct explain_bound *minimum = explain_at_minimum(it);
	const struct ioband_group *group = minimum->group;
	const char *rate = rate_names[minimum->rate];

	if (group == explained(it))
		fprintf(text, "It gets its own minimum (%s)", rate);
	else
		fprintf(text, "%s, above it, gets its minimum (%s)", name_of(group), rate);
	fprintf(text, ", more than weights give: at %u of %u looks it had I/O held.  ",
		it->held_looks, it->looks);
	if (group == explained(it))
		fprintf(text,
			"A greater minimum would get it more, a greater weight only if its share exceeds the minimum.\n");
	else
		fputs("A greater weight would get it more of that only.\n", text);
}

/* Minima take precedence over weights; the device may be too slow for all minima. */
static void say_unmet(const struct explanation *it, FILE *text)
{
	const struct explain_bound *minimum = &it->bound[MINIMUM].v[0];
	char *rate = rate_text(&minimum->group->bounds.of[MINIMUM], MINIMUM, minimum->rate);
	bool decimal = is_decimal(rate);
	char due[RATE_SIZE], all[RATE_SIZE];

	free(rate);

	if (minimum->group == explained(it))
		fputs("It gets less than its minimum", text);
	else
		fprintf(text, "%s, above it, gets less than its minimum", name_of(minimum->group));
	fprintf(text,
		" (%s), though such I/O was held all the time.  In the pool the minima of groups with I/O held come to at least %s, and all groups had %s",
		rate_names[minimum->rate], format_rate(it->due_per_s, minimum->rate, decimal, due),
		format_rate(it->all_per_s, minimum->rate, decimal, all));
	if (it->due_per_s > it->all_per_s)
		fputs(": the devices are too slow for the minima.\n", text);
	else
		fputs(": see whether it is so over a longer --interval.\n", text);
}

static void say_promised(const struct explanation *it, FILE *text)
{
	fprintf(text,
		"That is less than its weights give, though it had I/O held at %u of %u looks: the minima of other groups go first.  ",
		it->held_looks, it->looks);
	for (size_t i = 0; i < it->n_promised && i < OTHERS_MAX; i++)
		fprintf(text, "%s%s got %.1f %% where its weights give it %.1f %%",
			i ? ", " : "", name_of(it->promised[i].group), it->promised[i].share_pct,
			it->promised[i].entitled_pct);
	if (it->n_promised > OTHERS_MAX)
		fprintf(text, ", and %zu more like that", it->n_promised - OTHERS_MAX);
	fputs(".\n", text);
}

static void say_yields(const struct explanation *it, FILE *text)
{
	const struct ioband_group *group = explain_yielding(it);

	if (group == explained(it))
		fputs("It is idle, and yields to the others", text);
	else
		fprintf(text, "%s, above it, is idle, and yields to the others", name_of(group));
	fprintf(text,
		": at %u of %u looks it had I/O held while they were served.  A weight there would get it more.\n",
		it->held_looks, it->looks);
}

static void say_verdict(const struct explanation *it, FILE *text)
{
	unsigned int n = it->looks;

	switch (explain_judge(it)) {
	case VERDICT_IDLE:
		fputs("It did no I/O, and none of its waits: it asks for nothing.\n", text);
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
	case VERDICT_UNMET:
		say_unmet(it, text);
		break;
	case VERDICT_BELOW:
		fprintf(text,
			"A policy below ioband delays it, at %u of %u looks: io.max, io.cost or io.latency of a cgroup on a device below, or one slow device of several.  A greater weight would get it nothing.  'iobandctl check' names an io.max; replace it by 'iobandctl set-max'.\n",
			it->below_looks, n);
		break;
	case VERDICT_BRAKE:
		say_brake(it, text);
		break;
	case VERDICT_MINIMUM:
		say_minimum(it, text);
		break;
	case VERDICT_PROMISED:
		say_promised(it, text);
		break;
	case VERDICT_WEIGHT:
		fprintf(text,
			"Its weight bounds it: at %u of %u looks it had I/O held while others were served.  A greater weight would get it more.\n",
			it->held_looks, n);
		break;
	case VERDICT_SHORT:
		fprintf(text,
			"That is less than its weights give, though it had I/O held at %u of %u looks.  Either it did not ask for more all the time, or it pays for I/O that bypassed its queue (metadata, journal, swap): see whether it is so over a longer --interval.\n",
			it->held_looks, n);
		break;
	case VERDICT_YIELDS:
		say_yields(it, text);
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
			format_time(it->done.wait_ns / it->done.held_ios, wait), service);
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
		fprintf(text, ", %zu more %.1f %%", it->others - OTHERS_MAX, rest_pct);
	if (it->others)
		fputs(".\n", text);
}

/* Put an explanation into words.  Return: lines of text, freed by the caller. */
char *explain_say(const struct explanation *it, const char *measure)
{
	size_t size;
	char *said = NULL;
	FILE *text = xmemstream(&said, &size);

	if (it->done.ios)
		say_share(it, measure, text);
	say_weights(it, text);
	say_bounds(it, text);
	say_targets(it, text);
	say_verdict(it, text);
	say_times(it, text);
	say_others(it, text);
	fclose(text);
	return said;
}
