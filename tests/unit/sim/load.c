// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load as a line of text.
 */
#include "load.h"

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB	1024ULL

struct unit {
	const char *name;
	u64 size;
};

static const struct unit sizes[] = { { "M", KIB * KIB }, { "K", KIB }, { "", 1 }, {} };
static const struct unit times[] = {
	{ "s", NSEC_PER_SEC }, { "ms", NSEC_PER_MSEC }, { "us", NSEC_PER_USEC }, { "ns", 1 }, {}
};

/* ---- reading --------------------------------------------------------------- */

struct reader {
	const char *at;
	const char *wrong;	/* the first thing that is */
	struct load *load;
};

static void fail(struct reader *reader, const char *wrong)
{
	static char text[200];

	if (reader->wrong)
		return;
	snprintf(text, sizeof(text), "%s at '%.60s'", wrong, reader->at);
	reader->wrong = text;
}

static bool take(struct reader *reader, const char *word)
{
	const size_t len = strlen(word);

	reader->at += strspn(reader->at, " ");
	if (strncmp(reader->at, word, len) ||
	    (isalpha(word[len - 1]) && isalnum(reader->at[len])))
		return false;
	reader->at += len;
	return true;
}

static void need(struct reader *reader, const char *word)
{
	if (take(reader, word))
		return;
	fail(reader, word[0] == ')' ? "no ')'" : "a ';' is missing or a word is unknown");
}

static u64 number(struct reader *reader, const struct unit *units, u64 min, u64 max)
{
	char *end;
	u64 value;
	size_t len;

	reader->at += strspn(reader->at, " ");
	if (!isdigit(*reader->at)) {
		fail(reader, "digits are missing");
		return min;
	}
	value = strtoull(reader->at, &end, 10);
	for (; units && units->name; units++) {
		len = strlen(units->name);
		if (strncmp(end, units->name, len) || (len && isalpha(end[len])))
			continue;
		if (__builtin_mul_overflow(value, units->size, &value))
			value = U64_MAX;
		end += len;
		break;
	}
	if (units && !units->name)
		fail(reader, "no such unit");
	if (value < min || value > max)
		fail(reader, "too small or too large");
	reader->at = end;
	return value;
}

static u64 read_time(struct reader *reader)
{
	return number(reader, times, 1, 100 * (u64)NSEC_PER_SEC);
}

static void read_option(struct reader *reader, struct load_ent *ent)
{
	struct sim_workload *work = &ent->work;

	if (take(reader, "writes=")) {
		work->write_pct = number(reader, NULL, 1, 100);
	} else if (take(reader, "seq")) {
		work->sequential = true;
	} else if (take(reader, "think=")) {
		work->think_random = take(reader, "~");
		work->think_ns = read_time(reader);
	} else if (take(reader, "on=")) {
		work->on_ns = read_time(reader);
		need(reader, "/");
		work->off_ns = read_time(reader);
	} else if (take(reader, "min=")) {
		ent->min_bps = number(reader, sizes, 1, 1ULL << 40);
	} else if (take(reader, "max=")) {
		ent->max_bps = number(reader, sizes, 1, 1ULL << 40);
	} else if (take(reader, "target=")) {
		ent->target_ns = read_time(reader);
	} else if (take(reader, "late")) {
		ent->late = true;
	} else {
		fail(reader, "an unknown word");
	}
}

static bool at_end(struct reader *reader)
{
	reader->at += strspn(reader->at, " ");
	return reader->wrong || !*reader->at || *reader->at == ';' || *reader->at == ')';
}

static void read_leaf(struct reader *reader, struct load_ent *ent)
{
	struct sim_workload *work = &ent->work;

	ent->leaf = true;
	work->decks = true;
	work->bytes = number(reader, sizes, 512, 1 << 24);
	if (take(reader, "+")) {
		work->large_bytes = number(reader, sizes, 512, 1 << 24);
		need(reader, "@");
		work->large_pct = number(reader, NULL, 1, 99);
	}
	need(reader, "*");
	work->depth = number(reader, NULL, 1, 4096);
	while (!at_end(reader))
		read_option(reader, ent);
}

static struct load_ent *add(struct reader *reader, int up)
{
	struct load *load = reader->load;

	if (load->nr == LOAD_ENTS) {
		fail(reader, "too many groups");
		return NULL;
	}
	load->ents[load->nr] = (struct load_ent) { .up = up };
	return &load->ents[load->nr++];
}

static void read_ents(struct reader *reader, int up);

/* A node, or so many leaves. */
static void read_ent(struct reader *reader, int up)
{
	const int index = reader->load->nr;
	struct load_ent *ent = add(reader, up), *other;
	u64 weight = number(reader, NULL, 1, IOBAND_WEIGHT_MAX), nr = 1;

	if (!ent)
		return;
	if (*reader->at == 'x') {
		reader->at++;
		nr = weight;
		weight = number(reader, NULL, IOBAND_WEIGHT_MIN, IOBAND_WEIGHT_MAX);
	}
	ent->weight = weight;
	ent->levels = take(reader, "levels");
	if (nr == 1 && take(reader, "(")) {
		read_ents(reader, index);
		need(reader, ")");
		return;
	}
	read_leaf(reader, ent);
	while (--nr && (other = add(reader, up)))
		*other = *ent;
}

static void read_ents(struct reader *reader, int up)
{
	do
		read_ent(reader, up);
	while (!reader->wrong && take(reader, ";"));
}

static void read_device(struct reader *reader)
{
	struct load *load = reader->load;
	char name[32] = "";
	int len = 0;

	if (sscanf(reader->at, "%31[a-z0-9]%n", name, &len) == 1)
		load->spec = sim_spec_find(name);
	if (!load->spec) {
		fail(reader, "an unknown device");
		return;
	}
	reader->at += len;
	while (!at_end(reader)) {
		if (take(reader, "ios"))
			load->measure = IOBAND_MEASURE_IOS;
		else if (take(reader, "time"))
			load->measure = IOBAND_MEASURE_TIME;
		else if (take(reader, "slice="))
			load->slice_ns = read_time(reader);
		else if (take(reader, "stall="))
			load->stall_ns = read_time(reader);
		else if (take(reader, "seed="))
			load->seed = number(reader, NULL, 0, U64_MAX);
		else
			fail(reader, "an unknown word");
	}
	if (load->measure == IOBAND_MEASURE_TIME && !load->slice_ns)
		fail(reader, "time without slices");
	need(reader, ";");
}

const char *load_parse(struct load *load, const char *text)
{
	struct reader reader = { .at = text, .load = load };

	memset(load, 0, sizeof(*load));
	load->seed = 1;
	read_device(&reader);
	if (!reader.wrong)
		read_ents(&reader, LOAD_ROOT);
	if (!reader.wrong && *reader.at)
		fail(&reader, "a word too much");
	return reader.wrong;
}

/* ---- writing --------------------------------------------------------------- */

struct writer {
	char *text;
	size_t len;
};

static void __printf(2, 3) say(struct writer *writer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	writer->len += vsnprintf(writer->text + writer->len, LOAD_TEXT - writer->len, format,
				 args);
	va_end(args);
	if (writer->len >= LOAD_TEXT)
		abort();
}

/* In the largest unit in which it is a whole number. */
static void say_in(struct writer *writer, const char *what, u64 value, const struct unit *units)
{
	while (value % units->size)
		units++;
	say(writer, "%s%llu%s", what, value / units->size, units->name);
}

static void say_leaf(struct writer *writer, const struct load_ent *ent)
{
	const struct sim_workload *work = &ent->work;

	say_in(writer, " ", work->bytes, sizes);
	if (work->large_pct) {
		say_in(writer, "+", work->large_bytes, sizes);
		say(writer, "@%u", work->large_pct);
	}
	say(writer, "*%u", work->depth);
	if (work->write_pct)
		say(writer, " writes=%u", work->write_pct);
	if (work->sequential)
		say(writer, " seq");
	if (work->think_ns)
		say_in(writer, work->think_random ? " think=~" : " think=", work->think_ns, times);
	if (work->off_ns) {
		say_in(writer, " on=", work->on_ns, times);
		say_in(writer, "/", work->off_ns, times);
	}
	if (ent->min_bps)
		say_in(writer, " min=", ent->min_bps, sizes);
	if (ent->max_bps)
		say_in(writer, " max=", ent->max_bps, sizes);
	if (ent->target_ns)
		say_in(writer, " target=", ent->target_ns, times);
	if (ent->late)
		say(writer, " late");
}

/* How many leaves in a row are the same. */
static int alike(const struct load *load, int i)
{
	int nr = 1;

	while (load->ents[i].leaf && i + nr < load->nr &&
	       !memcmp(&load->ents[i], &load->ents[i + nr], sizeof(load->ents[i])))
		nr++;
	return nr;
}

static void say_ents(struct writer *writer, const struct load *load, int up)
{
	const char *between = "";
	int i, nr;

	for (i = 0; i < load->nr; i += nr) {
		const struct load_ent *ent = &load->ents[i];

		nr = 1;
		if (ent->up != up)
			continue;
		nr = alike(load, i);
		say(writer, "%s", between);
		between = "; ";
		if (nr > 1)
			say(writer, "%dx ", nr);
		say(writer, "%u", ent->weight);
		if (ent->leaf) {
			say_leaf(writer, ent);
			continue;
		}
		say(writer, ent->levels ? " levels(" : "(");
		say_ents(writer, load, i);
		say(writer, ")");
	}
}

void load_print(const struct load *load, char text[LOAD_TEXT])
{
	struct writer writer = { .text = text };

	say(&writer, "%s", load->spec->name);
	if (load->measure == IOBAND_MEASURE_IOS)
		say(&writer, " ios");
	if (load->measure == IOBAND_MEASURE_TIME)
		say(&writer, " time");
	if (load->slice_ns)
		say_in(&writer, " slice=", load->slice_ns, times);
	if (load->stall_ns)
		say_in(&writer, " stall=", load->stall_ns, times);
	if (load->seed != 1)
		say(&writer, " seed=%llu", load->seed);
	say(&writer, "; ");
	say_ents(&writer, load, LOAD_ROOT);
}

/* ---- the tree -------------------------------------------------------------- */

int load_leaves(const struct load *load)
{
	int i, nr = 0;

	for (i = 0; i < load->nr; i++)
		nr += load->ents[i].leaf;
	return nr;
}

static bool is_empty_node(const struct load *load, int index)
{
	int i;

	for (i = 0; i < load->nr; i++)
		if (load->ents[i].up == index)
			return false;
	return !load->ents[index].leaf;
}

static void close_gap(struct load *load, int index)
{
	int i;

	load->nr--;
	memmove(&load->ents[index], &load->ents[index + 1],
		(load->nr - index) * sizeof(load->ents[0]));
	for (i = index; i < load->nr; i++)
		load->ents[i].up -= load->ents[i].up > index;
}

/* From the last on, so that those before keep their places. */
static void remove_below(struct load *load, int index)
{
	int i;

	for (i = load->nr - 1; i > index; i--) {
		if (load->ents[i].up != index)
			continue;
		remove_below(load, i);
		close_gap(load, i);
	}
}

void load_remove(struct load *load, int index)
{
	const int up = load->ents[index].up;

	remove_below(load, index);
	close_gap(load, index);
	if (up != LOAD_ROOT && is_empty_node(load, up))
		load_remove(load, up);
}
