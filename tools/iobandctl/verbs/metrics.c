// SPDX-License-Identifier: GPL-2.0-only
/* iobandctl metrics: all figures, in the formats of Prometheus. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/outfile.h"
#include "config/past.h"
#include "observe/metrics-text.h"
#include "print/print.h"
#include "verbs/verbs.h"

static int take_samples(struct metrics *metrics)
{
	struct targets speakers __cleanup(targets_free);
	int code = EXIT_OK;

	ioband_pools(&metrics->devices, &metrics->scope, &speakers);
	metrics->pool = xcalloc(speakers.n, sizeof(*metrics->pool));
	while (metrics->n < speakers.n && code == EXIT_OK) {
		struct metrics_pool *pool = &metrics->pool[metrics->n];

		pool->speaker = speakers.v[metrics->n++];
		code = sample_take(pool->speaker, &pool->sample);
	}
	return code;
}

static void look_around(struct metrics *metrics)
{
	unsigned int version[3];

	metrics->now_ns = clock_ns(CLOCK_REALTIME);
	metrics->is_watched = past_is_watched();
	if (mapper_target_version(version))
		snprintf(metrics->target_version, sizeof(metrics->target_version), "%u.%u.%u",
			 version[0], version[1], version[2]);
}

/* Names are escaped on a terminal only. */
static int show_all(const struct metrics *metrics)
{
	char *text __free = NULL;
	size_t size;
	FILE *stream = xmemstream(&text, &size);

	metrics_write(metrics, stream);
	fclose(stream);
	print_lines("", text);
	return print_flush();
}

static int write_all(const struct metrics *metrics, const char *path)
{
	struct outfile outfile;
	int code;

	if (!path && isatty(STDOUT_FILENO))
		return show_all(metrics);
	if (!path) {
		metrics_write(metrics, stdout);
		return print_flush();
	}
	code = outfile_begin(&outfile, path);
	if (code != EXIT_OK)
		return code;
	metrics_write(metrics, outfile.stream);
	return outfile_end(&outfile);
}

static int run(const struct args *args)
{
	struct metrics metrics = { .openmetrics = args->value[OPTION_OPENMETRICS] };
	int code = ioband_load(&metrics.devices);

	if (code != EXIT_OK)
		return code;
	/* A machine without ioband devices has no metrics; this is not an error. */
	if (metrics.devices.n || args->value[OPTION_DEVICE] || args->value[OPTION_POOL])
		code = ioband_scope(&metrics.devices, args, &metrics.scope);
	code = code ?: take_samples(&metrics);
	look_around(&metrics);
	code = code ?: write_all(&metrics, args->value[OPTION_OUTPUT]);
	for (size_t i = 0; i < metrics.n; i++)
		sample_free(&metrics.pool[i].sample);
	free(metrics.pool);
	ioband_free(&metrics.devices);
	return code;
}

static const struct option_spec options[] = {
	{ OPTION_OPENMETRICS, "openmetrics", NULL, "in the format of OpenMetrics" },
	SPEC_DEVICE,
	SPEC_POOL,
	SPEC_OUTPUT("write to this file, which is replaced at once when all is written"),
	{ .name = NULL }
};

const struct verb verb_metrics = {
	.name = "metrics",
	.args = "",
	.summary = "Print all figures in the text format of Prometheus",
	.options = options,
	.run = run,
};
