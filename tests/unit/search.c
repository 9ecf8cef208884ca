// SPDX-License-Identifier: GPL-2.0-only
/*
 * The judge: how the scheduler does with random loads.
 *
 *	search [--seed S] [--from NR] [--count N] [--plain | --occasional]
 *		[--without FEATURE,...]
 *		one line for each load: its number, the verdict, its text
 *	search --load TEXT
 *		what each group of it got
 *	With --depth IOS [--split KIB], both are with that limit instead of an estimate.
 *	search --minimise used|deep|synchronous|idle|over --load TEXT
 *		the same of the simplest load found that is as bad, or worse
 *
 * Loads are described in sim/load.h, verdicts in sim/judge.h.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "judge.h"
#include "minimise.h"

#define MINIMISE_TRIES	600

static void die(const char *what, const char *word)
{
	fprintf(stderr, "search: %s: %s\n", word, what);
	exit(2);
}

static u64 number_of(const char *word)
{
	u64 value = 0;

	if (kstrtou64(word, 10, &value))
		die("no number", word);
	return value;
}

static void print_verdict(u64 nr, const struct verdict *verdict, const struct load *load)
{
	char text[LOAD_TEXT];

	load_print(load, text);
	printf("%llu\t%.4f\t%.4f\t%.4f\t%.3f\t%.3f\t%.3f\t%.4f\t%llu\t%u\t%s\n", nr, verdict->used,
	       verdict->deep, verdict->synchronous, verdict->first, verdict->none_first,
	       verdict->lag_ns < 0 ? verdict->lag_ns : verdict->lag_ns / 1e6, verdict->idle,
	       verdict->idle_ns, verdict->over_ios, text);
}

static void run_many(u32 features, u64 seed, u64 from, u64 count,
		     const struct ioband_depth_limit *fixed)
{
	static struct verdict verdict;
	static struct load load;
	u64 nr;

	for (nr = from; nr < from + count; nr++) {
		generate(&load, features, seed, nr);
		judge(&load, fixed ? SIM_FIXED : SIM_AUTO, fixed, &verdict);
		print_verdict(nr, &verdict, &load);
	}
}

/* A second: MB, I/Os, or the part of it. */
static void explain(const struct load *load, const struct ioband_depth_limit *fixed)
{
	static struct verdict verdict;
	double unit, seconds;
	int i;

	judge(load, fixed ? SIM_FIXED : SIM_AUTO, fixed, &verdict);
	print_verdict(0, &verdict, load);
	seconds = verdict.window_ns / 1e9;
	unit = seconds * (load->measure == IOBAND_MEASURE_BYTES ? 1e6 :
			  load->measure == IOBAND_MEASURE_TIME ? 1e9 : 1);
	printf("limit %u of %u KiB\n", verdict.limit.ios, verdict.limit.split_bytes >> 10);
	printf("%9s %9s %9s %6s %6s %9s %9s %9s\n", "got", "due", "alone", "share", "queue",
	       "I/Os", "by none", "most");
	for (i = 0; i < load->nr; i++) {
		const struct judge_leaf *leaf = &verdict.leaves[i];

		if (load->ents[i].leaf)
			printf("%9.2f %9.2f %9.2f %6.2f %6.1f %9.0f %9.0f %9.0f\n",
			       leaf->got / unit, leaf->due / unit, leaf->alone / unit,
			       leaf->share, leaf->outstanding, leaf->ours_ios / seconds,
			       leaf->none_ios / seconds, leaf->most_ios / seconds);
	}
}

/* How far from 1; a figure that is not judged is not bad at all. */
static double shortfall(double ratio)
{
	return ratio == JUDGE_NONE ? -1 : 1 - ratio;
}

static double bad_use(const struct load *load)
{
	static struct verdict verdict;

	judge(load, SIM_AUTO, NULL, &verdict);
	return shortfall(verdict.used);
}

static double bad_deep(const struct load *load)
{
	static struct verdict verdict;

	judge(load, SIM_AUTO, NULL, &verdict);
	return shortfall(verdict.deep);
}

static double bad_synchronous(const struct load *load)
{
	static struct verdict verdict;

	judge(load, SIM_AUTO, NULL, &verdict);
	return shortfall(verdict.synchronous);
}

static double bad_idle(const struct load *load)
{
	static struct verdict verdict;

	judge(load, SIM_AUTO, NULL, &verdict);
	return verdict.idle_ns ? 1 : 0;
}

static double bad_over(const struct load *load)
{
	static struct verdict verdict;

	judge(load, SIM_AUTO, NULL, &verdict);
	return verdict.over_ios ? 1 : 0;
}

static load_badness badness_of(const char *word)
{
	static const struct {
		const char *name;
		load_badness badness;
	} all[] = {
		{ "used", bad_use }, { "deep", bad_deep }, { "synchronous", bad_synchronous },
		{ "idle", bad_idle }, { "over", bad_over },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].name, word))
			return all[i].badness;
	die("none of used, deep, synchronous, idle and over", word);
	return NULL;
}

static u32 features_without(u32 features, char *words)
{
	char *word;
	u32 i;

	for (word = strtok(words, ","); word; word = strtok(NULL, ",")) {
		for (i = 0; i < NR_FEATURES && strcmp(word, feature_names[i]); i++)
			;
		if (i == NR_FEATURES)
			die("no such feature", word);
		features &= ~BIT(i);
	}
	return features;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'f' },
		{ "count", required_argument, NULL, 'n' },
		{ "plain", no_argument, NULL, 'p' },
		{ "occasional", no_argument, NULL, 'o' },
		{ "without", required_argument, NULL, 'w' },
		{ "depth", required_argument, NULL, 'd' },
		{ "split", required_argument, NULL, 'b' },
		{ "load", required_argument, NULL, 'l' },
		{ "minimise", required_argument, NULL, 'm' },
		{}
	};
	struct ioband_depth_limit fixed = { .split_bytes = IOBAND_SPLIT_MAX };
	u64 seed = 1, from = 0, count = 100;
	const char *text = NULL, *wrong;
	load_badness badness = NULL;
	u32 set = FEATURES_ALL, features = U32_MAX;
	static struct load load;
	int option;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			seed = number_of(optarg);
			break;
		case 'f':
			from = number_of(optarg);
			break;
		case 'n':
			count = number_of(optarg);
			break;
		case 'p':
			set = FEATURES_PLAIN;
			break;
		case 'o':
			set = FEATURES_OCCASIONAL;
			break;
		case 'w':
			features = features_without(features, optarg);
			break;
		case 'd':
			fixed.ios = number_of(optarg);
			break;
		case 'b':
			fixed.split_bytes = number_of(optarg) << 10;
			break;
		case 'l':
			text = optarg;
			break;
		case 'm':
			badness = badness_of(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!text) {
		run_many(set & features, seed, from, count, fixed.ios ? &fixed : NULL);
		return 0;
	}
	wrong = load_parse(&load, text);
	if (wrong)
		die(wrong, "load");
	if (badness)
		minimise(&load, badness, MINIMISE_TRIES);
	explain(&load, fixed.ios ? &fixed : NULL);
	return 0;
}
