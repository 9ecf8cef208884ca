// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk_try MODEL [parameter=value ...] [job=JOB ...]
 *
 * JOB is KIND,bytes,depth,count,region_mib,write_pct[,apart_mib].
 *
 * Runs jobs on a model for five seconds and then for measured ones, and prints what
 * each kind of job got: for trying parameters in a moment.  KIND is rand or seq; each
 * of count jobs has a region of its own (apart_mib apart), not in order of the jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

struct kind {
	struct job *job[HOST_JOBS];
	u32 count;
	const char *words;
};

static void add_kind(struct host *host, struct kind *kind, u64 *at_mib)
{
	unsigned int bytes, depth, count, write_pct, i;
	unsigned long long region_mib, apart_mib = 0;
	char name[8];

	if (sscanf(kind->words, "%7[a-z],%u,%u,%u,%llu,%u,%llu", name, &bytes, &depth, &count,
		   &region_mib, &write_pct, &apart_mib) < 6) {
		fprintf(stderr, "job=%s: not a job\n", kind->words);
		exit(2);
	}
	apart_mib = apart_mib ?: region_mib;
	for (i = 0; i < count; i++) {
		kind->job[kind->count++] = host_add(host, &(struct job) {
			.region_sector = (*at_mib + i * 5 % count * apart_mib) * 2048,
			.region_sectors = region_mib * 2048,
			.bytes = bytes, .depth = depth, .write_pct = write_pct,
			.random = !strcmp(name, "rand"),
		});
	}
	*at_mib += count * apart_mib;
}

static void print_kind(const struct kind *kind, double s)
{
	static const char *const name[] = { "read", "write" };
	u64 done, sum_ns, max_ns;
	u32 i, op;

	for (op = LAB_READ; op <= LAB_WRITE; op++) {
		done = 0;
		sum_ns = 0;
		max_ns = 0;
		for (i = 0; i < kind->count; i++) {
			done += kind->job[i]->done[op];
			sum_ns += kind->job[i]->sum_ns[op];
			max_ns = max(max_ns, kind->job[i]->max_ns[op]);
		}
		if (!done)
			continue;
		printf("%-28s %-5s IOPS %9.1f each %9.1f KiB/s %9.0f ", kind->words, name[op],
		       done / s, done / s / kind->count, done / s * kind->job[0]->bytes / 1024);
		printf("mean %8.3f max %8.3f ms\n", sum_ns / 1e6 / done, max_ns / 1e6);
	}
}

/* One word of the command line. */
static void take(const struct lab_model *model, u64 *values, char *word, struct kind *kinds,
		 u32 *count, u64 *seconds)
{
	char *value = strchr(word, '=');
	const char *wrong = NULL;

	if (!value)
		exit(2);
	*value++ = 0;
	if (!strcmp(word, "job"))
		kinds[(*count)++].words = value;
	else if (!strcmp(word, "seconds"))
		*seconds = atoi(value);
	else
		wrong = lab_params_set(model, values, word, value);
	if (wrong) {
		fprintf(stderr, "%s=%s: %s\n", word, value, wrong);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const struct lab_model *model = argc > 1 ? lab_model_find(argv[1]) : NULL;
	static struct kind kinds[64];
	u64 values[LAB_MAX_PARAMS], at_mib = 0, seconds = 30;
	struct host *host;
	u32 count = 0, i;

	if (!model || argc > 60)
		return 2;
	lab_params_default(model, values);
	for (i = 2; i < (u32)argc; i++)
		take(model, values, argv[i], kinds, &count, &seconds);
	host = host_new(model, values);
	for (i = 0; i < count; i++)
		add_kind(host, &kinds[i], &at_mib);
	host_run(host, 5 * NSEC_PER_SEC);
	host_forget(host);
	host_run(host, seconds * NSEC_PER_SEC);
	for (i = 0; i < count; i++)
		print_kind(&kinds[i], seconds);
	for (i = 0; i < model->nr_stats; i++)
		printf("%s %llu ", model->stats[i], host_count(host, model->stats[i]));
	printf("\n");
	host_free(host);
	return 0;
}
